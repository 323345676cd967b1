//! The server of webhooks: it asks nobody who they are, as upstream's, and writes nothing.
//!
//! A caller who reaches the port learns where volumes of the cloud are whose handles he knows. So there is a limit to bodies, to
//! connections, and to what the cloud is asked.

mod failures;
mod review;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use controllers::persistent_volume_labels::{Admission, Admitted};
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use k8s_openapi::api::core::v1::PersistentVolume;
use parking_lot::Mutex;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};
use token_bucket::TokenBucket;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{debug, info};

use self::failures::{BUSY, CallEnd, Caller, Failures};
use self::review::{ReviewVerdict, VolumeQuestion};
use crate::flags::{self, RateLimit};
use crate::https::{self, CertificateFiles, ConnectionPlace, ConnectionStage, HttpAnswer, JSON, Listen, TEXT, answer};

/// The only path, as upstream's labeler has it.
const PATH: &str = "/admit";
/// The webhook's name in metrics.
const NAME: &str = "cloud-pvl-admission";

/// The largest body, in bytes. What Kubernetes stores of one object is at most 1.5 MiB, and a PersistentVolume has a few
/// KiB; many callers at once shall not fill the memory.
const BODY: usize = 1 << 20;
/// How long a caller may take to send its body.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an API server waits that does not say so: Kubernetes' default. And the longest that it can say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that the way back of an answer may take.
const WAY_BACK: Duration = Duration::from_millis(500);
/// The limit of questions to the cloud on behalf of unknown callers. A caller with a question keeps its place for as long as an API
/// server waits: fewer come in that time than there are places.
const QUESTIONS: RateLimit = RateLimit { per_second: 10.0, burst: 20 };

/// The server, listening.
pub(crate) struct WebhookServer(https::HttpsServer<WebhookHandler>);

/// The server's parts, and the moment from which it has what it needs to answer.
struct WebhookHandler {
    /// `None` until the cluster is known, without which the cloud is asked nothing.
    admission: watch::Receiver<Option<Arc<Admission>>>,
    questions: Mutex<TokenBucket>,
    failures: Mutex<Failures>,
    metrics: Metrics,
}

/// Upstream's metric families of webhooks.
#[derive(Clone)]
pub(crate) struct Metrics {
    requests: IntCounterVec,
    duration: HistogramVec,
}

impl Metrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let labels = ["code", "webhook"];
        let requests = Opts::new("cloud_provider_webhook_request_total", "Requests to webhooks, by HTTP status.");
        let duration = HistogramOpts::new(
            "cloud_provider_webhook_request_duration_seconds",
            "How long requests to webhooks took, by HTTP status.",
        );
        let buckets = vec![0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0];
        let metrics = Self {
            requests: IntCounterVec::new(requests, &labels)?,
            duration: HistogramVec::new(duration.buckets(buckets), &labels)?,
        };
        registry.register(Box::new(metrics.requests.clone()))?;
        registry.register(Box::new(metrics.duration.clone()))?;
        Ok(metrics)
    }

    fn count(&self, code: StatusCode, began: Instant) {
        let labels = [code.as_str(), NAME];
        self.requests.with_label_values(&labels).inc();
        self.duration.with_label_values(&labels).observe(began.elapsed().as_secs_f64());
    }
}

impl WebhookServer {
    /// Listens. Nobody is admitted before there is an [`Admission`].
    ///
    /// # Errors
    ///
    /// If the port is taken, or the certificate cannot be used.
    pub(crate) async fn bind(
        settings: &flags::Webhooks,
        admission: watch::Receiver<Option<Arc<Admission>>>,
        metrics: Metrics,
    ) -> Result<Self> {
        let ((certificate, of_certificate), (key, of_key)) = (settings.certificate.clone(), settings.key.clone());
        let files = CertificateFiles { certificate, key, flags: [of_certificate, of_key] };
        let listen = Listen {
            address: settings.address,
            files: Some(files),
            flag: "--webhook-secure-port",
            what: "the webhook cloud-pvl-admission",
        };
        let (questions, failures) = (Mutex::new(QUESTIONS.bucket()), Mutex::default());
        let webhooks = WebhookHandler { admission, questions, failures, metrics };
        https::HttpsServer::bind(listen, webhooks).await.map(Self)
    }

    /// Answers, until it is dropped.
    pub(crate) async fn run(self) -> Infallible {
        self.0.run().await
    }
}

impl https::HttpsService for WebhookHandler {
    async fn answer(&self, request: Request<Incoming>, place: &ConnectionPlace) -> HttpAnswer {
        if request.uri().path() != PATH {
            return answer(StatusCode::NOT_FOUND, TEXT, "404 page not found\n".to_owned());
        }
        let began = Instant::now();
        let answered = self.review(request, place, began).await.unwrap_or_else(|ReviewProblem { code, text }| {
            debug!("a request to the webhook {NAME} is answered {code}: {text}");
            answer(code, TEXT, format!("{text}\n"))
        });
        self.metrics.count(answered.status(), began);
        answered
    }
}

/// Why a request gets no AdmissionReview: an HTTP status, and a sentence.
struct ReviewProblem {
    code: StatusCode,
    text: String,
}

