//! Requests of the host itself to what is no endpoint of a provider, such as a registry of modules: one connection for each
//! request, through the dialer and the address filter of the egress. Nothing is followed, nothing is sent twice.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::time::timeout;

use crate::address::KnownNetworks;
use crate::addresses::AllowedAddresses;
use crate::base_url::Origin;
use crate::body::{GrowingBody, Withheld};
use crate::budget::EndpointBudget;
use crate::credentials::Secrets;
use crate::destination::Destination;
use crate::endpoint::EndpointLimits;
use crate::error::EgressError;
use crate::outside::Outside;
use crate::proxy::Proxy;
use crate::reach::Reach;
use crate::resolve::{self, Resolve};
use crate::transfer::{CountedBody, Transfer};
use crate::validity;
use crate::wire::dial::{DialError, Dialer};
use crate::wire::head::{HEAD_BYTES, HEADERS, USER_AGENT_VALUE};
use crate::wire::{Chain, HOLDS_SECRET, check_head};

/// The addresses that the host itself may reach, and how fast they have to answer.
#[derive(Clone)]
pub struct FetchSettings {
    /// How messages call it, and where the operator writes about it.
    pub name: String,
    /// The origins that the operator wrote. An address literal in any other is not meant by anybody.
    pub written: Vec<Origin>,
    /// Which addresses all hosts may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which all is reached.
    pub proxy: Option<Proxy>,
    /// The cluster's networks, as far as they are known.
    pub networks: KnownNetworks,
    /// Where addresses come from; without it, from the system.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Where a checked address really is: the identity, except in tests.
    pub route: fn(SocketAddr) -> SocketAddr,
    /// Times of connections and answers. Rates and numbers are ignored.
    pub limits: EndpointLimits,
}

/// Sends requests of the host itself.
#[derive(Clone)]
pub struct Fetch {
    settings: Arc<FetchSettings>,
    outside: Outside,
}

/// A request of the host itself.
pub struct FetchRequest {
    /// The method.
    pub method: http::Method,
    /// Where to.
    pub origin: Origin,
    /// The path, with its query if there is one, as it is sent.
    pub target: String,
    /// Beside those that every request has.
    pub headers: HeaderMap,
    /// The body, of the type that `headers` say; often nothing.
    pub body: Bytes,
    /// The most bytes of a successful answer.
    pub limit: usize,
    /// Counts what is sent and read.
    pub transfer: Transfer,
    /// The secrets that no answer may hold, and no line of the log.
    pub secrets: Secrets,
    /// The body of a successful answer is held against a digest: it was chosen before, and may hold any word.
    pub is_pinned: bool,
}

/// An answer.
#[derive(Debug)]
pub struct FetchAnswer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, if the status is one of success; any other is not read.
    pub body: Vec<u8>,
}

/// Why there is no answer. Each is a sentence that names who was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FetchError {
    /// The address is forbidden to all.
    #[error("{0}")]
    Denied(String),
    /// The server does not answer, or the connection fails.
    #[error("{0}")]
    Unreachable(String),
    /// The answer is none: cut off, too slow, too large, or against the rules.
    #[error("{0}")]
    Broken(String),
}

impl Fetch {
    /// Looks at what the operator wrote; sends nothing.
    ///
    /// # Errors
    ///
    /// If the certificate authorities cannot be read.
    pub fn new(settings: FetchSettings) -> Result<Self, EgressError> {
        let outside = Outside {
            networks: Arc::new(Mutex::new(Arc::new(settings.networks.clone()))),
            resolver: settings.resolver.clone().unwrap_or_else(|| Arc::new(resolve::System)),
            route: settings.route,
            reach: Reach::default(),
        };
        let fetch = Self { settings: Arc::new(settings), outside };
        for origin in &fetch.settings.written {
            fetch.dialer(origin)?;
        }
        if let Some(file) = &fetch.settings.ca_file {
            let whose = fetch.settings.name.clone();
            check_validity(file).map_err(|source| EgressError::CaFile { whose, file: file.clone(), source })?;
        }
        Ok(fetch)
    }

