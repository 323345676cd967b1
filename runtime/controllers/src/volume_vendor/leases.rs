//! Leases of the vendor's controller, as looks at them find them one after the other. No client, no clock, no log.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::printable;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::part::VendorPart;
use crate::events::reference;

/// The longest name of a holder that is shown.
const HOLDER: usize = 128;

/// The Leases that the last look has found, each by its namespace and name.
#[derive(Debug, Default)]
pub(super) struct VendorLeases {
    seen: HashMap<String, SeenLease>,
    has_looked: bool,
}

#[derive(Clone, Copy, Debug)]
struct SeenLease {
    renewed: Timestamp,
    /// When a look last found that somebody has renewed it since the look before.
    moved: Option<Instant>,
}

/// The word of the Leases on the vendor's controller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum LeaseVerdict {
    /// None is renewed.
    None,
    /// This one was renewed lately by the clock of its holder, which may have ended since: the next look shows it.
    Unsure(RenewedLease),
    /// This one is renewed.
    Renewed(VendorPart, RenewedLease),
}

/// A Lease, and its holder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct RenewedLease {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Option<String>,
    pub(super) holder: String,
}

impl VendorLeases {
    /// These Leases were found now. One counts as renewed for so long after a look has found another time of renewal in it: the clocks of
    /// others decide nothing but whether the first look is followed by a second one before anything is written.
    pub(super) fn look(
        &mut self,
        found: &[(VendorPart, Lease)],
        quiet: Duration,
        wall: Timestamp,
        now: Instant,
    ) -> LeaseVerdict {
        let (mut seen, mut verdict) = (HashMap::new(), LeaseVerdict::None);
        for (part, lease) in found {
            let Some((held, renewed)) = held(lease) else { continue };
            let is_fresh = wall.duration_since(renewed).unsigned_abs() <= quiet;
            let key = held.place();
            let moved = match self.seen.get(&key) {
                Some(before) if before.renewed != renewed => Some(now),
                Some(before) => before.moved,
                // One that came back out of a backup, say, is old.
                None => (self.has_looked && is_fresh).then_some(now),
            };
            let is_renewed = moved.is_some_and(|it| now.saturating_duration_since(it) <= quiet);
            verdict = match verdict {
                LeaseVerdict::Renewed(..) => verdict,
                _ if is_renewed => LeaseVerdict::Renewed(*part, held),
                LeaseVerdict::None if is_fresh && !self.has_looked => LeaseVerdict::Unsure(held),
                _ => verdict,
            };
            seen.insert(key, SeenLease { renewed, moved });
        }
        self.seen = seen;
        self.has_looked = true;
        verdict
    }
}

/// A Lease that somebody holds, and when it was renewed.
fn held(lease: &Lease) -> Option<(RenewedLease, Timestamp)> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.as_deref().filter(|it| !it.is_empty())?;
    let reference = reference(lease);
    let held = RenewedLease {
        namespace: reference.namespace.unwrap_or_default(),
        name: reference.name.unwrap_or_default(),
        uid: reference.uid,
        holder: printable(holder, HOLDER),
    };
    Some((held, spec.renew_time.as_ref()?.0))
}

impl RenewedLease {
    /// The Lease as messages call it.
    pub(super) fn place(&self) -> String {
        format!("the Lease {}/{}", self.namespace, self.name)
    }

    /// The object that events are about.
    pub(super) fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            namespace: Some(self.namespace.clone()),
            name: Some(self.name.clone()),
            uid: self.uid.clone(),
            ..ObjectReference::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use serde_json::{from_value, json};

    use super::*;

    const QUIET: Duration = Duration::from_secs(60);
    const LOOK: Duration = Duration::from_secs(20);

    /// A world in which looks follow each other.
    struct Looks {
        leases: VendorLeases,
        wall: Timestamp,
        now: Instant,
    }

