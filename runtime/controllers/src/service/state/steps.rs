//! Why the cloud is asked about a Service, and how the work on it goes on.

use std::time::Duration;

use tokio::time::Instant;

/// Why the cloud is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    /// The Service is new, has changed, or failed.
    Service,
    /// Other nodes take traffic.
    Backends,
    /// It may have changed in the cloud.
    Resync,
}

/// The step that a Service needs which is as desired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Resync {
    /// The cloud is asked then.
    AskAt(Instant),
    /// The cloud has it as it was, and its status says otherwise.
    Restore,
}

/// How the work on a Service goes on, once nothing more can be done now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NextStep {
    /// It is as desired: the next change brings it back.
    Done,
    /// There is nothing to do any more, and nothing to remember.
    Forget,
    /// It is reconciled again after this time.
    After(Duration),
    /// The Service was changed meanwhile: it is reconciled again at once.
    Again,
}

/// Whether the nodes are others than the last time, or were not asked about yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AskedNodes {
    Others,
    Same,
}

/// The meaning of a Service's change for the work queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EventEffect {
    /// Nothing: it was known.
    None,
    /// There is nothing to do any more, and nothing to remember.
    Forget,
    /// There is something to do, as there was before: a pause stands.
    AddIfIdle,
    /// There is something else to do than before.
    Add,
    /// Its load balancer has to go, and nothing was done for that yet: a pause that `ensure` asked for is over.
    AddDespitePause,
}
