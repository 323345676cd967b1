//! Services of type LoadBalancer, with the binary between a cluster and AWS. Numbers in names are those of the cases in
//! `tests/CASES.md`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::aws::{Options, SecurityGroup};
use tests::operator::{Process, initialized};
use tests::vendor::aws::instance;
use tests::wait;

use crate::setup::{Rig, worker};

/// Asks for a Network Load Balancer.
pub(crate) const NETWORK: (&str, &str) = ("service.beta.kubernetes.io/aws-load-balancer-type", "nlb");
const FAST: [&str; 2] = ["--service-retry-base-delay=500ms", "--service-reconciliation-period=3s"];
/// Longer than what was deleted is held by what AWS still does.
const PATIENCE: Duration = Duration::from_secs(60);

/// The key of an annotation of the vendor's.
pub(crate) fn vendor(name: &str) -> String {
    format!("service.beta.kubernetes.io/aws-load-balancer-{name}")
}

/// The binary, with so many nodes.
pub(crate) async fn running(nodes: u64) -> (Rig, Process) {
    let rig = Rig::with(Options::default()).await.flags(&FAST[..1]);
    let process = rig.start().await;
    for number in 1..=nodes {
        rig.join(number).await;
    }
    for number in 1..=nodes {
        initialized(&rig.cluster, &worker(number)).await;
    }
    (rig, process)
}

pub(crate) fn service(name: &str, ports: &[u16], annotations: &[(&str, &str)]) -> Service {
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(key, it)| ((*key).to_owned(), json!(it))).collect();
    let service = json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "type": "LoadBalancer", "selector": { "app": name }, "ports": self::ports(ports) },
    });
    serde_json::from_value(service).unwrap()
}

fn ports(numbers: &[u16]) -> Vec<Value> {
    numbers.iter().map(|it| json!({ "name": format!("p-{it}"), "port": it, "protocol": "TCP" })).collect()
}

pub(crate) async fn create(rig: &Rig, service: &Service) {
    rig.services().create(&PostParams::default(), service).await.unwrap();
}

