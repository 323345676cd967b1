//! The recorded steps in their order, and how each begins.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::beside::{Asked, VendorFormat, VendorStep, left_of_kind, vendor_steps, whole_recording};

/// The beginning of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AliChange {
    /// The recorded nodes join.
    Join,
    /// The Service is as it was recorded: it is made, or changed.
    Become,
    /// The Service gets this merge patch.
    Patch(&'static str),
    /// The Service is deleted.
    Delete,
    /// The kubelet of `node-2` says so.
    Ready(bool),
    /// Pods come and go: nothing that aerostat follows.
    Pods,
    /// Another process begins.
    Restart,
    /// The instance of `node-3` is deleted, whose kubelet is silent a while later.
    LoseMachine,
    /// `node-2` is deleted by a person.
    DeleteNode,
    /// The kubelet of `node-3` is silent, and `node-4` joins, whose destination has a route to the machine of `node-1`.
    Silence,
}

use self::AliChange::{Become, Delete, DeleteNode, Join, LoseMachine, Patch, Pods, Ready, Restart, Silence};

/// The requests of a chapter that are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AliScope {
    /// Those about machines and routes.
    Machines,
    /// Those about load balancers, and about the security groups of some.
    Balancers,
}

/// Steps that are compared in their requests together: the file's name, its beginning, and the Service that it is about.
#[derive(Clone, Copy, Debug)]
pub struct AliChapter {
    /// Its name.
    pub name: &'static str,
    /// Which requests are compared.
    pub scope: AliScope,
    steps: &'static [(&'static str, AliChange, &'static str)],
}

/// The patch that takes the traffic of `web` back to all nodes.
const CLUSTER: &str = r#"{"spec":{"externalTrafficPolicy":"Cluster","healthCheckNodePort":null}}"#;
const ONE_PORT: &str =
    r#"{"spec":{"ports":[{"name":"http","nodePort":30080,"port":80,"protocol":"TCP","targetPort":80}]}}"#;
const HTTP: &str =
    r#"{"metadata":{"annotations":{"service.beta.kubernetes.io/alibaba-cloud-loadbalancer-protocol-port":"http:80"}}}"#;

/// Nodes, and Classic Load Balancers.
pub const CLASSIC: [AliChapter; 3] = [
    AliChapter {
        name: "nodes",
        scope: AliScope::Machines,
        steps: &[
            ("01-node-init", Join, ""),
            ("02-node-without-provider-id", Join, ""),
            ("03-two-nodes-one-legacy-id", Join, ""),
        ],
    },
    AliChapter {
        name: "web",
        scope: AliScope::Balancers,
        steps: &[
            ("04-clb-create", Become, "web"),
            ("05-clb-unrelated-annotation", Become, "web"),
            ("06-clb-port-added", Become, "web"),
            ("08-clb-annotations-removed", Become, "web"),
            ("09-clb-local", Become, "web"),
            ("11-clb-cluster-again", Patch(CLUSTER), "web"),
            ("12-clb-node-not-ready", Ready(false), "web"),
            ("13-clb-node-ready-again", Ready(true), "web"),
            ("14-clb-no-endpoints", Pods, "web"),
            ("15-clb-endpoints-again", Pods, "web"),
            ("16-clb-port-removed", Patch(ONE_PORT), "web"),
            ("17-clb-protocol-http", Patch(HTTP), "web"),
            ("18-clb-delete", Delete, "web"),
        ],
    },
    AliChapter {
        name: "kinds",
        scope: AliScope::Balancers,
        steps: &[
            ("19-clb-intranet", Become, "intra"),
            ("20-clb-udp", Become, "dns"),
            ("22-clb-reused-no-override", Become, "reuse"),
            ("24-clb-reused-delete", Delete, "reuse"),
            ("25-clb-address-type-changed", Become, "intra"),
            ("26-clb-bad-annotation", Become, "bad"),
        ],
    },
];

