//! The machines of nodes. The numbers are those of the acceptance cases.

use aerostat_sdk::{Address, Instance, Instances as _, Node, State};

use super::*;

/// A VPC with these instances, and floating addresses.
fn host(instances: Vec<Value>, floating: Vec<Value>) -> Host {
    settings().answers(move |request| {
        published::check(request);
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match path[..] {
            ["instances"] => {
                assert_eq!(asked(request, "vpc.id"), Some("r006-1"));
                let name = asked(request, "name");
                let found: Vec<_> =
                    instances.iter().filter(|it| name.is_none_or(|name| it["name"] == name)).cloned().collect();
                page_of(request, "instances", &found)
            }
            ["instances", id] => match instances.iter().find(|it| it["id"] == id) {
                Some(found) => answer(200, found.to_string()),
                None => refused(404, "not_found"),
            },
            ["floating_ips"] => {
                let target = asked(request, "target.id");
                let found: Vec<_> = floating
                    .iter()
                    .filter(|it| target.is_none_or(|target| it["target"]["id"] == target))
                    .cloned()
                    .collect();
                page_of(request, "floating_ips", &found)
            }
            _ => panic!("{request:?}"),
        }
    })
}

fn floating(target: &str, address: &str) -> Value {
    json!({ "id": format!("fip-{address}"), "address": address, "status": "available", "target": { "id": target } })
}

/// The machine that the first instance is.
fn first() -> Instance {
    Instance::new("node-1", "ibm://acc///c1/0717_1")
        .machine_type("bx2-4x16")
        .zone("us-south-1")
        .region("us-south")
        .addresses([Address::internal_ip("10.240.0.1"), Address::hostname("node-1")])
}

/// A node with the labels of a worker of IBM's Kubernetes service.
fn worker(name: &str) -> Node {
    let mut node = Node::named(name);
    for (key, value) in [
        ("internal-ip", "10.240.1.6"),
        ("worker-id", "kube-c1-w2"),
        ("machine-type", "bx2.4x16"),
        ("zone", "us-south-2"),
        ("region", "us-south"),
    ] {
        node.labels.push((format!("ibm-cloud.kubernetes.io/{key}"), value.to_owned()));
    }
    node
}

