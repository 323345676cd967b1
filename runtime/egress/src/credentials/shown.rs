//! Secrets that a credential shows to services that give keys, so that they come back nowhere: tokens of pods, tokens of the instance
//! metadata, and keys with which a role is taken.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::secret::Secret;

/// So many are remembered, the last ones: those of two renewals at least.
const REMEMBERED: usize = 8;

/// The last secrets that were shown.
#[derive(Default)]
pub(super) struct Shown(Mutex<VecDeque<(Zeroizing<String>, Arc<Secret>)>>);

impl Shown {
    /// Remembers a secret, before it is shown to anybody.
    pub(super) fn add(&self, text: &str) {
        let mut shown = self.0.lock();
        if shown.iter().any(|(known, _)| **known == text) {
            return;
        }
        if shown.len() == REMEMBERED {
            shown.pop_front();
        }
        let text = Zeroizing::new(text.to_owned());
        shown.push_back((text.clone(), Arc::new(Secret::new(text))));
    }

    /// The secrets that no answer and no log may hold.
    pub(super) fn secrets(&self) -> Vec<Arc<Secret>> {
        self.0.lock().iter().map(|(_, it)| it.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::secrets::Secrets;
    use super::*;

    #[test]
    fn adv_160_the_last_secrets_are_remembered_once_each() {
        let shown = Shown::default();
        for index in 0..2 * REMEMBERED {
            shown.add(&format!("token-number-{index:03}"));
            shown.add("token-of-the-pod");
        }
        assert_eq!(shown.secrets().len(), REMEMBERED);
        let is_known = |text: &str| Secrets::new(shown.secrets()).are_in(text.as_bytes());
        assert!(is_known("token-of-the-pod") && is_known("token-number-015") && !is_known("token-number-000"));
    }
}
