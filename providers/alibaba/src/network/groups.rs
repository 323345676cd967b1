//! The groups of machines, one for each port.

use std::cell::Cell;

use aerostat_sdk::{Error, SortedMap, SortedSet};

use super::call::NlbCall;
use super::desired::{NlbDesired, NlbDesiredPort};
use super::step::NlbStop;
use crate::api::NLB;
use crate::api::fields::{borrowed, borrowed_words, tag_list, text};
use crate::api::network_groups::{self as groups, BATCH, NlbGroup, NlbServer, ServerFields, server_pairs};
use crate::load_balancer::marks::TagRelation;

/// The ids of groups, by their names.
pub(super) type GroupIds = SortedMap<String, String>;

impl NlbCall<'_> {
    /// The Service's groups.
    fn own_groups(&self) -> Result<Vec<NlbGroup>, NlbStop> {
        let all = groups::tagged(&self.region, self.mark())?;
        Ok(all.into_iter().filter(|it| self.relation(&it.tags) == TagRelation::Own).collect())
    }

    /// Makes those that are missing, and lets all of them be as the Service asks for.
    pub(super) fn write_groups(&self, desired: &NlbDesired) -> Result<GroupIds, NlbStop> {
        let all = self.own_groups()?;
        let mut ids = GroupIds::new();
        for port in &desired.ports {
            let id = match all.iter().find(|it| it.name == port.group) {
                Some(live) => live.id.clone(),
                None => self.make_group(port)?,
            };
            ids.insert(port.group.clone(), id);
        }
        self.jobs.settle(&self.region)?;
        for port in &desired.ports {
            let Some(id) = ids.get(&port.group) else { continue };
            let group = GroupWriter { call: self, id, is_changing: Cell::new(false) };
            if let Some(live) = all.iter().find(|it| it.id == *id) {
                group.write_parameters(live, port, desired.is_local)?;
            }
            group.write_servers(desired, port)?;
        }
        Ok(ids)
    }

    /// Lets the groups that are there follow the nodes.
    pub(super) fn follow(&self, desired: &NlbDesired) -> Result<(), NlbStop> {
        self.jobs.settle(&self.region)?;
        let all = self.own_groups()?;
        for port in &desired.ports {
            if let Some(live) = all.iter().find(|it| it.name == port.group) {
                GroupWriter { call: self, id: &live.id, is_changing: Cell::new(false) }.write_servers(desired, port)?;
            }
        }
        self.jobs.settle(&self.region)
    }

    /// Deletes those that no port needs any more.
    pub(super) fn remove_groups(&self, used: &GroupIds) -> Result<(), NlbStop> {
        let all = self.own_groups()?;
        for group in all.iter().filter(|it| self.names.is_ours(&it.name) && !used.values().any(|id| *id == it.id)) {
            self.delete_group(&group.id)?;
        }
        Ok(())
    }

    /// Deletes one. One that is gone counts as deleted.
    pub(super) fn delete_group(&self, id: &str) -> Result<(), NlbStop> {
        match NLB.call("DeleteServerGroup", &self.region, &[("ServerGroupId", id)]) {
            Err(refusal) if groups::is_gone(&refusal) => Ok(()),
            Err(refusal) => Err(refusal.into()),
            Ok(answer) => self.begun("DeleteServerGroup", &answer),
        }
    }

    fn make_group(&self, port: &NlbDesiredPort) -> Result<String, NlbStop> {
        let protocol = port.group_protocol().word();
        let token = self.token(&format!("{}-{}", port.node_port, port.protocol.word()))?;
        let tags = self.tags();
        let tags = tag_list(&tags);
        let mut pairs = vec![
            ("AnyPortEnabled", "false"),
            ("ClientToken", &*token),
            ("Protocol", protocol),
            ("ServerGroupName", &*port.group),
            ("VpcId", &*self.vpc),
        ];
        pairs.extend(borrowed(&tags));
        pairs.extend(port.sending.pairs());
        let answer = NLB.call("CreateServerGroup", &self.region, &pairs)?;
        self.begun("CreateServerGroup", &answer)?;
        match text(&answer, "ServerGroupId") {
            id if id.is_empty() => Err(Error::unavailable("CreateServerGroup: an answer without an id").into()),
            id => Ok(id),
        }
    }
}

