//! The next change of listeners, pools and monitors: Octavia carries out one at a time for each load balancer.
//!
//! Parts are found by protocol and port, never by name: a part keeps its number when ports before it go.

use aerostat_sdk::{Error, Result};
use serde_json::{Map, Value, json};

use super::bodies::{BodyPlans, FORWARDED_FOR, TIMEOUTS, put, times};
use super::desired::{DesiredMonitor, ServicePort};
use super::names::{self, NamedPart};
use super::ownership::ServiceNames;
use crate::api::octavia::{OctaviaBalancer, OctaviaListener, OctaviaMonitor, OctaviaPool, OctaviaWrite};

/// A Service's part of a load balancer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalancerShare<'a> {
    /// The bodies of what it should be.
    pub(crate) plans: BodyPlans<'a>,
    /// The Service's names.
    pub(crate) names: &'a ServiceNames,
    /// The load balancer.
    pub(crate) live: &'a OctaviaBalancer,
    /// Whether the load balancer is the Service's, and not only a part of it.
    pub(crate) is_owner: bool,
}

/// Whether a listener is the Service's: by its tag, or, without tags and on its own load balancer, by its name.
pub(crate) fn is_own_listener(names: &ServiceNames, is_owner: bool, it: &OctaviaListener) -> bool {
    let is_tagged = it.tags.iter().any(|tag| names.has(tag));
    is_tagged || (is_owner && it.tags.is_empty() && is_named(names, NamedPart::Listener, &it.name))
}

/// Whether a pool is the Service's, and no listener has it.
pub(crate) fn is_own_orphan(names: &ServiceNames, it: &OctaviaPool, listeners: &[OctaviaListener]) -> bool {
    let is_used =
        !it.listeners.is_empty() || listeners.iter().any(|other| other.default_pool_id.as_ref() == Some(&it.id));
    !is_used && is_named(names, NamedPart::Pool, &it.name)
}

fn is_named(names: &ServiceNames, part: NamedPart, name: &str) -> bool {
    let all = [Some(&names.name), names.former.as_ref(), Some(&names.legacy)];
    all.into_iter().flatten().any(|it| names::is_part(part, name, it))
}

