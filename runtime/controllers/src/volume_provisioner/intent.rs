//! The intent to make a volume for a claim: kept in a ConfigMap of our own namespace before the first call, so that it outlives the
//! claim and this process, and nobody else writes it. Values only.

use std::collections::BTreeMap;

use cloud_provider::{AccessMode, ClaimOwner, CloudVolume, DesiredVolume, VolumePlace};
use k8s_openapi::api::core::v1::{
    ConfigMap, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference, PersistentVolume,
    VolumeNodeAffinity,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::quantity;

/// The label of all intents.
pub(super) const LABEL: &str = "aerostat.dev/volume-intent";
/// The key of its text.
const KEY: &str = "intent";
/// In `volumeAttributes`: the process that has made the volume, as the vendor's own controller writes it.
pub(super) const IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";

/// The intent to make one volume.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Intent {
    /// Its words are those of the first call for ever; only the memo changes, and which place is the best once another one has no room.
    pub(super) desired: DesiredVolume,
    /// The PersistentVolume as far as it is known before there is a volume.
    pub(super) skeleton: PersistentVolume,
    /// The node that was selected when the claim was first seen.
    pub(super) selected_node: Option<String>,
    /// There is no room in that node's place: the volume is abandoned, and the claim goes back to the scheduler.
    pub(super) is_returned: bool,
    /// There is no room in its best place, and no node was selected: the volume is abandoned, and made in the next of its places.
    pub(super) is_moved: bool,
    /// So many of its places had no room, one after the other.
    pub(super) full_places: usize,
    /// The provider calls it invalid: the volume is abandoned, and the claim is looked at as one that is seen for the first time.
    pub(super) is_refused: bool,
    /// The handle of the volume, written before its PersistentVolume where that does not have the policy `Delete`: without it nobody has put data there.
    pub(super) made: Option<String>,
    /// Whether `create` may have been called.
    pub(super) is_called: bool,
    /// Whether the ConfigMap is there.
    pub(super) is_kept: bool,
    /// Whether a process before may have saved its PersistentVolume.
    pub(super) is_inherited: bool,
    /// Whether a process before has begun it, for as long as this one knows of it.
    pub(super) is_from_before: bool,
    /// When this process first knew of it.
    pub(super) begun: Instant,
}

/// As it stands in the ConfigMap.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct IntentText {
    driver: String,
    cluster: String,
    namespace: String,
    claim: String,
    uid: String,
    memo: Option<String>,
    bytes: u64,
    access_modes: Vec<IntentMode>,
    filesystem: Option<String>,
    parameters: Vec<(String, String)>,
    places: Vec<VolumePlace>,
    annotations: Vec<(String, String)>,
    selected_node: Option<String>,
    #[serde(default)]
    is_returned: bool,
    #[serde(default)]
    is_moved: bool,
    #[serde(default)]
    full_places: usize,
    #[serde(default)]
    is_refused: bool,
    #[serde(default)]
    made: Option<String>,
    volume: PersistentVolume,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
enum IntentMode {
    OneNode,
    OnePod,
    ManyNodesRead,
    ManyNodesWrite,
}

/// The name of the volume for a claim, in Kubernetes and in the cloud.
pub(super) fn name(uid: &str) -> String {
    format!("pvc-{uid}")
}

/// The UID of the claim for which a volume has this name.
pub(super) fn uid(name: &str) -> Option<&str> {
    name.strip_prefix("pvc-")
}

impl Intent {
    pub(super) fn new(desired: DesiredVolume, skeleton: PersistentVolume, selected_node: Option<String>) -> Self {
        Self {
            desired,
            skeleton,
            selected_node,
            is_returned: false,
            is_moved: false,
            full_places: 0,
            is_refused: false,
            made: None,
            is_called: false,
            is_kept: false,
            is_inherited: false,
            is_from_before: false,
            begun: Instant::now(),
        }
    }

    /// The UID of the claim.
    pub(super) fn uid(&self) -> &str {
        &self.desired.owner.uid
    }