#[test]
fn ibm_001_a_list_has_a_hundred_on_a_page() {
    let host = host((1..=230).map(instance).collect(), vec![floating("nic-7", "203.0.113.7")]);
    let (mut cursor, mut names) = (None, Vec::new());
    loop {
        let page = host.run(|| Ibm::list(cursor.as_deref(), 100)).unwrap();
        names.extend(page.instances.iter().map(|it| it.name.clone()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(names.len(), 230);
    let (instances, floating): (Vec<_>, Vec<_>) =
        host.requests().into_iter().partition(|it| it.contains(" /instances?"));
    let parameters = "version=2026-06-23&generation=2";
    let expected = ["", "&start=at/100", "&start=at/200"]
        .map(|start| format!("GET vpc /instances?{parameters}&vpc.id=r006-1&limit=100{start}"));
    assert_eq!(instances, expected);
    // The host answers the second and the third out of the first.
    assert_eq!(floating, [(); 3].map(|()| format!("GET vpc /floating_ips?{parameters}&limit=100")));
}

#[test]
fn ibm_002_labels_of_a_worker_say_all() {
    let host = settings();
    let expected = Instance::new("node-2", "ibm://acc///c1/kube-c1-w2")
        .machine_type("bx2.4x16")
        .zone("us-south-2")
        .region("us-south")
        .addresses([Address::internal_ip("10.240.1.6"), Address::hostname("node-2")]);
    assert_eq!(host.run(|| Ibm::get(&worker("node-2"))), Ok(Some(expected.clone())));
    for (external, is_shown) in [("10.240.1.6", false), ("203.0.113.9", true)] {
        let mut node = worker("node-2");
        node.labels.push(("ibm-cloud.kubernetes.io/external-ip".to_owned(), external.to_owned()));
        let found = host.run(|| Ibm::get(&node)).unwrap().unwrap();
        assert_eq!(found.addresses.contains(&Address::external_ip(external)), is_shown, "{external}");
    }
    let mut node = worker("node-2");
    node.labels[0].1 = "10.240.1".to_owned();
    assert!(matches!(host.run(|| Ibm::get(&node)), Err(Error::Invalid(why)) if why.contains("is no address")));
}

#[test]
fn ibm_002_labels_of_no_worker_are_not_believed() {
    let host = host(vec![instance(1)], Vec::new());
    let mut node = worker("node-1");
    node.labels[1].1 = "0717_2".to_owned();
    assert_eq!(host.run(|| Ibm::get(&node)), Ok(Some(first())), "another machine's id names no worker");
}

#[test]
fn ibm_003_a_node_without_labels_is_found_by_its_name() {
    let host = host(vec![instance(1), instance(2)], Vec::new());
    assert_eq!(host.run(|| Ibm::get(&Node::named("node-1"))), Ok(Some(first())));
    assert_eq!(host.run(|| Ibm::get(&Node::named("node-9"))), Ok(None));
}

#[test]
fn ibm_004_two_instances_of_one_name_are_an_error() {
    let mut other = instance(2);
    other["name"] = "node-1".into();
    let host = host(vec![instance(1), other], Vec::new());
    let refused = host.run(|| Ibm::get(&Node::named("node-1")));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("more than one")), "{refused:?}");
    assert_eq!(host.events()[0].reason, "InstanceLookupFailed");
}

#[test]
fn ibm_005_a_node_keeps_its_provider_id() {
    let older = "ibm://acc/g2/us-south/c1/kube-c1-w2";
    let found = settings().run(|| Ibm::get(&worker("node-2").with_provider_id(older))).unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some(older));
    let host = host(vec![instance(1)], Vec::new());
    let by_id = host.run(|| Ibm::get(&Node::named("renamed").with_provider_id("ibm://acc/g2/us-south/c1/0717_1")));
    assert_eq!(by_id.unwrap().unwrap().provider_id, first().provider_id, "the host compares canonical ids");
    let named = host.run(|| Ibm::get(&Node::named("node-1").with_provider_id("ibmvpc://c1/node-1")));
    assert_eq!(named, Ok(Some(first())));
    let renamed = host.run(|| Ibm::get(&Node::named("node-1").with_provider_id("ibmvpc://c1/node-9")));
    assert!(matches!(&renamed, Err(Error::Unavailable(why)) if why.contains("names can be changed")), "{renamed:?}");
}

#[test]
fn ibm_006_an_instance_that_is_stopped_is_shut_down() {
    for (status, state) in [
        ("stopped", State::Stopped),
        ("stopping", State::Running),
        ("failed", State::Running),
        ("deleting", State::Running),
        ("hibernating", State::Running),
    ] {
        let mut shown = instance(1);
        shown["status"] = status.into();
        let host = host(vec![shown], Vec::new());
        assert_eq!(host.run(|| Ibm::get(&Node::named("node-1"))).unwrap().unwrap().state, state, "{status}");
        assert_eq!(host.run(|| Ibm::list(None, 100)).unwrap().instances[0].state, state, "{status}");
    }
}

#[test]
fn ibm_007_only_the_api_itself_says_that_an_instance_is_gone() {
    let node = Node::named("node-1").with_provider_id("ibm://acc///c1/0717_1");
    let gone = host(vec![instance(2)], Vec::new());
    assert_eq!(gone.run(|| Ibm::get(&node)), Ok(None));
    assert_eq!(gone.requests(), ["GET vpc /instances/0717_1?version=2026-06-23&generation=2"]);
    for outcome in
        [answer(404, "<html>not found</html>"), answer(404, "{}"), refused(500, "internal_error"), refused(410, "gone")]
    {
        let host = settings().answers(move |_| outcome.clone());
        assert!(matches!(host.run(|| Ibm::get(&node)), Err(Error::Unavailable(_))));
    }
    let mut moved = instance(1);
    moved["vpc"]["id"] = "r006-2".into();
    let elsewhere = host(vec![moved], Vec::new()).run(|| Ibm::get(&node));
    assert!(matches!(&elsewhere, Err(Error::Invalid(why)) if why.contains("is in VPC r006-2")), "{elsewhere:?}");
}

