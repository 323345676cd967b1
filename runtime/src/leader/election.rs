//! When a Lease may be taken, renewed and given back: client-go's rules, without a client or a clock.

use std::time::{Duration, Instant};

use cloud_provider::APPROVAL;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use sandbox::Digest;

/// The annotation of the Lease that holds the digest of a module that was rolled back: no replica runs it.
pub(crate) const REFUSED: &str = "aerostat.dev/module-refused";

/// One candidate's view of the Lease.
pub(super) struct Election {
    identity: String,
    /// The time that this candidate promises as holder, in whole seconds.
    lease_duration: Duration,
    observed: Option<ObservedLease>,
}

/// The Lease as it was last seen, and when it was first seen so.
///
/// Whether a holder is alive is judged by this process's own clock: the times in the Lease are another machine's.
struct ObservedLease {
    lease: Lease,
    at: Instant,
}

/// The present: on this process's clock, and for the Lease.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) local: Instant,
    pub(super) wall: Timestamp,
}

/// The next step of a candidate.
#[derive(Debug, PartialEq)]
pub(super) enum ElectionStep {
    /// There is no Lease yet.
    Create(Lease),
    /// The Lease is free, expired or ours; guarded by its `resourceVersion`.
    Replace(Lease),
    /// Somebody else holds it.
    Wait,
}

impl Election {
    pub(super) fn new(identity: String, lease_duration: Duration) -> Self {
        Self { identity, lease_duration, observed: None }
    }

    /// The renewal that can be tried without reading the Lease first: this candidate was the holder when it last read,
    /// and could not have lost the Lease since.
    pub(super) fn renewal(&self, now: Now) -> Option<Lease> {
        let observed = self.observed.as_ref().filter(|it| it.holder() == self.identity && it.is_valid(now))?;
        Some(self.claim(&observed.lease, now))
    }

    /// The next step about the Lease as the API server has it.
    pub(super) fn next(&mut self, found: Option<Lease>, now: Now) -> ElectionStep {
        let Some(found) = found else {
            let spec = self.spec(0, now.wall, now.wall);
            return ElectionStep::Create(Lease { spec: Some(spec), ..Lease::default() });
        };
        let observed = self.see(found, now.local);
        let (is_valid, lease) = (observed.is_valid(now), observed.lease.clone());
        if is_valid && !self.leads() && !self.holder().is_empty() {
            return ElectionStep::Wait;
        }
        ElectionStep::Replace(self.claim(&lease, now))
    }

    /// Remembers the Lease as the API server stored it.
    pub(super) fn wrote(&mut self, lease: Lease, now: Now) {
        self.observed = Some(ObservedLease { lease, at: now.local });
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether the Lease named this candidate when it was last seen.
    pub(super) fn leads(&self) -> bool {
        self.observed.as_ref().is_some_and(|it| it.holder() == self.identity)
    }

    /// The Lease's holder, as far as is known; empty if there is none.
    pub(super) fn holder(&self) -> &str {
        self.observed.as_ref().map_or("", ObservedLease::holder)
    }

    /// The Lease as last seen.
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.observed.as_ref().map(|it| &it.lease)
    }

    /// The Lease given back, if this candidate holds it: without a holder, and expired in a second.
    pub(super) fn release(&self, now: Now) -> Option<Lease> {
        let observed = self.observed.as_ref().filter(|it| it.holder() == self.identity)?;
        let mut lease = observed.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.acquire_time = Some(MicroTime(now.wall));
        spec.renew_time = Some(MicroTime(now.wall));
        Some(lease)
    }

    /// A Lease that says the same as before keeps its age; only its `resourceVersion` is new.
    fn see(&mut self, found: Lease, now: Instant) -> &ObservedLease {
        let at = match &self.observed {
            Some(observed) if observed.lease.spec == found.spec => observed.at,
            Some(_) | None => now,
        };
        self.observed.insert(ObservedLease { lease: found, at })
    }

