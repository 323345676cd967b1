//! The parts of a load balancer that was made a moment ago: its groups, and then each listener and its start.
//!
//! None of them is read that calls before have made, as the memo says. A cloud that has refused a change while it carried out another one
//! gets one a call.

use super::new_parts::MOST;
use super::update::SlbUpdate;
use crate::api::server_groups::{self as groups, FIRST};
use crate::api::{AcsRefusal, RefusedCall};

impl SlbUpdate<'_> {
    /// Whether a memo can say how many parts there are: they are not too many, each is made by one request, in the order of the ports, and no list
    /// of access or further domain stands beside them.
    pub(super) fn can_count(&self) -> bool {
        let desired = self.desired;
        let is_plain = desired.ranges.is_empty() && desired.domains.is_empty() && desired.count() <= FIRST;
        is_plain && 3 * desired.ports.len() <= MOST && desired.ports.iter().all(|it| it.forward.is_none())
    }

    /// Makes the part that comes behind so many, and no other one.
    ///
    /// # Errors
    ///
    /// Those of the cloud, and that further parts have to wait.
    pub(super) fn make_next(&self, parts: usize) -> Result<(), AcsRefusal> {
        let (groups, ports) = (self.desired.groups(), &self.desired.ports);
        let behind = parts.wrapping_sub(groups.len());
        if let Some(group) = groups.get(parts) {
            self.make_group(group.name, &self.desired.servers(group))?;
        } else if let Some(port) = ports.get(behind / 2) {
            if behind % 2 == 1 {
                self.start(port)?;
            } else if let Some(group) =
                self.group_of(&port.sends_to(), &groups::all(self.region, &self.balancer.id)?, &[])?
            {
                self.make_listener(port, &port.parameters, &group.id)?;
            }
        }
        let (made, all) = (self.made.get().unwrap_or_default(), groups.len() + 2 * ports.len());
        if made >= all {
            return Ok(());
        }
        // So does a group that is not listed yet.
        Err(RefusedCall::waits(format!(
            "{made} of its {all} parts are made: the cloud has to carry out the last change"
        )))
    }
}
