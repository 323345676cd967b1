//! The recorded parts: their steps in their order, and the Services that each is about.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::beside::ServiceChange::{Annotate, Delete, Make, Restart};
use crate::beside::{ServiceStep, ServiceSteps, VendorFormat, service_steps, whole_recording};

/// External load balancers.
pub const EXTERNAL: ServiceSteps = &[
    ("external-create", Make, &["ext-tcp"]),
    ("external-second", Make, &["ext-two"]),
    ("external-restart", Restart, &["ext-tcp", "ext-two"]),
    ("external-delete", Delete, &["ext-two"]),
    ("external-delete-last", Delete, &["ext-tcp"]),
];

/// Internal ones.
pub const INTERNAL: ServiceSteps = &[
    ("internal-create", Make, &["int-tcp"]),
    ("internal-second", Make, &["int-two"]),
    ("internal-ha-ports", Make, &["int-ha"]),
    ("internal-pls", Make, &["int-pls"]),
    ("internal-delete", Delete, &["int-ha", "int-pls", "int-tcp", "int-two"]),
];

/// Services with annotations.
pub const OPTIONS: ServiceSteps = &[
    ("options-udp", Make, &["udp"]),
    ("options-mixed", Make, &["mixed"]),
    ("options-local", Make, &["local"]),
    ("options-sources-affinity", Make, &["src"]),
    ("options-tags-deny", Make, &["deny"]),
    ("options-probes", Make, &["probe"]),
    ("options-dns-tags", Make, &["dns"]),
    ("options-named-pip", Make, &["named"]),
    ("options-pip-by-ip", Make, &["byip"]),
    ("options-refused", Make, &["r-idle", "r-ip", "r-pip", "r-probe", "r-sctp", "r-subnet", "r-taken"]),
];

/// Several load balancers.
pub const SEVERAL: ServiceSteps = &[
    ("multi-first", Make, &["m1"]),
    ("multi-second", Make, &["m2"]),
    ("multi-named", Make, &["m3"]),
    ("multi-local", Make, &["m4"]),
    ("multi-internal", Make, &["m5"]),
    ("multi-move", Annotate, &["m1"]),
    ("multi-unknown", Make, &["m6"]),
];

/// Services that were made, or annotated, before a step: what became of them was not recorded.
const BETWEEN: [(&str, &[&str]); 4] = [
    ("options/tags-deny", &["src2"]),
    ("options/named-pip", &["dns"]),
    ("options/pip-by-ip", &["named2"]),
    ("options/refused", &["addl", "nofloat", "nonsg"]),
];

/// A part of the story.
#[derive(Clone, Copy, Debug)]
pub struct AzurePart {
    /// Its name: `vm external`.
    pub name: &'static str,
    /// The folder of its recordings.
    pub folder: &'static str,
    /// Its steps.
    pub steps: ServiceSteps,
}

/// All parts that are played.
pub const PARTS: [AzurePart; 7] = [
    AzurePart { name: "vm external", folder: "vm", steps: EXTERNAL },
    AzurePart { name: "vm internal", folder: "vm", steps: INTERNAL },
    AzurePart { name: "vm options", folder: "vm", steps: OPTIONS },
    AzurePart { name: "scale-set external", folder: "scale-set", steps: EXTERNAL },
    AzurePart { name: "flexible external", folder: "flexible", steps: EXTERNAL },
    AzurePart { name: "node-ip external", folder: "node-ip", steps: EXTERNAL },
    AzurePart { name: "several", folder: "several", steps: SEVERAL },
];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/azure").join(name)
}

impl AzurePart {
    /// Its steps, named with the folder: `vm/external/create`.
    ///
    /// # Panics
    ///
    /// Panics if one cannot be read.
    #[must_use]
    pub fn read(&self) -> Vec<ServiceStep> {
        let mut steps = service_steps(VendorFormat::Azure, &folder(self.folder), self.steps, |exchange| {
            let action = format!("{} {}", exchange.method, exchange.path);
            is_counted(&exchange.path).then_some((action, exchange.writes))
        });
        steps.iter_mut().for_each(|it| it.name = format!("{}/{}", self.folder, it.name));
        steps
    }
}

/// Whether a request is compared. Tokens are another API's, and whoever waits for operations is not counted.
#[must_use]
pub fn is_counted(path: &str) -> bool {
    (path.starts_with("RG/") || path.starts_with("/subscriptions/")) && !path.contains("/operations/")
}

/// The Services that were made or annotated before a step without a recording.
#[must_use]
pub fn between(step: &str) -> &'static [&'static str] {
    let found = BETWEEN.iter().find(|(name, _)| step.strip_prefix("vm/") == Some(*name));
    found.map_or(&[], |(_, services)| services)
}

/// A whole recording: `vm/state-external-second` is the simulated cloud after a step, by id, with names in it.
///
/// # Panics
///
/// Panics if it cannot be read.
#[must_use]
pub fn whole_state(name: &str) -> Map<String, Value> {
    whole_recording(&folder(&format!("{name}.json")))
}
