//! Members of pools: all of them in one PUT, or in parts where one request cannot hold them.

use serde_json::{Value, json};

use super::bodies::{BodyPlans, LARGEST, size};
use super::desired::{DesiredMember, ServicePort};
use crate::api::octavia::{OctaviaMember, OctaviaWrite};

/// How members are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MemberWrites {
    /// All of a pool at a time.
    Batch,
    /// One at a time: the driver cannot do more.
    Single,
    /// One at a time, named and written as OpenStack's own controller does for drivers that need it.
    Serial,
}

/// The members of a port's pool, and how they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolMembers<'a> {
    /// The bodies of the Service.
    pub(crate) plans: BodyPlans<'a>,
    /// Their port.
    pub(crate) listener: &'a ServicePort,
    /// Their pool.
    pub(crate) pool: &'a str,
    /// How they are written.
    pub(crate) writes: MemberWrites,
    /// Whether the subnet of members is said by somebody, and compared.
    pub(crate) compares_subnets: bool,
}

impl PoolMembers<'_> {
    /// How many there should be.
    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> &[DesiredMember] {
        self.plans.members_of(self.listener)
    }

    /// The name of a member.
    fn name(&self, desired: &DesiredMember) -> String {
        match self.writes {
            MemberWrites::Serial => {
                let port = self.listener.node_port.unwrap_or_default();
                format!("member_{}_{}_{port}", desired.name, desired.address)
            }
            MemberWrites::Batch | MemberWrites::Single => desired.name.clone(),
        }
    }

    /// Whether the status tree shows the members that there should be, as far as it shows them.
    pub(crate) fn are_shown(&self, shown: &[OctaviaMember]) -> bool {
        let is = |desired: &&DesiredMember| {
            let name = self.name(desired);
            shown.iter().any(|it| it.address == desired.address && self.is_at(it.protocol_port) && it.name == name)
        };
        shown.len() == self.all().len() && self.all().iter().filter(is).count() == shown.len()
    }

    fn is_at(&self, port: u16) -> bool {
        self.listener.node_port == Some(port)
    }

    /// Whether a member is as it should be.
    fn is_right(&self, desired: &DesiredMember, live: &OctaviaMember) -> bool {
        if live.name != self.name(desired) || live.weight.is_some_and(|it| it != 1) {
            return false;
        }
        if self.writes == MemberWrites::Serial {
            return true;
        }
        let port = self.plans.desired.monitor_port(self.listener, self.plans.monitors_local);
        let subnet = !self.compares_subnets
            || self.plans.member_subnet.is_none()
            || live.subnet_id.as_deref() == self.plans.member_subnet;
        subnet && live.monitor_port == port
    }

    /// The body of one member. `live` is what it replaces.
    fn body(&self, desired: &DesiredMember, live: Option<&OctaviaMember>) -> Value {
        let mut body = match self.writes {
            MemberWrites::Serial => {
                json!({ "address": desired.address, "name": self.name(desired), "protocol_port": self.listener.node_port })
            }
            MemberWrites::Batch | MemberWrites::Single => self.plans.member(self.listener, desired),
        };
        if live.is_some_and(|it| it.weight.is_some_and(|it| it != 1)) {
            body["weight"] = json!(1);
        }
        body
    }

    /// All members in one request; `None` if it would be too large, or the driver takes one at a time.
    pub(crate) fn replacement(&self, live: &[OctaviaMember]) -> Option<OctaviaWrite> {
        if self.writes != MemberWrites::Batch {
            return None;
        }
        let members: Vec<_> = self.all().iter().map(|it| self.body(it, self.live_of(it, live))).collect();
        let body = json!({ "members": members });
        (size(&body) <= LARGEST).then(|| OctaviaWrite::put(&["pools", self.pool, "members"], body))
    }

    fn live_of<'l>(&self, desired: &DesiredMember, live: &'l [OctaviaMember]) -> Option<&'l OctaviaMember> {
        live.iter().find(|it| it.address == desired.address && self.is_at(it.protocol_port))
    }

    /// The next change of the members that a pool has.
    pub(crate) fn next(&self, live: &[OctaviaMember]) -> Option<OctaviaWrite> {
        let wrong: Vec<&DesiredMember> = self
            .all()
            .iter()
            .filter(|it| !self.live_of(it, live).is_some_and(|live| self.is_right(it, live)))
            .collect();
        let is_wanted = |live: &OctaviaMember| {
            self.is_at(live.protocol_port) && self.all().iter().any(|desired| desired.address == live.address)
        };
        let unwanted = live.iter().find(|it| !is_wanted(it));
        if wrong.is_empty() && unwanted.is_none() {
            return None;
        }
        self.replacement(live).or_else(|| self.next_part(&wrong, unwanted, live))
    }

    /// A part of the change: what is missing first, so that somebody serves all the time.
    fn next_part(
        &self,
        wrong: &[&DesiredMember],
        unwanted: Option<&OctaviaMember>,
        live: &[OctaviaMember],
    ) -> Option<OctaviaWrite> {
        let Some(first) = wrong.first() else {
            return unwanted.map(|it| OctaviaWrite::delete(&["pools", self.pool, "members", &it.id]));
        };
        if self.writes == MemberWrites::Batch {
            let mut members = Vec::new();
            let mut bytes = 16;
            for desired in wrong {
                let body = self.body(desired, self.live_of(desired, live));
                bytes += size(&body) + 1;
                if bytes > LARGEST {
                    break;
                }
                members.push(body);
            }
            let body = json!({ "members": members });
            return Some(OctaviaWrite::put(&["pools", self.pool, "members"], body).additive());
        }
        Some(match self.live_of(first, live) {
            // Its name, port and address make it what it is: another one is put in its place.
            Some(wrong) => OctaviaWrite::delete(&["pools", self.pool, "members", &wrong.id]),
            None => OctaviaWrite::post(&["pools", self.pool, "members"], json!({ "member": self.body(first, None) })),
        })
    }
}
