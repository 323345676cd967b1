//! Lives of Services: what each write of a creation, a change and a deletion is, and what an operator sees meanwhile. By the real binary.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, Side, Taking};
use tests::simulator::Fault;
use tests::vendor::{OpenStack, Vendor as _};
use tests::wait;

use crate::ground::Ground;

/// How long a cloud asks to be left alone.
const PAUSE: Duration = Duration::from_secs(4);

fn key(short: &str) -> String {
    format!("{}{short}", OpenStack::PREFIX)
}

/// The only entry of a Service's status.
async fn ingress(ground: &Ground, name: &str) -> Value {
    ground.address(name).await;
    let service = ground.services().get(name).await.unwrap();
    json!(service.status.unwrap().load_balancer.unwrap().ingress.unwrap()[0])
}

/// Waits until each pool has members at so many nodes, and nothing is being changed.
async fn has_members(ground: &Ground, pools: usize, nodes: usize) {
    wait::until(&format!("{pools} pools have {nodes} members"), async || {
        let account = ground.cloud.account();
        let (all, members) = (account.all(Kind::Pool), account.all(Kind::Member));
        let count = |pool: &Value| members.iter().filter(|it| it["_pool"] == pool["id"]).count();
        let rests = account.all(Kind::LoadBalancer).iter().all(|it| it["provisioning_status"] == "ACTIVE");
        (rests && all.len() == pools && all.iter().all(|it| count(it) == nodes)).then_some(())
    })
    .await;
}

/// Cases: openstack 23, openstack 42
#[tokio::test]
async fn openstack_023_two_writes_make_it_one_a_pool_follows() {
    let ground = Ground::start().await;
    let begun = ground.cloud.requests().len();
    ground.create_with("web", &json!({}), &[80, 443]).await;
    let shown = ingress(&ground, "web").await;
    assert_eq!(ground.writes_since(begun), ["POST /loadbalancers 201", "POST /floatingips 201"]);
    let floating = ground.cloud.account().all(Kind::FloatingIp).remove(0);
    assert_eq!(shown, json!({ "ip": floating["floating_ip_address"], "ipMode": "VIP" }));
    let service = ground.services().get("web").await.unwrap();
    let annotations = json!(service.metadata.annotations.unwrap());
    let id = ground.balancer("web").await;
    assert_eq!(annotations[key("load-balancer-address")], floating["floating_ip_address"]);
    has_members(&ground, 2, 2).await;

    let begun = ground.cloud.requests().len();
    ground.leave(2).await;
    has_members(&ground, 2, 1).await;
    let members = "PUT /pools/*/members 202";
    // The second waits until the first is done: Octavia refuses none.
    assert_eq!(ground.writes_since(begun), [members, members]);
    let asked = ground.cloud.requests_from(begun);
    let polls = asked.iter().filter(|it| it.path.ends_with(&id)).count();
    assert!(polls > 0, "{asked:#?}");
    assert_eq!(ground.warnings("web").await, [""; 0]);
    ground.delete("web").await;
    ground.stop().await;
}

#[tokio::test]
async fn a_service_that_goes_before_its_creation_waits_for_nothing() {
    let ground = Ground::start().await;
    let begun = ground.cloud.requests().len();
    // Reads for the creation come before its announcement.
    let hold = ground.cloud.hold(1, Side::Before, |it| it.is("GET", "/network/v2.0/networks"));
    ground.create("web", &json!({})).await;
    hold.reached().await;
    ground.begin_deletion("web").await;
    hold.resume();
    // For a creation that may have been sent the deletion waits twice as long as this does.
    ground.gone("web").await;
    assert_eq!((ground.writes_since(begun), ground.left()), (vec![], vec![]));
    ground.stop().await;
}

#[tokio::test]
async fn openstack_025_a_creation_that_ends_in_error_is_told() {
    let ground = Ground::start().await;
    let name = "kube_service_kubernetes_default_web";
    ground.cloud.behave(|it| _ = it.failing_names.insert(name.to_owned()));
    let begun = ground.cloud.requests().len();
    ground.create("web", &json!({})).await;
    ground.told("web", &["ended in state ERROR", "made again"]).await;
    let deletion = || ground.cloud.requests_from(begun).into_iter().find(|it| it.method == "DELETE");
    let gone = wait::until("it is deleted", async || deletion()).await;
    assert_eq!(gone.query_value("cascade"), Some("true"), "{gone}");
    ground.cloud.behave(|it| it.failing_names.clear());
    ground.address("web").await;
    let all = ground.cloud.account().all(Kind::LoadBalancer);
    assert_eq!((all.len(), &all[0]["provisioning_status"]), (1, &json!("ACTIVE")));
    ground.stop().await;
}

