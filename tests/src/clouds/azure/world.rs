//! Everything that exists in the subscriptions of a simulator, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::simulator::{CloudClock, Settles};

use super::behaviour::Behaviour;
use super::id::{key, name_of, parent_of};
use super::kind::{Kind, Service};
use super::ongoing::{Ongoing, Stored};
use super::other_writer::OtherWriter;
use super::throttle::Throttles;

/// Everything that exists. Operations whose time has come end at the next request.
#[derive(Debug)]
pub struct World {
    /// How Azure behaves.
    pub behaviour: Behaviour,
    /// The subscriptions by id.
    pub(super) subscriptions: BTreeSet<String>,
    /// Resource groups by the id as it compares: name, location and tags.
    pub(super) groups: BTreeMap<String, Value>,
    /// Resources by their ids as they compare.
    resources: BTreeMap<String, Stored>,
    /// Resources that have gone, as they were last.
    gone: BTreeMap<String, Stored>,
    /// Operations by id.
    pub(super) operations: BTreeMap<String, Ongoing>,
    pub(super) throttles: Throttles,
    pub(super) other_writer: OtherWriter,
    /// The address under which the simulator is reached: links to pages and operations begin so.
    pub(super) base: String,
    count: u64,
    clock: CloudClock,
}

impl Settles for World {
    fn settle(&mut self) {
        self.end_due();
    }
}

impl World {
    /// An Azure without subscriptions.
    pub(super) fn new(behaviour: Behaviour) -> World {
        World {
            behaviour,
            subscriptions: BTreeSet::new(),
            groups: BTreeMap::new(),
            resources: BTreeMap::new(),
            gone: BTreeMap::new(),
            operations: BTreeMap::new(),
            throttles: Throttles::default(),
            other_writer: OtherWriter::default(),
            base: String::new(),
            count: 0,
            clock: CloudClock::default(),
        }
    }

