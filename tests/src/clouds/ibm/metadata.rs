//! The metadata service of a machine, as far as it gives tokens: over plain HTTP, at a port of its own, at the paths of both versions.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::{post, put};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::iam::Iam;
use super::region::ACCOUNT;

/// For how long a token of the machine is good, at most, in seconds.
const LONGEST: u64 = 3_600;

/// A metadata service. Dropping it closes its port.
#[derive(Debug)]
pub struct IbmMetadata {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl IbmMetadata {
    /// Gives tokens of the machine's trusted profile; `older` has the paths of before August 2025 alone.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start(iam: Arc<Iam>, older: bool) -> IbmMetadata {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let paths = match older {
            true => ["/instance_identity/v1/token", "/instance_identity/v1/iam_token"],
            false => ["/identity/v1/token", "/identity/v1/iam_tokens"],
        };
        let router = Router::new().route(paths[0], put(own)).route(paths[1], post(of_iam)).with_state(iam);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("a listener goes on") });
        IbmMetadata { address, _server: server }
    }

    /// Where it is: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn own(State(iam): State<Arc<Iam>>, headers: HeaderMap, Json(body): Json<Value>) -> axum::response::Response {
    let has_flavor = headers.get("metadata-flavor").is_some_and(|it| it == "ibm");
    match body["expires_in"].as_u64() {
        Some(seconds) if has_flavor && (5..=LONGEST).contains(&seconds) => {
            (StatusCode::OK, Json(iam.of_machine(seconds))).into_response()
        }
        _ => refused(StatusCode::BAD_REQUEST, "bad_request"),
    }
}

async fn of_iam(State(iam): State<Arc<Iam>>, request: Request) -> axum::response::Response {
    let token = request.headers().get("authorization").and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
    match token.and_then(|it| iam.for_machine(it, ACCOUNT)) {
        Some(given) => (StatusCode::OK, Json(given)).into_response(),
        None => refused(StatusCode::UNAUTHORIZED, "not_authorized"),
    }
}

fn refused(status: StatusCode, code: &str) -> axum::response::Response {
    (status, Json(json!({ "errors": [{ "code": code, "message": "No." }], "trace": "1" }))).into_response()
}
