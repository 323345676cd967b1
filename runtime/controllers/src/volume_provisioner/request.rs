//! A claim and its class as the volume that they ask for, frozen once it was read. No client, no clock, no log.

use cloud_provider::{AccessMode, ClaimOwner, DesiredVolume, VolumeDescription};
use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec,
};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::ObjectMeta;
use kube::{Resource as _, ResourceExt as _};

use super::class::{self, ClassParameters, SecretOwner};
use super::intent::{self, Intent};
use super::places::{self, NoPlace, NodePlaces, PlaceQuestion};
use crate::migrated::{self, MIGRATED_TO};
use crate::quantity;

/// The driver that is to make the volume: kube-controller-manager writes both when it is time.
const PROVISIONERS: [&str; 2] =
    ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
/// The node that the scheduler has chosen.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The older place of a claim's class.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// The driver that has made a volume.
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Which secret a driver would need to delete the volume: none, and the vendor's own controller writes that, too.
const DELETION_SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];
/// The finalizer by which a volume outlives its PersistentVolume's deletion no longer than that waits for it.
pub(super) const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// Why a claim gets no volume now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ClaimRefusal {
    /// It is another's to provision, or the scheduler has to choose a node first.
    NotOurs,
    /// It is filled by another program, which has to be said.
    Populated,
    /// A person has to change something.
    Refused(String),
    /// Something has to come first.
    Waits(String),
    /// The scheduler has to choose another node.
    Reschedule(String),
}

impl From<NoPlace> for ClaimRefusal {
    fn from(it: NoPlace) -> Self {
        match it {
            NoPlace::Reschedule(why) => Self::Reschedule(why),
            NoPlace::Waits(why) => Self::Waits(why),
            NoPlace::Refused(why) => Self::Refused(why),
        }
    }
}

/// Whether a claim without a volume waits for this driver.
pub(super) fn is_ours(claim: &PersistentVolumeClaim, driver: &str) -> bool {
    let is_free = claim.spec.as_ref().is_some_and(|it| it.volume_name.as_ref().is_none_or(String::is_empty));
    let annotations = claim.annotations();
    let is_given = |it: Option<&String>| it.is_some_and(|it| it == driver);
    let is_its =
        is_given(PROVISIONERS.iter().find_map(|it| annotations.get(*it))) || is_given(annotations.get(MIGRATED_TO));
    is_free && claim.metadata.deletion_timestamp.is_none() && is_its
}

/// The class of a claim; `None` if it has none.
pub(super) fn class(claim: &PersistentVolumeClaim) -> Option<&str> {
    let beta = claim.annotations().get(BETA_CLASS).map(String::as_str);
    beta.or(claim.spec.as_ref()?.storage_class_name.as_deref()).filter(|it| !it.is_empty())
}

/// The volume that a claim asks for, which [`is_ours`], by its class, in the cluster of this name.
pub(super) fn intent(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    nodes: &NodePlaces<'_>,
    described: &VolumeDescription,
    cluster: &str,
) -> Result<Intent, ClaimRefusal> {
    let selected = claim.annotations().get(SELECTED_NODE).map(String::as_str);
    let waits_for_a_pod = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
    if !migrated::is_of_driver(class, described) || (waits_for_a_pod && selected.is_none()) {
        return Err(ClaimRefusal::NotOurs);
    }
    let class = &migrated::class(class.clone(), described).map_err(ClaimRefusal::Refused)?;
    let refused = |why: &str| Err(ClaimRefusal::Refused(why.to_owned()));
    let spec = claim.spec.clone().unwrap_or_default();
    if spec.selector.is_some() {
        return refused("claim Selector is not supported");
    }
    let source = spec
        .data_source_ref
        .as_ref()
        .map(|it| it.kind.as_str())
        .or(spec.data_source.as_ref().map(|it| it.kind.as_str()));
    match source {
        None => {}
        Some("PersistentVolumeClaim" | "VolumeSnapshot") => {
            return refused(
                "a volume that begins with another volume or a snapshot is not supported: leave dataSource out",
            );
        }
        Some(_) => return Err(ClaimRefusal::Populated),
    }
    if spec.volume_attributes_class_name.as_ref().is_some_and(|it| !it.is_empty()) {
        return refused("volumeAttributesClassName is not supported by this driver: leave it out");
    }
    let (class_name, uid) = (class.name_any(), claim.uid().unwrap_or_default());
    let (volume, namespace) = (intent::name(&uid), claim.namespace().unwrap_or_default());
    let owner = SecretOwner {
        volume: &volume,
        namespace: &namespace,
        claim: &claim.name_any(),
        annotations: claim.metadata.annotations.as_ref(),
    };
    let given = class.parameters.clone().unwrap_or_default();
    let parameters = class::parameters(&class_name, &given, described, owner).map_err(ClaimRefusal::Refused)?;
    let is_block = spec.volume_mode.as_deref() == Some("Block");
    if is_block && !described.block {
        return refused("raw block devices (volumeMode: Block) are not supported by this driver");
    }
    let access_modes = access_modes(spec.access_modes.as_deref().unwrap_or_default(), described)?;
    let bytes = size(&spec, described)?;
    let question = PlaceQuestion {
        claim: &claim.name_any(),
        node: selected,
        allowed: class.allowed_topologies.as_deref().unwrap_or_default(),
    };
    let mut named = question.allowed.iter().flat_map(|it| it.match_label_expressions.iter().flatten());
    if let Some(row) = named.find(|it| !described.topology_keys.contains(&it.key)) {
        return Err(ClaimRefusal::Refused(format!(
            "allowedTopologies of StorageClass {class_name}: driver {} knows no topology key {}; it knows {}",
            described.driver,
            row.key,
            described.topology_keys.join(", ")
        )));
    }
    let places = if described.topology_keys.is_empty() { Vec::new() } else { places::places(question, nodes)? };
    let filesystem = (!is_block).then(|| parameters.filesystem.clone().unwrap_or_else(|| described.filesystem.clone()));
    let known = |(key, _): &(&String, &String)| described.annotations.iter().any(|it| it.key == **key);
    let annotations = claim.annotations().iter().filter(known).map(|(key, value)| (key.clone(), value.clone()));
    let desired = DesiredVolume {
        name: volume,
        owner: ClaimOwner { cluster: cluster.to_owned(), namespace, name: claim.name_any(), uid },
        memo: None,
        memo_is_new: false,
        bytes,
        access_modes,
        filesystem,
        parameters: parameters.driver.clone(),
        places,
        source: None,
        annotations: annotations.collect(),
    };
    let skeleton = skeleton(claim, class, &desired, parameters, &described.driver);
    Ok(Intent::new(desired, skeleton, selected.map(str::to_owned)))
}

