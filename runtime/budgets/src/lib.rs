//! How much may be deleted and written in how long, so that a wrong answer costs a few objects and not the cluster.
//!
//! ```text
//! nodes, load balancers, routes   a share of what there is, and always a few   share ► Spent
//! volumes                         the same, in all and of each namespace        volume_deletions ► Spent
//! writes with a credential        so many, or so many for each change that Kubernetes asks for   writes ► Count
//! a person's approval             lifts the limits for one window   requested_changes
//! ```
//!
//! All numbers are in `numbers`. A crate of its own because the way out to clouds and the controllers both need it and may not import
//! each other. No clock: times are arguments.

#![forbid(unsafe_code)]

mod count;
mod node_deletions;
mod numbers;
mod requested_changes;
mod share;
mod volume_deletions;
mod writes;

pub use self::count::{Count, Recorded, Refusal, WriteAges};
pub use self::node_deletions::NodeDeletions;
pub use self::numbers::{LOAD_BALANCERS, NODES, ROUTES, VOLUMES, VOLUMES_OF_NAMESPACE, WRITES};
pub use self::requested_changes::{LONGEST_WINDOW, RequestedChanges, WaitingChange};
pub use self::share::{Budget, Spent};
pub use self::volume_deletions::{VolumeBudgets, VolumeCounts, VolumeDeletions, VolumesSpent};
pub use self::writes::{WriteKind, WriteLimits};
