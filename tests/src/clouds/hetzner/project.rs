//! All that a project has, and how time changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::Value;

use crate::simulator::Answer;

use super::action::{Action, Resource};
use super::behaviour::Behaviour;
use super::certificate::{Certificate, CertificateKind, Issuance};
use super::errors::{self, Refused};
use super::load_balancer::{LoadBalancer, Service, Target};
use super::network::{Network, Route};
use super::selector::Selector;
use super::server::Server;
use super::volume::Volume;

/// The kind of resource that load balancers are.
pub(super) const LOAD_BALANCER: &str = "load_balancer";
/// The kind of resource that networks are.
pub(super) const NETWORK: &str = "network";
/// The kind of resource that servers are.
pub(super) const SERVER: &str = "server";
/// The kind of resource that certificates are.
pub(super) const CERTIFICATE: &str = "certificate";
/// The kind of resource that volumes are.
pub(super) const VOLUME: &str = "volume";

/// The command of the action that makes a load balancer.
const CREATE: &str = "create_load_balancer";

/// A project that all its parts share.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Mutex<Project>>);

/// A project: what a token reaches.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) behaviour: Behaviour,
    pub(super) servers: BTreeMap<u64, Server>,
    pub(super) load_balancers: BTreeMap<u64, LoadBalancer>,
    pub(super) networks: BTreeMap<u64, Network>,
    pub(super) certificates: BTreeMap<u64, Certificate>,
    pub(super) volumes: BTreeMap<u64, Volume>,
    /// Addresses of the owner's dedicated servers.
    pub(super) dedicated: BTreeSet<IpAddr>,
    actions: BTreeMap<u64, Action>,
    /// The changes that actions make when they end, by their ids.
    changes: BTreeMap<u64, Change>,
    /// The names of load balancers that requests deleted, and when.
    deleted: Vec<(String, SystemTime)>,
    /// The last id that was given away.
    last: u64,
    /// How many pairs of addresses were given away.
    addresses: u16,
}

/// The change that an action makes to a load balancer, a network, a certificate or a volume when it ends.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Gives it its addresses, one of them in a network if it was asked for.
    Create(Option<(u64, Ipv4Addr)>),
    AddService(Service),
    UpdateService(Service),
    DeleteService(u16),
    AddTarget(Target),
    RemoveTarget(Target),
    Attach(u64, Ipv4Addr),
    Detach,
    Algorithm(String),
    Kind(&'static str),
    Protection(bool),
    PublicInterface(bool),
    DnsPtr(IpAddr, Option<String>),
    AddRoute(Route),
    DeleteRoute(Route),
    Issue,
    MakeVolume,
    AttachVolume(u64),
    DetachVolume,
    ResizeVolume(u32),
}

impl Shared {
    pub(super) fn new(behaviour: Behaviour, first: u64) -> Shared {
        Shared(Arc::new(Mutex::new(Project {
            behaviour,
            servers: BTreeMap::new(),
            load_balancers: BTreeMap::new(),
            networks: BTreeMap::new(),
            certificates: BTreeMap::new(),
            volumes: BTreeMap::new(),
            dedicated: BTreeSet::new(),
            actions: BTreeMap::new(),
            changes: BTreeMap::new(),
            deleted: Vec::new(),
            last: first,
            addresses: 0,
        })))
    }

    /// The project as time has made it.
    pub(super) fn now(&self) -> MutexGuard<'_, Project> {
        // A test that panics inside a change has failed already.
        let mut project = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        project.mature(SystemTime::now());
        project.let_go();
        project
    }
}

impl Project {
    /// An id that nothing has.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Starts an action, and returns it as the answer shows it. The first of the resources is what it changes.
    pub(super) fn start(&mut self, command: &'static str, resources: Vec<Resource>, change: Change) -> Value {
        let id = self.next_id();
        let started = SystemTime::now();
        let action = Action { id, command, resources, started, finished: None, failed: false, reads: 0 };
        let object = action.object();
        self.actions.insert(id, action);
        self.changes.insert(id, change);
        object
    }

