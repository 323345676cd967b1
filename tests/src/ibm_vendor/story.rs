//! The recorded steps in their order, and how each begins.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::beside::{Asked, left_of_kind, whole_recording};

use super::recorded::RecordedVpc;
use super::seen::SeenVpcBalancer;

/// The beginning of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VpcChange {
    /// The process has begun.
    Start,
    /// The recorded node joins, without a provider id.
    Join,
    /// The same with its provider id.
    JoinWithId,
    /// The Services are as they were recorded: each is made, or changed.
    Become,
    /// A Service is made that the recording does not show: with this annotation, and this node port.
    Make((&'static str, &'static str), u16),
    /// The Service gets this merge patch.
    Patch(&'static str),
    /// Workers with these numbers join.
    AddWorkers(&'static [u32]),
    /// The Services are deleted.
    Delete,
    /// The machine of `node-3` is deleted, whose kubelet is silent.
    LoseMachine,
}

use self::VpcChange::{AddWorkers, Become, Delete, Join, JoinWithId, LoseMachine, Make, Patch, Start};

/// The requests of a chapter that are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VpcScope {
    /// Those about machines.
    Machines,
    /// Those about load balancers, and the subnets that they are in.
    Balancers,
}

/// Steps that are compared in their requests together: the file's name, its beginning, and the Services that it is about.
#[derive(Clone, Copy, Debug)]
pub struct VpcChapter {
    /// Its name.
    pub name: &'static str,
    /// Which requests are compared.
    pub scope: VpcScope,
    steps: &'static [(&'static str, VpcChange, &'static [&'static str])],
}

macro_rules! annotate {
    ($name:literal, $value:literal) => {
        concat!(r#"{"metadata":{"annotations":{""#, $name, r#"":""#, $value, r#""}}}"#)
    };
}

const UNRELATED: &str = annotate!("example.com/x", "1");
const PROXY: &str =
    annotate!("service.kubernetes.io/ibm-load-balancer-cloud-provider-enable-features", "proxy-protocol");
const PRIVATE: &str = annotate!("service.kubernetes.io/ibm-load-balancer-cloud-provider-ip-type", "private");
/// The patch that takes the traffic of `web` back to all nodes.
const CLUSTER: &str = r#"{"spec":{"externalTrafficPolicy":"Cluster","healthCheckNodePort":null}}"#;
/// The ports of `web` at its end.
const TWO_PORTS: &str = r#"{"spec":{"ports":[
    {"name":"http","nodePort":30090,"port":80,"protocol":"TCP","targetPort":80},
    {"name":"https","nodePort":30443,"port":443,"protocol":"TCP","targetPort":443}]}}"#;
/// The ports of `web` before that.
pub(super) const THREE_PORTS: &str = r#"{"spec":{"ports":[
    {"name":"http","nodePort":30090,"port":80,"protocol":"TCP","targetPort":80},
    {"name":"https","nodePort":30443,"port":443,"protocol":"TCP","targetPort":443},
    {"name":"alt","nodePort":30808,"port":8080,"protocol":"TCP","targetPort":8080}]}}"#;

/// The whole story.
pub const STORY: [VpcChapter; 6] = [
    VpcChapter {
        name: "nodes",
        scope: VpcScope::Machines,
        steps: &[
            ("01-start", Start, &[]),
            ("02-node-init-by-name", Join, &[]),
            ("03-node-init-by-labels", Join, &[]),
            ("04-node-with-provider-id", JoinWithId, &[]),
            ("05-node-unknown-instance", Join, &[]),
        ],
    },
    VpcChapter {
        name: "web",
        scope: VpcScope::Balancers,
        steps: &[
            ("06-lb-create", Become, &["web"]),
            ("07-lb-unrelated-annotation", Patch(UNRELATED), &["web"]),
            ("08-lb-port-added", Become, &["web"]),
            ("10-lb-local", Become, &["web"]),
            ("11-lb-cluster-again", Patch(CLUSTER), &["web"]),
            ("12-lb-proxy-protocol", Patch(PROXY), &["web"]),
            ("13-lb-one-node-added", AddWorkers(&[4]), &["web"]),
            ("14-lb-two-nodes-added", AddWorkers(&[5, 6]), &["web"]),
            ("17-lb-port-removed", Patch(TWO_PORTS), &["web"]),
            ("18-lb-ip-type-changed", Patch(PRIVATE), &["web"]),
            ("19-lb-delete", Delete, &["web"]),
        ],
    },
    VpcChapter {
        name: "kinds",
        scope: VpcScope::Balancers,
        steps: &[
            ("20-five-minute-look", Make(("", ""), 30_999), &["keeper"]),
            ("21-lb-private-subnets-zone-selector", Become, &["priv", "zone", "sel"]),
            ("22-lb-udp-refused", Become, &["dns"]),
            ("23-lb-unknown-subnet", Make(("vpc-subnets", "nope"), 30_105), &["badsub"]),
            ("25-lb-type-misspelt", Make(("ip-type", "pubic"), 30_107), &["typo"]),
            ("26-fault-create-done-answer-lost", Become, &["lost"]),
            ("29-lb-name-of-another-service", Become, &["thief"]),
        ],
    },
    VpcChapter {
        name: "departure",
        scope: VpcScope::Machines,
        steps: &[("30-instance-gone-node-not-ready", LoseMachine, &[])],
    },
    VpcChapter {
        name: "ends",
        scope: VpcScope::Balancers,
        steps: &[("31-delete-all", Delete, &["priv", "sel", "thief", "typo", "zone"])],
    },
    VpcChapter {
        name: "theft",
        scope: VpcScope::Balancers,
        steps: &[("32-lb-with-a-name-of-its-own", Become, &["owner"]), ("34-thief-deleted", Delete, &["thief2"])],
    },
];

