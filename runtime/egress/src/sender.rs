//! Sends what the policy let through: an equal read's answer serves, the endpoint's turn is waited for, the credential is
//! attached, and a write is counted.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use budgets::{WriteKind, WriteLimits};
use cloud_provider::Freshness;
use futures::FutureExt as _;
use parking_lot::Mutex;
use token_bucket::TokenBucket;

use crate::address::KnownNetworks;
use crate::audit;
use crate::budget::{EndpointBudget, PAUSE};
use crate::check;
use crate::credentials::{Authenticated, Credentials, NotAuthorized};
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::list_reads::ListReads;
use crate::metrics::Metrics;
use crate::outcome::{AnswerFailure, CompleteAnswer, RequestOutcome};
use crate::outside::Outside;
use crate::policy::{self, Code, Denied, Permitted};
use crate::reach::Reach;
use crate::reads::{Left, ReadKey, Reads};
use crate::reports::{Report, Reports};
use crate::request::Method;
use crate::resolve::Resolve;
use crate::response;
use crate::seen::Ending;
use crate::settings::{EgressSettings, Fence};
use crate::ways::EndpointWays;
use crate::write_counts::WriteCounts;
use crate::writes::{self, CountedWrite, NotTaken, Records, Writes};

/// How often people are informed, for each endpoint, that the provider has stopped it.
const PAUSE_REPORTS: Duration = Duration::from_secs(600);
/// After how long a write is tried again for which no record could be stored.
const UNRECORDED: Duration = Duration::from_secs(2);

/// All endpoints, and what is known of them while the process runs.
pub(crate) struct Sender {
    pub(crate) endpoints: Vec<Arc<Endpoint>>,
    /// In the order of `endpoints`.
    states: Vec<EndpointState>,
    pub(crate) credentials: Credentials,
    pub(crate) fence: Fence,
    networks: Arc<Mutex<Arc<KnownNetworks>>>,
    reports: Reports,
    pub(crate) metrics: Metrics,
    pub(crate) write_counts: WriteCounts,
    pub(crate) reach: Reach,
}

/// An endpoint's state while the process runs.
struct EndpointState {
    budget: Arc<EndpointBudget>,
    ways: EndpointWays,
    reads: Reads,
    /// Shared by the endpoints with one credential.
    writes: Arc<Writes>,
    /// How often people are informed that the provider has stopped it.
    pauses: Mutex<TokenBucket>,
}

