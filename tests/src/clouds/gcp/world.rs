//! Everything that exists in the projects of a simulator, and when.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::simulator::{CloudClock, Settles};

use super::behaviour::Behaviour;
use super::collection::Collection;
use super::ongoing::{Ongoing, Stored};
use super::place::{self, Place, Scope, link, path_of};

/// The keys of resources that begin so are the simulator's own, and no answer shows them.
pub(super) const HIDDEN: char = '_';

/// Everything that exists. Operations whose time has come end at the next request.
#[derive(Debug)]
pub struct World {
    /// How the API behaves.
    pub behaviour: Behaviour,
    /// Projects by id, with their numbers.
    pub(super) projects: BTreeMap<String, u64>,
    /// Regions with the letters of their zones.
    pub(super) regions: BTreeMap<String, Vec<String>>,
    /// Resources by path.
    resources: BTreeMap<String, Stored>,
    /// Resources that have gone, as they were last.
    gone: BTreeMap<String, Value>,
    /// Operations by path.
    pub(super) operations: BTreeMap<String, Ongoing>,
    /// The operation that a request with this id began.
    pub(super) asked: BTreeMap<String, (String, String)>,
    /// Counts ids and fingerprints.
    count: u64,
    /// Counts external addresses.
    pub(super) external: u32,
    /// Counts internal addresses.
    pub(super) internal: u32,
    clock: CloudClock,
}

impl Settles for World {
    fn settle(&mut self) {
        self.end_due();
    }
}

impl World {
    /// A cloud without any project.
    pub(super) fn new(behaviour: Behaviour) -> World {
        World {
            behaviour,
            projects: BTreeMap::new(),
            regions: BTreeMap::new(),
            resources: BTreeMap::new(),
            gone: BTreeMap::new(),
            operations: BTreeMap::new(),
            asked: BTreeMap::new(),
            count: 0,
            external: 0,
            internal: 0,
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

    /// Adds a project. A number is never given again.
    pub fn add_project(&mut self, id: &str) {
        let number = 424_242_000_000 + self.next();
        self.projects.insert(id.to_owned(), number);
    }

    /// Adds a region with zones of these letters.
    pub fn add_region(&mut self, name: &str, zones: &[&str]) {
        self.regions.insert(name.to_owned(), zones.iter().map(|it| format!("{name}-{it}")).collect());
    }

    /// Adds a resource as the API would store it, with its defaults and links, done already. Answers its path.
    pub fn insert(&mut self, place: &Place, collection: Collection, mut body: Value) -> String {
        let name = text(&body, "name").to_owned();
        let path = place.path(collection, &name);
        body["kind"] = json!(format!("compute#{}", collection.one()));
        body["selfLink"] = json!(link(&path));
        if !body["id"].is_string() {
            body["id"] = json!(self.number());
        }
        body["creationTimestamp"] = self.stamp();
        let here = link(place.to_string().as_str());
        match &place.scope {
            Scope::Global => {}
            Scope::Region(_) => body["region"] = json!(here),
            Scope::Zone(_) => body["zone"] = json!(here),
        }
        let made = self.time();
        self.resources.insert(path.clone(), Stored { body, made });
        self.mark(&path);
        path
    }

    /// One resource by its path, with the simulator's own keys.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.resources.get(path).map(|it| &it.body)
    }

    /// One resource, for a change that no operation tells of.
    pub fn get_mut(&mut self, path: &str) -> Option<&mut Value> {
        self.resources.get_mut(path).map(|it| &mut it.body)
    }

    /// When a resource came to be.
    pub(super) fn made(&self, path: &str) -> Option<SystemTime> {
        self.resources.get(path).map(|it| it.made)
    }

    /// Takes a resource away. A machine leaves its groups.
    pub fn remove(&mut self, path: &str) -> Option<Value> {
        let gone = self.resources.remove(path)?.body;
        self.gone.insert(path.to_owned(), gone.clone());
        if Collection::of(path) == Some(Collection::Instances) {
            for group in self.paths(|_, it| it["_members"].is_array()) {
                if let Some(members) = self.get_mut(&group).and_then(|it| it["_members"].as_array_mut()) {
                    members.retain(|it| it.as_str().map(path_of) != Some(path));
                }
            }
        }
        Some(gone)
    }

    /// Puts a resource back as it was, or takes away what was not there.
    pub(super) fn restore(&mut self, path: &str, earlier: Option<Stored>) {
        match earlier {
            Some(earlier) => drop(self.resources.insert(path.to_owned(), earlier)),
            None => drop(self.resources.remove(path)),
        }
    }

    pub(super) fn stored(&self, path: &str) -> Option<Stored> {
        self.resources.get(path).cloned()
    }

    /// All resources of a collection by path, in all projects.
    pub fn all(&self, collection: Collection) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.resources.iter().map(|(path, it)| (path.as_str(), &it.body));
        all.filter(move |(path, _)| Collection::of(path) == Some(collection))
    }

