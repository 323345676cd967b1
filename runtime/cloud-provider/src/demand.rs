/// The annotation of the Lease with which a person lets more be written to the cloud, for one window. Its value is `true`.
pub const APPROVAL: &str = "aerostat.dev/cloud-writes-approved";

/// How much Kubernetes asks to have changed in the cloud: how much a provider may write depends on it.
///
/// Nothing that a provider says or does is counted here.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Demand {
    /// Services that wait for their first load balancer now.
    pub waiting: u32,
    /// Services, and pod networks of nodes, that were seen for the first time in the window.
    pub new: u32,
    /// Changes in the window: of what a Service asks for, of the names of its nodes, and deletions; and pod networks whose
    /// nodes are gone.
    pub changes: u32,
    /// Whether a person has approved, in the window, that more is written than this allows.
    pub is_approved: bool,
}
