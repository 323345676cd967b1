//! Where persistent disks are: their handles say it, and nobody is asked.

use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, TopologyDescription, Volume};

use crate::machine::{is_name, region_of};
use crate::provider::Gcp;

/// The vendor's CSI driver.
const DRIVER: &str = "pd.csi.storage.gke.io";
/// Volumes of one call: none of them costs a request.
const BATCH: u32 = 500;

impl PersistentVolumes for Gcp {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let Volume { name, handle, .. } = volume;
        let parts: Vec<&str> = handle.split('/').collect();
        match &parts[..] {
            ["projects", _, "zones", zone, "disks", disk] if is_name(zone) && is_name(disk) => {
                Ok(Some(Topology::new(Some(region_of(zone).to_owned()), [*zone])))
            }
            // The disk is in two zones, which its handle does not name.
            ["projects", _, "regions", region, "disks", disk] if is_name(region) && is_name(disk) => {
                Ok(Some(Topology::new(Some((*region).to_owned()), [""; 0])))
            }
            _ => Err(Error::invalid(format_args!(
                "volume handle {handle:?} of {name} is not the name of a disk such as projects/p/zones/europe-west1-b/disks/data-1"
            ))),
        }
    }
}
