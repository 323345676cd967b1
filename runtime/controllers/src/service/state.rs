//! What was asked of the cloud for each Service, and how far that is. No client, no log; times are arguments.

mod unwritten;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloud_provider::{Ingress, LoadBalancer};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::ResourceExt;
use tokio::time::Instant;

use crate::events::reference;
use crate::requested_changes::{Demands, Waiting};
use crate::service::backends::{Host, have_same_names};
use crate::service::burst::Burst;
use crate::service::changes::Pass;
use crate::service::desired::{asked, essence};
use crate::service::error::Obstacle;
use crate::service::long_pending::LongWait;
use crate::service::status;
use crate::version;

pub(super) use self::unwritten::{Then, Unwritten};

/// What is remembered of Services, by key.
#[derive(Default)]
pub(super) struct Memory {
    entries: HashMap<String, Entry>,
    counted: Counted,
}

/// Where it is counted what Kubernetes asks for.
#[derive(Clone, Default)]
pub(super) struct Counted {
    pub(super) demands: Demands,
    /// The annotations that the provider writes: what it says itself is not asked for.
    pub(super) provider_writes: Arc<[String]>,
    /// How often the set of nodes has changed that take traffic by what Kubernetes says, whatever the provider confirms.
    pub(super) node_changes: Arc<AtomicU64>,
}

/// What is remembered of one Service.
pub(super) struct Entry {
    /// A Service with the same key and another UID is another Service.
    pub(super) uid: String,
    /// What events call it.
    pub(super) about: ObjectReference,
    /// The wish that was worked on last, without what we write ourselves.
    pub(super) wish: Option<LoadBalancer>,
    /// The nodes for which it was worked on.
    pub(super) hosts: Arc<[Host]>,
    pub(super) state: State,
    /// Why it was worked on.
    cause: Cause,
    /// Whether a call may have given it a load balancer.
    pub(super) may_stand: bool,
    /// Whether the API server, asked for it alone, has said that it is gone. It cannot come back: its UID is not given twice.
    pub(super) is_gone: bool,
    /// What the provider asked to keep last, written or not.
    pub(super) memo: Option<String>,
    /// Where it was reached last.
    pub(super) current: Vec<Ingress>,
    /// The Service as our last write left it, until the watch has seen it.
    written: Option<Arc<Service>>,
    /// What the provider answered, and could not be written.
    pub(super) unwritten: Option<Unwritten>,
    /// The changes that its author may still make.
    burst: Burst,
    counted: Counted,
    /// Which of its changes count: a Service or a node that flaps must not let a provider write without end.
    counted_burst: Burst,
    /// How often the set of nodes had changed when a change of it was counted last.
    counted_nodes: u64,
    /// There while it waits for its first load balancer.
    waiting: Option<Waiting>,
    /// The changes that other nodes behind it may still make: a node that comes and goes must not cost more than an author.
    host_burst: Burst,
    /// Whether the beginning of the present work was told.
    told: bool,
    /// What the cloud is busy with, if it said so.
    pub(super) pending: Option<LongWait>,
    /// The annotations that nobody knows, if that was told.
    unknown: Vec<String>,
    /// The failure that was shown last.
    shown: Option<String>,
    /// What stood in its way.
    obstacle: Obstacle,
    /// The version of the credentials that it was last worked on with.
    credentials: u64,
    /// The pass over changed nodes that waits for it.
    pub(super) pass: Option<Arc<Pass>>,
}

/// How far a Service is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// There is something to do.
    Open,
    /// The cloud is busy with it until about then.
    Pending(Instant),
    /// It has what it wished.
    Settled,
    /// Its load balancer has to go; the cloud is busy with that until about then.
    Deleting(Option<Instant>),
    /// It has nothing of ours any more.
    Released,
}

/// Why the cloud is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// The Service is new, has changed, or failed.
    Service,
    /// Other nodes take traffic.
    Hosts,
}

/// What is to be done for a wish now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// Nothing: it is fulfilled.
    Rest,
    /// Nothing before that has passed.
    Wait(Duration),
    /// To ask the cloud.
    Ask {
        cause: Cause,
        /// Whether the nodes are others than the last time, or were not asked about yet.
        new_hosts: bool,
    },
}

