//! A load balancer that there is: only what differs is written.

use aerostat_sdk::ExternalTrafficPolicy;

use super::*;

/// The writes for a Service before a load balancer that [`shown`] becomes.
fn written(service: &LoadBalancer, change: impl FnOnce(&mut Value)) -> (Vec<String>, Cloud) {
    written_with(Cloud::default(), service, change)
}

fn written_with(cloud: Cloud, service: &LoadBalancer, change: impl FnOnce(&mut Value)) -> (Vec<String>, Cloud) {
    let mut live = shown(5);
    change(&mut live);
    let cloud = Cloud { live: Some(live), ..cloud };
    let (progress, warnings) = cloud.ensure(service);
    assert!(progress.is_ok(), "{progress:?} {warnings:?}");
    let prefix = "Post load_balancers/5/actions/";
    (cloud.writes().iter().map(|it| it.replace(prefix, "")).collect(), cloud)
}

fn five() -> LoadBalancer {
    remembering("5")
}

#[test]
fn a_load_balancer_as_desired_is_only_read() {
    let host = Cloud::with(shown(5)).host();
    let ingress = ready(host.run(|| Hetzner::ensure(&five())));
    assert_eq!(ingress, service().current_ingress);
    assert_eq!(host.requests(), ["GET hcloud /load_balancers/5"]);
    assert_eq!(host.events(), []);
}

#[test]
fn a_new_one_is_ready_once_no_action_runs() {
    let new = LoadBalancer { current_ingress: Vec::new(), ..five() };
    let (progress, _) = Cloud { running: true, ..Cloud::with(shown(5)) }.ensure(&new);
    assert!(waits(progress).starts_with("the cloud builds load balancer 5"));
    assert_eq!(ready(Cloud::with(shown(5)).ensure(&new).0), service().current_ingress);
    let mut without = shown(5);
    without["public_net"]["ipv4"]["ip"] = Value::Null;
    without["public_net"]["ipv6"]["ip"] = Value::Null;
    assert!(waits(Cloud::with(without).ensure(&new).0).starts_with("the cloud builds"));
}

#[test]
fn a_load_balancer_listed_a_moment_ago_is_not_read_again() {
    let listed = vec![("host.listed".to_owned(), "true".to_owned())];
    let new = LoadBalancer { current_ingress: Vec::new(), extra: listed, ..five() };
    let host = Cloud::with(shown(5)).host();
    ready(host.run(|| Hetzner::ensure(&new)));
    assert_eq!(
        host.requests(),
        [
            "GET hcloud /load_balancers?label_selector=hcloud-ccm/service-uid&sort=id:asc&page=1&per_page=50",
            "GET hcloud /load_balancers/actions?status=running&page=1&per_page=50",
        ]
    );
    let other = Cloud::with(shown(6)).host();
    let _ = other.run(|| Hetzner::ensure(&new));
    assert_eq!(other.requests()[1], "GET hcloud /load_balancers/5", "what the list lacks is asked about alone");
}

#[test]
fn nodes_come_and_go_alone() {
    let (steps, cloud) = written(&five().with_node(worker(2)), |_| ());
    assert_eq!(steps, ["add_target"]);
    assert_eq!(cloud.body("add_target"), json!({ "type": "server", "server": { "id": 2 } }));
    let (steps, cloud) = written(&LoadBalancer { nodes: vec![worker(2)], ..five() }, |_| ());
    assert_eq!(steps, ["add_target", "remove_target"], "one serves all the time");
    assert_eq!(cloud.body("remove_target"), json!({ "type": "server", "server": { "id": 1 } }));
}

#[test]
fn a_server_that_is_gone_is_no_target_any_more() {
    for (status, code, text) in
        [(422, "invalid_input", "server with ID '1' not found"), (404, "not_found", "target not found")]
    {
        let error = json!({ "error": { "code": code, "message": text } });
        let cloud = Cloud::with(shown(5)).special("remove_target", status, error);
        let (progress, _) = cloud.ensure(&LoadBalancer { nodes: vec![worker(2)], ..five() });
        ready(progress);
    }
}

