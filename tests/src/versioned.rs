//! Versions of the guest `versioned`, and their cloud: machines and balancers on loopback.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::guests;

/// The mark before the words in the module, and the bytes of both.
const MARK: &[u8] = b"like this:";
const LIKE: usize = 256;

/// The bytes of a version with these words, which are explained in `tests/guests/versioned`: `version=1.1.0 sizes`.
///
/// # Panics
///
/// Panics if the guest has no room for them.
#[must_use]
pub fn version(words: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(guests::VERSIONED).expect("the guest is built");
    let places: Vec<_> = (0..bytes.len()).filter(|it| bytes[*it..].starts_with(MARK)).collect();
    let [place] = places[..] else { panic!("the mark stands {} times in the module", places.len()) };
    let room = &mut bytes[place + MARK.len()..place + LIKE];
    assert!(words.len() <= room.len(), "there is no room for {words:?}");
    room.fill(b' ');
    room[..words.len()].copy_from_slice(words.as_bytes());
    bytes
}

/// The cloud of all versions. Dropping it closes its port.
pub struct Cloud {
    address: SocketAddr,
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Account>,
    arrived: Notify,
    released: Notify,
    /// How often a request has arrived, or was carried out.
    steps: watch::Sender<usize>,
}

#[derive(Default)]
struct Account {
    machines: Vec<String>,
    /// Those among them of which the cloud says that they are new, whatever else is.
    new_machines: BTreeSet<String>,
    balancers: BTreeMap<String, Balancer>,
    /// The Services for which one was made, in this order.
    made: Vec<String>,
    /// After how many reads a balancer has its address; `None` if none gets one.
    reads: Option<usize>,
    is_new: bool,
    latency: Duration,
    requests: Vec<String>,
    /// How many requests are not answered, and how many were so at most.
    waiting: usize,
    most_waiting: usize,
    /// Those that whoever had sent them did not wait for.
    cut_off: Vec<String>,
    /// The beginning of the request that is held next.
    hold: Option<String>,
    /// Those that were carried out, each with its time and status.
    carried_out: Vec<String>,
}

struct Balancer {
    service: String,
    reads: usize,
}

impl Cloud {
    /// Starts a cloud with nothing in it, the account of which is "a".
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let router = Router::new()
            .route("/account", get(account))
            .route("/machines", get(list))
            .route("/machines/{name}", get(machine))
            .route("/balancers", get(find).post(make))
            .route("/balancers/{id}", get(balancer).delete(remove))
            .layer(middleware::from_fn_with_state(shared.clone(), record))
            .with_state(shared.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("it serves until it is dropped") });
        Self { address, shared, _server: server }
    }

    /// The endpoint `api` in a cloud configuration.
    #[must_use]
    pub fn endpoint(&self) -> Value {
        json!({
            "name": "api",
            "baseUrl": format!("http://{}", self.address),
            "allow": [
                {
                    "methods": ["GET"],
                    "paths": ["/account", "/machines", "/machines/*", "/balancers", "/balancers/*"],
                },
                { "methods": ["POST"], "paths": ["/balancers"] },
                { "methods": ["DELETE"], "paths": ["/balancers/*"] },
            ],
            "limits": { "requestsPerSecond": 1000 },
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a machine, which is called as its node.
    pub fn add_machine(&self, name: &str) {
        self.shared.state().machines.push(name.to_owned());
    }

    /// Adds a machine of which all answers say that it is new.
    pub fn add_new_machine(&self, name: &str) {
        self.add_machine(name);
        self.shared.state().new_machines.insert(name.to_owned());
    }

    /// From now on all balancers have addresses.
    pub fn finish_balancers(&self) {
        self.finish_after(0);
    }

    /// From now on balancers have their addresses once they were read so often.
    pub fn finish_after(&self, reads: usize) {
        self.shared.state().reads = Some(reads);
    }

    /// From now on all answers say that they are new.
    pub fn becomes_new(&self) {
        self.shared.state().is_new = true;
    }

    /// From now on no answer says that it is new.
    pub fn becomes_old(&self) {
        self.shared.state().is_new = false;
    }

    /// From now on a request takes so long: half of it before it is carried out, and half of it after.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.state().latency = latency;
    }

    /// How many balancers were ever made.
    #[must_use]
    pub fn made(&self) -> usize {
        self.shared.state().made.len()
    }

    /// The Services for which balancers were ever made, one for each creation, in alphabetical order.
    #[must_use]
    pub fn made_for(&self) -> Vec<String> {
        let mut made = self.shared.state().made.clone();
        made.sort();
        made
    }

    /// The Services of the balancers that are there.
    #[must_use]
    pub fn balancers(&self) -> Vec<String> {
        self.shared.state().balancers.values().map(|it| it.service.clone()).collect()
    }

    /// The requests that were cut off: whoever had sent them went away before they were answered.
    #[must_use]
    pub fn cut_off(&self) -> Vec<String> {
        self.shared.state().cut_off.clone()
    }

    /// How many requests were on their way at the same time, at most.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.state().most_waiting
    }

    /// Counts the steps from now on, of which each request makes two: it arrives, and it is carried out.
    #[must_use]
    pub fn steps(&self) -> Steps {
        Steps(self.shared.steps.subscribe())
    }

    /// All requests so far: `GET /machines?after=&limit=1`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.state().requests.clone()
    }

    /// The requests that were carried out, each with its time and status: `…T10:00:00.000Z 200 OK POST /balancers`.
    #[must_use]
    pub fn carried_out(&self) -> Vec<String> {
        self.shared.state().carried_out.clone()
    }

    /// Holds the next request that begins so, before it is answered, until [`Cloud::release`].
    pub fn hold(&self, beginning: &str) {
        self.shared.state().hold = Some(beginning.to_owned());
    }

    /// Waits until a request is held.
    pub async fn held(&self) {
        self.shared.arrived.notified().await;
    }

    /// Lets the request go on that is held.
    pub fn release(&self) {
        self.shared.released.notify_one();
    }
}

