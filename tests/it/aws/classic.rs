//! Classic Load Balancers: the parts that one is built of. Numbers in names are those of the cases in
//! `tests/CASES.md`.

use k8s_openapi::api::core::v1::ServiceSpec;
use serde_json::json;
use tests::clouds::aws::{ClassicLoadBalancer, Recorded};
use tests::wait;

use crate::services::{create, patch, quiet, running, service, vendor};
use crate::setup::Rig;

/// The load balancer of a Service, as soon as it is as expected.
async fn built(rig: &Rig, name: &str, expected: impl Fn(&ClassicLoadBalancer) -> bool) -> ClassicLoadBalancer {
    let of = format!("default/{name}");
    let is_it = |it: &ClassicLoadBalancer| it.tags.get("kubernetes.io/service-name") == Some(&of) && expected(it);
    let found = wait::within(wait::DEADLINE, async || rig.cloud.state().classic.into_iter().find(is_it)).await;
    let Some(found) = found else { panic!("{name}: {:#?}; {}", rig.cloud.state().classic, rig.told().await) };
    found
}

async fn spec(rig: &Rig, name: &str) -> ServiceSpec {
    rig.services().get(name).await.unwrap().spec.unwrap()
}

async fn node_ports(rig: &Rig, name: &str) -> Vec<u16> {
    let ports = spec(rig, name).await.ports.unwrap().into_iter();
    ports.map(|it| it.node_port.unwrap().try_into().unwrap()).collect()
}

#[tokio::test]
async fn aws_021_026_027_listeners_policies_and_checks() {
    let (rig, process) = running(1).await;
    let certificate = rig.order("certificate", &json!({ "domain": "example.com" })).as_str().unwrap().to_owned();
    let [cert, tls, backend, proxy] = ["ssl-cert", "ssl-ports", "backend-protocol", "proxy-protocol"].map(vendor);
    let secure = [(&*cert, &*certificate), (&tls, "443"), (&backend, "http")];
    create(&rig, &service("secure", &[80, 443], &secure)).await;
    create(&rig, &service("proxied", &[80, 81], &[(&proxy, "*")])).await;
    let mut local = service("local", &[80], &[]);
    local.spec.as_mut().unwrap().external_traffic_policy = Some("Local".to_owned());
    create(&rig, &local).await;

    let made = built(&rig, "secure", |it| it.listeners.len() == 2).await;
    let ports = node_ports(&rig, "secure").await;
    let http = |outside: &str, port, inside| (outside.to_owned(), port, "HTTP".to_owned(), inside);
    assert_eq!(made.listeners, [http("HTTP", 80, ports[0]), http("HTTPS", 443, ports[1])]);
    let creations = rig.cloud.asked("elb", "CreateLoadBalancer");
    let certified = |it: &Recorded| it.query.iter().filter(|it| it.0.ends_with(".SSLCertificateId")).count();
    assert_eq!(creations.iter().map(certified).sum::<usize>(), 1, "that of 443 alone");

    let check = spec(&rig, "local").await.health_check_node_port.unwrap();
    built(&rig, "local", |it| it.check == Some(format!("HTTP:{check}/healthz"))).await;

    const POLICY: &str = "k8s-proxyprotocol-enabled";
    let name = built(&rig, "proxied", |it| it.policies == [POLICY]).await.name;
    let asked = quiet(&rig).await;
    let made = rig.cloud.asked("elb", "CreateLoadBalancerPolicy");
    let kinds: Vec<_> = made.iter().map(|it| it.query_value("PolicyTypeName").unwrap()).collect();
    assert_eq!(kinds, ["ProxyProtocolPolicyType"]);
    let ports = node_ports(&rig, "proxied").await;
    let set = |requests: Vec<Recorded>| -> Vec<(u16, Option<String>)> {
        let of = requests.into_iter().filter(|it| it.path.ends_with("/SetLoadBalancerPoliciesForBackendServer"));
        let mut set: Vec<_> = of
            .map(|request| {
                assert_eq!(request.query_value("LoadBalancerName"), Some(&*name));
                let port = request.query_value("InstancePort").unwrap().parse().unwrap();
                (port, request.query_value("PolicyNames.member.1").map(str::to_owned))
            })
            .collect();
        set.sort_unstable();
        set
    };
    let mut wanted: Vec<_> = ports.iter().map(|it| (*it, Some(POLICY.to_owned()))).collect();
    wanted.sort_unstable();
    assert_eq!(set(rig.cloud.requests()), wanted);

    patch(&rig, "proxied", json!({ "metadata": { "annotations": { &*proxy: null } } })).await;
    let since = || set(rig.cloud.requests().split_off(asked));
    wait::until("no port has the policy", async || (since().len() == ports.len()).then_some(())).await;
    quiet(&rig).await;
    let wanted: Vec<_> = wanted.into_iter().map(|(port, _)| (port, None)).collect();
    assert_eq!(since(), wanted);
    process.stop().await;
}
