//! A vendor's own manager beside aerostat, for any cloud: how much was asked, and what was left on Services, on Nodes and in the cloud.
//!
//! ```text
//! the vendor's recording ─► ManagerState ┐
//!                                        ├─► ■ compare, with the table of differences that are meant ─► sentences about the others
//! aerostat, as it is played ─► ManagerState ┘
//! ```
//!
//! Each cloud brings its words (how a state is told, which requests only read) and its table. [`compare`] is the same for all.

mod alike;
mod asked;
mod comparison;
mod differences;
mod events;
mod meant;
mod objects;
mod recorded;
mod story;
mod words;

pub use self::alike::{StepLimits, until_alike, until_quiet};
pub use self::asked::Asked;
pub use self::comparison::{Compared, ComparedStep, ManagerState, compare};
pub use self::differences::{Difference, differences};
pub use self::events::{SeenEvents, recorded_events, with_warnings};
pub use self::meant::{Meant, explained, unmeant};
pub use self::objects::{
    left_of_kind, let_be, merge_patch, now_there, register, seen_labelled, seen_node, whole_manifest,
};
pub use self::recorded::{VendorFormat, VendorStep, by_name, vendor_steps};
pub use self::story::{
    ServiceChange, ServiceStep, ServiceSteps, manifest, objects_of, seen_service, service_steps, whole_recording,
};
pub use self::words::StoryWords;
