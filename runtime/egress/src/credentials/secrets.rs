//! Secrets that must not come back in an answer, and stand in no log.

use std::sync::Arc;

use http::HeaderMap;
use zeroize::Zeroizing;

use super::decoded::{self, Search};
use super::secret::Secret;

/// Secrets that are looked for in texts. Cloning shares them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[Arc<Secret>]>);

impl Secrets {
    /// So many bytes of an answer are searched at once while it comes.
    pub(crate) const PIECE: usize = decoded::WINDOW;

    pub(crate) fn new(secrets: Vec<Arc<Secret>>) -> Self {
        Self(secrets.into())
    }

    /// Those, and one more. Of fewer than 8 characters it is not recognised.
    #[must_use]
    pub fn with(&self, secret: Zeroizing<String>) -> Self {
        self.and(&Self::new(vec![Arc::new(Secret::new(secret))]))
    }

    /// Those of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let is_new = |it: &&Arc<Secret>| !self.0.iter().any(|own| Arc::ptr_eq(own, it));
        Self(self.0.iter().chain(other.0.iter().filter(is_new)).cloned().collect())
    }

    /// Whether `text` holds one of them, in one of the forms in which services echo what they were sent.
    ///
    /// Best effort: a service that echoes it in another form is not noticed.
    #[must_use]
    pub fn are_in(&self, text: &[u8]) -> bool {
        self.are_in_rest(text, 0)
    }

    /// The same for a text whose first `known` bytes have been searched.
    pub(crate) fn are_in_rest(&self, text: &[u8], known: usize) -> bool {
        Search::new(self.0.iter().filter_map(|it| it.needle())).finds(text, known)
    }

    /// Whether an answer has one of them in its head: in the name or the value of a header.
    pub(crate) fn are_in_head(&self, headers: &HeaderMap) -> bool {
        let values = Search::new(self.0.iter().filter_map(|it| it.needle()));
        let names = Search::new(self.0.iter().filter_map(|it| it.needle_in_names()));
        headers
            .iter()
            .any(|(name, value)| values.finds(value.as_bytes(), 0) || names.finds(name.as_str().as_bytes(), 0))
    }
}