/// The steps of requests; see [`Cloud::steps`].
pub struct Steps(watch::Receiver<usize>);

impl Steps {
    /// Waits for the next step. Those that came meanwhile are one.
    pub async fn next(&mut self) {
        // An error means that the cloud is gone: nothing comes any more.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A request on its way. Dropped before it was answered, it was cut off.
struct OnItsWay<'a> {
    shared: &'a Shared,
    line: Option<String>,
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        let mut account = self.shared.state();
        account.waiting -= 1;
        account.cut_off.extend(self.line.take());
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn record(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    let (is_held, latency) = {
        let mut account = shared.state();
        let is_held = account.hold.take_if(|it| line.starts_with(it.as_str())).is_some();
        account.requests.push(line.clone());
        account.waiting += 1;
        account.most_waiting = account.most_waiting.max(account.waiting);
        (is_held, account.latency)
    };
    let mut on_its_way = OnItsWay { shared: &shared, line: Some(line) };
    shared.steps.send_modify(|it| *it += 1);
    if is_held {
        shared.arrived.notify_one();
        shared.released.notified().await;
    }
    tokio::time::sleep(latency / 2).await;
    let answer = next.run(request).await;
    let line = on_its_way.line.clone().unwrap_or_default();
    shared.state().carried_out.push(format!("{:.3} {} {line}", Timestamp::now(), answer.status()));
    shared.steps.send_modify(|it| *it += 1);
    tokio::time::sleep(latency / 2).await;
    on_its_way.line = None;
    drop(on_its_way);
    answer
}

async fn account(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({ "account": "a", "new": shared.state().is_new }))
}

#[derive(Deserialize)]
struct Part {
    after: String,
    limit: usize,
}

async fn list(State(shared): State<Arc<Shared>>, Query(Part { after, limit }): Query<Part>) -> Json<Value> {
    let account = shared.state();
    let from: usize = after.parse().unwrap_or(0);
    let page = account.machines.iter().skip(from).take(limit);
    let machines: Vec<_> = page.map(|it| account.machine(it)).collect();
    let end = from + machines.len();
    let next = (end < account.machines.len()).then(|| end.to_string());
    Json(json!({ "machines": machines, "next": next }))
}

async fn machine(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let account = shared.state();
    match account.machines.contains(&name) {
        true => Json(account.machine(&name)).into_response(),
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
struct OfService {
    service: String,
}

async fn find(State(shared): State<Arc<Shared>>, Query(OfService { service }): Query<OfService>) -> Json<Value> {
    let account = shared.state();
    let found = account.balancers.iter().filter(|(_, it)| it.service == service);
    Json(found.map(|(id, it)| account.shown(id, it)).collect())
}

async fn make(State(shared): State<Arc<Shared>>, Json(OfService { service }): Json<OfService>) -> Json<Value> {
    let mut account = shared.state();
    account.made.push(service.clone());
    let (id, made) = (format!("lb-{}", account.made.len()), Balancer { service, reads: 0 });
    let shown = account.shown(&id, &made);
    account.balancers.insert(id, made);
    Json(shown)
}

async fn balancer(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response {
    let mut account = shared.state();
    if let Some(balancer) = account.balancers.get_mut(&id) {
        balancer.reads += 1;
    }
    match account.balancers.get(&id) {
        Some(balancer) => Json(account.shown(&id, balancer)).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Account {
    /// A machine, as the cloud shows it.
    fn machine(&self, name: &str) -> Value {
        json!({ "name": name, "new": self.is_new || self.new_machines.contains(name) })
    }

    /// A balancer, as the cloud shows it.
    fn shown(&self, id: &str, balancer: &Balancer) -> Value {
        let is_ready = balancer.reads > 0 && self.reads.is_some_and(|it| balancer.reads >= it);
        json!({ "id": id, "ip": is_ready.then_some("192.0.2.1"), "new": self.is_new })
    }
}

async fn remove(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> StatusCode {
    match shared.state().balancers.remove(&id) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::NOT_FOUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_differs_in_its_words_alone() {
        let (one, other) = (version("version=1.0.0"), version("version=1.1.0 sizes"));
        assert_eq!(one, std::fs::read(guests::VERSIONED).unwrap());
        assert_eq!(one.len(), other.len());
        assert_eq!(one.iter().zip(&other).filter(|(it, other)| it != other).count(), 6, "a digit, and a word");
    }
}