    /// All resources of a collection in one place, by path.
    pub(super) fn within(&self, place: &Place, collection: Collection) -> impl Iterator<Item = (&str, &Stored)> {
        let prefix = place.path(collection, "");
        let all = self.resources.range(prefix.clone()..);
        all.take_while(move |(path, _)| path.starts_with(&prefix)).map(|(path, it)| (path.as_str(), it))
    }

    /// The paths of all resources of which something is so.
    pub(super) fn paths(&self, which: impl Fn(&str, &Value) -> bool) -> Vec<String> {
        self.resources.iter().filter(|(path, it)| which(path, &it.body)).map(|(path, _)| path.clone()).collect()
    }

    /// All resources of a collection that there are, and then those that there were.
    pub fn all_ever(&self, collection: Collection) -> impl Iterator<Item = &Value> {
        let gone = self.gone.iter().filter(move |(path, _)| Collection::of(path) == Some(collection));
        self.all(collection).map(|(_, it)| it).chain(gone.map(|(_, it)| it))
    }

    /// Gives a changed resource new fingerprints, where it has some.
    pub(super) fn mark(&mut self, path: &str) {
        let Some(collection) = Collection::of(path) else { return };
        let (own, labels, tags) = (self.fingerprint(), self.fingerprint(), self.fingerprint());
        let Some(body) = self.get_mut(path) else { return };
        if collection.has_fingerprint() {
            body["fingerprint"] = json!(own);
        }
        if collection.has_labels() {
            body["labelFingerprint"] = json!(labels);
        }
        if collection == Collection::Instances {
            body["tags"]["fingerprint"] = json!(tags);
        }
    }

    /// The place of a zone's region.
    pub(super) fn region_of(&self, zone: &str) -> Option<&str> {
        let found = self.regions.iter().find(|(_, zones)| zones.iter().any(|it| it == zone));
        found.map(|(region, _)| region.as_str())
    }

    /// Whether there is such a place.
    pub(super) fn has(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Global => true,
            Scope::Region(name) => self.regions.contains_key(name),
            Scope::Zone(name) => self.region_of(name).is_some(),
        }
    }

    /// The time as Compute Engine writes it.
    pub(super) fn stamp(&self) -> Value {
        json!(self.clock.stamp("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }

    /// A number that nothing else has.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The id of something new: a number, as text.
    pub(super) fn number(&mut self) -> String {
        (4_000_000_000_000_000_000 + self.next()).to_string()
    }

    fn fingerprint(&mut self) -> String {
        let count = self.next();
        BASE64_STANDARD.encode(count.to_be_bytes())
    }
}

/// The text under a key: empty where there is none.
pub(super) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

/// The texts under a key.
pub(super) fn texts<'a>(body: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    body[key].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The path that a field leads to.
pub(super) fn target<'a>(body: &'a Value, key: &str) -> &'a str {
    place::path_of(text(body, key))
}
