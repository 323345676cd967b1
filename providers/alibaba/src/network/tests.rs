//! Network Load Balancers in memory: what is sent for a Service, and what becomes of the answers.

mod cloud;
mod inherited;
mod recorded;
mod reused;
mod security;
mod settled;
mod values;

use aerostat_sdk::testing::{self, FakeCloud as _, Host, answer};
use aerostat_sdk::{
    Deletion, Error, ExternalTrafficPolicy, Ingress, Instance, Instances, LoadBalancer, LoadBalancers, Node, Page,
    Port, Progress, Protocol, Result,
};
use serde_json::{Value, json};

use self::cloud::{FakeNlb, ZONES};
use super::CLASS;
use crate::load_balancer::PREFIX;
use crate::provider::Alibaba;
use crate::tests::played::{Played, actions, node, writes};
use crate::tests::{CLUSTER_ID, action, played, published, settings};

/// A Service with the class, TCP port 80 and three nodes.
fn service() -> LoadBalancer {
    with_class(played::service())
}

fn with_class(service: LoadBalancer) -> LoadBalancer {
    let service = service.with_annotation(format!("{PREFIX}zone-maps"), ZONES);
    LoadBalancer { load_balancer_class: Some(CLASS.to_owned()), ..service }
}

fn annotated(name: &str, value: &str) -> LoadBalancer {
    service().with_annotation(format!("{PREFIX}{name}"), value)
}

/// The only object of a kind.
fn only(played: &Played<FakeNlb>, kind: &str) -> Value {
    let objects = played.cloud.borrow_mut().cloud().objects();
    let found: Vec<_> = objects.into_iter().filter(|it| it.kind == kind).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].body.clone()
}

fn count(played: &Played<FakeNlb>) -> usize {
    played.cloud.borrow_mut().cloud().objects().len()
}

/// One call of a deletion, and what the host keeps of its answer.
fn delete_step(played: &Played<FakeNlb>, service: &mut LoadBalancer) -> Result<Deletion> {
    let host = played.host.clone().at(played.cloud.borrow().now());
    let answer = host.run(|| Alibaba::delete(service));
    if let Ok(Deletion::Pending(it)) = &answer {
        *service = service.clone().after(it.status.clone());
    }
    answer
}

/// Deletes until it is over.
fn delete(played: &Played<FakeNlb>, service: &mut LoadBalancer) -> Deletion {
    for _ in 0..40 {
        match delete_step(played, service) {
            Ok(Deletion::Pending(_)) => {}
            Ok(over) => return over,
            Err(Error::Unavailable(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it is not gone: {:?}", played.host.requests());
}

/// The provider for Services of the class, which the lives do not have.
struct NetworkAlone;

impl Instances for NetworkAlone {
    fn get(node: &Node) -> Result<Option<Instance>> {
        Alibaba::get(node)
    }

    fn get_many(nodes: &[Node]) -> Vec<Result<Option<Instance>>> {
        Alibaba::get_many(nodes)
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        <Alibaba as Instances>::list(cursor, limit)
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        Alibaba::canonical_id(provider_id)
    }
}

impl LoadBalancers for NetworkAlone {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        super::ensure(desired, crate::kinds::ensure_network)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        super::delete(unwanted, crate::kinds::delete_network)
    }
}

#[test]
fn lives_of_network_load_balancers_keep_the_promises() {
    assert_eq!(testing::converge::<NetworkAlone, _>(FakeNlb::default), [""; 0]);
}

#[test]
fn alibaba_028_a_network_load_balancer_needs_zones() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { annotations: Vec::new(), ..service() };
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("zone-maps")), "{refused:?}");
    assert!(played.host.requests().is_empty());
}

#[test]
fn services_of_the_class_are_served() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    let sent = played.settle(&mut service);
    let expected = ["CreateLoadBalancer", "CreateServerGroup", "AddServersToServerGroup", "CreateListener"];
    assert_eq!(writes(&sent), expected);
    assert_eq!(service.memo.as_deref(), Some("nlb-1"), "no job is left");
    assert_eq!(service.current_ingress, [Ingress::hostname("nlb-1.cn-hangzhou.nlb.aliyuncs.example")]);
    let again = played.settle(&mut service);
    assert_eq!(writes(&again), [""; 0]);
    assert!(again.len() <= 6, "{:?}", actions(&again));
}

