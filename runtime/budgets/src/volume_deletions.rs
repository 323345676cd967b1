//! Deletions of volumes, counted for all and for each namespace, so that one namespace does not keep others from theirs. No clock: times are
//! arguments.

use std::collections::HashMap;

use tokio::time::Instant;

use crate::share::{Budget, Spent};

/// How many volumes may be deleted in how long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VolumeBudgets {
    /// All of the driver.
    pub all: Budget,
    /// Those of one namespace's claims.
    pub of_namespace: Budget,
}

/// How many PersistentVolumes of the driver there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VolumeCounts {
    /// All of them.
    pub all: usize,
    /// Those of one namespace's claims.
    pub of_namespace: usize,
}

/// The budget that is spent, and how many deletions it has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VolumesSpent {
    /// That of all volumes.
    All(usize),
    /// That of the namespace.
    OfNamespace(usize),
}

/// The deletions of volumes of the last window.
#[derive(Debug, Default)]
pub struct VolumeDeletions {
    all: Spent,
    by_namespace: HashMap<String, Spent>,
}

impl VolumeDeletions {
    /// Takes the deletion of a volume of a claim in this namespace.
    ///
    /// # Errors
    ///
    /// The budget that is spent: nothing is taken from either.
    pub fn take(
        &mut self,
        budgets: &VolumeBudgets,
        namespace: &str,
        volumes: VolumeCounts,
        now: Instant,
    ) -> Result<(), VolumesSpent> {
        self.by_namespace.retain(|_, it| !it.is_unspent(budgets.of_namespace.window, now));
        let own = self.by_namespace.entry(namespace.to_owned()).or_default();
        if own.left(&budgets.of_namespace, volumes.of_namespace, now) == 0 {
            let spent = own.take(&budgets.of_namespace, volumes.of_namespace, now);
            return spent.map_err(VolumesSpent::OfNamespace);
        }
        self.all.take(&budgets.all, volumes.all, now).map_err(VolumesSpent::All)?;
        own.count(volumes.of_namespace, now);
        Ok(())
    }

    /// Counts a deletion, whether or not one is left.
    pub fn count(&mut self, namespace: &str, volumes: VolumeCounts, now: Instant) {
        self.all.count(volumes.all, now);
        self.by_namespace.entry(namespace.to_owned()).or_default().count(volumes.of_namespace, now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(600);

    fn budgets(all: usize, of_namespace: usize) -> VolumeBudgets {
        let budget = |least| Budget { percent: 10, least, window: WINDOW };
        VolumeBudgets { all: budget(all), of_namespace: budget(of_namespace) }
    }

    const FEW: VolumeCounts = VolumeCounts { all: 40, of_namespace: 30 };

    #[test]
    fn one_namespace_leaves_deletions_for_others() {
        let (mut spent, now, budgets) = (VolumeDeletions::default(), Instant::now(), budgets(20, 10));
        let taken = (0..30).take_while(|_| spent.take(&budgets, "greedy", FEW, now).is_ok()).count();
        assert_eq!(taken, 10);
        assert_eq!(spent.take(&budgets, "greedy", FEW, now), Err(VolumesSpent::OfNamespace(10)));
        assert_eq!(spent.take(&budgets, "other", FEW, now), Ok(()), "what is refused to one is not taken from all");
        assert_eq!(spent.take(&budgets, "greedy", FEW, now + WINDOW), Ok(()));
    }

    #[test]
    fn a_namespace_with_many_volumes_has_its_share_of_them() {
        let (mut spent, now, budgets) = (VolumeDeletions::default(), Instant::now(), budgets(20, 10));
        let many = VolumeCounts { all: 1_000, of_namespace: 400 };
        let taken = (0..100).take_while(|_| spent.take(&budgets, "large", many, now).is_ok()).count();
        assert_eq!(taken, 40);
    }

    #[test]
    fn many_namespaces_stay_within_the_budget_of_all() {
        let (mut spent, now, budgets) = (VolumeDeletions::default(), Instant::now(), budgets(20, 10));
        let mut taken = 0;
        for namespace in 0..30 {
            let name = namespace.to_string();
            taken += usize::from(spent.take(&budgets, &name, FEW, now).is_ok());
        }
        assert_eq!(taken, 20);
        assert_eq!(spent.take(&budgets, "29", FEW, now), Err(VolumesSpent::All(20)));
    }

    #[test]
    fn approved_deletions_count_for_both() {
        let (mut spent, now, budgets) = (VolumeDeletions::default(), Instant::now(), budgets(3, 2));
        (0..3).for_each(|_| spent.count("one", FEW, now));
        assert_eq!(spent.take(&budgets, "one", FEW, now), Err(VolumesSpent::OfNamespace(3)));
    }
}
