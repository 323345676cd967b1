//! The provider, and its ids.

/// The beginning of provider ids.
pub(crate) const PREFIX: &str = "rancher://";

/// The provider.
#[derive(Debug)]
pub struct Rancher;
