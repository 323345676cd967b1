//! The writes of one kind in the last window. Its clock is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The part of a window's writes that is reserved at once: a record of each single write would be a request of its own.
const PART: u32 = 8;
/// The most that is reserved at once.
const MOST_RESERVED: u32 = 100;

/// How long ago writes were sent, and how many: oldest first.
pub type WriteAges = Vec<(Duration, u32)>;

/// The writes of one kind in the last window.
#[derive(Default)]
pub struct Count {
    /// Numbers and times, oldest first.
    taken: VecDeque<(u64, Instant)>,
    /// The writes of earlier processes, each with the time until which it counts.
    earlier: Vec<(Instant, u32)>,
    next: u64,
    /// Up to this number, a stored record says that they were sent.
    covered: u64,
    /// One was taken, or had to wait, since the last record.
    is_active: bool,
    /// As it was when one was last taken.
    limit: u32,
    reported: Option<Instant>,
}

/// Why a write does not leave now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// So many have left in this window already.
    Used(usize),
    /// No stored record covers it yet.
    Unrecorded,
}

/// A record to be stored, and the writes that it covers.
#[derive(Debug, Eq, PartialEq)]
pub struct Recorded {
    /// The writes sent in this window, and those that may be sent from now on as if they were sent now.
    pub ages: WriteAges,
    /// The number up to which it covers.
    pub covers: u64,
}

impl Count {
    /// The number of a write. With `is_kept` only one leaves that a stored record covers.
    pub fn take(&mut self, limit: u32, window: Duration, now: Instant, is_kept: bool) -> Result<u64, Refusal> {
        self.forget(window, now);
        let used = self.used();
        if used >= limit as usize {
            return Err(Refusal::Used(used));
        }
        (self.is_active, self.limit) = (true, limit);
        if is_kept && self.next >= self.covered {
            return Err(Refusal::Unrecorded);
        }
        self.next += 1;
        self.taken.push_back((self.next, now));
        Ok(self.next)
    }

    /// The write with this number was certainly not carried out. The record that covered it covers another one.
    pub fn give_back(&mut self, number: u64) {
        if let Ok(index) = self.taken.binary_search_by_key(&number, |(it, _)| *it) {
            self.taken.remove(index);
            self.covered += 1;
        }
    }

    /// Whether people are to be informed that writes are withheld: once in a window.
    pub fn is_report_due(&mut self, window: Duration, now: Instant) -> bool {
        let is_due = self.reported.is_none_or(|it| now.saturating_duration_since(it) >= window);
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }

    /// The record to be stored now. While writes leave, some are reserved, unless these were the last. A write that is not reserved any
    /// more is not covered either, whether or not the record is stored.
    pub fn record(&mut self, window: Duration, now: Instant, is_last: bool) -> Recorded {
        self.forget(window, now);
        let is_active = std::mem::take(&mut self.is_active) && !is_last;
        let left = self.limit.saturating_sub(u32::try_from(self.used()).unwrap_or(u32::MAX));
        let reserved = if is_active { left.min(self.limit.div_ceil(PART)).min(MOST_RESERVED) } else { 0 };
        let covers = self.next + u64::from(reserved);
        self.covered = self.covered.min(covers);
        let age = |until: Instant| window.saturating_sub(until.saturating_duration_since(now));
        let mut ages: WriteAges = self.earlier.iter().map(|(until, count)| (age(*until), *count)).collect();
        ages.extend(self.taken.iter().map(|(_, at)| (now.saturating_duration_since(*at), 1)));
        ages.extend((reserved > 0).then_some((Duration::ZERO, reserved)));
        Recorded { ages, covers }
    }

    /// A record is stored.
    pub fn stored(&mut self, covers: u64) {
        self.covered = self.covered.max(covers);
    }

    /// Counts what processes before have written.
    pub fn restore(&mut self, ages: &[(Duration, u32)], window: Duration, now: Instant) {
        let counting = ages.iter().filter(|(age, count)| *age < window && *count > 0);
        self.earlier = counting.map(|(age, count)| (now + (window - *age), *count)).collect();
    }

