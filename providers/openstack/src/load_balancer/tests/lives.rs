//! Lives of load balancers: made, changed, shared, damaged, deleted.

use aerostat_sdk::{ExternalTrafficPolicy, IpFamily, testing};
use serde_json::json;

use super::*;

#[test]
fn a_life_survives_each_trouble() {
    assert_eq!(testing::converge::<Balancers, _>(Cloud::default), [""; 0]);
}

#[test]
fn openstack_023_two_writes_make_a_load_balancer() {
    let mut stage = Stage::new();
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "POST /floatingips"]);
    assert_eq!(stage.ensured().unwrap(), [""; 0], "case 41");
    assert_eq!(stage.events, [""; 0]);
    let mut keys: Vec<_> = stage.service.annotations.iter().map(|(key, _)| key.rsplit('/').next().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["load-balancer-address", "load-balancer-id"]);
    assert_eq!(stage.deleted().unwrap(), ["DELETE /floatingips/*", "DELETE /loadbalancers/*"]);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn openstack_024_a_driver_takes_one_thing_at_a_time() {
    let mut stage = Stage::new();
    stage.change(|cloud| cloud.is_serial = true);
    let writes = stage.ensured().unwrap();
    let expected = [
        "POST /loadbalancers",
        "POST /loadbalancers",
        "POST /listeners",
        "POST /floatingips",
        "POST /pools",
        "POST /pools/*/members",
        "POST /pools/*/members",
        "POST /pools/*/members",
    ];
    assert_eq!(writes, expected);
    let mut told = Stage::new().setting("loadBalancers.providerRequiresSerialAPICalls", "true");
    told.change(|cloud| cloud.is_serial = true);
    assert_eq!(told.ensured().unwrap().len(), 7, "nothing is tried in vain");
    let names: Vec<_> = told.cloud.borrow_mut().cloud().members.values().map(|it| it["name"].clone()).collect();
    assert_eq!(names[0], "member_node-11_10.6.0.11_30080");
}

#[test]
fn openstack_024_a_driver_that_refused_once_is_not_tried_again() {
    let mut first = Stage::new().setting("loadBalancers.provider", "f5");
    first.change(|cloud| cloud.is_serial = true);
    let tried = first.ensured().unwrap();
    assert_eq!(tried[..2], ["POST /loadbalancers"; 2], "it is not known yet");
    // Another process would know no more: what is known is on the first load balancer.
    let mut second = first.other("api", "5f2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a12");
    second.service.ports.clone_from(&first.service.ports);
    let writes = second.ensured().unwrap();
    assert_eq!(writes.iter().filter(|it| *it == "POST /loadbalancers").count(), 1, "{writes:?}");
    let refused = |writes: &[String]| writes.iter().filter(|it| *it == "PUT /pools/*/members").count();
    assert_eq!((refused(&tried), refused(&writes)), (0, 0), "members come one at a time, without a refusal for each");
    // Another driver has refused nothing yet.
    let mut third =
        first.other("amphora", "5f2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a13").setting("loadBalancers.provider", "other");
    third.service.ports.clone_from(&first.service.ports);
    assert_eq!(third.ensured().unwrap()[..2], ["POST /loadbalancers"; 2]);
    // It outlives the changes of the Service, and goes with it.
    first.annotate("connection-limit", "10");
    assert!(!first.ensured().unwrap().is_empty());
    for stage in [&mut first, &mut second, &mut third] {
        stage.deleted().unwrap();
    }
    assert_eq!(first.left(), [""; 0]);
}

#[test]
fn openstack_025_a_creation_that_ends_in_error_is_made_again() {
    let mut stage = Stage::new();
    stage.change(|cloud| cloud.ends_in = "ERROR".to_owned());
    let Err(Error::Unavailable(why)) = stage.ensured() else { panic!("it is served") };
    assert!(why.contains("state ERROR"), "{why}");
    stage.change(|cloud| cloud.ends_in.clear());
    assert!(stage.ensured().unwrap().contains(&"POST /loadbalancers".to_owned()));
    assert_eq!(stage.left().iter().filter(|it| it.starts_with("load balancer kube")).count(), 1);
}

#[test]
fn openstack_027_a_service_becomes_internal_and_external_again() {
    const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";
    let mut stage = Stage::new().annotated(INTERNAL, "true");
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers"]);
    stage.annotate(INTERNAL, "false");
    assert_eq!(stage.ensured().unwrap(), ["POST /floatingips"]);
    stage.annotate(INTERNAL, "true");
    assert_eq!(stage.ensured().unwrap(), ["DELETE /floatingips/*"]);
    stage.annotate(INTERNAL, "True");
    assert!(why(stage.ensured()).contains("is not true or false"));
}

