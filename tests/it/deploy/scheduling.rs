//! Where the Pod may run: on nodes of the control plane as distributions make them, before anything else can.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, PodSpec, Taint, Toleration};
use serde_json::json;

use crate::chart::{only, rendered, with};
use crate::setup::template;

/// The nodes of a control plane as a distribution makes them.
struct Distribution {
    name: &'static str,
    /// The label that says what they are.
    label: (&'static str, &'static str),
    /// The taints of a node that has just joined: key, value and effect.
    taints: &'static [(&'static str, &'static str, &'static str)],
}

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// The taints that kubelets and kube-controller-manager set everywhere.
const EVERYWHERE: &[(&str, &str, &str)] = &[
    ("node.cloudprovider.kubernetes.io/uninitialized", "true", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "", "NoExecute"),
    // By the condition that our own route controller writes.
    ("node.kubernetes.io/network-unavailable", "", "NoSchedule"),
    ("node.kubernetes.io/unreachable", "", "NoSchedule"),
    ("node.kubernetes.io/disk-pressure", "", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "", "NoSchedule"),
];

const DISTRIBUTIONS: &[Distribution] = &[
    Distribution { name: "kubeadm", label: (CONTROL_PLANE, ""), taints: &[(CONTROL_PLANE, "", "NoSchedule")] },
    Distribution {
        name: "Cluster API",
        label: (CONTROL_PLANE, ""),
        taints: &[(CONTROL_PLANE, "", "NoSchedule"), ("node.cluster.x-k8s.io/uninitialized", "", "NoSchedule")],
    },
    Distribution {
        name: "k3s with dedicated servers",
        label: (CONTROL_PLANE, "true"),
        taints: &[("CriticalAddonsOnly", "true", "NoExecute")],
    },
    Distribution {
        name: "RKE2, made by Rancher",
        label: (CONTROL_PLANE, "true"),
        taints: &[(CONTROL_PLANE, "", "NoSchedule"), ("node-role.kubernetes.io/etcd", "", "NoExecute")],
    },
    Distribution {
        name: "RKE2 with dedicated servers",
        label: (CONTROL_PLANE, "true"),
        taints: &[("CriticalAddonsOnly", "true", "NoExecute")],
    },
    Distribution { name: "kOps", label: (CONTROL_PLANE, ""), taints: &[(CONTROL_PLANE, "", "NoSchedule")] },
    Distribution { name: "Talos", label: (CONTROL_PLANE, ""), taints: &[(CONTROL_PLANE, "", "NoSchedule")] },
    Distribution {
        name: "kubeadm with Cilium",
        label: (CONTROL_PLANE, ""),
        taints: &[
            (CONTROL_PLANE, "", "NoSchedule"),
            ("node.cilium.io/agent-not-ready", "true", "NoSchedule"),
            ("node.cilium.io/agent-not-ready", "true", "NoExecute"),
        ],
    },
];

#[test]
fn every_distributions_joining_control_plane_takes_the_pod() {
    let pod = pod();
    for Distribution { name, label, taints } in DISTRIBUTIONS {
        assert!(may_run(&pod, &[*label]), "{name}");
        for taint in taints.iter().chain(EVERYWHERE).map(taint) {
            assert_eq!(stay(&pod, &taint), Some(Stay::ForGood), "{name}: {taint:?}");
        }
    }
    // Before there is a network of Pods and a DNS of the cluster.
    assert_eq!(pod.host_network, Some(true));
    assert_eq!(pod.dns_policy.as_deref(), Some("Default"));
}

#[test]
fn workers_get_no_token_of_the_cloud() {
    let pod = pod();
    for labels in [
        [].as_slice(),
        &[("kubernetes.io/os", "linux"), ("node-role.kubernetes.io/worker", "true")],
        &[("node-role.kubernetes.io/etcd", "true")],
    ] {
        assert!(!may_run(&pod, labels), "{labels:?}");
    }
}

#[test]
fn hosted_control_planes_have_no_node_to_run_on() {
    let of = |hosted: bool| {
        let objects = rendered(&with("digitalocean", json!({ "hostedControlPlane": hosted })));
        only::<Deployment>(&objects, "Deployment").spec.unwrap().template.spec.unwrap()
    };
    let worker = &[("node-role.kubernetes.io/worker", "true")];
    assert!(may_run(&of(true), worker) && !may_run(&of(false), worker));
}

#[test]
fn pods_of_dead_machines_are_made_again_elsewhere() {
    let unreachable = taint(&("node.kubernetes.io/unreachable", "", "NoExecute"));
    assert_eq!(stay(&pod(), &unreachable), Some(Stay::Seconds(300)), "as the API server gives all Pods");
}

/// How long a Pod stays on a node with a taint.
#[derive(Debug, PartialEq)]
enum Stay {
    ForGood,
    Seconds(i64),
}

fn pod() -> PodSpec {
    template().spec.unwrap()
}

fn taint(&(key, value, effect): &(&str, &str, &str)) -> Taint {
    Taint { key: key.to_owned(), value: Some(value.to_owned()), effect: effect.to_owned(), time_added: None }
}

/// As scheduler and taint-eviction-controller see it: the first toleration that fits counts. `None` if none does.
fn stay(pod: &PodSpec, taint: &Taint) -> Option<Stay> {
    let toleration = pod.tolerations.iter().flatten().find(|it| tolerates(it, taint))?;
    Some(toleration.toleration_seconds.map_or(Stay::ForGood, Stay::Seconds))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.as_deref().is_none_or(|it| it == taint.effect);
    let key = toleration.key.as_deref().is_none_or(|it| it == taint.key);
    let value = match toleration.operator.as_deref() {
        Some("Exists") => true,
        _ => toleration.value == taint.value,
    };
    effect && key && value
}

/// Whether the affinity lets a Pod run on a node with these labels.
fn may_run(pod: &PodSpec, labels: &[(&str, &str)]) -> bool {
    let required = pod.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
    let required = required.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    let Some(required) = required else { return true };
    let fits = |demand: &NodeSelectorRequirement| {
        assert_eq!(demand.operator, "Exists", "values differ between distributions");
        labels.iter().any(|(key, _)| *key == demand.key)
    };
    required.node_selector_terms.iter().any(|it| it.match_expressions.iter().flatten().all(&fits))
}