/// A recorded step.
#[derive(Clone, Debug)]
pub struct VpcStoryStep {
    /// Its name: `lb-create`.
    pub name: String,
    /// How it begins.
    pub change: VpcChange,
    /// The Services that it is about; none in a step about nodes.
    pub subjects: &'static [&'static str],
    /// Services by name, as theirs left them.
    pub services: Map<String, Value>,
    /// Nodes by name, as theirs left them.
    pub nodes: Map<String, Value>,
    /// The events that theirs told.
    pub events: Value,
    /// The requests that theirs made, of the chapter's scope.
    pub asked: Asked,
    /// All load balancers of the account afterwards.
    pub(super) balancers: Vec<SeenVpcBalancer>,
}

impl VpcScope {
    /// Whether a request for this path is compared. Tokens are the host's, and none of either.
    #[must_use]
    pub fn holds(self, path: &str) -> bool {
        let is_about_balancers =
            ["load_balancers", "subnets", "security_groups"].iter().any(|it| path.starts_with(&format!("/v1/{it}")));
        path != "/identity/token" && is_about_balancers == (self == VpcScope::Balancers)
    }
}

/// All steps, with the chapters that they are in.
///
/// # Panics
///
/// Panics if one cannot be read.
#[must_use]
pub fn read_story() -> Vec<(VpcChapter, Vec<VpcStoryStep>)> {
    let mut cloud = RecordedVpc::default();
    STORY
        .into_iter()
        .map(|chapter| (chapter, chapter.steps.iter().map(|it| read(it, chapter.scope, &mut cloud)).collect()))
        .collect()
}

fn read(
    &(file, change, subjects): &(&str, VpcChange, &'static [&'static str]),
    scope: VpcScope,
    cloud: &mut RecordedVpc,
) -> VpcStoryStep {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/ibm/{file}.json"));
    let recording = whole_recording(&path);
    let requests = recording["requests"].as_array().into_iter().flatten();
    let asked = requests.clone().filter_map(|request| {
        let (method, path) = (request["method"].as_str()?, request["path"].as_str()?);
        scope.holds(path).then(|| (action(method, path), method != "GET"))
    });
    let asked = Asked::of(asked);
    requests.for_each(|it| cloud.play(it));
    VpcStoryStep {
        name: recording["step"].as_str().unwrap_or_default().to_owned(),
        change,
        subjects,
        services: left_of_kind(&recording, "svc"),
        nodes: left_of_kind(&recording, "node"),
        events: recording["events"].clone(),
        asked,
        balancers: cloud.all(),
    }
}

/// A request without ids: `GET /v1/load_balancers/*/pools`.
pub(super) fn action(method: &str, path: &str) -> String {
    let part =
        |it: &str| if it.starts_with("r006-") || it.starts_with("0717_") { "*".to_owned() } else { it.to_owned() };
    format!("{method} {}", path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

impl VpcStoryStep {
    /// The Service of this name as it is to be after the step's beginning, where it is made or has become another.
    pub(super) fn wanted(&self, name: &str) -> Value {
        match self.change {
            Make((annotation, value), node_port) => made(annotation, value, node_port),
            _ => self.services[name].clone(),
        }
    }
}

/// A Service with one port, as recordings have it.
pub(super) fn made(annotation: &str, value: &str, node_port: u16) -> Value {
    let key = format!("service.kubernetes.io/ibm-load-balancer-cloud-provider-{annotation}");
    let annotations = if annotation.is_empty() { json!({}) } else { json!({ key: value }) };
    let port = json!({ "name": "http", "nodePort": node_port, "port": 80, "protocol": "TCP", "targetPort": 80 });
    json!({
        "metadata": { "annotations": annotations },
        "spec": { "type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "ports": [port] },
    })
}
