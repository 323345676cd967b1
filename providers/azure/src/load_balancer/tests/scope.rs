//! The load balancers that a call reads: no more than its Services may be on, and no less.

use aerostat_sdk::Ingress;

use super::*;

const INTERNAL: &str = "azure-load-balancer-internal";

/// The load balancers that were read since so many requests.
fn read(stage: &BalancerStage, since: usize) -> Vec<String> {
    let sent = stage.host.sent();
    let names = ["kubernetes", "kubernetes-internal"];
    let is_one = |it: &Request| it.path.iter().rev().nth(1).is_some_and(|kind| kind == "loadBalancers");
    let named = |it: &Request| it.path.last().cloned().filter(|name| names.contains(&&**name));
    sent[since..].iter().filter(|it| it.method == Method::Get && is_one(it)).filter_map(named).collect()
}

fn inside(service: LoadBalancer) -> LoadBalancer {
    service.with_annotation(key(INTERNAL), "true")
}

#[test]
fn one_that_is_known_to_be_on_one_reads_no_other() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    let asked = stage.asked();
    stage.ready(service.clone());
    assert_eq!(read(&stage, asked), ["kubernetes"]);
    let asked = stage.asked();
    stage.ready(LoadBalancer { memo: None, ..service });
    assert_eq!(read(&stage, asked), ["kubernetes", "kubernetes-internal"], "without a memo it may be on any");
}

#[test]
fn an_address_that_nothing_read_has_may_be_anybodys() {
    let stage = BalancerStage::new();
    let other = stage.ready(inside(named("two", &uid(2)).with_port(tcp(80))));
    let service = stage.ready(service());
    let before = stage.group();
    let asked = stage.asked();
    let claims = LoadBalancer { current_ingress: vec![Ingress::ip(ips(&other)[0])], ..service };
    stage.ready(claims);
    assert!(read(&stage, asked).contains(&"kubernetes-internal".to_owned()));
    assert_eq!(before, stage.group(), "the address of another Service stays in its rule");
}

#[test]
fn one_that_moves_says_so_before_it_is_on_two() {
    let stage = BalancerStage::new();
    let service = inside(stage.ready(service()));
    let asked = stage.asked();
    let Ok(Progress::Pending(announced)) = stage.step(&service) else { panic!("it is not over") };
    assert_eq!(stage.writes(asked), [""; 0]);
    // The process dies over the first writes: what was announced is all that is known.
    let announced = service.after(announced.status);
    assert!(stage.step(&announced).is_ok());
    assert!(!names(&stage.internal(), "frontendIPConfigurations").is_empty());
    stage.gone(&announced);
    assert_eq!((stage.balancer(), stage.internal(), stage.publics().len()), (Value::Null, Value::Null, 0));
}

#[test]
fn one_that_has_moved_is_on_one_again() {
    let stage = BalancerStage::new();
    let moved = stage.ready(inside(stage.ready(service())));
    assert_eq!((stage.balancer(), stage.publics().len()), (Value::Null, 0));
    let asked = stage.asked();
    stage.ready(moved);
    assert_eq!(read(&stage, asked), ["kubernetes-internal"]);
}

#[test]
fn a_rule_that_is_made_in_between_keeps_a_balancer() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    let nat: fn(&mut Value) =
        |it| it["properties"]["inboundNatRules"] = json!([{ "name": "ssh", "properties": { "x": 1 } }]);
    stage.cloud.borrow_mut().meanwhile = vec![("/loadbalancers/".to_owned(), nat)];
    assert!(
        matches!(stage.delete(&service), Ok(Deletion::Pending(it)) if it.wait.reason.contains("changed meanwhile"))
    );
    assert_eq!(stage.balancer()["properties"]["inboundNatRules"][0]["properties"]["x"], 1);
}

#[test]
fn an_address_that_another_begins_to_share_stays() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    let shared: fn(&mut Value) = |it| it["tags"]["k8s-azure-service"] = json!("default/web,default/other");
    stage.cloud.borrow_mut().meanwhile = vec![("/publicipaddresses/".to_owned(), shared)];
    stage.gone(&service);
    let [public] = &stage.publics()[..] else { panic!("it stays: {:?}", stage.publics()) };
    assert_eq!(stage.public(public)["tags"]["k8s-azure-service"], "default/other");
}