    /// The time of the cloud.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        self.clock.now()
    }

    /// Lets time pass for the cloud.
    pub fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        self.end_due();
    }

    /// Adds a subscription.
    pub fn add_subscription(&mut self, id: &str) {
        self.subscriptions.insert(id.to_owned());
    }

    /// Adds a resource group.
    pub fn add_group(&mut self, subscription: &str, name: &str, location: &str) {
        let id = format!("/subscriptions/{subscription}/resourceGroups/{name}");
        let group = json!({
            "id": id, "name": name, "type": "Microsoft.Resources/resourceGroups", "location": location,
            "properties": { "provisioningState": "Succeeded" },
        });
        self.groups.insert(key(&id), group);
    }

    /// Adds a resource as Azure would store it, done already, or puts it in the place of one with the same id.
    pub fn insert(&mut self, kind: Kind, id: &str, mut body: Value) {
        named(kind, id, &mut body);
        if !kind.is_immediate() {
            body["properties"]["provisioningState"] = json!("Succeeded");
        }
        for part in kind.parts() {
            for it in parts_mut(&mut body, part) {
                it["properties"]["provisioningState"] = json!("Succeeded");
            }
        }
        self.put(kind, id, body);
    }

    /// Stores a resource, with a new etag. One that is there keeps its age.
    pub(super) fn put(&mut self, kind: Kind, id: &str, body: Value) {
        let made = self.resources.get(&key(id)).map_or_else(|| self.time(), |it| it.made);
        self.resources.insert(key(id), Stored { kind, body, made });
        self.mark(id);
    }

    /// One resource by its id, in any letter case.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Value> {
        self.resources.get(&key(id)).map(|it| &it.body)
    }

    /// One resource, for a change that no request asks for. Its etag stays: [`World::mark`] changes it.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Value> {
        self.resources.get_mut(&key(id)).map(|it| &mut it.body)
    }

    pub(super) fn stored(&self, id: &str) -> Option<&Stored> {
        self.resources.get(&key(id))
    }

    /// Takes a resource away with what lies in it, and lets others forget it.
    pub fn remove(&mut self, id: &str) -> Option<Value> {
        let stored = self.resources.remove(&key(id))?;
        self.other_writer.forget(id);
        let below = format!("{}/", key(id));
        let within: Vec<String> = self.resources.keys().filter(|it| it.starts_with(&below)).cloned().collect();
        for it in within {
            if let Some(stored) = self.resources.remove(&it) {
                self.gone.insert(it, stored);
            }
        }
        let body = stored.body.clone();
        self.gone.insert(key(id), stored);
        self.forget_pools(id);
        Some(body)
    }

    /// Takes the pools of a load balancer that are no more out of all interfaces.
    pub(super) fn forget_pools(&mut self, balancer: &str) {
        let prefix = format!("{}/backendaddresspools/", key(balancer));
        let pools = self.get(balancer).map(|it| it["properties"]["backendAddressPools"].clone());
        let there: BTreeSet<String> = pools.iter().flat_map(elements).map(|it| key(text(it, "id"))).collect();
        let is_gone = |member: &Value| {
            let pool = key(text(member, "id"));
            pool.starts_with(&prefix) && !there.contains(&pool)
        };
        let is_interface = |it: &Stored| matches!(it.kind, Kind::Interface | Kind::ScaleSetInterface);
        for stored in self.resources.values_mut().filter(|it| is_interface(it)) {
            for configuration in parts_mut(&mut stored.body, "ipConfigurations") {
                let pools = configuration.pointer_mut("/properties/loadBalancerBackendAddressPools");
                if let Some(pools) = pools.and_then(Value::as_array_mut) {
                    pools.retain(|it| !is_gone(it));
                }
            }
        }
    }

    /// How often another writer was ahead of a write.
    #[must_use]
    pub fn times_overtaken(&self) -> u32 {
        self.other_writer.times()
    }

    /// The entries of the other writer that are not in their resources any more.
    #[must_use]
    pub fn lost_by_others(&self) -> Vec<String> {
        self.other_writer.lost(|id| self.get(id))
    }

    /// All resources by the ids as they compare.
    pub(super) fn everything(&self) -> impl Iterator<Item = (&str, &Stored)> {
        self.resources.iter().map(|(key, it)| (key.as_str(), it))
    }

    /// All resources whose ids begin so, as they compare.
    pub(super) fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, &Stored)> {
        let prefix = key(prefix);
        let all = self.resources.range(prefix.clone()..);
        all.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(key, it)| (key.as_str(), it))
    }

    /// All resources of a kind, without what follows from others.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.resources.values().filter(move |it| it.kind == kind).map(|it| &it.body)
    }

    /// All resources of a kind that there are, and then those that there were.
    pub fn all_ever(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.all(kind).chain(self.gone.values().filter(move |it| it.kind == kind).map(|it| &it.body))
    }

    /// Gives a changed resource another etag, where its kind has some.
    pub fn mark(&mut self, id: &str) {
        let number = self.next();
        let Some(stored) = self.resources.get_mut(&key(id)) else { return };
        if !stored.kind.has_etag() {
            return;
        }
        let etag = match stored.kind.service() {
            Service::Network => format!("W/\"{}\"", uuid::Uuid::new_v4()),
            Service::Compute => format!("\"{number}\""),
        };
        for part in stored.kind.parts() {
            for it in parts_mut(&mut stored.body, part) {
                it["etag"] = json!(etag);
            }
        }
        stored.body["etag"] = json!(etag);
    }

    /// The time as Azure writes it.
    pub(super) fn stamp(&self) -> String {
        self.clock.stamp("%Y-%m-%dT%H:%M:%S%.3fZ")
    }

    /// A number that nothing else has.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

/// Gives a resource and its parts their ids, names and types.
pub(super) fn named(kind: Kind, id: &str, body: &mut Value) {
    body["id"] = json!(id);
    body["name"] = json!(name_of(id));
    body["type"] = json!(kind.full_type());
    for part in kind.parts() {
        for it in parts_mut(body, part) {
            let name = text(it, "name").to_owned();
            it["id"] = json!(format!("{id}/{part}/{name}"));
            it["type"] = json!(format!("{}/{part}", kind.full_type()));
        }
    }
}

/// The text under a key: empty where there is none.
pub(super) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

/// The id that a field refers to: empty where there is none.
pub(super) fn referred<'a>(body: &'a Value, field: &str) -> &'a str {
    text(&body[field], "id")
}

/// The elements of a list.
pub(super) fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The elements of a list within the properties.
pub(super) fn parts<'a>(body: &'a Value, part: &str) -> impl Iterator<Item = &'a Value> {
    elements(&body["properties"][part])
}

/// The same to be changed. A list that is not there is not made.
pub(super) fn parts_mut<'a>(body: &'a mut Value, part: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = body.get_mut("properties").and_then(|it| it.get_mut(part));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

/// The resource group of an id.
pub(super) fn group_of(id: &str) -> String {
    id.split('/').take(5).collect::<Vec<_>>().join("/")
}

/// The resource in which another lies: empty where it lies in none.
pub(super) fn owner_of(kind: Kind, id: &str) -> &str {
    if kind.words().1.len() > 1 { parent_of(id) } else { "" }
}
