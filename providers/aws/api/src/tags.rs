//! Tags that each module writes and reads.

use aerostat_sdk::SortedMap;

/// Keys and values.
pub type Tags = SortedMap<String, String>;

/// Ours: the UID of the cluster.
pub const CLUSTER_UID: &str = "aerostat.dev/cluster-uid";
/// The value of the cluster's tag on what lives and dies with the cluster.
pub const OWNED: &str = "owned";
