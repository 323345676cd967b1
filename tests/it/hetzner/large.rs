//! Services and clusters as large as they can be: no call runs out of CPU time. The host gives a provider less than this.

use cloud_provider::{Port, Progress, Protocol};
use tests::clouds::hetzner::{Server, Target};

use crate::setup::{LOCATION, Service, port, rig, worker};

#[tokio::test]
async fn adv_103_15000_nodes_at_hetzner_take_little_cpu() {
    let rig = rig(&[LOCATION]).await;
    for id in 3..=150 {
        rig.cloud.servers().insert(Server::new(id, &format!("web-{id}")));
    }
    let mut service = Service::new(&rig).with("type", "lb31");
    service.served_with().await;
    let id = rig.cloud.load_balancers().all()[0].id;
    rig.cloud.load_balancers().update(id, |it| it.targets = (1..=150).map(Target::server).collect());
    let node = |nth: u32| cloud_provider::Node {
        name: format!("n{nth}"),
        provider_id: Some(format!("hcloud://{nth}")),
        ..worker(1)
    };
    service.desired.nodes = (1..=15_000).map(node).collect();
    let (_, events) = service.served_with().await;
    let [warning] = &events[..] else { panic!("{events:?}") };
    assert_eq!(warning.reason, "MaxTargetsReached");
    assert_eq!(rig.cloud.load_balancers().all()[0].targets.len(), 150);
}

#[tokio::test]
async fn adv_103_1500_ports_at_hetzner_take_little_cpu() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    let port = |number| Port { port: number, ..port(Protocol::Tcp, 80) };
    service.desired.ports = (1..=1_500).map(port).collect();
    for number in 1..=1_000 {
        service.desired.annotations.push((crate::setup::key(&format!("protocol.{number}")), "http".to_owned()));
    }
    let answer = service.ask().await.answer;
    assert!(answer.is_ok(), "it is announced: {answer:?}");
    // The cloud has no type for so many.
    let answer = service.ask().await.answer;
    assert!(matches!(answer, Ok(Progress::Failed(..))), "what was announced is taken back: {answer:?}");
}
