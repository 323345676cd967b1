//! The Kubernetes side of a cloud-controller-manager: what its controllers decide and write.
//!
//! ```text
//! watch ► Nodes ► queue ► node::sync ─ Inventory ─ one get, or one list for all ► the cloud
//!                            └ plan: the node as it should be ► object::update ► events
//!
//! watch ► Services ► queue ► service::sync ─ ensure, delete ► the cloud
//!                              └ plan: what it wants; the Service as it should be ► object::update_latest ► events
//!
//! watch ► volumes ► queue ► persistent_volume_labels::sync ─ one question for several ► the cloud
//!                             └ plan: labels and node affinity ► object::update_latest
//! ```
//!
//! Decisions are plain functions in a `plan.rs`; the code that carries them out stands beside it. Nothing in here knows
//! WebAssembly or reads the environment.

#![forbid(unsafe_code)]

mod account;
mod cidr;
mod cloud_call;
mod cluster_facts;
mod context;
mod debounce;
mod error;
mod events;
mod freshness;
mod in_tree_source;
mod inventory;
mod known_volume;
mod last_list;
mod limits;
mod liveness;
mod metrics;
mod migrated;
pub mod node;
mod node_fields;
pub mod node_ipam;
pub mod node_lifecycle;
mod node_object;
mod nodes;
mod object;
mod outage;
mod pending;
pub mod persistent_volume_labels;
mod provider_events;
mod quantity;
mod queue;
pub mod route;
pub mod service;
mod trimmed;
mod version;
pub mod volume_attacher;
mod volume_error;
mod volume_events;
pub mod volume_expander;
mod volume_lists;
mod volume_operations;
pub mod volume_provisioner;
mod volume_vendor;
mod warm_up;
mod watch;
mod watched;
mod woken;
mod worker;

pub use budgets::{LONGEST_WINDOW, NodeDeletions, RequestedChanges};

pub use crate::account::{ANNOTATION as ACCOUNT_ANNOTATION, Account};
pub use crate::cluster_facts::{ClusterFacts, believed_pod_network, is_private};
pub use crate::context::{Context, Task};
pub use crate::error::chain;
pub use crate::events::{EventKind, Events, Recorder, reference};
pub use crate::inventory::check::is_label_key;
pub use crate::liveness::{Liveness, STUCK};
pub use crate::metrics::Metrics;
pub use crate::node_object::KubeNode;
pub use crate::nodes::{Confirmed, Nodes};
pub use crate::object::LateAnswer;
pub use crate::outage::Outage;
