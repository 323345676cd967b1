//! Serving HTTPS to whoever reaches a port: each connection has one request and little time, many take no place from
//! others, and the certificate follows its files.

mod certificate;
mod places;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

pub(crate) use self::certificate::CertificateFiles;
use self::certificate::ServedCertificate;
use self::places::ConnectionPlaces;
pub(crate) use self::places::{ConnectionPlace, ConnectionStage};

/// How long a connection may take to shake hands, and then to send the head of its request.
const PATIENCE: Duration = Duration::from_secs(3);

/// The largest head of a request, and what is written ahead of a client that reads slowly, in bytes.
const BUFFER: usize = 16 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// How long one connection may last: it has one request, and nobody shall hold a place for ever.
const CONNECTION: Duration = Duration::from_secs(60);

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json";

/// A server, listening.
pub(crate) struct HttpsServer<S> {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    certificate: Arc<ServedCertificate>,
    service: Arc<S>,
    /// The flag with its port.
    flag: &'static str,
}

/// Where a server listens, and what its flags are called.
pub(crate) struct Listen {
    pub(crate) address: SocketAddr,
    /// Certificate and key; `None`: they are made, and last as long as the process.
    pub(crate) files: Option<CertificateFiles>,
    /// The flag with the port.
    pub(crate) flag: &'static str,
    /// The paths that are served, for people: `/healthz and /metrics`.
    pub(crate) what: &'static str,
}

/// A service that answers requests.
pub(crate) trait HttpsService: Send + Sync + 'static {
    /// Answers one request. Whoever is known by more than an address is given a better place.
    fn answer(&self, request: Request<Incoming>, place: &ConnectionPlace) -> impl Future<Output = HttpAnswer> + Send;
}

pub(crate) type HttpAnswer = Response<Full<Bytes>>;

impl<S: HttpsService> HttpsServer<S> {
    /// Listens; nothing is answered yet.
    ///
    /// # Errors
    ///
    /// If the port is taken, or the certificate cannot be used.
    pub(crate) async fn bind(listen: Listen, service: S) -> Result<Self> {
        let Listen { address, files, flag, what } = listen;
        let certificate = Arc::new(ServedCertificate::load(files).with_context(|| format!("cannot serve {what}"))?);
        let acceptor = certificate.clone().acceptor()?;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address} for {what}; give another {flag}, or 0 for none"))?;
        info!("serving {what} on https://{address}");
        Ok(Self { listener, acceptor, certificate, service: Arc::new(service), flag })
    }

    /// Answers, until it is dropped.
    pub(crate) async fn run(self) -> Infallible {
        let certificate = self.certificate.clone();
        tokio::select! {
            never = self.accept() => never,
            never = certificate.follow() => never,
        }
    }

    async fn accept(self) -> Infallible {
        let (places, flag) = (Arc::new(ConnectionPlaces::default()), self.flag);
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let (acceptor, service) = (self.acceptor.clone(), self.service.clone());
                    let (place, ended) = places.take(address.ip());
                    connections.spawn(async move {
                        tokio::select! {
                            () = ended => debug!("ended a connection of {address} to {flag}: there are too many"),
                            served = timeout(CONNECTION, serve(stream, acceptor, service, place)) => {
                                if let Ok(Err(error)) = served {
                                    debug!("a connection of {address} to {flag} failed: {error:#}");
                                }
                            }
                        }
                    });
                }
                // The client has gone before it was its turn. The next one is waiting.
                Err(error) if is_clients(&error) => {}
                Err(error) => {
                    warn!("cannot accept a connection on {flag}: {error}; trying again");
                    // Such as too many open files: it passes, but not at once.
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// Whether an error of `accept` is about one connection only.
fn is_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve<S: HttpsService>(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    service: Arc<S>,
    place: ConnectionPlace,
) -> Result<()> {
    let stream = timeout(PATIENCE, acceptor.accept(stream)).await.context("no TLS handshake")??;
    place.reach(ConnectionStage::Encrypted);
    let place = Arc::new(place);
    let service = service_fn(move |request: Request<Incoming>| {
        let (service, place) = (service.clone(), place.clone());
        async move {
            place.reach(ConnectionStage::Asked);
            Ok::<_, Infallible>(service.answer(request, &place).await)
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        // One request a connection: a few clients that send one after the other would take all the CPU time.
        .keep_alive(false)
        .header_read_timeout(PATIENCE)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await?;
    Ok(())
}

/// An answer that nobody keeps, and nobody takes for another type.
pub(crate) fn answer(code: StatusCode, content_type: &'static str, body: String) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = code;
    for (name, value) in
        [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache, private"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}
