//! Says on standard error how far something slow is.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use egress::Transfer;
use tokio::time::sleep;

/// How long nothing is said, and the pause between two updates of a line on a terminal.
const PATIENCE: Duration = Duration::from_secs(1);
const UPDATE: Duration = Duration::from_millis(250);
/// The pause between two lines where nobody watches.
const LINE: Duration = Duration::from_secs(5);

/// Waits for `work`, which moves `all` bytes, and says how far it is once it takes longer than a second.
pub(super) async fn shown<T>(what: &str, all: usize, transfer: &Transfer, work: impl Future<Output = T>) -> T {
    watched(|done| line(what, done, Some(all)), transfer, work).await
}

/// As [`shown`], of nobody knows how many bytes.
pub(super) async fn counted<T>(what: &str, transfer: &Transfer, work: impl Future<Output = T>) -> T {
    watched(|done| line(what, done, None), transfer, work).await
}

async fn watched<T>(line: impl Fn(u64) -> String, transfer: &Transfer, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    let is_terminal = stderr().is_terminal();
    let mut pause = if is_terminal { PATIENCE } else { LINE };
    let mut is_written = false;
    loop {
        tokio::select! {
            biased;
            result = &mut work => {
                if is_terminal && is_written {
                    eprint!("\r\x1b[K");
                }
                return result;
            }
            () = sleep(pause) => {
                let line = line(transfer.bytes());
                match is_terminal {
                    true => eprint!("\r{line}\x1b[K"),
                    false => eprintln!("{line}"),
                }
                let _ = stderr().flush();
                is_written = true;
                pause = if is_terminal { UPDATE } else { LINE };
            }
        }
    }
}

fn line(what: &str, done: u64, all: Option<usize>) -> String {
    let kibibytes = |bytes: u64| bytes.div_ceil(1 << 10);
    let of = all.map_or_else(String::new, |it| format!(" of {}", kibibytes(it as u64)));
    format!("{what}: {}{of} KiB", kibibytes(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_many_bytes_of_how_many() {
        assert_eq!(line("pulling acme.wasm", 1025, Some(187 << 10)), "pulling acme.wasm: 2 of 187 KiB");
        assert_eq!(line("pushing all.tar", 1025, None), "pushing all.tar: 2 KiB");
    }
}