#[test]
fn another_way_to_a_node_takes_it_out_for_a_moment() {
    let service = five().with_annotation(key("use-private-ip"), "true");
    let (steps, cloud) = written_with(Cloud::default().setting("network", "7"), &service, |live| {
        live["private_net"] = json!([{ "network": 7, "ip": "10.0.0.2" }]);
    });
    assert_eq!(steps, ["remove_target", "add_target"]);
    assert_eq!(cloud.body("add_target")["use_private_ip"], json!(true));
}

#[test]
fn targets_that_somebody_chose_by_labels_stay() {
    let (steps, _) = written(&five(), |live| {
        let chosen = json!({ "type": "label_selector", "label_selector": { "selector": "a=b" }, "targets": [] });
        live["targets"].as_array_mut().unwrap().push(chosen);
    });
    assert_eq!(steps, [""; 0]);
}

#[test]
fn a_target_that_is_refused_takes_nothing_from_others() {
    let refused = json!({ "error": { "code": "missing_ipv4", "message": "no public IPv4" } });
    let cloud = Cloud::with(shown(5)).special("add_target", 422, refused);
    let (progress, warnings) = cloud.ensure(&five().with_node(worker(2)).with_node(worker(3)));
    ready(progress);
    assert_eq!(cloud.writes().len(), 2);
    assert!(warnings[0].starts_with("TargetRefused: node worker-2 takes no traffic"), "{warnings:?}");
    let full = json!({ "error": { "code": "resource_limit_exceeded", "message": "enough" } });
    let (progress, warnings) =
        Cloud::with(shown(5)).special("add_target", 403, full).ensure(&five().with_node(worker(2)));
    ready(progress);
    assert!(warnings[0].starts_with("MaxTargetsReached: node worker-2 is left out"), "{warnings:?}");
}

#[test]
fn more_nodes_than_its_type_takes_are_left_out() {
    let many = (2..=30).fold(five(), |it, id| it.with_node(worker(id)));
    let cloud = Cloud::with(shown(5));
    let (progress, warnings) = cloud.ensure(&many);
    ready(progress);
    assert_eq!(cloud.writes().len(), 24);
    assert!(warnings[0].starts_with("MaxTargetsReached: its type takes 25 nodes, and 5 are left out"), "{warnings:?}");
}

#[test]
fn ports_are_added_changed_and_removed() {
    let service = LoadBalancer { ports: Vec::new(), ..five() };
    let service =
        service.with_port(Port::new(Protocol::Tcp, 81, 30_081)).with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let (steps, cloud) = written(&service, |live| {
        let mut other = live["services"][0].clone();
        other["listen_port"] = json!(443);
        live["services"].as_array_mut().unwrap().push(other);
    });
    assert_eq!(steps, ["delete_service", "add_service", "update_service"]);
    assert_eq!(cloud.body("delete_service"), json!({ "listen_port": 80 }));
    assert_eq!(cloud.body("update_service")["destination_port"], json!(30_443));
}

#[test]
fn fields_without_an_annotation_stay() {
    let (steps, _) = written(&five(), |live| {
        live["algorithm"]["type"] = json!("least_connections");
        live["services"][0]["proxyprotocol"] = json!(true);
        live["services"][0]["health_check"]["interval"] = json!(7);
        live["load_balancer_type"] = kind("lb31", 150);
        live["private_net"] = json!([{ "network": 99, "ip": "10.0.0.2" }]);
        live["public_net"]["ipv4"]["dns_ptr"] = json!("mine.example.com");
        live["labels"]["team"] = json!("blue");
    });
    assert_eq!(steps, [""; 0]);
}

#[test]
fn an_annotation_is_written_once() {
    let service = ["lb21", "least_connections", "v4.example.com", "v6.example.com", "true", "renamed"]
        .into_iter()
        .zip(["type", "algorithm-type", "ipv4-rdns", "ipv6-rdns", "uses-proxyprotocol", "name"])
        .fold(five(), |it, (value, name)| it.with_annotation(key(name), value));
    let (steps, cloud) = written(&service, |it| it["labels"]["team"] = json!("blue"));
    let expected = [
        "Put load_balancers/5",
        "change_dns_ptr",
        "change_dns_ptr",
        "change_algorithm",
        "change_type",
        "update_service",
    ];
    assert_eq!(steps, expected);
    assert_eq!(cloud.body("load_balancers/5")["name"], json!("renamed"));
    assert_eq!(cloud.body("load_balancers/5")["labels"]["team"], json!("blue"), "others' labels stay");
    let (progress, _) = cloud.ensure(&LoadBalancer { current_ingress: Vec::new(), ..service });
    assert!(ready(progress).iter().all(|it| it.ip_mode == Some(IpMode::Proxy)));
}

