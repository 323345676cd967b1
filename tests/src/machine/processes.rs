//! The processes of a machine, seen from outside.

use std::fs;
use std::path::{Path, PathBuf};

/// The processes with this name on the machine of this folder, by their ids outside.
pub(super) fn with_name(folder: &Path, name: &str) -> Vec<u32> {
    let Some(own) = fs::read_to_string(folder.join("namespaces.pid")).ok().and_then(|it| network(it.trim())) else {
        return Vec::new();
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|it| it.file_name().to_str().map(str::to_owned));
    let named = |pid: &String| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it.trim() == name);
    all.filter(named).filter(|it| network(it).as_ref() == Some(&own)).filter_map(|it| it.parse().ok()).collect()
}

/// The name of a process's network.
fn network(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}
