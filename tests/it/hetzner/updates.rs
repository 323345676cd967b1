//! Load balancers that there are: cases 28 to 39.

use std::time::Duration;

use cloud_provider::{Error, Progress, Protocol};
use tests::clouds::hetzner::{Behaviour, LoadBalancer, Options, Server, Taking, Target};

use crate::setup::{
    LOCATION, NAME, NETWORK, Rig, Service, UID, node, port, rig, server, start, with_usual_limits, worker,
};

const IN_NETWORK: [(&str, &str); 2] = [LOCATION, ("network", "4711")];
const ACTIONS: &str = "/v1/load_balancers/*/actions";

/// A Service that is served, and how many requests there were until then.
async fn served(rig: &Rig) -> (Service<'_>, usize) {
    let mut service = Service::new(rig).with("type", "lb11");
    let (_, events) = service.served_with().await;
    assert_eq!(events, []);
    let requests = rig.requests().len();
    (service, requests)
}

/// The requests after the first `before`, with a star for the id.
fn since(rig: &Rig, before: usize) -> Vec<String> {
    let id = rig.cloud.load_balancers().all()[0].id.to_string();
    rig.requests()[before..].iter().map(|it| it.replace(&id, "*")).collect()
}

#[tokio::test]
async fn hcloud_29_a_new_node_is_one_new_target() {
    // In one call: an action that ends between a read and the write that follows it lets the cloud refuse that.
    let rig = start(Options::instant(), &[LOCATION]).await;
    let (mut service, before) = served(&rig).await;
    service.desired.nodes.push(worker(2));
    service.served_with().await;
    let writes: Vec<_> = since(&rig, before).into_iter().filter(|it| it.starts_with("POST")).collect();
    assert_eq!(writes, [format!("POST {ACTIONS}/add_target → 201")]);
    assert_eq!(rig.cloud.load_balancers().all()[0].targets, [Target::server(1), Target::server(2)]);
}

#[tokio::test]
async fn hcloud_30_a_server_that_is_gone_is_no_target_any_more() {
    // Of one call: the first change does not lock out the others.
    let options = Options { behaviour: Behaviour { targets_stay: true, ..Behaviour::instant() }, ..Options::default() };
    let rig = start(options, &[LOCATION]).await;
    rig.cloud.servers().insert(server(3));
    let mut service = Service::new(&rig).with("type", "lb11");
    service.desired.nodes = vec![worker(1), worker(2)];
    service.served_with().await;
    let before = rig.requests().len();
    service.desired.nodes = vec![worker(3)];
    rig.cloud.servers().remove(1);
    rig.cloud.servers().remove(2);
    service.ask().await.answer.unwrap();
    let writes: Vec<_> = since(&rig, before).into_iter().filter(|it| it.starts_with("POST")).collect();
    // What the cloud says of the first takes nothing from the second.
    let refused = format!("POST {ACTIONS}/remove_target → 422");
    assert_eq!(writes, [format!("POST {ACTIONS}/add_target → 201"), refused.clone(), refused]);
    let (_, events) = service.served_with().await;
    assert_eq!(events, []);
    assert_eq!(rig.cloud.load_balancers().all()[0].targets, [Target::server(3)]);
}

#[tokio::test]
async fn hcloud_31_another_way_to_the_nodes_replaces_their_targets() {
    let rig = rig(&IN_NETWORK).await;
    let (mut service, before) = served(&rig).await;
    service.set("use-private-ip", "true");
    service.served_with().await;
    // While the cloud carries out the first, it may refuse the second; and one that it has carried out by now.
    let is_done = |it: &String| it.starts_with("POST") && it.ends_with(" → 201");
    let writes: Vec<_> = since(&rig, before).into_iter().filter(is_done).collect();
    assert_eq!(writes, [format!("POST {ACTIONS}/remove_target → 201"), format!("POST {ACTIONS}/add_target → 201")]);
    let targets = &rig.cloud.load_balancers().all()[0].targets;
    assert_eq!(*targets, [Target::Server { id: 1, use_private_ip: true }]);
}

#[tokio::test]
async fn hcloud_32_more_nodes_than_a_type_takes_are_left_out() {
    // In one call.
    let rig = start(Options::instant(), &[LOCATION]).await;
    for id in 3..=27 {
        rig.cloud.servers().insert(Server::new(id, &format!("web-{id}")));
    }
    let (mut service, _) = served(&rig).await;
    service.desired.nodes = (1..=27).map(worker).collect();
    let (_, events) = service.served_with().await;
    let [warning] = &events[..] else { panic!("{events:?}") };
    assert_eq!(warning.reason, "MaxTargetsReached");
    assert_eq!(rig.cloud.load_balancers().all()[0].targets.len(), 25);
}