/// What a change of a Service means to the work queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum News {
    /// Nothing: it was known.
    None,
    /// There is nothing to do any more, and nothing to remember.
    Over,
    /// There is something to do, as there was before: a pause stands.
    Same,
    /// There is something else to do than before.
    Different,
    /// Its load balancer has to go, and nothing was done for that yet: a pause that `ensure` asked for is over.
    Unwanted,
}

impl Memory {
    /// Nothing is remembered yet.
    pub(super) fn new(counted: Counted) -> Self {
        Self { entries: HashMap::new(), counted }
    }

    /// What is remembered under a key.
    pub(super) fn get(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// What is remembered of this Service. Nothing may be remembered of an earlier one with its key.
    pub(super) fn entry(&mut self, key: &str, service: &Service, now: Instant) -> &mut Entry {
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        if self.entries.get(key).is_some_and(|it| it.uid != uid) {
            self.entries.remove(key);
        }
        self.entries.entry(key.to_owned()).or_insert_with(|| Entry::new(service, &self.counted, now))
    }

    /// As [`Memory::get`], to look at.
    pub(super) fn peek(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The keys of what was refused, and may be allowed with this version of the credentials.
    pub(super) fn allowed(&mut self, credentials: u64) -> Vec<String> {
        let entries = self.entries.iter_mut();
        entries.filter_map(|(key, it)| it.may_be_allowed(credentials).then(|| key.clone())).collect()
    }

    /// What has been pending for long and is to be told, by what events call the Service; and for how long whatever has
    /// been pending longest has been so.
    pub(super) fn long_waits(&mut self, now: Instant) -> (Vec<(ObjectReference, String)>, Duration) {
        let (mut told, mut longest) = (Vec::new(), Duration::ZERO);
        for entry in self.entries.values_mut() {
            let Some(wait) = &mut entry.pending else { continue };
            longest = longest.max(wait.age(now));
            // What failed since then is told by its failure.
            let is_pending = matches!(entry.state, State::Pending(_) | State::Deleting(Some(_)));
            if let Some(message) = wait.tells(now).filter(|_| is_pending) {
                told.push((entry.about.clone(), message));
            }
        }
        (told, longest)
    }

    /// All that is remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.entries.remove(key);
    }
}

impl Entry {
    fn new(service: &Service, counted: &Counted, now: Instant) -> Self {
        let current = status::current(service);
        Self {
            uid: service.metadata.uid.clone().unwrap_or_default(),
            about: reference(service),
            wish: None,
            hosts: Arc::default(),
            state: State::Open,
            cause: Cause::Service,
            may_stand: false,
            is_gone: false,
            memo: status::memo(service).map(str::to_owned),
            waiting: None,
            current,
            written: None,
            unwritten: None,
            burst: Burst::new(now),
            counted: counted.clone(),
            counted_burst: Burst::new(now),
            counted_nodes: 0,
            host_burst: Burst::new(now),
            told: false,
            pending: None,
            unknown: Vec::new(),
            shown: None,
            obstacle: Obstacle::Time,
            credentials: 0,
            pass: None,
        }
    }

    /// What is to be done for this wish and these nodes. What is to be asked is remembered as asked.
    pub(super) fn turn(&mut self, wish: &LoadBalancer, hosts: &Arc<[Host]>, now: Instant) -> Turn {
        let other_hosts = self.hosts != *hosts;
        if self.wish.as_ref() != Some(wish) {
            if let Err(pause) = self.burst.take(now) {
                return Turn::Wait(pause);
            }
            let new_hosts = self.wish.is_none() || other_hosts;
            self.shown = None;
            self.told = false;
            self.pending = None;
            return self.ask(Cause::Service, wish, hosts, new_hosts, now);
        }
        let asks = matches!(self.state, State::Settled | State::Open);
        if asks
            && other_hosts
            && let Err(pause) = self.host_burst.take(now)
        {
            return Turn::Wait(pause);
        }
        match self.state {
            State::Settled if other_hosts => self.ask(Cause::Hosts, wish, hosts, true, now),
            State::Settled => Turn::Rest,
            State::Pending(until) if until > now => Turn::Wait(until - now),
            State::Pending(_) => self.ask(self.cause, wish, hosts, false, now),
            State::Open | State::Deleting(_) | State::Released => {
                self.ask(Cause::Service, wish, hosts, other_hosts, now)
            }
        }
    }

