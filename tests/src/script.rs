//! The cloud of the guest `scripted`: what a test says, asked over HTTP on loopback, and who asked for what.

mod load_balancers;
mod machines;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{get, put};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::load_balancers::{Ingress, LoadBalancer};
pub use self::machines::Machine;

/// A running script. Dropping it closes its port.
#[derive(Debug)]
pub struct Script {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _server: JoinSet<()>,
}

/// What is answered instead.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// How many questions; `None` for all.
    pub count: Option<u32>,
}

/// An error of the cloud.
#[derive(Clone, Debug)]
pub enum Error {
    /// There is no such machine, for certain; what shall be deleted is gone.
    NotFound,
    /// Something is wrong: this.
    Unavailable(String),
    /// Come back later, because of this.
    RetryAfter(Duration, String),
    /// Somebody else serves this Service. No error for machines.
    Elsewhere,
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
    /// For a page of all machines. Where `after` is empty, the list begins.
    List {
        /// The last name of the page before.
        after: String,
    },
    /// For a load balancer.
    Ensure {
        /// Namespace and name, as in `default/web`.
        service: String,
        /// `--cluster-name`.
        cluster: String,
        /// The names of the nodes, in order.
        nodes: Vec<String>,
    },
    /// For the absence of a load balancer.
    Delete {
        /// As in `default/web`.
        service: String,
    },
}

#[derive(Debug, Default)]
struct Shared {
    machines: BTreeMap<String, Machine>,
    load_balancers: BTreeMap<String, LoadBalancer>,
    /// The last desired state of each load balancer, by Service.
    desired: BTreeMap<String, load_balancers::Desired>,
    calls: Vec<Call>,
}

impl Script {
    /// Starts a cloud without machines. Load balancers are at 192.0.2.1 unless it is said otherwise.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start() -> Script {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let load_balancer = put(load_balancers::ensure).delete(load_balancers::delete);
        let router = Router::new()
            .route("/machines", get(machines::list))
            .route("/machines/{name}", get(machines::get))
            .route("/load-balancers/{namespace}/{name}", load_balancer)
            .with_state(shared.clone());
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

    /// What the cloud says about the load balancer of a Service, as in `default/web`, from now on.
    pub fn set_load_balancer(&self, service: &str, load_balancer: LoadBalancer) {
        lock(&self.shared).load_balancers.insert(service.to_owned(), load_balancer);
    }

    /// Lets the cloud say about the load balancer of a Service what it says about all that were never named.
    pub fn forget_load_balancer(&self, service: &str) {
        lock(&self.shared).load_balancers.remove(service);
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

    /// The error for the next question, which is counted.
    fn next(&mut self) -> Option<Error> {
        self.holds().then(|| {
            self.count = self.count.map(|count| count - 1);
            self.error.clone()
        })
    }
}

impl Error {
    /// As the guest reads it; `None` for what has no words.
    fn words(&self) -> Option<Value> {
        match self {
            Error::NotFound => None,
            Error::Unavailable(text) => Some(json!({ "unavailable": { "text": text } })),
            Error::RetryAfter(after, text) => {
                let milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                Some(json!({ "retryAfter": { "text": text, "milliseconds": milliseconds } }))
            }
            Error::Elsewhere => Some(json!("elsewhere")),
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
