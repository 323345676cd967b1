//! Sends a request and reads the answer, with a limit on everything that may take long or grow large.
//!
//! There is no proxy, no redirect, no cookie, no decompression and no second attempt in here, and no way to a
//! connection except [`dial::Dialer`].

pub(crate) mod dial;
mod frames;
pub(crate) mod head;
mod tls;
mod tunnel;
mod usage;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, USER_AGENT};
use http::uri::{Authority, Uri};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::time::timeout;

use self::dial::{DialError, Dialer};
use self::head::{HEAD_BYTES, HEADERS, USER_AGENT_VALUE};
use self::usage::Tracked;
use crate::base_url::Origin;
use crate::body::{GrowingBody, Withheld};
use crate::budget::EndpointBudget;
use crate::cause::{CauseKind, Stop, WayCause};
use crate::credentials::{Authenticated, Connect, Secrets, Transport};
use crate::destination::Destination;
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::outside::Outside;
use crate::policy::Denied;
use crate::reach::{Way, WayAttempt};

/// The bytes that a server may send over HTTP/2 before they were read: for one answer, and for all on a connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 2 << 20;
/// The bytes of a request's body that wait to be sent over HTTP/2, beside the body itself.
const SEND_BUFFER: usize = 256 << 10;
/// The most interim answers (1xx) to one request over HTTP/1.
const INTERIM_ANSWERS: u32 = 16;
/// How many streams of one HTTP/2 connection may be remembered as reset.
const RESETS: usize = 16;
/// How long an unused connection is kept. Shorter than load balancers keep theirs.
const IDLE_CONNECTION: Duration = Duration::from_secs(30);
/// The sentence about an answer that holds a secret.
pub(crate) const HOLDS_SECRET: &str = "answered with the credential that it was sent; the answer is withheld";
/// The protocols that are spoken over TLS, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The way to one place of an endpoint.
pub(crate) struct Wire {
    endpoint: Arc<Endpoint>,
    origin: Origin,
    authority: Authority,
    dialer: Dialer,
    pub(crate) way: Arc<Way>,
    /// The connections that belong to the newest generation of the credential.
    pool: Mutex<Pool>,
}

struct Pool {
    generation: u64,
    client: Client<Dialer, Full<Bytes>>,
}

/// The end of a request.
pub(crate) struct Exchange {
    /// The checked address that it went to, if there was a connection.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) result: Result<CompleteAnswer, AnswerFailure>,
}

impl Wire {
    /// The way to `destination`, at which `endpoint` is.
    pub(crate) fn to(
        destination: Destination,
        endpoint: Arc<Endpoint>,
        outside: Outside,
        budget: Arc<EndpointBudget>,
    ) -> Result<Self, EgressError> {
        let origin = destination.origin.clone();
        let authority = origin.authority();
        let reach = outside.reach.clone();
        let dialer = Dialer::new(destination.clone(), outside, budget, &PROTOCOLS)?;
        let pool = Mutex::new(Pool { generation: 0, client: client(&endpoint, dialer.clone()) });
        Ok(Self { endpoint, origin, authority, dialer, way: reach.way(destination), pool })
    }

    /// Sends one request once.
    pub(crate) async fn send(&self, authenticated: Authenticated) -> Exchange {
        let client = self.client(authenticated.generation());
        let secrets = authenticated.secrets();
        let mut request = self.request(authenticated);
        let connection = capture_connection(&mut request);
        limit_interim_answers(&mut request, &connection);
        let total = self.endpoint.limits.total;
        let attempt = self.way.attempt();
        let exchange = self.exchange(client, request, connection.clone(), &secrets, &attempt);
        let result = timeout(total, exchange).await.unwrap_or_else(|_| Err(self.too_late(&connection, total)));
        let result = result.map_err(|it| NoAnswer { failure: self.without_secrets(it.failure, &secrets), ..it });
        let result = conclude(attempt, result);
        Exchange { address: usage::dialed(&connection).map(|it| it.address), result }
    }

    async fn exchange(
        &self,
        client: Client<Dialer, Full<Bytes>>,
        request: Request<Full<Bytes>>,
        mut connection: CaptureConnection,
        secrets: &Secrets,
        attempt: &WayAttempt<'_>,
    ) -> Result<CompleteAnswer, NoAnswer> {
        let limits = &self.endpoint.limits;
        // A request that ends early ends its connection: no other request may wait on it.
        let mut tracked = Tracked::new(connection.clone());
        let answer = client.request(request);
        tokio::pin!(answer);
        // The clock for the first byte starts when there is a connection; until then the dialer's clocks run.
        let early = tokio::select! {
            biased;
            answer = &mut answer => Some(answer),
            _ = connection.wait_for_connection_metadata() => None,
        };
        tracked.register();
        attempt.connected();
        let response = match early {
            Some(answer) => answer,
            None => timeout(limits.first_byte, answer).await.map_err(|_| {
                let what = format_args!("did not begin to answer within {:?}", limits.first_byte);
                NoAnswer::behind(CauseKind::Silent, self.interrupted(what))
            })?,
        };
        let response = response.map_err(|error| self.failed(&error))?;
        let answer = self.read(response, secrets).await?;
        tracked.ended_well();
        Ok(answer)
    }