impl BalancerShare<'_> {
    /// Whether a listener is the Service's.
    pub(crate) fn has_listener(&self, it: &OctaviaListener) -> bool {
        is_own_listener(self.names, self.is_owner, it)
    }

    fn has_orphan(&self, it: &OctaviaPool, listeners: &[OctaviaListener]) -> bool {
        is_own_orphan(self.names, it, listeners)
    }

    /// The name that the load balancer has, or gets.
    fn name_of_balancer(&self) -> &str {
        // One with the legacy name keeps it.
        if self.live.name == self.names.legacy { &self.names.legacy } else { &self.names.name }
    }

    /// The change of the load balancer itself: its name, if it is the Service's, and its tags.
    pub(crate) fn of_balancer(&self) -> Option<OctaviaWrite> {
        let mut body = Map::new();
        let name = self.name_of_balancer();
        if self.is_owner && self.live.name != name {
            put(&mut body, "name", Value::from(name));
        }
        let lacks_tag = self.live.tags.as_ref().is_some_and(|it| !it.contains(&self.names.name));
        if lacks_tag || (!body.is_empty() && self.live.tags.is_some()) {
            let tags = self.names.tagged(self.live);
            if tags != self.live.tags() {
                put(&mut body, "tags", json!(tags));
            }
        }
        let write =
            |body| OctaviaWrite::put(&["loadbalancers", &self.live.id], json!({ "loadbalancer": Value::Object(body) }));
        (!body.is_empty()).then(|| write(body))
    }

    /// The Service's listener for a port, if there is one that speaks as it should.
    pub(crate) fn listener_for<'l>(
        &self,
        desired: &ServicePort,
        listeners: &'l [OctaviaListener],
    ) -> Option<&'l OctaviaListener> {
        listeners
            .iter()
            .find(|it| self.has_listener(it) && it.protocol == desired.protocol && it.protocol_port == desired.port)
    }

    /// The next change of listeners that are there, and of those that stand where one of another protocol should be.
    ///
    /// # Errors
    ///
    /// `invalid`, if another has a port that the Service needs.
    pub(crate) fn of_listeners(&self, listeners: &[OctaviaListener]) -> Result<Option<OctaviaWrite>> {
        for desired in &self.plans.desired.listeners {
            let is_at = |live: &&OctaviaListener| {
                live.protocol_port == desired.port && transport(&live.protocol) == transport(desired.protocol)
            };
            for live in listeners.iter().filter(is_at) {
                if !self.has_listener(live) {
                    return Err(Error::invalid(format_args!(
                        "port {} of {} is taken by another listener, {} ({}): the listener port {} already exists",
                        desired.port,
                        self.live.title(),
                        live.id,
                        live.name,
                        desired.port
                    )));
                }
                if live.protocol != desired.protocol || live.provisioning_status == "ERROR" {
                    return Ok(Some(OctaviaWrite::delete(&["listeners", &live.id])));
                }
                if let Some(body) = self.listener_change(desired, live) {
                    let body = json!({ "listener": Value::Object(body) });
                    return Ok(Some(OctaviaWrite::put(&["listeners", &live.id], body)));
                }
            }
        }
        Ok(None)
    }

    /// The members of a listener that differ.
    fn listener_change(&self, desired: &ServicePort, live: &OctaviaListener) -> Option<Map<String, Value>> {
        let (mut body, full) = (Map::new(), self.plans.listener(desired));
        let mut change = |field: &str| {
            if let Some(value) = full.get(field) {
                put(&mut body, field, value.clone());
            }
        };
        if live.connection_limit.is_some_and(|it| it != desired.connection_limit) {
            change("connection_limit");
        }
        let shown =
            [live.timeout_client_data, live.timeout_member_connect, live.timeout_member_data, live.timeout_tcp_inspect];
        for ((field, wanted), shown) in TIMEOUTS.iter().zip(desired.timeouts).zip(shown) {
            if shown.is_some_and(|it| it != wanted) {
                change(field);
            }
        }
        if live.allowed_cidrs.as_ref().is_some_and(|it| !same_ranges(it, &self.plans.desired.ranges)) {
            change("allowed_cidrs");
        }
        if desired.protocol == "TERMINATED_HTTPS" && live.default_tls_container_ref != self.plans.desired.tls {
            change("default_tls_container_ref");
        }
        let is_told = live.insert_headers.get(FORWARDED_FOR).is_some_and(|it| *it == "true");
        let should_be = desired.forwarded_for && desired.protocol != desired.transport.as_str();
        if is_told != should_be {
            let mut headers = live.insert_headers.clone();
            headers.remove(FORWARDED_FOR);
            if should_be {
                put(&mut headers, FORWARDED_FOR, Value::from("true"));
            }
            put(&mut body, "insert_headers", Value::Object(headers));
        }
        if !names::is_part(NamedPart::Listener, &live.name, self.plans.name)
            && live.name != legacy_part(self, NamedPart::Listener, &live.name)
        {
            put(&mut body, "name", Value::from(names::part(NamedPart::Listener, desired.index, self.plans.name)));
        }
        if self.plans.features.tags && !live.tags.contains(&self.names.name) {
            let mut tags: Vec<_> = live.tags.iter().filter(|it| !self.names.has(it)).cloned().collect();
            tags.push(self.names.name.clone());
            put(&mut body, "tags", json!(tags));
        }
        (!body.is_empty()).then_some(body)
    }

    /// The next listener that is missing. A pool that has lost its listener serves again, if it speaks as it should.
    pub(crate) fn missing_listener(
        &self,
        listeners: &[OctaviaListener],
        pools: &[OctaviaPool],
    ) -> Option<OctaviaWrite> {
        let missing = |it: &&ServicePort| self.listener_for(it, listeners).is_none();
        let desired = self.plans.desired.listeners.iter().find(missing)?;
        let mut body = self.plans.listener(desired);
        put(&mut body, "loadbalancer_id", Value::from(self.live.id.as_str()));
        if let Some(orphan) = self.orphan_for(desired, listeners, pools) {
            put(&mut body, "default_pool_id", Value::from(orphan.id.as_str()));
        }
        Some(OctaviaWrite::post(&["listeners"], json!({ "listener": Value::Object(body) })))
    }

    /// A pool that has lost its listener, for this port: the one with its number, or any.
    fn orphan_for<'l>(
        &self,
        desired: &ServicePort,
        listeners: &[OctaviaListener],
        pools: &'l [OctaviaPool],
    ) -> Option<&'l OctaviaPool> {
        let named = names::part(NamedPart::Pool, desired.index, self.plans.name);
        let fits = |pool: &&OctaviaPool| {
            self.has_orphan(pool, listeners)
                && pool.protocol == desired.pool_protocol
                && pool.provisioning_status != "ERROR"
        };
        pools.iter().filter(fits).find(|it| it.name == named).or_else(|| pools.iter().find(fits))
    }

    /// The pool of a port, once its listener is there.
    pub(crate) fn pool_for<'l>(
        &self,
        desired: &ServicePort,
        listeners: &[OctaviaListener],
        pools: &'l [OctaviaPool],
    ) -> Option<&'l OctaviaPool> {
        let live = self.listener_for(desired, listeners)?;
        pools.iter().find(|it| live.default_pool_id.as_ref() == Some(&it.id))
    }

    /// The next change of pools, but for their members and monitors.
    pub(crate) fn of_pools(&self, listeners: &[OctaviaListener], pools: &[OctaviaPool]) -> Option<OctaviaWrite> {
        for desired in &self.plans.desired.listeners {
            let live = self.listener_for(desired, listeners)?;
            let Some(pool) = self.pool_for(desired, listeners, pools) else {
                if let Some(orphan) = self.orphan_for(desired, listeners, pools) {
                    let body = json!({ "listener": { "default_pool_id": orphan.id } });
                    return Some(OctaviaWrite::put(&["listeners", &live.id], body));
                }
                let mut body = self.plans.pool(desired);
                put(&mut body, "listener_id", Value::from(live.id.as_str()));
                return Some(OctaviaWrite::post(&["pools"], json!({ "pool": Value::Object(body) })));
            };
            if pool.protocol != desired.pool_protocol || pool.provisioning_status == "ERROR" {
                return Some(OctaviaWrite::delete(&["pools", &pool.id]));
            }
            if let Some(body) = self.pool_change(desired, pool) {
                return Some(OctaviaWrite::put(&["pools", &pool.id], json!({ "pool": Value::Object(body) })));
            }
        }
        None
    }

    /// The members of a pool that differ.
    fn pool_change(&self, desired: &ServicePort, live: &OctaviaPool) -> Option<Map<String, Value>> {
        let mut body = Map::new();
        if live.lb_algorithm != self.plans.desired.method {
            put(&mut body, "lb_algorithm", Value::from(self.plans.desired.method));
        }
        let is_sticky = live.session_persistence.as_deref() == Some("SOURCE_IP");
        // What a person has chosen beyond the Service's words stays.
        if self.plans.desired.is_sticky && live.session_persistence.is_none() {
            put(&mut body, "session_persistence", json!({ "type": "SOURCE_IP" }));
        } else if !self.plans.desired.is_sticky && is_sticky {
            put(&mut body, "session_persistence", Value::Null);
        }
        if !names::is_part(NamedPart::Pool, &live.name, self.plans.name)
            && live.name != legacy_part(self, NamedPart::Pool, &live.name)
        {
            put(&mut body, "name", Value::from(names::part(NamedPart::Pool, desired.index, self.plans.name)));
        }
        (!body.is_empty()).then_some(body)
    }

    /// The next change of monitors.
    pub(crate) fn of_monitors(
        &self,
        listeners: &[OctaviaListener],
        pools: &[OctaviaPool],
        monitors: &[OctaviaMonitor],
    ) -> Option<OctaviaWrite> {
        for desired in &self.plans.desired.listeners {
            let pool = self.pool_for(desired, listeners, pools)?;
            match (self.plans.desired_monitor(desired), &pool.healthmonitor_id) {
                (None, None) => {}
                (None, Some(id)) => return Some(OctaviaWrite::delete(&["healthmonitors", id])),
                (Some(monitor), None) => {
                    let mut body = self.plans.monitor(desired, monitor);
                    put(&mut body, "pool_id", Value::from(pool.id.as_str()));
                    return Some(OctaviaWrite::post(
                        &["healthmonitors"],
                        json!({ "healthmonitor": Value::Object(body) }),
                    ));
                }
                (Some(monitor), Some(id)) => {
                    if let Some(live) = monitors.iter().find(|it| it.id == *id)
                        && let Some(write) = self.monitor_write(desired, monitor, live)
                    {
                        return Some(write);
                    }
                }
            }
        }
        None
    }

    /// The change of a monitor; one that asks in another way is deleted first.
    fn monitor_write(
        &self,
        desired: &ServicePort,
        monitor: DesiredMonitor,
        live: &OctaviaMonitor,
    ) -> Option<OctaviaWrite> {
        if live.kind != monitor.kind {
            return Some(OctaviaWrite::delete(&["healthmonitors", &live.id]));
        }
        let want = monitor.times;
        let differs = [
            (live.delay, want.delay),
            (live.timeout, want.timeout),
            (live.max_retries, want.retries),
            (live.max_retries_down, want.retries_down),
        ]
        .iter()
        .any(|(shown, wanted)| shown.is_some_and(|it| it != *wanted));
        let is_named = names::is_part(NamedPart::Monitor, &live.name, self.plans.name)
            || live.name == legacy_part(self, NamedPart::Monitor, &live.name);
        let mut body = if differs { times(monitor) } else { Map::new() };
        if !is_named {
            put(&mut body, "name", Value::from(names::part(NamedPart::Monitor, desired.index, self.plans.name)));
        }
        let write =
            |body| OctaviaWrite::put(&["healthmonitors", &live.id], json!({ "healthmonitor": Value::Object(body) }));
        (!body.is_empty()).then(|| write(body))
    }

    /// The next part that the Service has and no longer asks for: a listener's pool before the listener, and pools without listener.
    pub(crate) fn obsolete(&self, listeners: &[OctaviaListener], pools: &[OctaviaPool]) -> Option<OctaviaWrite> {
        let is_wanted = |live: &OctaviaListener| {
            let is_at = |it: &ServicePort| it.port == live.protocol_port && it.protocol == live.protocol;
            self.plans.desired.listeners.iter().any(is_at)
        };
        let unwanted = listeners.iter().find(|it| self.has_listener(it) && !is_wanted(it));
        if let Some(unwanted) = unwanted {
            return Some(removal(unwanted, pools));
        }
        let orphan = pools.iter().find(|it| self.has_orphan(it, listeners))?;
        Some(OctaviaWrite::delete(&["pools", &orphan.id]))
    }
}

