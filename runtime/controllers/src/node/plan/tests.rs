use crate::node_object::{NodeSpec, NodeStatus};
use cloud_provider::{Address, AddressKind, State};
use k8s_openapi::api::core::v1::Taint;

use super::*;
use crate::node_fields::PROVIDED_NODE_IP;

/// A node that waits, named n1.
fn waiting() -> KubeNode {
    let mut node = KubeNode { spec: Some(NodeSpec::default()), ..KubeNode::default() };
    node.metadata.name = Some("n1".into());
    with_taints(node, &[(UNINITIALIZED, "NoSchedule")])
}

fn with_taints(mut node: KubeNode, taints: &[(&str, &str)]) -> KubeNode {
    let taint =
        |(key, effect): &(&str, &str)| Taint { key: (*key).into(), effect: (*effect).into(), ..Taint::default() };
    node.spec.get_or_insert_default().taints = Some(taints.iter().map(taint).collect());
    node
}

fn with_labels(mut node: KubeNode, labels: &[(&str, &str)]) -> KubeNode {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    node.metadata.labels = Some(labels.collect());
    node
}

fn with_node_ip(mut node: KubeNode, provided: &str) -> KubeNode {
    node.metadata.annotations.get_or_insert_default().insert(PROVIDED_NODE_IP.into(), provided.into());
    node
}

fn with_provider_id(mut node: KubeNode, provider_id: &str) -> KubeNode {
    node.spec.get_or_insert_default().provider_id = Some(provider_id.into());
    node
}

fn with_addresses(mut node: KubeNode, addresses: &[(&str, &str)]) -> KubeNode {
    let address = |(kind, value): &(&str, &str)| NodeAddress { type_: (*kind).into(), address: (*value).into() };
    let addresses = Some(addresses.iter().map(address).collect());
    node.status = Some(NodeStatus { addresses, ..NodeStatus::default() });
    node
}

fn instance() -> Instance {
    Instance {
        name: "n1".into(),
        provider_id: Some("fake://12345".into()),
        state: State::Running,
        machine_type: Some("t1.micro".into()),
        zone: Some("z".into()),
        region: Some("r".into()),
        addresses: vec![address(AddressKind::InternalIp, "10.0.0.1"), address(AddressKind::Hostname, "n1")],
        labels: Vec::new(),
        ..Instance::default()
    }
}

fn address(kind: AddressKind, value: &str) -> Address {
    Address { kind, value: value.into() }
}

fn labels(node: &KubeNode) -> Vec<(&str, &str)> {
    let labels = node.metadata.labels.iter().flatten();
    labels.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

fn addresses(node: &KubeNode) -> Vec<(&str, &str)> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref()).unwrap_or_default();
    addresses.iter().map(|it| (it.type_.as_str(), it.address.as_str())).collect()
}

fn taint_keys(node: &KubeNode) -> Vec<&str> {
    taints(node).iter().map(|it| it.key.as_str()).collect()
}

/// The node once it is initialised.
#[track_caller]
fn check(node: &KubeNode, instance: &Instance) -> KubeNode {
    initialized(node, instance).unwrap().node
}

#[test]
fn case_001_one_write_has_provider_id_labels_and_no_taint() {
    let node = check(&waiting(), &instance());
    assert_eq!(provider_id(&node), Some("fake://12345"));
    assert_eq!(node.spec.as_ref().unwrap().taints, None);
    assert_eq!(
        labels(&node),
        [
            ("beta.kubernetes.io/instance-type", "t1.micro"),
            ("failure-domain.beta.kubernetes.io/region", "r"),
            ("failure-domain.beta.kubernetes.io/zone", "z"),
            ("node.kubernetes.io/instance-type", "t1.micro"),
            ("topology.kubernetes.io/region", "r"),
            ("topology.kubernetes.io/zone", "z"),
        ]
    );
    assert_eq!(node.status, None, "addresses are another write");
}

#[test]
fn case_004_every_taint_with_the_key_goes_and_others_stay() {
    let taints =
        [(UNINITIALIZED, "NoSchedule"), ("foo", "NoSchedule"), (UNINITIALIZED, "NoExecute"), ("bar", "NoExecute")];
    let node = check(&with_taints(waiting(), &taints), &instance());
    assert_eq!(taint_keys(&node), ["foo", "bar"]);
}

#[test]
fn a_machine_without_addresses_ignores_the_provided_node_ip() {
    let node = with_node_ip(waiting(), "10.0.0.1");
    let silent = Instance { addresses: Vec::new(), ..instance() };
    let initialised = check(&node, &silent);
    assert_eq!(provider_id(&initialised), Some("fake://12345"));
    assert_eq!(addressed(&node, &silent), Ok(node), "it keeps its own");
}

