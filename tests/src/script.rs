//! The cloud of the guest `scripted`: what a test says, asked over HTTP on loopback, and who asked for what.

mod failure;
mod load_balancer;
mod load_balancers;
mod machine;
mod machines;
mod place;
mod state;
mod volumes;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::routing::{get, put};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::failure::{Error, Failure};
pub use self::load_balancer::{Ingress, LoadBalancer};
pub use self::machine::Machine;
pub use self::place::Place;
pub use self::state::{Call, Question};

use self::state::{Shared, lock};

/// A running script. Dropping it closes its port.
#[derive(Debug)]
pub struct Script {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _server: JoinSet<()>,
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
            .route("/volumes/{handle}", get(volumes::get))
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

    /// Where a volume is from now on, by its handle. Of others the cloud says that there are none.
    pub fn set_volume(&self, handle: &str, place: Place) {
        lock(&self.shared).volumes.insert(handle.to_owned(), place);
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
