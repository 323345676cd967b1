//! Changes of Services that have a Network Load Balancer, and what they cost. Numbers in names are those of the cases in
//! `tests/CASES.md`.

use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::json;
use tests::clouds::aws::{Limits, Listener, Options, Recorded, State};
use tests::operator::{Process, initialized};
use tests::vendor::aws::instance;
use tests::wait;

use crate::services::{NETWORK, create, of_nodes, patch, quiet, running, service, vendor};
use crate::setup::{Rig, worker};

const INTERVAL: &str = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval";
const INTERNAL: &str = "service.beta.kubernetes.io/aws-load-balancer-internal";
const MTU: &str = "kubernetes.io/rule/nlb/mtu";

/// A Service of port 80 with a Network Load Balancer that is as it wants it, and how much was asked by then.
async fn settled(rig: &Rig) -> usize {
    create(rig, &service("web", &[80], &[NETWORK])).await;
    rig.served("web").await;
    quiet(rig).await
}

/// The actions that wrote since then: `elbv2/CreateListener`.
fn actions(rig: &Rig, since: usize) -> Vec<String> {
    let writes = rig.cloud.requests().split_off(since).into_iter().filter(|it| !it.path.contains("/Describe"));
    writes.map(|it| it.path.trim_start_matches('/').to_owned()).collect()
}

async fn becomes(rig: &Rig, what: &str, expected: impl Fn(&State) -> bool) -> State {
    let found = wait::within(wait::DEADLINE, async || Some(rig.cloud.state()).filter(&expected)).await;
    let Some(found) = found else { panic!("{what}: {:#?}; {}", rig.cloud.state(), rig.told().await) };
    found
}

#[tokio::test]
async fn aws_037_an_internal_one_is_not_reached_from_outside() {
    let (rig, process) = running(1).await;
    let [first, second] = rig.twin_subnets().await;
    rig.order("tag", &json!({ "id": second, "tags": { "kubernetes.io/role/internal-elb": "1" } }));
    create(&rig, &service("web", &[80], &[NETWORK, (INTERNAL, "true")])).await;
    rig.served("web").await;
    let made = rig.cloud.state().network.remove(0);
    assert_eq!(made.scheme, "internal");
    assert!(made.subnets.contains(&second) && !made.subnets.contains(&first), "{made:#?}");
    assert_eq!(made.subnets.len(), 6, "one of each zone: {made:#?}");
    process.stop().await;
}

#[tokio::test]
async fn aws_038_another_range_is_one_rule_more() {
    let (rig, process) = running(1).await;
    settled(&rig).await;
    patch(&rig, "web", json!({ "spec": { "loadBalancerSourceRanges": ["10.0.0.0/8"] } })).await;
    let peers = |rig: &Rig| {
        let rules = of_nodes(rig).rules.into_iter();
        let clients = rules.filter(|it| it.description.as_ref().is_some_and(|it| it.contains("/client=")));
        clients.filter_map(|it| it.peer).collect::<Vec<_>>()
    };
    wait::until("only that range", async || (peers(&rig) == ["10.0.0.0/8"]).then_some(())).await;
    let asked = quiet(&rig).await;
    patch(&rig, "web", json!({ "spec": { "loadBalancerSourceRanges": ["10.0.0.0/8", "11.0.0.0/8"] } })).await;
    wait::until("both ranges", async || (peers(&rig).len() == 2).then_some(())).await;
    quiet(&rig).await;
    let since = rig.cloud.requests().split_off(asked);
    let clients = since.iter().filter(|it| it.query.iter().any(|it| it.1.contains("/client="))).collect::<Vec<_>>();
    assert_eq!(clients.len(), 1, "{:#?}", rig.writes(asked));
    assert_eq!(clients[0].path, "/ec2/AuthorizeSecurityGroupIngress");
    process.stop().await;
}

#[tokio::test]
async fn aws_039_another_interval_never_leaves_a_port_without_targets() {
    let (rig, process) = running(2).await;
    let asked = settled(&rig).await;
    let old = rig.cloud.state().targets.remove(0).id;
    patch(&rig, "web", json!({ "metadata": { "annotations": { INTERVAL: "10" } } })).await;
    becomes(&rig, "another group in its place", |it| it.targets.len() == 1 && it.targets[0].id != old).await;
    quiet(&rig).await;
    let wanted = ["CreateTargetGroup", "RegisterTargets", "ModifyListener", "DeleteTargetGroup"];
    assert_eq!(actions(&rig, asked), wanted.map(|it| format!("elbv2/{it}")));
    process.stop().await;
}

