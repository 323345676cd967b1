//! Which networks a node gets where the cloud has given one to its machine. No client, no clock, no log.

use crate::node_object::KubeNode;
use cloud_provider::Instance;
use k8s_openapi::api::core::v1::NodeCondition;
use kube::ResourceExt;

use crate::node_fields::{NETWORK_UNAVAILABLE, taints};
use crate::node_ipam::plan::{has_networks, networks, parse};

/// The taint that goes with the condition [`NETWORK_UNAVAILABLE`].
const TAINT: &str = "node.kubernetes.io/network-unavailable";

/// A family of addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The networks that a node lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Lack {
    /// These networks, as the cloud spells them, and the condition.
    Networks(Vec<String>),
    /// The condition alone.
    Condition,
    /// Nothing.
    Nothing,
}

/// Why a node cannot get the networks of its machine.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// The machine behind it is not known yet.
    #[error("node {0} doesn't have providerID")]
    NoProviderId(String),
    /// The cloud has none for it.
    #[error("failed to allocate cidr: the cloud has no pod network for the machine of node {0}")]
    None(String),
    /// The cloud names one that the node must not get.
    #[error("the cloud names the pod network {network} for the machine of node {node}, which {because}")]
    Refused {
        /// The node's name.
        node: String,
        /// The network, as the cloud spells it.
        network: String,
        /// The reason why it cannot be used.
        because: String,
    },
    /// The node has others, and they cannot be changed.
    #[error("node {node} has the pod networks {own}, and the cloud has given its machine {clouds}")]
    Other {
        /// The node's name.
        node: String,
        /// The node's own networks.
        own: String,
        /// The networks that the cloud gives it.
        clouds: String,
    },
}

/// Whether a node lacks nothing: then the cloud is not asked.
pub(crate) fn is_right(node: &KubeNode) -> bool {
    has_networks(node) && is_available(node) && !taints(node).iter().any(|it| it.key == TAINT)
}

/// The networks of its machine that a node lacks: one of each family, in this order; without any family, of IPv4. A node
/// without networks gets none of a family of which the cloud names two: nobody knows which of them it meant.
pub(crate) fn lack(node: &KubeNode, instance: &Instance, families: &[Family]) -> Result<Lack, Error> {
    let families = if families.is_empty() { &[Family::V4] } else { families };
    let is_v6 = |it: &str| it.contains(':');
    let of = |family: Family| instance.pod_cidrs.iter().filter(move |it| is_v6(it) == (family == Family::V6));
    let wanted: Vec<String> = families.iter().filter_map(|family| of(*family).next().cloned()).collect();
    if wanted.is_empty() {
        return Err(Error::None(node.name_any()));
    }
    if !has_networks(node) {
        let second = families.iter().find_map(|family| Some((of(*family).next()?, of(*family).nth(1)?)));
        return match second {
            None => Ok(Lack::Networks(wanted)),
            Some((first, second)) => Err(Error::Refused {
                node: node.name_any(),
                network: second.clone(),
                because: format!("is the second of its family beside {first}"),
            }),
        };
    }
    let is_same = |(own, clouds): (&str, &String)| parse(own).is_some_and(|own| parse(clouds) == Some(own));
    if networks(node).count() != wanted.len() || !networks(node).zip(&wanted).all(is_same) {
        let own = networks(node).collect::<Vec<_>>().join(", ");
        return Err(Error::Other { node: node.name_any(), own, clouds: wanted.join(", ") });
    }
    Ok(if is_available(node) { Lack::Nothing } else { Lack::Condition })
}

/// The condition of a node as it is.
pub(crate) fn condition(node: &KubeNode) -> Option<&NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|it| it.type_ == NETWORK_UNAVAILABLE)
}

