//! Clouds in which one provider id has several spellings, and lists that lack one zone.

use tokio::sync::mpsc::Receiver;

use super::*;
use crate::events::recorded::RecordedEvent;

/// Node `n<nth>`, which does not wait, with this provider id.
fn settled(nth: usize, provider_id: &str) -> KubeNode {
    existing(&format!("n{nth}"), provider_id)
}

/// A fake cloud whose machine `x<nth>` has letters in its provider id.
fn lettered(count: usize) -> Arc<ScriptedCloud> {
    let machine = |nth| Instance { provider_id: Some(format!("fake://x{nth}")), ..instance(nth) };
    cloud((1..=count).map(machine).collect())
}

#[tokio::test(start_paused = true)]
async fn a_list_finds_machines_by_another_spelling() {
    let fake = lettered(3);
    let nodes = [settled(1, "fake://X1"), settled(2, "fake://x2"), settled(4, "fake://X4")];
    let inventory = inventory(&fake, nodes.clone());
    let list = inventory.list(AGAIN).await.unwrap();
    let found = inventory.listed(&nodes[0], &list).unwrap().unwrap();
    assert_eq!(found.name, "n1");
    assert_eq!(inventory.listed(&nodes[2], &list), Ok(None));
    assert!(inventory.nodes.confirmed(&nodes[0]).is_some(), "what was said is about the node with its own spelling");
    // Only what the bytes left open was asked about.
    assert_eq!(fake.canonical_ids.calls(), [["fake://X1", "fake://X4", "fake://x1", "fake://x3"]]);
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(fake.canonical_ids.asked(), 1, "the words are kept");
}

