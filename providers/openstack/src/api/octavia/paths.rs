//! Paths of Octavia.

/// The beginning of all paths.
pub(super) const ROOT: [&str; 2] = ["v2.0", "lbaas"];

/// A path below Octavia's root.
pub(crate) fn path(segments: &[&str]) -> Vec<String> {
    ROOT.iter().chain(segments).map(|it| (*it).to_owned()).collect()
}
