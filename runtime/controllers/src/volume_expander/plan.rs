//! The next step about a claim that asks for more than its volume has. No client, no clock, no log.
//!
//! As the external resizer with recovery from failures: what was begun is carried on to its size, whatever the claim asks for meanwhile,
//! unless the cloud has refused it.

use std::collections::BTreeMap;

use cloud_provider::{KnownVolume, VolumeDescription, VolumeGrowth};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt as _;

use crate::{known_volume, quantity};

/// The resource of a claim that grows.
pub(super) const STORAGE: &str = "storage";
/// The memo of the provider, which the host keeps on the PersistentVolume.
pub(super) const EXPANSION_MEMO: &str = "aerostat.dev/volume-expansion-memo";
/// The size before, on a PersistentVolume: kube-controller-manager gives a claim that is bound meanwhile no more than that.
pub(super) const SIZE_BEFORE: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";

/// Where the growth of a claim's volume stands, in `status.allocatedResourceStatuses`.
pub(super) const AT_WORK: &str = "ControllerResizeInProgress";
pub(super) const INFEASIBLE: &str = "ControllerResizeInfeasible";
pub(super) const NODE_NEXT: &str = "NodeResizePending";
const NODE_AT_WORK: &str = "NodeResizeInProgress";
const NODE_INFEASIBLE: &str = "NodeResizeInfeasible";
/// The condition of a claim whose node has to act.
pub(super) const NODE_CONDITION: &str = "FileSystemResizePending";

/// The next step about a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ExpandStep {
    /// Nothing: it asks for no more, it is none of this driver, or its node is to act.
    Ignore,
    /// The PersistentVolume forgets the size before: the node has done its part.
    Forget,
    /// One step of the volume towards a size.
    Expand(GrowthTarget),
    /// It cannot grow to that size: a person has to change something.
    Refuse(GrowthTarget, String),
}

/// A volume, and a size that it is to have.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct GrowthTarget {
    /// As the claim says it.
    pub(super) size: String,
    /// A size that the cloud has.
    pub(super) bytes: u64,
    pub(super) volume: KnownVolume,
    /// Whether the claim's status says that it grows to this size.
    pub(super) is_begun: bool,
    /// The side whose attempt at this size was infeasible before.
    pub(super) failed: Option<FailedSide>,
}

/// The side on which an attempt was infeasible.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FailedSide {
    Cloud,
    Node,
}

/// A size as the claim says it, and its bytes.
#[derive(Clone, Copy, Debug)]
struct StatedSize<'a> {
    text: &'a str,
    bytes: u64,
}

/// Sizes of a bound claim.
struct ClaimSizes<'a> {
    asked: StatedSize<'a>,
    had: u64,
    allocated: Option<StatedSize<'a>>,
    status: Option<&'a str>,
}

impl<'a> ClaimSizes<'a> {
    fn of(claim: &'a PersistentVolumeClaim) -> Option<Self> {
        let status = claim.status.as_ref().filter(|it| it.phase.as_deref() == Some("Bound"))?;
        Some(Self {
            asked: size(claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref())?,
            had: size(status.capacity.as_ref())?.bytes,
            allocated: size(status.allocated_resources.as_ref()),
            status: resize_status(status),
        })
    }

    /// The size that comes next for a volume of so many bytes by its PersistentVolume; `None` where its node has to act first.
    fn next(&self, has: u64, is_refused: bool, waits_for_node: bool) -> Option<StatedSize<'a>> {
        let begun = self.allocated.unwrap_or(self.asked);
        let is_larger = has >= self.asked.bytes;
        match self.status {
            Some(NODE_NEXT | NODE_AT_WORK) => (!is_larger && has < begun.bytes).then_some(begun),
            Some(NODE_INFEASIBLE) => Some(begun),
            Some(INFEASIBLE) => Some(self.asked),
            Some(AT_WORK) if !is_larger && is_refused => Some(self.asked),
            Some(AT_WORK) => Some(begun),
            _ if !is_larger => Some(self.asked),
            // An API server that keeps no such status, or a controller of before.
            _ => (!(waits_for_node && self.allocated.is_none())).then_some(begun),
        }
    }
}

/// The size among some resources. One that no disk has is larger than any.
fn size(resources: Option<&BTreeMap<String, Quantity>>) -> Option<StatedSize<'_>> {
    let text = resources?.get(STORAGE)?.0.as_str();
    Some(StatedSize { text, bytes: quantity::bytes(text).unwrap_or(u64::MAX) })
}

/// Where the growth of a claim's volume stands.
pub(super) fn resize_status(status: &PersistentVolumeClaimStatus) -> Option<&str> {
    status.allocated_resource_statuses.as_ref()?.get(STORAGE).map(String::as_str).filter(|it| !it.is_empty())
}

/// The bytes of a PersistentVolume, by its own word.
pub(super) fn bytes_of(pv: &PersistentVolume) -> u64 {
    size(pv.spec.as_ref().and_then(|it| it.capacity.as_ref())).map_or(0, |it| it.bytes)
}

/// The name of the PersistentVolume of a claim.
pub(super) fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|it| !it.is_empty())
}

/// The claim of a PersistentVolume of this driver: its namespace and its name.
pub(super) fn claim_of(pv: &PersistentVolume, driver: &str) -> Option<String> {
    known_volume::source(pv, driver)?;
    let claim = pv.spec.as_ref()?.claim_ref.as_ref()?;
    Some(format!("{}/{}", claim.namespace.as_deref()?, claim.name.as_deref()?))
}

