//! A provider's output: log lines, and what it prints.

use std::fmt::Write as _;
use std::sync::Arc;

use egress::{CallId, Egress};
use parking_lot::Mutex;
use token_bucket::TokenBucket;
use tokio::time::Instant;
use tracing::Level;

use super::last_lines::LastLines;
use crate::untrusted::printable;
use sha256::Digest;

const LINES_PER_CALL: u32 = 256;
const LINES_PER_SECOND: f64 = 50.0;
const LINE_BYTES: usize = 2 << 10;

/// The log of one call. One line of the guest is one line of the host's log, whatever is in it.
pub(super) struct GuestLog {
    call: CallId,
    digest: String,
    quota: Arc<Quota>,
    egress: Egress,
    lines: u32,
    dropped: u64,
    printed: [Vec<u8>; 2],
    last: LastLines,
}

/// Where a guest prints.
#[derive(Clone, Copy)]
pub(super) enum GuestStream {
    Stdout,
    Stderr,
}

impl GuestLog {
    pub(super) fn new(call: CallId, digest: Digest, quota: Arc<Quota>, egress: Egress) -> Self {
        let mut digest = digest.to_string();
        digest.truncate(12);
        Self {
            call,
            digest,
            quota,
            egress,
            lines: 0,
            dropped: 0,
            printed: Default::default(),
            last: LastLines::default(),
        }
    }

    /// Writes one line, or counts it as dropped.
    pub(super) fn write(&mut self, level: Level, message: &str, fields: &[(String, String)]) {
        if self.lines == LINES_PER_CALL || !self.quota.take() {
            self.dropped += 1;
            return;
        }
        self.lines += 1;
        let message = printable(message, LINE_BYTES);
        let mut text = String::new();
        for (key, value) in fields {
            if message.len() + text.len() >= LINE_BYTES {
                break;
            }
            let separator = if text.is_empty() { "" } else { " " };
            write!(text, "{separator}{}={:?}", printable(key, 128), printable(value, LINE_BYTES))
                .expect("a string takes any text");
        }
        let fields = printable(&text, LINE_BYTES.saturating_sub(message.len()).max(3));
        if self.egress.holds_secret(&message) || self.egress.holds_secret(&fields) {
            self.emit(Level::WARN, "a line is withheld: it holds a credential", "");
            return;
        }
        self.emit(level, &message, &fields);
    }

    /// Takes what the guest prints, and writes whole lines of it at debug.
    pub(super) fn print(&mut self, stream: GuestStream, bytes: &[u8]) {
        let mut pieces = bytes.split(|it| *it == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let buffer = &mut self.printed[stream as usize];
            // One byte more than a line may have, so that the cut is seen.
            let room = (LINE_BYTES + 1).saturating_sub(buffer.len());
            buffer.extend_from_slice(&piece[..piece.len().min(room)]);
            if pieces.peek().is_some() {
                self.end_line(stream);
            }
        }
    }

    /// Writes what is left, and returns how many lines were dropped.
    pub(super) fn finish(&mut self) -> u64 {
        for stream in [GuestStream::Stdout, GuestStream::Stderr] {
            self.end_line(stream);
        }
        if self.dropped > 0 {
            let Self { call, dropped, .. } = self;
            tracing::warn!(
                target: "provider",
                provider = &*call.provider,
                function = call.function,
                call = call.id,
                dropped,
                "log lines over the limit were dropped"
            );
        }
        self.dropped
    }

    /// The guest's last words on its standard error, in one line, unless it holds a credential. A panic of the guest
    /// is told there.
    pub(super) fn last_words(&self) -> Option<String> {
        self.last.told(|it| self.egress.holds_secret(it))
    }

    fn end_line(&mut self, stream: GuestStream) {
        let line = std::mem::take(&mut self.printed[stream as usize]);
        if !line.is_empty() {
            let line = String::from_utf8_lossy(&line);
            let stream = match stream {
                GuestStream::Stdout => "stdout",
                GuestStream::Stderr => {
                    self.last.add(&line);
                    "stderr"
                }
            };
            self.write(Level::DEBUG, &line, &[("stream".into(), stream.into())]);
        }
    }

    fn emit(&self, level: Level, message: &str, fields: &str) {
        let Self { call, digest, .. } = self;
        // The level of an event is a constant.
        macro_rules! emit {
            ($level:expr) => {
                tracing::event!(
                    target: "provider",
                    $level,
                    provider = &*call.provider,
                    digest,
                    function = call.function,
                    call = call.id,
                    fields,
                    "{message}"
                )
            };
        }
        match level {
            Level::ERROR => emit!(Level::ERROR),
            Level::WARN => emit!(Level::WARN),
            Level::INFO => emit!(Level::INFO),
            _ => emit!(Level::DEBUG),
        }
    }
}

/// How many lines all calls of one provider may still write: a bucket that holds one call's worth and fills steadily.
pub(super) struct Quota(Mutex<TokenBucket>);

impl Default for Quota {
    fn default() -> Self {
        Self(Mutex::new(TokenBucket::per_second(LINES_PER_SECOND, LINES_PER_CALL, Instant::now())))
    }
}

impl Quota {
    fn take(&self) -> bool {
        self.0.lock().try_take(Instant::now()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn fifty_lines_a_second_after_the_first_burst() {
        let mut quota = Quota::default();
        let bucket = quota.0.get_mut();
        let start = Instant::now();
        let mut taken = |at| std::iter::repeat_with(|| bucket.try_take(at).is_ok()).take_while(|it| *it).count();
        assert_eq!(taken(start), 256);
        assert_eq!(taken(start + Duration::from_secs(1)), 50);
        assert_eq!(taken(start + Duration::from_secs(3600)), 256);
    }
}
