use std::sync::Arc;

use async_trait::async_trait;

use crate::{Reply, Result};

/// Where the volume behind a PersistentVolume is, for its labels and its node affinity.
#[async_trait]
pub trait PersistentVolumes: Send + Sync {
    /// About which volumes it can be asked now, as the provider that serves described it at load.
    fn description(&self) -> Arc<TopologyDescription>;

    /// One answer for each volume, in the same order. Reads only. No more than [`TopologyDescription::batch_size`] are
    /// read in one call of the provider.
    ///
    /// `Ok(None)` means that the cloud is certain that there is no such volume.
    async fn get_topology(&self, volumes: &[Volume]) -> Reply<Vec<Result<Option<Topology>>>>;
}

/// About which volumes a provider can be asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TopologyDescription {
    /// Volumes in one call: 1 to 500.
    pub batch_size: u32,
    /// Fields of `spec` with volumes of this cloud: "awsElasticBlockStore".
    pub sources: Vec<String>,
    /// CSI drivers with volumes of this cloud: "ebs.csi.aws.com".
    pub drivers: Vec<String>,
}

/// The volume behind a PersistentVolume.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Volume {
    /// `metadata.name` of the PersistentVolume.
    pub name: String,
    /// The field of `spec`, or the CSI driver; one of those in the description.
    pub source: String,
    /// `volumeHandle`, or what stands in its place in an older source.
    pub handle: String,
    /// `spec.csi.volumeAttributes`; of an older source, its other fields.
    pub attributes: Vec<(String, String)>,
}

/// Where a volume is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Topology {
    /// For the label `topology.kubernetes.io/region`. A label value, never empty.
    pub region: Option<String>,
    /// For the label `topology.kubernetes.io/zone`; several where it is replicated. Label values, never empty.
    pub zones: Vec<String>,
    /// Further labels.
    pub labels: Vec<(String, String)>,
    /// Where its driver can attach it, at most 16 places: for each the node labels all of which have to fit. Empty: the
    /// labels say it.
    pub accessible_topologies: Vec<Vec<(String, String)>>,
}
