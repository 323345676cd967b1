//! Which types of the contract go into memory, and which come out of it.

use std::collections::BTreeSet;

use wit_parser::TypeId;

/// The records and variants that are read from memory, and those that are written there.
#[derive(Default)]
pub(super) struct Directions {
    pub(super) read: BTreeSet<TypeId>,
    pub(super) written: BTreeSet<TypeId>,
}