#[test]
fn alibaba_030_a_job_that_fails_is_told_and_tried_again() {
    let played = Played::new(FakeNlb { fails: Some("AddServersToServerGroup"), ..FakeNlb::default() });
    let mut service = service();
    let mut told = None;
    for _ in 0..40 {
        if let Ok(Progress::Failed(it)) = played.call(&mut service) {
            told = Some(it);
            break;
        }
    }
    let told = told.expect("it is not told");
    assert!(matches!(&told.error, Error::Unavailable(_)), "{told:?}");
    assert!(told.error.why().contains("action-") && told.error.why().contains("AddServersToServerGroup"), "{told:?}");
    assert!(!told.status.memo.unwrap().contains("AddServers"), "it is not asked about again");
    played.settle(&mut service);
    assert_eq!(only(&played, "server group")["Servers"].as_array().unwrap().len(), 3);
}

#[test]
fn jobs_that_are_not_over_are_kept_in_the_memo() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    let mut memos = Vec::new();
    for _ in 0..40 {
        let answer = played.call(&mut service);
        memos.extend(service.memo.clone().filter(|it| it.contains("CreateServerGroup:action-")));
        if matches!(answer, Ok(Progress::Ready(_))) {
            break;
        }
    }
    assert!(!memos.is_empty());
    let made = played.cloud.borrow_mut().cloud().groups.all().count();
    assert_eq!(made, 1);
}

#[test]
fn local_services_of_the_class_check_the_health_port() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(writes(&played.settle(&mut service)), ["UpdateServerGroupAttribute"]);
    let check = only(&played, "server group")["HealthCheck"].clone();
    assert_eq!(
        [&check["HealthCheckType"], &check["HealthCheckConnectPort"], &check["HealthCheckUrl"]],
        [&json!("HTTP"), &json!(31_000), &json!("/healthz")]
    );
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    assert_eq!(writes(&played.settle(&mut service)), ["UpdateServerGroupAttribute"]);
    assert_eq!(only(&played, "server group")["HealthCheck"]["HealthCheckType"], "TCP");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn machines_of_network_groups_go_in_by_forty() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { nodes: (1..=95).map(node).collect(), ..service() };
    let sent = played.settle(&mut service);
    let adds = writes(&sent).into_iter().filter(|it| *it == "AddServersToServerGroup").count();
    assert_eq!(adds, 3);
    assert_eq!(only(&played, "server group")["Servers"].as_array().unwrap().len(), 95);
    service.nodes.remove(7);
    assert_eq!(writes(&played.settle(&mut service)), ["RemoveServersFromServerGroup"]);
}

#[test]
fn machines_of_network_groups_follow_beside_a_refused_value() {
    let played = Played::new(FakeNlb::default());
    let mut service = annotated("protocol-port", "tcpssl:80").with_annotation(format!("{PREFIX}cert-id"), "c1");
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}listener-port-range"), "1000-2000:80");
    service.nodes.push(node(4));
    let is_told = (0..20).any(|_| match played.call(&mut service) {
        Err(error) => error.why().contains("listener-port-range"),
        Ok(Progress::Failed(it)) => it.error.why().contains("listener-port-range"),
        Ok(_) => false,
    });
    let group = only(&played, "server group");
    assert_eq!((is_told, group["Servers"].as_array().unwrap().len()), (true, 4), "{group}");
}

#[test]
fn full_network_groups_lose_what_is_gone_first() {
    let played = Played::new(FakeNlb { most_servers: 3, ..FakeNlb::default() });
    let mut service = service();
    played.settle(&mut service);
    service.nodes = (2..=4).map(node).collect();
    played.settle(&mut service);
    let group = only(&played, "server group");
    let mut ids: Vec<_> = group["Servers"].as_array().unwrap().iter().map(|it| it["ServerId"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, ["i-bp002", "i-bp003", "i-bp004"]);
}

#[test]
fn another_network_protocol_is_another_listener() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    service = service
        .with_annotation(format!("{PREFIX}protocol-port"), "tcpssl:80")
        .with_annotation(format!("{PREFIX}cert-id"), "c1");
    let sent = played.settle(&mut service);
    let expected =
        ["CreateServerGroup", "AddServersToServerGroup", "DeleteListener", "CreateListener", "DeleteServerGroup"];
    assert_eq!(writes(&sent), expected);
    let listener = only(&played, "listener");
    assert_eq!((&listener["ListenerProtocol"], &listener["CertificateIds"]), (&json!("TCPSSL"), &json!(["c1"])));
    assert_eq!(only(&played, "server group")["Protocol"], "TCP");
}

