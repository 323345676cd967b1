//! A server that speaks HTTP/2 alone.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::tls::TlsServer;

impl TlsServer {
    /// Speaks HTTP/2, and answers each request by its path.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn answering(script: impl Fn(&str) -> Response<Full<Bytes>> + Send + Sync + 'static) -> TlsServer {
        let script = Arc::new(script);
        TlsServer::start(&[b"h2"], move |stream| {
            let script = script.clone();
            async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = script(request.uri().path());
                    async move { Ok::<_, Infallible>(answer) }
                });
                // A client that breaks off is what some tests are about.
                let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await
    }
}
