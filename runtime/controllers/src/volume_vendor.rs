//! The vendor's own controller of volumes, which may still run, or again. Two that make or attach the volumes of one driver work against
//! each other: as long as the vendor's runs, nothing is written here.
//!
//! ```text
//! Leases of its sidecars ► ■ leases::look: renewed between two looks ─┐
//! what its hand has done (volume_provisioner, volume_attacher) ───────┴► ■ verdict ► check: every key waits
//! ```
//!
//! Leases of `kube-system` count, and of the namespaces in which the vendor's manifests put its controller, as the provider describes them. Those of
//! others say nothing: whoever may edit a namespace writes Leases there, and one would stop the volumes of all.
//!
//! A Lease is let go of by itself once nobody renews it. A hand without a Lease, as of vendors whose controllers elect no leader, is not seen to
//! end: a person says so.

mod leases;
mod part;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{APPROVAL, CloudVolumes, VolumeDescription};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::Api;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use budgets::RequestedChanges;

use self::leases::{LeaseVerdict, RenewedLease, VendorLeases};
pub(crate) use self::part::VendorPart;
use crate::account::changed;
use crate::error::chain;
use crate::events;
use crate::metrics::VolumeMetrics;
use crate::object::{self, answer};
use crate::volume_error::Error;
use crate::volume_events::VolumeEvents;

/// How often the vendor's Leases are looked at: a sidecar that runs is noticed within a minute.
pub(crate) const LOOKS: Duration = Duration::from_secs(20);
/// After so many looks without a renewal nobody renews a Lease. What was begun before is seen in less time, too, and is no word of a hand
/// that is at work.
const QUIET_LOOKS: u32 = 3;
/// How long it rests before Leases are looked at again that could not be.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The namespace of the Leases that count anyhow: vendors have their controllers there, as aerostat is there, and no tenant writes in it.
const NAMESPACE: &str = "kube-system";
/// The reason of the events.
const REASON: &str = "VendorControllerRuns";
/// The reason of the event that nobody can say whether it runs.
const UNREAD: &str = "VendorLeasesForbidden";

/// Whether the vendor's controller runs.
#[derive(Clone, Debug, Eq, PartialEq)]
enum VendorVerdict {
    /// The first look is still to come.
    Unknown,
    /// A Lease was renewed lately, by its own clock: the next look shows whether it still is.
    Unsure(String),
    /// Nothing says so.
    Absent,
    /// It runs, as this text says.
    Runs(VendorPart, Arc<str>),
}

/// Evidence that the vendor's controller runs.
#[derive(Default)]
struct VendorEvidence {
    leases: VendorLeases,
    /// The word of the Leases at the last look.
    by_leases: Option<LeaseVerdict>,
    /// A hand that no Lease explains.
    hand: Option<VendorHand>,
}

/// The work of a part of the vendor's controller.
#[derive(Clone)]
struct VendorHand {
    part: VendorPart,
    about: ObjectReference,
    text: Arc<str>,
}

/// The watch over the vendor's controller, which the controllers of volumes share.
pub(crate) struct VolumeVendor {
    client: kube::Client,
    cloud: Arc<dyn CloudVolumes>,
    requested: RequestedChanges,
    metrics: VolumeMetrics,
    events: VolumeEvents,
    /// The parts whose work is done here, and since when: once all is known that was there at the start.
    parts: Mutex<BTreeMap<VendorPart, Option<Instant>>>,
    evidence: Mutex<VendorEvidence>,
    verdict: watch::Sender<VendorVerdict>,
    /// One of the controllers looks for all.
    looking: tokio::sync::Mutex<()>,
    looks: Duration,
}

impl VolumeVendor {
    /// A watch over the vendor's controller of this cloud's driver, which looks so often. Somebody has to [`follow`](Self::follow) it.
    pub(crate) fn new(
        client: kube::Client,
        cloud: Arc<dyn CloudVolumes>,
        requested: RequestedChanges,
        metrics: VolumeMetrics,
        events: VolumeEvents,
        looks: Duration,
    ) -> Self {
        Self {
            client,
            cloud,
            requested,
            metrics,
            events,
            parts: Mutex::default(),
            evidence: Mutex::default(),
            verdict: watch::Sender::new(VendorVerdict::Unknown),
            looking: tokio::sync::Mutex::default(),
            looks,
        }
    }

