//! Holding the Lease, so that one of several replicas works: what client-go does, on the same object.
//!
//! Different from client-go: a holder that finds another name in the Lease gives up at once and does not try until its
//! deadline, a process that is asked to end gives the Lease back, and others read it more often.

mod election;
mod kept;
mod refused;
mod written;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use controllers::{EventKind, Recorder, RequestedChanges};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};
use uuid::Uuid;

pub(crate) use self::election::REFUSED;
use self::election::{Election, ElectionStep, Now};
pub(crate) use self::kept::Kept;
use self::kept::LeaseRecord;
pub(crate) use self::refused::{RefusedModule, refuse_module, refused_module};
use crate::flags::LeaderElection;

/// The metric families of leader election.
#[derive(Clone)]
pub(crate) struct Metrics {
    master_status: IntGaugeVec,
    slow_path: IntCounterVec,
}

/// A candidate for the Lease, and its holder in time.
pub(crate) struct Leader {
    leases: Api<Lease>,
    settings: LeaderElection,
    election: Election,
    leadership: Leadership,
    recorder: Recorder,
    /// Whether nobody held the Lease when this process first got it.
    was_free: bool,
    /// Where it is noted that a person has approved more writes.
    requested: RequestedChanges,
    /// The records that are kept on this Lease besides.
    kept: Option<Kept>,
    /// The module that the Lease refuses.
    refused: watch::Sender<RefusedModule>,
    status: IntGauge,
    slow_path: IntCounter,
}

/// This process's leadership, as others may know it. Clones share it.
#[derive(Clone)]
pub(crate) struct Leadership {
    /// When the last renewal that succeeded was begun; `None` without the Lease.
    renewed: Arc<Mutex<Option<Instant>>>,
    /// Whether this process has ever held the Lease.
    held: Arc<AtomicBool>,
    lease_duration: Duration,
    renew_deadline: Duration,
}

/// The sentence for an annotation that was found.
const APPROVED: &str = "a person has approved it: for one window, writes to the cloud are not limited";

/// How an attempt ended that got an answer.
#[derive(Debug, Eq, PartialEq)]
enum LeaseAttempt {
    Leads,
    AnotherHolds,
}

/// The Lease is gone; the process has to end.
#[derive(Debug, thiserror::Error)]
#[error("leaderelection lost: {0}")]
pub(crate) struct Lost(String);

impl Metrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let metrics = Self {
            master_status: IntGaugeVec::new(
                Opts::new("leader_election_master_status", "1 if this process holds the Lease, 0 if another may."),
                &["name"],
            )?,
            slow_path: IntCounterVec::new(
                Opts::new("leader_election_slowpath_total", "Renewals that had to read the Lease first."),
                &["name"],
            )?,
        };
        registry.register(Box::new(metrics.master_status.clone()))?;
        registry.register(Box::new(metrics.slow_path.clone()))?;
        Ok(metrics)
    }
}

impl Leader {
    /// A candidate named `<host>_<uuid>`. Its events go to `recorder`.
    pub(crate) fn new(
        client: Client,
        settings: LeaderElection,
        host: &str,
        recorder: Recorder,
        requested: RequestedChanges,
        metrics: &Metrics,
    ) -> Self {
        let identity = format!("{host}_{}", Uuid::new_v4());
        let status = metrics.master_status.with_label_values(&[&settings.name]);
        status.set(0);
        Self {
            leases: Api::namespaced(client, &settings.namespace),
            election: Election::new(identity, settings.lease_duration),
            leadership: Leadership {
                renewed: Arc::default(),
                held: Arc::default(),
                lease_duration: settings.lease_duration,
                renew_deadline: settings.renew_deadline,
            },
            recorder,
            was_free: false,
            requested,
            kept: None,
            refused: watch::Sender::default(),
            status,
            slow_path: metrics.slow_path.with_label_values(&[&settings.name]),
            settings,
        }
    }

    /// This candidate's leadership, as others may know it.
    pub(crate) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// The module that the Lease refuses, whoever holds it, and whenever that changes.
    pub(crate) fn refused(&self) -> watch::Receiver<RefusedModule> {
        self.refused.subscribe()
    }

    /// Keeps these counts on the Lease, so that limits outlive the process.
    pub(crate) fn keep(&mut self, kept: Kept) {
        self.kept = Some(kept);
    }

    /// Whether nobody held the Lease when this process got it: it was given back, or there was none.
    pub(crate) fn was_free(&self) -> bool {
        self.was_free
    }

    /// Waits until this process holds the Lease.
    pub(crate) async fn acquire(&mut self) {
        let lock = self.lock();
        info!("attempting to acquire leader lease {lock}");
        let mut told: Option<String> = None;
        loop {
            match self.attempt().await {
                Ok(LeaseAttempt::Leads) => break,
                Ok(LeaseAttempt::AnotherHolds) => {
                    let holder = self.election.holder();
                    if told.as_deref() != Some(holder) {
                        info!("standing by: {holder} holds lease {lock}");
                        told = Some(holder.to_owned());
                    }
                }
                Err(cause) => {
                    warn!("cannot acquire lease {lock}: {cause}; trying again");
                    told = None;
                }
            }
            sleep(pause(self.settings.retry_period, fraction())).await;
        }
        info!("successfully acquired lease {lock}");
        self.status.set(1);
        self.report("became leader");
    }

