//! Pauses after failures: the one place that turns an error into a pause.

use std::error::Error as StdError;
use std::time::Duration;

use cloud_provider::{Error as CloudError, printable};

/// Upstream's back-off for nodes.
pub(crate) const NODES: BackOff = BackOff { first: Duration::from_millis(5), longest: Duration::from_secs(1000) };
/// The longest pause that a cloud can ask for.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// When something is tried again that waits for a person.
pub(crate) const SHOWN: Duration = Duration::from_secs(300);

/// When something that failed is tried again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pause {
    /// Then and not before: it was asked for.
    Exactly(Duration),
    /// Not before then. It may be later, so that not everything comes at once.
    AtLeast(Duration),
}

/// Pauses that double with each failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BackOff {
    /// The pause after the first failure.
    pub(crate) first: Duration,
    /// The longest pause.
    pub(crate) longest: Duration,
}

impl BackOff {
    /// The pause after `failures` in a row before this one.
    pub(crate) fn after(self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }

    /// The pause after an error of the cloud, when the object had failed `failures` times in a row before.
    pub(crate) fn pause(self, failures: u32, error: &CloudError) -> Pause {
        match error {
            CloudError::Invalid(_) | CloudError::Denied(_) => Pause::AtLeast(SHOWN),
            CloudError::RetryAfter { after, .. } => Pause::Exactly((*after).min(LONGEST_RETRY_AFTER)),
            // A change of the object may come first: the provider is not called before the pause is over, unless it is to
            // delete what it was to build.
            CloudError::Crashed { after, .. } => Pause::AtLeast(*after),
            CloudError::Unavailable(_) => Pause::AtLeast(self.after(failures)),
        }
    }
}

/// Upstream's back-off for nodes: 5 ms, doubled with each failure before this one, at most 1,000 s.
pub(crate) fn back_off(failures: u32) -> Duration {
    NODES.after(failures)
}

/// The pause of a node after an error of the cloud, when it had failed `failures` times in a row before.
pub(crate) fn pause(failures: u32, error: &CloudError) -> Pause {
    NODES.pause(failures, error)
}

/// How much of an error is shown, in bytes: the API server may answer with pages.
const CHAIN: usize = 8 << 10;

/// An error and what caused it, in one printable line of at most 8 KiB: parts of it may be the words of the API server,
/// of a file or of a module.
#[must_use]
pub fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    printable(&line, CHAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: case 37
    #[test]
    fn the_back_off_is_upstreams() {
        let milliseconds: Vec<_> = (0..12).map(|it| back_off(it).as_millis()).collect();
        assert_eq!(milliseconds, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240]);
        assert_eq!(back_off(17), Duration::from_millis(655_360));
        assert_eq!(back_off(18), Duration::from_secs(1000));
        assert_eq!(back_off(u32::MAX), Duration::from_secs(1000));
    }

    #[test]
    fn an_error_is_sorted_by_what_happens_next() {
        let text = || "no".to_owned();
        let retry = |seconds| CloudError::RetryAfter { after: Duration::from_secs(seconds), reason: text() };
        let seconds = Duration::from_secs;
        assert_eq!(pause(7, &CloudError::Invalid(text())), Pause::AtLeast(seconds(300)));
        assert_eq!(pause(7, &CloudError::Denied(text())), Pause::AtLeast(seconds(300)));
        assert_eq!(pause(7, &CloudError::Unavailable(text())), Pause::AtLeast(Duration::from_millis(640)));
        assert_eq!(pause(7, &retry(0)), Pause::Exactly(seconds(0)));
        assert_eq!(pause(7, &retry(3600)), Pause::Exactly(seconds(3600)));
        assert_eq!(pause(7, &retry(86_400)), Pause::Exactly(seconds(3600)), "longer is cut");
    }

    #[test]
    fn a_chain_names_each_cause_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot write")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("disk full"));
        assert_eq!(chain(&error), "cannot write: disk full");
    }

    #[test]
    fn a_chain_is_one_printable_line() {
        let said = format!("Forbidden\n2026-01-01 INFO audit: \u{202e}{}", "x".repeat(1 << 20));
        let line = chain(&std::io::Error::other(said));
        assert!(line.starts_with("Forbidden\\n2026-01-01 INFO audit: \\u{202e}xxx"), "{}", &line[..80]);
        assert!(line.len() <= CHAIN);
    }
}
