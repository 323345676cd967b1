//! Recorded stories: one Service, or a few that belong together, from creation to deletion.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::beside::{VendorFormat, VendorStep, vendor_steps};

use super::config;

/// A recorded story.
#[derive(Clone, Debug)]
pub struct Story {
    /// The file's name without its end: `basic`.
    pub name: String,
    /// The nodes that there are.
    pub nodes: Vec<String>,
    /// The config, as it was recorded.
    pub config: String,
    /// The settings of the provider, with names in the place of ids.
    pub settings: Vec<(String, String)>,
    /// The Services that are made, by name.
    pub services: Map<String, Value>,
    /// The steps, in their order.
    pub steps: Vec<Step>,
}

/// A recorded step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The recording.
    pub recorded: VendorStep,
    /// The Service that it is about.
    pub subject: String,
    /// The change.
    pub change: Change,
}

/// The beginning of a step.
#[derive(Clone, Debug)]
pub enum Change {
    /// These Services are made, one right after the other.
    Create(Vec<String>),
    /// The Service of the step gets this merge patch.
    Patch(Value),
    /// The Service of the step is deleted.
    Delete,
    /// A person changes something in the cloud, as the step's name says, and touches the Service.
    Hands,
    /// Another process begins, with the settings and flags that the step's name says.
    Restart,
    /// Nothing: what another step has begun ends.
    Wait,
}

impl Story {
    /// The same with the settings of this config; without one, those of most recordings.
    #[must_use]
    pub(super) fn with_config(mut self, config: Option<&str>) -> Self {
        self.config = config.map_or_else(main_config, str::to_owned);
        self.settings = config::settings(&self.config);
        self
    }
}

/// The folder of the recordings.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/openstack")
}

/// A part of the recordings that is no story of Services: `nodes`, `routes`.
///
/// # Panics
///
/// Panics if there is no such file.
#[must_use]
pub fn part(name: &str) -> Vec<VendorStep> {
    let file = folder().join(format!("parts/{name}.json"));
    vendor_steps(VendorFormat::OpenStack, &file).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The config that most recordings were made with.
#[must_use]
pub fn main_config() -> String {
    part("nodes")[0].given["config"].as_str().expect("its config is in the file").to_owned()
}

/// All stories, by their names.
///
/// # Panics
///
/// Panics if one cannot be read.
#[must_use]
pub fn stories() -> Vec<Story> {
    let entries = fs::read_dir(folder().join("services")).expect("the recordings are there");
    let mut files: Vec<_> = entries.map(|it| it.expect("they are listed").path()).collect();
    files.sort();
    files.iter().map(|file| story(file)).collect()
}

fn story(file: &std::path::Path) -> Story {
    let recorded = vendor_steps(VendorFormat::OpenStack, file).unwrap_or_else(|error| panic!("{error:#}"));
    let text = fs::read_to_string(file).expect("it was read before");
    let raw: Value = serde_json::from_str(&text).expect("it was read before");
    let name = recorded[0].story.clone();
    let given = recorded[0].given.clone();
    let mut services = Map::new();
    for (key, service) in match &given["services"] {
        Value::Array(all) => all.iter().map(|it| (None, it)).collect::<Vec<_>>(),
        Value::Object(all) => all.iter().map(|(key, it)| (Some(key.clone()), it)).collect(),
        other => panic!("{name}: {other} are no Services"),
    } {
        let own = service["metadata"]["name"].as_str().expect("a Service has a name");
        services.insert(key.unwrap_or_else(|| own.to_owned()), service.clone());
    }
    let config = match given["config"].as_str() {
        Some("main") | None => main_config(),
        Some(text) => text.to_owned(),
    };
    let mut settings = config::settings(&config);
    // It says so in words.
    if name == "groups-off" {
        settings.push(("loadBalancers.manageSecurityGroups".to_owned(), "true".to_owned()));
    }
    let first = services.keys().next().cloned().expect("a story has a Service");
    let mut steps = Vec::new();
    for (recorded, raw) in recorded.into_iter().zip(raw["steps"].as_array().into_iter().flatten()) {
        if recorded.result.is_none() && raw.get("service").is_none() {
            continue;
        }
        let mut step = step(recorded, raw, &services, &first);
        let own: Vec<_> = services.values().filter_map(|it| it["metadata"]["name"].as_str()).collect();
        keep_own(&mut step.recorded.state.seen["cloud"], &own);
        steps.push(step);
    }
    Story { nodes: nodes(given["nodes"].as_str().unwrap_or_default()), name, config, settings, services, steps }
}

/// `node-1, node-3 and n-001 to n-110`.
fn nodes(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in text.replace(" and ", ", ").split(", ").filter(|it| !it.is_empty()) {
        match part.split_once(" to ") {
            Some((first, last)) => {
                let number = |it: &str| it.rsplit('-').next().and_then(|it| it.parse::<u16>().ok()).unwrap_or_default();
                // The first three were none of its members.
                all.clear();
                all.extend((number(first)..=number(last)).map(|it| format!("n-{it:03}")));
            }
            None => all.push(part.to_owned()),
        }
    }
    all
}

fn step(mut recorded: VendorStep, raw: &Value, services: &Map<String, Value>, first: &str) -> Step {
    let words: Vec<&str> = recorded.name.split([' ', ',', ':']).filter(|it| !it.is_empty()).collect();
    let named: Vec<String> = words.iter().filter(|it| services.contains_key(**it)).map(|it| (*it).to_owned()).collect();
    let subject = named.first().cloned().unwrap_or_else(|| first.to_owned());
    let change = match words[0] {
        "create" if named.is_empty() => Change::Create(vec![subject.clone()]),
        "create" => Change::Create(named),
        "delete" => Change::Delete,
        "started" | "without" => Change::Restart,
        _ => match recorded.change.clone() {
            Some(patch) => Change::Patch(patch),
            None if recorded.name.ends_with("is served") => Change::Wait,
            None => Change::Hands,
        },
    };
    recorded.state.seen["services"] = json!({ (&subject): raw["service"] });
    if recorded.state.seen.get("cloud").is_none() {
        recorded.state.seen["cloud"] = json!({});
    }
    Step { recorded, subject, change }
}

/// Leaves floating IPs out that persons and other stories have: two stories were recorded side by side.
fn keep_own(cloud: &mut Value, services: &[&str]) {
    let Some(all) = cloud.get_mut("floatingips").and_then(Value::as_object_mut) else { return };
    all.retain(|description, _| match description.as_str() {
        "of node-3" => false,
        "reserved by a person" => services.contains(&"address-reserved"),
        made => !made.contains(" default/") || services.iter().any(|it| made.contains(&format!(" default/{it} "))),
    });
    if all.is_empty() {
        cloud.as_object_mut().map(|it| it.remove("floatingips"));
    }
}
