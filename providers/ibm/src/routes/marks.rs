//! The names of entries, which say whose they are.

use aerostat_sdk::{Result, RouteOwnership, cluster};

use crate::api::routes::VpcTableEntry;

/// The beginning of names that are given here. A part of the cluster's UID follows.
const MARK: &str = "k8s-";
/// How much of the UID fits: 64 bits.
const DIGITS: usize = 16;
/// The longest name.
const LONGEST: usize = 63;

/// The beginning of the names of this cluster's entries: `k8s-c1a5e00011112222-`.
///
/// # Errors
///
/// While the cluster is not known.
pub(super) fn mark() -> Result<String> {
    let uid = cluster()?.uid.to_ascii_lowercase();
    let digits: String = uid.chars().filter(char::is_ascii_alphanumeric).take(DIGITS).collect();
    Ok(format!("{MARK}{digits}-"))
}

/// The name of the entry of one zone: `k8s-c1a5e00011112222-10-244-1-0-24-us-south-1`. It holds the destination and no node, so that a network
/// that another node gets keeps it.
pub(super) fn name(mark: &str, destination: &str, zone: &str) -> String {
    let whole = format!("{mark}{}-{zone}", destination.replace(['.', '/'], "-"));
    whole.chars().take(LONGEST).collect::<String>().trim_end_matches('-').to_owned()
}

/// The owner of an entry. One without this cluster's mark is somebody else's: no entry is made here without it, and the vendor's controller
/// makes none.
pub(super) fn ownership(route: &VpcTableEntry, mark: &str) -> RouteOwnership {
    match route.hop() {
        Some(_) if route.name.starts_with(mark) => RouteOwnership::Ours,
        _ => RouteOwnership::Foreign,
    }
}
