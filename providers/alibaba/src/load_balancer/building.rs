//! The parts of a load balancer that was made a moment ago: its groups, and then each listener and its start.
//!
//! None of them is read that calls before have made, as the memo says. A cloud that has refused a change while it carried out another one
//! gets one a call.

use super::desired::DesiredSlbPort;
use super::update::SlbUpdate;
use crate::api::AcsRefusal;
use crate::api::server_groups::{self as groups, FIRST};

impl SlbUpdate<'_> {
    /// How many parts there are, if a memo can say so: each is made by one request, and no list of access or further domain stands beside them.
    pub(super) fn counted(&self, parts: u64) -> Option<u64> {
        let desired = self.desired;
        let is_plain = desired.ranges.is_empty() && desired.domains.is_empty() && desired.count() <= FIRST;
        is_plain.then_some(parts)
    }

    /// Makes the part that comes behind so many, and no other one.
    ///
    /// # Errors
    ///
    /// Those of the cloud, and that further parts have to wait.
    pub(super) fn make_next(&self, parts: u64) -> Result<(), AcsRefusal> {
        let wanted = self.desired.groups();
        let steps = self.desired.in_order().into_iter().flat_map(|it| [(it, false), (it, true)]);
        let all: Vec<(&DesiredSlbPort, bool)> = steps.collect();
        let at = usize::try_from(parts).unwrap_or(usize::MAX);
        match (wanted.get(at), all.get(at.saturating_sub(wanted.len()))) {
            (Some(group), _) => drop(self.make_group(group.name, &self.desired.servers(group))?),
            (None, Some((port, true))) => self.start(port)?,
            (None, Some((port, false))) => {
                let there =
                    if port.forward.is_none() { groups::all(self.region, &self.balancer.id)? } else { Vec::new() };
                let group = self.group_of(&port.sends_to(), &there, &[])?;
                if group.is_none() && port.forward.is_none() {
                    return Err(AcsRefusal::waits(format_args!("its group {} is not listed yet", port.group)));
                }
                let group = group.map_or("", |it| &it.id);
                self.make_listener(port, &port.parameters, group)?;
            }
            (None, None) => return Ok(()),
        }
        let (made, all) = (at + 1, wanted.len() + all.len());
        if made == all {
            return Ok(());
        }
        Err(AcsRefusal::waits(format_args!(
            "{made} of the {all} parts of {} are made: the cloud takes the next one once it has carried out the last",
            self.balancer.title()
        )))
    }
}
