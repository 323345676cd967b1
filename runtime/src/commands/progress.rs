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
                let line = line(what, transfer.bytes(), all);
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

fn line(what: &str, done: u64, all: usize) -> String {
    let kibibytes = |bytes: u64| bytes.div_ceil(1 << 10);
    format!("{what}: {} of {} KiB", kibibytes(done), kibibytes(all as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_many_bytes_of_how_many() {
        assert_eq!(line("pulling acme.wasm", 1025, 187 << 10), "pulling acme.wasm: 2 of 187 KiB");
    }
}
