//! The cloud of the guest `scripted`: what a test says, asked over HTTP on loopback, and who asked for what.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A running script. Dropping it closes its port.
#[derive(Debug)]
pub struct Script {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _server: JoinSet<()>,
}

/// What the cloud says about the machine of one node.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// With the prefix `fakecloud://`; empty if the cloud has none.
    pub provider_id: String,
    /// Empty if the cloud does not say; so for zone and region.
    pub machine_type: String,
    /// The zone.
    pub zone: String,
    /// The region.
    pub region: String,
    /// Pairs of type, as in `InternalIP`, and address.
    pub addresses: Vec<(String, String)>,
    /// Further node labels.
    pub labels: Vec<(String, String)>,
    /// How long each answer takes.
    pub delay: Duration,
    /// What is answered instead.
    pub failure: Option<Failure>,
}

/// What is answered instead of a machine. A list leaves such a machine out.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// How many questions about the node; `None` for all.
    pub count: Option<u32>,
}

/// An error of the cloud.
#[derive(Clone, Debug)]
pub enum Error {
    /// There is no such machine, for certain.
    NotFound,
    /// Something is wrong: this.
    Unavailable(String),
    /// Come back later, because of this.
    RetryAfter(Duration, String),
}

/// A question that was asked.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it came.
    pub time: Instant,
    /// What was asked.
    pub question: Question,
}

/// What was asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Question {
    /// About the machine of a node.
    Get {
        /// The node's name.
        node: String,
        /// The node's provider id; empty if it has none.
        provider_id: String,
    },
    /// For a page of all machines. Where `after` is empty, a sweep begins.
    List {
        /// The last name of the page before.
        after: String,
    },
}

#[derive(Debug, Default)]
struct Shared {
    machines: BTreeMap<String, Machine>,
    calls: Vec<Call>,
}

impl Script {
    /// Starts a cloud without machines.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start() -> Script {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let router =
            Router::new().route("/machines", get(list)).route("/machines/{name}", get(one)).with_state(shared.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("it serves until it is dropped") });
        Script { address, shared, _server: server }
    }

    /// The base URL of the endpoint `script`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the cloud says about the machine of a node from now on.
    pub fn set(&self, node: &str, machine: Machine) {
        lock(&self.shared).machines.insert(node.to_owned(), machine);
    }

    /// Takes the machine of a node away.
    pub fn remove(&self, node: &str) {
        lock(&self.shared).machines.remove(node);
    }

    /// All questions until now, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared).calls.clone()
    }
}

impl Shared {
    fn ask(&mut self, question: Question) {
        self.calls.push(Call { time: Instant::now(), question });
    }
}

impl Failure {
    /// An error for all questions.
    #[must_use]
    pub fn always(error: Error) -> Failure {
        Failure { error, count: None }
    }

    fn holds(&self) -> bool {
        self.count != Some(0)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Who {
    #[serde(rename = "providerID")]
    provider_id: String,
}

async fn one(State(shared): State<Arc<Mutex<Shared>>>, Path(node): Path<String>, Query(who): Query<Who>) -> Response {
    let (delay, answer) = {
        let mut shared = lock(&shared);
        shared.ask(Question::Get { node: node.clone(), provider_id: who.provider_id });
        match shared.machines.get_mut(&node) {
            Some(machine) => (machine.delay, answer(&node, machine)),
            None => (Duration::ZERO, None),
        }
    };
    tokio::time::sleep(delay).await;
    match answer {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
struct Part {
    after: String,
    limit: usize,
}

async fn list(State(shared): State<Arc<Mutex<Shared>>>, Query(part): Query<Part>) -> Json<Value> {
    let (delay, machines, next) = {
        let mut shared = lock(&shared);
        let mut rest = shared
            .machines
            .iter()
            .filter(|(name, _)| **name > part.after)
            .filter(|(_, machine)| !machine.failure.as_ref().is_some_and(Failure::holds));
        let page: Vec<_> = rest.by_ref().take(part.limit).collect();
        let next = rest.next().and(page.last()).map(|(name, _)| (*name).clone());
        let delay = page.iter().map(|(_, machine)| machine.delay).max().unwrap_or_default();
        let machines: Vec<_> = page.into_iter().map(|(name, machine)| fields(name, machine)).collect();
        shared.ask(Question::List { after: part.after });
        (delay, machines, next)
    };
    tokio::time::sleep(delay).await;
    Json(json!({ "machines": machines, "next": next }))
}

/// What a question about one machine is answered; `None` if there is none.
fn answer(node: &str, machine: &mut Machine) -> Option<Value> {
    let Some(failure) = machine.failure.as_mut().filter(|it| it.holds()) else {
        return Some(json!({ "machine": fields(node, machine) }));
    };
    failure.count = failure.count.map(|count| count - 1);
    match &failure.error {
        Error::NotFound => None,
        Error::Unavailable(text) => Some(json!({ "unavailable": { "text": text } })),
        Error::RetryAfter(after, text) => {
            let milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            Some(json!({ "retryAfter": { "text": text, "milliseconds": milliseconds } }))
        }
    }
}

fn fields(node: &str, machine: &Machine) -> Value {
    let addresses: Vec<_> =
        machine.addresses.iter().map(|(kind, address)| json!({ "type": kind, "address": address })).collect();
    json!({
        "name": node,
        "providerID": machine.provider_id,
        "type": machine.machine_type,
        "zone": machine.zone,
        "region": machine.region,
        "addresses": addresses,
        "labels": machine.labels,
    })
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(machines: impl IntoIterator<Item = (&'static str, Option<Failure>)>) -> Arc<Mutex<Shared>> {
        let machines = machines
            .into_iter()
            .map(|(node, failure)| (node.to_owned(), Machine { failure, ..Machine::default() }))
            .collect();
        Arc::new(Mutex::new(Shared { machines, calls: Vec::new() }))
    }

    async fn page(cloud: &Arc<Mutex<Shared>>, after: &str) -> Value {
        let part = Part { after: after.to_owned(), limit: 2 };
        list(State(cloud.clone()), Query(part)).await.0
    }

    #[tokio::test]
    async fn a_list_comes_in_pages_without_machines_that_fail() {
        let failure = Failure::always(Error::NotFound);
        let cloud = cloud([("n1", None), ("n2", Some(failure)), ("n3", None), ("n4", None)]);
        let first = page(&cloud, "").await;
        assert_eq!((&first["machines"][0]["name"], &first["machines"][1]["name"]), (&json!("n1"), &json!("n3")));
        assert_eq!(first["next"], "n3");
        let second = page(&cloud, "n3").await;
        assert_eq!((&second["machines"][0]["name"], &second["next"]), (&json!("n4"), &Value::Null));
        let questions: Vec<_> = lock(&cloud).calls.iter().map(|call| call.question.clone()).collect();
        let expected = ["", "n3"].map(|after| Question::List { after: after.to_owned() });
        assert_eq!(questions, expected);
    }

    #[test]
    fn a_failure_that_is_counted_passes() {
        let error = Error::Unavailable("down".to_owned());
        let mut machine = Machine { failure: Some(Failure { error, count: Some(2) }), ..Machine::default() };
        for _ in 0..2 {
            assert_eq!(answer("n1", &mut machine), Some(json!({ "unavailable": { "text": "down" } })));
        }
        assert_eq!(answer("n1", &mut machine).unwrap()["machine"]["name"], "n1");
    }
}