#[test]
fn deletions_leave_no_part_of_a_network_load_balancer() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    assert_eq!(count(&played), 4);
    let before = played.host.sent().len();
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    let expected = ["UpdateLoadBalancerProtection", "DeleteLoadBalancer", "DeleteServerGroup", "DeleteSecurityGroup"];
    assert_eq!(writes(&played.host.sent()[before..]), expected);
    assert_eq!(count(&played), 0);
    // It goes just before it is deleted.
    let mut service = self::service();
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().goes_before = Some("DeleteLoadBalancer");
    let host = played.host.clone().at(played.cloud.borrow().now());
    let deletion = host.run(|| <Alibaba as LoadBalancers>::delete(&service));
    assert!(matches!(deletion, Ok(Deletion::Pending(_) | Deletion::Done)), "{deletion:?}");
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(count(&played), 0);
    played.cloud.borrow_mut().cloud().goes_before = None;
    // It is deleted by hand: its parts go all the same.
    let mut service = self::service();
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().balancers.remove("nlb-3");
    played.cloud.borrow_mut().cloud().listeners.remove("lsn-3");
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(count(&played), 0);
}

#[test]
fn deletions_without_a_memo_leave_no_part_either() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    service.memo = None;
    assert_eq!((count(&played), delete(&played, &mut service)), (4, Deletion::Done));
    assert_eq!(count(&played), 0);
}

#[test]
fn deletions_of_which_a_job_fails_are_tried_again() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().fails = Some("DeleteLoadBalancer");
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(count(&played), 0);
}

#[test]
fn network_load_balancers_that_are_kept_lose_no_part() {
    let played = Played::new(FakeNlb::default());
    let mut service = annotated("preserve-lb-on-delete", "true");
    played.settle(&mut service);
    assert!(matches!(delete(&played, &mut service), Deletion::Kept(_)));
    assert_eq!(count(&played), 3);
    let live = only(&played, "load balancer");
    assert_eq!(live["DeletionProtectionConfig"]["Enabled"], false);
    let keys: Vec<_> = live["Tags"].as_array().unwrap().iter().map(|it| it["Key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["aerostat.dev/cluster-uid", "aerostat.dev/service-uid", "aerostat.dev/kept"]);
}

#[test]
fn network_parts_of_others_are_not_touched() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let other = json!([{ "Key": "aerostat.dev/cluster-uid", "Value": "x" }, { "Key": "aerostat.dev/service-uid", "Value": played::UID },
        { "Key": "kubernetes.do.not.delete", "Value": service.name }]);
    for objects in [0, 1] {
        let mut simulated = played.cloud.borrow_mut();
        let cloud = simulated.cloud();
        let objects = if objects == 0 { &mut cloud.balancers } else { &mut cloud.groups };
        let id = objects.all().next().unwrap().0.to_owned();
        objects.get_mut(&id).unwrap().body["Tags"] = other.clone();
    }
    service.nodes.pop();
    let before = played.host.sent().len();
    assert!(matches!(played.call(&mut service), Err(Error::Invalid(_))));
    assert!(matches!(delete(&played, &mut service), Deletion::Kept(_)));
    assert_eq!(writes(&played.host.sent()[before..]), [""; 0]);
}

#[test]
fn groups_of_others_are_no_groups_of_the_service() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let name = service.name.clone();
    let other = json!([{ "Key": "aerostat.dev/cluster-uid", "Value": "x" }, { "Key": "kubernetes.do.not.delete", "Value": name }]);
    played.cloud.borrow_mut().cloud().groups.get_mut("sgp-1").unwrap().body["Tags"] = other;
    service.nodes.pop();
    let expected = ["CreateServerGroup", "AddServersToServerGroup", "UpdateListenerAttribute"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(only(&played, "server group")["Servers"].as_array().unwrap().len(), 3);
}

#[test]
fn network_values_that_are_not_allowed_are_refused() {
    for (name, value) in [
        ("zone-maps", "cn-hangzhou-b"),
        ("protocol-port", "http:80"),
        ("protocol-port", "tcpssl:80"),
        ("protocol-port", "tcp:81"),
        ("protocol-port", "udp:80"),
        ("idle-timeout", "901"),
        ("ip-version", "ipv6"),
        ("listener-port-range", "1000-2000:80"),
        ("bandwidth-package-id", "package-1"),
        ("server-group-type", "ip"),
        ("security-group-ids", "x"),
    ] {
        let played = Played::new(FakeNlb::default());
        let mut service = match name {
            "zone-maps" => {
                LoadBalancer { annotations: Vec::new(), ..service() }.with_annotation(format!("{PREFIX}{name}"), value)
            }
            _ => annotated(name, value),
        };
        let refused = played.call(&mut service);
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains(name) || why.contains("cert-id")),
            "{name} {value}: {refused:?}"
        );
        assert_eq!(writes(&played.host.sent()), [""; 0], "{name} {value}");
    }
}