    /// Renews the Lease for as long as that is possible.
    pub(crate) async fn hold(&mut self) -> Lost {
        loop {
            let due = async {
                match &self.kept {
                    Some(kept) => kept.due().await,
                    None => std::future::pending().await,
                }
            };
            // A write to the cloud waits for nothing but to stand on the Lease.
            tokio::select! {
                () = sleep(self.settings.retry_period) => {}
                () = due => {}
            }
            let deadline = self.settings.renew_deadline;
            let lost = match timeout(deadline, self.renew()).await {
                Ok(None) => continue,
                Ok(Some(lost)) => lost,
                Err(_) => Lost(format!("lease {} could not be renewed for {deadline:?}", self.lock())),
            };
            self.status.set(0);
            *self.leadership.renewed() = None;
            return lost;
        }
    }

    /// Gives the Lease back, so that another replica need not wait for it to expire.
    pub(crate) async fn release(mut self) {
        // No write to the cloud may leave any more, whatever becomes of the Lease.
        *self.leadership.renewed() = None;
        self.status.set(0);
        match self.give_back().await {
            Ok(true) => {
                info!("released lease {}", self.lock());
                self.report("stopped leading");
            }
            Ok(false) => {}
            Err(cause) => warn!("cannot release lease {}: {cause}; it expires by itself", self.lock()),
        }
    }

    /// Returns whether there was something to give back.
    async fn give_back(&mut self) -> Result<bool, String> {
        let Some(mut lease) = self.election.release(now()) else { return Ok(false) };
        self.note(&mut lease, true);
        if let Err(cause) = self.put(&lease).await {
            // An annotation may have been written meanwhile, by us too.
            debug!("lease {} has changed or cannot be written, reading it: {cause}", self.lock());
            let Some(found) = self.request("read", self.leases.get_opt(&self.settings.name)).await? else {
                return Ok(false);
            };
            self.election.wrote(found, now());
            let Some(mut lease) = self.election.release(now()) else { return Ok(false) };
            self.note(&mut lease, true);
            self.put(&lease).await?;
        }
        Ok(true)
    }

    /// `None` once the Lease is renewed.
    async fn renew(&mut self) -> Option<Lost> {
        loop {
            match self.attempt().await {
                Ok(LeaseAttempt::Leads) => return None,
                Ok(LeaseAttempt::AnotherHolds) => {
                    return Some(Lost(format!("{} holds lease {}", self.election.holder(), self.lock())));
                }
                Err(cause) => warn!("cannot renew lease {}: {cause}; trying again", self.lock()),
            }
            sleep(self.settings.retry_period).await;
        }
    }

    async fn attempt(&mut self) -> Result<LeaseAttempt, String> {
        if let Some(mut renewal) = self.election.renewal(now()) {
            let begin = now();
            let record = self.note(&mut renewal, false);
            match self.put(&renewal).await {
                Ok(lease) => return Ok(self.leads(lease, begin, record.as_ref())),
                Err(cause) => {
                    debug!("lease {} changed or cannot be written, reading it: {cause}", self.lock());
                    self.slow_path.inc();
                }
            }
        }
        let found = self.request("read", self.leases.get_opt(&self.settings.name)).await?;
        let begin = now();
        if let Some(found) = &found {
            self.read(found);
        }
        let was_free = found.as_ref().is_none_or(election::is_free);
        let (lease, record) = match self.election.next(found, begin) {
            ElectionStep::Wait => return Ok(LeaseAttempt::AnotherHolds),
            ElectionStep::Create(mut lease) => {
                lease.metadata.name = Some(self.settings.name.clone());
                lease.metadata.namespace = Some(self.settings.namespace.clone());
                let record = self.note(&mut lease, false);
                (self.request("create", self.leases.create(&PostParams::default(), &lease)).await?, record)
            }
            ElectionStep::Replace(mut lease) => {
                let record = self.note(&mut lease, false);
                (self.put(&lease).await?, record)
            }
        };
        if self.leadership.renewed().is_none() {
            self.was_free = was_free;
        }
        Ok(self.leads(lease, begin, record.as_ref()))
    }

    fn note(&self, lease: &mut Lease, is_last: bool) -> Option<LeaseRecord> {
        self.kept.as_ref()?.note(lease, is_last)
    }

    fn restore(&mut self, lease: &Lease) {
        let Some(message) = self.kept.as_mut().and_then(|it| it.restore(lease)) else { return };
        warn!("{message}");
        if let Some(about) = self.about() {
            self.recorder.record(about, EventKind::Warning, "CloudWritesUnknown", &message);
        }
    }

    /// Takes note of what the Lease says of modules.
    fn read(&self, lease: &Lease) {
        let refused = RefusedModule::Read { digest: election::refused_module(lease), uid: lease.uid() };
        self.refused.send_if_modified(|known| {
            let is_new = *known != refused;
            *known = refused;
            is_new
        });
    }

