//! When the cloud is asked, how, and which answers count.

use kube::runtime::watcher;

use super::*;
use crate::freshness::INITIALISATION;

/// The time of a call to a cloud that is not near.
const CALL: Duration = Duration::from_millis(60);

const FIRST: Freshness = INITIALISATION.at_any_time();

/// The same with a provider that gives pages of this size.
fn of_pages(size: u32, inventory: Inventory) -> Inventory {
    let description = Description { list_page_size: size, ..(*inventory.description.now()).clone() };
    Inventory { description: Arc::new(description).into(), ..inventory }
}

/// The calls that so many nodes cost which come one after the other, in a cloud that takes so long for each call, and how
/// long it takes until the last is found. Where a cloud is near, a node that is found is initialised before the next comes.
async fn cost(nodes: usize, apart: Duration, call: Duration) -> (usize, usize, Duration) {
    let fake = slow(machines(nodes), call);
    let (known, writer) = Nodes::new();
    let writer = Arc::new(parking_lot::Mutex::new(writer));
    let inventory = Arc::new(Inventory { nodes: known.clone(), ..of_pages(200, inventory(&fake, [])) });
    let start = Instant::now();
    let mut joining = tokio::task::JoinSet::new();
    for nth in 1..=nodes {
        let node = node(nth);
        known.apply(watcher::Event::Apply(node.clone()), &mut writer.lock());
        let (inventory, known, writer) = (inventory.clone(), known.clone(), writer.clone());
        joining.spawn(async move {
            let found = inventory.joining(&node).await;
            if call < apart {
                let initialised = existing(&format!("n{nth}"), &format!("fake://{nth}"));
                known.apply(watcher::Event::Apply(initialised), &mut writer.lock());
            }
            found
        });
        tokio::time::sleep(apart).await;
    }
    let found = joining.join_all().await;
    assert!(found.iter().all(|it| matches!(it, Ok(Some(_)))));
    let (lists, gets): (Vec<_>, Vec<_>) = fake.take_calls().into_iter().partition(|it| it.starts_with("list"));
    (lists.len(), gets.len(), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_thousand_nodes_that_come_in_four_seconds_cost_one_list() {
    let (pages, gets, time) = cost(1_000, Duration::from_millis(4), CALL).await;
    assert!(pages == 5 && gets == 0, "{pages} {gets}");
    assert!(time < Duration::from_secs(5), "{time:?}");
}

/// Each node is initialised before the next comes: only the times at which they came tell that many do.
#[tokio::test(start_paused = true)]
async fn nodes_that_a_fast_cloud_answers_at_once_cost_one_list_too() {
    let (pages, gets, time) = cost(1_000, Duration::from_millis(4), Duration::from_millis(2)).await;
    assert!(pages == 5 && gets == 0, "{pages} {gets}");
    assert!(time < Duration::from_secs(5), "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn five_thousand_nodes_that_come_in_ten_seconds_cost_one_list() {
    let (pages, gets, time) = cost(5_000, Duration::from_millis(2), CALL).await;
    assert!(pages == 25 && gets == 0, "{pages} {gets}");
    assert!(time < Duration::from_secs(13), "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn nodes_that_come_slowly_do_not_wait_for_all_others() {
    let (pages, _, time) = cost(600, Duration::from_millis(50), CALL).await;
    assert!((6..=100).contains(&pages), "{pages}");
    assert!(time < Duration::from_secs(32), "{time:?}: the last of them came after 30 s");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_served_from_no_list_before_it_came() {
    let fake = cloud(machines(20));
    let (known, mut writer) = Nodes::new();
    let inventory = Inventory { nodes: known.clone(), ..inventory(&fake, []) };
    inventory.list(AGAIN).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    known.apply(watcher::Event::Apply(node(1)), &mut writer);
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(instance(1))));
    assert_eq!(fake.take_calls(), ["list 0 500", "get n1"]);
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(instance(1))));
    assert_eq!(fake.take_calls(), ["list 0 500"], "it began after the node came");
}

#[tokio::test(start_paused = true)]
async fn a_list_answers_for_all_that_waited_for_it() {
    let fake = cloud(machines(20));
    let inventory = inventory(&fake, (1..=22).map(node));
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(inventory.joining(&node(21)).await, Ok(None));
    assert_eq!(fake.take_calls(), ["list 0 500", "get n21"]);
    tokio::time::advance(FIRST.max_age - Duration::from_secs(1)).await;
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
    assert_eq!(fake.take_calls().len(), 0, "it waited for its turn all the time");
    let error = inventory.joining(&node(22)).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}: so old a list proves nothing");
    assert_eq!(fake.take_calls(), ["get n22"]);
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(fake.take_calls(), ["list 0 500"], "a second try may need what is new");
    tokio::time::advance(FIRST.max_age).await;
    inventory.joining(&node(3)).await.unwrap();
    assert_eq!(fake.take_calls(), ["list 0 500"], "it waited too long");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_another_version_of_the_provider_serves_nobody() {
    let fake = cloud(machines(20));
    let inventory = inventory(&fake, (1..=20).map(node));
    inventory.joining(&node(1)).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    fake.replaced_at(Instant::now());
    inventory.joining(&node(2)).await.unwrap();
    assert_eq!(fake.take_calls(), ["list 0 500", "list 0 500"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_long_is_proof_when_it_ends() {
    let fake = slow(machines(20), AGAIN.max_age * 2);
    let inventory = inventory(&fake, (1..=21).map(node));
    assert_eq!(inventory.joining(&node(21)).await, Ok(None));
    assert_eq!(fake.take_calls(), ["list 0 500", "get n21"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_older_than_the_last_get_does_not_answer() {
    let node = existing("n1", "fake://1");
    let fake = cloud(machines(1));
    let inventory = inventory(&fake, [node.clone()]);
    let list = inventory.list(AGAIN).await.unwrap();
    let second = Duration::from_secs(1);
    tokio::time::advance(second).await;
    inventory.asked(&node, None).await.unwrap();
    tokio::time::advance(second).await;
    let newer = inventory.list(Freshness::within(second)).await.unwrap();
    assert_eq!(fake.take_calls(), ["list 0 500", "get n1", "list 0 500"]);
    inventory.instance_of(&node, Some(&list)).await.unwrap();
    assert_eq!(fake.take_calls(), ["get n1"]);
    tokio::time::advance(second).await;
    let newest = inventory.list(Freshness::within(second)).await.unwrap();
    assert!(newer.began < newest.began);
    fake.take_calls();
    inventory.instance_of(&node, Some(&newest)).await.unwrap();
    assert_eq!(fake.take_calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_large_account_is_listed_for_many_nodes_only() {
    let fake = cloud(machines(10_000));
    let nodes: Vec<_> = (1..=15).map(node).collect();
    let inventory = of_pages(200, inventory(&fake, nodes.clone()));
    assert_eq!((inventory.pages(), inventory.many()), (1, MANY), "fifteen nodes are one page");
    inventory.list(AGAIN).await.unwrap();
    assert_eq!((inventory.pages(), inventory.many(), fake.take_calls().len()), (50, 50, 50));
    tokio::time::advance(AGAIN.max_age).await;
    futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    let calls = fake.take_calls();
    assert!(calls.iter().all(|it| it.starts_with("get")) && calls.len() <= 30, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_with_another_name_is_refused() {
    let other = Instance { name: "n2".into(), ..instance(1) };
    let fake = answering(other);
    let description = Description { provider_id_prefixes: vec!["fake://".into()], ..Description::default() };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let (recorder, _) = Recorder::captured();
    let inventory = Inventory::new(&cloud, Nodes::of([node(1), known(3, "fake://3")]), recorder).unwrap();
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid(it) if it.contains("\"n1\"") && it.contains("\"n2\"")), "{error}");
    let error = inventory.asked(&known(3, "fake://3"), None).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid(it) if it.contains("fake://1") && it.contains("fake://3")), "{error}");
}

#[tokio::test(start_paused = true)]
async fn events_about_other_machines_hide_none_about_a_node() {
    let event = |about: Option<String>, message: String| Event {
        about,
        kind: EventKind::Warning,
        reason: "Deprecated".into(),
        message,
    };
    let unrelated = (0..10_000).map(|it| event(Some(format!("x{it}")), format!("Machine {it}.")));
    let fake = cloud(machines(1));
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&fake, [known(1, "fake://1")], recorder);
    inventory.record_provider_events(unrelated.collect(), None);
    inventory.record_provider_events(vec![event(Some("n1".into()), "This size goes away.".into())], None);
    assert_eq!(events.try_recv().unwrap().about.name.as_deref(), Some("n1"));
    assert!(events.try_recv().is_err());
}
