//! HTTP over TLS: connections, and answers that may break off.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::Cloud;
use super::admin::Admin;
use super::handler::{Handler, Outcome};
use super::hold::Life;
use super::record::{Authorization, Recorded, RequestFields};

/// Serves until it is dropped.
pub(super) async fn serve<C: Cloud>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    handler: Arc<Handler<C>>,
) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, TlsAcceptor::from(Arc::clone(&tls)), Arc::clone(&handler)));
                }
                Err(error) => handler.violation(format!("the simulator cannot accept a connection: {error}")),
            },
            Some(ended) = connections.join_next() => note_panic(&handler, ended),
        }
    }
}

async fn connection<C: Cloud>(stream: TcpStream, tls: TlsAcceptor, handler: Arc<Handler<C>>) {
    // Otherwise a small answer waits for the acknowledgement of the one before it, which the client delays.
    let _ = stream.set_nodelay(true);
    let life = handler.turnstile.live();
    // A client that does not trust the certificate, or breaks off, reports the error itself.
    let Ok(stream) = tls.accept(stream).await else { return };
    speak(stream, handler, life, None).await;
}

/// Serves plain HTTP with the routes of [`Admin`] beside the cloud's own, until it is dropped.
pub(super) async fn serve_plain<C: Cloud>(
    listener: TcpListener,
    handler: Arc<Handler<C>>,
    admin: Arc<dyn Admin>,
) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let life = handler.turnstile.live();
                    connections.spawn(speak(stream, Arc::clone(&handler), life, Some(Arc::clone(&admin))));
                }
                Err(error) => handler.violation(format!("the simulator cannot accept a connection: {error}")),
            },
            Some(ended) = connections.join_next() => note_panic(&handler, ended),
        }
    }
}

/// Answers the requests of one connection.
async fn speak<C: Cloud>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    handler: Arc<Handler<C>>,
    life: Life,
    admin: Option<Arc<dyn Admin>>,
) {
    let mut until = life.clone();
    let streams = Streams { tasks: Arc::default(), handler: Arc::clone(&handler) };
    let service = service_fn(|request: Request<Incoming>| {
        let (handler, life, admin) = (Arc::clone(&handler), life.clone(), admin.clone());
        async move {
            match admin.filter(|it| it.owns(request.uri().path())) {
                Some(admin) => administer(request, &*admin).await,
                None => respond(request, handler, life).await,
            }
        }
    });
    let server = auto::Builder::new(streams);
    tokio::select! {
        _ = server.serve_connection(TokioIo::new(stream), service) => {}
        () = until.end() => {}
    }
}

/// Answers one request of whoever tries a provider.
async fn administer(request: Request<Incoming>, admin: &dyn Admin) -> io::Result<Response<Written>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let answer = admin.answer(&head.method, head.uri.path(), &body);
    let mut response = Response::new(Written::new(answer.body.into(), true));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// Answers one request. An error ends the connection (in HTTP/2: the stream) without an answer.
async fn respond<C: Cloud>(
    request: Request<Incoming>,
    handler: Arc<Handler<C>>,
    life: Life,
) -> io::Result<Response<Written>> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let authorization = match head.headers.remove(AUTHORIZATION) {
        value if C::JUDGES => {
            let value = value.as_ref().map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
            Authorization::Judged(value.unwrap_or_default())
        }
        None => Authorization::Absent,
        Some(value) => Authorization::Refused(String::from_utf8_lossy(value.as_bytes()).into_owned()),
    };
    let query = url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
    let request = Recorded::from(RequestFields {
        at: SystemTime::now(),
        method: head.method,
        path: head.uri.path().to_owned(),
        target: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        query: query.into_owned().collect(),
        headers: head.headers,
        authorization,
        body: body.to_vec(),
        status: None,
        fault: None,
        took: None,
    });
    let (answer, complete) = match handler.answer(request, &life).await {
        Outcome::Whole(answer) => (answer, true),
        Outcome::Half(answer) => (answer, false),
        Outcome::Nothing => return Err(io::Error::other("no answer, on purpose")),
    };
    let mut response = Response::new(Written::new(answer.body.into(), complete));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// A body that is written as a whole, or breaks off in the middle of what it announced.
struct Written {
    length: u64,
    chunk: Option<Bytes>,
    end: End,
}

enum End {
    Complete,
    /// Wait once, so that what was written leaves the buffer.
    Flush,
    Cut,
}

impl Written {
    fn new(mut body: Bytes, complete: bool) -> Written {
        let length = body.len() as u64;
        if complete {
            return Written { length, chunk: Some(body), end: End::Complete };
        }
        body.truncate(body.len() / 2);
        Written { length, chunk: Some(body), end: End::Flush }
    }
}

impl Body for Written {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(chunk) = self.chunk.take() {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        match self.end {
            End::Complete => Poll::Ready(None),
            End::Flush => {
                self.end = End::Cut;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            End::Cut => Poll::Ready(Some(Err(io::Error::other("half an answer, on purpose")))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// Owns the tasks of one connection's HTTP/2 streams: they end with it.
struct Streams<C> {
    tasks: Arc<Mutex<JoinSet<()>>>,
    handler: Arc<Handler<C>>,
}

// Derived, it would ask for a cloud that can be cloned.
impl<C> Clone for Streams<C> {
    fn clone(&self) -> Streams<C> {
        Streams { tasks: Arc::clone(&self.tasks), handler: Arc::clone(&self.handler) }
    }
}

impl<C: Cloud, F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Streams<C> {
    fn execute(&self, stream: F) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = tasks.try_join_next() {
            note_panic(&self.handler, ended);
        }
        tasks.spawn(async move {
            stream.await;
        });
    }
}

/// Records a panic of the simulator: the test must not take the missing answer for an outage of the cloud.
fn note_panic<C: Cloud>(handler: &Handler<C>, ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        handler.violation(format!("the simulator panicked: {error}"));
    }
}