    /// Reads an answer, as far as it may be read.
    async fn read(&self, response: Response<Incoming>, secrets: &Secrets) -> Result<CompleteAnswer, AnswerFailure> {
        let limits = &self.endpoint.limits;
        let (head, mut body) = response.into_parts();
        check_head(&head.headers).map_err(|it| self.interrupted(it))?;
        if head.status.is_informational() {
            return Err(self.interrupted(format_args!("answered {} and nothing after it", head.status)));
        }
        let withheld = |why| match why {
            Withheld::TooLarge => {
                self.interrupted(format_args!("answered with more than {} bytes", limits.response_bytes))
            }
            Withheld::HoldsSecret => self.interrupted(HOLDS_SECRET),
        };
        if secrets.are_in_head(&head.headers) {
            return Err(withheld(Withheld::HoldsSecret));
        }
        let length = body.size_hint().lower();
        let mut read = GrowingBody::new(length, limits.response_bytes, secrets.clone()).map_err(withheld)?;
        while let Some(frame) = timeout(limits.idle, body.frame())
            .await
            .map_err(|_| self.interrupted(format_args!("stopped for {:?} within its answer", limits.idle)))?
        {
            let frame =
                frame.map_err(|error| self.interrupted(format_args!("cut its answer off: {}", Chain(&error))))?;
            // Trailers are dropped: nothing that a guest may see comes in them.
            let Ok(data) = frame.into_data() else { continue };
            read.push(&data).await.map_err(withheld)?;
        }
        let body = read.finish().await.map_err(withheld)?;
        Ok(CompleteAnswer { status: head.status, headers: head.headers, body })
    }

    fn request(&self, authenticated: Authenticated) -> Request<Full<Bytes>> {
        let permitted = authenticated.permitted();
        let method = http::Method::from(permitted.method());
        let uri = Uri::builder()
            .scheme(self.origin.scheme().as_str())
            .authority(self.authority.clone())
            .path_and_query(permitted.target())
            .build()
            .expect("a canonical path and query are a part of a URI");
        let (mut headers, body) = authenticated.into_headers_and_body();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, USER_AGENT_VALUE);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        request
    }

    /// The connections for this generation of the credential.
    fn client(&self, generation: u64) -> Client<Dialer, Full<Bytes>> {
        let mut pool = self.pool.lock();
        if pool.generation == generation {
            return pool.client.clone();
        }
        let client = client(&self.endpoint, self.dialer.clone());
        // A request that was held up with an older credential gets connections of its own.
        if pool.generation < generation {
            *pool = Pool { generation, client: client.clone() };
        }
        client
    }

    fn failed(&self, error: &hyper_util::client::legacy::Error) -> NoAnswer {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            let within = error.downcast_ref::<io::Error>().and_then(|it| it.get_ref()?.downcast_ref());
            match error.downcast_ref::<DialError>().or(within) {
                Some(DialError::Denied(because)) => {
                    return AnswerFailure::Denied(Denied::new(crate::policy::Code::Ip, because.clone())).into();
                }
                Some(DialError::Paused(after)) => return AnswerFailure::Paused(*after).into(),
                Some(DialError::Unreachable(because, cause)) => {
                    let failure = AnswerFailure::Unreachable(because.clone());
                    return NoAnswer { failure, cause: Some(cause.clone()) };
                }
                None => cause = error.source(),
            }
        }
        let failure = if error.is_connect() {
            AnswerFailure::Unreachable(format!("{} cannot be reached: {}", self.name(), Chain(error)))
        } else {
            self.interrupted(format_args!("broke the connection off: {}", Chain(error)))
        };
        NoAnswer::behind(CauseKind::Broken, failure)
    }

    /// A failure whose text may hold something that the other end has said.
    fn without_secrets(&self, failure: AnswerFailure, secrets: &Secrets) -> AnswerFailure {
        let withheld = || format!("{} failed, with words that hold a credential and are withheld", self.name());
        match failure {
            AnswerFailure::Unreachable(text) if secrets.are_in(text.as_bytes()) => {
                AnswerFailure::Unreachable(withheld())
            }
            AnswerFailure::Interrupted(text) if secrets.are_in(text.as_bytes()) => {
                AnswerFailure::Interrupted(withheld())
            }
            failure => failure,
        }
    }

    fn too_late(&self, connection: &CaptureConnection, total: Duration) -> NoAnswer {
        if connection.connection_metadata().is_none() {
            let failure = AnswerFailure::Unreachable(format!("{} was not connected within {total:?}", self.name()));
            let stop = if self.endpoint.proxy.is_some() { Stop::Proxy } else { Stop::Place };
            return NoAnswer { failure, cause: Some(WayCause::new(stop, CauseKind::Dropped)) };
        }
        let failure = self.interrupted(format_args!("had not answered in full after {total:?}"));
        NoAnswer::behind(CauseKind::Silent, failure)
    }

    fn interrupted(&self, what: impl std::fmt::Display) -> AnswerFailure {
        AnswerFailure::Interrupted(format!("{} {what}", self.name()))
    }

    /// The endpoint in a sentence. Never the path or the query.
    fn name(&self) -> String {
        format!("endpoint {} ({})", self.endpoint.name, self.origin)
    }
}

