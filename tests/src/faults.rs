//! Answers of the API server that a test sets: conflicts, refusals, silence.
//!
//! A layer of the client answers the named requests itself; they never reach the API server, and its audit log does not
//! know them. [`Faults::answered`] does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use kube::Client;
use kube::client::{Body, ClientBuilder};
use regex::Regex;
use serde_json::json;
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

/// Which requests are answered, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The method.
    pub method: Method,
    /// Is looked for in path and query.
    pub path: Regex,
    /// The reply that the client sees.
    pub reply: Reply,
    /// How many requests; `None` for all.
    pub count: Option<u32>,
}

/// The reply that the client sees.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An error of the API server.
    Status {
        /// The HTTP status.
        code: u16,
        /// As in `Conflict`.
        reason: String,
        /// The text.
        message: String,
    },
    /// This body, in JSON, with 200.
    Body(Bytes),
    /// No answer, ever.
    Silence,
    /// The request arrives and does its work; its answer is lost with the connection.
    LostAnswer,
    /// The connection breaks before the request arrives.
    Broken,
    /// The request waits until this is true, and is then answered by the API server.
    Held(watch::Receiver<bool>),
    /// The task that waits for the answer panics.
    Panic,
}

/// A request that was answered here.
#[derive(Clone, Debug)]
pub struct Answered {
    /// When.
    pub time: Timestamp,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// The body as sent.
    pub body: Bytes,
    /// The HTTP status of the answer, if there was one.
    pub code: Option<u16>,
}

/// The faults of one client. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    faults: Vec<Fault>,
    answered: Vec<Answered>,
}

impl Fault {
    /// An error of the API server, for every request of a method whose path and query contain a match.
    ///
    /// # Panics
    ///
    /// Panics if `path` is not a regular expression.
    #[must_use]
    pub fn status(method: Method, path: &str, code: u16, reason: &str, message: &str) -> Fault {
        let reply = Reply::Status { code, reason: reason.to_owned(), message: message.to_owned() };
        Fault::new(method, path, reply)
    }

    /// Any reply, for every request of a method whose path and query contain a match.
    ///
    /// # Panics
    ///
    /// Panics if `path` is not a regular expression.
    #[must_use]
    pub fn new(method: Method, path: &str, reply: Reply) -> Fault {
        Fault { method, path: Regex::new(path).unwrap_or_else(|error| panic!("{path}: {error}")), reply, count: None }
    }

    /// The same, for so many requests only.
    #[must_use]
    pub fn times(mut self, count: u32) -> Fault {
        self.count = Some(count);
        self
    }
}

impl Faults {
    /// None yet.
    #[must_use]
    pub fn new() -> Faults {
        Faults::default()
    }