#[test]
fn openstack_029_an_address_is_taken_made_or_refused() {
    let named = |it: &mut LoadBalancer| it.load_balancer_ip = Some("172.24.4.200".to_owned());
    let reserved = |port: Option<&str>| json!({ "id": "f-1", "floating_ip_address": "172.24.4.200", "port_id": port, "description": "" });
    let mut free = Stage::new().with(named);
    free.change(|cloud| drop(cloud.floating.insert("f-1".to_owned(), reserved(None))));
    assert_eq!(free.ensured().unwrap(), ["POST /loadbalancers", "PUT /floatingips/f-1"]);
    assert_eq!(free.deleted().unwrap(), ["DELETE /loadbalancers/*"], "it is a person's");
    assert_eq!(free.left(), ["floating IP "]);
    let mut used = Stage::new().with(named);
    used.change(|cloud| drop(cloud.floating.insert("f-1".to_owned(), reserved(Some("p")))));
    assert!(why(used.ensured()).contains("not available"));
    let mut new = Stage::new().with(named);
    new.ensured().unwrap();
    assert_eq!(new.shown(), ["172.24.4.200"]);
    new.service.load_balancer_ip = Some("172.24.4.201".to_owned());
    new.ensured().unwrap();
    assert_eq!(new.events, ["LoadBalancerImmutable"]);
}

#[test]
fn a_deletion_without_a_memo_waits_for_its_end() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    // As of a Service whose creation was not answered.
    stage.service.memo = None;
    stage.service.annotations.clear();
    for call in ["Octavia begins", "Octavia is at work"] {
        let answer = stage.run(OpenStack::delete).unwrap();
        assert!(matches!(answer, Deletion::Pending(_)), "{call}: {answer:?}");
    }
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0], "done is said when nothing is left");
}

#[test]
fn a_floating_ip_that_lists_lack_is_waited_for() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let shown = stage.shown();
    stage.service.current_ingress.clear();
    stage.change(|cloud| cloud.unlisted = 1);
    assert_eq!(stage.ensured().unwrap(), ["POST /floatingips"], "it is refused, and no error");
    assert_eq!(stage.shown(), shown);
}

#[test]
fn openstack_030_the_next_subnet_is_tried_where_one_is_full() {
    let mut stage = Stage::new().annotated("floating-subnet", "~ext-(tiny|b)");
    stage.settings.retain(|(name, _)| name != "loadBalancers.floatingSubnetID");
    stage.change(|cloud| cloud.full.push("ext-tiny".to_owned()));
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "POST /floatingips", "POST /floatingips"]);
    stage.change(|cloud| {
        cloud.floating.clear();
        cloud.full.push("ext-b".to_owned());
    });
    let Err(full) = stage.ensured() else { panic!("an address") };
    assert!(full.is_quota() && full.why().contains("ext-(tiny|b)"), "{full:?}");
}

#[test]
fn openstack_030_an_unreadable_pattern_is_refused_at_once() {
    let mut stage = Stage::new().annotated("floating-subnet", "~[");
    assert!(why(stage.ensured()).contains("floating-subnet: \"~[\""), "{:?}", stage.events);
    assert_eq!((stage.writes(), stage.left()), (Vec::<String>::new(), Vec::<String>::new()));
    let mut stage = Stage::new().setting("loadBalancers.floatingSubnet", "!~ext-(a");
    assert!(why(stage.ensured()).contains("loadBalancers.floatingSubnet"));
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn openstack_037_local_services_are_checked_unless_refused() {
    let local = |it: &mut LoadBalancer| it.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    let mut stage = Stage::new().with(local);
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "POST /floatingips"]);
    stage.change(|cloud| {
        assert!(cloud.monitors.values().all(|it| it["type"] == "HTTP" && it["url_path"] == "/healthz"));
        assert!(cloud.members.values().all(|it| it["monitor_port"] == 31_000));
    });
    stage.service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*/members", "DELETE /healthmonitors/*"]);
    let mut without = Stage::new().with(local).annotated("enable-health-monitor", "false");
    without.ensured().unwrap();
    assert_eq!(without.events, ["LoadBalancerLocalWithoutMonitor"]);
}

#[test]
fn openstack_045_a_new_port_is_made_before_the_old_one_goes() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.service.ports = vec![Port::new(Protocol::Tcp, 81, 30_080)];
    let expected = ["POST /listeners", "POST /pools", "PUT /pools/*/members", "DELETE /pools/*", "DELETE /listeners/*"];
    assert_eq!(stage.ensured().unwrap(), expected);
    stage.service.ports.push(Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(stage.ensured().unwrap(), ["POST /listeners", "POST /pools", "PUT /pools/*/members"]);
    stage.service.ports.remove(0);
    assert_eq!(stage.ensured().unwrap(), ["DELETE /pools/*", "DELETE /listeners/*"], "parts keep their numbers");
}