    /// Fails if this takes no change now because of another.
    pub(super) fn free(&self, resource: Resource) -> Result<(), Refused> {
        let mut running = self.actions.values().filter(|it| it.is_running());
        if !self.behaviour.locks || !running.any(|it| it.changes(resource)) {
            return Ok(());
        }
        Err(Box::new(match resource.kind {
            NETWORK => errors::error(409, "conflict", "the network is being changed by another action"),
            kind => errors::error(423, "locked", &format!("{kind} is locked: an action is running")),
        }))
    }

    /// The actions by id.
    pub(super) fn actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.values()
    }

    /// Counts that these actions were read.
    pub(super) fn read(&mut self, which: impl Fn(&Action) -> bool) {
        self.actions.values_mut().filter(|it| which(it)).for_each(|it| it.reads += 1);
    }

    /// Takes a load balancer away, as a request does.
    pub(super) fn delete(&mut self, id: u64) {
        if let Some(deleted) = self.load_balancers.remove(&id) {
            self.deleted.push((deleted.name, SystemTime::now()));
        }
    }

    /// Whether a load balancer with this name was deleted so lately that the name is not free.
    pub(super) fn is_held(&self, name: &str) -> bool {
        let freed = SystemTime::now().checked_sub(self.behaviour.names_freed_late_by);
        self.deleted.iter().any(|(deleted, at)| deleted == name && freed.is_some_and(|freed| *at > freed))
    }

    /// The servers that a label selector chooses.
    pub(super) fn selected(&self, selector: &str) -> Vec<u64> {
        let Ok(selector) = Selector::parse(selector) else { return Vec::new() };
        self.servers.values().filter(|it| selector.matches(&it.labels)).map(|it| it.id).collect()
    }

    /// A load balancer without the servers that are gone.
    pub(super) fn present(&self, load_balancer: &LoadBalancer) -> LoadBalancer {
        let mut load_balancer = load_balancer.clone();
        if !self.behaviour.targets_stay {
            let there = |it: &Target| it.server_id().is_none_or(|id| self.servers.contains_key(&id));
            load_balancer.targets.retain(there);
        }
        load_balancer
    }

    /// A load balancer as the service shows it.
    pub(super) fn shown(&self, load_balancer: &LoadBalancer) -> Value {
        self.present(load_balancer).object(|it| self.selected(it))
    }

    /// The load balancers of which this is so.
    pub(super) fn balancers(&self, which: impl Fn(&LoadBalancer) -> bool) -> Vec<u64> {
        self.load_balancers.values().filter(|it| which(it)).map(|it| it.id).collect()
    }

    /// A network as the service shows it.
    pub(super) fn shown_network(&self, network: &Network) -> Value {
        let servers = self.servers.values().filter(|it| it.address_in(network.id).is_some()).map(|it| it.id);
        let load_balancers = self.balancers(|it| it.private_net.is_some_and(|(id, _)| id == network.id));
        network.object(&Vec::from_iter(servers), &load_balancers)
    }

    /// Whether an address of a network is taken.
    pub(super) fn is_taken(&self, network: u64, ip: Ipv4Addr) -> bool {
        let attaching = self.changes.values().any(|change| match change {
            Change::Create(Some(to)) => *to == (network, ip),
            Change::Attach(to, at) => (*to, *at) == (network, ip),
            _ => false,
        });
        attaching
            || self.servers.values().any(|it| it.address_in(network) == Some(ip))
            || self.load_balancers.values().any(|it| it.private_net == Some((network, ip)))
    }

    /// Ends the actions whose time has come.
    fn mature(&mut self, now: SystemTime) {
        let Behaviour { creation, actions, failing, .. } = self.behaviour;
        let taking = |it: &Action| if it.command == CREATE { creation } else { actions };
        let due = self.actions.values().filter(|it| it.is_due(taking(it), now)).map(|it| it.id);
        for id in Vec::from_iter(due) {
            let Some(action) = self.actions.get_mut(&id) else { continue };
            action.finished = Some(now);
            action.failed = failing == Some(action.command);
            let (resource, failed) = (action.resources[0], action.failed);
            if let Some(change) = self.changes.remove(&id)
                && !failed
            {
                self.apply(resource, change);
            }
        }
    }

    /// A server that is gone has no volume any more.
    fn let_go(&mut self) {
        for volume in self.volumes.values_mut() {
            volume.server = volume.server.filter(|it| self.servers.contains_key(it));
        }
    }

    /// Does what an action is about. What is gone meanwhile is not changed.
    fn apply(&mut self, resource: Resource, change: Change) {
        match resource.kind {
            LOAD_BALANCER => {
                let addresses = self.addresses;
                if let Some(it) = self.load_balancers.get_mut(&resource.id) {
                    self.addresses += u16::from(matches!(change, Change::Create(_)));
                    balance(it, change, addresses);
                }
            }
            NETWORK => match (self.networks.get_mut(&resource.id), change) {
                (Some(network), Change::AddRoute(route)) => network.routes.push(route),
                (Some(network), Change::DeleteRoute(route)) => network.routes.retain(|it| *it != route),
                _ => {}
            },
            CERTIFICATE => {
                if let Some(it) = self.certificates.get_mut(&resource.id) {
                    it.kind = CertificateKind::Managed(Issuance::Completed);
                }
            }
            VOLUME => match (self.volumes.get_mut(&resource.id), change) {
                (Some(volume), Change::AttachVolume(server)) => volume.server = Some(server),
                (Some(volume), Change::DetachVolume) => volume.server = None,
                (Some(volume), Change::ResizeVolume(size)) => volume.size = size,
                _ => {}
            },
            _ => {}
        }
    }
}

