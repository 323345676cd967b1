//! The story of the vendor's own controller manager, as `tests/golden/ibm` has it, played with aerostat against the simulated account.
//!
//! ```text
//! the recorded files ─► VpcStoryStep … ─► ■ VpcStage: a cluster, the recordings' VPC, the binary ─► what is left after each step, what was asked
//! ```
//!
//! The files are one story. What theirs had in the cloud after a step is told by its writes, and by what it read afterwards. A step is
//! compared by its Services and nodes, and by all load balancers of Services that were made here.

mod recorded;
mod seen;
mod stage;
pub mod story;
mod takeover;

pub use self::stage::{LEFTOVER, MostAsked, VpcStage};
pub use self::takeover::{VpcInheritance, inheritances};
