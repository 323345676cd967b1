//! The answers that one whole list of machines has seen, however many pages it takes.
//!
//! Each page is a call of its own, and a guest keeps nothing between calls: a provider that joins two lists of the cloud
//! reads the second one again for each page of the first. Here an equal read within one list is answered from memory.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::outcome::RequestOutcome;
use crate::reads::ReadKey;

/// The bytes that the answers of one list may hold together. Answers that come later are not kept.
const KEPT_BYTES: usize = 8 << 20;

/// The memory of one list, from its first page to its last. Cloning shares it.
#[derive(Clone, Default)]
pub struct ListReads {
    known: Arc<Mutex<KnownAnswers>>,
    is_sealed: bool,
}

#[derive(Default)]
struct KnownAnswers {
    /// By the endpoint's number and the read.
    answers: HashMap<(usize, ReadKey), Arc<RequestOutcome>>,
    bytes: usize,
    /// Whether an answer was not kept.
    lacks: bool,
}

impl ListReads {
    /// The same memory for calls that come after the list: it answers them, and nothing that they read is kept. A call that
    /// has written is answered by it no more.
    #[must_use]
    pub fn sealed(&self) -> Self {
        Self { known: self.known.clone(), is_sealed: true }
    }

    /// Whether it holds every answer that the list was given.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.known().lacks
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The answer that the list was given before.
    pub(crate) fn find(&self, endpoint: usize, key: &ReadKey) -> Option<Arc<RequestOutcome>> {
        self.known().answers.get(&(endpoint, key.clone())).cloned()
    }

    /// Keeps an answer for the list's further pages, if it is a success and there is room.
    pub(crate) fn keep(&self, endpoint: usize, key: ReadKey, answer: &Arc<RequestOutcome>) {
        if self.is_sealed {
            return;
        }
        let mut known = self.known();
        let bytes = answer.reusable_bytes().map(|it| it.saturating_add(key.bytes()));
        match bytes.filter(|it| known.bytes.saturating_add(*it) <= KEPT_BYTES) {
            Some(bytes) if known.answers.insert((endpoint, key), answer.clone()).is_none() => known.bytes += bytes,
            Some(_) => {}
            None => known.lacks = true,
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownAnswers> {
        self.known.lock()
    }
}
