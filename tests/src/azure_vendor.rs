//! Stories of the vendor's own controller manager, as `tests/golden/azure` has them, played with aerostat against the simulated
//! subscription.
//!
//! ```text
//! a recorded part ─► ServiceStep … ─► ■ AzureStage: a cluster, the recordings' group, the binary ─► what each step changes, what was asked
//! ```
//!
//! A step is compared by the entries that it sets and takes away in the cloud, as the recorder has them, and by the Services that it is
//! about.

pub mod entries;
pub mod known;
mod seen;
mod stage;
pub mod story;
mod takeover;

pub use self::stage::AzureStage;
pub use self::takeover::inherit;
