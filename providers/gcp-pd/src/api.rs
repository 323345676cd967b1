//! The API of Compute Engine, as far as volumes of claims need it.

pub(crate) mod disks;
pub(crate) mod operations;
pub(crate) mod places;
