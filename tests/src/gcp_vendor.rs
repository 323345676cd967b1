//! Stories of Google's own controller manager, as `tests/golden/gcp/manager` has them, played with aerostat against the simulated projects.
//!
//! ```text
//! a recorded part ─► GcpStep … ─► ■ GcpStage: a cluster, the recordings' project, the binary ─► what each step changes, what was asked
//! ```
//!
//! A step is compared by what it sets and takes away in the cloud, as the recorder has it, and by the Services that it is about.

pub mod known;
mod seen;
mod stage;
pub mod story;
mod takeover;

pub use self::stage::GcpStage;
pub use self::takeover::inherit;
