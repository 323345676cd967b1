//! What lists of load balancers are read for: those who wait for the cloud, and what has changed behind our back.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Freshness, LoadBalancer};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::debug;

use crate::freshness::{LOAD_BALANCER_CHANGE, LOAD_BALANCER_CREATION};
use crate::service::Controller;
use crate::service::backends::Backend;
use crate::service::inventory::drift::{Evidence, Finding, Listed, finding, place_in, revision};
use crate::service::inventory::fingerprint::fingerprint;
use crate::service::inventory::schedule::{self, Last, SHORTEST, Word, is_left_to_lists, is_worth_it, word};
use crate::service::inventory::snapshot::Snapshot;
use crate::service::services::key;
use crate::service::state::{Resync, ServiceState};
use crate::service::status;
use crate::worker::random;

/// How soon it is noticed that Services have begun to wait.
const GATHER: Duration = Duration::from_millis(100);
/// How long after the next list a Service that is left to lists is looked at again without its word.
const RECHECK: Duration = Duration::from_secs(2);
/// The longest pause without a look at the clock.
const IDLE: Duration = Duration::from_secs(60);

impl Controller {
    /// Reads lists when they are due, for as long as it runs.
    pub(super) async fn follow_lists(self: Arc<Self>) {
        let Some(lists) = self.lists.clone() else { return std::future::pending().await };
        loop {
            let now = Instant::now();
            let polls = self.next_poll();
            lists.set_next(polls);
            let questions = self.next_question(now);
            let not_before = lists.failed_until().unwrap_or(now);
            let resync = lists.resync_due().max(not_before);
            let next = polls.map(|it| it.max(not_before)).into_iter().chain([resync]).min().unwrap_or(resync);
            if next > now {
                let until = questions.map_or(next, |it| it.min(next)).min(now + IDLE);
                tokio::select! {
                    () = tokio::time::sleep_until(until) => {}
                    () = lists.changed() => tokio::time::sleep(GATHER).await,
                }
                continue;
            }
            match lists.get(Freshness::since(now)).await {
                Ok(list) => {
                    let earlier = lists.last().and_then(|it| it.takes).filter(|_| polls.is_some());
                    let takes = self.wake_rested(&list).or(earlier);
                    lists.set_last(Last { began: list.began, takes });
                    if resync <= now {
                        lists.set_resync(now + lists.options.resync_period.mul_f64(0.9 + 0.2 * random()));
                        self.resync(&list);
                        self.look_for_orphans(&list);
                    }
                }
                Err(error) => {
                    debug!("load balancers are asked about one by one: {error}");
                    if resync <= now && now.saturating_duration_since(lists.resync_due()) >= lists.options.resync_period
                    {
                        lists.set_resync(now + lists.options.resync_period);
                        self.ask_about_all(now);
                    }
                    // Never a list after the other, whatever the clock says.
                    tokio::time::sleep(SHORTEST).await;
                }
            }
        }
    }

    /// When a list is due for those who wait for the cloud.
    fn next_poll(&self) -> Option<Instant> {
        let lists = self.lists.as_ref()?;
        let (pages, last) = (lists.pages(), lists.last());
        let states = self.states();
        schedule::next(states.iter().filter_map(|(_, it)| it.waiting()), pages, last)
    }

    /// Puts those into the queue whose time has come. Returns when the next one's comes.
    fn next_question(&self, now: Instant) -> Option<Instant> {
        let mut next = None::<Instant>;
        let states = self.states();
        for (key, state) in states.iter() {
            match state.observed.resync {
                Some(Resync::AskAt(at)) if at > now => next = Some(next.map_or(at, |next| next.min(at))),
                Some(Resync::AskAt(_)) => self.queue.add_if_idle(key),
                Some(Resync::Restore) | None => {}
            }
        }
        next
    }

    /// Puts those into the queue that the cloud is done with. Returns how long it took at most with the one that it began
    /// last, if there were any.
    fn wake_rested(&self, list: &Snapshot) -> Option<Duration> {
        let mut states = self.states();
        let mut took = None;
        for (key, state) in states.iter_mut() {
            let Some(waiting) = state.waiting().filter(|it| word(it, Some(list)) == Word::AtRest) else { continue };
            let own = list.began.saturating_duration_since(waiting.wrote);
            took = Some(took.map_or(own, |took: Duration| took.min(own)));
            state.observed.is_at_rest = true;
            self.queue.add(key);
        }
        took
    }

