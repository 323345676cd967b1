//! Labels that say where instances are: the id of their zone, and the network nodes above them.

use aerostat_sdk::{Error, Result, SortedMap, log};

use crate::api::AwsRefusal;
use crate::api::ec2::instances::Ec2Instance;
use crate::api::ec2::{topology, zones};
use crate::instance::ZONE_ID;
use crate::settings::MachineSettings;

/// The beginning of the labels of network nodes; 1 and more follow, from the outside in.
const NETWORK_NODE: &str = "topology.k8s.aws/network-node-layer-";

/// Where the instances of one answer are, as far as had to be asked.
pub(crate) struct Places<'a> {
    settings: &'a MachineSettings,
    /// The ids of zones, if an instance does not say its own.
    zones: Result<SortedMap<String, String>>,
    /// The network nodes above instances, if there is one of a type that has them.
    network_nodes: Result<SortedMap<String, Vec<String>>>,
}

impl<'a> Places<'a> {
    /// Asks what the labels of these instances need: nothing, if each says the id of its zone, and none is of a type whose place in the
    /// network counts.
    pub(crate) fn of(instances: &[&Ec2Instance], settings: &'a MachineSettings) -> Self {
        let lacks_zone = instances.iter().any(|it| it.zone.is_some() && it.zone_id.is_none());
        let zones =
            if lacks_zone { zones::ids(&settings.cluster.region).map_err(Error::from) } else { Ok(SortedMap::new()) };
        let in_network: Vec<_> =
            instances.iter().filter(|it| has_network_nodes(it, settings)).map(|it| &*it.id).collect();
        let network_nodes = match in_network.is_empty() {
            true => Ok(SortedMap::new()),
            false => topology::network_nodes(&in_network).or_else(without),
        };
        Self { settings, zones, network_nodes }
    }

    /// The labels of one of these instances.
    ///
    /// # Errors
    ///
    /// Why it could not be asked for one of them: the node would never get it once it is initialised. `invalid` for an instance of
    /// another region than that of the settings.
    pub(crate) fn labels(&self, it: &Ec2Instance) -> Result<Vec<(String, String)>> {
        if let Some(zone) = &it.zone {
            self.settings.cluster.check_zone(&format!("instance {}", it.id), zone)?;
        }
        let mut labels = Vec::new();
        match (&it.zone_id, &it.zone) {
            (Some(id), _) => labels.push((ZONE_ID.to_owned(), id.clone())),
            (None, Some(zone)) => {
                let id = self.zones.as_ref().map_err(Clone::clone)?.get(zone);
                let id = id.ok_or_else(|| Error::unavailable(format_args!("EC2 lists no zone {zone}")))?;
                labels.push((ZONE_ID.to_owned(), id.clone()));
            }
            (None, None) => {}
        }
        if has_network_nodes(it, self.settings) {
            let nodes = self.network_nodes.as_ref().map_err(Clone::clone)?.get(&it.id);
            let numbered = nodes.into_iter().flatten().zip(1..);
            labels.extend(numbered.map(|(node, layer): (_, u32)| (format!("{NETWORK_NODE}{layer}"), node.clone())));
        }
        Ok(labels)
    }
}

fn has_network_nodes(it: &Ec2Instance, settings: &MachineSettings) -> bool {
    it.machine_type.as_deref().is_some_and(|it| settings.has_topology(it))
}

/// No network nodes, where the region tells none, or the credential may not ask: nodes do without these labels.
fn without(refusal: AwsRefusal) -> Result<SortedMap<String, Vec<String>>> {
    match refusal.error {
        Error::Denied(why) => {
            log::info("nodes get no labels about network nodes", &[("why", &why)]);
            Ok(SortedMap::new())
        }
        _ if refusal.code == "UnsupportedOperation" => Ok(SortedMap::new()),
        error => Err(error),
    }
}
