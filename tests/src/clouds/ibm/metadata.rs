//! The metadata service of a machine, as far as it gives tokens: over plain HTTP, at a port of its own, at the paths of both versions.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::iam::Iam;
use super::region::ACCOUNT;

/// For how long a token of the machine is good, at most, in seconds.
const LONGEST: u64 = 3_600;
/// The version from which on the newer paths are.
const NEWER: &str = "2025-08-26";
/// The longest body.
const BODY_BYTES: usize = 4_096;

/// A metadata service. Dropping it closes its port.
#[derive(Debug)]
pub struct IbmMetadata {
    address: SocketAddr,
    machine: Arc<Machine>,
    _server: JoinSet<()>,
}

/// The machine that the service is of.
#[derive(Debug)]
struct Machine {
    iam: Arc<Iam>,
    /// Whether it has the paths of before August 2025 alone.
    is_older: bool,
    asked: Mutex<Vec<String>>,
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
        let machine = Arc::new(Machine { iam, is_older: older, asked: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&machine));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("a listener goes on") });
        IbmMetadata { address, machine, _server: server }
    }

    /// Where it is: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far: `PUT /identity/v1/token?version=2025-08-26 ibm → 200`, with the flavor that they name.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.machine.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(State(machine): State<Arc<Machine>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES).await.unwrap_or_default();
    let query = parts.uri.query().unwrap_or_default();
    let response = machine.answer(&parts.method, parts.uri.path(), query, &parts.headers, &body);
    let (uri, status) = (&parts.uri, response.status().as_u16());
    let told = format!("{} {uri} {} → {status}", parts.method, flavor(&parts.headers));
    machine.asked.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    response
}

fn flavor(headers: &HeaderMap) -> &str {
    headers.get("metadata-flavor").and_then(|it| it.to_str().ok()).unwrap_or_default()
}

impl Machine {
    fn answer(&self, method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Response {
        let paths = match self.is_older {
            true => ["/instance_identity/v1/token", "/instance_identity/v1/iam_token"],
            false => ["/identity/v1/token", "/identity/v1/iam_tokens"],
        };
        if !paths.contains(&path) {
            return refused(StatusCode::NOT_FOUND, "not_found");
        }
        // Versions are dates: they sort as texts do.
        let version = query.strip_prefix("version=").filter(|it| it.len() == NEWER.len());
        let bad = || refused(StatusCode::BAD_REQUEST, "bad_request");
        if version.is_none_or(|it| (it < NEWER) != self.is_older) {
            return bad();
        }
        let body: Value = if body.is_empty() { json!({}) } else { serde_json::from_slice(body).unwrap_or_default() };
        let Some(fields) = body.as_object() else { return bad() };
        if path == paths[0] {
            let seconds = body["expires_in"].as_u64().filter(|it| (5..=LONGEST).contains(it));
            return match seconds {
                Some(seconds) if method == Method::PUT && fields.len() == 1 && flavor(headers) == "ibm" => {
                    (StatusCode::OK, Json(self.iam.of_machine(seconds))).into_response()
                }
                _ => bad(),
            };
        }
        let token = headers.get("authorization").and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        if !token.is_some_and(|it| self.iam.is_machine(it)) {
            return refused(StatusCode::UNAUTHORIZED, "not_authorized");
        }
        let profile = match (fields.len(), body["trusted_profile"].as_object()) {
            (0, None) => None,
            (1, Some(profile)) if profile.len() == 1 => {
                let named = profile.iter().next();
                match named.and_then(|(word, value)| Some((word.as_str(), value.as_str()?))) {
                    Some(named) => Some(named),
                    None => return bad(),
                }
            }
            _ => return bad(),
        };
        match self.iam.for_machine(profile, ACCOUNT).filter(|_| method == Method::POST) {
            Some(given) => (StatusCode::OK, Json(given)).into_response(),
            None => bad(),
        }
    }
}

fn refused(status: StatusCode, code: &str) -> Response {
    (status, Json(json!({ "errors": [{ "code": code, "message": "No." }], "trace": "1" }))).into_response()
}
