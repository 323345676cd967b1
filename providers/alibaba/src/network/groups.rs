//! The groups of machines, one for each port.

use std::cell::Cell;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, SortedMap, SortedSet};

use super::call::NlbCall;
use super::desired::{NlbDesired, NlbDesiredPort};
use super::step::NlbStop;
use crate::api::NLB;
use crate::api::fields::{borrowed, borrowed_words, tag_list, text};
use crate::api::network_groups::{self as groups, BATCH, NlbGroup, NlbServer, ServerFields, server_pairs};
use crate::api::network_listeners as listeners;
use crate::api::network_load_balancers::NlbBalancer;
use crate::load_balancer::annotations::GROUPS;
use crate::load_balancer::marks::TagRelation;
use crate::load_balancer::reused;

/// The ids of groups, by their names.
pub(super) type GroupIds = SortedMap<String, String>;

impl NlbCall<'_> {
    /// The Service's groups.
    fn own_groups(&self) -> Result<Vec<NlbGroup>, NlbStop> {
        let all = groups::tagged(&self.region, self.mark())?;
        Ok(all.into_iter().filter(|it| self.relation(&it.tags) == TagRelation::Own).collect())
    }

    /// Makes those that are missing, and lets all of them be as the Service asks for.
    pub(super) fn write_groups(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<GroupIds, NlbStop> {
        self.check_given(live, desired)?;
        let all = self.own_groups()?;
        let mut ids = GroupIds::new();
        for port in &desired.ports {
            let id = match (&port.given, all.iter().find(|it| it.name == port.group)) {
                (Some(id), _) => id.clone(),
                (None, Some(live)) => live.id.clone(),
                (None, None) => self.make_group(port)?,
            };
            ids.insert(port.group.clone(), id);
        }
        self.jobs.settle(&self.region)?;
        for port in &desired.ports {
            let Some(id) = ids.get(&port.group) else { continue };
            let group = self.writer(id);
            if let Some(live) = all.iter().find(|it| it.id == *id) {
                group.write_parameters(live, port, desired.is_local)?;
            }
            group.write_servers(&desired.servers(port), desired.ignores_weights)?;
        }
        Ok(ids)
    }

    /// Refuses groups that an annotation names and that no listener of the load balancer sends to, or that a cluster has made.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation and the group.
    fn check_given(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<(), NlbStop> {
        let ids: Vec<&str> = desired.ports.iter().filter_map(|it| it.given.as_deref()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let found = groups::by_ids(&self.region, &ids)?;
        let is_right = |id: &str| {
            let group = found.iter().find(|it| it.id == id);
            group.is_some_and(|it| it.is_of(&live.id) && reused::mark(&it.tags).is_none())
        };
        match ids.iter().find(|it| !is_right(it)) {
            Some(id) => Err(Error::invalid(format_args!(
                "annotation {}: no listener of {} sends to group {id}, or it was made for a Service: name another one",
                GROUPS.name,
                live.title()
            ))
            .into()),
            None => Ok(()),
        }
    }

    fn writer<'g>(&'g self, id: &'g str) -> GroupWriter<'g> {
        GroupWriter { call: self, id, is_changing: Cell::new(false) }
    }

    /// Lets the groups that are there follow the nodes.
    pub(super) fn follow(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<(), NlbStop> {
        self.jobs.settle(&self.region)?;
        self.check_given(live, desired)?;
        let all = self.own_groups()?;
        for port in &desired.ports {
            let own = all.iter().find(|it| it.name == port.group).map(|it| &it.id);
            if let Some(id) = port.given.as_ref().or(own) {
                self.writer(id).write_servers(&desired.servers(port), desired.ignores_weights)?;
            }
        }
        self.jobs.settle(&self.region)
    }

    /// Deletes those that no port needs any more. One that a listener of somebody's own sends to stays without machines.
    pub(super) fn remove_groups(&self, live: &NlbBalancer, used: &GroupIds) -> Result<(), NlbStop> {
        let all = self.own_groups()?;
        let unused = |it: &&NlbGroup| self.names.is_ours(&it.name) && !used.values().any(|id| *id == it.id);
        let unused: Vec<&NlbGroup> = all.iter().filter(unused).collect();
        if unused.is_empty() {
            return Ok(());
        }
        // The Service's own listeners in its own load balancer send elsewhere by now, also where a list still says otherwise.
        let mut listening = listeners::all(&self.region, &live.id)?;
        listening.retain(|it| self.is_reused(live) || !self.names.is_ours(&it.description));
        for group in unused {
            match listening.iter().any(|it| it.group == group.id) {
                true => self.writer(&group.id).write_servers(&[], false)?,
                false => self.delete_group(&group.id)?,
            }
        }
        Ok(())
    }

    /// Takes away what the Service has in a load balancer of somebody's own: its listeners, its groups, and its machines in groups that its
    /// annotation names. Everything else stays.
    pub(super) fn remove_parts(&self, live: &NlbBalancer) -> Result<(), NlbStop> {
        self.jobs.settle(&self.region)?;
        let own = listeners::all(&self.region, &live.id)?;
        for it in own.iter().filter(|it| self.names.is_ours(&it.description) && it.status != "Deleting") {
            self.send("DeleteListener", &[("ListenerId", &it.id)])?;
        }
        self.jobs.settle(&self.region)?;
        // A value that is not allowed has let no machine into a group.
        let given = Annotations::of(self.service).read(&GROUPS).ok().flatten().unwrap_or_default();
        let ids: Vec<&str> = given.iter().map(|(id, _)| id.as_str()).collect();
        let given = if ids.is_empty() { Vec::new() } else { groups::by_ids(&self.region, &ids)? };
        for group in given.iter().filter(|it| reused::mark(&it.tags).is_none()) {
            self.writer(&group.id).write_servers(&[], false)?;
        }
        self.remove_groups(live, &GroupIds::new())?;
        self.jobs.settle(&self.region)?;
        self.wait_for_announced()
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
    fn write_servers(&self, servers: &[NlbServer], ignores_weights: bool) -> Result<(), NlbStop> {
        let live = groups::servers(&self.call.region, self.id)?;
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
        let weighed: Vec<NlbServer> = match ignores_weights {
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
