//! Values of annotations, and labels of nodes, through wasm, gate and signature.

use cloud_provider::{Error, Node, PodNetwork, Progress};
use serde_json::{Value, json};
use tests::clouds::alibaba::machine_id;
use tests::vendor::{AlibabaCloud, Vendor as _};
use tests::wait;

use crate::life::{Life, slow};
use crate::setup::Rig;

const EXCLUDED: [&str; 2] = ["service.alibabacloud.com/exclude-node", "service.beta.kubernetes.io/exclude-node"];
const WITHOUT_TRAFFIC: &str = "alpha.service-controller.kubernetes.io/exclude-balancer";

/// The node of a machine, with a label.
fn labelled(number: u8, label: &str) -> Node {
    Node { labels: vec![(label.to_owned(), "true".to_owned())], ..AlibabaCloud::worker(number) }
}

/// The only one of these objects.
fn only(table: &tests::clouds::alibaba::Table) -> Value {
    let all: Vec<&Value> = table.all().map(|(_, it)| it).collect();
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

#[tokio::test]
async fn nodes_that_a_label_excludes_take_no_traffic() {
    let rig = Rig::start(slow()).await;
    for label in [EXCLUDED[0], EXCLUDED[1], WITHOUT_TRAFFIC] {
        for mut life in [Life::new(&rig), Life::network(&rig)] {
            life.service.desired.nodes = vec![AlibabaCloud::worker(1), labelled(2, label), AlibabaCloud::worker(3)];
            life.settle().await;
            assert_eq!(AlibabaCloud::built(rig.cloud.account())[0].machines, [1, 3], "{label}");
            life.service.desired.nodes[0] = labelled(1, label);
            life.settle().await;
            assert_eq!(AlibabaCloud::built(rig.cloud.account())[0].machines, [3], "{label}");
            life.service.gone().await;
        }
    }
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn nodes_that_a_label_excludes_have_no_route() {
    let rig = Rig::instant().await;
    let network = |number: u8, node: Node| PodNetwork { destination: format!("10.244.{number}.0/24"), node };
    let hybrid = Node { provider_id: Some("ack-hybrid://x".to_owned()), ..AlibabaCloud::worker(3) };
    let asked = [
        network(1, AlibabaCloud::worker(1)),
        network(2, labelled(2, EXCLUDED[0])),
        network(3, hybrid),
        network(4, labelled(2, WITHOUT_TRAFFIC)),
    ];
    let hops = rig.abilities.routes.as_ref().unwrap().next_hops(&asked).await.answer;
    assert_eq!([&hops[0], &hops[3]], [&Ok(machine_id(1)), &Ok(machine_id(2))], "others are not held up");
    for hop in &hops[1..3] {
        assert!(matches!(hop, Err(Error::Unavailable(why)) if why.contains("no route leads to it")), "{hop:?}");
    }
}

#[tokio::test]
async fn services_of_another_controller_are_left_alone() {
    let rig = Rig::instant().await;
    let begun = rig.cloud.requests().len();
    for (key, value) in [
        ("service.beta.kubernetes.io/class", "nginx"),
        ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-tunnel-type", ""),
        ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-type", "gwlb"),
    ] {
        let mut life = Life::new(&rig);
        life.service.annotate(key, value);
        assert_eq!(life.service.ask().await.answer, Ok(Progress::NotManaged), "{key}");
    }
    assert_eq!(rig.cloud.requests().len(), begun, "nothing is asked");
    let mut life = Life::network(&rig);
    life.service.desired.load_balancer_class = None;
    life.service.set("type", "nlb");
    life.settle().await;
    assert!(rig.only().starts_with("nlb-"));
    life.service.gone().await;
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn an_empty_list_of_security_groups_lets_all_go() {
    let rig = Rig::start(slow()).await;
    let own = rig.cloud.with(|world| world.put_security_group(json!({ "SecurityGroupName": "mine" })));
    let mut life = Life::network(&rig);
    life.service.set("security-group-ids", &own);
    life.settle().await;
    let shown = || rig.cloud.with(|world| only(&world.network_balancers)["SecurityGroupIds"].clone());
    assert_eq!(shown(), json!([own]));
    life.service.set("security-group-ids", "");
    assert_eq!(life.settle().await, ["LoadBalancerLeaveSecurityGroup"]);
    assert_eq!(shown(), json!([]));
    assert_eq!(life.settle().await, [""; 0]);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn zones_of_a_network_load_balancer_follow_by_jobs() {
    let rig = Rig::start(slow()).await;
    rig.cloud.with(|world| world.put_switch("vsw-h", "cn-hangzhou-h", "10.2.0.0/16"));
    let mut life = Life::network(&rig);
    life.settle().await;
    life.service.set("zone-maps", "cn-hangzhou-g:vsw-g,cn-hangzhou-h:vsw-h::eip-1");
    assert_eq!(life.settle().await, ["UpdateLoadBalancerZones"; 2]);
    let shown = || rig.cloud.with(|world| only(&world.network_balancers)["ZoneMappings"].clone());
    let (g, h) = (("cn-hangzhou-g", "vsw-g"), ("cn-hangzhou-h", "vsw-h"));
    let expected = json!([
        { "ZoneId": g.0, "VSwitchId": g.1 }, { "ZoneId": h.0, "VSwitchId": h.1, "AllocationId": "eip-1" },
    ]);
    assert_eq!(shown(), expected);
    assert_eq!(life.settle().await, [""; 0]);
    // Nodes follow beside zones that the cloud refuses, and the refusal is told.
    life.service.set("zone-maps", "cn-hangzhou-g:vsw-g,cn-hangzhou-h:vsw-b");
    life.service.desired.nodes.push(AlibabaCloud::worker(3));
    let told = wait::until("it is told", async || match life.service.ask().await.answer {
        Err(why) | Ok(Progress::Failed(_, why)) => Some(why),
        Ok(_) => None,
    })
    .await
    .to_string();
    assert!(told.contains("ResourceNotFound.vSwitch"), "{told}");
    assert_eq!((shown(), &*AlibabaCloud::built(rig.cloud.account())[0].machines), (expected, &[1, 2, 3][..]));
    life.service.set("zone-maps", "cn-hangzhou-g:vsw-g,cn-hangzhou-h:vsw-h");
    assert_eq!(life.settle().await, [""; 0], "addresses that nobody chooses stay");
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn sticky_sessions_are_on_changed_and_off() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.service.set("protocol-port", "http:80");
    life.settle().await;
    let set = ["SetLoadBalancerHTTPListenerAttribute"];
    for (annotations, expected) in [
        (
            [("sticky-session", "on"), ("sticky-session-type", "insert"), ("cookie-timeout", "1800"), ("cookie", "")],
            json!(["on", "insert", "1800", null]),
        ),
        (
            [
                ("sticky-session", "on"),
                ("sticky-session-type", "server"),
                ("cookie-timeout", "1800"),
                ("cookie", "route"),
            ],
            json!(["on", "server", null, "route"]),
        ),
        (
            [
                ("sticky-session", "off"),
                ("sticky-session-type", "server"),
                ("cookie-timeout", "1800"),
                ("cookie", "route"),
            ],
            json!(["off", null, null, null]),
        ),
    ] {
        annotations.iter().for_each(|(name, value)| life.service.set(name, value));
        assert_eq!(life.settle().await, set, "{annotations:?}");
        let shown = rig.cloud.with(|world| {
            let listener = only(&world.listeners);
            ["StickySession", "StickySessionType", "CookieTimeout", "Cookie"].map(|it| listener[it].clone())
        });
        assert_eq!(json!(shown), expected, "{annotations:?}");
        assert_eq!(life.settle().await, [""; 0], "{annotations:?}");
    }
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn an_elastic_address_is_in_the_status() {
    let rig = Rig::instant().await;
    let mut life = Life::new(&rig);
    life.service.set("address-type", "intranet");
    life.service.set("external-ip-type", "eip");
    let (_, events) = life.service.served_with().await;
    assert!(events.iter().any(|it| it.message.contains("no elastic address is bound to")), "{events:?}");
    let id = rig.only();
    rig.cloud.with(|world| world.balancers.get_mut(&id).unwrap()["ElasticAddress"] = json!("198.51.100.7"));
    let (standing, _) = life.service.served_with().await;
    assert_eq!(standing.ingress[0].ip.as_deref(), Some("198.51.100.7"));
    rig.cloud.assert_valid();
}
