//! How a simulated project differs from the usual one.

use std::time::Duration;

use super::action::Taking;

/// The behaviour that tests may choose. The default is the service as it is published, which takes a moment for each action.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// When the creation of a load balancer ends. Until then it has no addresses.
    pub creation: Taking,
    /// When every other action ends. Until then nothing has changed.
    pub actions: Taking,
    /// The command whose actions fail, for example `add_target`.
    pub failing: Option<&'static str>,
    /// Whether what an action changes takes no other change until it ends: networks answer 409 `conflict`, the others 423 `locked`. A server
    /// to or from which a volume is on its way moves no other one.
    pub locks: bool,
    /// How late a new load balancer or volume comes into lists. By id it can be had at once.
    pub lists_late_by: Duration,
    /// For how long the name of a load balancer that was deleted by a request cannot be had again.
    pub names_freed_late_by: Duration,
    /// How many load balancers the project may have. Absent: as many as one likes.
    pub limit: Option<usize>,
    /// How many routes a network may have.
    pub routes: usize,
    /// Whether a server that is gone stays a target until somebody removes it.
    pub targets_stay: bool,
    /// How many volumes a server takes.
    pub volumes_per_server: usize,
    /// Whether locations have room for further volumes.
    pub has_room: bool,
}

/// How long an action takes: a fraction of what it is in truth, and longer than a call.
const ACTION: Duration = Duration::from_millis(300);

impl Behaviour {
    /// The same where each action has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        let at_once = Taking::Time(Duration::ZERO);
        Behaviour { creation: at_once, actions: at_once, ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            creation: Taking::Time(ACTION),
            actions: Taking::Time(ACTION),
            failing: None,
            locks: true,
            lists_late_by: Duration::ZERO,
            names_freed_late_by: Duration::ZERO,
            limit: None,
            routes: 100,
            targets_stay: false,
            volumes_per_server: 16,
            has_room: true,
        }
    }
}
