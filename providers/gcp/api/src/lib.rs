//! Compute Engine, as far as the modules for Google Cloud have it in common: refusals, fields of answers, names, the project in the settings, and
//! the ids of requests.
//!
//! A crate of its own: one module links no exports of another one.

#![forbid(unsafe_code)]

mod errors;
pub mod fields;
mod names;
mod projects;
mod requests;
mod settings;

pub use self::errors::{API, COMPUTE, NETWORK, NETWORK_API, operation_error, reason};
pub use self::names::{is_name, last_of};
pub use self::projects::{GceProject, missing, number_of, project, shown};
pub use self::requests::{PAGE, request_id, warned};
pub use self::settings::{OWN_PROJECT, PROJECT_ID, TABLE};