    /// Whether the volume is abandoned, although a claim may wait for it: not as it is here.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_returned || self.is_refused || self.is_moved
    }

    /// There is no room in its best place, and nothing of it is there: the next one is the best. Returns whether that was not tried in this round.
    pub(super) fn move_on(&mut self) -> bool {
        let places = &mut self.desired.places;
        if !places.is_empty() {
            places.rotate_left(1);
        }
        self.full_places = (self.full_places + 1) % places.len().max(1);
        self.desired.memo = None;
        self.desired.memo_is_new = false;
        (self.is_moved, self.is_called) = (false, false);
        self.full_places > 0
    }

    /// This memo is kept, and no call has had it.
    pub(super) fn renew_memo(&mut self, memo: Option<String>) {
        self.desired.memo_is_new = memo.is_some();
        self.desired.memo = memo;
    }

    /// A call begins that may make the volume. Returns the words for it: whether its memo is new is said once.
    pub(super) fn begin_call(&mut self) -> DesiredVolume {
        self.is_called = true;
        let words = self.desired.clone();
        self.desired.memo_is_new = false;
        words
    }

    /// The name of the class.
    pub(super) fn class(&self) -> &str {
        self.skeleton.spec.as_ref().and_then(|it| it.storage_class_name.as_deref()).unwrap_or_default()
    }

    /// The claim, which may be gone.
    pub(super) fn claim(&self) -> ObjectReference {
        let owner = &self.desired.owner;
        ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("PersistentVolumeClaim".to_owned()),
            namespace: Some(owner.namespace.clone()),
            name: Some(owner.name.clone()),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        }
    }

    /// The name of its ConfigMap.
    pub(super) fn config_map_name(&self) -> String {
        format!("aerostat-volume-{}", self.uid())
    }

    /// Whether the volume stays when its claim goes.
    pub(super) fn is_retained(&self) -> bool {
        let policy = self.skeleton.spec.as_ref().and_then(|it| it.persistent_volume_reclaim_policy.as_deref());
        policy.is_some_and(|it| it != "Delete")
    }

    fn driver(&self) -> &str {
        self.skeleton.spec.as_ref().and_then(|it| it.csi.as_ref()).map_or("", |it| it.driver.as_str())
    }

    /// The ConfigMap that keeps it.
    pub(super) fn config_map(&self) -> serde_json::Result<ConfigMap> {
        let DesiredVolume {
            name: _,
            owner,
            memo,
            memo_is_new: _,
            bytes,
            access_modes,
            filesystem,
            parameters,
            places,
            source: _,
            annotations,
        } = self.desired.clone();
        let text = IntentText {
            driver: self.driver().to_owned(),
            cluster: owner.cluster,
            namespace: owner.namespace,
            claim: owner.name,
            uid: owner.uid,
            memo,
            bytes,
            access_modes: access_modes.into_iter().map(IntentMode::from).collect(),
            filesystem,
            parameters,
            places,
            annotations,
            selected_node: self.selected_node.clone(),
            is_returned: self.is_returned,
            is_moved: self.is_moved,
            full_places: self.full_places,
            is_refused: self.is_refused,
            made: self.made.clone(),
            volume: self.skeleton.clone(),
        };
        Ok(ConfigMap {
            metadata: ObjectMeta {
                name: Some(self.config_map_name()),
                labels: Some(BTreeMap::from([(LABEL.to_owned(), "true".to_owned())])),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(KEY.to_owned(), serde_json::to_string(&text)?)])),
            ..ConfigMap::default()
        })
    }

    /// The intent that a ConfigMap keeps, of this driver; `None` for what is none of it. A process before may have called for it.
    pub(super) fn kept(config_map: &ConfigMap, driver: &str) -> Option<Self> {
        let text = config_map.data.as_ref()?.get(KEY)?;
        let text: IntentText = serde_json::from_str(text).ok().filter(|it: &IntentText| it.driver == driver)?;
        let desired = DesiredVolume {
            name: name(&text.uid),
            owner: ClaimOwner { cluster: text.cluster, namespace: text.namespace, name: text.claim, uid: text.uid },
            memo: text.memo,
            // A process before may have called with it.
            memo_is_new: false,
            bytes: text.bytes,
            access_modes: text.access_modes.into_iter().map(AccessMode::from).collect(),
            filesystem: text.filesystem,
            parameters: text.parameters,
            places: text.places,
            source: None,
            annotations: text.annotations,
        };
        let is_its_own = text.volume.metadata.name.as_ref() == Some(&desired.name);
        let intent = Self {
            is_returned: text.is_returned,
            is_moved: text.is_moved,
            full_places: text.full_places,
            is_refused: text.is_refused,
            made: text.made,
            is_called: true,
            is_kept: true,
            is_inherited: true,
            is_from_before: true,
            ..Self::new(desired, text.volume, text.selected_node)
        };
        let is_its_own = is_its_own && config_map.metadata.name.as_ref() == Some(&intent.config_map_name());
        Some(intent).filter(|it| is_its_own && it.driver() == driver)
    }

    /// The PersistentVolume of a volume that is there. `identity` names the process that has made it.
    pub(super) fn persistent_volume(&self, made: &CloudVolume, identity: &str) -> PersistentVolume {
        let mut volume = self.skeleton.clone();
        let spec = volume.spec.get_or_insert_default();
        spec.capacity = Some(BTreeMap::from([("storage".to_owned(), Quantity(quantity::binary(made.bytes)))]));
        spec.node_affinity = node_affinity(&made.places);
        let csi = spec.csi.get_or_insert_default();
        csi.volume_handle.clone_from(&made.handle);
        let mut attributes: BTreeMap<_, _> = made.attributes.iter().cloned().collect();
        attributes.insert(IDENTITY.to_owned(), identity.to_owned());
        csi.volume_attributes = Some(attributes);
        volume
    }
}

