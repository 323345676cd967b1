//! Load balancers that are there: what of DO cases 26, 33 to 37 and 46 is not the same in every cloud.

use cloud_provider::{Error, Protocol};
use serde_json::json;
use tests::clouds::digitalocean::LoadBalancerStatus;

use crate::setup::{ID, Rig, Service, dual, key, port, rig, warning, worker};

/// A Service that is served.
async fn served(rig: &Rig) -> Service<'_> {
    let mut service = Service::new(rig);
    service.served().await;
    service
}

#[tokio::test]
async fn do_26_rules_that_are_gone_are_taken_away() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("allow-rules", "ip:192.0.2.1");
    service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
    service.served().await;
    service.desired.source_ranges.clear();
    service.remove("allow-rules");
    service.served().await;
    assert_eq!(rig.body("PUT", "/v2/load_balancers/*")["firewall"], json!({}));
    assert_eq!(rig.cloud.load_balancers().get(&rig.only()).unwrap().attributes.firewall.allow, [""; 0]);
}

#[tokio::test]
async fn do_34_nodes_that_come_and_go_are_written_alone() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    let id = rig.only();
    // Somebody changes what we do not manage.
    rig.cloud.load_balancers().update(&id, |it| "STRONG".clone_into(&mut it.attributes.tls_cipher_policy));
    let before = rig.cloud.load_balancers().get(&id).unwrap().attributes;

    service.desired.nodes.push(worker(2));
    service.served().await;
    assert_eq!(rig.writes()[1..], [format!("POST /v2/load_balancers/{id}/droplets → 204")]);
    assert_eq!(rig.body("POST", "/v2/load_balancers/*/droplets"), json!({ "droplet_ids": [2] }));
    let mut after = rig.cloud.load_balancers().get(&id).unwrap().attributes;
    assert_eq!(after.droplet_ids, [1, 2]);

    service.desired.nodes.remove(0);
    service.served().await;
    assert_eq!(rig.writes()[2..], [format!("DELETE /v2/load_balancers/{id}/droplets → 204")]);
    after = rig.cloud.load_balancers().get(&id).unwrap().attributes;
    assert_eq!(after.droplet_ids, [2]);
    after.droplet_ids.clone_from(&before.droplet_ids);
    assert_eq!(after, before, "nothing else changed");
}

#[tokio::test]
async fn do_34_a_replacement_keeps_fields_of_others() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    let id = rig.only();
    rig.cloud.load_balancers().update(&id, |balancer| {
        "STRONG".clone_into(&mut balancer.attributes.tls_cipher_policy);
        "0e5c5f1c-0000-4a8e-8f0b-1f6d3f6f2a11".clone_into(&mut balancer.attributes.project_id);
        balancer.attributes.size_unit = 4;
    });
    let before = rig.cloud.load_balancers().get(&id).unwrap().attributes;
    service.desired.ports.push(port(Protocol::Tcp, 443));
    service.served().await;
    let mut after = rig.cloud.load_balancers().get(&id).unwrap().attributes;
    assert_eq!(after.forwarding_rules.len(), 2);
    after.forwarding_rules.truncate(1);
    assert_eq!(after, before, "only the rules changed");
}

#[tokio::test]
async fn do_34_without_nodes_the_last_ones_stay() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    service.desired.nodes.clear();
    assert!(matches!(service.step().await, Err(Error::Unavailable(_))));
    assert_eq!(rig.writes().len(), 1);
}

#[tokio::test]
async fn do_35_a_missing_annotated_load_balancer_is_built_again() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    let gone = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    service.annotate(ID, gone);
    let (_, events) = service.served_with().await;
    let (reason, message) = warning(&events);
    assert_eq!(reason, "LoadBalancerNotFound");
    assert!(message.contains(gone), "{message}");
    assert_eq!(service.annotation(ID), Some(&*rig.only()));
}

