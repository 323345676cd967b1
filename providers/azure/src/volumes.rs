//! Where managed disks are: lists of a resource group's disks say their zones.

use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, TopologyDescription, Volume};
use serde_json::Value;

use crate::api::AzureApi;
use crate::api::fields::{text, words};
use crate::id::ResourceId;
use crate::provider::Azure;

/// The vendor's CSI driver.
const DRIVER: &str = "disk.csi.azure.com";
/// The label by which the driver chooses nodes.
const ZONE: &str = "topology.disk.csi.azure.com/zone";
/// Volumes of one call: each costs a request.
const BATCH: u32 = 20;

impl PersistentVolumes for Azure {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).source("azureDisk").batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let disk = ResourceId::parse(&volume.handle).filter(|it| it.has_types(&["disks"]));
        let disk = disk.ok_or_else(|| {
            Error::invalid(format_args!(
                "volume handle {:?} of {} is not the id of a disk such as \
                 /subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/data-1",
                volume.handle, volume.name
            ))
        })?;
        let Some(shown) = AzureApi::Compute.get(&disk).find::<Value>()? else { return Ok(None) };
        let region = text(&shown, "/location").to_ascii_lowercase().replace(' ', "");
        // A disk that is kept in several zones can be attached in each of them.
        let is_zonal = text(&shown, "/sku/name").to_ascii_uppercase().ends_with("_ZRS");
        let zones: Vec<String> = match is_zonal {
            true => Vec::new(),
            false => words(&shown, "/zones").map(|it| format!("{region}-{it}")).collect(),
        };
        let place = Topology::new(Some(region), zones.clone());
        Ok(Some(zones.into_iter().fold(place, |it, zone| it.accessible_from([(ZONE.to_owned(), zone)]))))
    }
}
