//! Bodies of requests to Octavia, with the members that OpenStack's own controller sends.

use serde_json::{Map, Value, json};

use super::desired::{DesiredBalancer, DesiredMember, DesiredMonitor, HEALTH, ServicePort};
use super::names::{self, NamedPart};

/// The largest body that is sent. Octavia refuses more than 114,688 bytes.
pub(crate) const LARGEST: usize = 100_000;
/// The header that says who the client is.
pub(crate) const FORWARDED_FOR: &str = "X-Forwarded-For";

/// The abilities of a version of Octavia, and of a driver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct OctaviaFeatures {
    /// Whether objects have tags.
    pub(crate) tags: bool,
    /// Whether listeners have times.
    pub(crate) timeouts: bool,
    /// Whether listeners limit clients.
    pub(crate) ranges: bool,
    /// Whether load balancers have flavours.
    pub(crate) flavors: bool,
    /// Whether load balancers have zones.
    pub(crate) zones: bool,
    /// Whether load balancers have several addresses.
    pub(crate) additional_vips: bool,
}

impl OctaviaFeatures {
    /// Those of version 2 with this minor number.
    pub(crate) fn of(minor: u32, driver: &str) -> Self {
        let has = |since| minor >= since && driver != super::desired::OVN;
        Self {
            tags: minor >= 5,
            timeouts: has(1),
            ranges: has(12),
            flavors: has(6),
            zones: has(14),
            additional_vips: has(26),
        }
    }
}

/// The source of bodies, for one Service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyPlans<'a> {
    /// The load balancer that the Service asks for.
    pub(crate) desired: &'a DesiredBalancer,
    /// Its name in the cloud.
    pub(crate) name: &'a str,
    /// Octavia's abilities.
    pub(crate) features: OctaviaFeatures,
    /// Its members, those of all pools.
    pub(crate) members: &'a [DesiredMember],
    /// The subnet from which members are reached.
    pub(crate) member_subnet: Option<&'a str>,
    /// Whether health is checked where nobody says so, and traffic is for local pods alone.
    pub(crate) monitors_local: bool,
}