#[test]
fn case_009_a_node_needs_a_provider_id() {
    let error = initialized(&waiting(), &Instance { provider_id: None, ..instance() }).unwrap_err();
    let expected = "failed to get instance metadata for node n1: \
                    cloud provider does not set node provider ID for node n1";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn case_010_a_provider_id_stays() {
    let node = with_provider_id(waiting(), "fake://1");
    for answered in [None, Some("fake://1".to_owned())] {
        let node = check(&node, &Instance { provider_id: answered, ..instance() });
        assert_eq!(provider_id(&node), Some("fake://1"));
        assert!(!is_waiting(&node));
    }
}

#[test]
fn case_018_a_fact_that_the_cloud_lacks_makes_no_label() {
    let unknown = Instance { machine_type: None, zone: None, region: None, ..instance() };
    let node = check(&waiting(), &unknown);
    assert_eq!(labels(&node), []);
    assert!(!is_waiting(&node));
    let node = check(&waiting(), &Instance { zone: Some("z".into()), ..unknown });
    let zones = [("failure-domain.beta.kubernetes.io/zone", "z"), ("topology.kubernetes.io/zone", "z")];
    assert_eq!(labels(&node), zones);
}

#[test]
fn case_020_labels_of_kubernetes_are_discarded() {
    let further = [
        ("my.label/x", "1"),
        ("topology.kubernetes.io/y", "2"),
        ("k8s.io/z", "3"),
        ("sub.k8s.io/w", "4"),
        ("kubernetes.io/v", "5"),
        ("app.k8snio/bar", "6"),
        ("k8snio/bar", "7"),
        ("plain", "8"),
    ];
    let unknown = Instance { machine_type: None, zone: None, region: None, ..instance() };
    let further = further.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let outcome = initialized(&waiting(), &Instance { labels: further.into(), ..unknown }).unwrap();
    let expected = [("app.k8snio/bar", "6"), ("k8snio/bar", "7"), ("my.label/x", "1"), ("plain", "8")];
    assert_eq!(labels(&outcome.node), expected);
    let reserved = ["topology.kubernetes.io/y", "k8s.io/z", "sub.k8s.io/w", "kubernetes.io/v"];
    assert_eq!(outcome.discarded, reserved.map(|it| Discarded::Reserved(it.into())));
}

#[test]
fn case_021_a_label_that_the_node_has_stays() {
    let node = with_labels(waiting(), &[("my.label/x", "old")]);
    let further = vec![("my.label/x".to_owned(), "new".to_owned())];
    let outcome = initialized(&node, &Instance { labels: further, ..instance() }).unwrap();
    assert_eq!(label(&outcome.node, "my.label/x"), Some("old"));
    assert_eq!(outcome.discarded, [Discarded::Present("my.label/x".into())]);
}

#[test]
fn case_024_with_a_wrong_node_ip_nothing_is_planned() {
    for wrong in ["10.0.0.1x", "", "10.0.0.2"] {
        let error = initialized(&with_node_ip(waiting(), wrong), &instance()).unwrap_err();
        let expected = "failed to get node modifiers from cloud provider: \
                        provided node ip for node \"n1\" is not valid";
        assert_eq!(error.to_string(), expected);
    }
    check(&with_node_ip(waiting(), "10.0.0.1"), &instance());
}

#[test]
fn case_025_without_a_node_ip_the_clouds_order_stays() {
    let addresses = vec![
        address(AddressKind::ExternalIp, "192.0.2.1"),
        address(AddressKind::InternalIp, "10.0.0.1"),
        address(AddressKind::Hostname, "h"),
    ];
    let node = addressed(&waiting(), &Instance { addresses, ..instance() }).unwrap();
    let expected = [("ExternalIP", "192.0.2.1"), ("InternalIP", "10.0.0.1"), ("Hostname", "h")];
    assert_eq!(self::addresses(&node), expected);
}

#[test]
fn case_032_a_machine_without_addresses_changes_none() {
    let node = with_addresses(waiting(), &[("InternalIP", "10.0.0.9")]);
    assert_eq!(addressed(&node, &Instance { addresses: Vec::new(), ..instance() }), Ok(node));
}

/// A change of a node that waits means `expected`.
#[track_caller]
fn check_change(after: impl FnOnce(KubeNode) -> KubeNode, expected: NodeChange) {
    let before = with_labels(waiting(), &[("a", "b")]);
    assert_eq!(change(Some(&before), &after(before.clone())), expected);
}

#[test]
fn case_037_only_relevant_changes_cut_a_pause_short() {
    check_change(|it| it, NodeChange::Same);
    check_change(|it| with_addresses(it, &[("InternalIP", "10.0.0.9")]), NodeChange::Same);
    check_change(|it| with_labels(it, &[("a", "c")]), NodeChange::Same);
    check_change(|it| with_node_ip(it, "10.0.0.1"), NodeChange::Different);
    check_change(|it| with_labels(it, &[("node-role.kubernetes.io/control-plane", "")]), NodeChange::Different);
    check_change(|it| with_provider_id(it, "fake://1"), NodeChange::Different);
    check_change(|it| with_taints(it, &[(UNINITIALIZED, "NoExecute")]), NodeChange::Different);
    let recreated = |mut node: KubeNode| {
        node.metadata.uid = Some("another".into());
        node
    };
    check_change(recreated, NodeChange::Different);
    assert_eq!(change(None, &waiting()), NodeChange::Different);
}

#[test]
fn case_005_an_initialised_node_without_labels_needs_nothing() {
    let node = with_taints(waiting(), &[]);
    assert_eq!(change(None, &node), NodeChange::Nothing);
    assert_eq!(reconciled(&node), node);
}

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

#[track_caller]
fn check_labels(before: &[(&str, &str)], expected: &[(&str, &str)]) {
    let node = with_labels(with_taints(waiting(), &[]), before);
    assert_eq!(labels(&reconciled(&node)), expected);
    let change = change(None, &node);
    assert_eq!(change == NodeChange::Nothing, before == expected, "{change:?}");
}

#[test]
fn case_040_the_old_label_leads() {
    check_labels(&[(BETA_ZONE, "z1"), (ZONE_LABEL, "wrong")], &[(BETA_ZONE, "z1"), (ZONE_LABEL, "z1")]);
    check_labels(&[(BETA_ZONE, "z1")], &[(BETA_ZONE, "z1"), (ZONE_LABEL, "z1")]);
    check_labels(
        &[
            ("beta.kubernetes.io/instance-type", "t"),
            ("failure-domain.beta.kubernetes.io/region", "r"),
            ("node.kubernetes.io/instance-type", "other"),
        ],
        &[
            ("beta.kubernetes.io/instance-type", "t"),
            ("failure-domain.beta.kubernetes.io/region", "r"),
            ("node.kubernetes.io/instance-type", "t"),
            ("topology.kubernetes.io/region", "r"),
        ],
    );
}

#[test]
fn case_041_labels_in_step_stay() {
    let equal = [(BETA_ZONE, "z1"), (ZONE_LABEL, "z1")];
    check_labels(&equal, &equal);
}

#[test]
fn case_042_without_the_old_label_nothing_changes() {
    let only = [(ZONE_LABEL, "z1")];
    check_labels(&only, &only);
}

#[test]
fn a_failed_label_write_waits_for_its_pause_or_a_change() {
    let node = with_taints(waiting(), &[]);
    let stale = with_labels(node.clone(), &[(BETA_ZONE, "z1"), (ZONE_LABEL, "wrong")]);
    let other = with_labels(node, &[(BETA_ZONE, "z2"), (ZONE_LABEL, "wrong")]);
    assert_eq!(change(Some(&stale), &stale), NodeChange::Same);
    assert_eq!(change(Some(&stale), &other), NodeChange::Different);
}

/// Whether a pass of the address loop changes a node.
#[track_caller]
fn check_pass(existing: &[(&str, &str)], cloud: &[(AddressKind, &str)], expected: &[(&str, &str)]) {
    let node = with_addresses(waiting(), existing);
    let cloud = cloud.iter().map(|(kind, value)| address(*kind, value)).collect();
    let once = addressed(&node, &Instance { addresses: cloud, ..instance() }).unwrap();
    assert_eq!(addresses(&once), expected);
    let addresses = current_addresses(&once);
    assert_eq!(addressed(&once, &Instance { addresses, ..instance() }), Ok(once), "a second pass changes nothing");
}

#[test]
fn case_056_two_addresses_of_one_kind_are_no_change() {
    let both = [("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1")];
    check_pass(&both, &[(AddressKind::InternalIp, "10.0.0.1"), (AddressKind::InternalIp, "fd00::1")], &both);
}

#[test]
fn case_057_another_order_is_a_change() {
    check_pass(
        &[("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1")],
        &[(AddressKind::InternalIp, "fd00::1"), (AddressKind::InternalIp, "10.0.0.1")],
        &[("InternalIP", "fd00::1"), ("InternalIP", "10.0.0.1")],
    );
}

#[test]
fn case_058_a_list_of_the_same_length_can_differ() {
    check_pass(
        &[("InternalIP", "10.0.0.1"), ("ExternalIP", "192.0.2.1")],
        &[(AddressKind::InternalIp, "10.0.0.1"), (AddressKind::InternalIp, "10.0.0.1")],
        &[("InternalIP", "10.0.0.1")],
    );
}
