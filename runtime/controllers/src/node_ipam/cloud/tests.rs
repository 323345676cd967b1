//! Which networks are set aside for which node.

use serde_json::json;

use super::*;

fn node(name: &str, cidrs: &[&str]) -> KubeNode {
    let spec = if cidrs.is_empty() { json!({}) } else { json!({ "podCIDR": cidrs[0], "podCIDRs": cidrs }) };
    serde_json::from_value(json!({ "metadata": { "name": name, "uid": name }, "spec": spec })).unwrap()
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

fn known() -> PodNetworks {
    PodNetworks { clusters: vec![("10.244.0.0/16".parse().unwrap(), 24)], services: Vec::new() }
}

/// The networks that are set aside for a node that is there.
fn claim(waiting: &WaitingNodes, name: &str, network: &str) -> Result<Vec<IpNet>, Objection> {
    waiting.claim(name, &[network.to_owned()], &known(), &[], || true)
}

fn machine(cidrs: &[&str]) -> Instance {
    Instance { pod_cidrs: cidrs.iter().map(|it| (*it).to_owned()).collect(), ..Instance::default() }
}

#[test]
fn adv_152_a_node_that_is_gone_keeps_nothing() {
    let waiting = WaitingNodes::default();
    let network = ["10.244.1.0/24".to_owned()];
    assert_eq!(waiting.claim("gone", &network, &known(), &[], || false).ok(), Some(Vec::new()));
    assert_eq!(claim(&waiting, "next", &network[0]).ok(), Some(nets(&["10.244.1.0/24"])));
    assert!(claim(&waiting, "other", &network[0]).is_err());
    // The write has found no node.
    waiting.release("next", &nets(&["10.244.9.0/24"]));
    assert!(claim(&waiting, "other", &network[0]).is_err(), "it has other networks by now");
    waiting.release("next", &nets(&["10.244.1.0/24"]));
    assert!(claim(&waiting, "other", &network[0]).is_ok());
    waiting.keep_networks(Some(&node("other", &[])), None);
    assert!(claim(&waiting, "last", &network[0]).is_ok());
}

#[test]
fn adv_152_a_nodes_own_address_may_lie_in_its_network() {
    let addresses = [("n1".to_owned(), "10.244.1.7".parse().unwrap())];
    let claim = |name: &str| {
        let network = ["10.244.1.0/24".to_owned()];
        WaitingNodes::default().claim(name, &network, &known(), &addresses, || true)
    };
    assert_eq!(claim("n1").ok(), Some(nets(&["10.244.1.0/24"])));
    let refused = claim("n2").err().unwrap().error.to_string();
    assert!(refused.contains("holds 10.244.1.7, an address of node n1"), "{refused}");
}

#[test]
fn adv_152_a_kubelets_own_word_is_asked_about_once() {
    let waiting = WaitingNodes::default();
    let (evil, honest) = (node("evil", &["10.244.1.0/24"]), node("old", &["10.244.2.0/24"]));
    for it in [&evil, &honest] {
        waiting.keep_networks(None, Some(it));
    }
    let doubted = |network: &str| claim(&waiting, "n1", network).err().map(|it| it.doubted);
    assert_eq!(doubted("10.244.1.0/24"), Some(Some("evil".to_owned())));
    assert_eq!(doubted("10.244.2.0/24"), Some(Some("old".to_owned())));
    // The cloud says the same of one, and not of the other.
    assert!(!waiting.learn(&honest, &machine(&["10.244.2.0/24"])));
    assert!(waiting.learn(&evil, &machine(&["10.244.9.0/24"])));
    // A heartbeat changes nothing.
    for it in [&evil, &honest] {
        waiting.keep_networks(Some(it), Some(it));
    }
    assert_eq!(doubted("10.244.2.0/24"), Some(None), "there is no doubt");
    assert_eq!(claim(&waiting, "n1", "10.244.1.0/24").ok(), Some(nets(&["10.244.1.0/24"])));
    // A network that was given out here is never doubted.
    let refused = claim(&waiting, "n2", "10.244.1.128/25").err().unwrap();
    assert_eq!(refused.doubted, None);
    assert!(refused.error.to_string().contains("the pod network of node n1"), "{}", refused.error);
    waiting.keep_networks(None, Some(&node("n1", &["10.244.1.0/24"])));
    assert_eq!(claim(&waiting, "n2", "10.244.1.0/24").err().map(|it| it.doubted), Some(None));
}
