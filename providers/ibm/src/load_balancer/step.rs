//! The next change of a load balancer: it takes one at a time. Their order is the vendor's: listeners away, pools away, pools and members
//! changed, pools new, listeners new. Pure.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Error, Result, SortedSet};
use serde_json::{Value, json};

use super::desired::{DesiredVpcBalancer, DesiredVpcPort};
use super::names;
use crate::api::is_taken;
use crate::api::load_balancers::{self as api, VpcListener, VpcMember, VpcPool};

/// Connections that a listener takes, as the vendor's controller writes it: the most.
const CONNECTIONS: u32 = 15_000;

/// The profile of network load balancers that hand packets on as clients sent them. The others' profile is the cloud's choice.
const NETWORK: &str = "network-fixed";

/// A load balancer's parts, as far as they are read.
pub(super) struct BalancerParts {
    /// As many as it has by its own word.
    pub(super) listener_count: usize,
    /// `None` while they are not read.
    pub(super) listeners: Option<Vec<VpcListener>>,
    pub(super) pools: Vec<LivePool>,
}

/// A pool with its members.
pub(super) struct LivePool {
    pub(super) pool: VpcPool,
    pub(super) members: LiveMembers,
}

/// The members of a pool.
pub(super) enum LiveMembers {
    /// Those of a pool that somebody else made.
    Foreign,
    /// They are not read: the pool says how many there are.
    Unread,
    /// Sorted.
    Read(Vec<VpcMember>),
}

impl LivePool {
    /// A pool whose members are not read. Where it refers to none there is nothing to ask for.
    pub(super) fn of(pool: VpcPool) -> Self {
        let members = match names::port_of(&pool.name) {
            None => LiveMembers::Foreign,
            Some(_) if pool.members.is_empty() => LiveMembers::Read(Vec::new()),
            Some(_) => LiveMembers::Unread,
        };
        Self { pool, members }
    }

    /// The port of a protocol whose traffic it takes; `None` for one that somebody else made.
    fn port(&self, protocol: &str) -> Option<u16> {
        names::port_of(&self.pool.name).filter(|(its, _)| *its == protocol).map(|(_, port)| port)
    }

    fn is_ours(&self) -> bool {
        !matches!(self.members, LiveMembers::Foreign)
    }

    /// The members that are read.
    fn members(&self) -> &[VpcMember] {
        if let LiveMembers::Read(members) = &self.members { members } else { &[] }
    }
}

impl BalancerParts {
    /// The addresses of the nodes that take traffic now, as far as members are read.
    pub(super) fn chosen(&self) -> SortedSet<String> {
        self.pools.iter().flat_map(LivePool::members).map(|it| it.target.address.clone()).collect()
    }

    /// The ids of the pools whose members are not read.
    pub(super) fn unread(&self) -> Vec<String> {
        let unread = self.pools.iter().filter(|it| matches!(it.members, LiveMembers::Unread));
        unread.map(|it| it.pool.id.clone()).collect()
    }

    /// Keeps the members of a pool.
    pub(super) fn keep_members(&mut self, pool: &str, mut members: Vec<VpcMember>) {
        members.sort();
        if let Some(live) = self.pools.iter_mut().find(|it| it.pool.id == pool) {
            live.members = LiveMembers::Read(members);
        }
    }

    /// The pool of a port: of several the one that its listener sends to.
    fn pool(&self, protocol: &str, port: u16) -> Option<&LivePool> {
        let mut own = self.pools.iter().filter(|it| it.port(protocol) == Some(port));
        let mut listeners = self.listeners.iter().flatten();
        let listener = listeners.find(|it| it.port == port).and_then(|it| it.default_pool.as_ref());
        let used = listener.and_then(|pool| own.clone().find(|it| it.pool.id == pool.id));
        used.or_else(|| own.next())
    }

    /// Whether a listener sends to a pool.
    fn listens(&self, pool: &VpcPool) -> bool {
        let mut used = self.listeners.iter().flatten().filter_map(|it| it.default_pool.as_ref());
        used.any(|it| it.id == pool.id)
    }

