//! Which notices of a provider become events: not the same one again and again.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::Notice;
use tokio::time::Instant;

/// How long a notice is not repeated.
const QUIET: Duration = Duration::from_secs(600);
/// Notices that are remembered.
const REMEMBERED: usize = 4096;

/// The notices of the last minutes, by object.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    heard: HashMap<(String, Notice), Instant>,
}

impl Notices {
    /// Whether a notice about an object is news; it is none for the next ten minutes.
    pub(crate) fn is_news(&mut self, object: &str, notice: &Notice, now: Instant) -> bool {
        if self.heard.len() >= REMEMBERED {
            self.heard.retain(|_, at| now - *at < QUIET);
        }
        if self.heard.len() >= REMEMBERED {
            return false;
        }
        let key = (object.to_owned(), notice.clone());
        let news = self.heard.get(&key).is_none_or(|at| now - *at >= QUIET);
        if news {
            self.heard.insert(key, now);
        }
        news
    }
}