/// Cases: openstack 28, openstack 31
#[tokio::test]
async fn openstack_028_without_external_network_it_is_internal() {
    let ground = Ground::start().await;
    let network = ground.cloud.with(|world| {
        let id = world.named(Kind::Network, "ext");
        world.remove(Kind::Network, &id).unwrap()
    });
    ground.create("web", &json!({})).await;
    ground.told("web", &["no external network", "loadBalancers.floatingNetworkID"]).await;
    let shown = ingress(&ground, "web").await;
    assert_eq!(shown["ip"], ground.cloud.account().all(Kind::LoadBalancer)[0]["vip_address"]);
    ground.delete("web").await;
    ground.cloud.with(|world| drop(world.insert(Kind::Network, network)));

    // Nodes are told of clients: the status says that packets go by a proxy.
    ground.create("proxied", &json!({ key("proxy-protocol"): "v2" })).await;
    let shown = ingress(&ground, "proxied").await;
    let floating = &ground.cloud.account().all(Kind::FloatingIp)[0]["floating_ip_address"];
    assert_eq!(shown, json!({ "ip": floating, "ipMode": "Proxy" }));
    assert_eq!(ground.cloud.account().all(Kind::Pool)[0]["protocol"], "PROXYV2");
    ground.delete("proxied").await;
    ground.stop().await;
}

/// Cases: openstack 43, openstack 49
#[tokio::test]
async fn openstack_043_an_immutable_load_balancer_is_waited_for() {
    let ground = Ground::start().await;
    ground.create("web", &json!({})).await;
    ground.address("web").await;
    let listener = "/load-balancer/v2.0/lbaas/listeners/*";
    ground.cloud.inject(OpenStack::busy("PUT", listener).times(2));
    let begun = ground.cloud.requests().len();
    ground.annotate("web", &json!({ key("connection-limit"): "10" })).await;
    let limit = || ground.cloud.account().all(Kind::Listener)[0]["connection_limit"].clone();
    wait::until("the third time it is changed", async || (limit() == json!(10)).then_some(())).await;
    let put = |status: u16| format!("PUT /listeners/* {status}");
    assert_eq!(ground.writes_since(begun), [put(409), put(409), put(200)]);
    assert_eq!(ground.warnings("web").await, [""; 0]);

    // A change that does not end: the deletion waits for its end, and asks meanwhile.
    let id = ground.balancer("web").await;
    ground.cloud.behave(|it| it.provisioning = Taking::Forever);
    ground.annotate("web", &json!({ key("connection-limit"): "20" })).await;
    wait::until("it is being changed", async || (limit() == json!(20)).then_some(())).await;
    let begun = ground.cloud.requests().len();
    ground.begin_deletion("web").await;
    let asks =
        || ground.cloud.requests_from(begun).iter().filter(|it| it.is("GET", "**") && it.path.ends_with(&id)).count();
    wait::until("it asks for its state again and again", async || (asks() >= 3).then_some(())).await;
    let is_whole = |it: &String| it.starts_with("DELETE /loadbalancers");
    assert!(!ground.writes_since(begun).iter().any(|it| is_whole(it) && it.ends_with(" 204")));
    ground.cloud.with(|world| {
        world.behaviour.provisioning = Taking::Time(Duration::from_millis(50));
        world.finish(&id);
    });
    ground.gone("web").await;
    assert_eq!((ground.left(), ground.warnings("web").await), (vec![], vec![]));
    ground.stop().await;
}

#[tokio::test]
async fn openstack_055_retry_after_is_obeyed_by_all_that_asks() {
    let ground = Ground::start().await;
    ground.create("web", &json!({})).await;
    ground.address("web").await;
    let lists = "/load-balancer/v2.0/lbaas/loadbalancers";
    // OpenStack's services have said 413 for too many requests, too.
    for (status, new, limit) in [(429, "new", "10"), (413, "newer", "20")] {
        let fault = Fault::status("GET", lists, status).header("retry-after", &PAUSE.as_secs().to_string());
        ground.cloud.inject(fault.times(1));
        let begun = ground.cloud.requests().len();
        ground.create(new, &json!({})).await;
        let refused = || ground.cloud.requests_from(begun).into_iter().position(|it| it.status == Some(status));
        let at = begun + wait::until("the cloud asks for a pause", async || refused()).await;
        // A Service that has to be changed, and one that is new: nothing of either is asked for.
        ground.annotate("web", &json!({ key("connection-limit"): limit })).await;
        ground.address(new).await;
        let asked = ground.cloud.requests_from(at);
        let next = asked[1..].iter().find(|it| it.path.starts_with("/load-balancer/")).unwrap();
        let waited = next.at.duration_since(asked[0].at).unwrap();
        assert!(waited >= PAUSE, "{status}: {next} came after {waited:?}");
    }
    ground.stop().await;
}
