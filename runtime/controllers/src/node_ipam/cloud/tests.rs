//! Which networks are set aside for which node.

use serde_json::json;

use super::*;

fn node(name: &str, cidrs: &[&str]) -> Node {
    let spec = if cidrs.is_empty() { json!({}) } else { json!({ "podCIDR": cidrs[0], "podCIDRs": cidrs }) };
    serde_json::from_value(json!({ "metadata": { "name": name, "uid": name }, "spec": spec })).unwrap()
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

fn known() -> PodNetworks {
    PodNetworks { clusters: vec![("10.244.0.0/16".parse().unwrap(), 24)], services: Vec::new() }
}

/// What is set aside for a node that is there.
fn claim(waiting: &Waiting, name: &str, network: &str) -> Result<Vec<IpNet>, from_cloud::Error> {
    waiting.claim(name, &[network.to_owned()], &known(), &[], || true)
}

#[test]
fn adv_152_a_node_that_is_gone_keeps_nothing() {
    let waiting = Waiting::default();
    let network = ["10.244.1.0/24".to_owned()];
    assert_eq!(waiting.claim("gone", &network, &known(), &[], || false), Ok(Vec::new()));
    assert_eq!(claim(&waiting, "next", &network[0]), Ok(nets(&["10.244.1.0/24"])));
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
        Waiting::default().claim(name, &network, &known(), &addresses, || true)
    };
    assert_eq!(claim("n1"), Ok(nets(&["10.244.1.0/24"])));
    let refused = claim("n2").unwrap_err().to_string();
    assert!(refused.contains("holds 10.244.1.7, an address of node n1"), "{refused}");
}
