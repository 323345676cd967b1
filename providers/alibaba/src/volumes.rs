//! Where disks are.

use aerostat_sdk::{Error, PersistentVolumes, Result, SortedMap, SortedSet, Topology, TopologyDescription, Volume};

use crate::api::PAGE;
use crate::api::disks::{self, EcsDisk};
use crate::provider::Alibaba;
use crate::settings::VpcSettings;

/// The vendor's CSI driver.
const DRIVER: &str = "diskplugin.csi.alibabacloud.com";
/// The label by which the driver chooses nodes.
const ZONE: &str = "topology.diskplugin.csi.alibabacloud.com/zone";

impl PersistentVolumes for Alibaba {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).batch_size(PAGE))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let mut answers = Self::get_topologies(std::slice::from_ref(volume));
        answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    fn get_topologies(volumes: &[Volume]) -> Vec<Result<Option<Topology>>> {
        let settings = match VpcSettings::read() {
            Ok(settings) => settings,
            Err(error) => return volumes.iter().map(|_| Err(error.clone())).collect(),
        };
        let ids: SortedSet<&str> = volumes.iter().filter_map(|it| disk_id(it).ok()).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        let mut places: SortedMap<&str, Result<Option<EcsDisk>>> = SortedMap::new();
        for ids in ids.chunks(PAGE as usize) {
            let found = disks::by_ids(&settings.region, ids);
            let of_id = |id: &str| match &found {
                Ok(found) => Ok(found.iter().find(|it| it.id == id).cloned()),
                Err(error) => Err(error.clone()),
            };
            places.extend(ids.iter().map(|id| (*id, of_id(id))));
        }
        let place = |volume: &Volume| {
            let found = places.get(disk_id(volume)?).cloned().unwrap_or(Ok(None))?;
            Ok(found.map(|it| topology(&it, &settings)))
        };
        volumes.iter().map(place).collect()
    }
}

fn topology(disk: &EcsDisk, settings: &VpcSettings) -> Topology {
    let zone = Some(disk.zone.clone()).filter(|it| !it.is_empty());
    let place = Topology::new(Some(settings.region.clone()), zone.clone());
    zone.into_iter().fold(place, |place, zone| place.accessible_from([(ZONE.to_owned(), zone)]))
}

/// The id of a volume's disk.
fn disk_id(volume: &Volume) -> Result<&str> {
    let is_word = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric());
    let id = Some(&*volume.handle).filter(|it| it.strip_prefix("d-").is_some_and(is_word));
    id.ok_or_else(|| {
        Error::invalid(format_args!(
            "volume handle {:?} of {} is not the id of a disk such as d-bp1abc",
            volume.handle, volume.name
        ))
    })
}
