//! Services and clusters as large as they can be: no call runs out of CPU time. The host gives a provider less than this.

use cloud_provider::{Error, Port, Protocol};

use crate::setup::{Service, key, port, rig, worker};

#[tokio::test]
async fn adv_103_45000_ports_in_annotations_take_little_cpu() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("type", "REGIONAL").with("http-ports", "");
    let port = |number| Port { port: number, node_port: Some(number), ..port(Protocol::Tcp, 80) };
    service.desired.ports = (1..=45_000).map(port).collect();
    // All but one exist: a search for the missing one reads all.
    let listed: Vec<_> = (2..=45_001_u16).map(|it| it.to_string()).collect();
    service.annotate(&key("http-ports"), &listed.join(","));
    service.pending().await;
}

#[tokio::test]
async fn adv_103_ports_in_two_annotations_make_a_short_message() {
    let rig = rig(&[]).await;
    let listed: Vec<_> = (1..=22_000_u16).map(|it| it.to_string()).collect();
    let listed = listed.join(",");
    let mut service = Service::new(&rig).with("type", "REGIONAL");
    service.annotate(&key("http-ports"), &listed);
    service.annotate(&key("http2-ports"), &listed);
    let Err(Error::Invalid(why)) = service.step().await else { panic!("a port cannot speak two protocols") };
    assert!(why.contains("both list 1,2,3") && why.len() < 400, "{why}");
}

#[tokio::test]
async fn adv_103_15000_nodes_take_little_cpu() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    let id = |nth: u32| format!("digitalocean://{nth}");
    service.desired.nodes = (1..=15_000)
        .map(|nth| cloud_provider::Node { name: format!("n{nth}"), provider_id: Some(id(nth)), ..worker(1) })
        .collect();
    service.pending().await;
}
