//! Input that operators and authors get wrong: each is told with what to correct, no node goes, and no address is left.

use serde_json::{Value, json};
use tests::clouds::azure::{CLIENT, SECRET, id};
use tests::kubelet;
use tests::operator::{Setup, assert_waits, event, initialized, says};

use crate::ground::{Ground, gathered};

/// Changes the `entra` credential.
fn entra(setup: Setup, change: impl FnOnce(&mut Value)) -> Setup {
    setup.edit(|config| change(&mut config["credentials"][0]["entra"]))
}

/// A node whose machine is there, and that nobody has initialised yet.
async fn waiting_node(ground: &Ground, number: u32) -> String {
    let name = format!("node-{number}");
    ground.cloud.with(|world| _ = world.add_machine(number, &name));
    kubelet::join(&ground.cluster.admin, &name).await.unwrap();
    name
}

#[tokio::test]
async fn bad_credentials_of_azure_are_told_in_entras_words() {
    let ground = Ground::resting(|_| {}, |setup| setup).await;
    let node = waiting_node(&ground, 1).await;
    let base = || tests::vendor::azure::setup(&ground.cluster, &ground.cloud);
    let token = |setup: Setup, text: &str| {
        let file = setup.folder.write("token", text);
        entra(setup, |login| {
            login.as_object_mut().unwrap().remove("clientSecret");
            login["federatedToken"] = json!({ "file": file });
        })
    };
    let wrong = base();
    wrong.folder.write("secret", "another-secret-than-the-right-one");
    for (setup, parts) in [
        (wrong, ["AADSTS7000215", "secret"]),
        (entra(base(), |it| it["tenant"] = json!("nowhere.example")), ["AADSTS90002", "nowhere.example"]),
        (
            entra(base(), |it| it["clientId"] = json!("00000000-0000-0000-0000-00000000000a")),
            ["AADSTS700016", "clientId"],
        ),
        (token(base(), "no.token.at-all"), ["AADSTS50027", "token"]),
    ] {
        let mut process = setup.start();
        let told = process.says(parts[0]).await;
        says(told["message"].as_str().unwrap(), &[parts[1]]);
        process.kill_and_shorten_its_lease(&ground.cluster).await;
    }
    // A secret whose time is over, while it works.
    let setup = base();
    let mut process = setup.started().await;
    initialized(&ground.cluster, &node).await;
    ground.cloud.identity().set_secret(CLIENT, SECRET, true);
    ground.cloud.identity().expire_all();
    let second = waiting_node(&ground, 2).await;
    process.says("AADSTS7000222").await;
    event(&ground.cluster, &second, &["401"]).await;
    assert_waits(&ground.cluster, &second).await;
    assert!(ground.nodes().get_opt(&node).await.unwrap().is_some());
    ground.cloud.identity().set_secret(CLIENT, SECRET, false);
    setup.folder.write("secret", format!("{SECRET}\n"));
    initialized(&ground.cluster, &second).await;
    process.stop().await;
    assert!(ground.cloud.requests().iter().all(|it| it.method.is_safe() || !it.path.starts_with("/subscriptions")));
    ground.stop().await;
}

#[tokio::test]
async fn bad_networks_of_azure_are_told_by_their_setting() {
    let nowhere = |config: &mut Value| config["provider"]["settings"]["vnetName"] = json!("nowhere");
    let ground = Ground::with(|_| {}, |setup| setup.edit(nowhere)).await;
    let node = waiting_node(&ground, 1).await;
    event(&ground.cluster, &node, &["there is no virtual network nowhere", "correct settings vnetName"]).await;
    assert_waits(&ground.cluster, &node).await;
    ground.stop().await;
}

#[tokio::test]
async fn bad_security_groups_and_empty_answers_write_nothing() {
    let ground = Ground::started(gathered).await;
    let group = id("Microsoft.Network/networkSecurityGroups/nsg1");
    let body = ground.cloud.with(|world| world.remove(&group)).unwrap();
    let begun = ground.cloud.requests().len();
    ground.create("web", &json!({}), &json!({})).await;
    let parts = ["there is no network security group nsg1 in resource group rg1", "securityGroupName"];
    ground.told("web", &parts).await;
    assert_eq!(ground.writes_since(begun), [""; 0]);
    ground.cloud.with(|world| world.insert(tests::clouds::azure::Kind::SecurityGroup, &group, body));
    for (number, path) in
        ["loadBalancers/kubernetes", "publicIPAddresses", "networkSecurityGroups/nsg1"].iter().enumerate()
    {
        let begun = ground.cloud.requests().len();
        let fault = tests::clouds::azure::Fault::status("GET", &id(&format!("Microsoft.Network/{path}")), 200);
        ground.cloud.inject(fault.body(Vec::<u8>::new()).times(1));
        let name = format!("empty-{number}");
        ground.create(&name, &json!({}), &json!({ "ports": [{ "port": 9_000 + number }] })).await;
        ground.told(&name, &["with an answer that cannot be read"]).await;
        let written_before = |all: &[tests::clouds::azure::Recorded]| {
            let at = all.iter().position(|it| it.fault.is_some()).unwrap();
            all[..at].iter().filter(|it| crate::ground::writes(it)).count()
        };
        assert_eq!(written_before(&ground.cloud.requests_from(begun)), 0);
        ground.address(&name).await;
    }
    for name in ["web", "empty-0", "empty-1", "empty-2"] {
        ground.delete(name).await;
    }
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}