#[test]
fn a_listener_between_tcp_and_http_is_made_again() {
    let mut stage = Stage::new().annotated("x-forwarded-for", "true");
    stage.ensured().unwrap();
    stage.annotate("x-forwarded-for", "false");
    let expected = ["DELETE /listeners/*", "POST /listeners", "POST /pools", "PUT /pools/*/members", "DELETE /pools/*"];
    assert_eq!(stage.ensured().unwrap(), expected);
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn damage_by_a_person_is_mended() {
    let mut stage = Stage::new().annotated("enable-health-monitor", "true");
    stage.ensured().unwrap();
    stage.change(|cloud| cloud.listeners.clear());
    assert_eq!(stage.ensured().unwrap(), ["POST /listeners"], "its pool serves again");
    stage.change(|cloud| cloud.members.values_mut().take(1).for_each(|it| it["weight"] = json!(0)));
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*/members"]);
    stage.change(|cloud| drop(cloud.members.pop_first()));
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*/members"]);
    stage.change(|cloud| cloud.balancers.values_mut().for_each(|it| it["name"] = json!("mine")));
    assert_eq!(stage.ensured().unwrap(), ["PUT /loadbalancers/*"]);
    stage.change(|cloud| cloud.floating.clear());
    assert_eq!(stage.ensured().unwrap(), ["POST /floatingips"]);
    stage.service.client_ip_affinity_seconds = Some(10_800);
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*"]);
    stage.service.client_ip_affinity_seconds = None;
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*"]);
    stage.change(|cloud| {
        let id = cloud.balancers.keys().next().unwrap().clone();
        let by_hand = json!({ "name": "by hand", "protocol": "TCP", "protocol_port": 9999, "tags": [] });
        cloud.make_listener(&by_hand, &id);
        cloud.make_pool(&json!({ "name": "pool_7_kube_service_kubernetes_default_web", "protocol": "TCP" }), &id);
    });
    assert_eq!(stage.ensured().unwrap(), ["DELETE /pools/*"], "a person's listener stays, a lost pool goes");
}

#[test]
fn a_load_balancer_deleted_by_hand_is_made_again() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let shown = stage.shown();
    let all = |stage: &Stage| stage.cloud.borrow_mut().cloud().balancers.keys().cloned().collect::<Vec<_>>();
    for id in all(&stage) {
        stage.change(|cloud| cloud.delete_balancer(&id));
    }
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "PUT /floatingips/*"]);
    assert_eq!(stage.shown(), shown, "it has its address again");
    for id in all(&stage) {
        stage.change(|cloud| cloud.delete_balancer(&id));
    }
    assert_eq!(stage.deleted().unwrap(), ["DELETE /floatingips/*"]);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn openstack_046_services_share_a_load_balancer() {
    let mut owner = Stage::new();
    owner.ensured().unwrap();
    let id = owner.service.memo.clone().unwrap();
    let guest = |name: &str, uid: &str, port: u16| {
        let stage = owner.other(name, uid).annotated("load-balancer-id", &id);
        stage.with(|it| it.ports = vec![Port::new(Protocol::Tcp, port, 30_081)])
    };
    let mut first = guest("guest", "u-1", 81);
    let writes = ["PUT /loadbalancers/*", "POST /listeners", "POST /pools", "PUT /pools/*/members"];
    assert_eq!(first.ensured().unwrap(), writes);
    assert_eq!(first.service.memo.as_deref(), Some(&*format!("{id}/u-1")));
    assert_eq!((first.shown(), &*first.events), (owner.shown(), &[][..]));
    assert_eq!(first.ensured().unwrap(), [""; 0]);
    assert!(
        why(guest("clash", "u-2", 80).setting("loadBalancers.maxShared", "3").ensured())
            .contains("listener port 80 already exists")
    );
    assert!(why(guest("third", "u-3", 82).ensured()).contains("already shared with 2 Services"));
    let inner =
        guest("inner", "u-4", 83).annotated("service.beta.kubernetes.io/openstack-internal-load-balancer", "true");
    let mut inner = inner;
    assert!(why(inner.ensured()).contains("internal Service cannot share"));
    let gone = ["DELETE /pools/*", "DELETE /listeners/*", "PUT /loadbalancers/*"];
    assert_eq!(owner.deleted().unwrap(), gone, "case 52");
    assert_eq!(first.deleted().unwrap(), ["DELETE /floatingips/*", "DELETE /loadbalancers/*"], "the last one");
    assert_eq!(first.left(), [""; 0]);
}

