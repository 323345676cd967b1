//! Every event, code and metric that the program can produce has its row on a page.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use super::{files, pages, root};

/// Words in quotes that look like the reason of an event and are none: kinds, fields and values of Kubernetes and of clouds, codes of gRPC, flags.
const NO_REASONS: &[&str] = &[
    "AddressList",
    "AdmissionReview",
    "AlreadyExists",
    "AssignableScopes",
    "CiliumNetworkPolicy",
    "ClientIP",
    "CloudAllocator",
    "CloudConfig",
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ClusterRole",
    "ConfigMap",
    "ConfigMaps",
    "ControllerResizeError",
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "DataActions",
    "ExternalDNS",
    "ExternalIP",
    "FailedPrecondition",
    "FileSystemResizePending",
    "InOctets",
    "InternalDNS",
    "InternalIP",
    "InvalidArgument",
    "IsCustom",
    "LeaderMigrationConfiguration",
    "LoadBalancer",
    "NetworkPolicy",
    "NetworkUnavailable",
    "NewCloud",
    "NoRouteCreated",
    "NoSchedule",
    "NodeResizeError",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
    "NotActions",
    "NotDataActions",
    "NotFound",
    "NotFull",
    "OutOctets",
    "PermissionDenied",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaims",
    "PersistentVolumes",
    "RangeAllocator",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
    "ResourceExhausted",
    "RouteCreated",
    "ToBeDeletedByClusterAutoscaler",
    "TooManyRequests",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "VolumeAttachments",
    "VolumeSnapshot",
    "WaitForFirstConsumer",
    "WrittenOrigin",
];

/// The sources below some folders, without their tests.
fn sources(folders: &[&str]) -> Vec<String> {
    let is_test = |it: &String| it.contains("/tests") || it.contains("/testing") || it.ends_with("tests.rs");
    let tests = Regex::new(r"#\[cfg\(test\)\]\n(?:pub\([a-z]+\) )?mod tests \{").unwrap();
    let read = |path: String| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        tests.split(&text).next().unwrap().to_owned()
    };
    folders.iter().flat_map(|it| files(it, ".rs")).filter(|it| !is_test(it)).map(read).collect()
}

/// The texts that a pattern's first group finds in the sources below some folders.
fn found(folders: &[&str], pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    let sources = sources(folders);
    sources.iter().flat_map(|it| pattern.captures_iter(it).map(|it| it[1].to_owned())).collect()
}

/// Holds the rows of a page against what the sources have.
fn compare(page: &str, pattern: &str, produced: &BTreeSet<String>) {
    let pattern = Regex::new(&format!("^{pattern}$")).unwrap();
    let page_codes = pages().remove(page).unwrap().codes;
    let described: BTreeSet<_> = page_codes.into_iter().filter(|it| pattern.is_match(it)).collect();
    let missing: Vec<_> = produced.difference(&described).collect();
    let invented: Vec<_> = described.difference(produced).collect();
    assert!(missing.is_empty(), "{page} does not describe {missing:?}: add a row with cause and next step");
    assert!(invented.is_empty(), "{page} describes {invented:?}, which nothing produces");
}

#[test]
fn every_event_is_described() {
    let reason = "[A-Z][a-z]+(?:[A-Z]+[a-z]*)+";
    // Not those of the egress: it records nothing itself, and has many words of a cloud.
    let folders = ["runtime/controllers", "runtime/sandbox", "runtime/src"];
    let mut produced = found(&folders, &format!("\"({reason})\""));
    produced.retain(|it| !NO_REASONS.contains(&it.as_str()));
    produced.extend(found(&folders, "\"(CIDR[A-Z][A-Za-z]+)\""));
    // A reason of one word looks like many others: it is known by the kind of the event before it.
    let of_one_word = found(&folders, "EventKind::(?:Normal|Warning),\\s*\"([A-Z][a-z]+)\"");
    assert!(of_one_word.contains("Synced"), "{of_one_word:?}");
    let words = of_one_word.iter().map(|it| format!("{it}|")).collect::<String>();
    produced.extend(of_one_word);
    assert!(produced.len() > 50, "{produced:?}");
    compare("docs/events.md", &format!("(?:{words}CIDR[A-Z]\\w+|{reason})"), &produced);
}

#[test]
fn every_code_is_described() {
    compare("docs/events.md", "E-[A-Z]+-[A-Z]+", &found(&["runtime"], "\"(E-EGRESS-[A-Z]+)\""));
}

#[test]
fn every_metric_is_described() {
    compare("docs/metrics.md", "aerostat_[a-z_]+", &found(&["runtime"], "\"(aerostat_[a-z_]+)\""));
}