    fn ask(&mut self, cause: Cause, wish: &LoadBalancer, hosts: &Arc<[Host]>, new_hosts: bool, now: Instant) -> Turn {
        self.count(wish, hosts, now);
        self.wish = Some(wish.clone());
        self.hosts = hosts.clone();
        self.cause = cause;
        self.state = State::Open;
        Turn::Ask { cause, new_hosts }
    }

    /// Counts what is about to be asked of the cloud for Kubernetes' sake. What the provider said itself is no change: the
    /// annotations that it writes, the addresses of machines, and which instances exist.
    fn count(&mut self, wish: &LoadBalancer, hosts: &[Host], now: Instant) {
        let node_changes = self.counted.node_changes.load(Ordering::Relaxed);
        let other_nodes = !have_same_names(&self.hosts, hosts) && self.counted_nodes != node_changes;
        let written = &self.counted.provider_writes;
        match &self.wish {
            None => {
                self.counted.demands.add_new(now);
                self.waiting = self.current.is_empty().then(|| self.counted.demands.wait());
                self.counted_nodes = node_changes;
            }
            Some(before) if asked(before, written) != asked(wish, written) || other_nodes => {
                self.counted_nodes = node_changes;
                self.count_change(now);
            }
            Some(_) => {}
        }
    }

    fn count_change(&mut self, now: Instant) {
        if self.counted_burst.take(now).is_ok() {
            self.counted.demands.add_change(now);
        }
    }

    /// Whether the work that begins is still to be told of. It is told once for each wish.
    pub(super) fn tells(&mut self) -> bool {
        self.cause == Cause::Service && !std::mem::replace(&mut self.told, true)
    }

    /// How long the cloud is still busy deleting. Afterwards it is to be asked; `None` says so.
    pub(super) fn deleting(&mut self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Deleting(Some(until)) if until > now => Some(until - now),
            _ => None,
        }
    }

    /// Whether the deletion of its load balancer has begun.
    pub(super) fn is_deleting(&self) -> bool {
        matches!(self.state, State::Deleting(_))
    }

    /// Begins or goes on to delete what was wished for. Returns whether it begins.
    pub(super) fn begin_deletion(&mut self, unwanted: &LoadBalancer, now: Instant) -> bool {
        let begins = !self.is_deleting();
        if begins {
            self.count_change(now);
            self.waiting = None;
            self.wish = Some(essence(unwanted.clone()));
            self.may_stand = true;
            self.shown = None;
            self.told = false;
            self.pending = None;
            self.pass = None;
        }
        self.state = State::Deleting(None);
        begins
    }

    /// The load balancer is gone. The Service may still be there as it was.
    pub(super) fn end_deletion(&mut self) {
        self.state = State::Released;
        self.wish = None;
        self.may_stand = false;
        self.memo = None;
        self.current.clear();
        self.unwritten = None;
        self.pending = None;
    }

    /// An answer is on the Service, `written` if that took a write. Returns why the cloud was asked if it is news that the
    /// load balancer is as wished.
    ///
    /// `wished` and `wishes` are the wish of the Service before and after: what we write ourselves is no change.
    pub(super) fn end(
        &mut self,
        written: &Arc<Service>,
        wished: Option<&LoadBalancer>,
        wishes: Option<LoadBalancer>,
    ) -> Option<Cause> {
        let unwritten = self.unwritten.take()?;
        if self.wish.is_some() && self.wish.as_ref() == wished {
            self.wish = wishes;
        }
        self.wrote(written);
        self.follow(unwritten.then);
        (unwritten.then == Then::Served).then_some(self.cause)
    }

    /// What an answer means has come true.
    pub(super) fn follow(&mut self, then: Then) {
        match then {
            Then::Served => self.settle(),
            Then::Pending(until) => self.state = State::Pending(until),
            Then::Deleting(until) => self.state = State::Deleting(Some(until)),
            Then::Restored => {}
        }
    }

    /// There is nothing left to do for the present wish.
    pub(super) fn settle(&mut self) {
        self.state = State::Settled;
        self.waiting = None;
        self.shown = None;
        self.pending = None;
    }

