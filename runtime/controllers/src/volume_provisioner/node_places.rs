//! Where nodes are: their labels, and the cloud's words on their machines.

use std::sync::Arc;

use k8s_openapi::api::storage::v1::CSINode;
use tracing::debug;

use super::VolumeProvisioner;
use super::places::NodePlaces;
use crate::error::chain;
use crate::node_fields::provider_id;
use crate::node_object::KubeNode;
use crate::nodes::Evidence;
use crate::volume_error::Error;
use crate::worker::random;

/// So many places are asked about for one claim at most, by a node each.
const ASKED: usize = 10;

impl VolumeProvisioner {
    /// The places of these nodes.
    pub(super) fn places<'a>(&self, csi_nodes: &'a [Arc<CSINode>], nodes: &'a [Arc<KubeNode>]) -> NodePlaces<'a> {
        let described = self.cloud.description();
        let mut places = NodePlaces::default();
        for csi_node in csi_nodes {
            let driver = csi_node.spec.drivers.iter().find(|it| it.name == described.driver);
            if let (Some(name), Some(driver)) = (csi_node.metadata.name.as_deref(), driver) {
                let keys = driver.topology_keys.iter().flatten().filter(|it| described.topology_keys.contains(it));
                places.keys.insert(name, keys.cloned().collect());
            }
        }
        for node in nodes {
            let Some(name) = node.metadata.name.as_deref() else { continue };
            if let Some(labels) = &node.metadata.labels {
                places.labels.insert(name, labels);
            }
            if let Some(machine) = self.nodes.confirmed(node) {
                let extra = machine.extra.iter().map(|(_, value)| value);
                let words = machine.zone.iter().chain(&machine.region).chain(extra);
                places.words.insert(name, words.cloned().collect());
            }
        }
        places
    }

    /// Asks the cloud about one node of each place that no machine which it has named confirms. Who writes labels on a node may be its kubelet.
    /// The error is that of the cloud, where it has named no machine at all.
    pub(super) async fn ask_for_places(
        &self,
        csi_nodes: &[Arc<CSINode>],
        nodes: &[Arc<KubeNode>],
    ) -> Result<(), Error> {
        let Some(inventory) = &self.inventory else { return Ok(()) };
        let mut failed = None;
        for names in self.places(csi_nodes, nodes).unconfirmed().into_iter().take(ASKED) {
            let is_open = |node: &Arc<KubeNode>| {
                provider_id(node).is_some()
                    && inventory.covers(node)
                    && matches!(self.nodes.evidence(node), Evidence::Unknown)
            };
            let open: Vec<_> = names.into_iter().filter_map(|it| self.nodes.get(it)).filter(is_open).collect();
            // Another one each time: the first may be one that never answers.
            let Some(node) = open.get((random() * open.len() as f64) as usize) else { continue };
            if let Err(error) = inventory.instance_of(node, None).await {
                debug!(node = node.metadata.name, error = chain(&error), "the cloud does not say where this node is");
                failed = Some(error);
            }
        }
        match failed.filter(|_| !nodes.iter().any(|it| self.nodes.confirmed(it).is_some())) {
            Some(error) => Err(Error::Cloud(error)),
            None => Ok(()),
        }
    }
}