impl Sender {
    pub(crate) fn new(
        settings: EgressSettings,
        metrics: Metrics,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, EgressError> {
        let EgressSettings { endpoints, credentials, fence, demands, reports, route } = settings;
        check::check(&endpoints, &credentials)?;
        let networks = Arc::new(Mutex::new(Arc::new(KnownNetworks::default())));
        let reach = Reach::default();
        let outside = Outside { networks: networks.clone(), resolver, route, reach: reach.clone() };
        credentials.connect(&outside)?;
        let endpoints: Vec<_> = endpoints.into_iter().map(Arc::new).collect();
        let mut writes: HashMap<String, Arc<Writes>> = HashMap::new();
        let records = Arc::<Records>::default();
        let states = endpoints
            .iter()
            .map(|endpoint| {
                let (whose, limits) = match &endpoint.credential {
                    Some(credential) => (format!("credential {credential}"), credentials.write_limits(credential)),
                    None => (format!("endpoint {}", endpoint.name), WriteLimits::default()),
                };
                let (demands, reports, records) = (demands.clone(), reports.clone(), records.clone());
                let make = || Arc::new(Writes::new(whose.clone(), limits, demands, reports, records));
                let writes = writes.entry(whose.clone()).or_insert_with(make).clone();
                let budget = Arc::new(EndpointBudget::new(&endpoint.limits));
                let ways = EndpointWays::new(endpoint, &outside, &budget)?;
                let pauses = Mutex::new(TokenBucket::new(PAUSE_REPORTS, 1, tokio::time::Instant::now()));
                Ok(EndpointState { budget, ways, reads: Reads::new(endpoint.limits.reuse), writes, pauses })
            })
            .collect::<Result<_, EgressError>>()?;
        let write_counts = WriteCounts::new(writes.into_values().collect(), records);
        Ok(Self { endpoints, states, credentials, fence, networks, reports, metrics, write_counts, reach })
    }

    pub(crate) fn set_networks(&self, networks: KnownNetworks) {
        *self.networks.lock() = Arc::new(networks);
    }

    /// Stops an endpoint for a while, an hour at most, and slows it down afterwards. Answers for how long, and to how many
    /// requests a second; `None` if there is no such endpoint, or it is stopped for longer already.
    pub(crate) fn throttle(&self, endpoint: &str, pause: Duration) -> Option<(Duration, f64)> {
        let index = self.endpoints.iter().position(|it| it.name == endpoint)?;
        let (budget, pause) = (&self.states[index].budget, pause.min(*PAUSE.end()));
        if pause.is_zero() || budget.paused().is_err_and(|it| it >= pause) {
            return None;
        }
        Some((pause, budget.slow_down(pause)))
    }

    /// Informs people that an endpoint is stopped, unless that was done lately.
    pub(crate) fn report_pause(&self, endpoint: &str, message: String) {
        let Some(index) = self.endpoints.iter().position(|it| it.name == endpoint) else { return };
        let mut pauses = self.states[index].pauses.lock();
        if pauses.try_take(tokio::time::Instant::now()).is_ok() {
            (self.reports)(Report::EndpointPaused(message));
        }
    }

    /// Publishes and reports which places are not reached, as long as it is polled.
    pub(crate) async fn watch_reach(&self) {
        self.reach.watch(&self.reports, &self.metrics).await;
    }

    /// How a request to an endpoint has ended.
    pub(crate) fn ending(&self, endpoint: &Endpoint, outcome: &RequestOutcome) -> Ending {
        let said = outcome.answer.as_ref().ok().and_then(|it| self.credentials.ending(endpoint, it));
        said.unwrap_or_else(|| Ending::of(outcome))
    }

    /// The answer to a request: an equal read's, where there is one. A page of a list finds what earlier pages have read.
    /// An answer from before serves if it is so fresh.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        permitted: Permitted,
        list: Option<&ListReads>,
        freshness: Freshness,
    ) -> (Arc<RequestOutcome>, bool) {
        let index = self
            .endpoints
            .iter()
            .position(|it| Arc::ptr_eq(it, permitted.endpoint()))
            .expect("the policy was given these endpoints");
        let reads = &self.states[index].reads;
        if permitted.effect().writes() {
            let _write = reads.write();
            return (Arc::new(self.send(&self.states[index], permitted, &Left::default()).await), false);
        }
        if permitted.method() == Method::Head {
            return (Arc::new(self.send(&self.states[index], permitted, &Left::default()).await), false);
        }
        let key = ReadKey::new(&permitted, self.credentials.generation(&permitted));
        if let Some(known) = list.and_then(|it| it.find(index, &key)) {
            return (known, true);
        }
        let inner = self.clone();
        let send = |left| async move { Arc::new(inner.send(&inner.states[index], permitted, &left).await) }.boxed();
        let (outcome, is_joined) = reads.answer(key.clone(), freshness, send).await;
        if let Some(list) = list {
            list.keep(index, key, &outcome);
        }
        (outcome, is_joined)
    }

    /// Waits for the endpoint's turn, attaches the credential, and sends.
    async fn send(&self, own: &EndpointState, permitted: Permitted, left: &Left) -> RequestOutcome {
        let mut address = None;
        let answer = self.exchange(own, permitted, left, &mut address).await;
        if let Ok(answer) = &answer
            && let Some(pause) = response::pause(answer.status, &answer.headers, SystemTime::now())
        {
            own.budget.pause(pause);
        }
        RequestOutcome { address, answer }
    }

    /// Sends; where the cloud refuses the credential it is renewed once, and if it has changed, a read goes out again. So does a
    /// write that was certainly refused before anything was done.
    async fn exchange(
        &self,
        own: &EndpointState,
        permitted: Permitted,
        left: &Left,
        address: &mut Option<SocketAddr>,
    ) -> Result<CompleteAnswer, AnswerFailure> {
        // Before its turn: a slow giver of tokens takes no place from requests with another credential.
        self.credentials.fetched(permitted.endpoint()).await;
        let _turn = own.budget.turn().await.map_err(|after| {
            self.metrics.put_off.with_label_values(&[&*permitted.endpoint().name]).inc();
            AnswerFailure::Paused(after)
        })?;
        left.mark();
        let again = permitted.clone();
        let (used, answer) = self.send_once(own, permitted, address).await?;
        let Some(refusal) = self.credentials.refusal(again.endpoint(), &answer) else { return Ok(answer) };
        let is_new = self.credentials.renew(again.endpoint(), used, Instant::now(), &refusal).await;
        if is_new && (refusal.is_before_all || !again.effect().writes()) {
            return self.send_once(own, again, address).await.map(|(_, answer)| answer);
        }
        Ok(answer)
    }

