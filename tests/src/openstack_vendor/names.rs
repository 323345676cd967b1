//! Names in the place of ids and addresses that are made up each time, as the recordings have them.

use std::cmp::Reverse;

use serde_json::Value;

use crate::clouds::openstack::{Kind, World};

/// The kinds whose objects are called by their own names.
const PLAIN: [(Kind, &str); 7] = [
    (Kind::Network, "net"),
    (Kind::Subnet, "subnet"),
    (Kind::Server, "server"),
    (Kind::Router, "router"),
    (Kind::SecurityGroup, "group"),
    (Kind::LoadBalancerFlavor, "lb-flavor"),
    (Kind::Port, "port"),
];

/// Before the description of a floating IP that a manager has made.
pub(super) const FLOATING_IP: &str = "Floating IP for Kubernetes external service ";
/// Addresses that Services name.
const CHOSEN: [&str; 3] = ["172.24.4.200", "172.24.4.222", "172.24.4.223"];
/// The id of another cluster's load balancer, as Services of stories about theft name it.
pub(super) const OTHERS: &str = "<lb of the other cluster>";

/// Values that are made up, and the names in their place.
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// Those of everything in the region, and of these UIDs of Services.
    pub(super) fn new<'a>(world: &World, uids: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut all = Vec::new();
        for (kind, word) in PLAIN {
            let named = world.all(kind).filter(|it| !text(it, "name").is_empty());
            all.extend(named.map(|it| (text(it, "id").to_owned(), format!("<{word} {}>", text(it, "name")))));
        }
        let called = |it: &Value| Some((text(it, "id").to_owned(), it["_called"].as_str()?.to_owned()));
        let persons: Vec<_> = world.all(Kind::Port).filter_map(called).collect();
        all.retain(|(found, _)| !persons.iter().any(|(id, _)| id == found));
        all.extend(persons);
        for it in world.all(Kind::LoadBalancer) {
            let name = text(it, "name");
            let is_others = text(it, "description").ends_with("from cluster other");
            let shown = if is_others { OTHERS.to_owned() } else { format!("<lb {name}>") };
            all.push((text(it, "id").to_owned(), shown));
            if it["_own_port"] == Value::Bool(true) {
                all.push((quoted(text(it, "vip_address")), quoted(&format!("<vip {name}>"))));
            }
            // A person's has a name of its own, too: this comes first.
            let port = text(it, "vip_port_id");
            all.retain(|(found, _)| found != port);
            all.push((port.to_owned(), format!("<vip-port {name}>")));
        }
        for it in world.all(Kind::FloatingIp) {
            let description = text(it, "description");
            let made = description.strip_prefix(FLOATING_IP).and_then(|it| it.split(" from cluster ").next());
            let shown = made.map_or_else(|| format!("<fip {description}>"), |it| format!("<floating-ip {it}>"));
            all.push((text(it, "id").to_owned(), shown.clone()));
            let address = text(it, "floating_ip_address");
            // People have chosen the others.
            if made.is_some() && !CHOSEN.contains(&address) {
                let shown = format!("<address of {}>", &shown[1..shown.len() - 1]);
                all.push((format!("\"{address}.nip.io\""), format!("\"{shown}.nip.io\"")));
                all.push((quoted(address), quoted(&shown)));
            }
        }
        for (name, uid) in uids {
            all.push((uid.to_owned(), format!("<uid {name}>")));
        }
        all.sort_by_key(|(found, _)| Reverse(found.len()));
        Self(all)
    }

    /// With names in the place of what is made up.
    pub(super) fn replace(&self, seen: &Value) -> Value {
        let mut text = seen.to_string();
        for (found, name) in &self.0 {
            text = text.replace(found, name);
        }
        serde_json::from_str(&text).expect("names change no form")
    }

    /// With what is made up in the place of names.
    pub(super) fn restore(&self, named: &str) -> String {
        let mut text = named.to_owned();
        for (found, name) in &self.0 {
            text = text.replace(name, found);
        }
        text
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
