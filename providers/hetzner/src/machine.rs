//! Provider ids: of cloud servers and of dedicated ones. All forms that were ever written are read for ever.

use aerostat_sdk::{Error, Result, provider_id};

/// The beginning of the provider ids of cloud servers; the server's id follows.
pub(crate) const CLOUD: &str = "hcloud://";
/// The beginning of those of dedicated servers; the server's number follows.
pub(crate) const ROBOT: &str = "hrobot://";
/// The older beginning of those of dedicated servers. It is looked for before [`CLOUD`].
const OLD_ROBOT: &str = "hcloud://bm-";

/// A machine by the cloud's own id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Machine {
    /// A cloud server, by its id.
    Cloud(u64),
    /// A dedicated server, by its number.
    Robot(u64),
}

impl Machine {
    /// The machine with this provider id.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud, or no machine has such an id.
    pub(crate) fn parse(id: &str) -> Result<Self> {
        if id.starts_with(OLD_ROBOT) {
            return provider_id::parse(OLD_ROBOT, id, "the server's number").map(Self::Robot);
        }
        if id.starts_with(ROBOT) {
            return provider_id::parse(ROBOT, id, "the server's number").map(Self::Robot);
        }
        if id.starts_with(CLOUD) {
            return provider_id::parse(CLOUD, id, "the server's id, a number").map(Self::Cloud);
        }
        Err(Error::invalid(format_args!("provider id {id:?} begins neither with {CLOUD} nor with {ROBOT}")))
    }

    /// Its provider id, in the form that is written today.
    pub(crate) fn provider_id(self) -> String {
        match self {
            Self::Cloud(id) => provider_id::join(CLOUD, id),
            Self::Robot(number) => provider_id::join(ROBOT, number),
        }
    }
}
