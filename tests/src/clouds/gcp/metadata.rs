//! The metadata server of a machine ("About VM metadata" of the Compute Engine documentation), as far as it gives tokens: over plain HTTP,
//! at a port of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::identity::Accounts;

/// The header by which client and server know each other.
const FLAVOR: (&str, &str) = ("metadata-flavor", "Google");

/// A metadata server. Dropping it closes its port.
#[derive(Debug)]
pub struct MetadataServer {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl MetadataServer {
    /// Gives tokens of the machine's service account.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start(accounts: Arc<Accounts>) -> MetadataServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let token = "/computeMetadata/v1/instance/service-accounts/default/token";
        let router = Router::new().route(token, get(give)).with_state(accounts);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("a listener goes on") });
        MetadataServer { address, _server: server }
    }

    /// Where it is: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn give(
    State(accounts): State<Arc<Accounts>>,
    headers: HeaderMap,
) -> Result<([(&'static str, &'static str); 2], String), StatusCode> {
    if headers.get(FLAVOR.0).is_none_or(|it| it != FLAVOR.1) {
        return Err(StatusCode::FORBIDDEN);
    }
    Ok(([FLAVOR, ("content-type", "application/json")], accounts.of_machine().to_string()))
}
