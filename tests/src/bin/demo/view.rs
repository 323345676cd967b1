//! The API server as aerostat sees it in an existing cluster: the demo's nodes and the Services of its namespace, and no others.
//!
//! A list of all nodes becomes one of those with the label, and a list of all Services one of those in the namespace. It is a
//! server on loopback that asks the API server with aerostat's token; who asks it needs a word that only aerostat's kubeconfig has.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Json, Response};
use kube::Client;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::part;

/// How long a request may be.
const LONGEST: usize = 1 << 20;

/// A running view. Dropping it closes its port.
pub(crate) struct View {
    address: SocketAddr,
    word: String,
    _server: JoinSet<()>,
}

struct Asked {
    client: Client,
    authorization: String,
}

impl View {
    /// Shows what this client sees of the demo's part.
    pub(crate) async fn open(client: Client) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let word = uuid::Uuid::new_v4().to_string();
        let asked = Arc::new(Asked { client, authorization: format!("Bearer {word}") });
        let router = Router::new().fallback(pass).with_state(asked);
        let mut server = JoinSet::new();
        server.spawn(async move {
            // It serves until it is dropped.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, word, _server: server })
    }

    /// Writes a kubeconfig that leads here.
    pub(crate) fn write_kubeconfig(&self, path: &Path) -> Result<()> {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "demo",
            "contexts": [{ "name": "demo", "context": { "cluster": "demo", "user": "demo" } }],
            "clusters": [{ "name": "demo", "cluster": { "server": format!("http://{}", self.address) } }],
            "users": [{ "name": "demo", "user": { "token": self.word } }],
        });
        fs::write(path, serde_json::to_string_pretty(&kubeconfig)?)?;
        Ok(())
    }
}

async fn pass(State(asked): State<Arc<Asked>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let word = head.headers.remove(header::AUTHORIZATION);
    if word.is_none_or(|it| it != asked.authorization) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if head.method == Method::POST && head.uri.path() == REVIEWS {
        return allowed();
    }
    let Some(uri) = narrowed(&head.uri) else { return StatusCode::BAD_REQUEST.into_response() };
    head.uri = uri;
    // The client says to whom it speaks.
    head.headers.remove(header::HOST);
    let Ok(bytes) = to_bytes(body, LONGEST).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    match asked.client.send(axum::http::Request::from_parts(head, bytes.into())).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// The question whether aerostat may do something.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// aerostat asks about all nodes and Services, and may use those that it sees: its roles name each.
fn allowed() -> Response {
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
        "spec": {}, "status": { "allowed": true } });
    (StatusCode::CREATED, Json(review)).into_response()
}

/// The request for a part, in the place of one for all nodes or Services.
fn narrowed(uri: &Uri) -> Option<Uri> {
    let query = uri.query().unwrap_or_default();
    let label = part::LABEL.replace('/', "%2F");
    let text = match uri.path() {
        "/api/v1/nodes" => format!("/api/v1/nodes?labelSelector={label}&{query}"),
        "/api/v1/services" => format!("/api/v1/namespaces/{}/services?{query}", part::NAMESPACE),
        _ => return Some(uri.clone()),
    };
    Some(Uri::from(text.parse::<PathAndQuery>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_and_services_are_those_of_the_demo() {
        let narrowed = |it: &str| narrowed(&it.parse().unwrap()).unwrap().to_string();
        let nodes = narrowed("/api/v1/nodes?watch=true&resourceVersion=7");
        assert_eq!(nodes, "/api/v1/nodes?labelSelector=aerostat.dev%2Fdemo&watch=true&resourceVersion=7");
        assert_eq!(narrowed("/api/v1/services?"), "/api/v1/namespaces/aerostat-demo/services?");
        for other in ["/api/v1/nodes/worker-1", "/api/v1/namespaces/default/services/kubernetes"] {
            assert_eq!(narrowed(other), other);
        }
    }
}
