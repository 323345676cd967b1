//! The egress: judges a request, counts it, attaches the credential and sends it.
//!
//! [`policy::permit`] is the only maker of `Permitted`, the credentials are the only makers of
//! `Authenticated`, and the wire takes nothing else.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cloud_provider::{Freshness, printable};
use tokio::sync::watch;

use crate::address::KnownNetworks;
use crate::audit::{AuditLine, CallId};
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::list_reads::ListReads;
use crate::location;
use crate::metrics::Metrics;
use crate::outcome::RequestOutcome;
use crate::policy::{self, CallState, Code, Denied, Mode, Permitted};
use crate::reach::Unreached;
use crate::request::{GuestRequest, GuestResponse, RequestLocation, SendError};
use crate::resolve::{self, Resolve};
use crate::response;
use crate::seen::{Seen, SeenRequest};
use crate::sender::Sender;
use crate::settings::EgressSettings;
use crate::watched::RequestWatcher;
use crate::write_counts::WriteCounts;

/// The longest reason of a guest in a line of the log.
const REASON_BYTES: usize = 256;

/// The one way out of the sandbox. Cloning shares it.
#[derive(Clone)]
pub struct Egress {
    sender: Arc<Sender>,
    watcher: Option<Arc<dyn RequestWatcher>>,
}

impl Egress {
    /// Builds the egress, with the system's resolver.
    ///
    /// # Errors
    ///
    /// If the endpoints contradict themselves, the credentials, or what no config can allow.
    pub fn new(settings: EgressSettings, metrics: Metrics) -> Result<Self, EgressError> {
        Self::with_resolver(settings, metrics, Arc::new(resolve::System))
    }

    /// As [`Egress::new`], with another source of addresses. What it answers is checked like the system's answers.
    ///
    /// # Errors
    ///
    /// As [`Egress::new`].
    pub fn with_resolver(
        settings: EgressSettings,
        metrics: Metrics,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, EgressError> {
        Ok(Self { sender: Arc::new(Sender::new(settings, metrics, resolver)?), watcher: None })
    }

    /// The same egress, whose requests somebody watches who tries a provider.
    #[must_use]
    pub fn watched_by(self, watcher: Arc<dyn RequestWatcher>) -> Self {
        Self { watcher: Some(watcher), ..self }
    }

    /// Says what the cluster is. What comes later replaces what came before.
    pub fn set_networks(&self, networks: KnownNetworks) {
        self.sender.set_networks(networks);
    }

    /// The operator's endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.sender.endpoints.iter().map(|it| &**it)
    }

    /// The latest writes, so that their counts can be kept where they outlive the process.
    #[must_use]
    pub fn write_counts(&self) -> WriteCounts {
        self.sender.write_counts.clone()
    }

    /// The version of credentials and provider: another number whenever a credential has changed or the provider was
    /// replaced.
    #[must_use]
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.sender.credentials.versions()
    }

    /// Lets writes leave under this version, and no other.
    pub fn approve(&self, version: u64) {
        self.sender.credentials.approve(version);
    }

    /// The provider is replaced, by `replace`, by another version of it, which has seen the right account under the version
    /// `seen` of credentials and provider; `None` if it has not asked. Answers what `replace` answers, and the version that
    /// counts as approved from now on, unless the account has to be checked again.
    pub fn replace_provider<T>(&self, seen: Option<u64>, replace: impl FnOnce() -> T) -> (T, Option<u64>) {
        self.sender.credentials.replace_provider(seen, replace)
    }

    /// The endpoints, and the places where credentials come from, that are not reached now. They change while
    /// [`Egress::watch_reach`] is polled.
    #[must_use]
    pub fn unreached(&self) -> watch::Receiver<Arc<[Unreached]>> {
        self.sender.reach.unreached()
    }

    /// Follows which endpoints are reached, and reports those that are not. It does not end.
    pub async fn watch_reach(&self) {
        self.sender.watch_reach().await;
    }

    #[cfg(test)]
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.sender.metrics
    }

    /// Whether a text of a guest holds a secret. No guest was ever told one, in a form that is recognised in answers.
    #[must_use]
    pub fn holds_secret(&self, text: &str) -> bool {
        self.sender.credentials.secrets().are_in(text.as_bytes())
    }

    /// Opens the egress for one call of a provider, which may do with it what `mode` says.
    #[must_use]
    pub fn open(&self, call: CallId, mode: Mode) -> EgressCall {
        EgressCall {
            egress: self.clone(),
            call,
            mode,
            list: None,
            freshness: Freshness::ANY,
            requests: 0,
            most: policy::REQUESTS,
            deletes: 0,
            wrote: false,
            marks: Vec::new(),
            seen: Seen::default(),
        }
    }
}

