//! The functions that a provider exports, and what each of them may do.

use std::fmt;

use super::places::Capability;

/// A function that a provider exports.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Function {
    Describe,
    Identity,
    Get,
    List,
    CanonicalIds,
    Ensure,
    Delete,
    DescribeInventory,
    ListInventory,
    DescribeRoutes,
    NextHops,
    ListRoutes,
    /// With the most DELETEs that its changes may need.
    Apply {
        deletes: u32,
    },
    DescribeBatches,
    /// With so many load balancers.
    EnsureBatch {
        load_balancers: u32,
    },
    /// The same.
    DeleteBatch {
        load_balancers: u32,
    },
    DescribeVolumes,
    GetTopology,
    DescribeDisks,
    CreateVolume,
    AbandonVolume,
    DeleteVolume,
    AttachVolume,
    DetachVolume,
    ExpandVolume,
    GetVolumes,
    ListVolumes,
}

impl Function {
    /// The name in `wit/`, with that of its interface where several have a function of this name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Identity => "identity",
            Self::Get => "get",
            Self::List => "list",
            Self::CanonicalIds => "canonical-ids",
            Self::Ensure => "ensure",
            Self::Delete => "delete",
            Self::DescribeInventory => "load-balancer-inventory.describe",
            Self::ListInventory => "load-balancer-inventory.list",
            Self::DescribeRoutes => "routes.describe",
            Self::NextHops => "next-hops",
            Self::ListRoutes => "routes.list",
            Self::Apply { .. } => "apply",
            Self::DescribeBatches => "load-balancer-batches.describe",
            Self::EnsureBatch { .. } => "load-balancer-batches.ensure",
            Self::DeleteBatch { .. } => "load-balancer-batches.delete",
            Self::DescribeVolumes => "persistent-volumes.describe",
            Self::GetTopology => "get-topology",
            Self::DescribeDisks => "volumes.describe",
            Self::CreateVolume => "volumes.create",
            Self::AbandonVolume => "abandon",
            Self::DeleteVolume => "volumes.delete",
            Self::AttachVolume => "attach",
            Self::DetachVolume => "detach",
            Self::ExpandVolume => "expand",
            Self::GetVolumes => "volumes.get",
            Self::ListVolumes => "volumes.list",
        }
    }

    /// The capability whose places a call may take; `None` for any.
    pub(super) fn capability(self) -> Option<Capability> {
        match self {
            Self::Describe
            | Self::Identity
            | Self::DescribeInventory
            | Self::DescribeBatches
            | Self::DescribeRoutes
            | Self::DescribeVolumes
            | Self::DescribeDisks => None,
            Self::Get | Self::List | Self::CanonicalIds => Some(Capability::Instances),
            Self::Ensure | Self::Delete | Self::EnsureBatch { .. } | Self::DeleteBatch { .. } | Self::ListInventory => {
                Some(Capability::LoadBalancers)
            }
            Self::NextHops | Self::ListRoutes | Self::Apply { .. } => Some(Capability::Routes),
            Self::GetTopology => Some(Capability::PersistentVolumes),
            Self::CreateVolume
            | Self::AbandonVolume
            | Self::DeleteVolume
            | Self::AttachVolume
            | Self::DetachVolume
            | Self::ExpandVolume
            | Self::GetVolumes
            | Self::ListVolumes => Some(Capability::Volumes),
        }
    }

    /// Whether it is asked at load, before anything is known of the cluster.
    pub(super) fn describes(self) -> bool {
        matches!(
            self,
            Self::Describe
                | Self::DescribeInventory
                | Self::DescribeBatches
                | Self::DescribeRoutes
                | Self::DescribeVolumes
                | Self::DescribeDisks
        )
    }

    /// Whether its calls count against what the provider says of calls at a time.
    pub(super) fn is_limited(self) -> bool {
        matches!(self, Self::Ensure | Self::Delete | Self::EnsureBatch { .. } | Self::DeleteBatch { .. })
    }

    /// How many objects it is about, where limits go by that.
    pub(super) fn objects(self) -> u32 {
        match self {
            Self::EnsureBatch { load_balancers } | Self::DeleteBatch { load_balancers } => load_balancers.max(1),
            _ => 1,
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
