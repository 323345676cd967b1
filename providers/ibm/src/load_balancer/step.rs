//! The next change of a load balancer: it takes one at a time. Their order is the vendor's: listeners away, pools away, pools and members
//! changed, pools new, listeners new. Pure.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Result, SortedSet};
use serde_json::{Value, json};

use super::desired::{DesiredVpcBalancer, DesiredVpcPort};
use super::names;
use crate::api::load_balancers::{self as api, VpcListener, VpcMember, VpcPool};

/// Connections that a listener takes, as the vendor's controller writes it: the most.
const CONNECTIONS: u32 = 15_000;

/// The profile of network load balancers that hand packets on as clients sent them. The others' profile is the cloud's choice.
const NETWORK: &str = "network-fixed";

/// A load balancer's parts as the cloud shows them.
pub(super) struct BalancerParts {
    pub(super) listeners: Vec<VpcListener>,
    pub(super) pools: Vec<LivePool>,
}

/// A pool with its members.
pub(super) struct LivePool {
    pub(super) pool: VpcPool,
    /// Sorted; `None` for one that somebody else made.
    pub(super) members: Option<Vec<VpcMember>>,
}

impl LivePool {
    /// The port of a protocol whose traffic it takes; `None` for one that somebody else made.
    fn port(&self, protocol: &str) -> Option<u16> {
        names::port_of(&self.pool.name).filter(|(its, _)| *its == protocol).map(|(_, port)| port)
    }
}

impl BalancerParts {
    /// The addresses of the nodes that take traffic now.
    pub(super) fn chosen(&self) -> SortedSet<String> {
        let members = self.pools.iter().filter_map(|it| it.members.as_ref()).flatten();
        members.map(|it| it.target.address.clone()).collect()
    }

    /// The pool of a port: of several the one that its listener sends to.
    fn pool(&self, protocol: &str, port: u16) -> Option<&LivePool> {
        let mut own = self.pools.iter().filter(|it| it.port(protocol) == Some(port));
        let listener = self.listeners.iter().find(|it| it.port == port).and_then(|it| it.default_pool.as_ref());
        let used = listener.and_then(|pool| own.clone().find(|it| it.pool.id == pool.id));
        used.or_else(|| own.next())
    }

    /// Whether a listener sends to a pool.
    fn listens(&self, pool: &VpcPool) -> bool {
        self.listeners.iter().any(|it| it.default_pool.as_ref().is_some_and(|it| it.id == pool.id))
    }
}

/// One change, and what it does, for a person.
pub(super) struct VpcStep {
    request: Request,
    does: String,
}

impl VpcStep {
    fn new(request: Request, does: impl Into<String>) -> Option<Self> {
        Some(Self { request, does: does.into() })
    }

    /// Sends it. Returns what it does.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn send(self) -> Result<Change<String>> {
        Ok(self.request.change()?.map(|_| self.does))
    }
}

