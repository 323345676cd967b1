//! The only place that opens a connection: resolve, check, dial what was checked, shake hands.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::frames::Metered;
use super::tls;
use super::usage::{ConnectionUse, Dialed};
use crate::address;
use crate::base_url::{Host, Scheme};
use crate::budget::Budget;
use crate::destination::Destination;
use crate::error::EgressError;
use crate::outside::Outside;

/// The most addresses of a name that are looked at.
const ADDRESSES: usize = 16;

/// Connects to one destination, and to nothing else: the URI of a request has no say in it.
#[derive(Clone)]
pub(crate) struct Dialer {
    destination: Arc<Destination>,
    outside: Outside,
    budget: Arc<Budget>,
    /// Absent for `http://`, which is for loopback literals only.
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// Why there is no connection, or nothing may begin on the one that there is.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// No address may be dialled.
    #[error("{0}")]
    Denied(String),
    /// The endpoint is to be left alone for so long.
    #[error("not before {0:?} from now")]
    Paused(Duration),
    /// None answered.
    #[error("{0}")]
    Unreachable(String),
}

impl Dialer {
    /// `protocols` are what the client speaks over TLS, the best first.
    pub(crate) fn new(
        destination: Destination,
        outside: Outside,
        budget: Arc<Budget>,
        protocols: &[&[u8]],
    ) -> Result<Self, EgressError> {
        let origin = &destination.origin;
        let tls = match origin.scheme() {
            Scheme::Http => None,
            Scheme::Https => Some((tls::connector(&destination, protocols)?, origin.host().server_name())),
        };
        Ok(Self { destination: Arc::new(destination), outside, budget, tls })
    }

    pub(crate) async fn connect(self) -> Result<Stream, DialError> {
        let addresses = self.permitted(self.resolve().await?)?;
        let mut failures = Vec::new();
        for address in addresses {
            match self.dial(address).await {
                // The cloud may have asked for a pause meanwhile.
                Ok(stream) => return self.budget.paused().map(|()| stream).map_err(DialError::Paused),
                Err(error) => failures.push(format!("{address}: {error}")),
            }
        }
        Err(self.unreachable(format_args!("cannot be reached: {}", failures.join("; "))))
    }

    async fn resolve(&self) -> Result<Vec<IpAddr>, DialError> {
        let name = match self.destination.origin.host() {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let limit = self.destination.resolve;
        match timeout(limit, self.outside.resolver.resolve(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(self.unreachable("has a name without addresses")),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(self.unreachable(format_args!("has a name that does not resolve: {error}"))),
            Err(_) => Err(self.unreachable(format_args!("has a name that did not resolve within {limit:?}"))),
        }
    }

    /// Those of the first addresses that may be dialled.
    fn permitted(&self, mut addresses: Vec<IpAddr>) -> Result<Vec<SocketAddr>, DialError> {
        addresses.truncate(ADDRESSES);
        let networks = self.outside.networks.lock().clone();
        let Destination { name, origin, .. } = &*self.destination;
        let mut refusals = Vec::new();
        addresses.retain(|ip| {
            let judged = address::permit(SocketAddr::new(*ip, origin.port()), &self.destination, &networks);
            judged.map_err(|because| refusals.push(format!("{ip}, {because}"))).is_ok()
        });
        if addresses.is_empty() {
            let refused = refusals.first().map_or("no address", String::as_str);
            return Err(DialError::Denied(format!("{name} ({origin}) is at {refused}")));
        }
        if !refusals.is_empty() {
            tracing::warn!("addresses of {name} are left out: {}", refusals.join("; "));
        }
        Ok(addresses.into_iter().map(|ip| SocketAddr::new(ip, origin.port())).collect())
    }

    /// Connects to an address that was checked.
    async fn dial(&self, address: SocketAddr) -> io::Result<Stream> {
        let limits = &*self.destination;
        let late = |what: &str, limit| io::Error::new(io::ErrorKind::TimedOut, format!("no {what} within {limit:?}"));
        let tcp = timeout(limits.connect, TcpStream::connect((self.outside.route)(address)))
            .await
            .map_err(|_| late("connection", limits.connect))??;
        tcp.set_nodelay(true)?;
        let dialed = Dialed { address, usage: ConnectionUse::default() };
        let Some((tls, name)) = &self.tls else {
            return Ok(Stream::new(tcp, dialed, Some(self.budget.clone())));
        };
        let stream = timeout(limits.tls, tls.connect(name.clone(), tcp))
            .await
            .map_err(|_| late("TLS handshake", limits.tls))??;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Ok(Stream::new(stream, dialed, Some(self.budget.clone())));
        }
        // Over HTTP/2 a request leaves as soon as it has its turn, and what else is written concerns its neighbours.
        Ok(Stream::new(Metered::new(stream, dialed.usage.clone()), dialed, None))
    }

    fn unreachable(&self, what: impl fmt::Display) -> DialError {
        let Destination { name, origin, .. } = &*self.destination;
        DialError::Unreachable(format!("{name} ({origin}) {what}"))
    }
}

impl tower::Service<http::Uri> for Dialer {
    type Response = Stream;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

/// A connection to a checked address.
pub(crate) struct Stream {
    io: TokioIo<Box<dyn Bytes>>,
    dialed: Dialed,
    /// The budget of HTTP/1: asked before a request begins, which may have waited for this connection since before a pause.
    budget: Option<Arc<Budget>>,
    /// The next write begins a request.
    is_at_rest: bool,
}

trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

impl Stream {
    fn new(io: impl Bytes + 'static, dialed: Dialed, budget: Option<Arc<Budget>>) -> Self {
        Self { io: TokioIo::new(Box::new(io)), dialed, budget, is_at_rest: true }
    }
}

impl Stream {
    /// The checked address at its other end.
    pub(crate) fn address(&self) -> SocketAddr {
        self.dialed.address
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.dialed.clone());
        if self.budget.is_none() { connected.negotiated_h2() } else { connected }
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.dialed.usage.check_reading(context)?;
        let poll = Pin::new(&mut self.io).poll_read(context, into);
        self.is_at_rest |= poll.is_ready();
        poll
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.dialed.usage.check_writing(context)?;
        if self.is_at_rest
            && let Some(Err(after)) = self.budget.as_ref().map(|it| it.paused())
        {
            return Poll::Ready(Err(io::Error::other(DialError::Paused(after))));
        }
        self.is_at_rest = false;
        Pin::new(&mut self.io).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.dialed.usage.check_writing(context)?;
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.dialed.usage.check_writing(context)?;
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