#[test]
fn it_leaves_other_networks_and_joins_the_clusters() {
    let cloud = || Cloud::default().setting("network", "7");
    let service = five().with_annotation(key("private-ipv4"), "10.0.0.9");
    let with = |service: &LoadBalancer, nets: Value| {
        let mut live = shown(5);
        live["private_net"] = nets;
        let cloud = Cloud { live: Some(live), ..cloud() };
        let _ = cloud.ensure(service);
        cloud.writes().iter().map(|it| it.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(with(&service, json!([])), ["attach_to_network"]);
    let other = json!([{ "network": 8, "ip": "10.0.0.2" }]);
    assert_eq!(with(&service, other.clone()), ["detach_from_network", "attach_to_network"]);
    let another_address = json!([{ "network": 7, "ip": "10.0.0.2" }]);
    assert_eq!(with(&service, another_address.clone()), ["detach_from_network", "attach_to_network"]);
    assert_eq!(with(&five(), another_address), [""; 0], "no address is asked for");
    assert_eq!(with(&service, json!([{ "network": 7, "ip": "10.0.0.9" }])), [""; 0]);
}

#[test]
fn the_public_interface_goes_last_and_comes_first() {
    let service = five().with_annotation(key("disable-public-network"), "true");
    let service = service.with_annotation(key("use-private-ip"), "true");
    let cloud = Cloud::default().setting("network", "7");
    let mut live = shown(5);
    live["private_net"] = json!([{ "network": 7, "ip": "10.0.0.2" }]);
    let cloud = Cloud { live: Some(live.clone()), ..cloud };
    let _ = cloud.ensure(&service);
    let last = |it: &String| it.rsplit('/').next().unwrap().to_owned();
    let steps: Vec<_> = cloud.writes().iter().map(last).collect();
    assert_eq!(steps, ["remove_target", "add_target", "disable_public_interface"]);
    live["public_net"]["enabled"] = json!(false);
    let hidden = Cloud { live: Some(live.clone()), sent: Rc::default(), ..cloud };
    live["targets"][0]["use_private_ip"] = json!(true);
    let hidden_and_private = Cloud { live: Some(live), sent: Rc::default(), ..hidden };
    let (progress, _) = hidden_and_private.ensure(&service);
    assert_eq!(ready(progress), [Ingress::ip("10.0.0.2").ip_mode(IpMode::Vip)]);
}

#[test]
fn the_status_shows_what_it_should() {
    let ingress = |name: &str, value: &str| {
        let mut live = shown(5);
        live["private_net"] = json!([{ "network": 7, "ip": "10.0.0.2" }]);
        let (progress, _) = Cloud::with(live).setting("network", "7").ensure(&five().with_annotation(key(name), value));
        ready(progress).into_iter().map(|it| it.ip.or(it.hostname).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ingress("http-redirect-http", ""), ["203.0.113.9", "2001:db8::9", "10.0.0.2"]);
    assert_eq!(ingress("ipv6-disabled", "true"), ["203.0.113.9", "10.0.0.2"]);
    assert_eq!(ingress("disable-private-ingress", "true"), ["203.0.113.9", "2001:db8::9"]);
    assert_eq!(ingress("hostname", "lb.example.com"), ["lb.example.com"]);
}

#[test]
fn a_busy_load_balancer_is_waited_for() {
    let locked = json!({ "error": { "code": "locked", "message": "an action is running" } });
    let cloud = Cloud::with(shown(5)).special("add_target", 423, locked);
    let (progress, _) = cloud.ensure(&five().with_node(worker(2)).with_node(worker(3)));
    assert!(waits(progress).contains("423 an action is running"));
    assert_eq!(cloud.writes().len(), 1, "the others are not tried");
    let running = Cloud { running: true, ..Cloud::with(shown(5)) };
    let (progress, _) = running.ensure(&five().with_node(worker(2)));
    assert!(waits(progress).starts_with("the cloud carries out add_target of load balancer 5"));
    assert_eq!(running.writes(), [""; 0]);
}

#[test]
fn an_action_that_failed_a_moment_ago_is_told_and_not_repeated() {
    let failed = |finished: &str| {
        json!({ "actions": [{
            "id": 9, "command": "change_type", "status": "error", "finished": finished,
            "error": { "code": "invalid_load_balancer_type", "message": "it does not fit" }, "resources": [],
        }] })
    };
    let service = five().with_annotation(key("type"), "lb21");
    let cloud = Cloud::with(shown(5)).special("5/actions", 200, failed("1970-01-01T00:16:00Z"));
    let Err(Error::Unavailable(why)) = cloud.ensure(&service).0 else { panic!("it was repeated") };
    assert!(why.contains("action 9 (change_type) has failed: it does not fit (invalid_load_balancer_type)"), "{why}");
    assert_eq!(cloud.writes(), [""; 0]);
    let cloud = Cloud::with(shown(5)).special("5/actions", 200, failed("1970-01-01T00:10:00Z"));
    ready(cloud.ensure(&service).0);
    assert_eq!(cloud.writes(), ["Post load_balancers/5/actions/change_type"]);
}

#[test]
fn targets_follow_the_nodes_whatever_else_is_refused() {
    let cloud = Cloud::with(shown(5));
    let service = five().with_node(worker(2)).with_annotation(key("algorithm-type"), "foo");
    let (progress, _) = cloud.ensure(&service);
    assert!(refusal(progress).contains("\"foo\" is not round_robin or least_connections"));
    assert_eq!(cloud.writes(), ["Post load_balancers/5/actions/add_target"]);
}

#[test]
fn deletions_of_one_call_are_few() {
    let cloud = Cloud::with({
        let mut live = shown(5);
        let target = |id: u64| json!({ "type": "server", "server": { "id": id }, "use_private_ip": false });
        live["targets"] = json!((1..=20).map(target).collect::<Vec<_>>());
        live
    });
    let (progress, _) = cloud.ensure(&five());
    assert!(waits(progress).contains("has 11 more changes to come"));
    assert_eq!(cloud.writes().len(), 8);
}

#[test]
fn a_takeover_changes_no_health_check_for_itself() {
    let local = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..five() };
    let vendors = |it: &mut Value| it["labels"] = json!({ "hcloud-ccm/service-uid": UID });
    assert_eq!(written(&local, vendors).0, [""; 0]);
    let (steps, cloud) = written(&local.clone().with_node(worker(2)), vendors);
    assert_eq!(steps, ["Put load_balancers/5", "update_service", "add_target"], "with the first write that is needed");
    assert_eq!(cloud.body("load_balancers/5")["labels"]["aerostat.dev/cluster-uid"], json!(CLUSTER));
    assert_eq!(cloud.body("update_service")["health_check"]["port"], json!(31_000));
    assert_eq!(written(&local, |_| ()).0, ["update_service"], "ours is checked as it should be");

    // A setting makes health checks speak what the port does, as with the vendor's controller.
    let http = five().with_annotation(key("protocol"), "http");
    let left = |checked: &'static str| {
        move |live: &mut Value| {
            vendors(live);
            live["services"][0]["protocol"] = json!("http");
            live["services"][0]["http"] = json!({ "cookie_name": "HCLBSTICKY", "cookie_lifetime": 300 });
            live["services"][0]["health_check"]["protocol"] = json!(checked);
            if checked == "http" {
                let asked =
                    json!({ "domain": "", "path": "/", "response": "", "status_codes": ["2??", "3??"], "tls": false });
                live["services"][0]["health_check"]["http"] = asked;
            }
        }
    };
    for (setting, value) in [("Interval", "15s"), ("Timeout", "10"), ("Retries", "3")] {
        let cloud = Cloud::default().setting(format!("loadBalancers.healthCheck{setting}"), value);
        assert_eq!(written_with(cloud, &http, left("http")).0, [""; 0], "{setting}");
    }
    assert_eq!(written(&http, left("tcp")).0, [""; 0], "without any, it is asked whether the port is open");
}
