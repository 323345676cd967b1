//! The gate: judges a request, counts it, attaches the credential and sends it.
//!
//! [`policy::permit`] is the only maker of `Permitted`, [`Credentials::authenticate`] the only maker of
//! `Authenticated`, and the wire takes nothing else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use futures::FutureExt as _;

use crate::address::Networks;
use crate::audit::{self, CallId, Entry};
use crate::budget::Budget;
use crate::check;
use crate::credentials::{Authenticated, Credentials};
use crate::endpoint::Endpoint;
use crate::error::GateError;
use crate::metrics::Metrics;
use crate::outcome::{Answer, Failure, Outcome};
use crate::policy::{self, CallState, Denied, Mode, Permitted};
use crate::reads::{Key, Left, Reads};
use crate::request::{GuestRequest, GuestResponse, Method, SendError};
use crate::resolve::{self, Resolve};
use crate::response;
use crate::wire::Wire;
use crate::writes::{self, Demands, Kind, Place, Withheld, WriteLimits, Writes};

/// Whether a request that is not GET or HEAD may leave now: whether this process leads, as far as it knows.
pub type Fence = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a gate is built from.
pub struct GateSettings {
    /// The operator's endpoints.
    pub endpoints: Vec<Endpoint>,
    /// The credentials that they name.
    pub credentials: Credentials,
    /// Asked before every write.
    pub fence: Fence,
    /// Asked before every write, too.
    pub demands: Demands,
    /// Who tells people of writes that are withheld.
    pub withheld: Withheld,
    /// Where a checked address really is: the identity, except in tests, which lead public addresses to loopback.
    pub route: fn(SocketAddr) -> SocketAddr,
}

/// The one way out of the sandbox. Cloning shares it.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    endpoints: Vec<Arc<Endpoint>>,
    /// In the order of `endpoints`.
    states: Vec<EndpointState>,
    credentials: Credentials,
    fence: Fence,
    networks: Arc<Mutex<Arc<Networks>>>,
    metrics: Metrics,
}

/// What an endpoint has of its own while the process runs.
struct EndpointState {
    budget: Arc<Budget>,
    wire: Wire,
    reads: Reads,
    /// Shared by the endpoints with one credential.
    writes: Arc<Writes>,
}

impl Gate {
    /// Builds the gate, with the system's resolver.
    ///
    /// # Errors
    ///
    /// If the endpoints contradict themselves, the credentials, or what no config can allow.
    pub fn new(settings: GateSettings, metrics: Metrics) -> Result<Self, GateError> {
        Self::with_resolver(settings, metrics, Arc::new(resolve::System))
    }

    /// As [`Gate::new`], with another source of addresses. What it answers is checked like the system's answers.
    ///
    /// # Errors
    ///
    /// As [`Gate::new`].
    pub fn with_resolver(
        settings: GateSettings,
        metrics: Metrics,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, GateError> {
        let GateSettings { endpoints, credentials, fence, demands, withheld, route } = settings;
        check::check(&endpoints, &credentials)?;
        let networks = Arc::new(Mutex::new(Arc::new(Networks::default())));
        let endpoints: Vec<_> = endpoints.into_iter().map(Arc::new).collect();
        let mut writes: HashMap<String, Arc<Writes>> = HashMap::new();
        let states = endpoints
            .iter()
            .map(|endpoint| {
                let (whose, limits) = match &endpoint.credential {
                    Some(credential) => (format!("credential {credential}"), credentials.write_limits(credential)),
                    None => (format!("endpoint {}", endpoint.name), WriteLimits::default()),
                };
                let make = || Arc::new(Writes::new(whose.clone(), limits, demands.clone(), withheld.clone()));
                let writes = writes.entry(whose.clone()).or_insert_with(make).clone();
                let budget = Arc::new(Budget::new(&endpoint.limits));
                let wire = Wire::new(endpoint.clone(), networks.clone(), resolver.clone(), route, budget.clone())?;
                Ok(EndpointState { budget, wire, reads: Reads::new(endpoint.limits.reuse), writes })
            })
            .collect::<Result<_, GateError>>()?;
        Ok(Self { inner: Arc::new(Inner { endpoints, states, credentials, fence, networks, metrics }) })
    }

    /// Tells the gate what the cluster is. What comes later replaces what came before.
    pub fn set_networks(&self, networks: Networks) {
        *self.inner.networks.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(networks);
    }

    /// The operator's endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.inner.endpoints.iter().map(|it| &**it)
    }

