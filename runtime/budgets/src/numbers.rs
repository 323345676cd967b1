//! The numbers of all budgets. SECURITY.md has them as a table, which a test holds against these.

use std::time::Duration;

use crate::share::Budget;
use crate::writes::WriteLimits;

const WINDOW: Duration = Duration::from_secs(600);

/// Deletions of nodes, as a share of those that have a provider id.
pub const NODES: Budget = Budget { percent: 10, least: 1, window: WINDOW };

/// Deletions of load balancers whose Services vanished.
pub const LOAD_BALANCERS: Budget = Budget { percent: 10, least: 3, window: WINDOW };

/// Deletions and moves of routes for which no node has been seen to go or to change.
pub const ROUTES: Budget = Budget { percent: 10, least: 1, window: WINDOW };

/// Deletions of volumes whose claims are gone.
pub const VOLUMES: Budget = Budget { percent: 10, least: 20, window: WINDOW };

/// Those of them whose claims were in one namespace: what it deletes leaves others their part.
pub const VOLUMES_OF_NAMESPACE: Budget = Budget { percent: 10, least: 10, window: WINDOW };

/// Writes with one credential.
pub const WRITES: WriteLimits = WriteLimits {
    window: WINDOW,
    deletions: 20,
    creations: 50,
    detachments: 50,
    updates: 200,
    deletions_per_change: 2,
    creations_per_change: 3,
    detachments_per_change: 3,
    updates_per_change: 5,
};

impl Default for WriteLimits {
    fn default() -> Self {
        WRITES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writes::WriteKind;

    const PAGE: &str = include_str!("../../../SECURITY.md");

    #[test]
    fn the_page_has_the_numbers_of_all_budgets() {
        let shares = [
            (
                "nodes",
                "nodes that have a provider id",
                NODES,
                "`--node-deletion-budget`, `--node-deletion-budget-window`",
            ),
            ("load balancers of vanished Services", "load balancers", LOAD_BALANCERS, "nothing"),
            ("volumes", "driver's PersistentVolumes", VOLUMES, "nothing"),
            ("volumes of one namespace", "driver's PersistentVolumes of its claims", VOLUMES_OF_NAMESPACE, "nothing"),
            ("routes", "routes", ROUTES, "`--route-deletion-budget`, `--route-deletion-budget-window`"),
        ];
        for (name, all, Budget { percent, least, window }, set_by) in shares {
            let seconds = window.as_secs();
            has_row(&format!("| deletions of {name} | {percent} % of the {all} | {least} | {seconds} s | {set_by} |"));
        }
        for kind in WriteKind::ALL {
            let (least, per_change) = WRITES.of(kind);
            let (seconds, many, key) = (WRITES.window.as_secs(), kind.many(), kind.key());
            let set_by = format!("`limits.{key}`, `limits.{key}PerChange`, `limits.window`");
            has_row(&format!("| writes: {many} | {per_change} for each change | {least} | {seconds} s | {set_by} |"));
        }
    }

    fn has_row(row: &str) {
        assert!(PAGE.lines().any(|it| it == row), "SECURITY.md lacks {row}");
    }
}