/// Whether a PersistentVolume is this claim's, by both.
fn is_claims(pv: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let bound = pv.spec.as_ref().and_then(|it| it.claim_ref.as_ref());
    volume_name(claim) == pv.metadata.name.as_deref()
        && bound.is_some_and(|it| it.namespace == claim.metadata.namespace && it.uid == claim.metadata.uid)
        && claim.metadata.uid.is_some()
}

/// Whether a claim asks for more than its volume has.
pub(super) fn is_due(claim: &PersistentVolumeClaim) -> bool {
    ClaimSizes::of(claim).is_some_and(|it| it.asked.bytes > it.had)
}

/// Whether the cloud is at work on a claim's volume, by the claim's status.
pub(super) fn is_at_work(claim: &PersistentVolumeClaim) -> bool {
    ClaimSizes::of(claim).is_some_and(|it| it.status == Some(AT_WORK))
}

/// When a claim is looked at that has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum GrowthWake {
    /// Not for that: this controller itself has written it, or it asks for no more.
    Never,
    /// At once, unless it waits for something: what was begun is carried on to its size, whatever the claim asks for meanwhile.
    IfIdle,
    /// At once.
    AtOnce,
}

/// When a claim is looked at that is so now, and was so before, and of which this is known: whether the cloud has refused the last attempt.
pub(super) fn wake(
    before: Option<&PersistentVolumeClaim>,
    after: &PersistentVolumeClaim,
    is_refused: bool,
) -> GrowthWake {
    let Some(before) = before else { return if is_due(after) { GrowthWake::AtOnce } else { GrowthWake::Never } };
    match is_news(before, after) {
        false => GrowthWake::Never,
        true if is_at_work(after) && !is_refused && before.metadata.uid == after.metadata.uid => GrowthWake::IfIdle,
        true => GrowthWake::AtOnce,
    }
}

/// Whether a claim, or its volume, has changed in a way that others than this controller bring about, and that may be reason for a step.
fn is_news(before: &PersistentVolumeClaim, after: &PersistentVolumeClaim) -> bool {
    let told = |claim: &PersistentVolumeClaim| {
        let sizes = ClaimSizes::of(claim).map(|it| (it.asked.bytes, it.had, it.status == Some(NODE_INFEASIBLE)));
        (claim.uid(), volume_name(claim).map(str::to_owned), sizes)
    };
    told(before) != told(after)
}

/// The next step about a claim, of which this is known: its PersistentVolume, and whether the cloud has refused the last attempt, so that
/// nothing is under way.
pub(super) fn claim(
    claim: &PersistentVolumeClaim,
    pv: Option<&PersistentVolume>,
    is_refused: bool,
    described: &VolumeDescription,
) -> ExpandStep {
    let (Some(pv), Some(sizes)) = (pv, ClaimSizes::of(claim)) else { return ExpandStep::Ignore };
    let Some(source) = known_volume::source(pv, &described.driver).filter(|_| is_claims(pv, claim)) else {
        return ExpandStep::Ignore;
    };
    let has = bytes_of(pv);
    if sizes.had >= has && pv.annotations().contains_key(SIZE_BEFORE) {
        return ExpandStep::Forget;
    }
    if sizes.asked.bytes <= sizes.had {
        return ExpandStep::Ignore;
    }
    let Some(next) = sizes.next(has, is_refused, waits_for_node(claim)) else { return ExpandStep::Ignore };
    let is_begun = sizes.status.is_some() && sizes.allocated.is_some_and(|it| it.bytes == next.bytes);
    let step = next.bytes.checked_next_multiple_of(described.step_bytes.max(1));
    let target = GrowthTarget {
        size: next.text.to_owned(),
        bytes: step.unwrap_or(u64::MAX).max(described.smallest_bytes),
        volume: known_volume::of(pv, source, EXPANSION_MEMO),
        is_begun,
        failed: match sizes.status.filter(|_| is_begun) {
            Some(INFEASIBLE) => Some(FailedSide::Cloud),
            Some(NODE_INFEASIBLE) => Some(FailedSide::Node),
            _ => None,
        },
    };
    if described.growth == VolumeGrowth::Never {
        return ExpandStep::Refuse(target, format!("volumes of driver {} do not grow", described.driver));
    }
    if target.bytes > described.largest_bytes {
        let (largest, driver) = (quantity::binary(described.largest_bytes), &described.driver);
        let why = format!("{} is more than the largest volume of driver {driver} has: {largest}", target.size);
        return ExpandStep::Refuse(target, why);
    }
    if source.controller_expand_secret_ref.is_some() {
        let why = format!(
            "PersistentVolume {} names a secret with which it is to grow, and no secret of the cluster enters a provider",
            target.volume.name
        );
        return ExpandStep::Refuse(target, why);
    }
    ExpandStep::Expand(target)
}

/// Whether a claim's condition says that its node has to act.
fn waits_for_node(claim: &PersistentVolumeClaim) -> bool {
    let mut conditions = claim.status.iter().flat_map(|it| it.conditions.iter().flatten());
    conditions.any(|it| it.type_ == NODE_CONDITION && it.status == "True")
}

#[cfg(test)]
mod tests;