fn is_available(node: &KubeNode) -> bool {
    condition(node).is_some_and(|it| it.status == "False")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(cidrs: &[&str], conditions: Value) -> KubeNode {
        let spec = if cidrs.is_empty() { json!({}) } else { json!({ "podCIDRs": cidrs }) };
        let status = json!({ "conditions": conditions });
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "spec": spec, "status": status })).unwrap()
    }

    fn available() -> Value {
        json!([{ "type": NETWORK_UNAVAILABLE, "status": "False" }])
    }

    fn machine(cidrs: &[&str]) -> Instance {
        Instance { pod_cidrs: cidrs.iter().map(|it| (*it).to_owned()).collect(), ..Instance::default() }
    }

    fn nets(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn case_218_networks_come_in_the_order_of_the_service_families() {
        let (bare, both) = (node(&[], json!([])), machine(&["10.0.1.0/24", "fd00:1::/64"]));
        for (families, expected) in [
            (vec![], vec!["10.0.1.0/24"]),
            (vec![Family::V4], vec!["10.0.1.0/24"]),
            (vec![Family::V6], vec!["fd00:1::/64"]),
            (vec![Family::V4, Family::V6], vec!["10.0.1.0/24", "fd00:1::/64"]),
            (vec![Family::V6, Family::V4], vec!["fd00:1::/64", "10.0.1.0/24"]),
        ] {
            assert_eq!(lack(&bare, &both, &families), Ok(Lack::Networks(nets(&expected))), "{families:?}");
        }
    }

    #[test]
    fn case_218_without_ranges_there_is_an_error() {
        let bare = node(&[], json!([]));
        assert_eq!(lack(&bare, &machine(&[]), &[]), Err(Error::None("a".to_owned())));
        assert_eq!(lack(&bare, &machine(&["fd00::/64"]), &[Family::V4]), Err(Error::None("a".to_owned())));
    }

    #[test]
    fn case_218_a_right_node_lacks_nothing() {
        let cloud = machine(&["10.0.1.0/24"]);
        let right = node(&["10.0.1.0/24"], available());
        assert!(is_right(&right));
        assert_eq!(lack(&right, &cloud, &[]), Ok(Lack::Nothing));
        let unsaid = node(&["10.0.1.0/24"], json!([{ "type": NETWORK_UNAVAILABLE, "status": "True" }]));
        assert!(!is_right(&unsaid) && !is_right(&node(&[], available())));
        assert_eq!(lack(&unsaid, &cloud, &[]), Ok(Lack::Condition));
        let mut tainted = right.clone();
        tainted.spec.as_mut().unwrap().taints =
            serde_json::from_value(json!([{ "key": TAINT, "effect": "NoSchedule" }])).unwrap();
        assert!(!is_right(&tainted));
    }

    #[test]
    fn adv_152_a_text_that_is_no_network_is_not_passed_over() {
        let machine = machine(&["nonsense", "fd00::x/64"]);
        let wanted = lack(&node(&[], json!([])), &machine, &[Family::V4, Family::V6]);
        assert_eq!(wanted, Ok(Lack::Networks(nets(&["nonsense", "fd00::x/64"]))), "it is judged, and refused");
    }

    #[test]
    fn adv_152_two_networks_of_one_family_are_not_taken() {
        let (bare, twice) = (node(&[], json!([])), machine(&["10.0.1.0/24", "fd00::/64", "10.0.2.0/24"]));
        for families in [&[][..], &[Family::V4], &[Family::V6, Family::V4]] {
            let refused = lack(&bare, &twice, families).unwrap_err();
            assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
            assert_eq!(
                refused.to_string(),
                "the cloud names the pod network 10.0.2.0/24 for the machine of node a, which is the second of its family \
                 beside 10.0.1.0/24"
            );
        }
        assert_eq!(lack(&bare, &twice, &[Family::V6]), Ok(Lack::Networks(nets(&["fd00::/64"]))), "no IPv4 is written");
        let same = lack(&bare, &machine(&["10.0.1.0/24", "10.0.1.0/24"]), &[]);
        assert!(matches!(same, Err(Error::Refused { .. })), "{same:?}");
    }

    #[test]
    fn a_node_with_networks_stays_whatever_else_the_cloud_names() {
        let twice = machine(&["10.0.1.0/24", "10.0.2.0/24"]);
        assert_eq!(lack(&node(&["10.0.1.0/24"], available()), &twice, &[]), Ok(Lack::Nothing));
        assert_eq!(lack(&node(&["10.0.1.0/24"], json!([])), &twice, &[]), Ok(Lack::Condition));
    }

    #[test]
    fn networks_that_a_node_has_are_never_changed() {
        let error = lack(&node(&["10.0.9.0/24"], available()), &machine(&["10.0.1.0/24"]), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "node a has the pod networks 10.0.9.0/24, and the cloud has given its machine 10.0.1.0/24"
        );
    }
}
