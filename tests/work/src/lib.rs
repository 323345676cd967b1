//! For tests: what a parser of foreign bytes costs, in CPU time and in memory for each byte. Its dependents count all allocations of
//! their tests, and nothing of the program itself may depend on it.

#![forbid(unsafe_code)]

mod random;

use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use self::random::Random;

/// How long each parser is fuzzed. `AEROSTAT_FUZZ_SECONDS` in the environment lengthens or shortens it.
const SECONDS: u64 = 1;
/// The lengths of texts, in bytes: what grows faster than the text is far above the line at the last of them.
const LENGTHS: [usize; 4] = [256, 4 << 10, 16 << 10, 64 << 10];
/// Whatever the length, a parser may take so long and so much: tables that are made at the first use, and a machine's noise.
const FREE: Cost = Cost { time: Duration::from_millis(5), memory: 256 << 10 };

/// The cost of some work for this thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cost {
    /// CPU time, so that other tests beside it do not count.
    pub time: Duration,
    /// The most bytes that were allocated at one time.
    pub memory: u64,
}

/// Above it a test fails.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Nanoseconds of CPU time for each byte, in a build without optimisation.
    pub nanoseconds: u64,
    /// Bytes of memory for each byte.
    pub memory: u64,
}

impl Line {
    /// The limit of cost for a text of this length.
    fn at(self, length: usize) -> Cost {
        let length = length as u64;
        let time = FREE.time + Duration::from_nanos(self.nanoseconds.saturating_mul(length));
        Cost { time, memory: FREE.memory + self.memory.saturating_mul(length) }
    }
}

/// Does something, and says what it has cost.
pub fn cost<T>(work: impl FnOnce() -> T) -> Cost {
    let mut time = Duration::ZERO;
    let allocated = allocation_counter::measure(|| {
        let begin = thread_time();
        std::hint::black_box(work());
        time = thread_time().saturating_sub(begin);
    });
    Cost { time, memory: allocated.bytes_max }
}

/// Gives a parser texts that are made of `pieces`: each many times, two kinds one after the other as of what begins and ends, and a
/// mixture in which some bytes are wrong.
///
/// # Panics
///
/// If one of them costs more than `line` allows. The message has the beginning of the text.
pub fn fuzz(parser: &str, line: Line, pieces: &[&[u8]], parse: impl Fn(&[u8])) {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |it| it.as_nanos() as u64 | 1);
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds());
    let check = |text: &[u8]| check(parser, line, text, &parse);
    for first in pieces {
        for second in pieces {
            for length in LENGTHS {
                let half = |piece: &[u8]| piece.repeat(length / 2 / piece.len().max(1) + 1);
                check(&[half(first), half(second)].concat());
            }
            if Instant::now() > end {
                break;
            }
        }
    }
    while Instant::now() < end {
        let length = LENGTHS[random.below(LENGTHS.len())];
        check(&random.text(pieces, length));
    }
}

fn check(parser: &str, line: Line, text: &[u8], parse: impl Fn(&[u8])) {
    let most = line.at(text.len());
    let measure = || cost(|| parse(text));
    let is_above = |it: &Cost| it.time > most.time || it.memory > most.memory;
    let mut found = measure();
    // Another try or two: the machine may have been busy with something else.
    for _ in 0..2 {
        if is_above(&found) {
            let again = measure();
            found = Cost { time: found.time.min(again.time), memory: found.memory.min(again.memory) };
        }
    }
    assert!(
        !is_above(&found),
        "{parser}: {} bytes cost {found:?}, and {most:?} is the most: {}",
        text.len(),
        String::from_utf8_lossy(&text[..text.len().min(500)])
    );
}

#[expect(clippy::disallowed_methods, reason = "how long to fuzz is said by whoever runs the tests")]
fn seconds() -> u64 {
    std::env::var("AEROSTAT_FUZZ_SECONDS").ok().map_or(SECONDS, |it| it.parse().expect("a number"))
}

fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is not negative")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line { nanoseconds: 1_000, memory: 4 };

    #[test]
    fn work_that_grows_with_the_text_is_below_the_line() {
        fuzz("a copy", LINE, &[b"a", b"<b>"], |text| drop(std::hint::black_box(text.to_vec())));
    }

    #[test]
    #[should_panic(expected = "a square: ")]
    fn adv_158_work_that_grows_faster_is_found() {
        fuzz("a square", LINE, &[b"a"], |text| {
            let mut sum = 0_u64;
            for first in text {
                sum += text.iter().map(|it| u64::from(it ^ first)).sum::<u64>();
            }
            std::hint::black_box(sum);
        });
    }

    #[test]
    #[should_panic(expected = "memory: 838")]
    fn adv_159_memory_that_is_no_part_of_the_text_is_found() {
        fuzz("a hoard", LINE, &[b"a"], |_| drop(std::hint::black_box(vec![0_u8; 8 << 20])));
    }

    #[test]
    fn memory_that_is_freed_meanwhile_is_not_counted_twice() {
        let memory = cost(|| (0..10).for_each(|_| drop(std::hint::black_box(vec![0_u8; 1 << 20])))).memory;
        assert!((1 << 20..2 << 20).contains(&memory), "{memory}");
    }
}
