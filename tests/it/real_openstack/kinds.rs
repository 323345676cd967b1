//! Services that ask for more than a port.

use http::Method;
use serde_json::{Value, json};

use crate::setup::{PREFIX, Site, annotated, play, port};

/// Cases: openstack 26, openstack 27
#[test]
fn openstack_026_an_internal_service_becomes_public_and_back() {
    play(async |cloud| {
        let site = Site::new(cloud, "internal").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        let key = "service.beta.kubernetes.io/openstack-internal-load-balancer";
        site.create("in", json!([port(80)]), &json!({ "metadata": { "annotations": { key: "true" } } })).await;
        let inside = site.address("in", "").await;
        assert!(inside.starts_with("10.6.0."), "{inside}");
        assert!(site.floating("in").await.is_empty());
        site.change("in", &json!({ "metadata": { "annotations": { key: null } } })).await;
        let outside = site.address("in", &inside).await;
        assert!(outside.starts_with("172.24.4."), "{outside}");
        site.change("in", &json!({ "metadata": { "annotations": { key: "true" } } })).await;
        assert_eq!(site.address("in", &outside).await, inside);
        assert!(site.floating("in").await.is_empty());
        site.delete("in").await;
        process.stop().await;
    });
}

/// Cases: openstack 29, openstack 50, openstack 51
#[test]
fn openstack_029_an_address_that_is_asked_for_is_taken_and_kept() {
    play(async |cloud| {
        let site = Site::new(cloud, "address").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        let wanted = json!({ "floatingip": {
            "floating_network_id": cloud.ground.external, "floating_ip_address": "172.24.4.200",
            "project_id": cloud.ground.project, "description": "of a person",
        } });
        let made = cloud.cloud.done(Method::POST, "network", "/v2.0/floatingips", wanted).await;
        let path = format!("/v2.0/floatingips/{}", made["floatingip"]["id"].as_str().unwrap());
        site.create("named", json!([port(80)]), &json!({ "spec": { "loadBalancerIP": "172.24.4.200" } })).await;
        assert_eq!(site.address("named", "").await, "172.24.4.200");
        site.create("second", json!([port(80)]), &json!({ "spec": { "loadBalancerIP": "172.24.4.200" } })).await;
        site.told("second", &["172.24.4.200"]).await;
        site.delete("named").await;
        let left = cloud.cloud.done(Method::GET, "network", &path, Value::Null).await;
        assert_eq!(left["floatingip"]["port_id"], Value::Null, "{left}");
        // It is free now, and whatever changes the second tries again.
        site.change("second", &json!({ "spec": { "sessionAffinity": "ClientIP" } })).await;
        assert_eq!(site.address("second", "").await, "172.24.4.200");
        site.delete("second").await;
        let keeps = annotated(&[("keep-floatingip", "true")]);
        site.create("keeps", json!([port(80)]), &keeps).await;
        site.address("keeps", "").await;
        site.delete("keeps").await;
        let kept = site.floating("keeps").await;
        assert_eq!(kept.len(), 1, "{kept:#?}");
        assert_eq!(kept[0]["port_id"], Value::Null);
        for id in [&made["floatingip"]["id"], &kept[0]["id"]] {
            let path = format!("/v2.0/floatingips/{}", id.as_str().unwrap());
            cloud.cloud.done(Method::DELETE, "network", &path, Value::Null).await;
        }
        process.stop().await;
    });
}

/// Cases: openstack 30
#[test]
fn openstack_030_floating_subnets_are_found_by_name_and_tags() {
    play(async |cloud| {
        let site = Site::new(cloud, "patterns").await;
        // The operator's own subnet would win.
        let site =
            Site { setup: site.setup.edit(|it| drop(settings(it).remove("loadBalancers.floatingSubnetID"))), ..site };
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        site.create("name", json!([port(80)]), &annotated(&[("floating-subnet", "~^ext-b$")])).await;
        site.create("tags", json!([port(80)]), &annotated(&[("floating-subnet-tags", "blue")])).await;
        for name in ["name", "tags"] {
            let address = site.address(name, "").await;
            assert!(address.starts_with("172.24.5."), "{address}");
            site.delete(name).await;
        }
        process.stop().await;
    });
}

