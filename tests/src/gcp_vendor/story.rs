//! The recorded parts: their steps in their order, and the Services that each makes.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::beside::{Asked, VendorFormat, objects_of, vendor_steps, whole_recording};

/// The cluster's id in the recordings, from ConfigMap `kube-system/ingress-uid`.
pub const CLUSTER_ID: &str = "b9162edb89ddb12b";

/// A step of a part.
#[derive(Clone, Debug)]
pub struct GcpStep {
    /// Its name: `external/create`.
    pub name: String,
    /// The requests that theirs made. A list of a group's machines is a read.
    pub asked: Asked,
    /// The events that theirs told, as they were recorded.
    pub events: Value,
    /// All Services after it, by name, as they were recorded.
    pub left: Map<String, Value>,
    /// The objects that it set and took away, as they were recorded.
    pub cloud: Value,
    /// The Services that it is about.
    pub services: Vec<String>,
    /// The Nodes after it, by name, as they were recorded, if it is about them.
    pub nodes: Map<String, Value>,
    /// The beginning of the step.
    pub change: GcpChange,
}

/// The beginning of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GcpChange {
    /// The two nodes join.
    Join,
    /// The Services are made.
    Make,
    /// Another process begins.
    Restart,
    /// The Services are deleted.
    Delete,
}

/// Steps of a part: the file's name, how it begins, and the Services that it is about.
type Steps = &'static [(&'static str, GcpChange, &'static [&'static str])];

/// Nodes.
pub const NODES: Steps = &[("nodes-join", GcpChange::Join, &[])];

/// External load balancers. Steps that were not recorded lie between: their Services are left out.
pub const EXTERNAL: Steps = &[
    ("external-create", GcpChange::Make, &["ext-tcp"]),
    ("external-second", GcpChange::Make, &["ext-two"]),
    ("external-restart", GcpChange::Restart, &["ext-tcp", "ext-two"]),
    ("external-udp", GcpChange::Make, &["ext-udp"]),
    ("external-range", GcpChange::Make, &["ext-range"]),
    ("external-local", GcpChange::Make, &["ext-local"]),
    ("external-static-ip", GcpChange::Make, &["ext-ip"]),
    ("external-class", GcpChange::Make, &["ext-class"]),
    ("external-elsewhere", GcpChange::Make, &["ext-rbs"]),
    ("external-refused", GcpChange::Make, &["ext-gold", "ext-foreign", "ext-mixed"]),
];

/// Internal ones.
pub const INTERNAL: Steps = &[
    ("internal-create", GcpChange::Make, &["int-tcp"]),
    ("internal-second", GcpChange::Make, &["int-two"]),
    ("internal-restart", GcpChange::Restart, &["int-tcp", "int-two"]),
    ("internal-six-ports", GcpChange::Make, &["int-six"]),
    ("internal-local", GcpChange::Make, &["int-local"]),
    ("internal-udp", GcpChange::Make, &["int-udp"]),
    ("internal-class", GcpChange::Make, &["int-class"]),
    ("internal-delete", GcpChange::Delete, &["int-tcp"]),
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/gcp/manager/{name}.json"))
}

/// The steps of a part.
///
/// # Panics
///
/// Panics if one cannot be read.
#[must_use]
pub fn part(steps: Steps) -> Vec<GcpStep> {
    steps.iter().map(|(name, change, services)| step(name, *change, services)).collect()
}

fn step(name: &str, change: GcpChange, services: &[&str]) -> GcpStep {
    let read = vendor_steps(VendorFormat::Gcp, &file(name)).unwrap_or_else(|error| panic!("{error:#}")).remove(0);
    let asked = read.exchanges.iter().map(|exchange| {
        // It is asked for by POST.
        let writes = exchange.writes && !exchange.path.ends_with("/listInstances");
        (format!("{} {}", exchange.method, exchange.path), writes)
    });
    let raw = whole_state(name);
    GcpStep {
        name: read.name,
        asked: Asked::of(asked),
        events: read.events,
        left: objects_of(&raw, "services"),
        cloud: raw["cloud"].clone(),
        services: services.iter().map(|it| (*it).to_owned()).collect(),
        nodes: if change == GcpChange::Join { objects_of(&raw, "nodes") } else { Map::new() },
        change,
    }
}

/// A whole recording. Of `state-…` it is the simulated cloud after a step, by path, with names in it.
///
/// # Panics
///
/// Panics if it cannot be read.
#[must_use]
pub fn whole_state(name: &str) -> Map<String, Value> {
    whole_recording(&file(name))
}