fn access_modes(modes: &[String], described: &VolumeDescription) -> Result<Vec<AccessMode>, ClaimRefusal> {
    let has = |mode: &str| modes.iter().any(|it| it == mode);
    let refused = |why: String| Err(ClaimRefusal::Refused(why));
    if has("ReadWriteOncePod") && modes.len() > 1 {
        return refused("the access mode ReadWriteOncePod goes with no other".to_owned());
    }
    if has("ReadWriteOnce") && has("ReadOnlyMany") && !has("ReadWriteMany") {
        return refused("the access modes ReadWriteOnce and ReadOnlyMany do not go together".to_owned());
    }
    let offers = |mode| described.access_modes.contains(&mode);
    let mode = match modes {
        _ if has("ReadWriteMany") => AccessMode::ManyNodesWrite,
        _ if has("ReadOnlyMany") => AccessMode::ManyNodesRead,
        // A driver that knows nothing of pods keeps to one node at least.
        _ if has("ReadWriteOncePod") && offers(AccessMode::OnePod) => AccessMode::OnePod,
        _ => AccessMode::OneNode,
    };
    if !offers(mode) {
        return refused(format!(
            "driver {} has no volumes with the access modes {}",
            described.driver,
            modes.join(", ")
        ));
    }
    Ok(vec![mode])
}

fn size(
    spec: &k8s_openapi::api::core::v1::PersistentVolumeClaimSpec,
    described: &VolumeDescription,
) -> Result<u64, ClaimRefusal> {
    let asked = spec.resources.as_ref().and_then(|it| it.requests.as_ref()).and_then(|it| it.get("storage"));
    let asked = asked.map_or("", |it| it.0.as_str());
    let bytes = quantity::bytes(asked).filter(|it| *it > 0);
    let bytes = bytes.ok_or_else(|| ClaimRefusal::Refused(format!("{asked:?} is no size of a volume")))?;
    described.size(bytes).map_err(|limit| {
        let largest = quantity::binary(limit.largest_bytes);
        ClaimRefusal::Refused(format!(
            "{asked} is more than the largest volume of driver {}: {largest}",
            described.driver
        ))
    })
}

/// The PersistentVolume as far as it is known before there is a volume.
fn skeleton(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    desired: &DesiredVolume,
    parameters: ClassParameters,
    driver: &str,
) -> PersistentVolume {
    let spec = claim.spec.clone().unwrap_or_default();
    let empty = DELETION_SECRET.map(|it| (it.to_owned(), String::new()));
    let annotations = [(PROVISIONED_BY.to_owned(), driver.to_owned())].into_iter().chain(empty);
    let secrets = parameters.secrets;
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(desired.name.clone()),
            annotations: Some(annotations.collect()),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: spec.access_modes,
            mount_options: class.mount_options.clone(),
            persistent_volume_reclaim_policy: Some(class.reclaim_policy.clone().unwrap_or_else(|| "Delete".to_owned())),
            volume_mode: spec.volume_mode,
            storage_class_name: Some(class.name_any()),
            claim_ref: Some(k8s_openapi::api::core::v1::ObjectReference {
                // Of the claim as it was: what changes of it later binds it all the same.
                resource_version: claim.resource_version(),
                ..claim.object_ref(&())
            }),
            csi: Some(CSIPersistentVolumeSource {
                driver: driver.to_owned(),
                fs_type: desired.filesystem.clone().filter(|it| !it.is_empty()),
                node_stage_secret_ref: secrets.node_stage,
                node_publish_secret_ref: secrets.node_publish,
                node_expand_secret_ref: secrets.node_expand,
                ..CSIPersistentVolumeSource::default()
            }),
            ..PersistentVolumeSpec::default()
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests;
