//! Stories of OpenStack's own controller manager, as `tests/golden/openstack` has them, played with aerostat against the simulated region.
//!
//! ```text
//! a recording ─► Story ─► ■ Stage: a cluster, the region of the recordings, the binary ─► what is left after each step, what was asked
//! ```
//!
//! Stories with the same settings and nodes share a stage, and are played side by side: whose a request is, its ids tell.

mod config;
mod events;
mod hands;
pub mod known;
mod manager;
mod names;
pub mod parts;
mod requests;
mod seen;
mod stage;
pub mod story;

pub use self::stage::Stage;
