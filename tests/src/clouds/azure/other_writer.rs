//! Another writer of objects that Services share. It puts something of its own into a load balancer or a security group a moment before a write
//! of that, which is refused, and keeps away from the next one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::id::key;
use super::kind::Kind;

/// The lists into which it puts something.
const LISTS: [(Kind, &str); 2] = [(Kind::LoadBalancer, "probes"), (Kind::SecurityGroup, "securityRules")];

/// The other writer's work so far.
#[derive(Debug, Default)]
pub(super) struct OtherWriter {
    /// How often it has written.
    count: u32,
    /// The objects whose next write it leaves alone, by their ids as they compare.
    left_alone: BTreeSet<String>,
    /// The names of its entries in each object, by the ids as they compare.
    made: BTreeMap<String, Vec<String>>,
}

impl OtherWriter {
    /// The resource as the other writer leaves it, if it is ahead of a write. `there` is the resource as it is, `wanted` the body of that write.
    pub(super) fn ahead(&mut self, kind: Kind, id: &str, there: Option<&Value>, wanted: &Value) -> Option<Value> {
        let list = LISTS.iter().find(|(of, _)| *of == kind)?.1;
        let fresh = || json!({ "location": wanted["location"], "sku": wanted["sku"], "properties": { "provisioningState": "Succeeded" } });
        let mut body = there.cloned().unwrap_or_else(fresh);
        let is_at_rest = body["properties"]["provisioningState"] == "Succeeded";
        if !is_at_rest || self.left_alone.remove(&key(id)) {
            return None;
        }
        self.count += 1;
        self.left_alone.insert(key(id));
        let name = format!("by-hand-{}", self.count);
        let entry = json!({ "name": name, "properties": properties(kind, self.count) });
        match body["properties"][list].as_array_mut() {
            Some(all) => all.push(entry),
            None => body["properties"][list] = json!([entry]),
        }
        self.made.entry(key(id)).or_default().push(name);
        Some(body)
    }

    /// Its entries go with their resource.
    pub(super) fn forget(&mut self, id: &str) {
        self.made.remove(&key(id));
    }

    /// How often it has written.
    pub(super) fn times(&self) -> u32 {
        self.count
    }

    /// Its entries that are not in their resources any more: `…/by-hand-3`.
    pub(super) fn lost<'v>(&self, resource: impl Fn(&str) -> Option<&'v Value>) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, made) in &self.made {
            let lists = LISTS.iter().map(|(_, list)| resource(id).map(|it| &it["properties"][*list]));
            let there: Vec<&Value> = lists.flatten().filter_map(Value::as_array).flatten().collect();
            let is_there = |name: &String| there.iter().any(|it| it["name"] == **name);
            lost.extend(made.iter().filter(|it| !is_there(it)).map(|it| format!("{id}/{it}")));
        }
        lost
    }
}

/// The properties of an entry that is like no other's.
fn properties(kind: Kind, number: u32) -> Value {
    let port = 20_000 + number;
    if kind == Kind::LoadBalancer {
        return json!({
            "protocol": "Tcp", "port": port, "intervalInSeconds": 5, "numberOfProbes": 1, "probeThreshold": 1,
        });
    }
    json!({
        "priority": 100 + number, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*",
        "sourceAddressPrefix": "192.0.2.0/24", "destinationAddressPrefix": "*", "destinationPortRange": port.to_string(),
    })
}
