use crate::ConfigMapKey;

/// The cluster that a provider works for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Cluster {
    /// `--cluster-name`: chosen by people, and the same in many clusters.
    pub name: String,
    /// The UID of the namespace `kube-system`: no other cluster has it. It belongs into every mark of ownership.
    pub uid: String,
    /// `--cluster-cidr`, in canonical form.
    pub pod_cidrs: Vec<String>,
    /// Values in the ConfigMaps that the operator lets the provider read.
    pub config_maps: Vec<(ConfigMapKey, String)>,
}