    impl Looks {
        fn new() -> Self {
            let wall = "2026-11-30T12:00:00Z".parse().unwrap();
            Self { leases: VendorLeases::default(), wall, now: Instant::now() }
        }

        /// The next look, at a Lease that was renewed so many seconds before.
        fn at(&mut self, holder: &str, ago: Option<i64>) -> LeaseVerdict {
            self.wall += 20.seconds();
            self.now += LOOK;
            let found: Vec<_> =
                ago.map(|it| (VendorPart::Attacher, lease(holder, self.wall - it.seconds()))).into_iter().collect();
            self.leases.look(&found, QUIET, self.wall, self.now)
        }
    }

    fn lease(holder: &str, renewed: Timestamp) -> Lease {
        let metadata = json!({ "name": "external-attacher-leader-d", "namespace": "kube-system", "uid": "1" });
        // As in an API server's answer.
        let renewed = format!("{renewed:.6}");
        from_value(json!({ "metadata": metadata, "spec": { "holderIdentity": holder, "renewTime": renewed } })).unwrap()
    }

    fn is_renewed(verdict: &LeaseVerdict) -> bool {
        matches!(verdict, LeaseVerdict::Renewed(VendorPart::Attacher, lease) if lease.holder == "pod-1")
    }

    /// Cases: csi 74
    #[test]
    fn a_lease_that_is_renewed_is_noticed_by_the_second_look() {
        let mut looks = Looks::new();
        assert!(matches!(looks.at("pod-1", Some(3)), LeaseVerdict::Unsure(_)), "it may have ended a second ago");
        assert!(is_renewed(&looks.at("pod-1", Some(2))));
        let mut later = Looks::new();
        assert_eq!(later.at("", None), LeaseVerdict::None);
        assert!(is_renewed(&later.at("pod-1", Some(2))), "it has come since");
    }

    #[test]
    fn a_lease_that_nobody_renews_says_nothing() {
        let mut looks = Looks::new();
        assert_eq!(looks.at("pod-1", Some(3_600)), LeaseVerdict::None, "left by one that ended");
        assert_eq!(looks.at("pod-1", Some(3_620)), LeaseVerdict::None);
        let mut ended = Looks::new();
        assert!(matches!(ended.at("pod-1", Some(10)), LeaseVerdict::Unsure(_)));
        assert_eq!(ended.at("pod-1", Some(30)), LeaseVerdict::None, "it was its last renewal");
        let mut restored = Looks::new();
        assert_eq!(restored.at("", None), LeaseVerdict::None);
        assert_eq!(restored.at("pod-1", Some(86_400)), LeaseVerdict::None, "out of a backup");
    }

    #[test]
    fn a_lease_is_let_go_of_a_minute_after_its_last_renewal() {
        let mut looks = Looks::new();
        let verdicts: Vec<_> = [1, 1, 21, 41, 61, 81].map(|ago| is_renewed(&looks.at("pod-1", Some(ago)))).into();
        assert_eq!(verdicts, [false, true, true, true, true, false]);
        let mut released = Looks::new();
        released.at("pod-1", Some(1));
        assert!(is_renewed(&released.at("pod-1", Some(1))));
        assert_eq!(released.at("", Some(0)), LeaseVerdict::None, "released at its end");
        assert!(is_renewed(&released.at("pod-1", Some(1))), "taken again");
        assert_eq!(released.at("", None), LeaseVerdict::None, "deleted");
    }

    #[test]
    fn clocks_of_others_decide_nothing_after_the_first_looks() {
        let mut behind = Looks::new();
        assert_eq!(behind.at("pod-1", Some(7_200)), LeaseVerdict::None);
        assert!(is_renewed(&behind.at("pod-1", Some(7_201))), "two hours behind, and renewed");
        let mut ahead = Looks::new();
        assert_eq!(ahead.at("pod-1", Some(-7_200)), LeaseVerdict::None);
        assert!(is_renewed(&ahead.at("pod-1", Some(-7_199))));
    }
}