    /// Sends a request once. Whatever comes of it is in the audit log, without the query.
    ///
    /// # Errors
    ///
    /// If there is no complete answer within the limits.
    pub async fn send(&self, request: FetchRequest) -> Result<FetchAnswer, FetchError> {
        let proxy = self.settings.proxy.as_ref().map(|it| it.url.to_string());
        let mut entry = FetchLine::new(&self.settings.name, proxy, &request);
        let total = self.settings.limits.total;
        let late =
            || FetchError::Broken(self.sentence(&request.origin, format_args!("did not answer within {total:?}")));
        let result = timeout(total, self.exchange(&request, &mut entry)).await.unwrap_or_else(|_| Err(late()));
        let result = result.map_err(|it| self.without_secrets(it, &request));
        match &result {
            Ok(answer) => entry.status = Some(answer.status.as_u16()),
            Err(error) => entry.error = Some(error.to_string()),
        }
        result
    }

    async fn exchange(&self, request: &FetchRequest, entry: &mut FetchLine<'_>) -> Result<FetchAnswer, FetchError> {
        let origin = &request.origin;
        let broken = |what: std::fmt::Arguments<'_>| FetchError::Broken(self.sentence(origin, what));
        let limits = &self.settings.limits;
        let dialer = self.dialer(origin).map_err(|error| FetchError::Denied(Chain(&error).to_string()))?;
        let stream = dialer.connect().await.map_err(|error| match error {
            DialError::Denied(because) => FetchError::Denied(because),
            DialError::Unreachable(because, _) => FetchError::Unreachable(because),
            DialError::Paused(_) => FetchError::Unreachable(self.sentence(origin, format_args!("is paused"))),
        })?;
        entry.address = Some(stream.address());
        let broke_off = |error: &hyper::Error| broken(format_args!("broke the connection off: {}", Chain(error)));
        let mut client = http1::Builder::new();
        let (mut sender, connection) = client
            .max_headers(HEADERS)
            .max_buf_size(HEAD_BYTES)
            .handshake(stream)
            .await
            .map_err(|error| broke_off(&error))?;
        tokio::pin!(connection);
        let request_on_wire = on_wire(request).map_err(|what| broken(format_args!("{what}")))?;
        let answer = async {
            let head = timeout(limits.first_byte, sender.send_request(request_on_wire)).await;
            let head =
                head.map_err(|_| broken(format_args!("did not begin to answer within {:?}", limits.first_byte)))?;
            self.read(request, head.map_err(|error| broke_off(&error))?).await
        };
        tokio::pin!(answer);
        // The connection ends with the exchange: nothing else is sent on it, and nothing more is read from it.
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            ended = &mut connection => match ended {
                // What has arrived by then may be all of the answer.
                Ok(()) => answer.await,
                Err(error) => match timeout(Duration::ZERO, answer).await {
                    Ok(answer) => answer,
                    Err(_) => Err(broke_off(&error)),
                },
            },
        }
    }

    async fn read(&self, request: &FetchRequest, response: Response<Incoming>) -> Result<FetchAnswer, FetchError> {
        let broken = |what: std::fmt::Arguments<'_>| FetchError::Broken(self.sentence(&request.origin, what));
        let (head, mut body) = response.into_parts();
        check_head(&head.headers).map_err(|it| broken(format_args!("{it}")))?;
        let withheld = |why| match why {
            Withheld::TooLarge => {
                broken(format_args!("answered with more than the {} bytes that are awaited", request.limit))
            }
            Withheld::HoldsSecret => broken(format_args!("{HOLDS_SECRET}")),
        };
        if request.secrets.are_in_head(&head.headers) {
            return Err(withheld(Withheld::HoldsSecret));
        }
        let answer = |body| Ok(FetchAnswer { status: head.status, headers: head.headers, body });
        if !head.status.is_success() {
            return answer(Vec::new());
        }
        let length = body.size_hint().lower();
        let secrets = if request.is_pinned { Secrets::default() } else { request.secrets.clone() };
        let mut read = GrowingBody::new(length, request.limit, secrets).map_err(withheld)?;
        let idle = self.settings.limits.idle;
        while let Some(frame) = timeout(idle, body.frame())
            .await
            .map_err(|_| broken(format_args!("stopped for {idle:?} within its answer")))?
        {
            let frame = frame.map_err(|error| broken(format_args!("cut its answer off: {}", Chain(&error))))?;
            let Ok(data) = frame.into_data() else { continue };
            read.push(&data).await.map_err(withheld)?;
            request.transfer.add(data.len());
        }
        answer(read.finish().await.map_err(withheld)?)
    }

    fn dialer(&self, origin: &Origin) -> Result<Dialer, EgressError> {
        let FetchSettings { name, written, addresses, ca_file, proxy, limits, .. } = &*self.settings;
        let destination = Destination {
            name: name.clone(),
            origin: origin.clone(),
            is_written: written.contains(origin),
            is_key_source: false,
            addresses: addresses.clone(),
            ca_file: ca_file.clone(),
            client_certificate: None,
            proxy: proxy.clone(),
            resolve: limits.resolve,
            connect: limits.connect,
            tls: limits.tls,
        };
        Dialer::new(destination, self.outside.clone(), Arc::new(EndpointBudget::new(limits)), &[b"http/1.1"])
    }

    /// An error whose text may hold something that the other end has said.
    fn without_secrets(&self, error: FetchError, request: &FetchRequest) -> FetchError {
        let withheld = || {
            self.sentence(&request.origin, format_args!("failed, with words that hold a credential and are withheld"))
        };
        match error {
            FetchError::Denied(text) if request.secrets.are_in(text.as_bytes()) => FetchError::Denied(withheld()),
            FetchError::Unreachable(text) if request.secrets.are_in(text.as_bytes()) => {
                FetchError::Unreachable(withheld())
            }
            FetchError::Broken(text) if request.secrets.are_in(text.as_bytes()) => FetchError::Broken(withheld()),
            error => error,
        }
    }

    fn sentence(&self, origin: &Origin, what: std::fmt::Arguments<'_>) -> String {
        format!("{} ({origin}) {what}", self.settings.name)
    }
}

