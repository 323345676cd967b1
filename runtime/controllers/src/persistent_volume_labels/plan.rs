//! The question of a PersistentVolume to the cloud, and the changes that an answer makes. No client, no clock, no log.

use std::collections::{BTreeMap, BTreeSet};

use cloud_provider::{Topology, TopologyDescription, Volume};
use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, VolumeNodeAffinity,
};

use super::source;
use crate::cluster_facts::is_volume_label;
use crate::inventory::check::{is_label_key, is_label_value};
use crate::node_fields;

const ZONE: &str = node_fields::ZONE.stable;
const REGION: &str = node_fields::REGION.stable;
const BETA_ZONE: &str = node_fields::ZONE.beta;
const BETA_REGION: &str = node_fields::REGION.beta;
/// The annotation that a provisioner writes on each volume that it makes.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Between the zones of a volume that is in several.
const DELIMITER: &str = "__";
/// The most terms that a node affinity gets here: beside one with more it is left as it is.
const TERMS: usize = 256;
/// The most bytes of texts that these terms get from the volume: it is written once for each place.
const BYTES: usize = 256 << 10;
/// The longest value of a label, in bytes. The webhook sees labels before the API server has judged them.
const LABEL: usize = 63;

/// The question of a volume to the cloud.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ask {
    /// It is nothing of this cloud's, or is not there yet.
    Nothing,
    /// Nothing: its provisioner has said where it is, and is trusted.
    FromLabels(Topology),
    /// Where it is.
    Cloud(Volume),
    /// There is no question: the volume has this fault.
    Invalid(String),
}

/// When a volume is changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LabelMoment {
    /// While it is being created: everything can still change.
    Creation,
    /// Afterwards: its node affinity is fixed, once it has one.
    Later,
}

/// The changes of a volume.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patch {
    /// Labels that it lacks, or has with another value.
    pub(crate) labels: BTreeMap<String, String>,
    /// Its whole node affinity; `None`: it stays as it is.
    pub(crate) node_affinity: Option<VolumeNodeAffinity>,
}

/// The question of a volume, as its fields pose it.
///
/// A volume that was provisioned dynamically and has both labels, either both current ones or both beta ones, says it
/// itself.
pub(crate) fn ask(pv: &PersistentVolume, limits: &TopologyDescription) -> Ask {
    let volume = match source::volume(pv, limits) {
        Ok(Some(volume)) => volume,
        Ok(None) => return Ask::Nothing,
        Err(objection) => return Ask::Invalid(objection),
    };
    let has = |key: &str| label(pv, key).is_some();
    let annotated = pv.metadata.annotations.as_ref().is_some_and(|it| it.contains_key(PROVISIONED_BY));
    let from_labels = match () {
        () if annotated && has(ZONE) && has(REGION) => labelled(pv, ZONE, REGION),
        () if annotated && has(BETA_ZONE) && has(BETA_REGION) => labelled(pv, BETA_ZONE, BETA_REGION),
        () => return Ask::Cloud(volume),
    };
    from_labels.map_or_else(Ask::Invalid, Ask::FromLabels)
}

/// The place in a volume's own labels.
fn labelled(pv: &PersistentVolume, zone: &str, region: &str) -> Result<Topology, String> {
    let text = |key: &str| label(pv, key).cloned().unwrap_or_default();
    if let Some(key) = [zone, region].into_iter().find(|it| text(it).len() > LABEL) {
        return Err(format!("its label {key} has {} bytes, and Kubernetes allows {LABEL}", text(key).len()));
    }
    let zones = split(&text(zone)).ok_or_else(|| {
        format!("its label {zone} is {:?}, and zones are joined by {DELIMITER}, none of them empty", text(zone))
    })?;
    if zone == ZONE {
        return Ok(Topology { region: Some(text(region)), zones: zones.into_iter().collect(), ..Topology::default() });
    }
    let labels = [zone, region].map(|it| (it.to_owned(), text(it)));
    Ok(Topology { labels: labels.into(), ..Topology::default() })
}

