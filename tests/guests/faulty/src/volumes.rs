//! Volumes, each in the zone of all machines.

use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, TopologyDescription, Volume, http};
use serde::Deserialize;

use crate::fault::{self, Fault};
use crate::{API, Faulty};

/// The driver.
const DRIVER: &str = "csi.acme.example";
/// Volumes of one call.
const BATCH: u32 = 10;

#[derive(Deserialize)]
struct AcmeVolume {
    zone: String,
}

impl PersistentVolumes for Faulty {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let found: Option<AcmeVolume> = match http::get(API, ["volumes", &volume.handle]).find() {
            Err(_) if fault::is(Fault::VolumeNoneOnError)? => None,
            found => found?,
        };
        let Some(AcmeVolume { zone }) = found.filter(|_| fault::is(Fault::UnknownVolume) != Ok(true)) else {
            return match fault::is(Fault::ErrorOnMissingVolume)? {
                true => Err(Error::unavailable("the cloud has no such volume")),
                false => Ok(None),
            };
        };
        let zone = if fault::is(Fault::OtherZone)? { zone.to_uppercase() } else { zone };
        Ok(Some(Topology::new(None, [zone])))
    }

    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        let mut answers: Vec<_> = volumes.iter().map(Self::get_topology).collect();
        if fault::is(Fault::MixedVolumes) == Ok(true) {
            answers.reverse();
        }
        answers
    }
}