#[tokio::test]
async fn do_46_a_stack_that_cannot_be_changed_stays() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.desired.nodes = vec![dual(1)];
    service.served().await;
    service.desired.nodes.push(worker(2));
    service.desired.ports.push(port(Protocol::Tcp, 443));
    let (_, events) = service.served_with().await;
    let (reason, message) = warning(&events);
    assert_eq!(reason, "LoadBalancerImmutable");
    assert!(message.starts_with("network stack stays DUALSTACK"), "{message}");
    assert_eq!(rig.body("PUT", "/v2/load_balancers/*")["network_stack"], json!("DUALSTACK"));
}

#[tokio::test]
async fn a_change_that_is_impossible_is_not_requested() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    for (name, value, wanted) in [
        ("type", "REGIONAL", "type stays REGIONAL_NETWORK: it cannot become REGIONAL"),
        ("network", "INTERNAL", "network stays EXTERNAL: it cannot become INTERNAL"),
        ("network-stack", "DUALSTACK", "network stack stays IPV4: it cannot become DUALSTACK"),
    ] {
        let before = service.annotation(&key(name)).map(str::to_owned);
        service.annotate(&key(name), value);
        let (_, events) = service.served_with().await;
        let (reason, message) = warning(&events);
        assert_eq!(reason, "LoadBalancerImmutable");
        assert!(message.starts_with(wanted), "{message}");
        assert_eq!(service.annotation(&key(name)), Some(value), "it is its author's");
        match before {
            Some(before) => service.annotate(&key(name), &before),
            None => service.remove(name),
        }
    }
    assert_eq!(rig.writes().len(), 1);
}

#[tokio::test]
async fn a_refusal_has_the_words_of_the_cloud() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    service.annotate(&key("size-unit"), "3");
    let why = service.invalid().await;
    assert!(why.contains("422 a load balancer can be resized once an hour"), "{why}");
}

#[tokio::test]
async fn nodes_are_followed_although_an_annotation_is_invalid() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    let id = rig.only();
    service.annotate(&key("size-unit"), "many");
    service.desired.nodes = vec![worker(2)];
    let why = service.invalid().await;
    assert!(why.contains("do-loadbalancer-size-unit: \"many\" is not"), "{why}");
    let expected = ["POST", "DELETE"].map(|it| format!("{it} /v2/load_balancers/{id}/droplets → 204"));
    assert_eq!(rig.writes()[1..], expected);
    assert_eq!(rig.cloud.load_balancers().get(&id).unwrap().attributes.droplet_ids, [2]);
    assert_eq!(service.invalid().await, why);
    assert_eq!(rig.writes()[1..], expected, "once");
}

#[tokio::test]
async fn nodes_are_followed_although_the_cloud_refuses_the_size() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    let id = rig.only();
    service.annotate(&key("size-unit"), "3");
    service.desired.nodes.push(worker(2));
    let why = service.invalid().await;
    assert!(why.contains("422 a load balancer can be resized once an hour"), "{why}");
    let expected =
        [format!("PUT /v2/load_balancers/{id} → 422"), format!("POST /v2/load_balancers/{id}/droplets → 204")];
    assert_eq!(rig.writes()[1..], expected);
    assert_eq!(rig.cloud.load_balancers().get(&id).unwrap().attributes.droplet_ids, [1, 2]);
}

#[tokio::test]
async fn an_errored_load_balancer_is_changed_and_then_judged() {
    let rig = rig(&[]).await;
    let mut service = served(&rig).await;
    let id = rig.only();
    rig.cloud.load_balancers().update(&id, |it| it.status = LoadBalancerStatus::Errored);
    service.desired.ports.push(port(Protocol::Tcp, 443));
    let Err(Error::Unavailable(why)) = service.step().await else { panic!("not errored") };
    assert!(why.contains("is errored"), "{why}");
    assert_eq!(rig.writes()[1..], [format!("PUT /v2/load_balancers/{id} → 200")]);
    service.desired.nodes.push(worker(2));
    assert!(service.step().await.is_err());
    assert_eq!(rig.cloud.load_balancers().get(&id).unwrap().attributes.droplet_ids, [1, 2]);
    rig.cloud.load_balancers().update(&id, |it| it.status = LoadBalancerStatus::Active);
    service.served().await;
}
