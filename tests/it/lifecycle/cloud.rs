//! The machines of these tests.

use std::collections::BTreeSet;

use cloud_provider::{Error, Instance, State};

pub(crate) use tests::rig::instances::{Answer, Cloud, List};

/// The running machine behind node `n<nth>`.
pub(crate) fn machine(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        state: State::Running,
        ..Instance::default()
    }
}

/// The same, stopped.
pub(crate) fn stopped(nth: usize) -> Instance {
    Instance { state: State::Stopped, ..machine(nth) }
}

/// The names of the machines behind nodes.
pub(crate) fn names(nodes: impl IntoIterator<Item = usize>) -> BTreeSet<String> {
    nodes.into_iter().map(|nth| format!("n{nth}")).collect()
}

/// A cloud without an answer.
pub(crate) fn unavailable() -> Error {
    Error::Unavailable("HTTP 500: cloud is down".to_owned())
}
