//! The layer around every request to the API server: a time-out, a rate limit if there is one, and counting.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use controllers::LateAnswer;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Either, Full};
use kube::client::Body;
use parking_lot::Mutex;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};
use token_bucket::TokenBucket;
use tokio::time::{Instant, sleep, timeout};
use tower::{BoxError, Layer, Service};

use crate::flags::RateLimit;

/// client-go's metric families of requests.
#[derive(Clone)]
pub(crate) struct Metrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    waited: HistogramVec,
    request_size: HistogramVec,
    response_size: HistogramVec,
}

impl Metrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let seconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
        let bytes = [64, 256, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
        let histogram = |name: &str, help: &str, buckets: Vec<f64>| {
            let opts = HistogramOpts::new(format!("rest_client_{name}"), help).buckets(buckets);
            let family = HistogramVec::new(opts, &["verb", "host"])?;
            registry.register(Box::new(family.clone()))?;
            prometheus::Result::Ok(family)
        };
        let bytes = bytes.map(f64::from).to_vec();
        let requests = IntCounterVec::new(
            Opts::new("rest_client_requests_total", "Requests to the API server, by answer."),
            &["code", "method", "host"],
        )?;
        registry.register(Box::new(requests.clone()))?;
        Ok(Self {
            requests,
            duration: histogram("request_duration_seconds", "Until the answer was there.", seconds.to_vec())?,
            waited: histogram(
                "rate_limiter_duration_seconds",
                "How long a request waited for --kube-api-qps.",
                seconds.to_vec(),
            )?,
            request_size: histogram("request_size_bytes", "Sizes of requests.", bytes.clone())?,
            response_size: histogram("response_size_bytes", "Sizes of answers; without watches.", bytes)?,
        })
    }
}

/// Puts [`Requests`] around a client's service.
pub(super) struct RequestLayer(Arc<RequestConfig>);

/// A service with a time-out on every request.
pub(super) struct Requests<S> {
    inner: S,
    config: Arc<RequestConfig>,
}

struct RequestConfig {
    host: String,
    /// From a request to the end of its answer; of a watch, to the answer's head.
    patience: Duration,
    bucket: Option<Mutex<TokenBucket>>,
    metrics: Metrics,
}

impl RequestLayer {
    /// `patience` is how long a request and its whole answer may take; of a watch, its head.
    pub(super) fn new(url: &Uri, patience: Duration, limit: Option<RateLimit>, metrics: Metrics) -> Self {
        let host = url.authority().map(ToString::to_string).unwrap_or_default();
        let bucket = limit.map(|it| Mutex::new(it.bucket()));
        Self(Arc::new(RequestConfig { host, patience, bucket, metrics }))
    }
}

impl<S> Layer<S> for RequestLayer {
    type Service = Requests<S>;

    fn layer(&self, inner: S) -> Requests<S> {
        Requests { inner, config: self.0.clone() }
    }
}

impl<S, B> Service<Request<Body>> for Requests<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Either<Full<Bytes>, B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let config = self.config.clone();
        let (method, is_watch) = (request.method().clone(), is_watch(request.uri()));
        let size = request.body().size_hint().exact();
        // Nothing is sent before it is polled.
        let answer = self.inner.call(request);
        async move {
            config.wait(&method).await;
            let begin = Instant::now();
            let patience = config.patience;
            let answer =
                timeout(patience, read(answer, is_watch)).await.unwrap_or_else(|_| Err(LateAnswer(patience).into()));
            config.count(&method, size, begin.elapsed(), &answer);
            answer
        }
        .boxed()
    }
}

impl RequestConfig {
    async fn wait(&self, method: &Method) {
        let wait = self.bucket.as_ref().map_or(Duration::ZERO, |bucket| bucket.lock().reserve(Instant::now()));
        self.metrics.waited.with_label_values(&[method.as_str(), &self.host]).observe(wait.as_secs_f64());
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }

    fn count<B>(
        &self,
        method: &Method,
        request_size: Option<u64>,
        duration: Duration,
        answer: &Result<Response<Either<Full<Bytes>, B>>, BoxError>,
    ) {
        let (metrics, method, host) = (&self.metrics, method.as_str(), self.host.as_str());
        let code = match answer {
            Ok(response) => response.status().as_str().to_owned(),
            Err(_) => "<error>".to_owned(),
        };
        metrics.requests.with_label_values(&[code.as_str(), method, host]).inc();
        metrics.duration.with_label_values(&[method, host]).observe(duration.as_secs_f64());
        if let Some(size) = request_size {
            metrics.request_size.with_label_values(&[method, host]).observe(size as f64);
        }
        if let Ok(response) = answer
            && let Either::Left(body) = response.body()
            && let Some(size) = body.size_hint().exact()
        {
            metrics.response_size.with_label_values(&[method, host]).observe(size as f64);
        }
    }
}

/// Reads the answer to its end. kube would do the same, without a limit; only a watch is read as it comes.
async fn read<B>(
    answer: impl Future<Output = Result<Response<B>, BoxError>>,
    is_watch: bool,
) -> Result<Response<Either<Full<Bytes>, B>>, BoxError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let response = answer.await?;
    if is_watch && response.status().is_success() {
        return Ok(response.map(Either::Right));
    }
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
    Ok(Response::from_parts(head, Either::Left(Full::new(bytes))))
}

fn is_watch(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .any(|(key, value)| key == "watch" && (value == "true" || value == "1"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::pin;

    use super::*;

    #[test]
    fn a_watch_is_known_by_its_query() {
        for (uri, expected) in [
            ("/api/v1/nodes?&watch=true&timeoutSeconds=290", true),
            ("/api/v1/nodes?watch=1", true),
            ("/api/v1/nodes?watch=false", false),
            ("/api/v1/nodes/watch", false),
        ] {
            assert_eq!(is_watch(&uri.parse().unwrap()), expected, "{uri}");
        }
    }

    /// A server that sends a head, and never a body.
    async fn stalled() -> Result<Response<Stalled>, BoxError> {
        Ok(Response::new(Stalled))
    }

    #[derive(Debug)]
    struct Stalled;

    impl http_body::Body for Stalled {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_out_begins_after_the_wait_for_the_rate_limit() {
        let patience = Duration::from_secs(30);
        let limit = Some(RateLimit { per_second: 0.025, burst: 1 });
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let layer = RequestLayer::new(&"https://127.0.0.1:6443".parse().unwrap(), patience, limit, metrics);
        let mut service = layer.layer(tower::service_fn(|request: Request<Body>| async move {
            let seconds = request.uri().path().trim_start_matches('/').parse().unwrap();
            sleep(Duration::from_secs(seconds)).await;
            Ok(Response::new(Full::new(Bytes::new())))
        }));
        let get = |uri: &str| Request::get(uri).body(Body::empty()).unwrap();

        service.call(get("/0")).await.unwrap();
        let began = Instant::now();
        service.call(get("/29")).await.unwrap();
        assert!(began.elapsed() >= Duration::from_secs(69), "it waited 40 s before");
        let error = service.call(get("/31")).await.unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LateAnswer(patience)));
    }

    #[tokio::test]
    async fn a_body_that_never_ends_does_not_hold_a_request() {
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        let patience = Duration::from_millis(50);
        let layer = RequestLayer::new(&"https://127.0.0.1:6443".parse().unwrap(), patience, None, metrics);
        let mut service = layer.layer(tower::service_fn(|_| stalled()));
        let get = |uri: &str| Request::get(uri).body(Body::empty()).unwrap();

        let error = service.call(get("/api/v1/nodes")).await.unwrap_err();
        assert_eq!(error.to_string(), "the API server did not answer within 50ms");
        let watch = service.call(get("/api/v1/nodes?watch=true")).await.unwrap();
        let mut body = pin!(watch.into_body());
        assert!(timeout(4 * patience, body.frame()).await.is_err(), "a watch may be silent for long");

        let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        for line in [
            r#"rest_client_requests_total{code="<error>",host="127.0.0.1:6443",method="GET"} 1"#,
            r#"rest_client_requests_total{code="200",host="127.0.0.1:6443",method="GET"} 1"#,
            r#"rest_client_request_duration_seconds_count{host="127.0.0.1:6443",verb="GET"} 2"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
