//! Where volumes of the VPC are: each is in one zone.

use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, TopologyDescription, Volume, settings};

use crate::api::volumes;
use crate::provider::Ibm;
use crate::settings::REGION;

/// The vendor's CSI driver.
const DRIVER: &str = "vpc.block.csi.ibm.io";
/// Volumes of one call: each costs a request.
const BATCH: u32 = 20;

impl PersistentVolumes for Ibm {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers([DRIVER]).batch_size(BATCH))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        if crate::settings::is_classic()? {
            return Ok(None);
        }
        let Volume { name, handle, .. } = volume;
        let id = crate::settings::id(handle).ok_or_else(|| {
            Error::invalid(format_args!(
                "volume handle {handle:?} of {name} is not the id of a volume such as r014-1a6b7274-678d-4dfb-8981-c71dd9d4daa5"
            ))
        })?;
        let Some(found) = volumes::find(&id)? else { return Ok(None) };
        Ok(Some(Topology::new(Some(settings::get(&REGION)?), [found.zone.name])))
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::testing::answer;

    use super::*;
    use crate::tests::{refused, settings};

    fn volume(handle: &str) -> Volume {
        Volume {
            name: "pvc-1".to_owned(),
            source: DRIVER.to_owned(),
            handle: handle.to_owned(),
            attributes: Vec::new(),
            extra: Vec::new(),
        }
    }

    #[test]
    fn a_volume_is_where_the_api_says() {
        let host = settings().answers(|request| match &*request.path[1] {
            "r014-1" => answer(200, r#"{ "id": "r014-1", "zone": { "name": "us-south-2" } }"#),
            _ => refused(404, "volume_not_found"),
        });
        let place = Topology::new(Some("us-south".to_owned()), ["us-south-2"]);
        assert_eq!(host.run(|| Ibm::get_topology(&volume("r014-1"))), Ok(Some(place)));
        assert_eq!(host.run(|| Ibm::get_topology(&volume("r014-2"))), Ok(None));
        for handle in ["", "../vpcs", "r014-1/x", "a b"] {
            let refused = host.run(|| Ibm::get_topology(&volume(handle)));
            assert!(
                matches!(&refused, Err(Error::Invalid(why)) if why.contains("is not the id of a volume")),
                "{refused:?}"
            );
        }
        assert_eq!(host.requests().len(), 2);
    }
}
