//! One word for all spellings of a machine's provider id, in the provider's words. It is asked for only where ids differ
//! byte for byte: most clouds have one spelling, and then nobody is asked.

use std::collections::HashMap;
use std::sync::Arc;

use cloud_provider::{Error, Instances};
use parking_lot::Mutex;
use tokio::time::timeout;
use tracing::warn;

use crate::cloud_call::CALL;

/// Provider ids in one call.
const BATCH: usize = 1_000;
/// Provider ids whose words are kept: four for each of the 5,000 nodes that Kubernetes is made for. When there are more,
/// all are forgotten, and asked for again.
const KEPT: usize = 20_000;
/// The longest provider id that a provider is asked about.
const LONGEST: usize = 1_024;

/// The words that are known.
#[derive(Debug, Default)]
pub(super) struct CanonicalIds {
    known: Mutex<HashMap<String, CanonicalWord>>,
}

/// The provider's word for a provider id.
#[derive(Clone, Debug, Eq, PartialEq)]
enum CanonicalWord {
    /// The id itself is the word.
    Itself,
    /// This is the word.
    Is(Arc<str>),
    /// It is none of this cloud's.
    None,
}

impl CanonicalIds {
    /// The words for these provider ids. What the provider does not know, or does not say now, has none.
    pub(super) async fn of<'a>(
        &self,
        instances: &dyn Instances,
        provider_ids: impl IntoIterator<Item = &'a str>,
    ) -> HashMap<&'a str, Arc<str>> {
        let mut words = HashMap::new();
        let mut asked: Vec<&str> = Vec::new();
        for id in provider_ids {
            match self.known(id) {
                Some(word) => drop(word.of(id).map(|it| words.insert(id, it))),
                None if id.len() <= LONGEST => asked.push(id),
                None => {}
            }
        }
        asked.sort_unstable();
        asked.dedup();
        for batch in asked.chunks(BATCH) {
            let ids: Vec<_> = batch.iter().map(|it| (*it).to_owned()).collect();
            let Ok(answers) = timeout(CALL, instances.canonical_ids(&ids)).await else { continue };
            if answers.len() != ids.len() {
                warn!("the provider gave {} canonical ids for {} provider ids", answers.len(), ids.len());
                continue;
            }
            for (id, answer) in batch.iter().zip(answers) {
                let word = match answer {
                    Ok(it) if it == **id => CanonicalWord::Itself,
                    Ok(it) => CanonicalWord::Is(it.into()),
                    Err(Error::Invalid(_) | Error::Denied(_)) => CanonicalWord::None,
                    // It may be answered the next time.
                    Err(Error::RetryAfter { .. } | Error::Crashed { .. } | Error::Unavailable(_)) => continue,
                };
                if let Some(text) = word.of(id) {
                    words.insert(*id, text);
                }
                self.keep(id, word);
            }
        }
        words
    }

    /// Whether these are spellings of one machine's id.
    pub(super) async fn are_same(&self, instances: &dyn Instances, one: &str, other: &str) -> bool {
        if one == other {
            return true;
        }
        let words = self.of(instances, [one, other]).await;
        words.get(one).is_some_and(|word| words.get(other) == Some(word))
    }

    fn known(&self, id: &str) -> Option<CanonicalWord> {
        self.known.lock().get(id).cloned()
    }

    fn keep(&self, id: &str, word: CanonicalWord) {
        let mut known = self.known.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(id.to_owned(), word);
    }
}

impl CanonicalWord {
    fn of(&self, id: &str) -> Option<Arc<str>> {
        match self {
            Self::Itself => Some(id.into()),
            Self::Is(word) => Some(word.clone()),
            Self::None => None,
        }
    }
}
