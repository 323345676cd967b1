//! Services of further kinds, and what comes of their parts: by the real binary.

use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, Recorded, Side};
use tests::simulator::Fault;
use tests::vendor::{OpenStack, Vendor as _};
use tests::wait;

use crate::ground::Ground;

const LISTENERS: &str = "/load-balancer/v2.0/lbaas/listeners";

fn key(short: &str) -> String {
    format!("{}{short}", OpenStack::PREFIX)
}

impl Ground {
    /// A field of all objects of a kind, in the order of the alphabet.
    fn of(&self, kind: Kind, field: &str) -> Vec<String> {
        let all = self.cloud.account().all(kind);
        let mut all: Vec<_> = all.iter().map(|it| it[field].as_str().unwrap_or_default().to_owned()).collect();
        all.sort();
        all
    }

    /// How many writes of a kind there were since then, and how often the driver refused one.
    fn counted(&self, begun: usize, write: &str) -> usize {
        self.writes_since(begun).iter().filter(|it| it.starts_with(write)).count()
    }
}

#[tokio::test]
async fn openstack_024_a_driver_that_refused_once_is_remembered() {
    let driver = |it: &mut Value| it["provider"]["settings"]["loadBalancers.provider"] = json!("f5");
    let ground = Ground::with(|_| {}, |setup, _| setup.edit(driver)).await;
    ground.cloud.behave(|behaviour| {
        behaviour.drivers.insert("f5");
        (behaviour.nested, behaviour.batches) = (false, false);
    });
    ground.join(&[1, 2]).await;
    let begun = ground.cloud.requests().len();
    ground.create("first", &json!({})).await;
    ground.address("first").await;
    wait::until("it has its members", async || (ground.cloud.account().all(Kind::Member).len() == 2).then_some(()))
        .await;
    let whole = "POST /loadbalancers 501";
    assert_eq!(ground.counted(begun, whole), 1, "{:?}", ground.writes_since(begun));
    // A process that begins again knows it from the cloud.
    let ground = ground.restart(&[]).await;
    let begun = ground.cloud.requests().len();
    ground.create("second", &json!({})).await;
    ground.address("second").await;
    let writes = ground.writes_since(begun);
    assert_eq!((ground.counted(begun, whole), ground.counted(begun, "POST /loadbalancers 201")), (0, 1), "{writes:?}");
    for name in ["first", "second"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.left(), Vec::<Value>::new());
    ground.stop().await;
}

#[tokio::test]
async fn openstack_030_a_full_subnet_is_passed_over() {
    let ground = Ground::with(
        |world| {
            let outside = world.named(Kind::Network, "ext");
            let full = world.add_subnet(&outside, "public-a", "172.24.6.0/30", &[]);
            world.add_port("taken", ("", ""), &[(&full, None)]);
            world.add_subnet(&outside, "public-b", "172.24.7.0/24", &[]);
        },
        |setup, _| setup,
    )
    .await;
    ground.join(&[1]).await;
    ground.create("web", &json!({ key("floating-subnet"): "~^public-.*" })).await;
    assert!(ground.address("web").await.starts_with("172.24.7."));
    ground.create("full", &json!({ key("floating-subnet"): "public-a" })).await;
    ground.told("full", &["no subnet", "public-a", "has a free address"]).await;
    ground.stop().await;
}

