//! Volumes and classes of in-tree plugins from before CSI, as they are to the driver that serves them now. kube-controller-manager gives it their
//! attachments, claims and deletions, and leaves their objects as they were. No client, no clock, no log.

use std::collections::BTreeMap;

use cloud_provider::{InTreeVolumes, VolumeDescription};
use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, PersistentVolume, PersistentVolumeSpec, TopologySelectorLabelRequirement,
    TopologySelectorTerm,
};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;

use crate::in_tree_source;

/// On a claim or a PersistentVolume: the driver that serves it now.
pub(crate) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// The zone of a volume or a node, in its newer and its older form.
const ZONES: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
/// The word for a zone that is not known, as in Kubernetes' own translation.
const UNSPECIFIED: &str = "UNSPECIFIED";
/// Several zones of one volume in a label are joined by this.
const BETWEEN_ZONES: &str = "__";
/// Fields of a source that CSI has beside the attributes.
const FILESYSTEM: &str = "fsType";
const READ_ONLY: &str = "readOnly";
/// Parameters of a class that name zones.
const ZONE: &str = "zone";
const SEVERAL_ZONES: &str = "zones";

/// A PersistentVolume with its volume as the driver knows it, beside its older source: it is only read so, and never written.
pub(crate) fn volume(mut pv: PersistentVolume, described: &VolumeDescription) -> PersistentVolume {
    let zone = ZONES.iter().find_map(|it| pv.labels().get(*it)).cloned();
    if let Some(spec) = &mut pv.spec {
        translate(spec, zone.as_deref(), described);
    }
    pv
}

/// The same for what a watch has shown.
pub(crate) fn shown(event: Event<PersistentVolume>, described: &VolumeDescription) -> Event<PersistentVolume> {
    match event {
        Event::Apply(it) => Event::Apply(volume(it, described)),
        Event::InitApply(it) => Event::InitApply(volume(it, described)),
        Event::Delete(it) => Event::Delete(volume(it, described)),
        it @ (Event::Init | Event::InitDone) => it,
    }
}

/// Whether a PersistentVolume is one of the in-tree plugin that the driver serves.
pub(crate) fn is_in_tree_volume(pv: &PersistentVolume, described: &VolumeDescription) -> bool {
    let (Some(in_tree), Some(spec)) = (&described.in_tree, &pv.spec) else { return false };
    in_tree_source::of(spec, |it| it == in_tree.source).is_some()
}

/// A volume that a pod itself names, as the PersistentVolume that it does not have; `None` where the driver serves no in-tree plugin, which alone
/// has those.
pub(crate) fn inline(spec: &PersistentVolumeSpec, described: &VolumeDescription) -> Option<PersistentVolume> {
    described.in_tree.as_ref()?;
    let pv = PersistentVolume { spec: Some(spec.clone()), ..PersistentVolume::default() };
    Some(volume(pv, described))
}

fn translate(spec: &mut PersistentVolumeSpec, zone: Option<&str>, described: &VolumeDescription) {
    let Some(in_tree) = described.in_tree.as_ref().filter(|_| spec.csi.is_none()) else { return };
    let Some(found) = in_tree_source::of(spec, |it| it == in_tree.source) else { return };
    let Some(volume_handle) = handle(in_tree, &found.handle, zone) else { return };
    let field = |key: &str| found.fields.iter().find(|(it, _)| it == key).map(|(_, value)| value.clone());
    let is_attribute = |(key, _): &(String, String)| key != FILESYSTEM && key != READ_ONLY;
    let attributes: BTreeMap<_, _> = found.fields.iter().filter(|it| is_attribute(it)).cloned().collect();
    spec.csi = Some(CSIPersistentVolumeSource {
        driver: described.driver.clone(),
        volume_handle,
        fs_type: field(FILESYSTEM),
        read_only: field(READ_ONLY).map(|it| it == "true"),
        volume_attributes: (!attributes.is_empty()).then_some(attributes),
        ..CSIPersistentVolumeSource::default()
    });
}

/// The driver's handle of a volume that its older source calls so. `None` where there is no volume yet, and for one in several zones, of which
/// nobody describes a handle.
fn handle(in_tree: &InTreeVolumes, called: &str, zone: Option<&str>) -> Option<String> {
    let name = called.rsplit('/').next().filter(|it| !it.is_empty())?;
    if in_tree.handle.contains("{zone}") && zone.is_some_and(|it| it.contains(BETWEEN_ZONES)) {
        return None;
    }
    // In one go: what a volume is called is no pattern.
    let mut handle = String::new();
    let mut rest = in_tree.handle.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let (word, after) = after.split_once('}')?;
        handle.push_str(before);
        handle.push_str(match word {
            "volume" => called,
            "name" => name,
            "zone" => zone.unwrap_or(UNSPECIFIED),
            _ => return None,
        });
        rest = after;
    }
    Some(handle + rest)
}

/// Whether the volumes of a class are the driver's to make.
pub(crate) fn is_of_driver(class: &StorageClass, described: &VolumeDescription) -> bool {
    class.provisioner == described.driver || is_in_tree(class, described)
}

fn is_in_tree(class: &StorageClass, described: &VolumeDescription) -> bool {
    described.in_tree.as_ref().is_some_and(|it| it.plugin == class.provisioner)
}

/// A class in the driver's words: its zones, in whatever form, are places of the driver.
///
/// # Errors
///
/// A sentence without its full stop, for a class that names zones in two ways.
pub(crate) fn class(mut class: StorageClass, described: &VolumeDescription) -> Result<StorageClass, String> {
    if !is_in_tree(&class, described) {
        return Ok(class);
    }
    let Some(key) = described.topology_keys.first() else { return Ok(class) };
    let name = class.name_any();
    for row in
        class.allowed_topologies.iter_mut().flatten().flat_map(|it| it.match_label_expressions.iter_mut().flatten())
    {
        if ZONES.contains(&row.key.as_str()) {
            row.key.clone_from(key);
        }
    }
    let parameters = class.parameters.get_or_insert_default();
    let named = [ZONE, SEVERAL_ZONES].map(|it| parameters.remove(it));
    let values: Vec<String> = match named {
        [None, None] => return Ok(class),
        [Some(_), Some(_)] => {
            return Err(format!("StorageClass {name} has both zone and zones: leave one of them out"));
        }
        [one, several] => {
            let all = one.or(several).unwrap_or_default();
            all.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
        }
    };
    if class.allowed_topologies.as_ref().is_some_and(|it| !it.is_empty()) {
        return Err(format!(
            "StorageClass {name} names zones in its parameters and in allowedTopologies: leave one of them out"
        ));
    }
    if values.is_empty() {
        return Err(format!("StorageClass {name} names no zone in its parameter zone or zones"));
    }
    let row = TopologySelectorLabelRequirement { key: key.clone(), values };
    class.allowed_topologies = Some(vec![TopologySelectorTerm { match_label_expressions: Some(vec![row]) }]);
    Ok(class)
}

#[cfg(test)]
mod tests;
