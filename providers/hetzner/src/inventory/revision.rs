//! Revisions of load balancers.

use aerostat_sdk::json::revision;
use serde_json::Value;

use crate::api::load_balancers::{LoadBalancer, Service};

/// The fields that are read of a load balancer, in whatever object they are.
const READ: [&str; 48] = [
    "algorithm",
    "certificates",
    "cookie_lifetime",
    "cookie_name",
    "created",
    "delete",
    "deprecated",
    "destination_port",
    "dns_ptr",
    "domain",
    "enabled",
    "health_check",
    "http",
    "id",
    "interval",
    "ip",
    "ipv4",
    "ipv6",
    "label_selector",
    "labels",
    "listen_port",
    "load_balancer_type",
    "location",
    "max_targets",
    "name",
    "network",
    "network_zone",
    "path",
    "port",
    "private_net",
    "protection",
    "protocol",
    "proxyprotocol",
    "public_net",
    "redirect_http",
    "response",
    "retries",
    "selector",
    "server",
    "services",
    "status_codes",
    "sticky_sessions",
    "targets",
    "timeout",
    "timeout_idle",
    "tls",
    "type",
    "use_private_ip",
];

/// Within a target of this list, the machines that a choice of machines has come to.
const CHOSEN: &str = "targets";

/// A revision of the fields that `ensure` compares, as a list shows them: nothing of it changes by itself. Where TLS ends at the
/// load balancer there is none:
/// which certificate has a name is not told by it.
pub(super) fn of(live: &LoadBalancer, mut shown: Value) -> Option<String> {
    let certificates = |it: &Service| it.http.as_ref().and_then(|it| it.certificates.as_ref()).map_or(0, |it| it.len());
    if live.services.iter().any(|it| certificates(it) > 0) {
        return None;
    }
    // Their names are not the cloud's.
    let labels = shown["labels"].take();
    keep_read(&mut shown, "");
    shown["labels"] = labels;
    Some(revision(&shown))
}

/// Leaves out what changes by itself: health, traffic, prices, and the machines of a target that is a choice of machines.
fn keep_read(value: &mut Value, within: &str) {
    match value {
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                let is_choice = name == CHOSEN && within == CHOSEN;
                if !is_choice && READ.contains(&name.as_str()) {
                    keep_read(&mut value, &name);
                    fields.insert(name, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| keep_read(it, within)),
        _ => {}
    }
}