/// Cases: openstack 31, openstack 33, openstack 35, openstack 36, openstack 37, openstack 40
#[test]
fn openstack_031_protocols_are_those_of_octavia() {
    play(async |cloud| {
        let site = Site::new(cloud, "kinds").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        let web = annotated(&[("proxy-protocol", "v2")]);
        site.create("proxy", json!([port(80)]), &web).await;
        let datagrams =
            |name: &str, number: u16, protocol: &str| json!({ "name": name, "port": number, "protocol": protocol });
        let ports = json!([datagrams("dns", 53, "UDP"), datagrams("sctp", 36412, "SCTP")]);
        site.create("many", ports, &annotated(&[("enable-health-monitor", "true")])).await;
        site.create("local", json!([port(80)]), &json!({ "spec": { "externalTrafficPolicy": "Local" } })).await;
        site.create("bare", json!([port(80)]), &json!({ "spec": { "allocateLoadBalancerNodePorts": false } })).await;
        for name in ["proxy", "many", "local", "bare"] {
            site.address(name, "").await;
        }
        assert_eq!(site.members(&site.active("bare").await).await, [[""; 0]]);
        site.told("bare", &["node port"]).await;
        let one = async |name: &str, kind: &str, field: &str| -> Vec<String> {
            let balancer = site.active(name).await;
            let parts = site.parts(&balancer, kind).await;
            let mut found: Vec<_> = parts.iter().map(|it| it[field].as_str().unwrap_or("-").to_owned()).collect();
            found.sort();
            found
        };
        assert_eq!(one("proxy", "pools", "protocol").await, ["PROXYV2"]);
        assert_eq!(one("many", "listeners", "protocol").await, ["SCTP", "UDP"]);
        let monitors = cloud.cloud.list("load-balancer", "/v2.0/lbaas/healthmonitors", "healthmonitors").await;
        let mut kinds: Vec<_> = monitors.iter().map(|it| it["type"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["HTTP", "SCTP", "UDP-CONNECT"]);
        // Between HTTP and TCP one port serves one protocol: OpenStack's own manager stays in error for ever.
        site.change(
            "proxy",
            &json!({ "metadata": { "annotations": {
            format!("{PREFIX}proxy-protocol"): null, format!("{PREFIX}x-forwarded-for"): "true",
        } } }),
        )
        .await;
        for protocol in ["HTTP", "TCP"] {
            site.eventually(&format!("a listener of {protocol}"), async || {
                let balancer = site.active("proxy").await;
                let [listeners, pools] =
                    [site.parts(&balancer, "listeners").await, site.parts(&balancer, "pools").await];
                let of = |all: &[Value]| all.len() == 1 && all[0]["protocol"] == protocol;
                (of(&listeners) && of(&pools)).then_some(())
            })
            .await;
            let change = json!({ "metadata": { "annotations": { format!("{PREFIX}x-forwarded-for"): null } } });
            site.change("proxy", &change).await;
        }
        for name in ["proxy", "many", "local", "bare"] {
            site.delete(name).await;
        }
        process.stop().await;
    });
}

/// Cases: openstack 32, openstack 34, openstack 39, openstack 54
#[test]
fn openstack_039_refusals_are_told() {
    play(async |cloud| {
        let site = Site::new(cloud, "refused").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        let _ = site.asked();
        site.create("class", json!([port(80)]), &annotated(&[("class", "gold")])).await;
        site.told("class", &["gold"]).await;
        let both = annotated(&[("proxy-protocol", "true"), ("x-forwarded-for", "true")]);
        site.create("both", json!([port(80)]), &both).await;
        site.told("both", &["x-forwarded-for"]).await;
        site.create("tls", json!([port(80)]), &annotated(&[("default-tls-container-ref", "here")])).await;
        site.told("tls", &["default-tls-container-ref"]).await;
        assert_eq!(site.asked().writes(), Vec::<String>::new());

        let path = format!("/v2.0/lbaas/quotas/{}", cloud.ground.project);
        let quota = json!({ "quota": { "loadbalancer": 0 } });
        cloud.cloud.done(Method::PUT, "load-balancer", &path, quota).await;
        site.create("many", json!([port(80)]), &json!({})).await;
        site.told("many", &["uota"]).await;
        cloud.cloud.done(Method::DELETE, "load-balancer", &path, Value::Null).await;
        for name in ["class", "both", "tls", "many"] {
            site.delete(name).await;
        }
        process.stop().await;
    });
}

/// Cases: openstack 46, openstack 52
#[test]
fn openstack_046_two_services_share_a_load_balancer() {
    play(async |cloud| {
        let site = Site::new(cloud, "shared").await.setting("loadBalancers.maxShared", "3");
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        site.create("first", json!([port(80)]), &json!({})).await;
        let address = site.address("first", "").await;
        let balancer = site.active("first").await;
        let shares = annotated(&[("load-balancer-id", balancer["id"].as_str().unwrap())]);
        site.create("second", json!([port(81)]), &shares).await;
        assert_eq!(site.address("second", "").await, address);
        site.create("clash", json!([port(80)]), &shares).await;
        site.told("clash", &["80"]).await;
        site.delete("clash").await;
        assert_eq!(site.parts(&balancer, "listeners").await.len(), 2);
        site.delete("second").await;
        let left = site.active("first").await;
        assert_eq!(site.parts(&left, "listeners").await.len(), 1);
        assert_eq!(site.parts(&left, "pools").await.len(), 1);
        site.delete("first").await;
        process.stop().await;
    });
}

#[test]
fn a_load_balancer_deleted_by_hand_comes_back_with_its_address() {
    play(async |cloud| {
        let site = Site::new(cloud, "drift").await;
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        site.create("again", json!([port(80)]), &json!({})).await;
        let address = site.address("again", "").await;
        let first = site.active("again").await;
        let path = format!("/v2.0/lbaas/loadbalancers/{}?cascade=true", first["id"].as_str().unwrap());
        cloud.cloud.done(Method::DELETE, "load-balancer", &path, Value::Null).await;
        site.eventually("it goes", async || site.balancers("again").await.is_empty().then_some(())).await;
        site.change(
            "again",
            &json!({ "metadata": { "labels": { "looked": "at" } }, "spec": { "ports": [port(80), port(81)] } }),
        )
        .await;
        site.eventually("another load balancer", async || {
            site.balancers("again").await.first().filter(|it| it["id"] != first["id"]).map(|_| ())
        })
        .await;
        site.active("again").await;
        site.eventually("its floating IP", async || {
            site.floating("again").await.first().filter(|it| !it["port_id"].is_null()).map(|_| ())
        })
        .await;
        assert_eq!(site.address("again", "").await, address);
        site.delete("again").await;
        assert!(site.floating("again").await.is_empty());
        process.stop().await;
    });
}

fn settings(config: &mut Value) -> &mut serde_json::Map<String, Value> {
    config["provider"]["settings"].as_object_mut().unwrap()
}