    /// Whether there is one listener and one pool for each port, and nothing else: then no listener goes or comes, unless somebody has changed
    /// one by hand.
    fn are_one_a_port(&self, desired: &DesiredVpcBalancer) -> bool {
        let is_alone = |port: &DesiredVpcPort| {
            self.pools.iter().filter(|it| it.port(desired.protocol) == Some(port.port)).count() == 1
        };
        let counts = [self.listener_count, self.pools.len()];
        counts == [desired.ports.len(); 2] && desired.ports.iter().all(is_alone)
    }

    /// Whether two pools are one port's.
    fn have_twins(&self) -> bool {
        let mut seen = SortedSet::new();
        self.pools.iter().filter_map(|it| names::port_of(&it.pool.name)).any(|it| !seen.insert(it))
    }
}

/// The next thing to do for a load balancer.
pub(super) enum VpcNext {
    /// It is as desired.
    Nothing,
    /// This change.
    Change(Box<VpcStep>),
    /// To read its listeners: the rest depends on them.
    ReadListeners,
    /// To read the members of the pool with this id, of which there are as many as there should be.
    ReadMembers(String),
}

impl VpcNext {
    fn change(request: Request, does: impl Into<String>) -> Self {
        Self::Change(Box::new(VpcStep { request, does: does.into(), taken: Some(TAKEN_BY_A_PART) }))
    }

    /// The same for a part that goes.
    fn remove(request: Request, does: impl Into<String>) -> Self {
        Self::Change(Box::new(VpcStep { request, does: does.into(), taken: None }))
    }
}

const TAKEN_BY_A_PART: &str = "the load balancer has something else in its place already, such as a listener with a range of ports that somebody \
                               made by hand: delete that in the cloud, or choose another port";
const TAKEN_BY_A_NAME: &str = "annotation vpc-lb-name: another load balancer has this name: choose another";

/// One change, and what it does, for a person.
pub(super) struct VpcStep {
    request: Request,
    does: String,
    /// The reason and the next step where the cloud says that its place is taken. It follows a look at what is there in the same call, so that it
    /// is not one of ours whose answer was lost.
    taken: Option<&'static str>,
}

impl VpcStep {
    /// Sends it. Returns what it does.
    ///
    /// # Errors
    ///
    /// `invalid`, where its place is taken for good; whatever else the cloud answered. Any other 409 is a change at work.
    pub(super) fn send(self) -> Result<Change<String>> {
        let response = self.request.answer()?;
        match self.taken.filter(|_| response.status() >= 400 && is_taken(&response)) {
            Some(taken) => Err(Error::invalid(format_args!("{}: {taken}: {}", self.does, response.complaint()))),
            None if matches!(response.status(), 409 | 423) => Ok(Change::Busy(response.complaint())),
            None => response.accepted().map(|_| Change::Done(self.does)),
        }
    }
}

/// Gives the load balancer `id` another name.
pub(super) fn rename(id: &str, name: &str) -> VpcStep {
    VpcStep { request: api::rename(id, name), does: format!("it is renamed to {name}"), taken: Some(TAKEN_BY_A_NAME) }
}