/// The egress as one call of a provider sees it.
pub struct EgressCall {
    egress: Egress,
    call: CallId,
    mode: Mode,
    list: Option<ListReads>,
    freshness: Freshness,
    requests: u32,
    most: u32,
    deletes: u32,
    wrote: bool,
    marks: Vec<String>,
    seen: Seen,
}

impl EgressCall {
    /// Makes the call a page of a list: its reads are answered by what earlier pages of the same list were answered.
    #[must_use]
    pub fn within(mut self, list: ListReads) -> Self {
        self.list = Some(list);
        self
    }

    /// Says how fresh answers have to be that came before and serve the call's reads. Nothing would seem to change to a call
    /// that waits for what an earlier one has begun, for as long as answers are kept.
    #[must_use]
    pub fn resting_on(mut self, freshness: Freshness) -> Self {
        self.freshness = freshness;
        self
    }

    /// Lets a call about several objects make so many times as many requests as one about one.
    #[must_use]
    pub fn about_several(mut self, objects: u32) -> Self {
        self.most = policy::REQUESTS.saturating_mul(objects.max(1));
        self
    }

    /// Says in which texts a request shows whose the object is that it makes: a UID, a name that holds it.
    #[must_use]
    pub fn marked_by(mut self, marks: Vec<String>) -> Self {
        self.marks = marks;
        self
    }

    /// Judges a request and, if it may, sends it. Whatever comes of it is in the audit log.
    ///
    /// # Errors
    ///
    /// If there is no answer: refused, not sent, or perhaps carried out.
    pub async fn send(&mut self, request: GuestRequest) -> Result<GuestResponse, SendError> {
        self.judge(request)?.send().await
    }