#[test]
fn a_persons_load_balancer_is_left_as_it_was() {
    let mut guest = Stage::new().annotated("load-balancer-id", "lb-of-a-person");
    guest.change(|cloud| {
        let shown = json!({
            "id": "lb-of-a-person", "name": "shop", "tags": [], "provisioning_status": "ACTIVE", "vip_port_id": "p", "vip_address": "10.6.9.1",
            "vip_subnet_id": "k8s",
        });
        cloud.balancers.insert("lb-of-a-person".to_owned(), shown);
    });
    assert!(why(guest.ensured()).contains("no floating IP"), "nothing is written before");
    assert_eq!(guest.writes(), [""; 0]);
    guest.change(|cloud| {
        let shown = json!({ "id": "f", "floating_ip_address": "172.24.4.9", "port_id": "p", "description": "" });
        cloud.floating.insert("f".to_owned(), shown);
    });
    guest.ensured().unwrap();
    guest.deleted().unwrap();
    assert_eq!(guest.left(), ["load balancer shop", "floating IP "]);
    guest.change(|cloud| assert_eq!(cloud.balancers["lb-of-a-person"]["tags"], json!([])));
}

#[test]
fn another_clusters_load_balancer_is_never_touched() {
    for (name, tags) in [
        ("kube_service_other_bank_pay", json!(["kube_service_other_bank_pay"])),
        ("kube_service_other_bank_pay", json!([])),
        ("shop", json!(["kube_service_other_bank_pay"])),
        ("kube_service_kubernetes_bank_pay", json!(["aerostat:another-cluster:uid"])),
        ("a1f2e3d4c5b6a79880910a1b2c3d4e5f", json!([])),
    ] {
        let mut thief = Stage::new().annotated("load-balancer-id", "theirs");
        let shown = json!({
            "id": "theirs", "name": name, "tags": tags, "provisioning_status": "ACTIVE", "vip_port_id": "p", "vip_address": "10.6.9.1",
        });
        thief.change(|cloud| drop(cloud.balancers.insert("theirs".to_owned(), shown.clone())));
        assert!(why(thief.ensured()).contains("another cluster's"), "{name}");
        assert_eq!(thief.deleted().unwrap(), [""; 0]);
        thief.change(|cloud| assert_eq!(cloud.balancers["theirs"], shown));
    }
}