impl BodyPlans<'_> {
    /// A listener that is made, without its pool.
    pub(crate) fn listener(&self, it: &ServicePort) -> Map<String, Value> {
        let mut body = Map::new();
        if self.features.ranges {
            put(&mut body, "allowed_cidrs", json!(self.desired.ranges));
        }
        put(&mut body, "connection_limit", Value::from(it.connection_limit));
        put(&mut body, "name", Value::from(names::part(NamedPart::Listener, it.index, self.name)));
        put(&mut body, "protocol", Value::from(it.protocol));
        put(&mut body, "protocol_port", Value::from(it.port));
        if it.forwarded_for && it.protocol != it.transport.as_str() {
            put(&mut body, "insert_headers", json!({ FORWARDED_FOR: "true" }));
        }
        if let (Some(tls), "TERMINATED_HTTPS") = (&self.desired.tls, it.protocol) {
            put(&mut body, "default_tls_container_ref", Value::from(tls.as_str()));
        }
        if self.features.tags {
            put(&mut body, "tags", json!([self.name]));
        }
        if self.features.timeouts {
            for (field, value) in TIMEOUTS.iter().zip(it.timeouts) {
                put(&mut body, field, json!(value));
            }
        }
        body
    }

    /// A pool that is made, without its members.
    pub(crate) fn pool(&self, it: &ServicePort) -> Map<String, Value> {
        let mut body = Map::new();
        put(&mut body, "lb_algorithm", Value::from(self.desired.method));
        put(&mut body, "name", Value::from(names::part(NamedPart::Pool, it.index, self.name)));
        put(&mut body, "protocol", Value::from(it.pool_protocol));
        if self.desired.is_sticky {
            put(&mut body, "session_persistence", json!({ "type": "SOURCE_IP" }));
        }
        body
    }

    /// A member. None is behind a port for which nodes do not listen.
    pub(crate) fn member(&self, it: &ServicePort, member: &DesiredMember) -> Value {
        let mut body = Map::new();
        put(&mut body, "address", Value::from(member.address.as_str()));
        if let Some(port) = self.desired.monitor_port(it, self.monitors_local) {
            put(&mut body, "monitor_port", Value::from(port));
        }
        put(&mut body, "name", Value::from(member.name.as_str()));
        put(&mut body, "protocol_port", json!(it.node_port));
        if let Some(subnet) = self.member_subnet {
            put(&mut body, "subnet_id", Value::from(subnet));
        }
        Value::Object(body)
    }

    /// The members behind a port.
    pub(crate) fn members_of(&self, it: &ServicePort) -> &[DesiredMember] {
        if it.node_port.is_some() { self.members } else { &[] }
    }

    /// The monitor of a port's pool, if health is checked.
    pub(crate) fn desired_monitor(&self, it: &ServicePort) -> Option<DesiredMonitor> {
        self.desired.monitor_of(it, self.monitors_local)
    }

    /// A monitor that is made.
    pub(crate) fn monitor(&self, it: &ServicePort, desired: DesiredMonitor) -> Map<String, Value> {
        let mut body = times(desired);
        put(&mut body, "name", Value::from(names::part(NamedPart::Monitor, it.index, self.name)));
        put(&mut body, "type", Value::from(desired.kind));
        if desired.kind == "HTTP" {
            put(&mut body, "expected_codes", json!(HEALTH.1));
            put(&mut body, "http_method", Value::from("GET"));
            put(&mut body, "url_path", json!(HEALTH.0));
        }
        body
    }

    /// The ports of a load balancer that is made, each with its pool, its monitor and members: as many of them, and then of ports, as fit into one
    /// request beside `rest` bytes.
    pub(crate) fn populated(&self, rest: usize) -> Vec<Value> {
        let members = self.members_that_fit(rest);
        let mut bytes = rest + 32;
        let fits = |listener: &Value| {
            bytes += size(listener) + 1;
            bytes <= LARGEST
        };
        self.desired.listeners.iter().map(|it| self.populated_listener(it, members)).take_while(fits).collect()
    }

    /// A port with its pool, its monitor, and at most `members` members.
    fn populated_listener(&self, port: &ServicePort, members: usize) -> Value {
        let mut pool = self.pool(port);
        let behind: Vec<_> =
            self.members_of(port).iter().take(members).map(|member| self.member(port, member)).collect();
        if !behind.is_empty() {
            put(&mut pool, "members", Value::Array(behind));
        }
        if let Some(monitor) = self.desired_monitor(port) {
            put(&mut pool, "healthmonitor", Value::Object(self.monitor(port, monitor)));
        }
        let mut body = self.listener(port);
        put(&mut body, "default_pool", Value::Object(pool));
        Value::Object(body)
    }

    /// How many members each pool of a creation may have, so that `rest` bytes and its ports fit into one request.
    fn members_that_fit(&self, rest: usize) -> usize {
        let bare = self.desired.listeners.iter().map(|it| size(&self.populated_listener(it, 0))).sum::<usize>();
        let largest = |it: &ServicePort| self.members.iter().map(|member| size(&self.member(it, member)) + 1).max();
        let pools = self.desired.listeners.iter().filter(|it| it.node_port.is_some());
        let row: usize = pools.filter_map(largest).sum();
        let left = LARGEST.saturating_sub(rest + bare + 32 * self.desired.listeners.len());
        left.checked_div(row).map_or(self.members.len(), |it| it.min(self.members.len()))
    }
}

/// The times of a listener, in the order of [`ServicePort::timeouts`].
pub(crate) const TIMEOUTS: [&str; 4] =
    ["timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"];

/// The members of a monitor that can be changed: how often it asks, and how long it waits.
pub(crate) fn times(desired: DesiredMonitor) -> Map<String, Value> {
    let mut body = Map::new();
    put(&mut body, "delay", Value::from(desired.times.delay));
    put(&mut body, "max_retries", Value::from(desired.times.retries));
    put(&mut body, "max_retries_down", Value::from(desired.times.retries_down));
    put(&mut body, "timeout", Value::from(desired.times.timeout));
    body
}

/// How many bytes a body has.
pub(crate) fn size(body: &Value) -> usize {
    body.to_string().len()
}

/// Puts a member into an object.
#[inline(never)]
pub(crate) fn put(body: &mut Map<String, Value>, name: &str, value: Value) {
    body.insert(name.to_owned(), value);
}