/// The next thing to do for the load balancer `id`. What somebody else made stays, but for a listener on a port of the Service. Whatever is
/// not needed to decide that is not read: pools that have as many members as they should are compared with nodes last.
pub(super) fn next(id: &str, live: &BalancerParts, desired: &DesiredVpcBalancer, addresses: &[String]) -> VpcNext {
    if live.listeners.is_none() && !live.are_one_a_port(desired) {
        return VpcNext::ReadListeners;
    }
    let is_desired = |port: u16| desired.ports.iter().any(|it| it.port == port);
    for listener in live.listeners.iter().flatten() {
        let VpcListener { id: listener_id, port, default_pool, protocol, .. } = listener;
        let pool = default_pool.as_ref().and_then(|it| names::port_of(&it.name));
        let is_ours = pool.is_some_and(|(_, it)| it == *port);
        let is_wrong = protocol != desired.protocol || !is_ours;
        if (is_ours && !is_desired(*port)) || (is_desired(*port) && is_wrong) {
            return VpcNext::remove(
                api::remove(id, "listeners", listener_id),
                format!("the listener of port {port} goes"),
            );
        }
    }
    for LivePool { pool, .. } in live.pools.iter().filter(|it| it.is_ours()) {
        let is_wanted = names::port_of(&pool.name).is_some_and(|(protocol, port)| {
            protocol == desired.protocol
                && is_desired(port)
                && live.pool(protocol, port).is_some_and(|it| it.pool.id == pool.id)
        });
        if !is_wanted && !live.listens(pool) {
            return VpcNext::remove(api::remove(id, "pools", &pool.id), format!("the pool {} goes", pool.name));
        }
    }
    let mut unread = None;
    for port in &desired.ports {
        let Some(found @ LivePool { pool, .. }) = live.pool(desired.protocol, port.port) else { continue };
        let words = pool_words(desired);
        let is_right = words.iter().all(|(key, value)| pool.word(key) == *value);
        if pool.name != port.pool || !is_right || !port.is_monitored_by(&pool.health_monitor) {
            // Where node ports change together, each is served again before the next changes.
            if let Some(pool_id) = unread.filter(|_| pool.name != port.pool) {
                return VpcNext::ReadMembers(pool_id);
            }
            let mut body = json!({ "name": port.pool, "health_monitor": port.monitor });
            for (key, value) in words.into_iter().filter(|(key, value)| pool.word(key) != *value) {
                body[key] = value.into();
            }
            return VpcNext::change(
                api::change(id, "pools", &pool.id, &body),
                format!("the pool {} changes", port.pool),
            );
        }
        match members_of(id, found, port, addresses) {
            VpcNext::Nothing => {}
            VpcNext::ReadMembers(pool_id) => unread = unread.or(Some(pool_id)),
            other => return other,
        }
    }
    let Some(listeners) = &live.listeners else { return VpcNext::ReadListeners };
    let wrong = |port: &DesiredVpcPort| {
        let listener = listeners.iter().find(|it| it.port == port.port)?;
        Some((listener, listener_change(listener, desired, port)?))
    };
    // A range that becomes narrower makes room for others.
    let changes = desired.ports.iter().filter_map(wrong);
    if let Some((it, body)) = changes.min_by_key(|(it, body)| body["port_max"].as_u64() > Some(it.last().into())) {
        let request = api::change(id, "listeners", &it.id, &body);
        return VpcNext::change(request, format!("the listener of port {} changes", it.port));
    }
    for port in &desired.ports {
        let Some(LivePool { pool, .. }) = live.pool(desired.protocol, port.port) else {
            let body = pool_body(desired, port, addresses);
            return VpcNext::change(api::add(id, "pools", &body), format!("the pool {} is made", port.pool));
        };
        if listeners.iter().all(|it| it.port != port.port) {
            let mut body = listener_body(desired, port);
            body["default_pool"] = json!({ "id": pool.id });
            return VpcNext::change(
                api::add(id, "listeners", &body),
                format!("the listener of port {} is made", port.port),
            );
        }
    }
    unread.map_or(VpcNext::Nothing, VpcNext::ReadMembers)
}

/// The next thing to do for members alone, in the pools that are as the Service asks for.
pub(super) fn members(id: &str, live: &BalancerParts, desired: &DesiredVpcBalancer, addresses: &[String]) -> VpcNext {
    if live.listeners.is_none() && live.have_twins() {
        return VpcNext::ReadListeners;
    }
    for port in &desired.ports {
        let own = live.pool(desired.protocol, port.port).filter(|it| it.pool.name == port.pool);
        match own.map_or(VpcNext::Nothing, |it| members_of(id, it, port, addresses)) {
            VpcNext::Nothing => {}
            other => return other,
        }
    }
    VpcNext::Nothing
}

