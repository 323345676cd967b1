//! Requests of stories that are played side by side: whose each is, its ids tell.

use std::collections::HashMap;

use serde_json::Value;

use crate::clouds::openstack::{Kind, World};
use crate::simulator::Recorded;

use super::names::FLOATING_IP;

/// The name of a Service for what belongs to it in the cloud, or belonged: that in its load balancer's name.
pub(super) struct Owners<'a> {
    world: &'a World,
    /// The Service of each name that load balancers had in earlier versions.
    legacy: &'a HashMap<String, String>,
    /// The load balancer of each port.
    ports: HashMap<&'a str, &'a Value>,
    /// The floating IP with each address.
    addresses: HashMap<&'a str, &'a Value>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(world: &'a World, legacy: &'a HashMap<String, String>) -> Self {
        let ports = world.all_ever(Kind::LoadBalancer).map(|it| (text(it, "vip_port_id"), it)).collect();
        let addresses = world.all_ever(Kind::FloatingIp).map(|it| (text(it, "floating_ip_address"), it)).collect();
        Self { world, legacy, ports, addresses }
    }

    /// The owner of an object.
    pub(super) fn of(&self, object: &Value) -> Option<String> {
        if let Some(balancer) = object["_balancer"].as_str() {
            return self.of(self.world.ever(balancer)?);
        }
        if let Some(name) = object["_first"].as_str().filter(|it| it.starts_with("kube_service_")) {
            return name.rsplit('_').next().map(str::to_owned);
        }
        if let Some(balancer) = object["port_id"].as_str().and_then(|it| self.ports.get(it)) {
            return self.of(balancer);
        }
        if let Some(balancer) = object["id"].as_str().and_then(|it| self.ports.get(it)) {
            return self.of(balancer);
        }
        if let Some(group) = object["security_group_id"].as_str() {
            return self.of(self.world.ever(group)?);
        }
        of_text(text(object, "description")).or_else(|| of_text(text(object, "name")))
    }

    /// The Service that a request is about, if it is about one.
    pub(super) fn of_request(&self, request: &Recorded) -> Option<String> {
        let in_path = request.path.split('/').filter_map(|it| self.of(self.world.ever(it)?)).next();
        let in_query = || {
            let values = request.query.iter().map(|(_, value)| value.as_str());
            let found = |value: &str| {
                let known = self.world.ever(value).or_else(|| self.addresses.get(value).copied());
                known.and_then(|it| self.of(it)).or_else(|| of_text(value)).or_else(|| self.legacy.get(value).cloned())
            };
            values.filter_map(found).next()
        };
        let in_body = || {
            let body: Value = serde_json::from_slice(&request.body).ok()?;
            let fields = body.as_object()?.values().find_map(Value::as_object)?;
            let texts = || fields.values().filter_map(Value::as_str);
            let known = texts().filter_map(|it| self.of(self.world.ever(it)?)).next();
            known.or_else(|| texts().find_map(of_text))
        };
        in_path.or_else(in_query).or_else(in_body)
    }
}

/// The Service in the name of a load balancer or of a security group, or in the description of a floating IP.
fn of_text(text: &str) -> Option<String> {
    if text.starts_with("kube_service_") {
        return text.rsplit('_').next().map(str::to_owned);
    }
    if let Some(rest) = text.strip_prefix("lb-sg-") {
        return rest.get(37..)?.split_once('-').map(|(_, name)| name.to_owned());
    }
    let described = text.strip_prefix(FLOATING_IP).or_else(|| text.strip_prefix("Kubernetes external service "))?;
    described.split(" from cluster ").next()?.split('/').nth(1).map(str::to_owned)
}

/// The action of a request in the words of the recordings: `load-balancer GET /v2.0/lbaas/pools/{id}/members`.
pub(super) fn action(request: &Recorded) -> (String, bool) {
    let mut parts = request.path.splitn(3, '/').skip(1);
    let (service, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let fixed = |it: &str| !it.bytes().any(|it| it.is_ascii_digit()) || it.starts_with('v');
    let path: Vec<_> = path.split('/').map(|it| if fixed(it) { it } else { "{id}" }).collect();
    (format!("{service} {} /{}", request.method, path.join("/")), !request.method.is_safe())
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
