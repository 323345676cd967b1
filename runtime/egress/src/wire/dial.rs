//! The only place that opens a connection: resolve, check, dial what was checked, shake hands.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::upgrade::Upgraded;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::frames::Metered;
use super::usage::{ConnectionUse, Dialed};
use super::{tls, tunnel};
use crate::address;
use crate::base_url::{CanonicalHost, Scheme};
use crate::budget::EndpointBudget;
use crate::cause::{CauseKind, DialStage, Late, ProxyRefusal, Stop, WayCause};
use crate::credentials::basic_header;
use crate::destination::Destination;
use crate::error::EgressError;
use crate::outside::Outside;
use crate::proxy::{self, Proxy, ProxyLogin};

/// The most addresses of a name that are looked at.
const ADDRESSES: usize = 16;

/// Connects to one destination, and to nothing else: the URI of a request has no say in it.
#[derive(Clone)]
pub(crate) struct Dialer {
    destination: Arc<Destination>,
    outside: Outside,
    budget: Arc<EndpointBudget>,
    /// Absent for `http://`, which is for loopback literals only.
    tls: Option<TlsTo>,
    through: Option<Arc<Through>>,
}

/// TLS towards one name.
type TlsTo = (TlsConnector, ServerName<'static>);

/// The way through a proxy.
struct Through {
    proxy: Proxy,
    destination: Destination,
    /// Absent for `http://`.
    tls: Option<TlsTo>,
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
    /// None answered: the sentence, and what is in the way.
    #[error("{0}")]
    Unreachable(String, WayCause),
}

impl Dialer {
    /// `protocols` are what the client speaks over TLS, the best first.
    pub(crate) fn new(
        destination: Destination,
        outside: Outside,
        budget: Arc<EndpointBudget>,
        protocols: &[&[u8]],
    ) -> Result<Self, EgressError> {
        let through = destination.proxy.as_ref().map(|it| Through::new(it, &destination)).transpose()?;
        let tls = tls_to(&destination, protocols)?;
        Ok(Self { destination: Arc::new(destination), outside, budget, tls, through: through.map(Arc::new) })
    }

    pub(crate) async fn connect(self) -> Result<Stream, DialError> {
        let hop = self.through.as_ref().map_or(&*self.destination, |it| &it.destination);
        if self.through.is_some() {
            self.permit_behind()?;
        }
        let addresses = self.permitted(hop, self.resolve(hop).await?)?;
        let (mut failures, mut causes) = (Vec::new(), Vec::new());
        for address in addresses {
            match self.dial(address).await {
                // The cloud may have asked for a pause meanwhile.
                Ok(stream) => return self.budget.paused().map(|()| stream).map_err(DialError::Paused),
                Err((stop, error)) => {
                    failures.push(format!("{address}: {error}"));
                    causes.push(WayCause::of(stop, &error));
                }
            }
        }
        let cause = WayCause::most_telling(causes).expect("an address was dialled");
        Err(match &self.through {
            None => unreachable(hop, cause, format_args!("cannot be reached: {}", failures.join("; "))),
            Some(through) => unreachable(
                &self.destination,
                cause,
                format_args!("cannot be reached through {}: {}", through.proxy.url, failures.join("; ")),
            ),
        })
    }

    /// Where the first connection leads.
    fn first_stop(&self) -> Stop {
        if self.through.is_some() { Stop::Proxy } else { Stop::Place }
    }

    async fn resolve(&self, hop: &Destination) -> Result<Vec<IpAddr>, DialError> {
        let name = match hop.origin.host() {
            CanonicalHost::Address(address) => return Ok(vec![*address]),
            CanonicalHost::Name(name) => name,
        };
        let limit = hop.resolve;
        let cause = |kind| WayCause::new(self.first_stop(), kind);
        let unknown = || cause(CauseKind::UnknownName);
        match timeout(limit, self.outside.resolver.resolve(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => {
                Err(unreachable(hop, unknown(), "has a name without addresses"))
            }
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => {
                let cause = cause(CauseKind::of_lookup(&error));
                Err(unreachable(hop, cause, format_args!("has a name that does not resolve: {error}")))
            }
            Err(_) => {
                let silent = cause(CauseKind::SilentDns);
                Err(unreachable(hop, silent, format_args!("has a name that did not resolve within {limit:?}")))
            }
        }
    }

    /// Those of the first addresses that may be dialled.
    fn permitted(&self, hop: &Destination, mut addresses: Vec<IpAddr>) -> Result<Vec<SocketAddr>, DialError> {
        addresses.truncate(ADDRESSES);
        let networks = self.outside.networks.lock().clone();
        let Destination { name, origin, .. } = hop;
        let mut refusals = Vec::new();
        addresses.retain(|ip| {
            let judged = address::permit(SocketAddr::new(*ip, origin.port()), hop, &networks);
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

    /// Judges what a proxy is asked for, as far as that can be judged here: it resolves names itself.
    fn permit_behind(&self) -> Result<(), DialError> {
        let Destination { name, origin, .. } = &*self.destination;
        match origin.host() {
            CanonicalHost::Address(address) => self.permitted(&self.destination, vec![*address]).map(|_| ()),
            host => match proxy::inside(host) {
                None => Ok(()),
                Some(kind) => Err(DialError::Denied(format!(
                    "{name} ({origin}) is {kind}, which no proxy is asked for; no config can allow it"
                ))),
            },
        }
    }

    /// Connects to an address that was checked.
    async fn dial(&self, address: SocketAddr) -> Result<Stream, (Stop, io::Error)> {
        let first = |error| (self.first_stop(), error);
        let tcp = self.connected(address).await.map_err(first)?;
        let place = |error| (Stop::Place, error);
        match &self.through {
            None => self.secure(tcp, address).await.map_err(place),
            Some(through) => {
                let upgraded = self.tunnelled(through, tcp).await.map_err(first)?;
                self.secure(upgraded, address).await.map_err(place)
            }
        }
    }

    async fn connected(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let limit = self.destination.connect;
        let tcp = timeout(limit, TcpStream::connect((self.outside.route)(address))).await;
        let tcp = tcp.map_err(|_| Late::error(DialStage::Tcp, limit))??;
        tcp.set_nodelay(true)?;
        Ok(tcp)
    }

    /// Lets the proxy at the other end connect further.
    async fn tunnelled(&self, through: &Through, tcp: TcpStream) -> io::Result<TokioIo<Upgraded>> {
        let limits = &*self.destination;
        let login = authorization(&through.proxy, &limits.name);
        let login = login.map_err(|error| io::Error::other(ProxyRefusal(error.to_string())))?;
        let target = limits.origin.authority_with_port();
        // The proxy resolves and connects meanwhile.
        let limit = limits.resolve + limits.connect;
        let tunnelled = async {
            match shake_hands(&through.tls, limits.tls, tcp).await? {
                Shaken::Plain(tcp) => tunnel::open(tcp, &target, login).await,
                Shaken::Tls(tls) => tunnel::open(*tls, &target, login).await,
            }
        };
        timeout(limits.tls + limit, tunnelled).await.map_err(|_| Late::error(DialStage::ProxyAnswer, limit))?
    }

    /// Shakes hands with what is at the other end.
    async fn secure<T: Bytes + 'static>(&self, io: T, address: SocketAddr) -> io::Result<Stream> {
        let dialed = Dialed { address, usage: ConnectionUse::default() };
        match shake_hands(&self.tls, self.destination.tls, io).await? {
            Shaken::Plain(io) => Ok(Stream::new(io, dialed, Some(self.budget.clone()))),
            Shaken::Tls(stream) if stream.get_ref().1.alpn_protocol() != Some(b"h2") => {
                Ok(Stream::new(*stream, dialed, Some(self.budget.clone())))
            }
            // Over HTTP/2 a request leaves as soon as it has its turn, and what else is written concerns its neighbours.
            Shaken::Tls(stream) => Ok(Stream::new(Metered::new(*stream, dialed.usage.clone()), dialed, None)),
        }
    }
}

impl Through {
    fn new(proxy: &Proxy, behind: &Destination) -> Result<Self, EgressError> {
        let (whose, origin) = (behind.name.clone(), &behind.origin);
        let kind = match origin.is_loopback() || origin.scheme() == Scheme::Http {
            true => Some("loopback"),
            false => proxy::inside(origin.host()),
        };
        if let Some(kind) = kind {
            return Err(EgressError::BehindProxy { whose, origin: origin.to_string(), kind });
        }
        // Said at the start, and not when the first request leaves.
        authorization(proxy, &whose)?;
        let destination = behind.through(proxy);
        let tls = tls_to(&destination, &[b"http/1.1"])?;
        Ok(Self { proxy: proxy.clone(), destination, tls })
    }
}

/// The header `proxy-authorization`, if there is a login.
fn authorization(proxy: &Proxy, whose: &str) -> Result<Option<HeaderValue>, EgressError> {
    let Some(ProxyLogin { user_file, password_file }) = &proxy.login else { return Ok(None) };
    let header = basic_header(user_file, password_file);
    let header =
        header.map_err(|(file, because)| EgressError::ProxyLogin { whose: whose.to_owned(), file, because })?;
    let mut header = HeaderValue::from_str(&header).expect("printable ASCII is a header");
    header.set_sensitive(true);
    Ok(Some(header))
}

/// TLS towards a destination; `None` for `http://`.
fn tls_to(destination: &Destination, protocols: &[&[u8]]) -> Result<Option<TlsTo>, EgressError> {
    match destination.origin.scheme() {
        Scheme::Http => Ok(None),
        Scheme::Https => Ok(Some((tls::connector(destination, protocols)?, destination.origin.host().server_name()))),
    }
}

/// A connection after its handshake, if there is one.
enum Shaken<T> {
    Plain(T),
    Tls(Box<TlsStream<T>>),
}

async fn shake_hands<T: Bytes>(tls: &Option<TlsTo>, limit: Duration, io: T) -> io::Result<Shaken<T>> {
    let Some((connector, name)) = tls else { return Ok(Shaken::Plain(io)) };
    let stream = timeout(limit, connector.connect(name.clone(), io)).await;
    Ok(Shaken::Tls(Box::new(stream.map_err(|_| Late::error(DialStage::Handshake, limit))??)))
}

fn unreachable(hop: &Destination, cause: WayCause, what: impl fmt::Display) -> DialError {
    let Destination { name, origin, .. } = hop;
    DialError::Unreachable(format!("{name} ({origin}) {what}"), cause)
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
    budget: Option<Arc<EndpointBudget>>,
    /// The next write begins a request.
    is_at_rest: bool,
}

trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

impl Stream {
    fn new(io: impl Bytes + 'static, dialed: Dialed, budget: Option<Arc<EndpointBudget>>) -> Self {
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
