//! Everything that exists in a region, and when.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::simulator::{CloudClock, Settles};

use super::behaviour::Behaviour;
use super::ending::{Pending, VolumeChange};
use super::kind::Kind;

/// The keys of objects that begin so are the simulator's own, and no answer shows them.
const HIDDEN: char = '_';

/// Everything that exists. What changes in it begins at the next answer.
#[derive(Debug)]
pub struct World {
    /// How the services behave.
    pub behaviour: Behaviour,
    /// The project of whoever made an object that says no other.
    pub(super) project: String,
    objects: BTreeMap<Kind, BTreeMap<String, Value>>,
    made: BTreeMap<String, SystemTime>,
    /// The objects that have gone, as they were last.
    gone: BTreeMap<Kind, BTreeMap<String, Value>>,
    /// The changes of load balancers that have not ended.
    pub(super) pending: BTreeMap<String, Pending>,
    /// The changes of volumes that have not ended.
    pub(super) volume_changes: BTreeMap<String, VolumeChange>,
    clock: CloudClock,
}

impl Settles for World {
    fn settle(&mut self) {
        self.end_due();
        self.end_volume_changes();
    }
}

impl World {
    /// A region in which nothing is.
    pub(super) fn new(behaviour: Behaviour, project: &str) -> World {
        World {
            behaviour,
            project: project.to_owned(),
            objects: BTreeMap::new(),
            made: BTreeMap::new(),
            gone: BTreeMap::new(),
            pending: BTreeMap::new(),
            volume_changes: BTreeMap::new(),
            clock: CloudClock::default(),
        }
    }

    /// The time of the services.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        self.clock.now()
    }

    /// Lets time pass for the services.
    pub fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        self.settle();
    }

    /// One object, with the simulator's own keys.
    #[must_use]
    pub fn get(&self, kind: Kind, id: &str) -> Option<&Value> {
        self.objects.get(&kind)?.get(id)
    }

    /// One object, for a change that no service sees.
    pub fn get_mut(&mut self, kind: Kind, id: &str) -> Option<&mut Value> {
        self.objects.get_mut(&kind)?.get_mut(id)
    }

    /// All objects of a kind, by id.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// The ids of all objects of a kind of which something is so.
    pub(super) fn ids(&self, kind: Kind, which: impl Fn(&Value) -> bool) -> Vec<String> {
        let all = self.objects.get(&kind).into_iter().flatten();
        all.filter(|(_, it)| which(it)).map(|(id, _)| id.clone()).collect()
    }

    /// The objects of a kind that have this text under a key.
    pub(super) fn with<'a>(&'a self, kind: Kind, key: &'a str, value: &'a str) -> impl Iterator<Item = &'a Value> {
        self.all(kind).filter(move |it| text(it, key) == value)
    }

    /// Adds an object, or puts it in the place of one with the same id. Without `id` it gets one, without `project_id` the project of this
    /// world. Answers its id.
    pub fn insert(&mut self, kind: Kind, mut object: Value) -> String {
        if !object["id"].is_string() {
            object["id"] = json!(uuid::Uuid::new_v4().to_string());
        }
        if object["project_id"].is_null() {
            object["project_id"] = json!(self.project);
        }
        let id = text(&object, "id").to_owned();
        self.made.entry(id.clone()).or_insert_with(|| self.clock.now());
        self.objects.entry(kind).or_default().insert(id.clone(), object);
        id
    }

    /// Takes an object away, and nothing that belongs to it.
    pub fn remove(&mut self, kind: Kind, id: &str) -> Option<Value> {
        let gone = self.objects.get_mut(&kind)?.remove(id)?;
        self.gone.entry(kind).or_default().insert(id.to_owned(), gone.clone());
        Some(gone)
    }

    /// All objects of a kind that there are, and then those that there were.
    pub fn all_ever(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.all(kind).chain(self.gone.get(&kind).into_iter().flat_map(BTreeMap::values))
    }

    /// The object with this id, of whatever kind, also one that has gone.
    #[must_use]
    pub fn ever(&self, id: &str) -> Option<&Value> {
        let all = || self.objects.values().chain(self.gone.values());
        all().find_map(|it| it.get(id))
    }

    /// When an object came to be.
    pub(super) fn made(&self, id: &str) -> Option<SystemTime> {
        self.made.get(id).copied()
    }

    /// The time as Octavia and Neutron write it: in whole seconds.
    pub(super) fn stamp(&self) -> Value {
        json!(self.clock.stamp("%Y-%m-%dT%H:%M:%S"))
    }

    /// Whether there may be so many more of a kind.
    pub(super) fn allows(&self, kind: Kind, more: usize) -> bool {
        self.behaviour.quotas.get(&kind).is_none_or(|most| self.all(kind).count() + more <= *most)
    }
}

/// The text under a key: empty where there is none.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// An object as a service shows it.
pub(super) fn shown(object: &Value) -> Value {
    let keys = object.as_object().into_iter().flatten().filter(|(key, _)| !key.starts_with(HIDDEN));
    let mut shown: Map<String, Value> = keys.map(|(key, value)| (key.clone(), value.clone())).collect();
    if let Some(project) = shown.get("project_id").cloned() {
        shown.insert("tenant_id".to_owned(), project);
    }
    Value::Object(shown)
}

/// A reference to an object, as it stands in another.
pub(super) fn reference(object: &Value) -> Value {
    json!({ "id": object["id"] })
}
