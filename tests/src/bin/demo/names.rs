//! The names of all nodes that the demo makes.

use crate::cloud::MACHINES;
use crate::vendor::Shown;

/// The node of a machine with the field that a cloud drops.
pub(crate) const OLDER: &str = "older-1";
/// That of one without.
pub(crate) const NEWER: &str = "newer-1";
/// The nodes that join while a version crashes, so that it crashes often enough.
pub(crate) const LATER: [&str; 6] = ["later-1", "later-2", "later-3", "later-4", "later-5", "later-6"];

/// The nodes of the versions' steps.
pub(crate) fn of_versions() -> impl Iterator<Item = &'static str> {
    LATER.into_iter().chain([OLDER, NEWER])
}

/// All nodes of all steps.
pub(crate) fn all<V: Shown>() -> Vec<String> {
    let others = V::ATTACKS.iter().map(|it| it.0).chain(of_versions());
    (1..=MACHINES).map(V::node).chain(others.map(str::to_owned)).collect()
}
