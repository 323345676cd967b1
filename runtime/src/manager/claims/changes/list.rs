//! Differences as values.

use std::fmt;

/// One difference.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ModuleChange {
    /// The subject: `request`, `annotation`.
    pub(crate) about: &'static str,
    /// The difference: `+ endpoint api: GET /v2/droplets/*`.
    pub(crate) text: String,
    /// Whether an operator has to look at it: the module may do more than before, or stops doing something.
    pub(crate) matters: bool,
}

/// `request + endpoint api: GET /v2/droplets/*`.
impl fmt::Display for ModuleChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.about, self.text)
    }
}

/// The differences that have been found.
#[derive(Default)]
pub(super) struct ChangeList(Vec<ModuleChange>);

impl ChangeList {
    pub(super) fn add(&mut self, about: &'static str, matters: bool, text: String) {
        self.0.push(ModuleChange { about, text, matters });
    }

    pub(super) fn into_vec(self) -> Vec<ModuleChange> {
        self.0
    }
}
