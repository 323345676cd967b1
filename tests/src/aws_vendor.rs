//! AWS's own manager, cloud-provider-aws, beside aerostat: one story is played with either, on the test control plane and before our
//! counterpart of AWS. What either leaves on Services, on Nodes and in AWS is compared after each step.
//!
//! `make compare-aws` plays the story with AWS's manager, and records what it leaves into `tests/aws/vendor`. `make test` plays it with
//! aerostat, and compares with the recording, as [`crate::beside`] does for each cloud. Each difference that is meant to be is a row of
//! [`known`], with its reason. `make bench` starts AWS's manager too, and counts its requests.

mod asked;
mod command;
pub mod known;
mod manager;
mod places;
mod play;
pub mod recording;
mod refused;
mod replay;
mod seen;
mod services;
pub mod stage;
pub mod story;

pub use self::command::VendorCommand;
pub use self::places::Places;
pub use self::recording::Recording;
pub use self::stage::Stage;
