//! Everything that exists in an account, and when.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::simulator::{CloudClock, End, Settles, Taking};

use super::behaviour::Behaviour;
use super::kind::VpcKind;
use super::values::text;

/// Everything that exists. Changes whose time has come end at the next request.
#[derive(Debug)]
pub struct World {
    /// How the API behaves.
    pub behaviour: Behaviour,
    /// The account.
    pub(super) account: String,
    /// Objects by id.
    objects: BTreeMap<String, Stored>,
    /// Changes of load balancers, and deletions of entries of routing tables, that go on, by id.
    pending: BTreeMap<String, Pending>,
    /// Counts ids, public addresses and revisions.
    count: u64,
    clock: CloudClock,
}

#[derive(Debug)]
struct Stored {
    kind: VpcKind,
    body: Value,
    made: SystemTime,
    /// Its place in lists.
    number: u64,
}

#[derive(Debug)]
struct Pending {
    end: End,
    fails: bool,
}

impl Settles for World {
    fn settle(&mut self) {
        self.end_due();
    }
}

impl World {
    /// An account with nothing in it.
    pub(super) fn new(behaviour: Behaviour, account: &str) -> World {
        World {
            behaviour,
            account: account.to_owned(),
            objects: BTreeMap::new(),
            pending: BTreeMap::new(),
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

    /// One object by its id, in the simulator's own words.
    #[must_use]
    pub fn get(&self, kind: VpcKind, id: &str) -> Option<&Value> {
        self.objects.get(id).filter(|it| it.kind == kind).map(|it| &it.body)
    }

    /// One object, for a change that no request asks for.
    pub fn get_mut(&mut self, kind: VpcKind, id: &str) -> Option<&mut Value> {
        self.objects.get_mut(id).filter(|it| it.kind == kind).map(|it| &mut it.body)
    }

    /// All objects of a kind, in the order in which they were made.
    pub fn all(&self, kind: VpcKind) -> impl Iterator<Item = &Value> {
        let mut all: Vec<&Stored> = self.objects.values().filter(|it| it.kind == kind).collect();
        all.sort_by_key(|it| it.number);
        all.into_iter().map(|it| &it.body)
    }

    /// All objects of a kind whose field has this value.
    pub(super) fn of(&self, kind: VpcKind, field: &str, value: &str) -> Vec<&Value> {
        self.all(kind).filter(|it| text(it, field) == value).collect()
    }

    /// Adds an object, under the id that it has or under a new one. Answers the id.
    pub fn insert(&mut self, kind: VpcKind, mut body: Value) -> String {
        let number = self.next();
        if !body["id"].is_string() {
            body["id"] = json!(format!("r006-{number:08x}-5a5a-4a5a-8a5a-{number:012x}"));
        }
        let id = text(&body, "id").to_owned();
        body["_stamp"] = json!(self.clock.stamp("%Y-%m-%dT%H:%M:%S%.3fZ"));
        let made = self.time();
        self.objects.insert(id.clone(), Stored { kind, body, made, number });
        id
    }

    /// Takes an object away.
    pub fn remove(&mut self, id: &str) -> Option<Value> {
        self.objects.remove(id).map(|it| it.body)
    }

    /// Takes a load balancer away with all its parts.
    pub fn take_away(&mut self, balancer: &str) {
        self.pending.remove(balancer);
        self.objects.retain(|id, it| id != balancer && text(&it.body, "balancer") != balancer);
    }

    /// Whether a list shows an object already.
    pub(super) fn is_listed(&self, it: &Value) -> bool {
        let late = self.behaviour.lists_late_by;
        self.objects.get(text(it, "id")).is_none_or(|it| it.made + late <= self.time())
    }

    /// A number that nothing else has.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Whether no change of a load balancer, and no deletion of a route, goes on.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.pending.is_empty()
    }

    /// Begins a change of a load balancer.
    pub(super) fn begin(&mut self, balancer: &str, status: &str, taking: Taking) {
        let end = taking.begun(self.time());
        let fails = self.behaviour.creations_fail && status == "create_pending";
        let revision = self.next();
        if let Some(it) = self.get_mut(VpcKind::LoadBalancer, balancer) {
            it["provisioning_status"] = json!(status);
            it["_revision"] = json!(revision);
        }
        self.pending.insert(balancer.to_owned(), Pending { end, fails });
    }

    /// Begins the deletion of an entry of a routing table: it is shown until it ends.
    pub(super) fn begin_route_deletion(&mut self, route: &str) {
        let end = self.behaviour.route_deletion.begun(self.time());
        if let Some(it) = self.get_mut(VpcKind::Route, route) {
            it["lifecycle"] = json!("deleting");
        }
        self.pending.insert(route.to_owned(), Pending { end, fails: false });
    }

    /// Counts that a load balancer, or an entry of a routing table, was read.
    pub(super) fn count_read(&mut self, id: &str) {
        if let Some(it) = self.pending.get_mut(id) {
            it.end.count_read();
        }
    }

    /// Ends what ends by now.
    fn end_due(&mut self) {
        let now = self.time();
        let due: Vec<String> =
            self.pending.iter().filter(|(_, it)| it.end.is_due(now)).map(|(id, _)| id.clone()).collect();
        for id in due {
            let Some(Pending { fails, .. }) = self.pending.remove(&id) else { continue };
            if self.get(VpcKind::Route, &id).is_some() {
                self.remove(&id);
                continue;
            }
            let Some(it) = self.get_mut(VpcKind::LoadBalancer, &id) else { continue };
            if text(it, "provisioning_status") == "delete_pending" {
                self.take_away(&id);
                continue;
            }
            it["provisioning_status"] = json!(if fails { "failed" } else { "active" });
            it["operating_status"] = json!(if fails { "offline" } else { "online" });
        }
    }
}
