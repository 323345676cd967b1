//! An HTTP proxy before the API server, for a process: a test decides about single requests, as [`crate::faults::Faults`] does for a
//! client.

use std::net::SocketAddr;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A proxy on loopback, without TLS. It stops when it is dropped.
pub struct HttpProxy {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl HttpProxy {
    /// Sends all requests with this client, as whom it is.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn through(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, client.clone()));
            }
        });
        Self { address, _server: server }
    }

    /// Where it listens: `http://127.0.0.1:…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Serves a connection, until a request has no answer: it is closed then.
async fn serve(stream: TcpStream, client: Client) {
    let service = service_fn(move |request: Request<Incoming>| send(request, client.clone()));
    // Nobody hears of it here: the process does.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn send(request: Request<Incoming>, client: Client) -> anyhow::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(client.send(Request::from_parts(head, Body::from(body.to_vec()))).await?)
}
