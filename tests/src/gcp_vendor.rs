//! Stories of Google's own controller manager, as `tests/golden/gcp/manager` has them, played against the simulated projects: with aerostat,
//! and by `make compare-gcp` also with Google's provider package, which is older than the manager that was recorded.
//!
//! ```text
//! a recorded part ─► GcpStep … ─► ■ GcpStage: a cluster, the recordings' project, a manager ─► what each step changes, what was asked
//! ```
//!
//! A step is compared by what it sets and takes away in the cloud, as the recorder has it, and by the Services and Nodes that it is about.

pub mod known;
mod package;
mod seen;
mod stage;
pub mod story;
mod takeover;

pub use self::package::package_keys;
pub use self::stage::GcpStage;
pub use self::takeover::inherit;
