//! The condition `NetworkUnavailable` of nodes. No client, no clock, no log: times are arguments.

use std::collections::{BTreeMap, BTreeSet};

use crate::node_object::KubeNode;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeCondition;
use serde_json::{Value, json};

use crate::cidr::Cidr;
use crate::node_fields::NETWORK_UNAVAILABLE;

/// Whether a node's pods are reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NetworkStatus {
    /// All of its networks have their route.
    Routed,
    /// One of them has none, and cannot get one for now.
    Unrouted,
}

/// How the networks of a pass stand.
#[derive(Debug, Default)]
pub(super) struct NetworkStatuses {
    /// Networks with their route, by node's name.
    pub(super) routed: BTreeSet<(String, Cidr)>,
    /// Networks that cannot get one, by node's name.
    pub(super) failed: BTreeSet<(String, Cidr)>,
}

impl NetworkStatuses {
    /// How a node with these networks stands; `None` if that is not known yet, and if it has none.
    pub(super) fn of(&self, node: &str, cidrs: &[Cidr]) -> Option<NetworkStatus> {
        let key = |cidr: &Cidr| (node.to_owned(), *cidr);
        if cidrs.is_empty() {
            None
        } else if cidrs.iter().any(|it| self.failed.contains(&key(it))) {
            Some(NetworkStatus::Unrouted)
        } else {
            cidrs.iter().all(|it| self.routed.contains(&key(it))).then_some(NetworkStatus::Routed)
        }
    }
}

impl NetworkStatus {
    fn status(self) -> &'static str {
        match self {
            Self::Routed => "False",
            Self::Unrouted => "True",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Routed => "RouteCreated",
            Self::Unrouted => "NoRouteCreated",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Routed => "RouteController created a route",
            Self::Unrouted => "RouteController failed to create a route",
        }
    }

    /// The strategic merge patch of the node's status; `None` if its condition has this status and this reason.
    pub(super) fn patch(self, node: &KubeNode, now: Timestamp) -> Option<Value> {
        let current = current(node);
        let (status, reason) = (self.status(), self.reason());
        if current.is_some_and(|it| it.status == status && it.reason.as_deref() == Some(reason)) {
            return None;
        }
        let since = current.filter(|it| it.status == status).and_then(|it| it.last_transition_time.as_ref());
        let since = since.map_or(now, |it| it.0);
        Some(json!({
            "metadata": { "uid": node.metadata.uid },
            "status": {
                "conditions": [{
                    "type": NETWORK_UNAVAILABLE,
                    "status": status,
                    "lastHeartbeatTime": k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now),
                    "lastTransitionTime": k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(since),
                    "reason": reason,
                    "message": self.message(),
                }],
            },
        }))
    }
}

/// The nodes whose status is known, by name.
pub(super) fn statuses<'a>(
    nodes: &'a BTreeMap<String, Vec<Cidr>>,
    statuses: &'a NetworkStatuses,
) -> impl Iterator<Item = (&'a str, NetworkStatus)> {
    nodes.iter().filter_map(|(node, cidrs)| Some((node.as_str(), statuses.of(node, cidrs)?)))
}

fn current(node: &KubeNode) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|it| it.type_ == NETWORK_UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(condition: Option<(&str, &str)>) -> KubeNode {
        let conditions = condition.map(|(status, reason)| {
            json!([{ "type": "NetworkUnavailable", "status": status, "reason": reason,
                     "lastTransitionTime": "2026-01-01T00:00:00Z" }])
        });
        serde_json::from_value(json!({
            "metadata": { "name": "n1", "uid": "u1" },
            "status": { "conditions": conditions.unwrap_or_else(|| json!([])) },
        }))
        .unwrap()
    }

    fn now() -> Timestamp {
        "2026-02-02T00:00:00Z".parse().unwrap()
    }

    /// Writes this, as `status reason`, on a node with this condition.
    #[track_caller]
    fn check(before: Option<(&str, &str)>, status: NetworkStatus, written: Option<&str>) {
        let patch = status.patch(&node(before), now());
        let condition = patch.map(|it| it["status"]["conditions"][0].clone());
        let text = |it: &Value| format!("{} {}", it["status"].as_str().unwrap(), it["reason"].as_str().unwrap());
        assert_eq!(condition.as_ref().map(text).as_deref(), written, "{before:?}");
    }

    #[test]
    fn case_190_the_condition_follows_the_route() {
        use NetworkStatus::{Routed, Unrouted};
        check(None, Routed, Some("False RouteCreated"));
        check(None, Unrouted, Some("True NoRouteCreated"));
        check(Some(("False", "RouteCreated")), Routed, None);
        check(Some(("False", "CalicoIsUp")), Routed, Some("False RouteCreated"));
        check(Some(("False", "ExternalCNI")), Routed, Some("False RouteCreated"));
        check(Some(("True", "Other")), Unrouted, Some("True NoRouteCreated"));
        check(Some(("False", "RouteCreated")), Unrouted, Some("True NoRouteCreated"));
        check(Some(("True", "NoRouteCreated")), Unrouted, None);
    }

    #[test]
    fn the_patch_is_upstreams() {
        let patch = NetworkStatus::Routed.patch(&node(Some(("True", "Other"))), now()).unwrap();
        let condition = json!({
            "type": "NetworkUnavailable",
            "status": "False",
            "lastHeartbeatTime": "2026-02-02T00:00:00Z",
            "lastTransitionTime": "2026-02-02T00:00:00Z",
            "reason": "RouteCreated",
            "message": "RouteController created a route",
        });
        assert_eq!(
            patch,
            json!({ "metadata": { "uid": "u1" }, "status": { "conditions": [condition] } }),
            "on this very node"
        );
        let failed = NetworkStatus::Unrouted.patch(&node(Some(("True", "Other"))), now()).unwrap();
        let failed = &failed["status"]["conditions"][0];
        assert_eq!(failed["message"], "RouteController failed to create a route");
        assert_eq!(failed["lastTransitionTime"], "2026-01-01T00:00:00Z", "the status has not changed since");
    }

    #[test]
    fn a_node_is_routed_if_all_of_its_networks_are() {
        let cidr = |text: &str| Cidr::parse(text).unwrap();
        let (v4, v6) = (cidr("10.244.1.0/24"), cidr("fd00:244:0:1::/64"));
        let of = |routed: &[Cidr], failed: &[Cidr], cidrs: &[Cidr]| {
            let keys = |cidrs: &[Cidr]| cidrs.iter().map(|it| ("n1".to_owned(), *it)).collect();
            NetworkStatuses { routed: keys(routed), failed: keys(failed) }.of("n1", cidrs)
        };
        assert_eq!(of(&[v4, v6], &[], &[v4, v6]), Some(NetworkStatus::Routed));
        assert_eq!(of(&[v4], &[v6], &[v4, v6]), Some(NetworkStatus::Unrouted));
        assert_eq!(of(&[v4], &[], &[v4, v6]), None, "the cloud is still at work");
        assert_eq!(of(&[], &[], &[]), None, "a node without a network has no route to wait for");
    }
}
