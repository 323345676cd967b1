//! The story of the vendor's own controller manager, as `tests/golden/alibaba` has it, played with aerostat against the simulated account.
//!
//! ```text
//! the recorded files ─► AliStep … ─► ■ AliStage: a cluster, the recordings' VPC, the binary ─► what is left after each step, what was asked
//! ```
//!
//! The files are one story. It is played in two parts, each with a cluster of its own: Classic Load Balancers, and Network ones with faults.
//! A step is compared by its Services and nodes, and by all that the Services of the part have in the cloud.

pub mod known;
mod seen;
mod stage;
pub mod story;
mod takeover;

pub use self::stage::AliStage;
pub use self::takeover::{Inheritance, inheritances};
