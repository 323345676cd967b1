//! The cloud of the guests `scripted` and `scripted_network`: what a test says, asked over HTTP on loopback, and who asked for what.

mod failure;
mod hold;
mod load_balancer;
mod load_balancers;
mod machine;
mod machines;
mod place;
mod route_table;
mod routes;
mod state;
mod volumes;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, put};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::failure::{Error, Failure};
pub use self::hold::{Hold, Side};
pub use self::load_balancer::{Ingress, LoadBalancer};
pub use self::machine::Machine;
pub use self::place::Place;
pub use self::route_table::Route;
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
            .route("/routes", get(routes::list).post(routes::apply))
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

    /// The cloud's word on the machine of a node from now on.
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

    /// The cloud's word on the load balancer of a Service, as in `default/web`, from now on.
    pub fn set_load_balancer(&self, service: &str, load_balancer: LoadBalancer) {
        lock(&self.shared).load_balancers.insert(service.to_owned(), load_balancer);
    }

    /// Lets the cloud say about the load balancer of a Service what it says about all that were never named.
    pub fn forget_load_balancer(&self, service: &str) {
        lock(&self.shared).load_balancers.remove(service);
    }

    /// From now on the cloud has these routes, and no others.
    pub fn set_routes(&self, routes: impl IntoIterator<Item = Route>) {
        lock(&self.shared).routes.routes = routes.into_iter().collect();
    }

    /// The routes of the cloud, in order of their destinations.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        let mut routes = lock(&self.shared).routes.routes.clone();
        routes.sort();
        routes
    }

    /// From now on a page of routes takes so long.
    pub fn set_route_list_time(&self, takes: Duration) {
        lock(&self.shared).routes.list_takes = takes;
    }

    /// The cloud's answer to lists of routes from now on: HTTP 500, whatever the failure says. `None`: the routes.
    pub fn set_route_list_failure(&self, failure: Option<Failure>) {
        lock(&self.shared).routes.list_failure = failure;
    }

    /// The cloud's answer to changes of this destination from now on.
    pub fn set_route_failure(&self, destination: &str, failure: Failure) {
        lock(&self.shared).routes.failures.insert(destination.to_owned(), failure);
    }

    /// Holds the nth request about routes from now on, and no other. It gets no answer.
    #[must_use]
    pub fn hold_routes(&self, nth: usize, side: Side) -> Hold {
        let (hold, held) = hold::nth(nth, side);
        lock(&self.shared).routes.held = Some(held);
        hold
    }

    /// All questions until now, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared).calls.clone()
    }
}