#[async_trait]
impl Transport for Wire {
    async fn send(&self, authenticated: Authenticated) -> Result<CompleteAnswer, AnswerFailure> {
        Self::send(self, authenticated).await.result
    }
}

impl Connect for Outside {
    fn connect(
        &self,
        destination: Destination,
        endpoint: Arc<Endpoint>,
        budget: Arc<EndpointBudget>,
    ) -> Result<Box<dyn Transport>, EgressError> {
        Ok(Box::new(Wire::to(destination, endpoint, self.clone(), budget)?))
    }
}

/// The end of a request without an answer.
struct NoAnswer {
    failure: AnswerFailure,
    /// The cause, if the place was not reached; `None` if it answered something, or nothing was sent.
    cause: Option<WayCause>,
}

impl NoAnswer {
    /// Something at the place itself is in the way.
    fn behind(kind: CauseKind, failure: AnswerFailure) -> Self {
        Self { failure, cause: Some(WayCause::new(Stop::Place, kind)) }
    }
}

impl From<AnswerFailure> for NoAnswer {
    fn from(failure: AnswerFailure) -> Self {
        Self { failure, cause: None }
    }
}

/// Counts how a request has ended among those to its place.
fn conclude(
    attempt: WayAttempt<'_>,
    result: Result<CompleteAnswer, NoAnswer>,
) -> Result<CompleteAnswer, AnswerFailure> {
    let NoAnswer { failure, cause } = match result {
        Ok(answer) => {
            attempt.reached();
            return Ok(answer);
        }
        Err(none) => none,
    };
    match (&failure, cause) {
        (AnswerFailure::Unreachable(text) | AnswerFailure::Interrupted(text), Some(cause)) => {
            attempt.failed(cause, text)
        }
        // It has answered, and not as it should.
        (AnswerFailure::Interrupted(_), None) => attempt.reached(),
        (AnswerFailure::Unreachable(_) | AnswerFailure::Denied(_) | AnswerFailure::Paused(_), _) => drop(attempt),
    }
    Err(failure)
}

fn client(endpoint: &Endpoint, dialer: Dialer) -> Client<Dialer, Full<Bytes>> {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_CONNECTION)
        .pool_max_idle_per_host(endpoint.limits.concurrency)
        .http1_max_headers(HEADERS)
        .http1_max_buf_size(HEAD_BYTES)
        .http2_max_header_list_size(HEAD_BYTES as u32)
        // What a server may leave unread in our memory, and how often it may err.
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_send_buf_size(SEND_BUFFER)
        .http2_max_concurrent_reset_streams(RESETS)
        .http2_max_pending_accept_reset_streams(RESETS)
        .http2_max_local_error_reset_streams(RESETS)
        // A connection whose other end is gone is noticed before a request has waited for its whole time.
        .http2_keep_alive_interval(endpoint.limits.idle)
        .http2_keep_alive_timeout(endpoint.limits.idle)
        .build(dialer)
}

/// Over HTTP/1 the library reads interim answers (1xx) for as long as they come. Over HTTP/2 they are frames, and counted.
fn limit_interim_answers(request: &mut Request<Full<Bytes>>, connection: &CaptureConnection) {
    let (connection, seen) = (connection.clone(), AtomicU32::new(0));
    hyper::ext::on_informational(request, move |_| {
        if seen.fetch_add(1, Relaxed) >= INTERIM_ANSWERS
            && let Some(dialed) = usage::dialed(&connection)
        {
            dialed.usage.close("it sends interim answers without end");
        }
    });
}

pub(crate) fn check_head(headers: &HeaderMap) -> Result<(), &'static str> {
    if headers.len() > HEADERS {
        return Err("answered with more than 100 headers");
    }
    if headers.get_all(CONTENT_ENCODING).iter().any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err("answered with a content-encoding, although it was asked for none");
    }
    if headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err("answered with two lengths");
    }
    Ok(())
}

/// An error with its causes, on one line.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
