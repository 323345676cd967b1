use cloud_provider::{Topology, TopologyDescription, Volume};

use super::instance::label_value;
use super::label;
use crate::bindings::persistent_volumes::exports::aerostat::cloud::persistent_volumes as wit;
use crate::untrusted::printable;

const BATCH: u32 = 500;
const SOURCES: usize = 64;
const SOURCE_BYTES: usize = 253;
const ZONES: usize = 16;
const LABELS: usize = 64;
const PLACES: usize = 16;

/// About which volumes it can be asked, or a sentence on what is wrong with it.
pub(crate) fn description(it: wit::TopologyDescription) -> Result<TopologyDescription, String> {
    let wit::TopologyDescription {
        batch_size,
        sources,
        drivers,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    if batch_size == 0 || batch_size > BATCH {
        return Err(format!("batch-size is {batch_size}, and has to be 1 to {BATCH}"));
    }
    for (what, names) in [("sources", &sources), ("drivers", &drivers)] {
        if names.len() > SOURCES {
            return Err(format!("it has {} {what}, more than {SOURCES}", names.len()));
        }
        let is_name =
            |it: &&String| !it.is_empty() && it.len() <= SOURCE_BYTES && it.bytes().all(|it| it.is_ascii_graphic());
        if let Some(it) = names.iter().find(|it| !is_name(it)) {
            return Err(format!("of its {what} {:?} is no name", printable(it, 64)));
        }
    }
    Ok(TopologyDescription { batch_size, sources, drivers })
}

/// A volume as a guest is told of it.
pub(crate) fn volume(it: &Volume) -> wit::Volume {
    let Volume { name, source, handle, attributes } = it.clone();
    wit::Volume { name, source, handle, attributes, extra: Vec::new() }
}

/// Where a volume is, or a sentence on what is wrong with it: Kubernetes would refuse it.
pub(crate) fn topology(it: wit::Topology) -> Result<Topology, String> {
    let wit::Topology {
        region,
        zones,
        labels,
        accessible_topologies: places,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    for (what, length, most) in [("zones", zones.len(), ZONES), ("places", places.len(), PLACES)] {
        if length > most {
            return Err(format!("it has {length} {what}, more than {most}"));
        }
    }
    let zones = zones
        .into_iter()
        .map(|it| label_value("zone", Some(it))?.ok_or_else(|| "it has a zone without a name".to_owned()));
    Ok(Topology {
        region: label_value("region", region)?,
        zones: zones.collect::<Result<_, _>>()?,
        labels: checked(labels)?,
        accessible_topologies: places
            .into_iter()
            .map(|wit::TopologySegments { segments }| checked(segments))
            .collect::<Result<_, _>>()?,
    })
}

fn checked(labels: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    if labels.len() > LABELS {
        return Err(format!("it has {} labels, more than {LABELS}", labels.len()));
    }
    match labels.iter().find(|(key, value)| !label::is_key(key) || !label::is_value(value)) {
        Some((key, value)) => Err(format!("{:?}={:?} is no label", printable(key, 128), printable(value, 128))),
        None => Ok(labels),
    }
}
