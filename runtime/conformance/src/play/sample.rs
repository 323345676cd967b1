//! Which troubles are tried.

use std::collections::BTreeMap;

use crate::trouble::Trouble;

/// The first trouble of each kind, and then one of so many.
pub(super) fn sample(troubles: impl Iterator<Item = Trouble>, every: usize) -> Vec<Trouble> {
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    let mut is_taken = |trouble: &Trouble| {
        let seen = seen.entry((trouble.how, trouble.lists_lag, trouble.gives_up)).or_default();
        *seen += 1;
        (*seen - 1).is_multiple_of(every)
    };
    troubles.filter(|it| is_taken(it)).collect()
}
