//! Another writer of what Services share. It puts something of its own into a load balancer or a security group a moment before a write of that,
//! which is refused, and keeps away from the next one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::id::key;
use super::kind::Kind;
use super::region::LOCATION;
use super::world::{World, elements, text};

/// What another writer has done.
#[derive(Debug, Default)]
pub(super) struct OtherWriter {
    /// How often it has written.
    count: u32,
    /// The objects whose next write it leaves alone, by their ids as they compare.
    left_alone: BTreeSet<String>,
    /// The names of what it has put into each object, by the ids as they compare.
    made: BTreeMap<String, Vec<String>>,
}

/// The list into which it puts something, of the kinds that it writes.
fn list_of(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::LoadBalancer => Some("probes"),
        Kind::SecurityGroup => Some("securityRules"),
        _ => None,
    }
}

impl World {
    /// Writes in the name of the other writer, if there is one, before a write of this resource.
    pub(super) fn overtake(&mut self, kind: Kind, id: &str) {
        let Some(list) = list_of(kind).filter(|_| self.behaviour.has_other_writer) else { return };
        let mut body = self.get(id).cloned().unwrap_or_else(
            || json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": { "provisioningState": "Succeeded" } }),
        );
        let is_at_rest = text(&body["properties"], "provisioningState") == "Succeeded";
        if !is_at_rest || self.other_writer.left_alone.remove(&key(id)) {
            return;
        }
        self.other_writer.count += 1;
        self.other_writer.left_alone.insert(key(id));
        let number = self.other_writer.count;
        let name = format!("by-hand-{number}");
        let properties = match kind {
            Kind::LoadBalancer => {
                json!({ "protocol": "Tcp", "port": 20_000 + number, "intervalInSeconds": 5, "numberOfProbes": 1, "probeThreshold": 1 })
            }
            _ => json!({
                "priority": 100 + number, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*",
                "sourceAddressPrefix": "192.0.2.0/24", "destinationAddressPrefix": "*",
                "destinationPortRange": (20_000 + number).to_string(),
            }),
        };
        if !body["properties"][list].is_array() {
            body["properties"][list] = json!([]);
        }
        if let Some(all) = body["properties"][list].as_array_mut() {
            all.push(json!({ "name": name, "properties": properties }));
        }
        self.insert(kind, id, body);
        self.other_writer.made.entry(key(id)).or_default().push(name);
    }

    /// What the other writer has made in a resource goes with it.
    pub(super) fn forget_other_writer(&mut self, id: &str) {
        self.other_writer.made.remove(&key(id));
    }

    /// How often the other writer has written.
    #[must_use]
    pub fn times_overtaken(&self) -> u32 {
        self.other_writer.count
    }

    /// What the other writer has made in resources that are there, and is not in them any more: `…/probes/by-hand-3`.
    #[must_use]
    pub fn lost_by_others(&self) -> Vec<String> {
        let lists = |body: &Value| ["probes", "securityRules"].map(|it| body["properties"][it].clone());
        let mut lost = Vec::new();
        for (id, made) in &self.other_writer.made {
            let lists = self.get(id).map(lists).unwrap_or_default();
            let has = |name: &String| lists.iter().flat_map(elements).any(|it| text(it, "name") == name);
            lost.extend(made.iter().filter(|it| !has(it)).map(|it| format!("{id}/{it}")));
        }
        lost
    }
}