#[tokio::test(start_paused = true)]
async fn where_bytes_are_equal_nobody_is_asked_for_words() {
    let fake = lettered(3);
    let nodes = [settled(1, "fake://x1"), settled(2, "fake://x2")];
    let inventory = inventory(&fake, nodes.clone());
    let list = inventory.list(AGAIN).await.unwrap();
    assert!(inventory.listed(&nodes[0], &list).unwrap().is_some());
    inventory.asked(&nodes[1], None).await.unwrap();
    assert_eq!(fake.take_calls(), ["list 0 500", "get n2"]);
    assert_eq!(fake.canonical_ids.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_another_spelling_is_the_nodes() {
    let nodes = [settled(1, "fake://X1"), settled(2, "fake://X2"), settled(3, "fake://X-1")];
    let (inventory, _) = one_machine("n1", &nodes);
    assert!(inventory.asked(&nodes[0], None).await.unwrap().is_some());
    for other in &nodes[1..] {
        let error = inventory.asked(other, None).await.unwrap_err().to_string();
        assert!(error.contains("answers with machine \"fake://x1\""), "{error}");
    }
}

/// The inventory of a cloud with one machine, `fake://x1` with this name, for these nodes.
fn one_machine(name: &str, nodes: &[KubeNode]) -> (Inventory, Receiver<RecordedEvent>) {
    let machine = Instance { name: name.to_owned(), provider_id: Some("fake://x1".into()), ..instance(1) };
    let prefixes = vec!["fake://".to_owned()];
    // It is known by any spelling of its provider id, and named in the cloud's.
    let fake = answering(machine);
    let description = Description {
        provider_id_prefixes: prefixes,
        get_batch_size: 1,
        list_page_size: 500,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let (recorder, events) = Recorder::captured();
    (Inventory::new(&cloud, Nodes::of(nodes.iter().cloned()), recorder).unwrap(), events)
}

#[tokio::test(start_paused = true)]
async fn two_spellings_of_one_machine_are_not_two_backends() {
    for ids in [["fake://x1", "fake://X1"], ["fake://X1", "fake://x1"]] {
        let nodes = [settled(1, ids[0]), settled(2, ids[1])];
        let (inventory, mut events) = one_machine("n2", &nodes);
        for _ in 0..2 {
            for node in &nodes {
                let _ = inventory.asked(node, None).await;
            }
        }
        let confirmed = nodes.each_ref().map(|it| inventory.nodes.confirmed(it).is_some());
        assert_eq!(confirmed, [false, true], "the machine's name proves whose it is: {ids:?}");
        let event = events.try_recv().unwrap();
        assert_eq!((event.about.name.as_deref(), event.reason.as_str()), (Some("n1"), "ProviderIDConflict"));
        assert!(events.try_recv().is_err(), "it is recorded once");
    }
}

#[tokio::test(start_paused = true)]
async fn two_spellings_without_proof_are_no_backend_at_all() {
    let nodes = [settled(1, "fake://x1"), settled(2, "fake://X1")];
    let (inventory, _) = one_machine("web", &nodes);
    let list = inventory.list(AGAIN).await.unwrap();
    assert!(inventory.listed(&nodes[0], &list).unwrap().is_some(), "as far as is known, it is alone");
    for node in [&nodes[1], &nodes[0]] {
        let error = inventory.asked(node, Some(&list)).await.unwrap_err().to_string();
        assert!(error.contains("another spelling"), "{error}");
    }
    assert!(nodes.iter().all(|it| inventory.nodes.confirmed(it).is_none()));
}

#[tokio::test(start_paused = true)]
async fn two_spellings_of_one_machine_are_twins() {
    let fake = lettered(0);
    let nodes = [settled(1, "fake://X1"), settled(2, "fake://x1"), settled(3, "fake://x3"), settled(4, "fake://-")];
    let inventory = inventory(&fake, nodes.clone());
    let twin = async |nth: usize| inventory.twin(&nodes[nth]).await;
    assert_eq!(twin(0).await, Ok(Some("n2".to_owned())));
    assert_eq!(twin(1).await, Ok(Some("n1".to_owned())));
    assert_eq!(twin(2).await, Ok(None));
    assert!(matches!(twin(3).await, Err(Error::Unavailable(text)) if text.contains("fake://-")));
    assert_eq!(fake.canonical_ids.asked(), 1, "all of them were asked about at once");
}

#[tokio::test(start_paused = true)]
async fn a_gap_counts_where_the_cloud_said_that_the_instance_is() {
    let in_zone = |nth: usize, zone: &str| Instance { zone: Some(zone.to_owned()), ..instance(nth) };
    let gap = Gap { zone: Some("b".to_owned()), reason: "it did not answer".to_owned() };
    let machines = vec![in_zone(1, "a"), in_zone(2, "b"), in_zone(3, "a"), in_zone(9, "a")];
    let fake = lacking(machines, &["n1", "n2"], vec![gap]);
    let mut forged = settled(4, "fake://4");
    let label = ("topology.kubernetes.io/zone".to_owned(), "a".to_owned());
    forged.metadata.labels = Some([label].into());
    let nodes = [settled(1, "fake://1"), settled(2, "fake://2"), settled(3, "fake://3"), forged];
    let inventory = inventory(&fake, nodes.clone());
    for node in &nodes[..3] {
        assert!(inventory.asked(node, None).await.unwrap().is_some());
    }
    let list = inventory.list(AGAIN).await.unwrap();
    let gap = |nth: usize| list.gap(inventory.nodes.zone(&nodes[nth]).as_deref()).map(str::to_owned);
    let because = Some("zone b: it did not answer".to_owned());
    assert_eq!((gap(0), gap(1)), (None, because.clone()));
    assert_eq!(gap(3), because, "the cloud has never named it, and what its kubelet writes is no zone");

    // Twice missed, the instance counts as gone, and its zone is known all the same.
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(4)).await;
        inventory.nodes.record_answer("n1", "fake://1", InstanceAnswer::Missing, Instant::now());
    }
    assert_eq!(inventory.nodes.confirmed(&nodes[0]), None);
    assert_eq!(gap(0), None);
}

#[tokio::test(start_paused = true)]
async fn the_extra_of_an_instance_comes_back_with_its_node() {
    let fake = answering(Instance { extra: vec![("nic".into(), "7".into())], ..instance(1) });
    fake.list.answers(|_| unreachable!("it is not listed"));
    let node = settled(1, "fake://1");
    let description = Description { provider_id_prefixes: vec!["fake://".into()], ..Description::default() };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let inventory = Inventory::new(&cloud, Nodes::of([node.clone()]), Recorder::captured().0).unwrap();
    inventory.asked(&node, None).await.unwrap();
    inventory.asked(&node, None).await.unwrap();
    let nic = vec![("nic".to_owned(), "7".to_owned())];
    let brought: Vec<_> = fake.get.calls().iter().map(|it| it[0].extra.clone()).collect();
    assert_eq!(brought, [Vec::new(), nic], "nothing before the cloud has confirmed it");
}

#[tokio::test(start_paused = true)]
async fn an_event_about_a_node_is_recorded_on_it() {
    let about = |name: &str| Event {
        about: Some(name.to_owned()),
        kind: EventKind::Warning,
        reason: "Note".into(),
        message: format!("about {name}"),
    };
    let events = vec![about("n1"), about("n2"), about("n3")];
    let fake = talkative(machines(1), events);
    let (recorder, mut recorded) = Recorder::captured();
    let foreign = existing("n2", "aws:///i-2");
    let inventory = inventory_with(&fake, [settled(1, "fake://1"), foreign], recorder);
    inventory.asked(&settled(1, "fake://1"), None).await.unwrap();
    let mut names = Vec::new();
    while let Ok(event) = recorded.try_recv() {
        names.push(event.message);
    }
    assert_eq!(names, ["about n1"], "one is another cloud's node, and one is no node");
}
