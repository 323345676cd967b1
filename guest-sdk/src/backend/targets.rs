//! Targets of a load balancer, compared as sets.

use crate::{Change, Result, SortedSet};

/// The writes that make a load balancer as desired, where its targets `T` are written by requests of their own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Difference<T> {
    /// Nothing.
    Nothing,
    /// Targets, and nothing else.
    Targets {
        /// Those that are missing.
        add: SortedSet<T>,
        /// Those that are too many.
        remove: SortedSet<T>,
    },
    /// The load balancer as a whole.
    Everything,
}

impl<T: Clone + Ord> Difference<T> {
    /// Between the targets that a load balancer has and those that it should have.
    ///
    /// ```
    /// use aerostat_sdk::SortedSet;
    /// use aerostat_sdk::backend::Difference;
    ///
    /// let set = |ids: &[u64]| -> SortedSet<u64> { ids.iter().copied().collect() };
    /// let expected = Difference::Targets { add: set(&[3]), remove: set(&[1]) };
    /// assert_eq!(Difference::of_targets(&set(&[1, 2]), &set(&[2, 3])), expected);
    /// assert_eq!(Difference::of_targets(&set(&[1, 2]), &set(&[2, 1])), Difference::Nothing);
    /// ```
    #[must_use]
    pub fn of_targets(live: &SortedSet<T>, desired: &SortedSet<T>) -> Self {
        let (add, remove): (SortedSet<T>, SortedSet<T>) = (desired - live, live - desired);
        if add.is_empty() && remove.is_empty() { Self::Nothing } else { Self::Targets { add, remove } }
    }

    /// Sends what has to be written of targets: first what is missing and then what is too many, so that at least one target
    /// serves all the time.
    ///
    /// # Errors
    ///
    /// Those of `add` and `remove`. Neither is called for an empty set.
    pub fn write_targets(
        &self,
        add: impl FnOnce(&SortedSet<T>) -> Result<Change<()>>,
        remove: impl FnOnce(&SortedSet<T>) -> Result<Change<()>>,
    ) -> Result<Change<()>> {
        let Self::Targets { add: missing, remove: unwanted } = self else { return Ok(Change::Done(())) };
        let added = if missing.is_empty() { Change::Done(()) } else { add(missing)? };
        added.and_then(|()| if unwanted.is_empty() { Ok(Change::Done(())) } else { remove(unwanted) })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn targets_are_added_before_others_are_removed() {
        let sent = RefCell::new(Vec::new());
        let write = |live: &[u8], desired: &[u8], added: Change<()>| {
            let difference =
                Difference::of_targets(&live.iter().copied().collect(), &desired.iter().copied().collect());
            let add = |ports: &SortedSet<u8>| {
                sent.borrow_mut().push(format!("add {ports:?}"));
                Ok(added)
            };
            let remove = |ports: &SortedSet<u8>| {
                sent.borrow_mut().push(format!("remove {ports:?}"));
                Ok(Change::Done(()))
            };
            (difference.write_targets(add, remove).unwrap(), sent.take())
        };
        let done = || Change::Done(());
        assert_eq!(write(&[1, 2], &[2, 3], done()), (done(), vec!["add {3}".to_owned(), "remove {1}".to_owned()]));
        assert_eq!(write(&[1], &[1, 3], done()), (done(), vec!["add {3}".to_owned()]));
        assert_eq!(write(&[1, 3], &[1], done()), (done(), vec!["remove {3}".to_owned()]));
        assert_eq!(write(&[1], &[1], done()), (done(), Vec::new()));
        let busy = Change::Busy("an earlier change".to_owned());
        assert_eq!(write(&[1], &[2], busy.clone()), (busy, vec!["add {2}".to_owned()]), "the old target serves");
    }
}