/// The next step of the removal of a listener: its pool goes with its members and its monitor.
pub(crate) fn removal(listener: &OctaviaListener, pools: &[OctaviaPool]) -> OctaviaWrite {
    let is_its = |it: &&OctaviaPool| listener.default_pool_id.as_ref() == Some(&it.id);
    // A pool that another listener has, too, stays.
    let is_alone = |it: &&OctaviaPool| it.listeners.iter().all(|other| *other == listener.id);
    match pools.iter().filter(is_its).find(is_alone) {
        Some(pool) => OctaviaWrite::delete(&["pools", &pool.id]),
        None => OctaviaWrite::delete(&["listeners", &listener.id]),
    }
}

/// Parts of a load balancer with the legacy name may have that in their names: such a name is its own.
fn legacy_part<'n>(share: &BalancerShare<'_>, part: NamedPart, name: &'n str) -> &'n str {
    let keeps = share.live.name == share.names.legacy && names::is_part(part, name, &share.names.legacy);
    if keeps { name } else { "" }
}

/// The transport of a protocol: two listeners cannot share a port of one transport.
pub(crate) fn transport(protocol: &str) -> &str {
    match protocol {
        "UDP" | "SCTP" => protocol,
        _ => "TCP",
    }
}

/// Whether two lists of networks are the same. No network at all is the whole world.
fn same_ranges(live: &[String], desired: &[String]) -> bool {
    let is_open = |it: &[String]| it.iter().all(|it| matches!(&**it, "0.0.0.0/0" | "::/0"));
    if live.is_empty() {
        return is_open(desired);
    }
    live.len() == desired.len() && live.iter().all(|it| desired.contains(it))
}
