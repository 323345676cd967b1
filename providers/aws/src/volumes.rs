//! Where EBS volumes are.

use aerostat_sdk::{Error, PersistentVolumes, Result, SortedSet, Topology, TopologyDescription, Volume};

use crate::api::ec2::volumes as api;
use crate::provider::Aws;
use crate::settings::ClusterMarks;

/// The vendor's CSI driver.
pub(crate) const DRIVER: &str = "ebs.csi.aws.com";
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
        let found = match known.is_empty() {
            true => Ok(Vec::new()),
            false => api::by_ids(&known).map_err(Error::from),
        };
        let cluster = ClusterMarks::read();
        let answer = |id: Result<&str>| {
            let (id, cluster) = (id?, cluster.as_ref().map_err(Clone::clone)?);
            let found = found.as_ref().map_err(Clone::clone)?.iter().find(|it| it.id == id && !it.zone.is_empty());
            let Some(volume) = found else { return Ok(None) };
            cluster.check_zone(&format!("volume {id}"), &volume.zone)?;
            Ok(Some(Topology::new(Some(cluster.region.clone()), [&volume.zone])))
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
    match is_id(id) {
        true => Ok(id),
        false => Err(Error::invalid(format_args!(
            "volume handle {handle:?} of {name} is not the id of a volume such as vol-0123456789abcdef0"
        ))),
    }
}

/// Whether `text` is the id of a volume.
pub(crate) fn is_id(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests;