/// The writes of one group, one after the other: while it is changed, it takes no other change.
struct GroupWriter<'a> {
    call: &'a NlbCall<'a>,
    id: &'a str,
    /// Whether this call has sent one.
    is_changing: Cell<bool>,
}

impl GroupWriter<'_> {
    fn send(&self, action: &str, pairs: &[(&str, &str)]) -> Result<(), NlbStop> {
        if self.is_changing.replace(true) {
            self.call.jobs.settle(&self.call.region)?;
        }
        self.call.send(action, &[&[("ServerGroupId", self.id)], pairs].concat())
    }

    fn write_parameters(&self, live: &NlbGroup, port: &NlbDesiredPort, is_local: bool) -> Result<(), NlbStop> {
        if !matches!(&*live.status, "Available" | "") {
            return Err(NlbStop::Waits(format!("server group {} is {}", live.id, live.status)));
        }
        let mut sending = port.sending.clone();
        sending.back_from_local(live, is_local);
        if !sending.differ(|name| live.value(name)) {
            return Ok(());
        }
        self.send("UpdateServerGroupAttribute", &sending.pairs().collect::<Vec<_>>())
    }

    /// First adds what is missing, then takes away what is too many. Machines with another description are somebody's own.
    fn write_servers(&self, desired: &NlbDesired, port: &NlbDesiredPort) -> Result<(), NlbStop> {
        let live = groups::servers(&self.call.region, self.id)?;
        let servers = desired.servers(port);
        let key = |it: &NlbServer| (it.instance.clone(), it.port);
        let there: SortedMap<(String, u16), &NlbServer> = live.iter().map(|it| (key(it), it)).collect();
        let wanted: SortedSet<(String, u16)> = servers.iter().map(key).collect();
        if live.iter().any(|it| it.is_leaving && wanted.contains(&key(it))) {
            let why = format!("server group {}: a machine that it needs again is being removed", self.id);
            return Err(NlbStop::Waits(why));
        }
        let is_ours = |it: &NlbServer| self.call.names.is_ours(&it.description);
        let missing: Vec<NlbServer> = servers.iter().filter(|it| !there.contains_key(&key(it))).cloned().collect();
        let unwanted = live.iter().filter(|it| is_ours(it) && !it.is_leaving && !wanted.contains(&key(it)));
        let unwanted: Vec<NlbServer> = unwanted.cloned().collect();
        let is_heavier =
            |it: &&NlbServer| there.get(&key(it)).is_some_and(|own| is_ours(own) && own.weight != it.weight);
        let weighed: Vec<NlbServer> = match desired.ignores_weights {
            true => Vec::new(),
            false => servers.iter().filter(is_heavier).cloned().collect(),
        };
        let (add, remove) = ("AddServersToServerGroup", "RemoveServersFromServerGroup");
        match self.change_servers(add, ServerFields::All, &missing) {
            Err(NlbStop::Refused(full)) if full.is_quota() && !unwanted.is_empty() => {
                self.change_servers(remove, ServerFields::Place, &unwanted)?;
                return Err(NlbStop::Waits(format!("server group {} is full: what is gone goes first", self.id)));
            }
            added => added?,
        }
        self.change_servers(remove, ServerFields::Place, &unwanted)?;
        self.change_servers("UpdateServerGroupServersAttribute", ServerFields::All, &weighed)
    }

    fn change_servers(&self, action: &str, fields: ServerFields, servers: &[NlbServer]) -> Result<(), NlbStop> {
        servers.chunks(BATCH).try_for_each(|some| {
            let pairs = server_pairs(some, fields);
            self.send(action, &borrowed_words(&pairs))
        })
    }
}
