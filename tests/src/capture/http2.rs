//! A server that speaks HTTP/2 alone.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::tls::Identity;

type Script = Arc<dyn Fn(&str) -> Response<Full<Bytes>> + Send + Sync>;

/// An HTTP/2 server on loopback, with a certificate for 127.0.0.1. It stops when it is dropped.
pub struct Http2 {
    address: SocketAddr,
    ca: String,
    connections: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

impl Http2 {
    /// Answers each request by its path.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn start(script: impl Fn(&str) -> Response<Full<Bytes>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let identity = Identity::new(&["127.0.0.1"], &[b"h2"]);
        let (ca, connections) = (identity.ca.clone(), Arc::new(AtomicUsize::new(0)));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, identity, Arc::new(script), connections.clone()));
        Self { address, ca, connections, _server: server }
    }

    /// `https://127.0.0.1:…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate authority, in PEM.
    #[must_use]
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

async fn serve(listener: TcpListener, identity: Identity, script: Script, count: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        count.fetch_add(1, SeqCst);
        let (acceptor, script) = (identity.acceptor.clone(), script.clone());
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = script(request.uri().path());
                async move { Ok::<_, Infallible>(answer) }
            });
            // A client that breaks off is what some tests are about.
            let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