/// Cases: azure 29, azure 30, azure 31, azure 40
#[tokio::test]
async fn bad_annotations_of_azure_are_told_and_make_nothing() {
    let ground = Ground::start().await;
    let begun = ground.cloud.requests().len();
    let refused = [
        ("azure-load-balancer-tcp-idle-timeout", "200", "a whole number of minutes from 4 to 100"),
        ("azure-load-balancer-tcp-idle-timeout", "3", "a whole number of minutes from 4 to 100"),
        ("azure-load-balancer-health-probe-interval", "4", "a whole number of seconds from 5 to 119"),
        ("azure-load-balancer-health-probe-interval", "60", "120"),
        ("azure-load-balancer-health-probe-num-of-probe", "1", "a whole number from 2 to 119"),
        ("azure-load-balancer-health-probe-protocol", "gopher", "tcp, http or https"),
        ("azure-load-balancer-health-probe-request-path", "healthz", "a path such as /healthz"),
        ("azure-load-balancer-internal-subnet", "a/b", "the name of an object"),
        ("azure-load-balancer-ipv4", "fe80::1", "an IPv4 address"),
        ("azure-load-balancer-ipv4", "20.300.0.1", "an IPv4 address"),
        ("azure-pip-name", "../mine", "the name of an object"),
        ("azure-pip-prefix-id", "mine", "the id of a public IP prefix"),
        ("azure-load-balancer-resource-group", "a/../b", "the name of a resource group"),
        ("azure-dns-label-name", "Shop!", "a DNS label of 3 to 63 lower-case letters, digits and dashes"),
        ("azure-pip-ip-tags", "team", "a list of tags such as team=web,cost=7"),
        ("azure-pip-tags", "=web", "a list of tags such as team=web,cost=7"),
        ("azure-additional-public-ips", "20.1", "a list of addresses"),
        ("azure-allowed-service-tags", "a b", "a list of service tags"),
        ("azure-allowed-ip-ranges", "10.0.0.0/33", "a list of networks"),
        ("port_80_health-probe_protocol", "gopher", "tcp, http or https"),
        ("port_80_health-probe_interval", "4", "a whole number of seconds from 5 to 119"),
        ("port_80_health-probe_num-of-probe", "1", "a whole number from 2 to 119"),
        ("port_80_health-probe_request-path", "x", "a path such as /healthz"),
        ("port_http_no_lb_rule", "true", "is no port"),
        ("azure-load-balancer-enable-high-availability-ports", "true", "internal"),
    ];
    let key = |it: &str| format!("service.beta.kubernetes.io/{it}");
    for (number, (name, value, _)) in refused.iter().enumerate() {
        let mut annotations = json!({ key(name): value });
        // An annotation for internal ones is read of those alone.
        if name.ends_with("internal-subnet") {
            annotations[key("azure-load-balancer-internal")] = json!("true");
        }
        if *value == "60" {
            annotations[key("azure-load-balancer-health-probe-num-of-probe")] = json!("2");
        }
        ground.create(&format!("web-{number}"), &annotations, &json!({})).await;
    }
    for (number, (name, _, allowed)) in refused.iter().enumerate() {
        ground.told(&format!("web-{number}"), &[name, allowed]).await;
    }
    let sctp = json!({ "ports": [{ "port": 80, "protocol": "SCTP" }] });
    ground.create("sctp", &json!({}), &sctp).await;
    ground.told("sctp", &["SCTP"]).await;
    for (name, annotation, parts) in [
        ("no-address", json!({}), ["cannot find public IP with IP address 20.99.0.1", "rg1"]),
        ("no-name", json!({ key("azure-pip-name"): "absent" }), ["absent", "doesn't exist"]),
        (
            "no-subnet",
            json!({ key("azure-load-balancer-internal"): "true", key("azure-load-balancer-internal-subnet"): "nowhere" }),
            ["nowhere", "subnet"],
        ),
    ] {
        let spec = if name == "no-address" { json!({ "loadBalancerIP": "20.99.0.1" }) } else { json!({}) };
        ground.create(name, &annotation, &spec).await;
        ground.told(name, &parts).await;
    }
    assert_eq!(ground.writes_since(begun), [""; 0]);
    assert_eq!((ground.made(), ground.rules()), (vec![], vec![]));
    ground.stop().await;
}
