//! How the simulated volumes differ from the usual ones.

use std::time::Duration;

/// The behaviour that tests may choose. The default is the service as it is published, at its fastest and without a quota.
#[derive(Clone, Copy, Debug)]
pub struct VolumeBehaviour {
    /// When an action ends.
    pub action: ActionTime,
    /// Whether actions end as `errored`, and change nothing.
    pub actions_fail: bool,
    /// How late a new volume comes into lists. By id it can be had at once.
    pub lists_late_by: Duration,
    /// How many volumes a droplet takes. Published are 15 for most, and the vendor's driver counts 7.
    pub most_per_droplet: usize,
    /// How many GiB the account may have. Absent: as many as one likes.
    pub quota: Option<u64>,
    /// Whether the newest actions come first in their list.
    pub newest_first: bool,
}

/// When an action ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionTime {
    /// After so much time. The answer to the request says `in-progress` in any case.
    Takes(Duration),
    /// After it was read so many times, each time as `in-progress`.
    Reads(usize),
    /// Never.
    Stuck,
}

impl Default for VolumeBehaviour {
    fn default() -> VolumeBehaviour {
        VolumeBehaviour {
            action: ActionTime::Takes(Duration::ZERO),
            actions_fail: false,
            lists_late_by: Duration::ZERO,
            most_per_droplet: 7,
            quota: None,
            newest_first: true,
        }
    }
}