    /// Another number whenever a credential has changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.inner.credentials.version()
    }

    /// Lets writes leave under this version of the credentials, and no other.
    pub fn approve(&self, version: u64) {
        self.inner.credentials.approve(version);
    }

    #[cfg(test)]
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Whether a text of a guest holds a secret. No guest was ever told one, in a form that is recognised in answers.
    #[must_use]
    pub fn holds_secret(&self, text: &str) -> bool {
        self.inner.credentials.secrets().are_in(text.as_bytes())
    }

    /// Opens the gate for one call of a provider, which may do with it what `mode` says.
    #[must_use]
    pub fn open(&self, call: CallId, mode: Mode) -> GateCall {
        GateCall { gate: self.clone(), call, mode, requests: 0, deletes: 0 }
    }
}

/// The gate as one call of a provider sees it.
pub struct GateCall {
    gate: Gate,
    call: CallId,
    mode: Mode,
    requests: u32,
    deletes: u32,
}

impl GateCall {
    /// Judges a request and, if it may, sends it. Whatever comes of it is in the audit log.
    ///
    /// # Errors
    ///
    /// If there is no answer: refused, not sent, or perhaps carried out.
    pub async fn send(&mut self, request: GuestRequest) -> Result<GuestResponse, SendError> {
        let inner = &self.gate.inner;
        let mut entry = Entry::new(&self.call, &inner.metrics, &request);
        if self.requests > policy::REQUESTS {
            // One line told of it. A guest that goes on must not fill the log.
            entry.mute();
        }
        let state =
            CallState { mode: self.mode, leads: (inner.fence)(), requests: self.requests, deletes: self.deletes };
        self.requests = self.requests.saturating_add(1);
        let permitted = match policy::permit(&inner.endpoints, state, request) {
            Ok(permitted) => permitted,
            Err(denied) => return Err(entry.denied(&denied)),
        };
        if permitted.method() == Method::Delete {
            self.deletes = self.deletes.saturating_add(1);
        }
        entry.permitted(&permitted);
        let (outcome, is_joined) = inner.answer(permitted).await;
        entry.outcome(&outcome, is_joined);
        // A large answer is not kept for others, and so not copied: a call holds one.
        match Arc::try_unwrap(outcome).map_or_else(|shared| shared.answer.clone(), |own| own.answer) {
            Ok(answer) => Ok(response::for_guest(answer, SystemTime::now())),
            Err(failure) => Err(entry.failed(&failure)),
        }
    }
}

impl Inner {
    /// The answer to a request: an equal read's, where there is one.
    async fn answer(self: &Arc<Self>, permitted: Permitted) -> (Arc<Outcome>, bool) {
        let index = self
            .endpoints
            .iter()
            .position(|it| Arc::ptr_eq(it, permitted.endpoint()))
            .expect("the policy was given these endpoints");
        let reads = &self.states[index].reads;
        match permitted.method() {
            Method::Get => {
                let key = Key::new(&permitted, self.credentials.generation(&permitted));
                let inner = self.clone();
                let send =
                    |left| async move { Arc::new(inner.send(&inner.states[index], permitted, &left).await) }.boxed();
                reads.answer(key, send).await
            }
            Method::Head => (Arc::new(self.send(&self.states[index], permitted, &Left::default()).await), false),
            Method::Post | Method::Put | Method::Patch | Method::Delete => {
                let _write = reads.write();
                (Arc::new(self.send(&self.states[index], permitted, &Left::default()).await), false)
            }
        }
    }

