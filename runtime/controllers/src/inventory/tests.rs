mod asked;
mod batches;
mod spellings;
mod whose;

use crate::node_object::NodeSpec;
use cloud_provider::{Description, Event, EventKind, Gap, Page, State};
use k8s_openapi::api::core::v1::{NodeAddress, Taint};
use scripted_cloud::{ScriptedCloud, page};

use super::joining::{FEW, GATHER, Situation, Strategy, strategy};
use super::*;
use crate::freshness::LATER_TURN;

const AGAIN: Freshness = LATER_TURN.at_any_time();

/// A cloud that knows these machines. The case of letters does not count in it, and ids with a minus sign are none.
fn cloud(machines: Vec<Instance>) -> Arc<ScriptedCloud> {
    let word = |id: &String| match id.contains('-') {
        true => Err(Error::Invalid("no such id".into())),
        false => Ok(id.to_lowercase()),
    };
    let cloud = ScriptedCloud::with(machines);
    cloud.canonical_ids.answers(move |ids| ids.iter().map(word).collect());
    Arc::new(cloud)
}

/// The same, and each call takes so long.
fn slow(machines: Vec<Instance>, call: Duration) -> Arc<ScriptedCloud> {
    let cloud = cloud(machines);
    cloud.get.takes(call);
    cloud.list.takes(call);
    cloud
}

/// The same as [`cloud`], and its next pages fail with these errors.
fn failing(machines: Vec<Instance>, errors: impl IntoIterator<Item = Error>) -> Arc<ScriptedCloud> {
    let cloud = cloud(machines);
    cloud.list.answers_next(errors.into_iter().map(|it| Err(it).into()));
    cloud
}

/// The same as [`cloud`], whose lists lack machines with these names, and say where.
fn lacking(machines: Vec<Instance>, unlisted: &'static [&'static str], gaps: Vec<Gap>) -> Arc<ScriptedCloud> {
    let cloud = cloud(machines);
    let listed: Vec<_> = cloud.machines().into_iter().filter(|it| !unlisted.contains(&it.name.as_str())).collect();
    cloud.list.answers(move |place| {
        let (instances, next) = page(listed.iter().cloned(), &place);
        Ok(Page { instances, next, gaps: gaps.clone() }).into()
    });
    cloud
}

/// The same as [`cloud`], which brings these events with each answer about nodes.
fn talkative(machines: Vec<Instance>, events: Vec<Event>) -> Arc<ScriptedCloud> {
    let cloud = cloud(machines);
    let known = ScriptedCloud::with(cloud.machines());
    cloud.get.answers(move |nodes| {
        let answer = nodes.iter().map(|it| Ok(known.machine(it))).collect();
        Reply { answer, events: events.clone(), wrote: false }
    });
    cloud
}

/// A cloud that answers with this machine, whatever is asked.
fn answering(machine: Instance) -> Arc<ScriptedCloud> {
    let cloud = cloud(vec![machine.clone()]);
    cloud.get.answers(move |nodes| vec![Ok(Some(machine.clone())); nodes.len()].into());
    cloud
}

fn instance(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        state: State::Running,
        machine_type: None,
        zone: None,
        region: None,
        addresses: vec![Address { kind: AddressKind::InternalIp, value: format!("10.0.{}.{}", nth / 256, nth % 256) }],
        labels: Vec::new(),
        ..Instance::default()
    }
}

fn machines(count: usize) -> Vec<Instance> {
    (1..=count).map(instance).collect()
}

/// A node that waits.
fn node(nth: usize) -> KubeNode {
    let taint = Taint { key: crate::node_fields::UNINITIALIZED.into(), ..Taint::default() };
    let spec = NodeSpec { taints: Some(vec![taint]), ..NodeSpec::default() };
    let mut node = KubeNode { spec: Some(spec), ..KubeNode::default() };
    node.metadata.name = Some(format!("n{nth}"));
    node
}

