//! The server on `--secure-port`: `/healthz` and `/readyz` for everyone, `/metrics` and `/provider` for those who may read
//! them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Request, StatusCode};
use hyper::body::Incoming;
use prometheus::{Registry, TextEncoder};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::warn;

use super::authz::{ReviewError, Reviewer, User};
use super::health::{Health, HealthPage};
use crate::flags::Serving;
use crate::https::{self, CertificateFiles, ConnectionPlace, ConnectionStage, HttpAnswer, JSON, Listen, TEXT, answer};

const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Paths that anybody may ask for. The last one is not there.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/livez"];

/// Makes what `/provider` answers.
pub(crate) type ProviderPage = Arc<dyn Fn() -> Value + Send + Sync>;

/// The server, listening.
pub(crate) struct TelemetryServer(https::HttpsServer<HealthPages>);

/// The server's answers.
pub(crate) struct HealthPages {
    /// `/healthz` and `/readyz`.
    pub(crate) health: Arc<Health>,
    /// `/metrics`.
    pub(crate) metrics: Registry,
    /// `/metrics/slis`.
    pub(crate) slis: Registry,
    /// `/provider`; `None` until a provider is loaded.
    pub(crate) provider: watch::Receiver<Option<ProviderPage>>,
    /// The reviewer of those who read the metrics.
    pub(crate) reviewer: Reviewer,
}

impl TelemetryServer {
    /// Listens; nothing is answered yet.
    ///
    /// # Errors
    ///
    /// If the port is taken, or the certificate cannot be used.
    pub(crate) async fn bind(serving: &Serving, answers: HealthPages) -> Result<Self> {
        let files = serving.certificate.clone().map(|(certificate, key)| CertificateFiles {
            certificate,
            key,
            flags: ["--tls-cert-file", "--tls-private-key-file"],
        });
        let listen = Listen { address: serving.address, files, flag: "--secure-port", what: "/healthz and /metrics" };
        https::HttpsServer::bind(listen, answers).await.map(Self)
    }

    /// Answers, until it is dropped.
    pub(crate) async fn run(self) -> Infallible {
        self.0.run().await
    }
}

impl https::HttpsService for HealthPages {
    async fn answer(&self, request: Request<Incoming>, place: &ConnectionPlace) -> HttpAnswer {
        self.judge(&request.map(drop), place).await
    }
}

impl HealthPages {
    /// The judgement of a request: who is it, may they, and only then: is it there. As upstream, a bad token is refused on open paths too.
    async fn judge(&self, request: &Request<()>, place: &ConnectionPlace) -> HttpAnswer {
        let path = request.uri().path();
        let user = match token(request.headers()) {
            None => User::anonymous(),
            Some(token) => match self.reviewer.user(token).await {
                Ok(Some(user)) => {
                    place.reach(ConnectionStage::Admitted);
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
            "/healthz" => self.checks(HealthPage::Healthz, request.uri().query().unwrap_or_default()),
            "/readyz" => self.checks(HealthPage::Readyz, request.uri().query().unwrap_or_default()),
            "/metrics" => metrics(&self.metrics),
            "/metrics/slis" => metrics(&self.slis),
            "/provider" => self.provider(),
            _ => answer(StatusCode::NOT_FOUND, TEXT, "404 page not found\n".to_owned()),
        }
    }

    fn provider(&self) -> HttpAnswer {
        match &*self.provider.borrow() {
            Some(page) => answer(StatusCode::OK, JSON, format!("{:#}\n", page())),
            None => answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "no provider is loaded yet\n".to_owned()),
        }
    }

    fn checks(&self, page: HealthPage, query: &str) -> HttpAnswer {
        let pairs = || url::form_urlencoded::parse(query.as_bytes());
        let verbose = pairs().any(|(key, _)| key == "verbose");
        let excluded: Vec<String> =
            pairs().filter(|(key, _)| key == "exclude").map(|(_, value)| value.into_owned()).collect();
        let report = self.health.report(page, verbose, &excluded);
        let status = if report.healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
        answer(status, TEXT, report.text)
    }
}

fn metrics(registry: &Registry) -> HttpAnswer {
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

fn unauthorized() -> HttpAnswer {
    status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", "")
}

fn forbidden(user: &str, verb: &str, path: &str) -> HttpAnswer {
    let message = format!("forbidden: User {user:?} cannot {verb} path {path:?}");
    status(StatusCode::FORBIDDEN, &message, "Forbidden", r#""details":{},"#)
}

/// The answer to a caller who asks for more than the API server may be asked: the time after which to come back.
fn too_many(after: Duration) -> HttpAnswer {
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
fn status(code: StatusCode, message: &str, reason: &str, details: &str) -> HttpAnswer {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{},"reason":"{reason}",{details}"code":{}}}"#,
        json!(message),
        code.as_u16(),
    );
    answer(code, JSON, body + "\n")
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