    /// The work of this part is done here.
    pub(crate) fn replaces(&self, part: VendorPart) {
        self.parts.lock().insert(part, None);
        self.metrics.vendor_runs(part.container(), false);
    }

    /// The work of this part begins now: all is known that was there at the start.
    pub(crate) fn begins(&self, part: VendorPart) {
        self.parts.lock().insert(part, Some(Instant::now()));
    }

    /// Whether anything is written at all now.
    ///
    /// # Errors
    ///
    /// If the vendor's controller runs, or may run.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &*self.verdict.borrow() {
            VendorVerdict::Absent => Ok(()),
            VendorVerdict::Runs(_, text) => Err(Error::Vendor(text.to_string())),
            VendorVerdict::Unsure(lease) => {
                Err(Error::Vendor(format!("{lease} was renewed lately: it is looked at again first")))
            }
            VendorVerdict::Unknown => Err(Error::Vendor("the Leases of the vendor's controller are read first".into())),
        }
    }

    /// Waits until the Leases were looked at.
    pub(crate) async fn looked(&self) {
        // There is a sender: this is one.
        let _ = self.verdict.subscribe().wait_for(|it| *it != VendorVerdict::Unknown).await;
    }

    /// Waits until the vendor's controller, which has run or may have, is away.
    pub(crate) async fn away(&self) {
        let mut verdict = self.verdict.subscribe();
        let _ = verdict.wait_for(|it| *it != VendorVerdict::Absent).await;
        let _ = verdict.wait_for(|it| *it == VendorVerdict::Absent).await;
    }

    /// A part of the vendor's controller has done something about this object, which `what` says without a full stop. It does not count while
    /// what was done before may still come to be seen.
    pub(crate) fn saw(&self, part: VendorPart, about: &ObjectReference, what: &str) {
        let begin = self.parts.lock().get(&part).copied().flatten();
        if begin.is_none_or(|it| it.elapsed() < self.looks * QUIET_LOOKS) {
            debug!(part = part.container(), what, "the vendor's controller may have done this before");
            return;
        }
        let text: Arc<str> = format!(
            "{what}: the vendor's {} runs, or another program that does its work, and has no Lease. Until it is away no volume is made, attached, \
             detached, enlarged or deleted here. Next step: take the container {} out of the vendor's controller, and put the annotation {APPROVAL}: \"true\" \
             on the Lease of aerostat then; or switch the {} off here",
            part.container(),
            part.container(),
            part.controller(),
        )
        .into();
        {
            let mut evidence = self.evidence.lock();
            // It is told already.
            if matches!(evidence.by_leases, Some(LeaseVerdict::Renewed(..))) || evidence.hand.is_some() {
                return;
            }
            evidence.hand = Some(VendorHand { part, about: about.clone(), text: text.clone() });
        }
        self.judge();
        self.events.warn_once("", about, REASON, &text);
    }

    /// Looks at the vendor's Leases for ever, as long as nobody else does.
    pub(crate) async fn follow(self: Arc<Self>) {
        let _looking = self.looking.lock().await;
        let (mut approvals, mut is_warned) = (self.requested.approvals(), false);
        loop {
            let pause = self.look(&mut is_warned).await;
            tokio::select! {
                () = sleep(pause) => {}
                () = changed(&mut approvals) => self.confirmed(),
            }
        }
    }

    /// Looks at the Leases of the vendor's parts. Returns when to look again.
    async fn look(&self, is_warned: &mut bool) -> Duration {
        let parts: Vec<_> = self.parts.lock().keys().copied().collect();
        let mut found = Vec::new();
        for (namespace, part, name) in places(&self.cloud.description(), &parts) {
            let leases: Api<Lease> = Api::namespaced(self.client.clone(), &namespace);
            match answer(leases.get_opt(&name)).await {
                Ok(lease) => found.extend(lease.map(|it| (part, it))),
                Err(error) => return self.not_looked(&format!("{namespace}/{name}"), &error, is_warned),
            }
        }
        *is_warned = false;
        let quiet = self.looks * QUIET_LOOKS;
        let (verdict, hand) = {
            let mut evidence = self.evidence.lock();
            let verdict = evidence.leases.look(&found, quiet, Timestamp::now(), Instant::now());
            if matches!(verdict, LeaseVerdict::Renewed(..)) {
                // It explains whatever was done.
                evidence.hand = None;
            }
            evidence.by_leases = Some(verdict.clone());
            (verdict, evidence.hand.clone())
        };
        self.judge();
        // Once in ten minutes, for as long as it lasts.
        if let Some(VendorHand { about, text, .. }) = hand {
            self.events.warn_once("", &about, REASON, &text);
        }
        match verdict {
            LeaseVerdict::Renewed(part, lease) => {
                self.events.warn_once("", &lease.reference(), REASON, &lease.text(part));
                self.looks
            }
            LeaseVerdict::Unsure(_) => self.looks / 2,
            LeaseVerdict::None => self.looks,
        }
    }

    /// A Lease could not be read: what is known of them all stays, but where it may not be read at all. Then nobody knows by Leases whether the
    /// vendor's controller runs.
    fn not_looked(&self, lease: &str, error: &object::Error, is_warned: &mut bool) -> Duration {
        let text = chain(error);
        if !error.is_refusal() {
            debug!(lease, error = text, "the Leases of the vendor's controller cannot be read; trying again");
            return LOOK_AGAIN.min(self.looks);
        }
        let message = format!(
            "the Lease {lease}, by which the vendor's controller of volumes is noticed, may not be read ({text}), and nothing about volumes begins \
             before it is. Next step: apply the rules of deploy/volumes, or upgrade the release of the chart, which has those of this provider"
        );
        self.evidence.lock().by_leases = None;
        self.judge();
        self.events.warn_once("", &events::cluster(), UNREAD, &message);
        if !std::mem::replace(is_warned, true) {
            warn!("{message}");
        }
        self.looks
    }

    /// A person says that the vendor's controller is away.
    fn confirmed(&self) {
        if self.evidence.lock().hand.take().is_some() {
            info!("a person has approved writes: the vendor's controller of volumes is taken to be away");
            self.judge();
        }
    }

    fn judge(&self) {
        let (verdict, replaced) = {
            // So that a later one is not replaced by it.
            let evidence = self.evidence.lock();
            let verdict = evidence.verdict();
            (verdict.clone(), self.verdict.send_replace(verdict))
        };
        if replaced == verdict {
            return;
        }
        for part in self.parts.lock().keys() {
            let runs = matches!(&verdict, VendorVerdict::Runs(running, _) if running == part);
            self.metrics.vendor_runs(part.container(), runs);
        }
        match (replaced, verdict) {
            (_, VendorVerdict::Runs(_, text)) => warn!("{text}"),
            (VendorVerdict::Runs(..), VendorVerdict::Absent) => {
                info!("the vendor's controller of volumes is away: volumes are made and attached here again");
            }
            _ => {}
        }
    }
}