    fn leads(&mut self, lease: Lease, begin: Now, record: Option<&LeaseRecord>) -> LeaseAttempt {
        self.read(&lease);
        if let Some((kept, record)) = self.kept.as_ref().zip(record) {
            kept.stored(record);
        }
        // The write has taken the annotation away, and nobody else's can have: it counts once.
        let is_approval = self.election.lease().is_some_and(election::approves_writes);
        self.election.wrote(lease.clone(), begin);
        self.restore(&lease);
        *self.leadership.renewed() = Some(begin.local);
        self.leadership.held.store(true, Ordering::Relaxed);
        if is_approval {
            self.requested.approve(tokio::time::Instant::now());
            warn!("{APPROVED}");
            if let Some(about) = self.about() {
                self.recorder.record(about, EventKind::Normal, "CloudWritesApproved", APPROVED);
            }
        }
        LeaseAttempt::Leads
    }

    async fn put(&self, lease: &Lease) -> Result<Lease, String> {
        self.request("write", self.leases.replace(&self.settings.name, &PostParams::default(), lease)).await
    }

    async fn request<T>(&self, verb: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        let limit = (self.settings.renew_deadline / 2).max(Duration::from_secs(1));
        match timeout(limit, request).await {
            Ok(answer) => answer.map_err(|error| format!("cannot {verb} it: {}", controllers::chain(&error))),
            Err(_) => Err(format!("cannot {verb} it: no answer within {limit:?}")),
        }
    }

    /// The Lease as events name it, once it was read: the one object that stands for this controller manager.
    pub(crate) fn about(&self) -> Option<ObjectReference> {
        self.election.lease().map(|_| self.lease())
    }

    /// The Lease as events name it, whether it is there or not: without its UID until it was read.
    pub(crate) fn lease(&self) -> ObjectReference {
        let lease = self.election.lease();
        ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            namespace: Some(self.settings.namespace.clone()),
            name: Some(self.settings.name.clone()),
            uid: lease.and_then(ResourceExt::uid),
            resource_version: lease.and_then(ResourceExt::resource_version),
            field_path: None,
        }
    }

    /// The recorder of events on the Lease.
    pub(crate) fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Writes an event on the Lease.
    fn report(&self, what: &str) {
        let Some(about) = self.about() else { return };
        let identity = self.election.identity();
        self.recorder.record(about, EventKind::Normal, "LeaderElection", &format!("{identity} {what}"));
    }

    fn lock(&self) -> impl Display + use<> {
        format!("{}/{}", self.settings.namespace, self.settings.name)
    }
}

impl Leadership {
    /// Whether a write to the cloud may leave now: not once the last renewal is older than the renew deadline, because
    /// another replica may be about to lead.
    pub(crate) fn may_write(&self) -> bool {
        self.renewed().is_some_and(|it| it.elapsed() < self.renew_deadline)
    }

    /// Whether this process held the Lease and may not count on it any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.held.load(Ordering::Relaxed) && !self.may_write()
    }

    /// Whether this process leads and has not noticed for 20 s that its Lease has expired: its `leaderElection` check.
    pub(crate) fn is_stuck(&self) -> bool {
        self.renewed().is_some_and(|it| it.elapsed() > self.lease_duration + Duration::from_secs(20))
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.renewed.lock()
    }
}

/// How long a candidate waits between two attempts: up to 1.6 times the period, so that candidates do not meet. Client-go's
/// 2.2 would let a Lease that was given back lie for almost 5 s.
fn pause(period: Duration, fraction: f64) -> Duration {
    period.mul_f64(1.0 + 0.6 * fraction)
}

/// A random number from 0 to 1.
fn fraction() -> f64 {
    f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

fn now() -> Now {
    Now { local: Instant::now(), wall: Timestamp::now() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_wait_between_one_and_one_point_six_periods() {
        let period = Duration::from_secs(2);
        assert_eq!(pause(period, 0.0), Duration::from_secs(2));
        assert_eq!(pause(period, 1.0), Duration::from_millis(3200));
        assert!((0..1000).map(|_| fraction()).all(|it| (0.0..=1.0).contains(&it)));
    }

    #[test]
    fn writes_stop_at_the_renew_deadline() {
        let leadership = Leadership {
            renewed: Arc::default(),
            held: Arc::default(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
        };
        let renewed = |seconds| *leadership.renewed() = Instant::now().checked_sub(Duration::from_secs(seconds));
        assert!(!leadership.may_write(), "not without the Lease");
        assert!(!leadership.is_stuck(), "a standby is healthy");
        assert!(!leadership.is_lost(), "what was never held is not lost");
        leadership.held.store(true, Ordering::Relaxed);
        renewed(9);
        assert!(leadership.may_write() && !leadership.is_lost());
        renewed(10);
        assert!(!leadership.may_write() && leadership.is_lost());
        assert!(!leadership.is_stuck());
        renewed(36);
        assert!(leadership.is_stuck());
    }
}