/// The node affinity of a volume in these places; `None`: it is reached from anywhere.
pub(super) fn node_affinity(places: &[VolumePlace]) -> Option<VolumeNodeAffinity> {
    let requirement = |(key, value): &(String, String)| NodeSelectorRequirement {
        key: key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![value.clone()]),
    };
    let term = |place: &VolumePlace| NodeSelectorTerm {
        match_expressions: Some(place.iter().map(requirement).collect()),
        match_fields: None,
    };
    let node_selector_terms: Vec<_> = places.iter().map(term).collect();
    (!node_selector_terms.is_empty())
        .then_some(VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms }) })
}

impl From<AccessMode> for IntentMode {
    fn from(it: AccessMode) -> Self {
        match it {
            AccessMode::OneNode => Self::OneNode,
            AccessMode::OnePod => Self::OnePod,
            AccessMode::ManyNodesRead => Self::ManyNodesRead,
            AccessMode::ManyNodesWrite => Self::ManyNodesWrite,
        }
    }
}

impl From<IntentMode> for AccessMode {
    fn from(it: IntentMode) -> Self {
        match it {
            IntentMode::OneNode => Self::OneNode,
            IntentMode::OnePod => Self::OnePod,
            IntentMode::ManyNodesRead => Self::ManyNodesRead,
            IntentMode::ManyNodesWrite => Self::ManyNodesWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_room_are_tried_one_after_the_other() {
        let place = |zone: &str| vec![("zone".to_owned(), zone.to_owned())];
        let places = ["a", "b", "c"].map(place).to_vec();
        let mut intent =
            Intent::new(DesiredVolume { places, ..DesiredVolume::default() }, PersistentVolume::default(), None);
        let mut tried = Vec::new();
        for _ in 0..6 {
            intent.is_called = true;
            tried.push((intent.desired.places[0][0].1.clone(), intent.move_on()));
            assert!(!intent.is_called && intent.desired.places.len() == 3);
        }
        let tried: Vec<_> = tried.iter().map(|(place, goes_on)| (place.as_str(), *goes_on)).collect();
        let round = [("a", true), ("b", true), ("c", false)];
        assert_eq!(tried, [round, round].concat(), "after a round it rests");
        for places in [Vec::new(), vec![place("a")]] {
            let desired = DesiredVolume { places, ..DesiredVolume::default() };
            assert!(!Intent::new(desired, PersistentVolume::default(), None).move_on(), "there is no other");
        }
    }
    /// Cases: csi 20
    #[test]
    fn a_memo_of_a_volume_is_new_to_one_call_alone() {
        let mut intent = Intent::new(DesiredVolume::default(), PersistentVolume::default(), None);
        assert!(!intent.begin_call().memo_is_new, "there is none");
        intent.renew_memo(Some("lost since 7 number +1".to_owned()));
        let words = [intent.begin_call(), intent.begin_call()].map(|it| (it.memo.is_some(), it.memo_is_new));
        assert_eq!((words, intent.is_called), ([(true, true), (true, false)], true));
        intent.renew_memo(Some("lost since 9".to_owned()));
        let kept = intent.config_map().unwrap();
        let text = &kept.data.as_ref().unwrap()[KEY];
        assert!(text.contains("lost since 9") && !text.contains("New"), "the next process does not know: {text}");
        intent.renew_memo(None);
        assert!(!intent.begin_call().memo_is_new);
        intent.renew_memo(Some("made vol-1 since 7".to_owned()));
        intent.move_on();
        assert!(!intent.begin_call().memo_is_new, "it begins again");
    }
}