/// Changes a load balancer. `addresses` is how many pairs of addresses were given away.
fn balance(it: &mut LoadBalancer, change: Change, addresses: u16) {
    match change {
        Change::Create(private_net) => {
            let [high, low] = addresses.to_be_bytes();
            // The second of the ranges set aside for documentation, and what follows it.
            it.ipv4 = Some(Ipv4Addr::new(203, high, 113, low));
            it.ipv6 = Some(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, addresses));
            it.private_net = private_net;
        }
        Change::AddService(service) => it.services.push(service),
        Change::UpdateService(service) => {
            if let Some(place) = it.services.iter_mut().find(|it| it.listen_port == service.listen_port) {
                *place = service;
            }
        }
        Change::DeleteService(port) => it.services.retain(|it| it.listen_port != port),
        Change::AddTarget(target) => it.targets.push(target),
        Change::RemoveTarget(target) => it.targets.retain(|it| !it.is(&target)),
        Change::Attach(network, ip) => it.private_net = Some((network, ip)),
        Change::Detach => {
            it.private_net = None;
            // They are reached by nothing else.
            it.targets.retain(|it| !it.is_in_network());
        }
        Change::Algorithm(algorithm) => it.algorithm = algorithm,
        Change::Kind(kind) => kind.clone_into(&mut it.kind),
        Change::Protection(protected) => it.protected = protected,
        Change::PublicInterface(enabled) => it.public = enabled,
        Change::DnsPtr(ip, ptr) => match ip {
            IpAddr::V4(_) => it.ipv4_ptr = ptr,
            IpAddr::V6(_) => it.ipv6_ptr = ptr,
        },
        Change::AddRoute(_)
        | Change::DeleteRoute(_)
        | Change::Issue
        | Change::MakeVolume
        | Change::AttachVolume(_)
        | Change::DetachVolume
        | Change::ResizeVolume(_) => {}
    }
}

/// Reads an id out of a path, and finds what it names.
pub(super) fn found<'a, T>(all: &'a BTreeMap<u64, T>, id: &str, what: &str) -> Result<&'a T, Refused> {
    let found = id.parse().ok().and_then(|id: u64| all.get(&id));
    found.ok_or_else(|| Box::new(errors::not_found(&format!("{what} with ID '{id}'"))))
}

/// 200 with one object under its name.
pub(super) fn one(name: &str, object: Value) -> Answer {
    Answer::ok(&Value::Object([(name.to_owned(), object)].into_iter().collect()))
}