/// Why Kubernetes would refuse what comes of an answer, as the rest of a sentence that begins with the provider; `None` if
/// it would not. That each part of it can be a label was checked before: zones are joined to one.
pub(crate) fn objection(topology: &Topology) -> Option<String> {
    if topology.accessible_topologies.iter().any(Vec::is_empty) || topology.zones.iter().any(String::is_empty) {
        return Some("names a place without a name".to_owned());
    }
    let segments = topology.accessible_topologies.iter().flatten().cloned();
    let mut pairs = labels(topology).into_iter().chain(segments);
    pairs.find_map(|(key, value)| {
        if !is_label_key(&key) || !is_label_value(&value) {
            return Some(format!("brings the label {key:?}: {value:?}, which Kubernetes does not allow"));
        }
        (!is_volume_label(&key)).then(|| {
            format!("brings the label {key:?}, which is Kubernetes' own and says nothing of where a volume is")
        })
    })
}

/// The changes that an answer makes; `None` if there are none.
///
/// Labels are overwritten. Requirements are added to each term of a node affinity, unless one of their keys is in one of
/// the terms already; only [`LabelMoment::Creation`] adds to an affinity that exists.
pub(crate) fn patched(pv: &PersistentVolume, it: &Topology, at: LabelMoment) -> Option<Patch> {
    let mut labels = labels(it);
    let places = places(it, &labels);
    labels.retain(|key, value| label(pv, key) != Some(value));
    let node_affinity = affinity(pv, &places, at);
    (!labels.is_empty() || node_affinity.is_some()).then_some(Patch { labels, node_affinity })
}

/// The volume with a patch.
pub(crate) fn with(pv: &PersistentVolume, patch: &Patch) -> PersistentVolume {
    let mut desired = pv.clone();
    if !patch.labels.is_empty() {
        let labels = desired.metadata.labels.get_or_insert_default();
        labels.extend(patch.labels.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if let Some(node_affinity) = &patch.node_affinity {
        desired.spec.get_or_insert_default().node_affinity = Some(node_affinity.clone());
    }
    desired
}

/// Whether a volume says where it is, by its labels and its affinity: this controller has seen to it before, the webhook
/// has, or its author.
pub(crate) fn is_placed(pv: &PersistentVolume) -> bool {
    let labelled = [ZONE, REGION, BETA_ZONE, BETA_REGION].iter().any(|it| label(pv, it).is_some());
    labelled && pv.spec.as_ref().is_some_and(|it| it.node_affinity.is_some())
}

/// Whether a change of a volume is a reason to look at it. Most are not: claims come and go.
pub(crate) fn is_worth_a_look(
    before: Option<&PersistentVolume>,
    pv: &PersistentVolume,
    limits: &TopologyDescription,
) -> bool {
    if pv.metadata.deletion_timestamp.is_some() || is_placed(pv) || ask(pv, limits) == Ask::Nothing {
        return false;
    }
    let affinity = |it: &PersistentVolume| it.spec.as_ref().and_then(|it| it.node_affinity.clone());
    before.is_none_or(|before| {
        before.metadata.uid != pv.metadata.uid
            || before.metadata.labels != pv.metadata.labels
            || affinity(before) != affinity(pv)
            || ask(before, limits) != ask(pv, limits)
    })
}

/// The zones or regions of a volume that none of these nodes has: pods with such a volume run nowhere. Pairs of the label
/// and its values. Where there are no nodes, nothing can be said.
pub(crate) fn without_nodes<'a>(
    it: &Topology,
    nodes: impl Iterator<Item = &'a BTreeMap<String, String>> + Clone,
) -> Vec<(&'static str, String)> {
    let labels = labels(it);
    let lacking = |key: &'static str| {
        let value = labels.get(key)?;
        let values = values(key, value);
        let has = |labels: &BTreeMap<String, String>| labels.get(key).is_some_and(|it| values.contains(it));
        (nodes.clone().next().is_some() && !nodes.clone().any(has)).then(|| (key, values.join(" or ")))
    };
    [ZONE, REGION].into_iter().filter_map(lacking).collect()
}

