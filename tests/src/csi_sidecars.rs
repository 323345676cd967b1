//! The sidecars of Kubernetes' CSI project beside aerostat: one story is played with either, on the test control plane and before the
//! simulated DigitalOcean. A driver of `tests/csi-sidecars`, which asks what the vendor's asks, serves the sidecars.
//!
//! ```text
//! a step of the story ─► ■ VolumeStage: a cluster, an account, whoever manages its volumes ─► objects, disks and requests after it
//! ```
//!
//! `make compare-volumes` plays it with both, and with `RECORD=1` records what the sidecars leave into `tests/recordings/volumes.json`.
//! `make test` plays it with aerostat, and compares with the recording, as [`crate::beside`] does for each vendor. Each difference that is
//! meant to be is a row of [`known`], with its reason.

mod ground;
pub mod known;
mod machines;
mod play;
mod recording;
mod seen;
mod sidecars;
mod stage;
pub mod story;
mod verdict;

pub use self::play::PlayedStep;
pub use self::recording::VolumeRecording;
pub use self::stage::VolumeStage;
pub use self::verdict::{sum, verdict};
