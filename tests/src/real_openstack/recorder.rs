//! A proxy before a service, which notes each request.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Client;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// A request, and how it was answered.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The type of the service.
    pub service: &'static str,
    /// GET, POST, …
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// How many bytes its body had.
    pub bytes: usize,
    /// Its body. Null without one.
    pub body: Value,
    /// The token that it was sent with.
    pub token: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The answer. Null where it is no JSON.
    pub answer: Value,
}

impl Asked {
    /// Whether it may have changed something.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// A proxy on loopback, without TLS. It stops when it is dropped.
pub struct Recorder {
    url: String,
    loss: AnswerLoss,
    _task: JoinSet<()>,
}

/// The method and the last segment of the path of the request whose answer is to be lost.
#[derive(Clone, Default)]
struct AnswerLoss(Arc<Mutex<Option<(Method, String)>>>);

impl AnswerLoss {
    /// Whether the answer to this request is to be lost: that of one alone.
    fn takes(&self, method: &Method, path: &str) -> bool {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = path.rsplit('/').next();
        next.take_if(|(of, segment)| of == method && last == Some(segment.as_str())).is_some()
    }
}

/// The requests that all recorders note, in the order of their answers.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Asked>>>);

impl Notes {
    /// The requests that were answered since this was called before.
    #[must_use]
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, asked: Asked) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }
}

impl Recorder {
    /// One before the service of this type at this URL.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn before(kind: &'static str, service: &str, notes: &Notes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port of loopback");
        let url = format!("http://{}", listener.local_addr().expect("the listener is bound"));
        let (notes, service, loss) = (notes.clone(), service.to_owned(), AnswerLoss::default());
        // A service may end an idle connection at the moment in which a request takes it.
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        let mut task = JoinSet::new();
        let losing = loss.clone();
        // A request is noted also where its sender does not wait for the answer: it is passed on beside the connection.
        let (passes, mut passed) = mpsc::unbounded_channel::<(Request, oneshot::Sender<Response>)>();
        task.spawn(async move {
            let mut passing = JoinSet::new();
            while let Some((request, answer)) = passed.recv().await {
                let is_lost = losing.takes(request.method(), request.uri().path());
                let response = pass(client.clone(), (kind, service.clone()), notes.clone(), request);
                passing.spawn(async move {
                    let response = response.await;
                    drop(answer.send(if is_lost { interrupted() } else { response }));
                });
                while passing.try_join_next().is_some() {}
            }
        });
        let serve = move |request: Request| {
            let (answer, answered) = oneshot::channel();
            let is_passed = passes.send((request, answer));
            async move {
                is_passed.expect("the recorder passes requests on as long as it is there");
                answered.await.expect("each request has an answer")
            }
        };
        task.spawn(async move {
            axum::serve(listener, Router::new().fallback(serve)).await.expect("the listener is bound");
        });
        Self { url, loss, _task: task }
    }

    /// Loses the answer to the next request with this method and this last segment of its path: the service has carried it out, and the
    /// connection ends.
    pub fn lose_answer(&self, method: Method, segment: &str) {
        *self.loss.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((method, segment.to_owned()));
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }
}

/// An answer over which the connection ends.
fn interrupted() -> Response {
    Response::new(Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::other("lost, on purpose"))])))
}

async fn pass(client: Client, (kind, service): (&'static str, String), notes: Notes, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the client sends all of it");
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let mut headers = head.headers;
    headers.remove("host");
    let token = headers.get("x-auth-token").and_then(|it| it.to_str().ok()).map(str::to_owned);
    let sent = client.request(head.method.clone(), format!("{service}{target}")).headers(headers);
    let answer = sent.body(body.clone()).send().await;
    // A write that the service did not answer may have been carried out: the notes have it, too.
    let (status, mut headers, bytes) = match answer {
        Ok(answer) => {
            let (status, headers) = (answer.status(), answer.headers().clone());
            (status, headers, answer.bytes().await.unwrap_or_default())
        }
        Err(_) => (StatusCode::BAD_GATEWAY, HeaderMap::new(), "the service does not answer".into()),
    };
    notes.add(Asked {
        service: kind,
        method: head.method,
        target,
        bytes: body.len(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        token,
        status: status.as_u16(),
        answer: serde_json::from_slice(&bytes).unwrap_or_default(),
    });
    headers.remove("transfer-encoding");
    headers.remove("connection");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