    /// Compares those that are as desired with a list.
    fn resync(&self, list: &Snapshot) {
        let Some(lists) = &self.lists else { return };
        let (now, period) = (Instant::now(), lists.options.resync_period);
        for service in self.services.all() {
            let key = key(&service);
            let mut states = self.states();
            let Some(state) = states.get(&key).filter(|it| it.is_settled(&service)) else { continue };
            let found = finding(state.work.memo.as_deref(), state.work.revision.as_deref(), list);
            state.observed.resync = match found {
                Finding::Proven if status::current(&service) == state.work.current => None,
                Finding::Proven => Some(Resync::Restore),
                Finding::Drifted => {
                    debug!(service = key, "its load balancer has changed in the cloud");
                    self.metrics.inventory.drifts.inc_by(u64::from(state.work.revision.is_some()));
                    Some(Resync::AskAt(now))
                }
                Finding::Unknown => Some(Resync::AskAt(now + place_in(period, &state.uid))),
            };
            match state.observed.resync {
                Some(Resync::AskAt(at)) if at > now => {}
                Some(_) => self.queue.add_if_idle(&key),
                None => {}
            }
        }
    }

    /// There has been no list for a whole period: each Service is asked about, at its own time in the next one.
    fn ask_about_all(&self, now: Instant) {
        let Some(lists) = &self.lists else { return };
        for service in self.services.all() {
            let mut states = self.states();
            if let Some(state) = states.get(&key(&service)).filter(|it| it.is_settled(&service)) {
                let at = now + place_in(lists.options.resync_period, &state.uid);
                state.observed.resync = Some(Resync::AskAt(at));
            }
        }
    }

    /// How long a Service that waits for the cloud is left to the lists, although its provider's pause is over.
    pub(super) fn left_to_lists(&self, key: &str, desired: &LoadBalancer, now: Instant) -> Option<Duration> {
        let lists = self.lists.as_ref()?;
        let mut states = self.states();
        let state = states.get(key)?;
        let waiting = state.waiting().filter(|it| it.due <= now)?;
        let next = lists.next().filter(|_| state.work.desired.as_ref() == Some(desired))?;
        let is_left = is_left_to_lists(&waiting, lists.newest().as_deref(), now);
        is_left.then(|| next.saturating_duration_since(now) + RECHECK)
    }

    /// How fresh what a list has read has to be to answer a call about a Service too; `None` if there is none so fresh. It began after the last call about it ended, or
    /// for a creation, after the last one that wrote. Where several are about to be created, one list is read for all of them.
    pub(super) async fn is_listed(&self, key: &str) -> Option<Freshness> {
        let lists = self.lists.as_ref()?;
        let (after, creations) = {
            let states = self.states();
            let work = &states.peek(key)?.work;
            let answered = work.answered?;
            match work.creates {
                true => (work.wrote, states.iter().filter(|(_, it)| it.work.creates).count()),
                false => (Some(answered), 0),
            }
        };
        let rule = if creations > 0 { LOAD_BALANCER_CREATION } else { LOAD_BALANCER_CHANGE };
        // Whoever comes while a list is read is answered by it too, however long it takes.
        let recent = rule.at_any_time().asked_at(Instant::now());
        let freshness = after.map_or(recent, |it| recent.and_after(it));
        if lists.known(freshness).is_some() {
            return Some(freshness);
        }
        if !is_worth_it(creations, lists.pages()) {
            return None;
        }
        lists.get(freshness).await.is_ok().then_some(freshness)
    }

    /// The revision with which the newest list shows the load balancer of a Service.
    pub(super) fn listed_revision(&self, key: &str) -> Option<Listed> {
        let list = self.lists.as_ref()?.newest()?;
        let states = self.states();
        revision(states.peek(key)?.work.memo.as_deref(), &list)
    }

    /// Whether a Service says itself that what it asks for was there when it was asked for last. Then it is as desired until
    /// the next list, which comes soon, says otherwise.
    pub(super) fn is_settled_before(
        &self,
        key: &str,
        service: &Service,
        desired: &LoadBalancer,
        backends: &Arc<[Backend]>,
        now: Instant,
    ) -> bool {
        let Some(lists) = self.lists.as_ref().filter(|it| it.have_revisions()) else { return false };
        let Some(kept) = status::evidence(service).and_then(Evidence::parse) else { return false };
        if status::memo(service).is_none() || !status::is_finalized(service) {
            return false;
        }
        if kept.fingerprint != self.fingerprint(desired, backends, service) {
            return false;
        }
        let is_new = self.states().of(key, service, now).settle_before(desired, backends, kept.revision, now);
        if is_new {
            lists.resync_soon(now);
        }
        is_new
    }

    /// A short name for what a Service asks for, of the nodes behind it, and of where it is reached.
    pub(super) fn fingerprint(&self, desired: &LoadBalancer, backends: &[Backend], service: &Service) -> String {
        let description = self.cluster.description.now();
        let versions = (env!("CARGO_PKG_VERSION"), &*description.version);
        fingerprint(versions, desired, backends, &status::current(service))
    }
}

impl ServiceState {
    /// Whether its load balancer is as this Service desires it, as far as is known.
    fn is_settled(&self, service: &Service) -> bool {
        service.metadata.uid.as_deref() == Some(&*self.uid) && self.is_at_ease()
    }
}
