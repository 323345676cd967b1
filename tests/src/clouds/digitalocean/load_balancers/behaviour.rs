//! How the simulated load balancers differ from the usual ones.

use std::time::Duration;

/// The behaviour that tests may choose. The default is the service as it is published, at its fastest and without limits.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// When a new load balancer is done.
    pub creation: Creation,
    /// Whether creation ends as `errored` in the place of `active`.
    pub creations_fail: bool,
    /// For how long after a change (the creation is one) the next is refused, because previous actions are processed.
    pub busy: Duration,
    /// Whether a load balancer that is `new` takes no changes, however long that is.
    pub new_ones_are_busy: bool,
    /// Whether a name can be had once.
    pub names_are_unique: bool,
    /// For how long the name of a load balancer that was deleted by a request cannot be had again.
    pub names_freed_late_by: Duration,
    /// Whether a load balancer that was replaced is `new` again, with its addresses, until it is done as a creation is. The answer to
    /// the replacement says `new`, as the published example does.
    pub replacements_are_new: bool,
    /// Whether answers leave out what is as by default, of the attributes that published examples leave out.
    pub defaults_left_out: bool,
    /// How late a new load balancer comes into lists. By id it can be had at once.
    pub lists_late_by: Duration,
    /// How many load balancers the account may have. Absent: as many as one likes.
    pub limit: Option<usize>,
    /// How many droplets a load balancer may have by id. Absent: as many as one likes. The published limit is ten, beyond which there
    /// are tags; accounts with a managed cluster have more, because the vendor's own controller manager names all nodes by id.
    pub targets: Option<usize>,
}

/// When a new load balancer becomes `active` or `errored`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// After so much time. The answer to the creation says `new` in any case.
    Takes(Duration),
    /// After it was read so many times, by id or in a list, each time as `new`.
    Reads(usize),
    /// Never.
    Stuck,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            creation: Creation::Takes(Duration::ZERO),
            creations_fail: false,
            busy: Duration::ZERO,
            new_ones_are_busy: false,
            names_are_unique: true,
            names_freed_late_by: Duration::ZERO,
            replacements_are_new: false,
            defaults_left_out: false,
            lists_late_by: Duration::ZERO,
            limit: None,
            targets: None,
        }
    }
}
