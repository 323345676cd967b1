//! The type that this component exports.

/// The provider.
pub struct Pd;