#[test]
fn ibm_008_a_worker_that_nobody_sees_is_there() {
    let id = "ibm://acc///c1/kube-c1-w9";
    let found = settings().run(|| Ibm::get(&Node::named("node-9").with_provider_id(id))).unwrap().unwrap();
    assert_eq!((found.provider_id.as_deref(), found.state), (Some(id), State::Running));
    assert!(found.addresses.is_empty() && found.zone.is_none(), "and nothing is told of it");
}

#[test]
fn ibm_009_a_page_that_fails_is_no_list() {
    let host = settings().answers(|request| match asked(request, "start") {
        None => page_of(
            request,
            if request.path[0] == "instances" { "instances" } else { "floating_ips" },
            &vec![instance(1); 101],
        ),
        Some(_) => refused(500, "internal_error"),
    });
    let next = settings().answers(|request| match &*request.path[0] {
        "instances" => page_of(request, "instances", &vec![instance(1); 101]),
        _ => page_of(request, "floating_ips", &[]),
    });
    let first = next.run(|| Ibm::list(None, 100)).unwrap();
    assert!(matches!(host.run(|| Ibm::list(first.next.as_deref(), 100)), Err(Error::Unavailable(_))));
    let floating = settings().answers(|request| match &*request.path[0] {
        "instances" => page_of(request, "instances", &[instance(1)]),
        _ => refused(500, "internal_error"),
    });
    assert!(floating.run(|| Ibm::list(None, 100)).is_err(), "without it nodes would lose their addresses");
}

#[test]
fn ibm_010_an_external_address_is_a_floating_one() {
    let mut attached = instance(2);
    attached["primary_network_attachment"] = json!({
        "id": "att-2", "primary_ip": { "address": "10.240.0.2" }, "virtual_network_interface": { "id": "vni-2" },
    });
    let pending = json!({ "id": "fip-3", "address": "203.0.113.3", "status": "pending" });
    let host = host(
        vec![instance(1), attached, instance(3)],
        vec![
            floating("nic-1", "203.0.113.1"),
            floating("vni-2", "203.0.113.2"),
            floating("gateway", "203.0.113.9"),
            pending,
        ],
    );
    let external = |found: &Instance| {
        let is_external = |it: &&Address| **it == Address::external_ip(&*it.value);
        found.addresses.iter().find(is_external).map(|it| it.value.clone())
    };
    let listed = host.run(|| Ibm::list(None, 100)).unwrap().instances;
    let expected = [Some("203.0.113.1".to_owned()), Some("203.0.113.2".to_owned()), None];
    assert_eq!(listed.iter().map(external).collect::<Vec<_>>(), expected);
    for (number, shown) in listed.iter().enumerate() {
        let node = Node::named(format!("node-{}", number + 1));
        assert_eq!(host.run(|| Ibm::get(&node)).unwrap().as_ref(), Some(shown), "by name it is the same");
    }
    let mut fresh = instance(1);
    fresh["primary_network_interface"]["primary_ip"]["address"] = "0.0.0.0".into();
    let host = super::lookup::host(vec![fresh], Vec::new());
    let found = host.run(|| Ibm::get(&Node::named("node-1"))).unwrap().unwrap();
    assert_eq!(found.addresses, [Address::hostname("node-1")], "it has no address yet");
}

#[test]
fn ibm_043_classic_nodes_are_known_by_their_labels_alone() {
    let classic = || {
        let host = Host::new().setting("accountID", "acc").setting("clusterID", "c1").setting("region", "us-south");
        host.setting("clusterDefaultProvider", "classic")
    };
    let found = classic().run(|| Ibm::get(&worker("node-2"))).unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("ibm://acc///c1/kube-c1-w2"));
    assert_eq!(classic().run(|| Ibm::list(None, 100)).unwrap().instances, []);
    let mut node = worker("node-2");
    node.labels.remove(2);
    let refused = classic().run(|| Ibm::get(&node));
    let part = "node node-2 lacks the label ibm-cloud.kubernetes.io/machine-type";
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(part)), "{refused:?}");
}