/// Cases: openstack 34, openstack 35, openstack 36, openstack 40, openstack 41
#[tokio::test]
async fn openstack_035_datagrams_have_their_listeners_and_monitors() {
    let ground = Ground::start().await;
    let port = |name: &str, number: u16, protocol: &str| json!({ "name": name, "port": number, "protocol": protocol });
    let service = |name: &str, ports: Value, more: Value| {
        let mut service = json!({
            "metadata": { "name": name, "annotations": { key("enable-health-monitor"): "true" } },
            "spec": { "type": "LoadBalancer", "ports": ports },
        });
        service["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(service).unwrap()
    };
    let services = ground.services();
    let many = service("many", json!([port("dns", 53, "UDP"), port("signals", 36412, "SCTP")]), json!({}));
    services.create(&kube::api::PostParams::default(), &many).await.unwrap();
    ground.address("many").await;
    wait::until("each pool has its monitor", async || {
        (ground.of(Kind::HealthMonitor, "type") == ["SCTP", "UDP-CONNECT"]).then_some(())
    })
    .await;
    assert_eq!([ground.of(Kind::Listener, "protocol"), ground.of(Kind::Pool, "protocol")], [["SCTP", "UDP"]; 2]);
    ground.delete("many").await;

    let bare = service("bare", json!([port("web", 80, "TCP")]), json!({ "allocateLoadBalancerNodePorts": false }));
    services.create(&kube::api::PostParams::default(), &bare).await.unwrap();
    ground.told("bare", &["node port"]).await;
    ground.address("bare").await;
    let account = ground.cloud.account();
    assert_eq!([Kind::Listener, Kind::Pool, Kind::Member].map(|it| account.all(it).len()), [1, 1, 0]);

    // A new process writes nothing.
    let begun = ground.cloud.requests().len();
    let ground = ground.restart(&[]).await;
    let asks = || ground.cloud.requests_from(begun).iter().any(|it| it.path.contains("/lbaas/"));
    wait::until("Octavia is asked", async || asks().then_some(())).await;
    ground.create("tls", &json!({ key("default-tls-container-ref"): "gold" })).await;
    ground.told("tls", &["default-tls-container-ref", "gold"]).await;
    assert_eq!(ground.writes_since(begun), [""; 0]);
    ground.stop().await;
}

/// Cases: openstack 44, openstack 48, openstack 51
#[tokio::test]
async fn openstack_044_a_listener_in_error_is_made_again() {
    let ground = Ground::start().await;
    ground.create("web", &json!({})).await;
    ground.address("web").await;
    let listener = ground.of(Kind::Listener, "id");
    // An answer from before may serve the call after this change. Then this is the read after its write.
    let is_read = |it: &Recorded| it.is("GET", LISTENERS) && it.query_value("loadbalancer_id").is_some();
    let hold = ground.cloud.hold(1, Side::Before, is_read);
    ground.annotate("web", &json!({ key("connection-limit"): "10" })).await;
    hold.reached().await;
    ground.cloud.with(|world| {
        world.get_mut(Kind::Listener, &listener[0]).unwrap()["provisioning_status"] = json!("ERROR");
    });
    hold.resume();
    wait::until("another listens", async || {
        let now = ground.cloud.account().all(Kind::Listener);
        (now.len() == 1 && now[0]["id"] != listener[0] && now[0]["provisioning_status"] == "ACTIVE").then_some(())
    })
    .await;

    // A floating IP with words of a person is theirs.
    let floating = ground.of(Kind::FloatingIp, "id");
    ground.cloud.with(|world| {
        world.get_mut(Kind::FloatingIp, &floating[0]).unwrap()["description"] = json!("of a person");
    });
    ground.delete("web").await;
    let left = ground.left();
    assert_eq!((left.len(), &left[0]["id"], &left[0]["port_id"]), (1, &json!(floating[0]), &Value::Null));

    // One that is not there any more is deleted, and so is one that never was.
    ground.create("again", &json!({})).await;
    ground.address("again").await;
    let id = ground.balancer("again").await;
    ground.cloud.account().with(|world| world.take_away(&id));
    ground.delete("again").await;
    ground.cloud.inject(Fault::status("POST", "/load-balancer/v2.0/lbaas/loadbalancers", 400).times(1_000));
    ground.create("never", &json!({})).await;
    ground.told("never", &["400"]).await;
    ground.delete("never").await;
    assert_eq!(ground.left(), left);
    ground.stop().await;
}