#[test]
fn load_balancers_of_the_other_kind_are_not_replaced() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    service.load_balancer_class = None;
    let before = played.host.sent().len();
    let refused = played.call(&mut service);
    assert!(
        matches!(&refused, Err(Error::Invalid(why)) if why.contains("nlb-1") && why.contains("loadBalancerClass")),
        "{refused:?}"
    );
    assert_eq!(played.host.sent().len(), before);
    assert_eq!(delete(&played, &mut service), Deletion::Done, "the memo says which kind it is");
    assert_eq!(count(&played), 0);
}

#[test]
fn alibaba_039_udp_has_no_checks_by_http() {
    let played = Played::new(FakeNlb::default());
    let mut service = annotated("proxy-protocol", "on");
    service.ports = vec![Port::new(Protocol::Udp, 53, 30_053)];
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    played.settle(&mut service);
    assert_eq!(only(&played, "server group")["HealthCheck"]["HealthCheckType"], "TCP");
    assert_eq!(only(&played, "listener")["ProxyProtocolEnabled"], true);
    assert_eq!(played.reasons(), ["ServiceFieldsIgnored"]);
}

#[test]
fn jobs_are_asked_about_twenty_at_a_time() {
    let host: Host = settings().answers(move |request| {
        published::check(request);
        let ids = published::parameters(request).into_iter().filter(|(name, _)| name.starts_with("JobIds."));
        let jobs: Vec<Value> = ids.map(|(_, id)| json!({ "Id": id, "Status": "Succeeded" })).collect();
        assert_eq!(action(request), "ListAsynJobs");
        answer(200, json!({ "Jobs": jobs }).to_string())
    });
    let ids: Vec<String> = (1..=25).map(|it| format!("job-{it}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let states = host.run(|| crate::api::jobs::states("cn-hangzhou", &ids)).unwrap();
    assert_eq!((states.len(), host.sent().len()), (25, 2));
}

#[test]
fn a_group_that_a_listener_by_hand_sends_to_stays_empty() {
    let played = Played::new(FakeNlb::default());
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    played.settle(&mut service);
    let group = |played: &Played<FakeNlb>| {
        let objects = played.cloud.borrow_mut().cloud().objects();
        objects.into_iter().find(|it| it.kind == "server group" && it.name.contains("30443")).map(|it| it.body)
    };
    {
        let mut shared = played.cloud.borrow_mut();
        let cloud = shared.cloud();
        let (id, _) = cloud.groups.all().find(|(_, it)| it.name.contains("30443")).unwrap();
        let listener = json!({
            "LoadBalancerId": "nlb-1", "ListenerStatus": "Running", "ListenerPort": 8443, "ListenerProtocol": "TCP",
            "ListenerDescription": "mine", "ServerGroupId": id,
        });
        cloud.listeners.put("lsn-mine", "", listener, testing::FakeMoment::default());
    }
    service.ports.pop();
    assert_eq!(writes(&played.settle(&mut service)), ["DeleteListener", "RemoveServersFromServerGroup"]);
    assert_eq!(group(&played).unwrap()["Servers"], json!([]));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    played.cloud.borrow_mut().cloud().listeners.remove("lsn-mine");
    assert_eq!(writes(&played.settle(&mut service)), ["DeleteServerGroup"]);
    assert_eq!(group(&played), None);
}