    fn forget(&mut self, window: Duration, now: Instant) {
        while self.taken.front().is_some_and(|(_, at)| now.saturating_duration_since(*at) >= window) {
            self.taken.pop_front();
        }
        self.earlier.retain(|(until, _)| *until > now);
    }

    fn used(&self) -> usize {
        let earlier = self.earlier.iter().fold(0_u32, |sum, (_, count)| sum.saturating_add(*count));
        self.taken.len().saturating_add(earlier as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const WINDOW: Duration = Duration::from_secs(600);

    /// How many of a hundred writes leave.
    fn sent(count: &mut Count, limit: u32, now: Instant) -> usize {
        (0..100).filter(|_| count.take(limit, WINDOW, now, true).is_ok()).count()
    }

    fn total(recorded: &Recorded) -> u32 {
        recorded.ages.iter().map(|(_, count)| count).sum()
    }

    #[test]
    fn adv_104_the_window_slides() {
        let (mut count, start, window) = (Count::default(), Instant::now(), 10 * SECOND);
        let times = 0..30_u32;
        let sent = times.map(|it| start + it * SECOND).filter(|now| count.take(2, window, *now, false).is_ok());
        let sent: Vec<_> = sent.map(|it| (it - start).as_secs()).collect();
        assert_eq!(sent, [0, 1, 10, 11, 20, 21], "never more than two in any ten seconds");
    }

    #[test]
    fn adv_104_a_refused_write_gives_its_place_back() {
        let (mut count, now) = (Count::default(), Instant::now());
        let numbers = [(); 3].map(|()| count.take(3, SECOND, now, false).unwrap());
        assert_eq!(count.take(3, SECOND, now, false), Err(Refusal::Used(3)));
        count.give_back(numbers[1]);
        count.give_back(numbers[1]);
        assert!(count.take(3, SECOND, now, false).is_ok());
        assert_eq!(count.take(3, SECOND, now, false), Err(Refusal::Used(3)), "one place for one that was given back");
        let late = now + SECOND;
        assert!(count.take(1, SECOND, late, false).is_ok());
        count.give_back(numbers[0]);
        assert_eq!(count.take(1, SECOND, late, false), Err(Refusal::Used(1)), "its place was free already");
    }

    #[test]
    fn adv_104_withheld_writes_are_reported_once_in_a_window() {
        let (mut count, start) = (Count::default(), Instant::now());
        let reported = (0..60_u32).filter(|it| count.is_report_due(20 * SECOND, start + *it * SECOND));
        assert_eq!(reported.collect::<Vec<_>>(), [0, 20, 40]);
    }

    #[test]
    fn adv_162_nothing_leaves_that_no_stored_record_covers() {
        let (mut count, now) = (Count::default(), Instant::now());
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded));
        let recorded = count.record(WINDOW, now, false);
        assert_eq!(recorded, Recorded { ages: vec![(Duration::ZERO, 3)], covers: 3 }, "an eighth is reserved");
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded), "it is not stored yet");
        count.stored(recorded.covers);
        assert_eq!(sent(&mut count, 20, now), 3);
    }

    #[test]
    fn adv_162_a_record_says_no_less_than_was_sent() {
        let (mut count, start) = (Count::default(), Instant::now());
        let (mut stored, mut all) = (0, 0);
        for second in 0..200_u32 {
            let now = start + second * SECOND;
            let recorded = count.record(WINDOW, now, false);
            // What is sent while the record is under way is covered by the one before, and it may not be stored at all.
            all += (0..second % 3).filter(|_| count.take(20, WINDOW, now, true).is_ok()).count();
            if second % 5 != 0 {
                stored = total(&recorded);
                count.stored(recorded.covers);
            }
            all += (0..second % 2).filter(|_| count.take(20, WINDOW, now, true).is_ok()).count();
            if second % 7 == 0
                && let Ok(refused) = count.take(20, WINDOW, now, true)
            {
                count.give_back(refused);
            }
            assert!(stored as usize >= all, "{second}: {stored} stored, {all} sent");
        }
        assert_eq!(all, 20);
        let late = count.record(WINDOW, start + 199 * SECOND, false);
        assert_eq!(total(&late), 20, "never more than the limit");
    }

    #[test]
    fn adv_162_three_processes_share_one_window() {
        let start = Instant::now();
        let (mut ages, mut all) = (Vec::new(), 0);
        for process in 0..3 {
            let now = start + process * 10 * SECOND;
            let mut count = Count::default();
            count.restore(&ages, WINDOW, now);
            for _ in 0..10 {
                all += sent(&mut count, 20, now);
                let recorded = count.record(WINDOW, now, false);
                count.stored(recorded.covers);
                ages = recorded.ages;
            }
        }
        assert_eq!(all, 20);
        let mut late = Count::default();
        late.restore(&ages, WINDOW, start + 21 * SECOND + WINDOW);
        assert_eq!(late.take(20, WINDOW, start + 21 * SECOND + WINDOW, false), Err(Refusal::Used(20)), "from then on");
        let free = start + 22 * SECOND + 2 * WINDOW;
        assert!(late.take(20, WINDOW, free, false).is_ok(), "a window is a window");
    }

    #[test]
    fn a_record_reserves_no_more_than_is_left_or_a_hundred() {
        let now = Instant::now();
        let reserved = |limit: u32, earlier: u32| {
            let mut count = Count::default();
            count.restore(&[(SECOND, earlier)], WINDOW, now);
            assert_eq!(count.take(limit, WINDOW, now, true), Err(Refusal::Unrecorded));
            total(&count.record(WINDOW, now, false)) - earlier
        };
        assert_eq!([reserved(20, 0), reserved(20, 19), reserved(8_000, 0)], [3, 1, 100]);
    }

    #[test]
    fn earlier_writes_keep_their_age() {
        let (mut count, start) = (Count::default(), Instant::now());
        count.restore(&[(400 * SECOND, 5), (WINDOW, 7)], WINDOW, start);
        let ages = |count: &mut Count, now| count.record(WINDOW, now, true).ages;
        assert_eq!(ages(&mut count, start), [(400 * SECOND, 5)]);
        assert_eq!(ages(&mut count, start + 199 * SECOND), [(599 * SECOND, 5)]);
        assert_eq!(ages(&mut count, start + 200 * SECOND), [], "a window is a window");
    }

    #[test]
    fn a_record_that_is_stored_late_covers_no_less() {
        let (mut count, now) = (Count::default(), Instant::now());
        count.stored(2);
        count.stored(1);
        assert!(count.take(20, WINDOW, now, true).is_ok());
        assert!(count.take(20, WINDOW, now, true).is_ok());
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded));
    }

    #[test]
    fn adv_162_a_refused_write_needs_no_further_record() {
        let (mut count, now) = (Count::default(), Instant::now());
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded));
        let recorded = count.record(WINDOW, now, false);
        count.stored(recorded.covers);
        for _ in 0..1_000 {
            let number = count.take(20, WINDOW, now, true).unwrap();
            count.give_back(number);
        }
        assert_eq!(sent(&mut count, 20, now), 3);
    }

    #[test]
    fn adv_162_nothing_stays_reserved_where_nothing_is_written() {
        let (mut count, now) = (Count::default(), Instant::now());
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded));
        let recorded = count.record(WINDOW, now, false);
        count.stored(recorded.covers);
        assert!(count.take(20, WINDOW, now, true).is_ok());
        assert_eq!(total(&count.record(WINDOW, now, false)), 4);
        let idle = count.record(WINDOW, now, false);
        assert_eq!(idle.ages, [(Duration::ZERO, 1)], "what was sent and nothing else");
        assert_eq!(count.take(20, WINDOW, now, true), Err(Refusal::Unrecorded), "stored or not");
        assert_eq!(total(&count.record(WINDOW, now, true)), 1, "the last record reserves nothing");
    }
}
