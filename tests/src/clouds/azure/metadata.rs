//! The metadata service of a machine ("Azure Instance Metadata Service"), as far as it gives tokens: over plain HTTP, at a port of its own.
//! The simulator answers, and keeps each request.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, StatusCode, Uri};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A metadata service. Dropping it closes its port.
#[derive(Debug)]
pub struct MetadataService {
    address: SocketAddr,
    _server: JoinSet<()>,
}

/// The way to the simulator.
#[derive(Clone)]
struct Behind {
    client: reqwest::Client,
    url: String,
}

impl MetadataService {
    /// Gives tokens of the machine's identities, which the simulator at this URL answers.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start(client: reqwest::Client, url: String) -> MetadataService {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let behind = Behind { client, url };
        let router = Router::new().route("/metadata/identity/oauth2/token", get(give)).with_state(behind);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.expect("a listener goes on") });
        MetadataService { address, _server: server }
    }

    /// Where it is: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn give(
    State(behind): State<Behind>,
    uri: Uri,
    mut headers: HeaderMap,
) -> Result<(StatusCode, [(http::HeaderName, &'static str); 1], Vec<u8>), StatusCode> {
    headers.remove(HOST);
    let request = behind.client.get(format!("{}{uri}", behind.url)).headers(headers);
    let answer = request.send().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    let status = answer.status();
    let body = answer.bytes().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok((status, [(CONTENT_TYPE, "application/json")], body.to_vec()))
}