pub(crate) async fn patch(rig: &Rig, name: &str, patch: Value) {
    rig.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// The security group of the nodes.
pub(crate) fn of_nodes(rig: &Rig) -> SecurityGroup {
    rig.cloud.state().security.into_iter().find(|it| it.name == "default").unwrap()
}

/// Waits until nothing is asked for some time, and returns how much was asked by then.
pub(crate) async fn quiet(rig: &Rig) -> usize {
    let mut last = (rig.cloud.requests().len(), std::time::Instant::now());
    wait::until("nothing is asked", async || {
        let asked = rig.cloud.requests().len();
        if asked != last.0 {
            last = (asked, std::time::Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(3)).then_some(asked)
    })
    .await
}

/// Lets another process take over. It looks at the load balancers, and writes nothing.
async fn another_writes_nothing(rig: &Rig, process: Process) -> Process {
    let asked = quiet(rig).await;
    process.stop().await;
    let process = rig.start().await;
    wait::until("another process looks", async || {
        rig.cloud.requests().split_off(asked).iter().any(|it| it.path.starts_with("/elb")).then_some(())
    })
    .await;
    quiet(rig).await;
    assert_eq!(rig.writes(asked), [""; 0]);
    process
}

#[tokio::test]
async fn aws_031_032_034_049_a_network_load_balancer_lives_and_ends() {
    let (rig, process) = running(3).await;
    rig.cloud.behave(&json!({ "provisioning": 5 }));
    create(&rig, &service("web", &[80, 443], &[NETWORK])).await;
    let host = rig.served("web").await;
    let state = async || {
        wait::until("it has its listeners", async || {
            let state = rig.cloud.state();
            (state.network.first()?.listeners.len() == 2).then_some(state)
        })
        .await
    };
    let made = state().await;
    let [balancer] = &made.network[..] else { panic!("{:#?}", made.network) };
    assert_eq!(
        (&balancer.host, balancer.kind.as_str(), balancer.scheme.as_str()),
        (&host, "network", "internet-facing")
    );
    assert_eq!(balancer.tags.get("kubernetes.io/service-name").map(String::as_str), Some("default/web"));
    assert_eq!(balancer.tags.get("kubernetes.io/cluster/prod").map(String::as_str), Some("owned"));
    assert_eq!(made.targets.len(), 2);
    for target in &made.targets {
        assert_eq!(target.machines, [instance(1), instance(2), instance(3)]);
        assert!(target.name.starts_with("k8s-default-web-"), "{}", target.name);
    }
    let client = format!("kubernetes.io/rule/nlb/client={}", balancer.name);
    wait::until("nodes let clients in, on both node ports", async || {
        let rules = of_nodes(&rig).rules;
        let clients = rules.iter().filter(|it| it.description.as_ref() == Some(&client));
        (clients.count() == 2).then_some(())
    })
    .await;

    // Nothing is written again, whatever gives reason to look.
    let process = another_writes_nothing(&rig, process).await;

    // A node leaves: its instance is deregistered, once for each group.
    let asked = rig.cloud.requests().len();
    rig.nodes().delete(&worker(3), &DeleteParams::default()).await.unwrap();
    wait::until("its instance is deregistered", async || {
        let targets = rig.cloud.state().targets;
        targets.iter().all(|it| it.machines == [instance(1), instance(2)]).then_some(())
    })
    .await;
    quiet(&rig).await;
    let writes = rig.writes(asked);
    assert!(writes.len() == 2 && writes.iter().all(|it| it.contains("/elbv2/DeregisterTargets")), "{writes:#?}");

    // Each port of its own.
    patch(&rig, "web", json!({ "spec": { "ports": ports(&[443, 8080]) } })).await;
    wait::until("it listens elsewhere", async || {
        let state = rig.cloud.state();
        let mut ports: Vec<_> = state.network.first()?.listeners.iter().map(|it| it.port).collect();
        ports.sort_unstable();
        (ports == [443, 8080] && state.targets.len() == 2).then_some(())
    })
    .await;

    rig.cloud.behave(&json!({ "groups_in_use": 3, "interfaces": 3 }));
    rig.deleted("web", PATIENCE).await;
    let left = rig.cloud.state();
    assert!(left.network.is_empty() && left.targets.is_empty(), "{left:#?}");
    assert_eq!(of_nodes(&rig).rules, []);
    process.stop().await;
}

#[tokio::test]
async fn aws_019_020_028_029_a_classic_load_balancer_lives_and_ends() {
    let (rig, process) = running(3).await;
    create(&rig, &service("web", &[80], &[])).await;
    let host = rig.served("web").await;
    let whole = async |ports: &[u16], machines: usize| {
        let found = wait::within(wait::DEADLINE, async || {
            let it = rig.cloud.state().classic.into_iter().next()?;
            let listens: Vec<_> = it.listeners.iter().map(|it| it.1).collect();
            (listens == ports && it.machines.len() == machines && it.check.is_some()).then_some(it)
        });
        let Some(found) = found.await else { panic!("{:#?}; {}", rig.cloud.state().classic, rig.told().await) };
        found
    };
    let made = whole(&[80], 3).await;
    assert_eq!(made.host, host);
    let (outside, _, inside, node_port) = &made.listeners[0];
    assert_eq!((outside.as_str(), inside.as_str()), ("TCP", "TCP"));
    assert_eq!(made.check, Some(format!("TCP:{node_port}")));
    let groups = rig.cloud.state().security;
    let own = groups.iter().find(|it| made.groups.contains(&it.id)).unwrap();
    assert_eq!(own.name, format!("k8s-elb-{}", made.name));
    assert_eq!(own.rules.len(), 2, "{own:#?}");
    wait::until("nodes let it in", async || {
        of_nodes(&rig).rules.iter().any(|it| it.peer.as_ref() == Some(&own.id)).then_some(())
    })
    .await;

    let process = another_writes_nothing(&rig, process).await;

    rig.nodes().delete(&worker(3), &DeleteParams::default()).await.unwrap();
    whole(&[80], 2).await;
    patch(&rig, "web", json!({ "spec": { "ports": ports(&[81]) } })).await;
    whole(&[81], 2).await;

    rig.cloud.behave(&json!({ "interfaces": 3 }));
    rig.deleted("web", PATIENCE).await;
    let left = rig.cloud.state();
    assert!(left.classic.is_empty(), "{left:#?}");
    assert!(left.security.iter().all(|it| it.name == "default"), "{:#?}", left.security);
    assert_eq!(of_nodes(&rig).rules, []);
    process.stop().await;
}

#[tokio::test]
async fn load_balancers_of_the_vendor_are_taken_over_unwritten() {
    let (rig, process) = running(2).await;
    create(&rig, &service("network", &[80, 443], &[NETWORK])).await;
    create(&rig, &service("classic", &[80], &[])).await;
    rig.served("network").await;
    rig.served("classic").await;
    quiet(&rig).await;
    process.stop().await;

    // What is left is what the vendor's controller writes, too: nothing in the cloud and in the cluster is marked as ours.
    rig.order("forgetMarks", &json!({ "prefix": "aerostat.dev/" }));
    for name in ["network", "classic"] {
        let none = json!({ "status": { "conditions": [] } });
        rig.services().patch_status(name, &PatchParams::default(), &Patch::Merge(none)).await.unwrap();
    }
    let asked = rig.cloud.requests().len();
    let process = rig.start().await;
    wait::until("another process looks", async || {
        let since = rig.cloud.requests().split_off(asked);
        ["/elb/", "/elbv2/"].iter().all(|it| since.iter().any(|asked| asked.path.starts_with(it))).then_some(())
    })
    .await;
    quiet(&rig).await;
    assert_eq!(rig.writes(asked), [""; 0]);
    for name in ["network", "classic"] {
        rig.deleted(name, PATIENCE).await;
    }
    let left = rig.cloud.state();
    assert!(left.network.is_empty() && left.classic.is_empty() && left.targets.is_empty(), "{left:#?}");
    process.stop().await;
}