/// The labels that an answer means.
fn labels(it: &Topology) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = it.labels.iter().cloned().collect();
    let zones: BTreeSet<&str> = it.zones.iter().map(String::as_str).collect();
    if !zones.is_empty() {
        labels.insert(ZONE.to_owned(), zones.into_iter().collect::<Vec<_>>().join(DELIMITER));
    }
    if let Some(region) = &it.region {
        labels.insert(REGION.to_owned(), region.clone());
    }
    labels
}

/// Where nodes can use the volume: for each place what a node's labels have to be.
fn places(it: &Topology, labels: &BTreeMap<String, String>) -> Vec<Vec<NodeSelectorRequirement>> {
    if it.accessible_topologies.is_empty() {
        let place: Vec<_> = labels.iter().map(|(key, value)| requirement(key, values(key, value))).collect();
        // A term without a requirement would fit no node.
        return if place.is_empty() { Vec::new() } else { vec![place] };
    }
    let places: BTreeSet<BTreeMap<&String, &String>> =
        it.accessible_topologies.iter().map(|it| it.iter().map(|(key, value)| (key, value)).collect()).collect();
    let place = |labels: BTreeMap<&String, &String>| {
        labels.into_iter().map(|(key, value)| requirement(key, vec![value.clone()])).collect::<Vec<_>>()
    };
    places.into_iter().map(place).filter(|it| !it.is_empty()).collect()
}

/// The node affinity that a volume gets; `None`: it keeps what it has.
fn affinity(
    pv: &PersistentVolume,
    places: &[Vec<NodeSelectorRequirement>],
    at: LabelMoment,
) -> Option<VolumeNodeAffinity> {
    let existing = pv.spec.as_ref().and_then(|it| it.node_affinity.as_ref());
    if places.is_empty() || (at == LabelMoment::Later && existing.is_some()) {
        return None;
    }
    let terms = existing.and_then(|it| it.required.as_ref()).map(|it| it.node_selector_terms.as_slice());
    let terms = terms.unwrap_or_default();
    let keys: BTreeSet<&str> = places.iter().flatten().map(|it| it.key.as_str()).collect();
    let taken = terms.iter().filter_map(|it| it.match_expressions.as_ref()).flatten();
    let is_large = || {
        let bytes: usize = terms.iter().map(bytes).sum();
        terms.len() * places.len() > TERMS || bytes.saturating_mul(places.len()) > BYTES
    };
    if taken.into_iter().any(|it| keys.contains(it.key.as_str())) || is_large() {
        return None;
    }
    let bare = [NodeSelectorTerm::default()];
    let terms = if terms.is_empty() { &bare } else { terms };
    let with = |term: &NodeSelectorTerm, place: &[NodeSelectorRequirement]| {
        let mut term = term.clone();
        term.match_expressions.get_or_insert_default().extend_from_slice(place);
        term
    };
    // One of the terms has to fit, and in it one of the places.
    let node_selector_terms = terms.iter().flat_map(|term| places.iter().map(move |it| with(term, it))).collect();
    Some(VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms }) })
}

/// The texts of a term.
fn bytes(term: &NodeSelectorTerm) -> usize {
    let requirements = term.match_expressions.iter().chain(&term.match_fields).flatten();
    let bytes = |requirement: &NodeSelectorRequirement| {
        let values: usize = requirement.values.iter().flatten().map(|it| it.len() + 1).sum();
        requirement.key.len() + requirement.operator.len() + values
    };
    requirements.map(bytes).sum()
}

fn requirement(key: &str, values: Vec<String>) -> NodeSelectorRequirement {
    NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values: Some(values) }
}

/// The values of a node's label that fit a volume with this label: a label of zones holds several.
fn values(key: &str, value: &str) -> Vec<String> {
    let zones = [ZONE, BETA_ZONE].contains(&key).then(|| split(value)).flatten();
    zones.map_or_else(|| vec![value.to_owned()], |it| it.into_iter().collect())
}

/// The zones in a label; `None` if one of them is empty.
fn split(label: &str) -> Option<BTreeSet<String>> {
    let zones: BTreeSet<String> = label.split(DELIMITER).map(|it| it.trim().to_owned()).collect();
    (!zones.contains("")).then_some(zones)
}

fn label<'a>(pv: &'a PersistentVolume, key: &str) -> Option<&'a String> {
    pv.metadata.labels.as_ref()?.get(key)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
