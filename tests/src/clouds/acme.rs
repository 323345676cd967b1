//! The cloud of the SDK's example: machines, and balancers that are made under a name of their own, or get an id; routes and volumes.
//!
//! It has no vendor, and no published description. A balancer has an address when it was read twice.

mod network;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{self, Answer, Cloud, Limits, Quota, Recorded, lists};

use self::network::{AcmeNetwork, ZONE};

/// A running simulator of Acme.
pub type Simulator = simulator::Simulator<Assets>;

/// After so many reads it has an address.
const READS: usize = 2;

/// An account.
#[derive(Debug, Default)]
pub struct Assets {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<String, Machine>,
    balancers: BTreeMap<String, Balancer>,
    network: AcmeNetwork,
    /// How many ids were given.
    ids: usize,
    /// How often the clock was read.
    ticks: u64,
    lists_late_by: Duration,
}

#[derive(Debug)]
struct Machine {
    runs: bool,
    /// The id from which its address is made: its own, or that of one whose address it has.
    address_of: String,
}

/// A balancer.
#[derive(Clone, Debug)]
pub struct Balancer {
    /// As its maker calls it; the same as its id where that was the maker's choice.
    pub name: String,
    /// The forwarded ports and the machines, and whatever else a request says.
    pub spec: Value,
    /// Anything that people write on it.
    pub labels: Value,
    /// Whether it cannot be deleted.
    pub protected: bool,
    made: SystemTime,
    reads: usize,
}

impl Simulator {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start() -> anyhow::Result<Simulator> {
        Simulator::serve(simulator::Options::default(), Assets::default(), Assets::default()).await
    }
}

impl Assets {
    /// Adds a machine, which runs or not, in the place of one with this id.
    pub fn add_machine(&self, id: &str, runs: bool) {
        self.lock().machines.insert(id.to_owned(), Machine { runs, address_of: id.to_owned() });
    }

    /// Adds a machine that runs with the address of another, which is gone.
    pub fn add_successor(&self, id: &str, of: &str) {
        self.lock().machines.insert(id.to_owned(), Machine { runs: true, address_of: of.to_owned() });
    }

    /// Takes a machine away.
    pub fn remove_machine(&self, id: &str) {
        self.lock().machines.remove(id);
    }

    /// From now on lists show a balancer only so long after it was made.
    pub fn lists_late_by(&self, time: Duration) {
        self.lock().lists_late_by = time;
    }

    /// All balancers by id.
    #[must_use]
    pub fn balancers(&self) -> BTreeMap<String, Balancer> {
        self.lock().balancers.clone()
    }

    /// Adds a balancer that forwards nothing, under its name.
    pub fn add_balancer(&self, name: &str) {
        let spec = json!({ "ports": {}, "machines": [] });
        self.lock().balancers.insert(name.to_owned(), Balancer::new(name, spec, json!({})));
    }

    /// Writes on a balancer. Returns whether there is one with this id.
    pub fn label(&self, id: &str, key: &str, value: &str) -> bool {
        let mut state = self.lock();
        let found = state.balancers.get_mut(id);
        found.map(|it| it.labels[key] = json!(value)).is_some()
    }

    /// Protects a balancer from its deletion, or does not any more. Returns whether there is one with this id.
    pub fn protect(&self, id: &str, protected: bool) -> bool {
        self.lock().balancers.get_mut(id).map(|it| it.protected = protected).is_some()
    }

    /// All routes by id: destination, machine and labels.
    #[must_use]
    pub fn routes(&self) -> BTreeMap<String, Value> {
        self.lock().network.routes.clone()
    }

    /// Adds a route that leads to no machine, with another cluster's mark, and returns its id.
    pub fn add_foreign_route(&self, destination: &str) -> String {
        let route = json!({ "destination": destination, "machine": null, "labels": { "cluster": "somebody" } });
        self.lock().network.add_route(route)
    }

    /// Adds a volume in the zone of all machines, and returns its handle.
    pub fn add_volume(&self) -> String {
        self.lock().network.add_volume()
    }

    /// Takes a volume away.
    pub fn remove_volume(&self, handle: &str) {
        self.lock().network.volumes.remove(handle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Balancer {
    fn new(name: &str, spec: Value, labels: Value) -> Balancer {
        Balancer { name: name.to_owned(), spec, labels, protected: false, made: SystemTime::now(), reads: 0 }
    }

    fn object(&self, id: &str) -> Value {
        let [.., last] = id.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)).to_be_bytes();
        let ip = (self.reads >= READS).then(|| format!("203.0.113.{last}"));
        let Balancer { name, spec, labels, protected, .. } = self;
        json!({ "id": id, "name": name, "spec": spec, "labels": labels, "ip": ip, "protected": protected })
    }
}

impl State {
    fn machine(&self, id: &str) -> Option<Value> {
        let Machine { runs, address_of } = self.machines.get(id)?;
        let [.., last] =
            address_of.bytes().fold(3_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)).to_be_bytes();
        Some(json!({ "id": id, "running": runs, "size": "small", "zone": ZONE, "ip": format!("10.0.0.{last}") }))
    }