    /// Waits for the endpoint's turn, attaches the credential, and sends.
    async fn send(&self, own: &EndpointState, permitted: Permitted, left: &Left) -> Outcome {
        let mut address = None;
        let answer = self.exchange(own, permitted, left, &mut address).await;
        if let Ok(answer) = &answer
            && let Some(pause) = response::pause(answer.status, &answer.headers, SystemTime::now())
        {
            own.budget.pause(pause);
        }
        Outcome { address, answer }
    }

    /// Sends; after a 401 it looks at the credential once, and a read goes out again if the credential has changed.
    async fn exchange(
        &self,
        own: &EndpointState,
        permitted: Permitted,
        left: &Left,
        address: &mut Option<SocketAddr>,
    ) -> Result<Answer, Failure> {
        let _turn = own.budget.turn().await.map_err(Failure::Paused)?;
        left.mark();
        // The turn may have taken a while, and the Lease may be gone.
        policy::may_write((self.fence)(), permitted.method()).map_err(Failure::Denied)?;
        let writes = permitted.method().writes();
        let again = (!writes).then(|| permitted.clone());
        let authenticated = self.credentials.authenticate(permitted).map_err(Failure::Unreachable)?;
        // After the credential was taken: one that came in between has not been approved yet.
        if writes {
            self.credentials.check_approval().map_err(Failure::Unreachable)?;
        }
        let used = authenticated.used();
        // The last thing before it leaves: what is refused before takes no place.
        let kind = writes::kind_of(authenticated.permitted());
        let place = kind.map(|it| self.place(own, &authenticated, it)).transpose().map_err(Failure::Denied)?;
        let answer = self.attempt(own, authenticated, address).await;
        if let Some(place) = place.filter(|_| was_not_carried_out(&answer)) {
            place.give_back();
        }
        let answer = answer?;
        let Some(used) = used.filter(|_| answer.status == http::StatusCode::UNAUTHORIZED) else { return Ok(answer) };
        let is_new = self.credentials.refresh(&used, Instant::now()).await;
        match again {
            Some(permitted) if is_new => {
                let authenticated = self.credentials.authenticate(permitted).map_err(Failure::Unreachable)?;
                self.attempt(own, authenticated, address).await
            }
            Some(_) | None => Ok(answer),
        }
    }

    /// Counts a write among those of its credential.
    fn place<'a>(
        &self,
        own: &'a EndpointState,
        authenticated: &Authenticated,
        kind: Kind,
    ) -> Result<Place<'a>, Denied> {
        let place = own.writes.take(kind, Instant::now());
        if place.is_err() {
            let endpoint = authenticated.permitted().endpoint();
            let credential = endpoint.credential.as_deref().unwrap_or_default();
            self.metrics.writes_withheld.with_label_values(&[credential, &*endpoint.name, kind.as_str()]).inc();
        }
        place
    }

    async fn attempt(
        &self,
        own: &EndpointState,
        authenticated: Authenticated,
        address: &mut Option<SocketAddr>,
    ) -> Result<Answer, Failure> {
        let (endpoint, method) = (authenticated.permitted().endpoint().clone(), authenticated.permitted().method());
        let start = Instant::now();
        let exchange = own.wire.send(authenticated).await;
        *address = exchange.address;
        let status = exchange.result.as_ref().ok().map(|it| it.status);
        audit::attempted(&self.metrics, &endpoint.name, method, status, start.elapsed());
        exchange.result
    }
}

/// Whether a write has certainly changed nothing: it did not leave, or the cloud has refused it.
fn was_not_carried_out(answer: &Result<Answer, Failure>) -> bool {
    match answer {
        Ok(answer) => writes::was_refused(answer.status),
        Err(Failure::Denied(_) | Failure::Paused(_) | Failure::Unreachable(_)) => true,
        Err(Failure::Interrupted(_)) => false,
    }
}
