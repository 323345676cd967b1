//! The writes that make a load balancer as a Service asks for it. What others made in it stays, but for a listener at a port of the Service.

use std::cell::Cell;

use aerostat_sdk::{SortedMap, SortedSet};

use super::access::ServiceAccess;
use super::desired::{DesiredSlb, DesiredSlbGroup, DesiredSlbPort};
use super::listening::ListenerParameters;
use super::names::{OTHERS, PartNames};
use crate::api::AcsRefusal;
use crate::api::listeners::{self, SlbListener, SlbProtocol};
use crate::api::load_balancers::SlbBalancer;
use crate::api::server_groups::{self as groups, BATCH, FIRST, SlbGroup, SlbServer};

/// One load balancer, and what it should be.
pub(super) struct SlbUpdate<'a> {
    pub(super) region: &'a str,
    pub(super) balancer: &'a SlbBalancer,
    pub(super) names: &'a PartNames,
    pub(super) desired: &'a DesiredSlb,
    pub(super) access: ServiceAccess<'a>,
    /// How many parts of a new load balancer are made, as long as they are counted.
    pub(super) made: Cell<Option<usize>>,
}

impl SlbUpdate<'_> {
    /// Writes what differs. What was made a moment ago is not read: its parts are made.
    pub(super) fn write(&self) -> Result<(), AcsRefusal> {
        if !self.desired.listens {
            return self.write_groups_alone();
        }
        let (memo, fingerprint) = (self.access.memo, self.desired.fingerprint());
        let there = memo.parts.there(fingerprint);
        // A list does not say what listens.
        let is_new = there == Some(0) && (self.balancer.is_bare || self.access.service.is_listed());
        self.made.set(there.filter(|it| (*it > 0 || is_new) && self.can_count()));
        let written = match self.made.get() {
            Some(there @ 1..) => self.make_next(there),
            _ => self.write_difference(is_new),
        };
        if let (Err(refusal), Some(made)) = (&written, self.made.get())
            && refusal.is_early()
        {
            memo.give_parts(fingerprint, made);
        }
        written
    }

    /// One more part of a new load balancer is made.
    fn count(&self) {
        self.made.set(self.made.get().map(|it| it + 1));
    }

    /// Writes what differs, and of one without parts (`is_new`) all: listeners away, new groups with their first machines, listeners, the machines of
    /// groups, groups away. A write that has to wait ends the call, as does one that is throttled or not answered, and what comes behind it is not
    /// read in vain. A listener that is refused holds up no other, and no machine.
    fn write_difference(&self, is_new: bool) -> Result<(), AcsRefusal> {
        // One that has served may have listeners that are not shown yet, or for a moment.
        let mut live = match is_new || (self.balancer.is_bare && self.access.service.current_ingress.is_empty()) {
            true => Vec::new(),
            false => listeners::all(self.region, &self.balancer.id)?,
        };
        let all = if is_new { Vec::new() } else { groups::all(self.region, &self.balancer.id)? };
        let mut used: SortedSet<String> = SortedSet::new();
        // Also by a listener that goes: its list of access stays behind.
        let is_limited = live.iter().any(|it| it.value("AclStatus").as_deref() == Some("on"));
        let ranges = &self.desired.ranges;
        let may_be_limited = is_limited || self.access.may_be_there();
        let lists = if may_be_limited || !ranges.is_empty() { self.access.all()? } else { Vec::new() };
        if ranges.is_empty() {
            self.access.announce_removal(&lists)?;
        }
        self.remove_listeners(&mut live)?;
        let list = (!ranges.is_empty()).then(|| self.access.write(&lists, ranges)).transpose()?;
        if let Some(id) = list.as_deref().filter(|id| !live.iter().any(|it| has_list(it, id))) {
            self.access.remember(id);
        }
        let mut ids: Vec<(DesiredSlbGroup<'_>, String)> = Vec::new();
        let mut followers = Vec::new();
        for wanted in self.desired.groups() {
            let servers = self.desired.servers(&wanted);
            let id = match self.group_of(&wanted, &all, &live)? {
                Some(group) => {
                    followers.push((group.id.clone(), servers));
                    group.id.clone()
                }
                None => self.make_group(wanted.name, &servers)?,
            };
            used.insert(id.clone());
            ids.push((wanted, id));
        }
        // A port that sends clients to another one comes after that.
        let (last, first): (Vec<_>, Vec<_>) = self.desired.ports.iter().partition(|it| it.forward.is_some());
        let mut written = Ok(());
        for port in first.into_iter().chain(last) {
            let sends_to = port.sends_to();
            let group = ids.iter().find(|(it, _)| *it == sends_to).map(|(_, id)| id.as_str()).unwrap_or_default();
            let live = live.iter().find(|it| is_at(it, port));
            // It leaves the machines that it sends to for those of another group.
            let moves = live.is_some_and(|it| it.group != group);
            if let Some(at) = followers.iter().position(|(id, _)| moves && id == group) {
                let (group, servers) = followers.swap_remove(at);
                self.write_servers(&group, &servers)?;
            }
            let parameters = port.parameters.with_access(list.as_deref(), live, &lists);
            let listens = self.write_listener(port, &parameters, group, live);
            match listens.and_then(|()| self.write_domains(port, live.is_none())) {
                Err(refusal) if refusal.is_about_one() => {
                    self.made.set(None);
                    written = written.and(Err(refusal));
                }
                listens => listens?,
            }
        }
        let followed = followers.iter().try_for_each(|(group, servers)| self.write_servers(group, servers));
        written.and(followed)?;
        self.access.remove(&lists, list.as_ref())?;
        for group in all.iter().filter(|it| self.names.is_ours(&it.name) && !used.contains(&it.id)) {
            let is_listened = live.iter().any(|it| it.group == group.id && !self.is_changed(it));
            if !is_listened {
                groups::delete(self.region, &group.id)?;
            }
        }
        self.access.settle()
    }

    /// Lets the groups that are there follow the nodes.
    pub(super) fn follow_nodes(&self) -> Result<(), AcsRefusal> {
        let all = groups::all(self.region, &self.balancer.id)?;
        for wanted in self.desired.groups() {
            let is_it = |group: &&SlbGroup| match wanted.given {
                Some(given) => group.id == given && !group.name.starts_with(OTHERS),
                None => group.name == wanted.name,
            };
            for group in all.iter().filter(is_it) {
                self.write_servers(&group.id, &self.desired.servers(&wanted))?;
            }
        }
        Ok(())
    }

    /// Whether a listener is at a port of the Service, and so sends to a group of it by now.
    fn is_changed(&self, live: &SlbListener) -> bool {
        self.desired.ports.iter().any(|it| is_at(live, it))
    }

    /// Deletes listeners of ports that the Service has no more, and those in the way of another protocol. Those that send clients to
    /// others go first.
    pub(super) fn remove_listeners(&self, live: &mut Vec<SlbListener>) -> Result<(), AcsRefusal> {
        let is_udp = |it: SlbProtocol| it == SlbProtocol::Udp;
        let is_wrong = |listener: &SlbListener| {
            let mut ports = self.desired.ports.iter().filter(|port| port.port == listener.port);
            if let Some(port) = ports.clone().find(|port| is_at(listener, port)) {
                return forward_of(listener) != port.forward;
            }
            // At the same number, tcp and udp stand beside each other.
            self.names.is_ours(&listener.description)
                || ports.any(|port| is_udp(port.protocol) == is_udp(listener.protocol))
        };
        let (wrong, right): (Vec<_>, Vec<_>) = std::mem::take(live).into_iter().partition(is_wrong);
        for forwards in [true, false] {
            for it in wrong.iter().filter(|it| forward_of(it).is_some() == forwards) {
                let at = (it.port, it.protocol);
                listeners::do_with(self.region, &self.balancer.id, at, "DeleteLoadBalancerListener")?;
            }
        }
        *live = right;
        Ok(())
    }

    pub(super) fn make_group(&self, name: &str, servers: &[SlbServer]) -> Result<String, AcsRefusal> {
        let first = &servers[..servers.len().min(FIRST)];
        let id = groups::create(self.region, &self.balancer.id, name, first)?;
        self.change_servers(&id, "AddVServerGroupBackendServers", &servers[first.len()..])?;
        self.count();
        Ok(id)
    }

    /// First adds what is missing, then takes away what is too many. Machines with another description are somebody's own.
    pub(super) fn write_servers(&self, group: &str, desired: &[SlbServer]) -> Result<(), AcsRefusal> {
        let live = groups::servers(self.region, group)?;
        let key = |it: &SlbServer| (it.instance.clone(), it.port);
        let there: SortedMap<(String, u16), &SlbServer> = live.iter().map(|it| (key(it), it)).collect();
        let wanted: SortedSet<(String, u16)> = desired.iter().map(key).collect();
        let missing: Vec<SlbServer> = desired.iter().filter(|it| !there.contains_key(&key(it))).cloned().collect();
        let is_ours = |it: &&SlbServer| self.names.is_ours(&it.description);
        let unwanted: Vec<SlbServer> =
            live.iter().filter(is_ours).filter(|it| !wanted.contains(&key(it))).cloned().collect();
        let is_heavier =
            |it: &&SlbServer| there.get(&key(it)).is_some_and(|live| is_ours(live) && live.weight != it.weight);
        let weighed: Vec<SlbServer> =
            desired.iter().filter(|_| !self.desired.ignores_weights).filter(is_heavier).cloned().collect();
        let (add, remove) = ("AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers");
        match self.change_servers(group, add, &missing) {
            Err(full) if full.code.ends_with("OverLimit") && !unwanted.is_empty() => {
                self.change_servers(group, remove, &unwanted)?;
                // A part of them may be there by now.
                let there: SortedSet<_> = groups::servers(self.region, group)?.iter().map(key).collect();
                let rest: Vec<_> = missing.iter().filter(|it| !there.contains(&key(it))).cloned().collect();
                self.change_servers(group, add, &rest)?;
            }
            added => {
                added?;
                self.change_servers(group, remove, &unwanted)?;
            }
        }
        self.change_servers(group, "SetVServerGroupAttribute", &weighed)
    }

    fn change_servers(&self, group: &str, action: &str, servers: &[SlbServer]) -> Result<(), AcsRefusal> {
        servers.chunks(BATCH).try_for_each(|some| groups::change(self.region, group, action, some))
    }

    fn write_listener(
        &self,
        port: &DesiredSlbPort,
        parameters: &ListenerParameters,
        group: &str,
        live: Option<&SlbListener>,
    ) -> Result<(), AcsRefusal> {
        let Some(live) = live else {
            self.make_listener(port, parameters, group)?;
            return self.start(port);
        };
        let parameters = parameters.for_change(live, self.desired.is_local);
        let is_elsewhere = live.group != group || live.description != port.description;
        if port.forward.is_none() && (is_elsewhere || parameters.is_some()) {
            let mut pairs = parameters.unwrap_or_default();
            pairs.extend([("Description", &*port.description), ("VServerGroup", "on"), ("VServerGroupId", group)]);
            listeners::write(self.region, &self.balancer.id, port.port, port.protocol.set(), &pairs)?;
        }
        if live.is_stopped { self.start(port) } else { Ok(()) }
    }

    /// Makes the listener of a port, which is stopped then.
    pub(super) fn make_listener(
        &self,
        port: &DesiredSlbPort,
        parameters: &ListenerParameters,
        group: &str,
    ) -> Result<(), AcsRefusal> {
        let mut pairs = parameters.at_creation(port.protocol);
        pairs.push(("Description", &*port.description));
        let to = port.forward.map(|it| it.to_string());
        match &to {
            Some(to) => {
                // It sends nobody to a node, and no later write changes it: a list of access would stay in use.
                pairs.retain(|(name, _)| !name.starts_with("Acl"));
                pairs.extend([("ListenerForward", "on"), ("ForwardPort", to.as_str())]);
            }
            None => pairs.push(("VServerGroupId", group)),
        }
        listeners::write(self.region, &self.balancer.id, port.port, port.protocol.create(), &pairs)?;
        self.count();
        Ok(())
    }

    pub(super) fn start(&self, port: &DesiredSlbPort) -> Result<(), AcsRefusal> {
        let at = (port.port, port.protocol);
        listeners::do_with(self.region, &self.balancer.id, at, "StartLoadBalancerListener")?;
        self.count();
        Ok(())
    }
}

/// Whether a listener is that of a port.
fn is_at(live: &SlbListener, port: &DesiredSlbPort) -> bool {
    (live.port, live.protocol) == (port.port, port.protocol)
}

/// Whether a listener uses a list of access.
fn has_list(live: &SlbListener, id: &str) -> bool {
    live.value("AclStatus").as_deref() == Some("on") && live.value("AclId").as_deref() == Some(id)
}

/// The port that a listener sends clients to.
fn forward_of(live: &SlbListener) -> Option<u16> {
    let is_on = live.value("ListenerForward").as_deref() == Some("on");
    live.value("ForwardPort").filter(|_| is_on)?.parse().ok()
}
