//! Listeners and their groups of machines, through wasm, gate and signature.

use cloud_provider::{ExternalTrafficPolicy, Protocol};
use serde_json::{Value, json};
use tests::vendor::{AlibabaCloud, Vendor as _, port};

use crate::life::{Life, slow};
use crate::setup::Rig;

/// The values of a listener's fields, by its port.
fn fields(rig: &Rig, port: u16, names: &[&str]) -> Vec<Value> {
    rig.cloud.with(|world| {
        let number = port.to_string();
        let mut at = world.listeners.all().map(|(_, it)| it).filter(|it| it["ListenerPort"] == number.as_str());
        let found = at.next().unwrap_or_else(|| panic!("port {port} has no listener"));
        names.iter().map(|it| found[*it].clone()).collect()
    })
}

/// Cases: alibaba 22
#[tokio::test]
async fn alibaba_022_https_comes_before_http_that_leads_there() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.service.desired.ports = vec![port(Protocol::Tcp, 80), port(Protocol::Tcp, 443)];
    for (name, value) in [("protocol-port", "https:443,http:80"), ("cert-id", "c"), ("forward-port", "80:443")] {
        life.service.set(name, value);
    }
    let made = life.settle().await;
    let made: Vec<&str> = made.iter().map(String::as_str).filter(|it| it.ends_with("Listener")).collect();
    let expected = [
        "CreateLoadBalancerHTTPSListener",
        "StartLoadBalancerListener",
        "CreateLoadBalancerHTTPListener",
        "StartLoadBalancerListener",
    ];
    assert_eq!(made, expected);
    assert_eq!(fields(&rig, 80, &["ListenerForward", "ForwardPort"]), [json!("on"), json!("443")]);
    assert_eq!(fields(&rig, 443, &["ServerCertificateId"]), [json!("c")]);
    assert_eq!(life.settle().await, [""; 0]);
    rig.cloud.assert_valid();
}

/// Cases: alibaba 23
#[tokio::test]
async fn alibaba_023_another_protocol_is_another_listener() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.settle().await;
    life.service.set("protocol-port", "http:80");
    let expected = ["DeleteLoadBalancerListener", "CreateLoadBalancerHTTPListener", "StartLoadBalancerListener"];
    assert_eq!(life.settle().await, expected);
    assert_eq!(fields(&rig, 80, &["ListenerProtocol", "Status"]), [json!("http"), json!("running")]);
    rig.cloud.assert_valid();
}

/// Cases: alibaba 26
#[tokio::test]
async fn alibaba_026_a_full_group_loses_what_is_gone_first() {
    let rig = Rig::start(slow()).await;
    rig.cloud.with(|world| (4..=5).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    rig.cloud.behave(|it| it.most_servers = 3);
    let mut life = Life::new(&rig);
    let nodes = |all: &[u8]| all.iter().map(|it| AlibabaCloud::worker(*it)).collect::<Vec<_>>();
    life.service.desired.nodes = nodes(&[1, 2, 3]);
    life.settle().await;
    life.service.desired.nodes = nodes(&[2, 3, 4]);
    assert_eq!(life.settle().await, ["RemoveVServerGroupBackendServers", "AddVServerGroupBackendServers"]);
    let machines = || AlibabaCloud::built(rig.cloud.account())[0].machines.clone();
    assert_eq!(machines(), [2, 3, 4]);
    // Too many: it is told, and those that are there go on.
    life.service.desired.nodes = nodes(&[2, 3, 4, 5]);
    let refused = life.service.refused().await.to_string();
    assert!(refused.contains("InstanceBackendServerNumberOverLimit"), "{refused}");
    assert_eq!(machines(), [2, 3, 4]);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn a_machine_that_is_gone_leaves_the_groups() {
    let rig = Rig::start(slow()).await;
    for (mut life, action) in
        [(Life::new(&rig), "RemoveVServerGroupBackendServers"), (Life::network(&rig), "RemoveServersFromServerGroup")]
    {
        AlibabaCloud::add_machine(rig.cloud.account(), 1, "web-1");
        life.settle().await;
        AlibabaCloud::remove_machine(rig.cloud.account(), 1);
        life.service.desired.nodes.remove(0);
        assert_eq!(life.settle().await, [action]);
        assert_eq!(AlibabaCloud::built(rig.cloud.account())[0].machines, [2]);
        life.service.gone().await;
    }
    rig.cloud.assert_valid();
}

/// Cases: alibaba 27
#[tokio::test]
async fn alibaba_027_a_rotated_certificate_of_a_domain_is_written() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.service.desired.ports = vec![port(Protocol::Tcp, 443)];
    for (name, value) in [("protocol-port", "https:443"), ("cert-id", "c")] {
        life.service.set(name, value);
    }
    let certificates = || {
        rig.cloud.with(|world| {
            let all =
                world.domains.all().map(|(_, it)| [&it["Domain"], &it["ServerCertificateId"]].map(Value::to_string));
            all.map(|it| it.concat().replace('"', " ")).collect::<Vec<_>>()
        })
    };
    let steps = [
        ("a.example.com:cert-1,*.example.org:cert-2", [" a.example.com  cert-1 ", " *.example.org  cert-2 "]),
        ("a.example.com:cert-9,*.example.org:cert-2", [" a.example.com  cert-9 ", " *.example.org  cert-2 "]),
    ];
    let mut made = Vec::new();
    for (domains, expected) in steps {
        life.service.set("domain-extensions", domains);
        made.push(life.settle().await);
        assert_eq!(certificates(), expected);
    }
    assert!(made[0].ends_with(&["CreateDomainExtension", "CreateDomainExtension"].map(str::to_owned)), "{made:?}");
    assert_eq!(made[1], ["SetDomainExtensionAttribute"], "with the new certificate, and nothing else");
    assert_eq!(life.settle().await, [""; 0]);
    life.service.set("domain-extensions", "a.example.com:cert-9");
    assert_eq!(life.settle().await, ["DeleteDomainExtension"]);
    rig.cloud.assert_valid();
    life.service.gone().await;
    assert_eq!(certificates(), [""; 0]);
}

/// Cases: alibaba 39
#[tokio::test]
async fn alibaba_039_udp_has_no_checks_by_http() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.service.desired.ports = vec![port(Protocol::Udp, 53)];
    life.service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    life.service.set("proxy-protocol", "on");
    let (standing, events) = life.service.served_with().await;
    assert!(standing.ingress[0].ip.is_some(), "{standing:?}");
    let told: Vec<&str> = events.iter().map(|it| it.reason.as_str()).collect();
    assert!(!told.is_empty() && told.iter().all(|it| *it == "ServiceFieldsIgnored"), "{events:?}");
    let shown = fields(&rig, 53, &["ListenerProtocol", "ProxyProtocolV2Enabled", "HealthCheckType", "HealthCheckURI"]);
    assert_eq!(shown, [json!("udp"), json!("true"), Value::Null, Value::Null]);
    rig.cloud.assert_valid();
}