#[test]
fn openstack_047_only_a_former_name_is_renamed() {
    let mut stage = Stage::new().annotated("enable-health-monitor", "true");
    stage.service.owner.cluster = "prod".to_owned();
    stage.ensured().unwrap();
    // As OpenStack's own controller would have left it.
    stage.change(|cloud| {
        cloud.balancers.values_mut().for_each(|it| it["tags"] = json!(["kube_service_prod_default_web"]))
    });
    stage.service.memo = None;
    stage.service.owner.cluster = "stage".to_owned();
    assert!(why(stage.ensured()).contains("loadBalancers.formerClusterName"));
    let mut stage = stage.setting("loadBalancers.formerClusterName", "prod");
    let expected = ["PUT /loadbalancers/*", "PUT /listeners/*", "PUT /pools/*", "PUT /healthmonitors/*"];
    assert_eq!(stage.ensured().unwrap(), expected);
    assert!(stage.events.contains(&"LoadBalancerRename".to_owned()), "{:?}", stage.events);
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
    assert_eq!(stage.deleted().unwrap().len(), 2);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn taken_over_load_balancers_are_not_written_to() {
    let mut stage = Stage::new().with(|it| it.external_traffic_policy = ExternalTrafficPolicy::Local(31_000));
    stage.annotate("enable-health-monitor", "false");
    stage.ensured().unwrap();
    stage.change(|cloud| {
        cloud.balancers.values_mut().for_each(|it| it["tags"] = json!(["kube_service_kubernetes_default_web"]))
    });
    stage.service.memo = None;
    stage.service.annotations.retain(|(key, _)| !key.contains("enable-health-monitor"));
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn ten_ports_of_many_nodes_fit_into_requests() {
    let mut stage = Stage::new();
    let ports = |it: u16| Port::new(Protocol::Tcp, 8_100 + it, 31_100 + it);
    stage.service.ports = (0..10).map(ports).collect();
    stage.service.nodes.extend((1..=107_u16).map(|number| {
        let mut node =
            Node::named(format!("node-with-a-long-name-{number}")).with_provider_id(format!("openstack:///s-{number}"));
        node.addresses = vec![Address::internal_ip(format!("10.6.2.{number}"))];
        node
    }));
    let writes = stage.ensured().unwrap();
    assert_eq!(writes.iter().filter(|it| it.starts_with("PUT")).count(), 10, "{writes:?}");
    let (largest, members) = {
        let mut cloud = stage.cloud.borrow_mut();
        (cloud.cloud().largest, cloud.cloud().members.len())
    };
    assert!((90_000..=100_000).contains(&largest), "{largest}");
    assert_eq!(members, 1_100);
    stage.service.nodes.pop();
    assert_eq!(stage.ensured().unwrap().len(), 10, "one PUT for each pool");
}

#[test]
fn ports_that_one_request_cannot_hold_follow_it() {
    let mut stage = Stage::new();
    stage.service.ports = (0..42).map(|it| Port::new(Protocol::Tcp, 8_000 + it, 31_000 + it)).collect();
    stage.service.source_ranges = (0..120).map(|it| format!("198.51.{it}.0/24")).collect();
    let writes = stage.ensured().unwrap();
    let count = |what: &str| writes.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(count("POST /loadbalancers"), 1, "{writes:?}");
    assert!((1..42).contains(&count("POST /listeners")), "{writes:?}");
    stage.change(|cloud| {
        assert!(cloud.largest <= 100_000, "{}", cloud.largest);
        assert_eq!((cloud.listeners.len(), cloud.members.len()), (42, 126));
    });
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn a_pool_too_large_for_one_request_is_changed_in_parts() {
    let mut stage = Stage::new();
    let nodes = (0..1_500_u16).map(|number| {
        let mut node = Node::named(format!("node-{number}")).with_provider_id(format!("openstack:///s-{number}"));
        node.addresses = vec![Address::internal_ip(format!("10.7.{}.{}", number / 250, number % 250 + 1))];
        node
    });
    stage.service.nodes.extend(nodes);
    stage.ensured().unwrap();
    stage.change(|cloud| {
        assert!(cloud.members.len() == 1_503 && cloud.largest <= 100_000, "{} {}", cloud.members.len(), cloud.largest)
    });
    stage.service.nodes.pop();
    assert_eq!(stage.ensured().unwrap(), ["DELETE /pools/*/members/*"]);
}

#[test]
fn a_service_of_two_families_has_two_addresses() {
    let mut stage = Stage::new().with(|it| it.ip_families = vec![IpFamily::Ipv4, IpFamily::Ipv6]);
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "POST /floatingips"]);
    assert_eq!((stage.shown().len(), stage.shown()[1].clone()), (2, "fd00:6::bbbb".to_owned()));
    let mut six = Stage::new().with(|it| it.ip_families = vec![IpFamily::Ipv6]);
    assert_eq!(six.ensured().unwrap(), ["POST /loadbalancers"]);
    assert_eq!(
        (six.shown(), six.events),
        (vec!["fd00:6::aaaa".to_owned()], vec!["LoadBalancerFloatingIPSkipped".to_owned()])
    );
}

#[test]
fn security_groups_follow_nodes_and_settings() {
    let mut stage = Stage::new().setting("loadBalancers.manageSecurityGroups", "true");
    let writes = stage.ensured().unwrap();
    assert_eq!(writes.iter().filter(|it| it.starts_with("PUT /ports")).count(), 3, "{writes:?}");
    // One that has no provider id yet holds nothing up.
    stage.service.nodes.push(Node::named("node-5"));
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
    stage.service.nodes.pop();
    stage.service.nodes.pop();
    assert_eq!(stage.ensured().unwrap(), ["PUT /pools/*/members", "PUT /ports/port-13"]);
    let mut off = stage.setting("loadBalancers.manageSecurityGroups", "false");
    assert_eq!(off.ensured().unwrap(), ["PUT /ports/port-11", "PUT /ports/port-12", "DELETE /security-groups/*"]);
}

#[test]
fn nodes_are_followed_while_an_annotation_is_refused() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.annotate("timeout-client-data", "5s");
    stage.service.nodes.pop();
    assert!(why(stage.ensured()).contains("timeout-client-data"));
    stage.change(|cloud| assert_eq!(cloud.members.len(), 2));
}