    /// The first half of [`EgressCall::send`]: work on the guest's words, and nothing else.
    ///
    /// # Errors
    ///
    /// If it is refused.
    pub fn judge(&mut self, request: GuestRequest) -> Result<JudgedRequest<'_>, SendError> {
        let sender = &self.egress.sender;
        let mut entry = AuditLine::new(&self.call, &sender.metrics, &request);
        if let Some(watcher) = &self.egress.watcher {
            entry.watched_by(watcher.clone(), &request);
        }
        if self.requests > self.most {
            // One line has said it. A guest that goes on must not fill the log.
            entry.mute();
        }
        let state = CallState {
            mode: self.mode,
            leads: (sender.fence)(),
            requests: self.requests,
            most: self.most,
            deletes: self.deletes,
        };
        self.requests = self.requests.saturating_add(1);
        let unjudged = SeenRequest::unjudged(&request);
        let permitted = match policy::permit(&sender.endpoints, state, request) {
            Ok(permitted) => permitted,
            Err(denied) => {
                self.seen.deny(unjudged, &denied, self.most);
                return Err(entry.denied(&denied));
            }
        };
        entry.permitted(&permitted);
        if !entry.may_leave(&permitted) {
            let denied = Denied::new(Code::Leader, "nothing that writes leaves the host while a provider is tried");
            self.seen.deny(unjudged, &denied, self.most);
            return Err(entry.denied(&denied));
        }
        if permitted.effect().takes_away() {
            self.deletes = self.deletes.saturating_add(1);
        }
        let had_written = self.wrote;
        if permitted.effect().writes() {
            // What was read before says nothing about after.
            self.list = self.list.take().filter(|it| !it.is_sealed());
            // Said before it leaves: the call may end while it waits for the answer.
            self.wrote = true;
        }
        let number = self.seen.begin(&permitted, &self.marks);
        let (list, wrote, seen) = (self.list.as_ref(), &mut self.wrote, &mut self.seen);
        Ok(JudgedRequest {
            sender,
            entry,
            permitted,
            list,
            freshness: self.freshness,
            wrote,
            had_written,
            seen,
            number,
        })
    }

    /// How its requests ended.
    #[must_use]
    pub fn into_seen(self) -> Seen {
        self.seen
    }

    /// Whether a write has left, or may have: only what certainly did not leave does not count.
    #[must_use]
    pub fn wrote(&self) -> bool {
        self.wrote
    }

    /// Sends nothing more to an endpoint for a while, an hour at most: the cloud throttles without `retry-after`, or its
    /// quota is nearly used up. Reads wait too. It counts as a request of the call; what is over that limit, a call without
    /// HTTP, and an endpoint that does not exist are ignored. People are informed, once in ten minutes for each endpoint.
    pub fn throttle(&mut self, endpoint: &str, pause: Duration, reason: &str) {
        let counts = self.mode != Mode::None && self.requests < self.most;
        self.requests = self.requests.saturating_add(1);
        if !counts {
            return;
        }
        let Some((pause, rate)) = self.egress.sender.throttle(endpoint, pause) else { return };
        let reason = if self.egress.holds_secret(reason) { "(it holds a credential)" } else { reason };
        let reason = printable(reason, REASON_BYTES);
        tracing::warn!(
            provider = &*self.call.provider,
            function = self.call.function,
            call = self.call.id,
            endpoint,
            pause_ms = pause.as_millis() as u64,
            requests_per_second = rate,
            "the provider asks to leave the endpoint alone: {reason}"
        );
        let message = format!(
            "nothing is sent to endpoint {endpoint} for {} s, because the provider {} asks for it: {reason}. Calls that need \
             the endpoint are tried again afterwards, at {rate} requests a second, which doubles each minute until it is what the \
             config says",
            pause.as_secs_f64().ceil(),
            self.call.provider
        );
        self.egress.sender.report_pause(endpoint, message);
    }

    /// Which endpoint, path and query an absolute URL in an answer stands for; `None` if it belongs to none. Asks nobody,
    /// and allows nothing: [`EgressCall::send`] decides.
    #[must_use]
    pub fn resolve_url(&self, url: &str) -> Option<RequestLocation> {
        let credentials = &self.egress.sender.credentials;
        location::resolve(self.egress.endpoints().filter_map(|it| Some((it, credentials.base_url(it)?))), url)
    }
}

/// A request that may be sent, and is still to be sent: work on the cloud's words, and waiting for them.
pub struct JudgedRequest<'a> {
    sender: &'a Arc<Sender>,
    entry: AuditLine<'a>,
    permitted: Permitted,
    list: Option<&'a ListReads>,
    freshness: Freshness,
    wrote: &'a mut bool,
    had_written: bool,
    seen: &'a mut Seen,
    /// Its number in `seen`.
    number: usize,
}

impl JudgedRequest<'_> {
    /// The other half of [`EgressCall::send`].
    ///
    /// # Errors
    ///
    /// If there is no answer: not sent, or perhaps carried out.
    pub async fn send(self) -> Result<GuestResponse, SendError> {
        let Self { sender, mut entry, permitted, list, freshness, wrote, had_written, seen, number } = self;
        let endpoint = permitted.endpoint().clone();
        let (outcome, is_joined) = match entry.answer() {
            Some(answer) => (Arc::new(RequestOutcome::replayed(answer)), false),
            None => sender.answer(permitted, list, freshness).await,
        };
        if !outcome.has_left() {
            *wrote = had_written;
        }
        seen.end(number, sender.ending(&endpoint, &outcome));
        entry.outcome(&outcome, is_joined);
        // A large answer is not kept for others, and so not copied: a call holds one.
        let answer = match Arc::try_unwrap(outcome).map_or_else(|shared| shared.answer.clone(), |own| own.answer) {
            Ok(answer) => Ok(response::for_guest(answer, SystemTime::now())),
            Err(failure) => Err(entry.failed(&failure)),
        };
        entry.answered(&answer);
        answer
    }
}