#[tokio::test]
async fn aws_040_another_certificate_is_all_that_changes() {
    let (rig, process) = running(1).await;
    let certificate =
        |domain: &str| rig.order("certificate", &json!({ "domain": domain })).as_str().unwrap().to_owned();
    let [old, new] = ["a.example.com", "b.example.com"].map(certificate);
    let key = vendor("ssl-cert");
    create(&rig, &service("web", &[443], &[NETWORK, (&key, &old)])).await;
    rig.served("web").await;
    let has = |state: &State, certificate: &String| {
        let of = |it: &Listener| it.protocol == "TLS" && it.certificate.as_ref() == Some(certificate);
        state.network.iter().any(|it| it.listeners.iter().any(of))
    };
    becomes(&rig, "TLS ends there", |it| has(it, &old)).await;
    let asked = quiet(&rig).await;
    patch(&rig, "web", json!({ "metadata": { "annotations": { &*key: &new } } })).await;
    becomes(&rig, "it has the other certificate", |it| has(it, &new)).await;
    quiet(&rig).await;
    assert_eq!(actions(&rig, asked), ["elbv2/ModifyListener"]);
    // One that does not exist.
    create(&rig, &service("other", &[443], &[NETWORK, (&key, &format!("{new}0"))])).await;
    rig.said("SyncLoadBalancerFailed", &["CreateListener", "CertificateNotFound"]).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_033_more_nodes_than_a_request_takes() {
    let rig = Rig::new().await;
    futures::future::join_all((1..=150).map(|it| rig.join_again(it))).await;
    create(&rig, &service("web", &[80], &[NETWORK])).await;
    let process = rig.start().await;
    becomes(&rig, "all are targets", |it| it.targets.iter().any(|it| it.machines.len() == 150)).await;
    let targets = |it: &Recorded| it.query.iter().filter(|(name, _)| name.ends_with(".Id")).count();
    let counts: Vec<_> = rig.cloud.asked("elbv2", "RegisterTargets").iter().map(targets).collect();
    assert_eq!(counts, [100, 50]);
    process.stop().await;
}

/// How long the interfaces of a load balancer that is gone hold its security group: longer than the requests before its deletion take.
const HELD: Duration = Duration::from_secs(15);

#[tokio::test]
async fn aws_046_048_050_managed_security_groups_come_and_go() {
    let mut rig = Rig::new().await;
    rig.setup =
        rig.setup.edit(|it| it["provider"]["settings"]["loadBalancers.nlbSecurityGroupMode"] = json!("Managed"));
    rig.cloud.behave(&json!({ "interfaces": HELD.as_secs() }));
    rig.join(1).await;
    let process = rig.start().await;
    let names = ["lost", "web"];
    for name in names {
        create(&rig, &service(name, &[80], &[NETWORK])).await;
    }
    for name in names {
        rig.served(name).await;
    }
    quiet(&rig).await;
    let state = rig.cloud.state();
    let of = |name: &str| {
        let prefix = format!("k8s-default-{name}-");
        let own = state.security.iter().find(|it| it.name.starts_with(&prefix)).unwrap();
        let balancer = state.network.iter().find(|it| it.groups == std::slice::from_ref(&own.id)).unwrap();
        (own.id.clone(), balancer.id.clone())
    };
    let ((_, lost), (group, _)) = (of("lost"), of("web"));
    rig.deleted("web", Duration::from_secs(60)).await;
    assert!(rig.cloud.state().security.iter().all(|it| it.id != group));
    let held = rig.cloud.asked("ec2", "DeleteSecurityGroup").iter().any(|it| it.status == Some(400));
    assert!(held, "its interfaces have held it for a while");

    // The load balancer is gone before its Service, while nobody looks.
    process.stop().await;
    rig.order("deleteBalancer", &json!({ "arn": lost }));
    rig.services().delete("lost", &DeleteParams::default()).await.unwrap();
    let process = rig.start().await;
    wait::until_after(HELD, "its Service is gone", async || {
        rig.services().get_opt("lost").await.unwrap().is_none().then_some(())
    })
    .await;
    let left = rig.cloud.state();
    assert!(left.targets.is_empty() && left.security.iter().all(|it| it.name == "default"), "{left:#?}");
    process.stop().await;
}

/// Two Services, and the rule of both.
async fn sharing() -> (Rig, Process) {
    let (rig, process) = running(1).await;
    for name in ["first", "second"] {
        create(&rig, &service(name, &[80], &[NETWORK])).await;
        rig.served(name).await;
    }
    quiet(&rig).await;
    (rig, process)
}

#[tokio::test]
async fn a_rule_that_services_share_goes_with_the_last_of_them() {
    let (rig, process) = sharing().await;
    let shared = || of_nodes(&rig).rules.into_iter().filter(|it| it.description.as_deref() == Some(MTU)).count();
    assert_eq!(shared(), 1);
    rig.deleted("first", Duration::from_secs(60)).await;
    assert_eq!(shared(), 1, "the second needs it");
    rig.deleted("second", Duration::from_secs(60)).await;
    assert_eq!(of_nodes(&rig).rules, []);
    process.stop().await;
}

#[tokio::test]
async fn a_throttled_account_loses_no_service() {
    let limits = Some(Limits::Bucket { size: 10, refill: Duration::from_millis(400) });
    let rig = Rig::with(Options { limits, ..Options::default() }).await.flags(&["--service-retry-base-delay=500ms"]);
    let process = rig.start().await;
    for number in 1..=2 {
        rig.join(number).await;
    }
    for number in 1..=2 {
        initialized(&rig.cluster, &worker(number)).await;
    }
    for name in ["a", "b", "c"] {
        create(&rig, &service(name, &[80], &[NETWORK])).await;
    }
    let whole = |state: &State| {
        let ready = |it: &tests::clouds::aws::TargetGroup| it.machines == [instance(1), instance(2)];
        state.network.len() == 3
            && state.network.iter().all(|it| it.listeners.len() == 1)
            && state.targets.iter().all(ready)
    };
    let all = wait::within(Duration::from_secs(120), async || whole(&rig.cloud.state()).then_some(())).await;
    assert!(all.is_some(), "{:#?}; {}", rig.cloud.state(), rig.told().await);
    let throttled = rig.cloud.requests().iter().filter(|it| matches!(it.status, Some(503 | 400))).count();
    assert!(throttled > 0, "the budget was too small for it");
    process.stop().await;
}