    /// Attaches the credential and sends once. Answers which version of the credential it was, too.
    async fn send_once(
        &self,
        own: &EndpointState,
        permitted: Permitted,
        address: &mut Option<SocketAddr>,
    ) -> Result<(u64, CompleteAnswer), AnswerFailure> {
        let effect = permitted.effect();
        let authenticated = self.authorize(own, permitted).await?;
        // The turn may have taken a while, and the Lease may be gone.
        policy::may_write((self.fence)(), effect).map_err(AnswerFailure::Denied)?;
        // After the credential was taken: one that came in between has not been approved yet.
        if effect.writes() {
            self.credentials.check_approval().map_err(AnswerFailure::Unreachable)?;
        }
        let used = authenticated.generation();
        // The last thing before it leaves: what is refused before takes no place.
        let place = match effect.counted_as() {
            Some(kind) => Some(self.place(own, &authenticated, kind).await?),
            None => None,
        };
        let answer = self.attempt(own, authenticated, address).await;
        if let Some(place) = place.filter(|_| was_not_carried_out(&answer)) {
            place.give_back();
        }
        Ok((used, answer?))
    }

    async fn authorize(&self, own: &EndpointState, permitted: Permitted) -> Result<Authenticated, AnswerFailure> {
        self.credentials.authorize(permitted, SystemTime::now()).await.map_err(|error| match error {
            NotAuthorized::Refused(because) => AnswerFailure::Unreachable(because),
            NotAuthorized::Denied(because) => AnswerFailure::Denied(Denied::new(Code::Credential, because)),
            NotAuthorized::Fetching(after) => AnswerFailure::Paused(after),
            NotAuthorized::Misplaced(fault) => AnswerFailure::Unreachable(own.ways.misplaced(fault)),
        })
    }

    /// Counts a write among those of its credential.
    async fn place<'a>(
        &self,
        own: &'a EndpointState,
        authenticated: &Authenticated,
        kind: WriteKind,
    ) -> Result<CountedWrite<'a>, AnswerFailure> {
        match own.writes.take(kind).await {
            // It may have waited for its record, and the Lease may be gone.
            Ok(place) => match policy::may_write((self.fence)(), authenticated.permitted().effect()) {
                Ok(()) => Ok(place),
                Err(denied) => {
                    place.give_back();
                    Err(AnswerFailure::Denied(denied))
                }
            },
            Err(NotTaken::Withheld(because)) => {
                let endpoint = authenticated.permitted().endpoint();
                let credential = endpoint.credential.as_deref().unwrap_or_default();
                self.metrics.writes_withheld.with_label_values(&[credential, &*endpoint.name, kind.as_str()]).inc();
                Err(AnswerFailure::Denied(Denied::new(Code::Writes, because)))
            }
            Err(NotTaken::Unrecorded) => Err(AnswerFailure::Paused(UNRECORDED)),
        }
    }

    async fn attempt(
        &self,
        own: &EndpointState,
        authenticated: Authenticated,
        address: &mut Option<SocketAddr>,
    ) -> Result<CompleteAnswer, AnswerFailure> {
        let (endpoint, method) = (authenticated.permitted().endpoint().clone(), authenticated.permitted().method());
        let start = Instant::now();
        let exchange = own.ways.send(authenticated).await;
        *address = exchange.address;
        let status = exchange.result.as_ref().ok().map(|it| it.status);
        audit::attempted(&self.metrics, &endpoint.name, method, status, start.elapsed());
        exchange.result
    }
}

/// Whether a write has certainly changed nothing: it did not leave, or the cloud has refused it.
fn was_not_carried_out(answer: &Result<CompleteAnswer, AnswerFailure>) -> bool {
    match answer {
        Ok(answer) => writes::was_refused(answer.status),
        Err(AnswerFailure::Denied(_) | AnswerFailure::Paused(_) | AnswerFailure::Unreachable(_)) => true,
        Err(AnswerFailure::Interrupted(_)) => false,
    }
}