#[tokio::test]
async fn hcloud_33_a_port_that_is_gone_is_deleted() {
    let rig = start(Options::instant(), &[LOCATION]).await;
    let mut service = Service::new(&rig).with("type", "lb11");
    service.desired.ports.push(port(Protocol::Tcp, 443));
    service.served_with().await;
    service.desired.ports.pop();
    service.served_with().await;
    let ports: Vec<_> = rig.cloud.load_balancers().all()[0].services.iter().map(|it| it.listen_port).collect();
    assert_eq!(ports, [80]);
    assert!(rig.writes().last().unwrap().ends_with("/delete_service → 201"));
}

#[tokio::test]
async fn hcloud_34_seconds_need_no_unit() {
    let rig = rig(&[LOCATION]).await;
    let (mut service, _) = served(&rig).await;
    service.set("health-check-interval", "10");
    service.served_with().await;
    assert_eq!(rig.cloud.load_balancers().all()[0].services[0].health_check.interval, 10);
}

#[tokio::test]
async fn hcloud_35_one_of_another_service_is_not_touched() {
    let rig = rig(&[LOCATION, ("adoptByName", "true")]).await;
    let other = LoadBalancer::new(7, "web").label("hcloud-ccm/service-uid", "another");
    rig.cloud.load_balancers().insert(other);
    let why = Service::new(&rig).with("name", "web").with("type", "lb11").invalid().await;
    assert!(why.contains("is marked for another Service or cluster (hcloud-ccm/service-uid=another)"), "{why}");
    assert_eq!(rig.cloud.load_balancers().get(7).unwrap().labels.len(), 1);
}

#[tokio::test]
async fn hcloud_36_two_with_one_mark_are_an_error() {
    let rig = rig(&[LOCATION]).await;
    for id in [7, 8] {
        let marked = LoadBalancer::new(id, &format!("lb-{id}")).label("hcloud-ccm/service-uid", UID);
        rig.cloud.load_balancers().insert(marked);
    }
    let why = Service::new(&rig).invalid().await;
    assert!(why.contains("are both marked for this Service"), "{why}");
    assert_eq!(rig.writes(), [""; 0]);
}

#[tokio::test]
async fn hcloud_37_a_locked_load_balancer_is_waited_for() {
    let rig = rig(&IN_NETWORK).await;
    let (mut service, _) = served(&rig).await;
    rig.cloud.behave(|it| it.actions = Taking::Reads(2));
    service.set("private-ipv4", "10.0.0.9");
    let first = service.ask().await.answer;
    assert!(matches!(first, Ok(Progress::Pending(_))), "{first:?}");
    assert!(service.addresses().await.contains(&"10.0.0.9".to_owned()));
    let attached: Vec<_> = rig.writes().into_iter().filter(|it| it.contains("/attach_to_network")).collect();
    assert!(attached.len() > 1 && attached[0].ends_with(" → 423") && attached[1].ends_with(" → 201"), "{attached:?}");
}

#[tokio::test]
async fn a_lock_is_asked_about_again_and_again() {
    let rig = with_usual_limits(&[LOCATION]).await;
    let (mut service, _) = served(&rig).await;
    rig.cloud.behave(|it| it.actions = Taking::Forever);
    service.set("algorithm-type", "least_connections");
    service.pending().await;
    let before = rig.requests().len();
    for _ in 0..3 {
        let pending = service.pending().await;
        assert_eq!(pending.after, Duration::from_millis(500), "{}", pending.reason);
    }
    // What the egress remembers of a moment ago says nothing new.
    let requests = since(&rig, before);
    let asked = requests.iter().filter(|it| it.starts_with(&format!("GET {ACTIONS}?"))).count();
    assert_eq!(asked, 3, "{requests:?}");
}

#[tokio::test]
async fn one_request_asks_about_all_actions_of_a_call() {
    let rig = rig(&[LOCATION]).await;
    let (mut service, before) = served(&rig).await;
    rig.cloud.behave(|it| (it.locks, it.actions) = (false, Taking::Reads(2)));
    service.set("algorithm-type", "least_connections");
    service.desired.nodes.push(worker(2));
    let first = service.ask().await.answer;
    assert!(matches!(first, Ok(Progress::Pending(_))), "{first:?}");
    let requests = since(&rig, before);
    let writes: Vec<_> = requests.iter().filter(|it| it.starts_with("POST")).collect();
    assert_eq!(
        writes,
        [&format!("POST {ACTIONS}/change_algorithm → 201"), &format!("POST {ACTIONS}/add_target → 201")]
    );
    let asked: Vec<_> = rig.requests().split_off(before).into_iter().filter(|it| it.contains(" /v1/actions")).collect();
    let [one] = &asked[..] else { panic!("not one question: {asked:?}") };
    let ids = one.strip_prefix("GET /v1/actions?id=").and_then(|it| it.strip_suffix(" → 200"));
    let ids: Vec<u64> = ids.unwrap().split("&id=").map(|it| it.parse().unwrap()).collect();
    assert!(matches!(ids[..], [algorithm, target] if algorithm < target), "{asked:?}");
    service.served_with().await;
    let made = &rig.cloud.load_balancers().all()[0];
    assert_eq!((&*made.algorithm, made.targets.len()), ("least_connections", 2));
}