/// The next change of the load balancer `id`; `None` if it is as desired. What somebody else made stays, but for a listener on a port of the
/// Service.
pub(super) fn next(
    id: &str,
    live: &BalancerParts,
    desired: &DesiredVpcBalancer,
    addresses: &[String],
) -> Option<VpcStep> {
    let is_desired = |port: u16| desired.ports.iter().any(|it| it.port == port);
    for listener in &live.listeners {
        let VpcListener { id: listener_id, port, default_pool, protocol, .. } = listener;
        let pool = default_pool.as_ref().and_then(|it| names::port_of(&it.name));
        let is_ours = pool.is_some_and(|(_, it)| it == *port);
        let is_wrong = protocol != desired.protocol || !is_ours;
        if (is_ours && !is_desired(*port)) || (is_desired(*port) && is_wrong) {
            return VpcStep::new(
                api::remove(id, "listeners", listener_id),
                format!("the listener of port {port} goes"),
            );
        }
    }
    for LivePool { pool, .. } in live.pools.iter().filter(|it| it.members.is_some()) {
        let is_wanted = names::port_of(&pool.name).is_some_and(|(protocol, port)| {
            protocol == desired.protocol
                && is_desired(port)
                && live.pool(protocol, port).is_some_and(|it| it.pool.id == pool.id)
        });
        if !is_wanted && !live.listens(pool) {
            return VpcStep::new(api::remove(id, "pools", &pool.id), format!("the pool {} goes", pool.name));
        }
    }
    for port in &desired.ports {
        let Some(found @ LivePool { pool, .. }) = live.pool(desired.protocol, port.port) else { continue };
        let has_proxy = pool.proxy_protocol == desired.proxy_protocol();
        if pool.name != port.pool || !has_proxy || !port.is_monitored_by(&pool.health_monitor) {
            let mut body = json!({ "name": port.pool, "health_monitor": port.monitor });
            if !has_proxy {
                body["proxy_protocol"] = desired.proxy_protocol().into();
            }
            return VpcStep::new(api::change(id, "pools", &pool.id, &body), format!("the pool {} changes", port.pool));
        }
        let step = members_of(id, found, port, addresses);
        if step.is_some() {
            return step;
        }
    }
    for port in &desired.ports {
        let Some(LivePool { pool, .. }) = live.pool(desired.protocol, port.port) else {
            let body = pool_body(desired, port, addresses);
            return VpcStep::new(api::add(id, "pools", &body), format!("the pool {} is made", port.pool));
        };
        match live.listeners.iter().find(|it| it.port == port.port) {
            None => {
                let mut body = listener_body(desired, port.port);
                body["default_pool"] = json!({ "id": pool.id });
                return VpcStep::new(
                    api::add(id, "listeners", &body),
                    format!("the listener of port {} is made", port.port),
                );
            }
            Some(it) if desired.idle_timeout.is_some() && it.idle_connection_timeout != desired.idle_timeout => {
                let body = json!({ "idle_connection_timeout": desired.idle_timeout });
                let request = api::change(id, "listeners", &it.id, &body);
                return VpcStep::new(request, format!("the listener of port {} changes", port.port));
            }
            Some(_) => {}
        }
    }
    None
}

/// The next change of members alone, in the pools that are as the Service asks for; `None` if there is none.
pub(super) fn members(
    id: &str,
    live: &BalancerParts,
    desired: &DesiredVpcBalancer,
    addresses: &[String],
) -> Option<VpcStep> {
    desired.ports.iter().find_map(|port| {
        let found = live.pool(desired.protocol, port.port).filter(|it| it.pool.name == port.pool)?;
        members_of(id, found, port, addresses)
    })
}

/// The change of a pool's members; `None` if they are those at these addresses.
fn members_of(id: &str, live: &LivePool, port: &DesiredVpcPort, addresses: &[String]) -> Option<VpcStep> {
    let mut desired = port.members(addresses);
    desired.sort();
    if live.members.as_ref() == Some(&desired) {
        return None;
    }
    let body = json!({ "members": port.members(addresses) });
    let request = api::replace_members(id, &live.pool.id, &body);
    VpcStep::new(request, format!("the pool {} gets its members", port.pool))
}

/// The body of a pool.
fn pool_body(desired: &DesiredVpcBalancer, port: &DesiredVpcPort, addresses: &[String]) -> Value {
    let mut body = json!({
        "name": port.pool,
        "protocol": desired.protocol,
        "algorithm": "round_robin",
        "proxy_protocol": desired.proxy_protocol(),
        "health_monitor": port.monitor,
    });
    if !addresses.is_empty() {
        body["members"] = json!(port.members(addresses));
    }
    body
}

/// The body of a listener, but for its pool.
fn listener_body(desired: &DesiredVpcBalancer, port: u16) -> Value {
    let mut body = json!({ "port": port, "protocol": desired.protocol });
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
        let mut body = listener_body(desired, port.port);
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