/// The Leases that count, each with its namespace: those of these parts.
fn places(described: &VolumeDescription, parts: &[VendorPart]) -> Vec<(String, VendorPart, String)> {
    let own = described.vendor_namespaces.iter().map(String::as_str).filter(|it| *it != NAMESPACE);
    let of_namespace = |namespace: &str| {
        let place = |part: &VendorPart| (namespace.to_owned(), *part, part.lease(&described.driver));
        parts.iter().map(place).collect::<Vec<_>>()
    };
    std::iter::once(NAMESPACE).chain(own).flat_map(of_namespace).collect()
}

impl VendorEvidence {
    fn verdict(&self) -> VendorVerdict {
        match (&self.by_leases, &self.hand) {
            (None, _) => VendorVerdict::Unknown,
            (Some(LeaseVerdict::Renewed(part, lease)), _) => VendorVerdict::Runs(*part, lease.text(*part).into()),
            (_, Some(hand)) => VendorVerdict::Runs(hand.part, hand.text.clone()),
            (Some(LeaseVerdict::Unsure(lease)), None) => VendorVerdict::Unsure(lease.place()),
            (Some(LeaseVerdict::None), None) => VendorVerdict::Absent,
        }
    }
}

impl RenewedLease {
    /// The event's text.
    fn text(&self, part: VendorPart) -> String {
        format!(
            "{} is renewed by {}: the vendor's {} runs. Until it is away no volume is made, attached, detached, enlarged or deleted here. Next step: take the \
             container {} out of the vendor's controller, and it goes on by itself a minute later; or switch the {} off here",
            self.place(),
            self.holder,
            part.container(),
            part.container(),
            part.controller(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVER: &str = "dobs.csi.digitalocean.com";

    fn lease() -> RenewedLease {
        RenewedLease { holder: "csi-controller-0".to_owned(), ..RenewedLease::default() }
    }

    fn evidence(by_leases: Option<LeaseVerdict>, has_hand: bool) -> VendorEvidence {
        let hand =
            || VendorHand { part: VendorPart::Provisioner, about: ObjectReference::default(), text: "its hand".into() };
        VendorEvidence { by_leases, hand: has_hand.then(hand), ..VendorEvidence::default() }
    }

    #[test]
    fn leases_have_the_names_that_sidecars_give_them() {
        let names = [VendorPart::Provisioner, VendorPart::Attacher, VendorPart::Resizer].map(|it| it.lease(DRIVER));
        let own = "dobs-csi-digitalocean-com";
        let leader = format!("external-attacher-leader-{own}");
        assert_eq!(names, [own.to_owned(), leader, format!("external-resizer-{own}")]);
    }

    /// Cases: csi 74
    #[test]
    fn leases_are_looked_at_where_vendors_put_their_controllers() {
        let looked = |driver: &str, own: &[&str]| {
            let vendor_namespaces = own.iter().map(|it| (*it).to_owned()).collect();
            let described =
                VolumeDescription { driver: driver.to_owned(), vendor_namespaces, ..VolumeDescription::default() };
            let found = places(&described, &[VendorPart::Attacher, VendorPart::Resizer]);
            found.into_iter().map(|(namespace, _, name)| format!("{namespace}/{name}")).collect::<Vec<_>>()
        };
        let leases = |namespace: &str, driver: &str| {
            ["external-attacher-leader", "external-resizer"].map(|it| format!("{namespace}/{it}-{driver}"))
        };
        let elsewhere = leases(NAMESPACE, "dobs-csi-digitalocean-com");
        assert_eq!(looked(DRIVER, &[]), elsewhere);
        assert_eq!(looked(DRIVER, &[NAMESPACE]), elsewhere, "each once");
        let disks = [NAMESPACE, "gce-pd-csi-driver"].map(|it| leases(it, "pd-csi-storage-gke-io")).concat();
        assert_eq!(looked("pd.csi.storage.gke.io", &["gce-pd-csi-driver"]), disks);
    }

    /// Cases: csi 74
    #[test]
    fn a_verdict_on_the_vendor_rests_on_leases_and_on_its_hand() {
        let renewed = || Some(LeaseVerdict::Renewed(VendorPart::Attacher, lease()));
        let by_hand = VendorVerdict::Runs(VendorPart::Provisioner, "its hand".into());
        assert_eq!(evidence(None, true).verdict(), VendorVerdict::Unknown, "nothing is written before the first look");
        assert_eq!(evidence(Some(LeaseVerdict::None), false).verdict(), VendorVerdict::Absent);
        assert_eq!(evidence(Some(LeaseVerdict::None), true).verdict(), by_hand);
        assert_eq!(evidence(Some(LeaseVerdict::Unsure(lease())), true).verdict(), by_hand);
        assert!(matches!(evidence(Some(LeaseVerdict::Unsure(lease())), false).verdict(), VendorVerdict::Unsure(_)));
        let verdict = evidence(renewed(), true).verdict();
        let VendorVerdict::Runs(VendorPart::Attacher, text) = &verdict else { panic!("{verdict:?}") };
        for part in
            ["is renewed by csi-controller-0", "take the container csi-attacher", "switch the volume-attacher off"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}