/// Network Load Balancers, faults, and nodes that go.
pub const NETWORK: [AliChapter; 4] = [
    AliChapter {
        name: "network",
        scope: AliScope::Balancers,
        steps: &[
            ("27-nlb-create", Become, "n1"),
            ("28-nlb-port-added", Become, "n1"),
            ("29-nlb-source-ranges", Become, "n1"),
            ("31-nlb-source-ranges-removed", Become, "n1"),
            ("33-nlb-node-not-ready", Ready(false), "n1"),
            ("34-nlb-node-ready", Ready(true), "n1"),
            ("36-nlb-no-zone-maps", Become, "n2"),
            ("37-nlb-delete", Delete, "n1"),
        ],
    },
    AliChapter { name: "pass", scope: AliScope::Machines, steps: &[("38-route-pass-with-legacy-id", Restart, "")] },
    AliChapter {
        name: "faults",
        scope: AliScope::Balancers,
        steps: &[
            ("39-fault-create-done-answer-lost", Become, "lost"),
            ("40-fault-throttled-clb", Become, "thr"),
            ("41-fault-throttled-nlb", Become, "thrn"),
            ("42-fault-job-failed", Become, "jobf"),
        ],
    },
    AliChapter {
        name: "departures",
        scope: AliScope::Machines,
        steps: &[
            ("45-node-instance-gone", LoseMachine, ""),
            ("46-node-deleted-by-hand", DeleteNode, ""),
            ("47-pass-after-instance-gone", Silence, ""),
        ],
    },
];

/// A recorded step.
#[derive(Clone, Debug)]
pub struct AliStep {
    /// Its name: `clb-create`.
    pub name: String,
    /// How it begins.
    pub change: AliChange,
    /// The Service that it is about; none in a step about nodes.
    pub subject: &'static str,
    /// Services by name, as theirs left them. Absent: it was not recorded.
    pub services: Map<String, Value>,
    /// Nodes by name, as theirs left them.
    pub nodes: Map<String, Value>,
    /// Everything in the cloud. Absent behind steps that were not recorded.
    pub cloud: Option<Value>,
    /// The events that theirs told.
    pub events: Value,
    /// The requests that theirs made, of the chapter's scope.
    pub asked: Asked,
}

impl AliScope {
    /// Whether requests of a product with this action are compared.
    #[must_use]
    pub fn holds(self, product: &str, action: &str) -> bool {
        let is_about_balancers = ["slb", "nlb"].contains(&product) || action.contains("SecurityGroup");
        is_about_balancers == (self == AliScope::Balancers)
    }
}

/// Whether an action only reads.
#[must_use]
pub fn reads(action: &str) -> bool {
    ["Describe", "Get", "List"].iter().any(|it| action.starts_with(it))
}

impl AliChapter {
    /// Its steps.
    ///
    /// # Panics
    ///
    /// Panics if one cannot be read.
    #[must_use]
    pub fn read(&self) -> Vec<AliStep> {
        let step = |(file, change, subject): &(&str, AliChange, &'static str)| {
            let path = path(file);
            let VendorStep { name, exchanges, events, .. } =
                vendor_steps(VendorFormat::Alibaba, &path).unwrap_or_else(|error| panic!("{error:#}")).remove(0);
            let asked = exchanges.iter().filter_map(|exchange| {
                let action = exchange.operation.clone().unwrap_or_default();
                let is_read = reads(&action);
                self.scope
                    .holds(&exchange.endpoint, &action)
                    .then(|| (format!("{} {action}", exchange.endpoint), !is_read))
            });
            let recording = whole_recording(&path);
            AliStep {
                name,
                change: *change,
                subject,
                services: left_of_kind(&recording, "svc"),
                nodes: left_of_kind(&recording, "node"),
                cloud: recording.get("cloud").cloned(),
                events,
                asked: Asked::of(asked),
            }
        };
        self.steps.iter().map(step).collect()
    }
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/alibaba/{file}.json"))
}

/// The annotations that the Service of a step got before, in one that was not recorded: what theirs wrote because of them stands in the
/// cloud afterwards.
#[must_use]
pub fn annotations_before(step: &str) -> Option<Value> {
    const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
    const CLASSIC: [(&str, &str); 8] = [
        ("name", "my-lb"),
        ("additional-resource-tags", "a=1,b=2"),
        ("scheduler", "wrr"),
        ("acl-status", "on"),
        ("acl-id", "acl-1"),
        ("acl-type", "white"),
        ("health-check-type", "http"),
        ("health-check-uri", "/ok"),
    ];
    const NETWORK: [(&str, &str); 4] =
        [("scheduler", "wlc"), ("connection-drain", "on"), ("idle-timeout", "60"), ("proxy-protocol", "on")];
    let chosen: &[_] = match step {
        "clb-annotations-removed" => &CLASSIC,
        "nlb-node-not-ready" => &NETWORK,
        _ => return None,
    };
    Some(chosen.iter().map(|(key, it)| (format!("{PREFIX}{key}"), Value::from(*it))).collect())
}
