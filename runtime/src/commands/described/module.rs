//! A module that describes itself.

use cloud_provider::Description;
use sandbox::Digest;

/// A module that describes itself.
pub(crate) struct DescribedModule<'a> {
    /// How messages call it: `acme.wasm`.
    pub(crate) name: &'a str,
    pub(crate) digest: Digest,
    pub(crate) description: &'a Description,
}
