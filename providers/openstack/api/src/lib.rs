//! OpenStack as its modules have it in common: the clients of Nova and Neutron, lists and fields of answers, refusals, and the project and
//! region that a cluster is in.
//!
//! A crate of its own: one module links no exports of another one.

#![forbid(unsafe_code)]

mod clients;
pub mod errors;
pub mod fields;
pub mod lists;
mod project;
mod region;
mod words;

pub use self::clients::{COMPUTE, MICROVERSION, NETWORK, NEUTRON, NOVA};
pub use self::project::identity;
pub use self::region::{REGION, TABLE, region};
pub use self::words::{ID, id, name};
