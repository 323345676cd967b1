//! Lists of load balancers: they answer Services that wait for the cloud, and find changes made in the cloud.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Freshness;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::debug;

use crate::service::inventory::LoadBalancerLists;
use crate::service::inventory::drift::{Finding, finding, outline, place_in};
use crate::service::inventory::schedule::{self, Last, SHORTEST, listed};
use crate::service::inventory::snapshot::{Snapshot, is_at_rest};
use crate::service::reaper::Reaper;
use crate::service::shared::SharedState;
use crate::service::state::{Resync, ServiceState, ServiceStates};
use crate::service::status;
use crate::worker::random;

/// How soon it is noticed that Services have begun to wait.
const GATHER: Duration = Duration::from_millis(100);
/// The longest pause without a look at the clock.
const IDLE: Duration = Duration::from_secs(60);

/// The part of this controller that lists load balancers.
pub(super) struct Lister {
    pub(super) shared: Arc<SharedState>,
    pub(super) lists: Arc<LoadBalancerLists>,
    pub(super) reaper: Arc<Reaper>,
}

impl Lister {
    /// Reads lists when they are due, for as long as it runs.
    pub(super) async fn follow(self: Arc<Self>) {
        let lists = &self.lists;
        let mut read = None;
        loop {
            let now = Instant::now();
            let (polls, questions) = self.due(read.take(), now);
            lists.set_next(polls);
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
                    if resync <= now {
                        lists.set_resync(now + lists.options.resync_period.mul_f64(0.9 + 0.2 * random()));
                        self.resync(&list);
                        self.reaper.look(&list);
                    }
                    read = Some((list, earlier));
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

    /// Puts those into the queue that the cloud is done with by a list that was `read` just now, and those whose time has come to be
    /// asked about. Returns when a list is due for those who wait for the cloud, and when the next one's time comes. The list comes with how
    /// long the cloud took by earlier ones.
    fn due(&self, read: Option<(Arc<Snapshot>, Option<Duration>)>, now: Instant) -> (Option<Instant>, Option<Instant>) {
        let pages = self.lists.pages();
        self.shared.states.all(|states| {
            if let Some((list, earlier)) = read {
                let takes = self.wake_rested(states, &list).or(earlier);
                self.lists.set_last(Last { began: list.began, takes });
            }
            let last = self.lists.last();
            let mut next = None::<Instant>;
            for (key, state) in states.iter() {
                match state.resync() {
                    Some(Resync::AskAt(at)) if at > now => next = Some(next.map_or(at, |next| next.min(at))),
                    Some(Resync::AskAt(_)) => self.shared.queue.add_if_idle(key),
                    Some(Resync::Restore) | None => {}
                }
            }
            let waiting = states.iter().filter_map(|(_, it)| it.waiting()).filter(|_| self.lists.spare_requests());
            (schedule::next(waiting, pages, last), next)
        })
    }

    /// Puts those into the queue that the cloud is done with. Returns how long it took at most with the one that it began
    /// last, if there were any.
    fn wake_rested(&self, states: &mut ServiceStates, list: &Snapshot) -> Option<Duration> {
        let mut took = None;
        for (key, state) in states.iter_mut() {
            let Some(waiting) = state.waiting().filter(|it| listed(it, Some(list)).is_some_and(is_at_rest)) else {
                continue;
            };
            let own = list.began.saturating_duration_since(waiting.wrote);
            took = Some(took.map_or(own, |took: Duration| took.min(own)));
            state.rests();
            self.shared.queue.add(key);
        }
        took
    }

    /// Compares those that are as desired with a list.
    fn resync(&self, list: &Snapshot) {
        let (now, period) = (Instant::now(), self.lists.options.resync_period);
        self.each_settled(|key, service, state| {
            let is_as_written = status::current(service) == state.work.current;
            let shown = outline(state.work.memo.as_deref(), list);
            let is_spared = state.is_spared(shown, list.began, now) && is_as_written;
            let resync = match finding(state.work.memo.as_deref(), state.evidence(), list) {
                Finding::Proven if is_as_written => None,
                Finding::Proven => Some(Resync::Restore),
                Finding::Drifted => {
                    debug!(service = key, "its load balancer has changed in the cloud");
                    self.shared.metrics.inventory.drifts.inc_by(u64::from(state.evidence().is_some()));
                    Some(Resync::AskAt(now))
                }
                Finding::Unknown if is_spared => None,
                // A list that comes early does not put off what an earlier one has planned.
                Finding::Unknown => Some(Resync::AskAt(match state.resync() {
                    Some(Resync::AskAt(planned)) => planned.min(now + place_in(period, &state.uid)),
                    Some(Resync::Restore) | None => now + place_in(period, &state.uid),
                })),
            };
            state.set_resync(resync);
            match resync {
                Some(Resync::AskAt(at)) if at > now => {}
                Some(_) => self.shared.queue.add_if_idle(key),
                None => {}
            }
        });
    }

    /// There has been no list for a whole period: each Service is asked about, at its own time in the next one.
    fn ask_about_all(&self, now: Instant) {
        let period = self.lists.options.resync_period;
        self.each_settled(|_, _, state| {
            state.set_resync(Some(Resync::AskAt(now + place_in(period, &state.uid))));
        });
    }

    /// Looks at each Service whose load balancer is as it desires, as far as is known.
    fn each_settled(&self, mut look: impl FnMut(&str, &Service, &mut ServiceState)) {
        self.shared.each(|key, service, state| {
            if service.metadata.uid.as_deref() == Some(&*state.uid) && state.is_at_ease() {
                look(key, service, state);
            }
        });
    }
}
