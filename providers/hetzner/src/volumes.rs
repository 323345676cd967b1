//! Where volumes are.

use aerostat_sdk::{Error, PersistentVolumes, Result, SortedMap, Topology, TopologyDescription, Volume, settings};

use crate::api::volumes::{self as api, LocatedVolume};
use crate::place::zone;
use crate::provider::Hetzner;
use crate::settings::ZONE_LABEL;

/// The vendor's CSI driver.
pub(crate) const DRIVER: &str = "csi.hetzner.cloud";
/// The node label by which that driver knows where it can attach a volume.
pub(crate) const SEGMENT: &str = "csi.hetzner.cloud/location";
/// Volumes of one call: a list has all of them.
const BATCH: u32 = 100;

impl PersistentVolumes for Hetzner {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let found: Option<LocatedVolume> = api::find(id(volume)?)?;
        found.map(|it| topology(&it.location.name)).transpose()
    }

    /// A list tells where volumes are, and nothing about those that it lacks: these are asked about one by one.
    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        if volumes.len() < 2 {
            return volumes.iter().map(Self::get_topology).collect();
        }
        let listed: SortedMap<u64, String> = match api::all() {
            Ok(all) => all.into_iter().map(|it| (it.id, it.location.name)).collect(),
            Err(error) => return volumes.iter().map(|_| Err(error.clone())).collect(),
        };
        let one = |volume| match listed.get(&id(volume)?) {
            Some(location) => topology(location).map(Some),
            None => Self::get_topology(volume),
        };
        volumes.iter().map(one).collect()
    }
}

fn id(volume: &Volume) -> Result<u64> {
    crate::api::id(&volume.handle).ok_or_else(|| {
        let Volume { name, handle, .. } = volume;
        Error::invalid(format_args!("volume handle {handle:?} of {name} is not the id of a volume, a number"))
    })
}

/// In the words of the nodes' labels.
fn topology(location: &str) -> Result<Topology> {
    let zones = settings::get(&ZONE_LABEL)?.then(|| zone(location));
    let topology = Topology::new(Some(location.to_owned()), zones);
    Ok(topology.accessible_from([(SEGMENT.to_owned(), location.to_owned())]))
}

#[cfg(test)]
mod tests;