    fn claim(&self, lease: &Lease, now: Now) -> Lease {
        let held = lease.spec.as_ref();
        let is_ours = held.and_then(|it| it.holder_identity.as_deref()) == Some(&self.identity);
        let transitions = held.and_then(|it| it.lease_transitions).unwrap_or(0);
        let acquired = held.and_then(|it| it.acquire_time.as_ref()).map(|it| it.0).filter(|_| is_ours);
        let mut claim = lease.clone();
        // An approval counts once: whoever holds the Lease takes it away, and knows by that that it is his.
        if approves_writes(lease)
            && let Some(annotations) = &mut claim.metadata.annotations
        {
            annotations.remove(APPROVAL);
        }
        claim.spec = Some(LeaseSpec {
            // What newer servers keep in the spec is theirs.
            preferred_holder: held.and_then(|it| it.preferred_holder.clone()),
            strategy: held.and_then(|it| it.strategy.clone()),
            ..self.spec(
                if is_ours { transitions } else { transitions.saturating_add(1) },
                acquired.unwrap_or(now.wall),
                now.wall,
            )
        });
        claim
    }

    fn spec(&self, transitions: i32, acquired: Timestamp, renewed: Timestamp) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)),
            acquire_time: Some(MicroTime(acquired)),
            renew_time: Some(MicroTime(renewed)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

/// Whether nobody holds the Lease: its holder has given it back.
pub(super) fn is_free(lease: &Lease) -> bool {
    lease.spec.as_ref().and_then(|it| it.holder_identity.as_deref()).unwrap_or_default().is_empty()
}

/// Whether a person has approved on the Lease that more is written to the cloud than its limits allow.
pub(super) fn approves_writes(lease: &Lease) -> bool {
    let annotations = lease.metadata.annotations.as_ref();
    annotations.and_then(|it| it.get(APPROVAL)).is_some_and(|it| it == "true")
}

/// The module that was rolled back in this cluster, as its annotation says.
pub(super) fn refused_module(lease: &Lease) -> Option<Digest> {
    Digest::parse(lease.metadata.annotations.as_ref()?.get(REFUSED)?).ok()
}

impl ObservedLease {
    fn holder(&self) -> &str {
        self.lease.spec.as_ref().and_then(|it| it.holder_identity.as_deref()).unwrap_or_default()
    }

    /// For as long as its holder promised, counted from when its last change was seen here.
    fn is_valid(&self, now: Now) -> bool {
        let seconds = self.lease.spec.as_ref().and_then(|it| it.lease_duration_seconds).unwrap_or(0);
        now.local.saturating_duration_since(self.at) < Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster with one Lease, and a clock that only moves when asked to.
    struct World {
        lease: Option<Lease>,
        begin: Instant,
        seconds: u64,
    }

    impl World {
        fn new() -> Self {
            Self { lease: None, begin: Instant::now(), seconds: 0 }
        }

        fn now(&self) -> Now {
            let wall = Timestamp::UNIX_EPOCH + Duration::from_secs(1_000 + self.seconds);
            Now { local: self.begin + Duration::from_secs(self.seconds), wall }
        }

        /// One attempt that reads first. Returns whether it led.
        fn attempt(&mut self, candidate: &mut Election) -> bool {
            match candidate.next(self.lease.clone(), self.now()) {
                ElectionStep::Create(lease) | ElectionStep::Replace(lease) => {
                    self.lease = Some(lease.clone());
                    candidate.wrote(lease, self.now());
                }
                ElectionStep::Wait => {}
            }
            candidate.leads()
        }

        fn spec(&self) -> LeaseSpec {
            self.lease.clone().unwrap().spec.unwrap()
        }
    }

    fn candidate(name: &str) -> Election {
        Election::new(name.to_owned(), Duration::from_secs(15))
    }

    #[test]
    fn adv_104_an_approval_is_taken_off_the_lease_once() {
        let (mut world, mut first) = (World::new(), candidate("first"));
        assert!(world.attempt(&mut first));
        let lease = world.lease.as_mut().unwrap();
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(APPROVAL.to_owned(), "true".to_owned());
        annotations.insert("other".to_owned(), "kept".to_owned());
        let found = world.lease.clone().unwrap();
        assert!(approves_writes(&found));
        let ElectionStep::Replace(claim) = first.next(Some(found), world.now()) else { panic!("it is ours") };
        assert!(!approves_writes(&claim));
        assert_eq!(claim.metadata.annotations, Some([("other".to_owned(), "kept".to_owned())].into()));
        assert!(first.lease().is_some_and(approves_writes), "what is replaced is remembered until it is written");
        first.wrote(claim, world.now());
        assert!(!first.lease().is_some_and(approves_writes));
    }

    #[test]
    fn without_a_lease_the_first_candidate_leads() {
        let mut world = World::new();
        assert!(world.attempt(&mut candidate("a")));
        let spec = world.spec();
        assert_eq!(spec.holder_identity.as_deref(), Some("a"));
        assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(0)));
        assert_eq!(spec.acquire_time, spec.renew_time);
    }

    #[test]
    fn a_lease_counts_from_when_it_was_first_seen() {
        let mut world = World::new();
        assert!(world.attempt(&mut candidate("a")));
        // Long after a's last renewal, but b has only just read it.
        world.seconds += 100;
        let mut b = candidate("b");
        assert!(!world.attempt(&mut b));
        world.seconds += 14;
        assert!(!world.attempt(&mut b));
        world.seconds += 1;
        assert!(world.attempt(&mut b));
        assert_eq!(world.spec().lease_transitions, Some(1));
        assert_eq!(world.spec().acquire_time, world.spec().renew_time);
    }

    #[test]
    fn a_renewal_begins_the_wait_again() {
        let mut world = World::new();
        let (mut a, mut b) = (candidate("a"), candidate("b"));
        assert!(world.attempt(&mut a));
        assert!(!world.attempt(&mut b));
        world.seconds += 10;
        assert!(world.attempt(&mut a));
        world.seconds += 4;
        assert!(!world.attempt(&mut b));
        world.seconds += 14;
        assert!(!world.attempt(&mut b));
        world.seconds += 1;
        assert!(world.attempt(&mut b));
    }

    #[test]
    fn a_change_of_anything_but_the_spec_is_no_renewal() {
        let mut world = World::new();
        let mut b = candidate("b");
        assert!(world.attempt(&mut candidate("a")));
        assert!(!world.attempt(&mut b));
        world.seconds += 15;
        world.lease.as_mut().unwrap().metadata.resource_version = Some("7".to_owned());
        world.lease.as_mut().unwrap().metadata.annotations = Some([("k".to_owned(), "v".to_owned())].into());
        assert!(world.attempt(&mut b));
        let metadata = world.lease.unwrap().metadata;
        assert_eq!(metadata.resource_version.as_deref(), Some("7"), "the write is guarded");
        assert!(metadata.annotations.is_some(), "what others wrote on the Lease stays");
    }

    #[test]
    fn renewing_keeps_when_the_lease_was_acquired() {
        let mut world = World::new();
        let mut a = candidate("a");
        assert!(world.attempt(&mut a));
        let acquired = world.spec().acquire_time;
        world.seconds += 2;
        let renewal = a.renewal(world.now()).expect("a is the holder").spec.unwrap();
        assert_eq!((renewal.acquire_time, renewal.lease_transitions), (acquired.clone(), Some(0)));
        assert_ne!(renewal.renew_time, acquired);
        // And so does a renewal that had to read first.
        assert!(world.attempt(&mut a));
        assert_eq!(world.spec().acquire_time, acquired);
    }

    #[test]
    fn a_lease_that_may_be_lost_is_not_renewed_blindly() {
        let mut world = World::new();
        let (mut a, mut b) = (candidate("a"), candidate("b"));
        assert!(a.renewal(world.now()).is_none(), "never held");
        assert!(world.attempt(&mut a));
        assert!(!world.attempt(&mut b));
        assert!(b.renewal(world.now()).is_none(), "another holds it");
        world.seconds += 15;
        assert!(a.renewal(world.now()).is_none(), "expired");
    }

    #[test]
    fn a_holder_that_finds_another_waits() {
        let mut world = World::new();
        let (mut a, mut b) = (candidate("a"), candidate("b"));
        assert!(world.attempt(&mut a));
        assert!(!world.attempt(&mut b));
        world.seconds += 15;
        assert!(world.attempt(&mut b));
        assert!(!world.attempt(&mut a));
        assert_eq!(a.holder(), "b");
        assert_eq!(a.release(world.now()), None, "only the holder gives a Lease back");
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let mut world = World::new();
        let (mut a, mut b) = (candidate("a"), candidate("b"));
        assert!(world.attempt(&mut a));
        assert!(!world.attempt(&mut b));
        world.seconds += 3;
        world.lease = a.release(world.now());
        let spec = world.spec();
        assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
        assert!(world.lease.as_ref().is_some_and(is_free));
        assert!(world.attempt(&mut b));
        assert_eq!(world.spec().lease_transitions, Some(1));
    }

    #[test]
    fn a_lease_without_a_spec_is_free() {
        let mut world = World::new();
        world.lease = Some(Lease::default());
        assert!(world.attempt(&mut candidate("a")));
    }
}
