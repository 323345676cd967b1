//! The server on `--secure-port`: `/healthz` and `/readyz` for everyone, `/metrics` for those who may read it.

mod places;

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Registry, TextEncoder};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use self::places::{Place, Places, Stage};
use super::authz::{ReviewError, Reviewer, User};
use super::health::{Health, Page};
use super::tls;
use crate::flags::Serving;

/// How long a connection may take to shake hands, and then to send the head of its request.
const PATIENCE: Duration = Duration::from_secs(3);

/// The largest head of a request, and what is written ahead of a client that reads slowly, in bytes.
const BUFFER: usize = 16 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// How long one connection may last: it has one request, and nobody shall hold a place for ever.
const CONNECTION: Duration = Duration::from_secs(60);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Paths that anybody may ask for. The last one is not there.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/livez"];

/// The server, listening.
pub(crate) struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    answers: Arc<Answers>,
}

/// What the server answers.
pub(crate) struct Answers {
    /// `/healthz` and `/readyz`.
    pub(crate) health: Arc<Health>,
    /// `/metrics`.
    pub(crate) metrics: Registry,
    /// `/metrics/slis`.
    pub(crate) slis: Registry,
    /// Who may read the metrics.
    pub(crate) reviewer: Reviewer,
}

type Answer = Response<Full<Bytes>>;

impl Server {
    /// Listens; nothing is answered yet.
    ///
    /// # Errors
    ///
    /// If the port is taken, or the certificate cannot be used.
    pub(crate) async fn bind(serving: &Serving, answers: Answers) -> Result<Self> {
        let files = serving.certificate.as_ref();
        let acceptor = tls::acceptor(files.map(|(certificate, key): &(PathBuf, PathBuf)| (&**certificate, &**key)))?;
        let address = serving.address;
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address} for /healthz and /metrics; give another --secure-port, or 0 for none")
        })?;
        info!("serving /healthz and /metrics on https://{address}");
        Ok(Self { listener, acceptor, answers: Arc::new(answers) })
    }

    /// Answers, until it is dropped.
    pub(crate) async fn run(self) -> Infallible {
        let places = Arc::new(Places::default());
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let (acceptor, answers) = (self.acceptor.clone(), self.answers.clone());
                    let (place, ended) = places.take(address.ip());
                    connections.spawn(async move {
                        tokio::select! {
                            () = ended => debug!("ended a connection of {address} to --secure-port: there are too many"),
                            served = timeout(CONNECTION, serve(stream, acceptor, answers, place)) => {
                                if let Ok(Err(error)) = served {
                                    debug!("a connection of {address} to --secure-port failed: {error:#}");
                                }
                            }
                        }
                    });
                }
                // The client has gone before it was its turn. The next one is waiting.
                Err(error) if is_clients(&error) => {}
                Err(error) => {
                    warn!("cannot accept a connection on --secure-port: {error}; trying again");
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

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, answers: Arc<Answers>, place: Place) -> Result<()> {
    let stream = timeout(PATIENCE, acceptor.accept(stream)).await.context("no TLS handshake")??;
    place.reach(Stage::Encrypted);
    let place = Arc::new(place);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (answers, place) = (answers.clone(), place.clone());
        async move {
            place.reach(Stage::Asked);
            Ok::<_, Infallible>(answers.answer(&request.map(drop), &place).await)
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

impl Answers {
    /// Who is it, may they, and only then: is it there. As upstream, a bad token is refused on open paths too.
    async fn answer(&self, request: &Request<()>, place: &Place) -> Answer {
        let path = request.uri().path();
        let user = match token(request.headers()) {
            None => User::anonymous(),
            Some(token) => match self.reviewer.user(token).await {
                Ok(Some(user)) => {
                    place.reach(Stage::Authenticated);
                    user
                }
                Ok(None) => return unauthorized(),
                Err(ReviewError::TooMany(after)) => return too_many(after),
                Err(ReviewError::Failed(cause)) => {
                    warn!("cannot find out whose bearer token it is that asks for {path}: {cause}");
                    return unauthorized();
                }
            },
        };
        if !OPEN.contains(&path) {
            let verb = request.method().as_str().to_ascii_lowercase();
            match self.reviewer.allows(&user, &verb, path).await {
                Ok(true) => {}
                Ok(false) => return forbidden(&user.name, &verb, path),
                Err(ReviewError::TooMany(after)) => return too_many(after),
                Err(ReviewError::Failed(cause)) => {
                    warn!("cannot find out whether {} may {verb} {path}: {cause}", user.name);
                    return answer(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        TEXT,
                        format!("Internal Server Error: {path:?}\n"),
                    );
                }
            }
        }
        match path {
            "/healthz" => self.checks(Page::Healthz, request.uri().query().unwrap_or_default()),
            "/readyz" => self.checks(Page::Readyz, request.uri().query().unwrap_or_default()),
            "/metrics" => metrics(&self.metrics),
            "/metrics/slis" => metrics(&self.slis),
            _ => answer(StatusCode::NOT_FOUND, TEXT, "404 page not found\n".to_owned()),
        }
    }

    fn checks(&self, page: Page, query: &str) -> Answer {
        let pairs = || url::form_urlencoded::parse(query.as_bytes());
        let verbose = pairs().any(|(key, _)| key == "verbose");
        let excluded: Vec<String> =
            pairs().filter(|(key, _)| key == "exclude").map(|(_, value)| value.into_owned()).collect();
        let report = self.health.report(page, verbose, &excluded);
        let status = if report.healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
        answer(status, TEXT, report.text)
    }
}

fn metrics(registry: &Registry) -> Answer {
    match TextEncoder::new().encode_to_string(&registry.gather()) {
        Ok(text) => answer(StatusCode::OK, METRICS, text),
        Err(error) => {
            warn!("cannot show metrics: {error}");
            answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n"))
        }
    }
}

/// The bearer token, if there is one.
fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    Some(token.trim()).filter(|it| scheme.eq_ignore_ascii_case("bearer") && !it.is_empty())
}

fn unauthorized() -> Answer {
    status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", "")
}

fn forbidden(user: &str, verb: &str, path: &str) -> Answer {
    let message = format!("forbidden: User {user:?} cannot {verb} path {path:?}");
    status(StatusCode::FORBIDDEN, &message, "Forbidden", r#""details":{},"#)
}

/// Who asks for more than the API server may be asked gets the time after which to come back.
fn too_many(after: Duration) -> Answer {
    let mut answer = status(
        StatusCode::TOO_MANY_REQUESTS,
        "too many callers are unknown, please try again later",
        "TooManyRequests",
        "",
    );
    // A part of a second counts as a whole one.
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs() + 1));
    answer
}

/// A Kubernetes `Status`, in upstream's order of fields.
fn status(code: StatusCode, message: &str, reason: &str, details: &str) -> Answer {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{},"reason":"{reason}",{details}"code":{}}}"#,
        json!(message),
        code.as_u16(),
    );
    answer(code, JSON, body + "\n")
}

fn answer(code: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = code;
    for (name, value) in
        [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache, private"), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_token(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(header).unwrap());
        assert_eq!(token(&headers), expected, "{header}");
    }

    #[test]
    fn only_bearer_tokens_are_tokens() {
        check_token("Bearer abc", Some("abc"));
        check_token("bearer  abc ", Some("abc"));
        check_token("Bearer ", None);
        check_token("Basic abc", None);
        assert_eq!(token(&HeaderMap::new()), None);
    }
}
