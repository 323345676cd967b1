//! The API of EC2, as far as volumes of claims need it.

pub(crate) mod instances;
pub(crate) mod volumes;