    /// Adds a fault. Of several that match, the oldest answers.
    pub fn set(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Takes all faults away.
    pub fn clear(&self) {
        self.lock().faults.clear();
    }

    /// The answers given here until now, in order.
    #[must_use]
    pub fn answered(&self) -> Vec<Answered> {
        self.lock().answered.clone()
    }

    /// A client that passes its requests through these faults first.
    ///
    /// # Errors
    ///
    /// Fails if the configuration cannot be used.
    pub fn client(&self, config: kube::Config) -> kube::Result<Client> {
        Ok(ClientBuilder::try_from(config)?.with_layer(self).build())
    }

    fn take(&self, method: &Method, uri: &str) -> Option<Reply> {
        let mut state = self.lock();
        let fault = state
            .faults
            .iter_mut()
            .find(|fault| fault.count != Some(0) && fault.method == *method && fault.path.is_match(uri))?;
        fault.count = fault.count.map(|count| count - 1);
        Some(fault.reply.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Layer<S> for Faults {
    type Service = Answering<S>;

    fn layer(&self, inner: S) -> Answering<S> {
        Answering { inner, faults: self.clone() }
    }
}

/// The service that [`Faults`] makes.
#[derive(Clone, Debug)]
pub struct Answering<S> {
    inner: S,
    faults: Faults,
}

impl<S, B> Service<Request<Body>> for Answering<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let uri = request.uri().path_and_query().map_or("", |it| it.as_str());
        let Some(reply) = self.faults.take(request.method(), uri) else {
            let response = self.inner.call(request);
            return Box::pin(async { Ok(response.await.map_err(Into::into)?.map(boxed)) });
        };
        let faults = self.faults.clone();
        let mut answered = Answered {
            time: Timestamp::now(),
            method: request.method().clone(),
            uri: uri.to_owned(),
            body: Bytes::new(),
            code: None,
        };
        match reply {
            Reply::Held(mut free) => {
                // It is sent when it is first polled.
                let response = self.inner.call(request);
                Box::pin(async move {
                    faults.lock().answered.push(answered);
                    free.wait_for(|it| *it).await?;
                    Ok(response.await.map_err(Into::into)?.map(boxed))
                })
            }
            Reply::LostAnswer => {
                let response = self.inner.call(request);
                Box::pin(async move {
                    let response = response.await.map_err(Into::into)?;
                    answered.code = Some(response.status().as_u16());
                    faults.lock().answered.push(answered);
                    Err("connection closed before message completed".into())
                })
            }
            reply => Box::pin(async move {
                answered.body = request.into_body().collect().await?.to_bytes();
                answered.code = match &reply {
                    Reply::Status { code, .. } => Some(*code),
                    Reply::Body(_) => Some(200),
                    Reply::Silence | Reply::LostAnswer | Reply::Broken | Reply::Held(_) | Reply::Panic => None,
                };
                faults.lock().answered.push(answered);
                match reply {
                    Reply::Status { code, reason, message } => Ok(status(code, &reason, &message)?),
                    Reply::Body(body) => Ok(json_response(StatusCode::OK, body)?),
                    Reply::Silence => std::future::pending().await,
                    Reply::Panic => panic!("a fault of this test"),
                    Reply::LostAnswer | Reply::Broken | Reply::Held(_) => Err("connection reset by peer".into()),
                }
            }),
        }
    }
}

fn status(code: u16, reason: &str, message: &str) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, http::Error> {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    json_response(StatusCode::from_u16(code)?, body.to_string().into())
}

fn json_response(code: StatusCode, body: Bytes) -> Result<Response<UnsyncBoxBody<Bytes, BoxError>>, http::Error> {
    let response = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
    response.body(boxed(Full::from(body)))
}

fn boxed<B>(body: B) -> UnsyncBoxBody<Bytes, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;

    fn client(faults: &Faults) -> Client {
        let server = tower::service_fn(|request: Request<Body>| async move {
            let node = json!({ "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": request.uri().path() } });
            Ok::<_, BoxError>(Response::new(Body::from(node.to_string().into_bytes())))
        });
        let builder = ClientBuilder::new(server, "default");
        builder.with_layer(faults).build()
    }

    #[tokio::test]
    async fn a_fault_answers_as_often_as_it_says() {
        let faults = Faults::new();
        let path = "/nodes/n1(\\?|$)";
        faults.set(Fault::status(Method::GET, path, 409, "Conflict", "no").times(1));
        let nodes: Api<Node> = Api::all(client(&faults));

        nodes.get("n10").await.unwrap();
        let Err(kube::Error::Api(status)) = nodes.get("n1").await else {
            panic!("not answered");
        };
        assert!(status.is_conflict());
        assert_eq!(status.message, "no");
        nodes.get("n1").await.unwrap();

        let answered = faults.answered();
        assert_eq!(answered.len(), 1);
        assert_eq!(answered[0].uri, "/api/v1/nodes/n1");
        assert_eq!(answered[0].code, Some(409));
    }

    #[tokio::test]
    async fn another_method_passes() {
        let faults = Faults::new();
        faults.set(Fault::status(Method::PUT, "nodes", 500, "", ""));
        let nodes: Api<Node> = Api::all(client(&faults));
        nodes.get("n1").await.unwrap();
    }

    #[tokio::test]
    async fn a_broken_connection_is_an_error_of_the_client() {
        let faults = Faults::new();
        for reply in [Reply::Broken, Reply::LostAnswer] {
            faults.clear();
            faults.set(Fault::new(Method::GET, "nodes", reply));
            let nodes: Api<Node> = Api::all(client(&faults));
            let error = nodes.get("n1").await.unwrap_err();
            assert!(!matches!(error, kube::Error::Api(_)), "{error:?}");
        }
    }
}