// Case 38 is the host's: it evaluates the selector, and calls nobody if it cannot be read. Here: that it is told to do so.

#[tokio::test]
async fn hcloud_38_the_host_evaluates_the_node_selector() {
    let rig = rig(&[LOCATION]).await;
    let selectors = rig.provider.cloud().description.now().annotations.iter().filter(|it| it.selects_nodes).count();
    assert_eq!(selectors, 1);
    let key = crate::setup::key("node-selector");
    let description = rig.abilities.description.now();
    let row = description.annotations.iter().find(|it| it.key == key);
    assert!(row.is_some_and(|it| it.selects_nodes));
}

#[tokio::test]
async fn hcloud_39_a_node_of_another_cloud_is_left_out_with_a_warning() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig).with("type", "lb11");
    service.desired.nodes.push(node("kind", "kind://docker/kind/node"));
    let reasons = service.reasons().await;
    assert!(reasons.iter().all(|it| it == "UnknownProviderIDPrefix") && !reasons.is_empty(), "{reasons:?}");
    assert_eq!(rig.cloud.load_balancers().all()[0].targets, [Target::server(1)]);
}

#[tokio::test]
async fn a_takeover_from_the_vendors_controller_writes_nothing() {
    let rig = rig(&[LOCATION]).await;
    served(&rig).await;
    // As the vendor's controller would have left it.
    let id = rig.cloud.load_balancers().all()[0].id;
    rig.cloud.load_balancers().update(id, |it| it.labels.retain(|label, _| label == "hcloud-ccm/service-uid"));
    let before = rig.requests().len();
    let mut service = Service::new(&rig);
    service.served_with().await;
    let requests = since(&rig, before);
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    service.desired.nodes.push(worker(2));
    service.served_with().await;
    assert_eq!(rig.cloud.load_balancers().get(id).unwrap().labels.len(), 3, "our marks come with the first write");
}

#[tokio::test]
async fn a_creation_that_takes_time_is_pending_and_then_ready() {
    let behaviour = Behaviour { creation: Taking::Reads(3), ..Behaviour::default() };
    let rig = start(Options { behaviour, ..Options::default() }, &[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    assert_eq!(rig.writes(), ["POST /v1/load_balancers → 201"]);
}

#[tokio::test]
async fn an_action_that_fails_is_told() {
    // By the call that has begun it.
    let rig = start(Options::instant(), &[LOCATION]).await;
    let (mut service, _) = served(&rig).await;
    rig.cloud.behave(|it| it.failing = Some("change_algorithm"));
    service.set("algorithm-type", "least_connections");
    let failed = service.ask().await.answer;
    assert!(matches!(&failed, Err(Error::Unavailable(why)) if why.contains("has failed")), "{failed:?}");
    let writes = rig.writes().len();
    assert!(service.ask().await.answer.is_err());
    assert_eq!(rig.writes().len(), writes, "it is not begun again at once");
}

#[tokio::test]
async fn a_name_that_is_freed_late_is_waited_for() {
    let behaviour = Behaviour { names_freed_late_by: Duration::from_secs(3_600), ..Behaviour::default() };
    let rig = start(Options { behaviour, ..Options::default() }, &[LOCATION]).await;
    let (mut service, _) = served(&rig).await;
    assert_eq!(service.delete().await, Ok(cloud_provider::Deletion::Done));
    let mut again = Service::new(&rig);
    assert!(matches!(again.ask().await.answer, Ok(Progress::Pending(_))));
    assert!(matches!(again.ask().await.answer, Ok(Progress::Pending(_))), "the name is not free yet");
    rig.cloud.behave(|it| it.names_freed_late_by = Duration::ZERO);
    again.served_with().await;
    assert_eq!(rig.cloud.load_balancers().all()[0].name, NAME);
}

#[tokio::test]
async fn it_follows_its_network() {
    let rig = rig(&IN_NETWORK).await;
    served(&rig).await;
    let all = rig.cloud.load_balancers().all();
    assert_eq!(all[0].private_net.map(|(network, _)| network), Some(NETWORK));
}
