//! Nodes whose servers cannot be told: by the real binary.

use serde_json::json;
use tests::clouds::openstack::Kind;
use tests::simulator::Fault;
use tests::vendor::openstack::server;
use tests::vendor::{OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

use crate::ground::Ground;

#[tokio::test]
async fn openstack_013_twins_are_told_and_do_not_join() {
    let ground = Ground::start().await;
    for id in [3, 4] {
        OpenStack::add_machine(ground.cloud.account(), id, "twin");
    }
    kubelet::join(&ground.cluster.admin, "twin").await.unwrap();
    let ids = [3, 4].map(server);
    operator::event(&ground.cluster, "twin", &[&ids[0], &ids[1]]).await;
    operator::assert_waits(&ground.cluster, "twin").await;
    ground.stop().await;
}

/// Cases: openstack 10, openstack 18
#[tokio::test]
async fn openstack_010_nodes_of_another_region_and_without_ports_wait() {
    let ground = Ground::with(|_| {}, |setup, _| setup).await;
    // The kubelet says where its server is: in a region that is not the cluster's.
    let mut node = kubelet::node("elsewhere");
    let elsewhere = server(9);
    node.spec.get_or_insert_default().provider_id = Some(format!("openstack://other/{elsewhere}"));
    kubelet::join_as(&ground.cluster.admin, node).await.unwrap();
    operator::event(&ground.cluster, "elsewhere", &["region \"other\"", "RegionOne"]).await;

    // One of two ports is down, and then the other, too.
    OpenStack::add_machine(ground.cloud.account(), 3, "web-3");
    let set = |number: u8, status: &str| {
        ground.cloud.with(|world| {
            let ports: Vec<_> = world.all(Kind::Port).filter(|it| it["device_id"] == server(3)).cloned().collect();
            let has = |it: &&serde_json::Value| it["fixed_ips"][0]["ip_address"] == format!("10.6.0.{number}");
            let id = ports.iter().find(has).unwrap()["id"].as_str().unwrap().to_owned();
            world.get_mut(Kind::Port, &id).unwrap()["status"] = json!(status);
        });
    };
    ground.cloud.with(|world| {
        let subnet = world.named(Kind::Subnet, "k8s");
        world.add_port("second", (&server(3), "compute:nova"), &[(&subnet, Some("10.6.0.113"))]);
    });
    set(113, "DOWN");
    set(13, "DOWN");
    kubelet::join(&ground.cluster.admin, "web-3").await.unwrap();
    // It is asked for its ports again and again: theirs would write no address at all.
    let asks = || {
        ground
            .cloud
            .requests()
            .iter()
            .filter(|it| it.target.contains("device_id") && it.target.contains(&server(3)))
            .count()
    };
    wait::until("its ports are asked for twice", async || (asks() >= 2).then_some(())).await;
    operator::assert_waits(&ground.cluster, "web-3").await;
    set(13, "ACTIVE");
    operator::initialized(&ground.cluster, "web-3").await;
    wait::until("it has the address of the port that is up, and no other", async || {
        let node = operator::node(&ground.cluster, "web-3").await;
        (kubelet::addresses(&node) == [("InternalIP", "10.6.0.13"), ("InternalIP", "fd00:6::13")]).then_some(())
    })
    .await;

    // It was kept all the time, and nobody has asked for its server.
    let node = operator::node(&ground.cluster, "elsewhere").await;
    assert!(kubelet::is_uninitialized(&node));
    let asked = ground.cloud.requests().into_iter().filter(|it| it.target.contains(&elsewhere)).count();
    assert_eq!(asked, 0);
    ground.stop().await;
}

#[tokio::test]
async fn openstack_022_a_refused_token_is_renewed_once() {
    let ground = Ground::with(|_| {}, |setup, _| setup).await;
    ground.join(&[1]).await;
    let tokens = |begun: usize| {
        let asked = ground.cloud.requests_from(begun);
        asked.iter().filter(|it| it.is("POST", "/identity/v3/auth/tokens")).count()
    };
    ground.cloud.identity().revoke_all();
    let begun = ground.cloud.requests().len();
    ground.join(&[2]).await;
    let refused = |begun: usize| ground.cloud.requests_from(begun).iter().filter(|it| it.status == Some(401)).count();
    // Requests that are under way side by side are refused with the same token, and one renewal serves them all.
    assert!(refused(begun) >= 1);
    assert_eq!(tokens(begun), 1);
    assert_eq!(ground.warnings("web-2").await, [""; 0]);
    // The new token is refused, too: this is an error of the call, Keystone is not asked again and again, and the node waits.
    ground.cloud.inject(Fault::status("GET", "/compute/v2.1/servers/detail", 401));
    OpenStack::add_machine(ground.cloud.account(), 3, "web-3");
    let begun = ground.cloud.requests().len();
    kubelet::join(&ground.cluster.admin, "web-3").await.unwrap();
    operator::event(&ground.cluster, "web-3", &["401"]).await;
    operator::assert_waits(&ground.cluster, "web-3").await;
    assert!(tokens(begun) <= 1, "{} tokens", tokens(begun));
    ground.stop().await;
}