impl ReviewProblem {
    fn new(code: StatusCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

impl WebhookHandler {
    async fn review(
        &self,
        request: Request<Incoming>,
        place: &ConnectionPlace,
        began: Instant,
    ) -> Result<HttpAnswer, ReviewProblem> {
        if request.headers().get(CONTENT_TYPE).is_none_or(|it| it != JSON) {
            return Err(ReviewProblem::new(StatusCode::BAD_REQUEST, format!("the Content-Type has to be {JSON}")));
        }
        let until = began + patience(request.uri().query().unwrap_or_default());
        let body = body(request.into_body()).await?;
        let question =
            VolumeQuestion::parse(&body).map_err(|text| ReviewProblem::new(StatusCode::BAD_REQUEST, text))?;
        let (uid, verdict) = match question {
            VolumeQuestion::Other { uid } => (uid, ReviewVerdict::default()),
            VolumeQuestion::Create { uid, user, pv } => (uid, self.judge(&pv, &user, place, until).await?),
        };
        Ok(answer(StatusCode::OK, JSON, verdict.answer(&uid).to_string()))
    }

    async fn judge(
        &self,
        pv: &PersistentVolume,
        user: &str,
        place: &ConnectionPlace,
        until: Instant,
    ) -> Result<ReviewVerdict, ReviewProblem> {
        let admission = self.admission.borrow().clone();
        let Some(admission) = admission else {
            let text = "aerostat has only just started, and does not know its cluster yet; try again";
            return Err(ReviewProblem::new(StatusCode::INTERNAL_SERVER_ERROR, text));
        };
        let name = pv.metadata.name.as_deref().unwrap_or_default();
        let mut asking = None;
        if admission.asks_the_cloud(pv) {
            match self.turn(user, until).await {
                Ok(turn) => {
                    place.reach(ConnectionStage::Admitted);
                    asking = Some(turn);
                }
                Err(why) => {
                    let text = format!("error querying volume {name}: {why}");
                    return Ok(ReviewVerdict::refused(StatusCode::TOO_MANY_REQUESTS.as_u16(), text));
                }
            }
        }
        let answer = timeout_at(until, admission.admit(pv)).await;
        if let (Some(asking), Ok(answer)) = (&mut asking, &answer) {
            let has_crashed = answer.as_ref().is_err_and(|refused| refused.has_crashed);
            asking.ended = Some(if has_crashed { CallEnd::Crashed } else { CallEnd::Answered });
        }
        let refusal = match answer {
            Ok(Ok(Admitted { patch, warnings })) => {
                if !patch.is_empty() {
                    info!(volume = name, "the volume is labelled while it is created");
                }
                return Ok(ReviewVerdict { patch, warnings, refusal: None });
            }
            Ok(Err(refused)) => refused.to_string(),
            Err(_) => format!("error querying volume {name}: the cloud did not answer in time; try again"),
        };
        Ok(ReviewVerdict::refused(StatusCode::FORBIDDEN.as_u16(), refusal))
    }

    /// Waits until the cloud may be asked for a user, or says why it is not asked.
    async fn turn(&self, user: &str, until: Instant) -> Result<Asking<'_>, String> {
        let (user, now) = (Caller::named(user), Instant::now());
        let crashed = |after| {
            format!(
                "the provider crashed over too many of your volumes, or is being asked about too many; try again in {after:?}"
            )
        };
        self.failures.lock().admit(user, now).map_err(crashed)?;
        let wait = self.questions.lock().reserve_within(longest_wait(until.saturating_duration_since(now)), now);
        let wait =
            wait.map_err(|after| format!("the cloud is asked about too many volumes; try again in {after:?}"))?;
        sleep(wait).await;
        let began = Instant::now();
        let user = self.failures.lock().begin(user, began).map_err(crashed)?;
        Ok(Asking { failures: &self.failures, user, began, ended: None })
    }
}

/// A question that is being asked. Dropped before it has ended, it is given up: whoever asked has gone, or waits no longer.
struct Asking<'a> {
    failures: &'a Mutex<Failures>,
    user: Caller,
    began: Instant,
    ended: Option<CallEnd>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let ended = self.ended.unwrap_or_else(|| CallEnd::GivenUp(self.began.elapsed()));
        self.failures.lock().end(self.user, ended, Instant::now());
    }
}

/// How long an answer may take, by the query of the request: the API server says how long it waits.
fn patience(query: &str) -> Duration {
    let said = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "timeout");
    let said = said.and_then(|(_, value)| go_duration::parse(&value).ok()).unwrap_or(DEFAULT_TIMEOUT);
    said.min(LONGEST_TIMEOUT).saturating_sub(WAY_BACK)
}

/// How long a question may wait for its turn, if its answer may take so long: a question that is given up earlier than [`BUSY`]
/// counts as a crash, and its turn may come late through no fault of the user.
fn longest_wait(left: Duration) -> Duration {
    left.saturating_sub(BUSY)
}

async fn body(body: Incoming) -> Result<Bytes, ReviewProblem> {
    match timeout(PATIENCE, Limited::new(body, BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(ReviewProblem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {BODY} bytes")))
        }
        Ok(Err(error)) => Err(ReviewProblem::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"))),
        Err(_) => {
            Err(ReviewProblem::new(StatusCode::REQUEST_TIMEOUT, format!("the body did not come within {PATIENCE:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_before_the_api_server_gives_up() {
        for (query, milliseconds) in
            [("timeout=5s", 4_500), ("a=b&timeout=1s", 500), ("", 9_500), ("timeout=x", 9_500), ("timeout=1h", 29_500)]
        {
            assert_eq!(patience(query), Duration::from_millis(milliseconds), "{query}");
        }
        assert_eq!(patience("timeout=100ms"), Duration::ZERO);
    }

    #[test]
    fn adv_168_a_question_whose_turn_came_late_is_no_crash() {
        let left = patience("");
        assert!(left - longest_wait(left) >= BUSY);
        assert_eq!(longest_wait(BUSY / 2), Duration::ZERO, "without a queue it is asked at once");
    }
}