/// The next thing to do for a pool, which is to have members at these addresses. Where it has more of them, or fewer, they are not read.
fn members_of(id: &str, live: &LivePool, port: &DesiredVpcPort, addresses: &[String]) -> VpcNext {
    let mut desired = port.members(addresses);
    desired.sort();
    match &live.members {
        LiveMembers::Read(members) if *members == desired => return VpcNext::Nothing,
        LiveMembers::Unread if live.pool.members.len() == desired.len() => {
            return VpcNext::ReadMembers(live.pool.id.clone());
        }
        LiveMembers::Foreign | LiveMembers::Unread | LiveMembers::Read(_) => {}
    }
    let body = json!({ "members": port.members(addresses) });
    let request = api::replace_members(id, &live.pool.id, &body);
    VpcNext::change(request, format!("the pool {} gets its members", port.pool))
}

/// The fields of a pool that are one word each.
fn pool_words(desired: &DesiredVpcBalancer) -> [(&'static str, &'static str); 3] {
    [("protocol", desired.protocol), ("algorithm", "round_robin"), ("proxy_protocol", desired.proxy_protocol())]
}

/// The body of a pool.
fn pool_body(desired: &DesiredVpcBalancer, port: &DesiredVpcPort, addresses: &[String]) -> Value {
    let mut body = json!({ "name": port.pool, "health_monitor": port.monitor });
    for (key, value) in pool_words(desired) {
        body[key] = value.into();
    }
    if !addresses.is_empty() {
        body["members"] = json!(port.members(addresses));
    }
    body
}

/// The body that makes a listener what it should be; `None` if it is.
fn listener_change(live: &VpcListener, desired: &DesiredVpcBalancer, port: &DesiredVpcPort) -> Option<Value> {
    let mut body = json!({});
    if desired.idle_timeout.is_some() && live.idle_connection_timeout != desired.idle_timeout {
        body["idle_connection_timeout"] = desired.idle_timeout.into();
    }
    if !desired.is_network && live.connection_limit.is_some_and(|it| it != CONNECTIONS) {
        body["connection_limit"] = CONNECTIONS.into();
    }
    if live.last() != port.last {
        (body["port_min"], body["port_max"]) = (port.port.into(), port.last.into());
    }
    (body != json!({})).then_some(body)
}

/// The body of a listener, but for its pool.
fn listener_body(desired: &DesiredVpcBalancer, port: &DesiredVpcPort) -> Value {
    let mut body = json!({ "protocol": desired.protocol });
    if port.last == port.port {
        body["port"] = port.port.into();
    } else {
        (body["port_min"], body["port_max"]) = (port.port.into(), port.last.into());
    }
    // A network load balancer hands on packets, and counts no connections.
    if !desired.is_network {
        body["connection_limit"] = CONNECTIONS.into();
    }
    if let Some(timeout) = desired.idle_timeout {
        body["idle_connection_timeout"] = timeout.into();
    }
    body
}

/// The body that makes a load balancer with all of its parts.
pub(super) fn creation(
    desired: &DesiredVpcBalancer,
    addresses: &[String],
    subnets: &[String],
    group: Option<&str>,
) -> Value {
    let listener = |port: &DesiredVpcPort| {
        let mut body = listener_body(desired, port);
        body["default_pool"] = json!({ "name": port.pool });
        body
    };
    let ids: Vec<Value> = subnets.iter().map(|id| json!({ "id": id })).collect();
    let mut body = json!({
        "name": desired.name,
        "is_public": desired.is_public,
        "subnets": ids,
        "listeners": desired.ports.iter().map(listener).collect::<Vec<_>>(),
        "pools": desired.ports.iter().map(|it| pool_body(desired, it, addresses)).collect::<Vec<_>>(),
    });
    if desired.is_network {
        body["profile"] = json!({ "name": NETWORK });
    }
    if let Some(group) = group {
        body["resource_group"] = json!({ "id": group });
    }
    body
}