    /// The cloud is busy, and says with what.
    pub(super) fn wait(&mut self, because: &str, now: Instant) {
        self.pending.get_or_insert_with(|| LongWait::new(now)).because = because.to_owned();
    }

    /// Whether these annotations, which nobody knows, are others than those that were told last.
    pub(super) fn are_news(&mut self, unknown: &[&str]) -> bool {
        let are_news = !unknown.is_empty() && self.unknown != unknown;
        if self.unknown != unknown {
            self.unknown = unknown.iter().map(|it| (*it).to_owned()).collect();
        }
        are_news
    }

    /// The Service is as we left it.
    pub(super) fn wrote(&mut self, written: &Arc<Service>) {
        self.current = status::current(written);
        self.about = reference(written.as_ref());
        self.written = Some(written.clone());
    }

    /// The newer one of what the watch knows and what we wrote.
    pub(super) fn newest(&self, watched: Arc<Service>) -> Arc<Service> {
        match &self.written {
            Some(written) if self.uid_of(&watched) && is_newer(written, &watched) => written.clone(),
            _ => watched,
        }
    }

    /// What it means that the watch knows this of the Service now: `wish` if it wants a load balancer, and
    /// whether that has to go otherwise.
    pub(super) fn news(&mut self, watched: &Service, wish: Option<&LoadBalancer>, has_to_go: bool) -> News {
        if !self.uid_of(watched) {
            return self.vanished();
        }
        if self.written.as_ref().is_some_and(|it| is_newer(it, watched)) {
            return News::None;
        }
        self.written = None;
        self.about = reference(watched);
        let other_memo = status::memo(watched) != self.memo.as_deref();
        match (wish, self.state) {
            (Some(_), State::Deleting(_) | State::Released) => News::Different,
            (Some(wish), _) if self.wish.as_ref() != Some(wish) => News::Different,
            (Some(_), _) if other_memo && self.unwritten.is_some() => News::Same,
            (Some(_), _) if other_memo => News::Different,
            (Some(_), _) => News::None,
            (None, State::Deleting(_)) if has_to_go => News::Same,
            (None, _) if has_to_go => News::Unwanted,
            (None, State::Released) => News::Over,
            (None, _) => News::Different,
        }
    }

    /// What it means that its Service is gone. A deletion that has begun keeps its own pause.
    pub(super) fn vanished(&self) -> News {
        match self.state {
            State::Deleting(_) => News::Different,
            State::Open | State::Pending(_) | State::Settled | State::Released => News::Unwanted,
        }
    }

    /// Whether it has to be asked about because other nodes take traffic. What failed comes back by itself, unless it had
    /// no nodes, or the wrong ones; so does what is pending. They see the nodes as they are by then.
    pub(super) fn lacks(&self, hosts: &Arc<[Host]>) -> bool {
        let waits_for_nodes = match self.state {
            State::Settled => true,
            State::Open => self.hosts.is_empty() || self.obstacle == Obstacle::Wish,
            State::Pending(_) | State::Deleting(_) | State::Released => false,
        };
        waits_for_nodes && self.hosts != *hosts
    }

    /// It is worked on with this version of the credentials.
    pub(super) fn begin(&mut self, credentials: u64) {
        self.credentials = credentials;
        self.obstacle = Obstacle::Time;
    }

    /// Whether it was refused, and another version of the credentials may do. It says so once for each.
    pub(super) fn may_be_allowed(&mut self, credentials: u64) -> bool {
        let refused = self.obstacle == Obstacle::Right;
        refused && std::mem::replace(&mut self.credentials, credentials) != credentials
    }

    /// Whether a failure is to be shown: where a person has to do something, it is once.
    pub(super) fn shows(&mut self, message: &str, obstacle: Obstacle) -> bool {
        self.obstacle = obstacle;
        let known = self.shown.as_deref() == Some(message);
        self.shown = Some(message.to_owned());
        !(obstacle.waits_for_a_person() && known)
    }

    fn uid_of(&self, service: &Service) -> bool {
        service.metadata.uid.as_deref().unwrap_or_default() == self.uid
    }
}

/// Whether one version of a Service is newer than another.
fn is_newer(one: &Service, other: &Service) -> bool {
    let version = |it: &Service| it.resource_version().unwrap_or_default();
    version::is_newer(&version(one), &version(other))
}

#[cfg(test)]
mod tests;
