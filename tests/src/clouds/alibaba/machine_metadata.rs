//! The metadata service of a machine, version 2, as far as it gives keys of its role: over plain HTTP, at a port of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::IntoResponse as _;
use axum::response::Response;
use axum::routing::{get, put};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::ram::{Ram, stamp};

/// The role of the machine.
const ROLE_NAME: &str = "aerostat-node";
/// The token that a request for keys has to bring.
const TOKEN: &str = "token-of-the-metadata-service";
/// For how long such a token is good, at most, in seconds.
const LONGEST: u64 = 21_600;

/// A metadata service. Dropping it closes its port.
#[derive(Debug)]
pub struct EcsMetadata {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl EcsMetadata {
    /// Gives keys of the machine's role.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start(ram: Arc<Ram>) -> EcsMetadata {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let router = Router::new()
            .route("/latest/api/token", put(token))
            .route("/latest/meta-data/ram/security-credentials/", get(role))
            .route("/latest/meta-data/ram/security-credentials/{role}", get(keys))
            .with_state(ram);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("a listener goes on") });
        EcsMetadata { address, _server: server }
    }

    /// Where it is: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn token(headers: HeaderMap) -> Response {
    let seconds = headers.get("x-aliyun-ecs-metadata-token-ttl-seconds").and_then(|it| it.to_str().ok()?.parse().ok());
    match seconds.filter(|it| (1..=LONGEST).contains(it)) {
        Some(_) => TOKEN.into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn role(headers: HeaderMap) -> Response {
    if is_admitted(&headers) { ROLE_NAME.into_response() } else { StatusCode::FORBIDDEN.into_response() }
}

async fn keys(State(ram): State<Arc<Ram>>, Path(role): Path<String>, headers: HeaderMap) -> Response {
    if !is_admitted(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if role != ROLE_NAME {
        return StatusCode::NOT_FOUND.into_response();
    }
    let mut shown = ram.begin_session().shown();
    shown["Code"] = json!("Success");
    shown["LastUpdated"] = json!(stamp(ram.now()));
    shown.to_string().into_response()
}

fn is_admitted(headers: &HeaderMap) -> bool {
    headers.get("x-aliyun-ecs-metadata-token").is_some_and(|it| it == TOKEN)
}