/// Refuses a file whose authorities have all expired: certificates are checked against their keys alone.
fn check_validity(file: &std::path::Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let now = SystemTime::now();
    let mut is_valid = false;
    for certificate in CertificateDer::pem_file_iter(file)? {
        // What cannot be read here is judged by whoever reads all of it.
        is_valid |= validity::end(&certificate?).is_none_or(|end| now <= end);
    }
    if is_valid { Ok(()) } else { Err("its certificate has expired".into()) }
}

fn on_wire(request: &FetchRequest) -> Result<Request<CountedBody>, &'static str> {
    let target: PathAndQuery = request.target.parse().map_err(|_| "is to be asked for what is no path")?;
    let authority = request.origin.authority();
    let host = HeaderValue::from_str(authority.as_str()).map_err(|_| "has a host that is no header")?;
    let mut headers = request.headers.clone();
    headers.insert(HOST, host);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, USER_AGENT_VALUE);
    let mut built = Request::new(CountedBody::new(request.body.clone(), request.transfer.clone()));
    *built.method_mut() = request.method.clone();
    *built.uri_mut() = target.into();
    *built.headers_mut() = headers;
    Ok(built)
}

/// The record of one request. The line is written when it is dropped.
struct FetchLine<'a> {
    name: &'a str,
    origin: String,
    method: http::Method,
    path: String,
    begin: Instant,
    address: Option<SocketAddr>,
    /// The proxy, whose address that is.
    proxy: Option<String>,
    status: Option<u16>,
    error: Option<String>,
}

impl<'a> FetchLine<'a> {
    fn new(name: &'a str, proxy: Option<String>, request: &FetchRequest) -> Self {
        let path = request.target.split('?').next().unwrap_or_default();
        // Whoever sends us elsewhere says the path.
        let path = if request.secrets.are_in(path.as_bytes()) { "(it holds a credential)" } else { path };
        Self {
            name,
            origin: request.origin.to_string(),
            method: request.method.clone(),
            path: cloud_provider::printable(path, PATH_CHARACTERS),
            begin: Instant::now(),
            address: None,
            proxy,
            status: None,
            error: None,
        }
    }
}

/// The longest path in a line.
const PATH_CHARACTERS: usize = 512;

impl Drop for FetchLine<'_> {
    fn drop(&mut self) {
        tracing::info!(
            target: "audit",
            what = self.name,
            origin = self.origin,
            method = self.method.as_str(),
            path = self.path,
            status = self.status,
            address = self.address.map(tracing::field::display),
            proxy = self.proxy,
            duration_ms = self.begin.elapsed().as_millis() as u64,
            error = self.error,
        );
    }
}