    fn machines(&self, query: &[(String, String)]) -> Answer {
        let number = |name: &str| query.iter().find(|(it, _)| it == name).and_then(|(_, it)| it.parse().ok());
        let (after, limit) = (number("after").unwrap_or(0), number("limit").unwrap_or(10));
        let page: Vec<_> = self.machines.keys().skip(after).take(limit).filter_map(|it| self.machine(it)).collect();
        let end = after + page.len();
        let next = (end < self.machines.len()).then(|| end.to_string());
        Answer::ok(&json!({ "machines": page, "next": next }))
    }

    fn balancers(&self) -> Answer {
        let shown = self.balancers.iter().filter(|(_, it)| lists::shows(it.made, self.lists_late_by));
        Answer::ok(&json!({ "balancers": shown.map(|(id, it)| it.object(id)).collect::<Vec<_>>() }))
    }

    fn balancer(&mut self, id: &str) -> Answer {
        let Some(balancer) = self.balancers.get_mut(id) else { return Assets::error(StatusCode::NOT_FOUND) };
        balancer.reads += 1;
        Answer::ok(&balancer.object(id))
    }

    /// Replaces a balancer. Labels that the body leaves out are gone; without any they stay.
    fn put(&mut self, id: &str, body: &[u8]) -> Answer {
        let Ok(Value::Object(mut spec)) = serde_json::from_slice(body) else {
            return Assets::error(StatusCode::BAD_REQUEST);
        };
        let (labels, name) = (spec.remove("labels"), spec.remove("name"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or(id);
        let balancer = self.balancers.entry(id.to_owned()).or_insert_with(|| Balancer::new(name, json!({}), json!({})));
        balancer.spec = Value::Object(spec);
        if let Some(labels) = labels {
            balancer.labels = labels;
        }
        Answer::ok(&balancer.object(id))
    }
}

impl Cloud for Assets {
    const NAME: &'static str = "Acme";
    const HOSTS: &'static [&'static str] = &["api.acme.example"];
    const LIMITS: Limits = Limits::Windows { per_hour: 1_000_000, per_minute: 1_000_000 };
    /// There is no token.
    const JUDGES: bool = true;

    fn act(&self, request: &Recorded) -> Answer {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        let mut state = self.lock();
        match (&request.method, path.as_slice()) {
            (&Method::GET, ["v1", "clock"]) => {
                state.ticks += 1;
                Answer::ok(&json!({ "ticks": state.ticks }))
            }
            (&Method::GET, ["v1", "machines"]) => state.machines(&request.query),
            (&Method::GET, ["v1", "machines", id]) => {
                state.machine(id).map_or_else(|| Assets::error(StatusCode::NOT_FOUND), |it| Answer::ok(&it))
            }
            (&Method::GET, ["v1", "balancers"]) => state.balancers(),
            (&Method::POST, ["v1", "balancers"]) => {
                state.ids += 1;
                let id = format!("lb-{}", state.ids);
                state.put(&id, &request.body)
            }
            (&Method::GET, ["v1", "balancers", id]) => state.balancer(id),
            (&Method::PUT, ["v1", "balancers", id]) => state.put(id, &request.body),
            (&Method::DELETE, ["v1", "balancers", id]) if state.balancers.get(*id).is_some_and(|it| it.protected) => {
                Assets::error(StatusCode::LOCKED)
            }
            (&Method::DELETE, ["v1", "balancers", id]) => match state.balancers.remove(*id) {
                Some(_) => Answer::no_content(),
                None => Assets::error(StatusCode::NOT_FOUND),
            },
            (&Method::GET, ["v1", "routes"]) => state.network.page(&request.query),
            (&Method::POST, ["v1", "routes"]) => state.network.make(&request.body),
            (&Method::PUT, ["v1", "routes", id]) => state.network.replace(id, &request.body),
            (&Method::DELETE, ["v1", "routes", id]) => state.network.delete(id),
            (&Method::GET, ["v1", "volumes", id]) => state.network.volume(id),
            _ => Assets::error(StatusCode::NOT_FOUND),
        }
    }

    fn error(status: StatusCode) -> Answer {
        Answer::json(status, &json!({ "error": status.canonical_reason() }))
    }

    fn empty_list(request: &Recorded) -> Answer {
        match request.path.rsplit('/').next() {
            Some(list @ ("machines" | "routes")) => Answer::ok(&json!({ list: [], "next": null })),
            _ => Answer::ok(&json!({ "balancers": [] })),
        }
    }

    fn show_quota(_: &mut Answer, _: &Quota) {}
}