/// A node that has a provider id, and waits.
fn known(nth: usize, provider_id: &str) -> KubeNode {
    let mut node = node(nth);
    node.spec.get_or_insert_default().provider_id = Some(provider_id.into());
    node
}

fn inventory(fake: &Arc<ScriptedCloud>, nodes: impl IntoIterator<Item = KubeNode>) -> Inventory {
    let (recorder, _) = Recorder::captured();
    inventory_with(fake, nodes, recorder)
}

fn inventory_with(
    fake: &Arc<ScriptedCloud>,
    nodes: impl IntoIterator<Item = KubeNode>,
    recorder: Recorder,
) -> Inventory {
    let description = Description {
        name: "fake".into(),
        provider_id_prefixes: vec!["fake://".into()],
        get_batch_size: 1,
        list_page_size: 500,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    Inventory::new(&cloud, Nodes::of(nodes), recorder).unwrap()
}

#[test]
fn the_strategy_for_a_node_that_joins() {
    let usual = Situation { waiting: 1, many: MANY, ..Situation::default() };
    for (situation, expected) in [
        (usual, Strategy::Get),
        (Situation { waiting: FEW, ..usual }, Strategy::Get),
        (Situation { waiting: FEW + 1, ..usual }, Strategy::Gather),
        (Situation { lately: 1, ..usual }, Strategy::Gather),
        (Situation { lately: 2, ..usual }, Strategy::Gather),
        (Situation { lately: 2, has_gathered: true, ..usual }, Strategy::Get),
        (Situation { waiting: 7, has_gathered: true, ..usual }, Strategy::Get),
        (Situation { waiting: 8, ..usual }, Strategy::List),
        (Situation { waiting: 8, many: 9, has_gathered: true, ..usual }, Strategy::Get),
        (Situation { is_doubtful: true, ..usual }, Strategy::List),
        (Situation { is_doubtful: true, has_list: true, ..usual }, Strategy::KnownList),
        (Situation { waiting: 8, has_list: true, ..usual }, Strategy::KnownList),
    ] {
        assert_eq!(strategy(situation), expected, "{situation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn few_nodes_are_asked_about_alone() {
    let fake = cloud(machines(7));
    let inventory = inventory(&fake, (1..=7).map(node));
    for nth in 1..=7 {
        assert_eq!(inventory.joining(&node(nth)).await, Ok(Some(instance(nth))));
    }
    assert_eq!(fake.take_calls().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn few_nodes_are_asked_about_side_by_side() {
    let second = Duration::from_secs(1);
    let fake = slow(machines(7), second);
    let inventory = inventory(&fake, (1..=7).map(node));
    let start = Instant::now();
    let nodes: Vec<_> = (1..=7).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert_eq!(found, (1..=7).map(|nth| Ok(Some(instance(nth)))).collect::<Vec<_>>());
    assert_eq!((fake.take_calls().len(), start.elapsed()), (7, GATHER + second));

    assert_eq!(inventory.joining(&node(3)).await, Ok(Some(instance(3))));
    assert_eq!(fake.take_calls(), ["get n3"], "a second try asks for itself, and about nobody else");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_asked_about_as_it_is_in_its_turn() {
    let machine = Instance { provider_id: Some("fake://5".into()), ..instance(2) };
    let fake = cloud(vec![instance(1), machine.clone()]);
    let inventory = inventory(&fake, (1..=2).map(node));
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(inventory.joining(&known(2, "fake://2")).await, Ok(None), "by the provider id that it has got");
    assert_eq!(inventory.joining(&known(2, "fake://5")).await, Ok(Some(machine)));
    assert_eq!(fake.take_calls(), ["get n1", "get n2", "get n2"]);
}

#[tokio::test(start_paused = true)]
async fn case_060_many_nodes_share_one_list() {
    let fake = cloud(machines(1000));
    let inventory = inventory(&fake, (1..=1000).map(node));
    let nodes: Vec<_> = (1..=1000).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert!(found.iter().all(|it| matches!(it, Ok(Some(_)))));
    assert_eq!(fake.take_calls(), ["list 0 500", "list 500 500"]);

    tokio::time::advance(AGAIN.max_age).await;
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(fake.take_calls().len(), 2, "the list was too old");
    inventory.list(Freshness::within(Duration::from_secs(300))).await.unwrap();
    assert_eq!(fake.take_calls().len(), 0, "the address loop takes it for one period");
}

#[tokio::test(start_paused = true)]
async fn a_node_alone_is_asked_about_after_a_moment() {
    let fake = cloud(machines(2));
    let inventory = inventory(&fake, [node(1)]);
    let start = Instant::now();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(instance(1))));
    assert_eq!((fake.take_calls(), start.elapsed()), (vec!["get n1".to_owned()], GATHER));
    // It came a while ago.
    tokio::time::advance(AGAIN.max_age).await;
    let start = Instant::now();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(instance(1))));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn many_nodes_that_come_together_share_a_list() {
    // The first ones come, and by the time that they have waited the others are there.
    for first in [1, 2] {
        let fake = cloud(machines(20));
        let nodes: Vec<_> = (1..=20).map(node).collect();
        let (known, mut writer) = Nodes::new();
        let inventory = Inventory { nodes: known.clone(), ..inventory(&fake, []) };
        let mut come = |them: &[KubeNode]| {
            them.iter().for_each(|it| known.apply(kube::runtime::watcher::Event::Apply(it.clone()), &mut writer));
        };
        come(&nodes[..first]);
        let rest = async {
            tokio::time::sleep(GATHER / 2).await;
            come(&nodes);
        };
        let (found, ()) = tokio::join!(inventory.joining(&nodes[0]), rest);
        assert_eq!((found, fake.take_calls()), (Ok(Some(instance(1))), vec!["list 0 500".to_owned()]), "{first} first");
    }
}

/// Nodes that join in an account with three pages: some, and others while the list of them is read.
async fn join_during_a_list(some: usize, others: usize) -> Vec<String> {
    let call = Duration::from_millis(100);
    let (all, fake) = ((1..=some + others).map(node).collect::<Vec<_>>(), slow(machines(1_500), call));
    let (known, mut writer) = Nodes::new();
    let inventory = Inventory { nodes: known.clone(), ..inventory(&fake, []) };
    let mut come = |them: &[KubeNode]| {
        them.iter().for_each(|it| known.apply(kube::runtime::watcher::Event::Apply(it.clone()), &mut writer));
    };
    come(&all[..some]);
    let joins = futures::future::join_all(all.iter().enumerate().map(|(nth, it)| {
        let inventory = &inventory;
        async move {
            // The list is begun when it was quiet for 100 ms, and takes three times that.
            tokio::time::sleep(if nth < some { Duration::ZERO } else { 2 * call }).await;
            inventory.joining(it).await
        }
    }));
    let rest = async {
        tokio::time::sleep(2 * call).await;
        come(&all[some..]);
    };
    let (found, ()) = tokio::join!(joins, rest);
    assert!(found.iter().all(|it| matches!(it, Ok(Some(_)))), "{found:?}");
    fake.take_calls()
}

#[tokio::test(start_paused = true)]
async fn few_who_come_during_a_list_share_no_other() {
    let list = ["list 0 500", "list 500 500", "list 1000 500"];
    assert_eq!(join_during_a_list(10, 2).await, [list.as_slice(), &["get n11", "get n12"]].concat());
    assert_eq!(join_during_a_list(10, 8).await, [list, list].concat(), "many more are worth another");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_a_list_lacks_is_asked_about() {
    let fake = lacking(machines(9), &["n9"], Vec::new());
    let inventory = inventory(&fake, (1..=9).map(node));
    assert_eq!(inventory.joining(&node(9)).await, Ok(Some(instance(9))));
    assert_eq!(fake.take_calls(), ["list 0 500", "get n9"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_name_counts_once_a_list_lacks_it_too() {
    let fake = cloud(Vec::new());
    let inventory = inventory(&fake, [node(1)]);
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("n1")), "{error}");
    assert_eq!(fake.take_calls(), ["get n1"]);
    assert_eq!(inventory.joining(&node(1)).await, Ok(None));
    assert_eq!(fake.take_calls(), ["list 0 500"], "never more than one call a try");
    assert_eq!(inventory.joining(&node(1)).await, Ok(None));
    assert_eq!(fake.take_calls(), ["get n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_finds_a_machine_by_an_address_that_is_the_name() {
    let name = Address { kind: AddressKind::InternalDns, value: "n1".into() };
    let machine = Instance { name: "web".into(), addresses: vec![name], ..instance(5) };
    let fake = cloud(vec![machine.clone()]);
    let inventory = inventory(&fake, [node(1)]);
    inventory.joining(&node(1)).await.unwrap_err();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(machine)));
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_list_proves_nothing() {
    let fake = lacking(Vec::new(), &[], vec![Gap { zone: None, reason: "zone b did not answer".into() }]);
    let inventory = inventory(&fake, [node(1)]);
    for _ in 0..3 {
        inventory.joining(&node(1)).await.unwrap_err();
    }
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(error.to_string().contains("zone b did not answer"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn none_with_a_provider_id_is_certain() {
    let fake = cloud(Vec::new());
    let node = known(1, "fake://1");
    let inventory = inventory(&fake, [node.clone()]);
    assert_eq!(inventory.joining(&node).await, Ok(None));
    assert_eq!(fake.take_calls(), ["get n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_come_is_asked_for_in_halves() {
    let failures = || [Error::Unavailable("HTTP 504".into()), Error::Unavailable("HTTP 502".into())];
    let fake = failing(machines(200), failures());
    let inventory = inventory(&fake, []);
    let in_halves = ["list 0 500", "list 0 250", "list 0 125", "list 125 125"];
    inventory.list(AGAIN).await.unwrap();
    assert_eq!(fake.take_calls(), in_halves);
    fake.list.answers_next(failures().map(|it| Err(it).into()));
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(fake.take_calls(), in_halves, "one list alone may have begun in an outage");
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(fake.take_calls()[0], "list 0 125", "the next list begins with the size that worked");
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_not_repeated_by_every_caller() {
    let failures = vec![Error::Unavailable("HTTP 502".into()); 5];
    let fake = failing(machines(9), failures);
    let inventory = inventory(&fake, (1..=9).map(node));
    let nodes: Vec<_> = (1..=9).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert!(found.iter().all(|it| matches!(it, Err(Error::Unavailable(_)))));
    assert_eq!(fake.take_calls(), ["list 0 500", "list 0 250", "list 0 125", "list 0 62"]);
    tokio::time::advance(Duration::from_millis(5)).await;
    assert_eq!(inventory.joining(&nodes[0]).await, Ok(Some(instance(1))));
}

#[tokio::test(start_paused = true)]
async fn everyone_waits_as_long_as_the_cloud_asks() {
    let pause = Error::RetryAfter { after: Duration::from_secs(60), reason: "quota".into() };
    let fake = failing(machines(9), [pause.clone()]);
    let inventory = inventory(&fake, (1..=9).map(node));
    assert_eq!(inventory.joining(&node(1)).await, Err(pause));
    tokio::time::advance(Duration::from_secs(20)).await;
    let left = Error::RetryAfter { after: Duration::from_secs(40), reason: "quota".into() };
    assert_eq!(inventory.joining(&node(2)).await, Err(left));
    assert_eq!(fake.take_calls().len(), 1);
    tokio::time::advance(Duration::from_secs(40)).await;
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
}

/// A node with this name and provider id, which does not wait.
fn existing(name: &str, provider_id: &str) -> KubeNode {
    let mut node = known(1, provider_id);
    node.metadata.name = Some(name.into());
    node.spec.get_or_insert_default().taints = None;
    node
}

fn event(message: &str) -> Event {
    Event { about: None, kind: EventKind::Warning, reason: "Deprecated".into(), message: message.into() }
}

#[tokio::test(start_paused = true)]
async fn a_provider_event_is_recorded_once_in_ten_minutes() {
    let fake = talkative(machines(1), vec![event("This size goes away.")]);
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&fake, [node(1)], recorder);
    for _ in 0..3 {
        inventory.joining(&node(1)).await.unwrap();
    }
    let event = events.try_recv().unwrap();
    assert_eq!(event.about.name.as_deref(), Some("n1"));
    assert_eq!((event.kind, event.reason.as_str()), (EventKind::Warning, "Deprecated"));
    assert!(events.try_recv().is_err(), "it was sent once");
    tokio::time::advance(Duration::from_secs(600)).await;
    inventory.joining(&node(1)).await.unwrap();
    events.try_recv().unwrap();
}

#[tokio::test(start_paused = true)]
async fn case_104_a_question_that_is_not_answered_is_given_up() {
    let fake = slow(machines(1), Duration::from_secs(86_400));
    let node = known(1, "fake://1");
    let inventory = inventory(&fake, [node.clone()]);
    let start = Instant::now();
    let error = inventory.asked(&node, None).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert_eq!(start.elapsed(), CALL);
}

#[tokio::test(start_paused = true)]
async fn a_list_since_a_time_is_read_once() {
    let fake = cloud(machines(9));
    let inventory = inventory(&fake, []);
    let start = Instant::now();
    inventory.list(Freshness::since(start)).await.unwrap();
    inventory.list(Freshness::since(start)).await.unwrap();
    assert_eq!(fake.take_calls().len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    inventory.list(Freshness::since(start)).await.unwrap();
    assert_eq!(fake.take_calls().len(), 0);
    inventory.list(Freshness::since(Instant::now())).await.unwrap();
    assert_eq!(fake.take_calls().len(), 1, "the other one began before");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_familiar_with_one_machine_of_the_cluster() {
    let fake = cloud(machines(2));
    let list = inventory(&fake, []).list(AGAIN).await.unwrap();
    assert!(inventory(&fake, [known(2, "fake://2"), known(3, "fake://3")]).is_familiar(&list));
    assert!(!inventory(&fake, [known(3, "fake://3")]).is_familiar(&list));
    assert!(!inventory(&fake, [node(1)]).is_familiar(&list), "a name proves nothing");
    assert!(!inventory(&fake, [known(1, "aws:///z/fake://1")]).is_familiar(&list));
}

#[tokio::test(start_paused = true)]
async fn adv_103_a_node_that_is_too_large_joins_with_an_event() {
    let fake = cloud(machines(2));
    let mut large = node(1);
    let address =
        |nth| NodeAddress { type_: "InternalIP".to_owned(), address: format!("10.1.{}.{}", nth / 256, nth % 256) };
    large.status.get_or_insert_default().addresses = Some((0..1_000).map(address).collect());
    assert_eq!(machine(&large).addresses.len(), 64);
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&fake, [large.clone(), node(2)], recorder);
    for _ in 0..3 {
        assert_eq!(inventory.joining(&large).await, Ok(Some(instance(1))));
    }
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
    let event = events.try_recv().unwrap();
    assert_eq!((event.about.name.as_deref(), event.reason.as_str()), (Some("n1"), "NodeTooLarge"));
    assert!(event.message.contains("1000 addresses"), "{}", event.message);
    assert!(events.try_recv().is_err(), "it was told once, and of no other node");
}

#[test]
fn a_talkative_provider_hides_none_of_our_warnings() {
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&Arc::default(), [node(1)], recorder);
    inventory.record_provider_events((0..5_000).map(|nth| event(&nth.to_string())).collect(), Some(&node(1)));
    while events.try_recv().is_ok() {}
    (0..2).for_each(|_| inventory.warn(&node(1), "NodeTooLarge", "too large".to_owned()));
    assert_eq!((events.try_recv().unwrap().reason.as_str(), events.try_recv().is_err()), ("NodeTooLarge", true));
}
