//! Where EBS volumes are.

use aerostat_sdk::{Error, PersistentVolumes, Result, SortedMap, SortedSet, Topology, TopologyDescription, Volume};

use crate::api::ec2::volumes as api;
use crate::provider::Aws;
use crate::settings::ClusterMarks;

/// The vendor's CSI driver.
const DRIVER: &str = "ebs.csi.aws.com";
/// The field of `spec` before there were drivers.
const SOURCE: &str = "awsElasticBlockStore";
/// Volumes of one call: as many as one filter takes.
const BATCH: u32 = 200;
/// The beginning of volumes' ids.
const PREFIX: &str = "vol-";

impl PersistentVolumes for Aws {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).source(SOURCE).batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let mut answers = Self::get_topologies(std::slice::from_ref(volume));
        answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    /// By a filter: an unknown id in it fails no other.
    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        let ids: Vec<Result<&str>> = volumes.iter().map(id).collect();
        let known: SortedSet<&str> = ids.iter().flatten().copied().collect();
        let known: Vec<&str> = known.into_iter().collect();
        let zones = match known.is_empty() {
            true => Ok(SortedMap::new()),
            false => api::zones(&known).map_err(Error::from),
        };
        let cluster = ClusterMarks::read();
        let answer = |id: Result<&str>| {
            let (id, cluster) = (id?, cluster.as_ref().map_err(Clone::clone)?);
            let Some(zone) = zones.as_ref().map_err(Clone::clone)?.get(id) else { return Ok(None) };
            cluster.check_zone(&format!("volume {id}"), zone)?;
            Ok(Some(Topology::new(Some(cluster.region.clone()), [zone])))
        };
        ids.into_iter().map(answer).collect()
    }
}

/// The id in a handle: `vol-…`, and in the older source also `aws://<zone>/vol-…`.
fn id(volume: &Volume) -> Result<&str> {
    let Volume { name, handle, .. } = volume;
    let id = match handle.strip_prefix("aws://") {
        Some(rest) => rest.rsplit('/').next().unwrap_or_default(),
        None => handle.as_str(),
    };
    let is_id =
        id.strip_prefix(PREFIX).is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric()));
    match is_id {
        true => Ok(id),
        false => Err(Error::invalid(format_args!(
            "volume handle {handle:?} of {name} is not the id of a volume such as vol-0123456789abcdef0"
        ))),
    }
}

#[cfg(test)]
mod tests;
