//! Questions that go to the provider together.

use super::*;

/// The same with a provider that reads so many nodes in one call.
fn of_batches(size: u32, fake: &Arc<ScriptedCloud>) -> Inventory {
    let description = Description {
        provider_id_prefixes: vec!["fake://".into()],
        get_batch_size: size,
        list_page_size: 500,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let nodes = (1..=3).map(|nth| existing(&format!("n{nth}"), &format!("fake://{nth}")));
    Inventory::new(&cloud, Nodes::of(nodes), Recorder::captured().0).unwrap()
}

#[tokio::test(start_paused = true)]
async fn questions_at_the_same_time_are_one_call() {
    let fake = cloud(machines(2));
    let inventory = of_batches(200, &fake);
    let nodes: Vec<_> = (1..=3).map(|nth| existing(&format!("n{nth}"), &format!("fake://{nth}"))).collect();
    let answers = futures::future::join_all(nodes.iter().map(|it| inventory.asked(it, None))).await;
    assert_eq!(answers, [Ok(Some(instance(1))), Ok(Some(instance(2))), Ok(None)]);
    assert_eq!(fake.take_calls(), ["get n1 n2 n3"]);
    assert_eq!(inventory.asked(&nodes[0], None).await, Ok(Some(instance(1))));
    assert_eq!(fake.take_calls(), ["get n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_without_batches_is_asked_at_once() {
    let fake = cloud(machines(2));
    let inventory = of_batches(1, &fake);
    let start = Instant::now();
    let nodes = [existing("n1", "fake://1"), existing("n2", "fake://2")];
    let answers = futures::future::join_all(nodes.iter().map(|it| inventory.asked(it, None))).await;
    assert_eq!(answers, [Ok(Some(instance(1))), Ok(Some(instance(2)))]);
    assert_eq!((fake.take_calls(), start.elapsed()), (vec!["get n1".to_owned(), "get n2".to_owned()], Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_dropped_takes_no_other_with_it() {
    let fake = slow(machines(2), Duration::from_secs(1));
    let inventory = of_batches(200, &fake);
    let (first, second) = (existing("n1", "fake://1"), existing("n2", "fake://2"));
    let moment = Duration::from_millis(1);
    let dropped = tokio::time::timeout(moment, inventory.asked(&first, None));
    let (dropped, answer) = tokio::join!(dropped, inventory.asked(&second, None));
    assert!(dropped.is_err());
    assert_eq!((answer, fake.take_calls()), (Ok(Some(instance(2))), vec!["get n2".to_owned()]));

    let during = tokio::time::timeout(Duration::from_millis(500), inventory.asked(&first, None));
    let (dropped, answer) = tokio::join!(during, inventory.asked(&second, None));
    assert!(dropped.is_err(), "while the call was under way");
    assert_eq!((answer, fake.take_calls()), (Ok(Some(instance(2))), vec!["get n1 n2".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_ends() {
    let fake = slow(machines(1), Duration::from_secs(1));
    let inventory = of_batches(200, &fake);
    let node = existing("n1", "fake://1");
    let half = Duration::from_millis(500);
    assert!(tokio::time::timeout(half, inventory.asked(&node, None)).await.is_err());
    tokio::time::timeout(half, fake.get.cut()).await.expect("the call ends before it is answered");
    assert_eq!(inventory.asked(&node, None).await, Ok(Some(instance(1))));
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_missing_say_nothing_of_any_node() {
    let inventory = of_batches(200, &Arc::default());
    // It answers about one node less than it is asked about, and not at all about one alone.
    let too_few = cloud(Vec::new());
    too_few.get.answers(|nodes| {
        assert!(nodes.len() > 1, "it panics");
        vec![Ok(None); nodes.len() - 1].into()
    });
    let batched = Batched::new(too_few, inventory.description.clone());
    let inventory = Inventory { instances: Arc::new(batched), ..inventory };
    let nodes = [existing("n1", "fake://1"), existing("n2", "fake://2")];
    for answer in futures::future::join_all(nodes.iter().map(|it| inventory.asked(it, None))).await {
        assert!(matches!(&answer, Err(Error::Invalid(why)) if why.contains("1 answers about 2 nodes")), "{answer:?}");
    }
    let answer = inventory.asked(&nodes[0], None).await;
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}: a panic says nothing either");
}

#[tokio::test(start_paused = true)]
async fn each_node_has_the_events_about_it() {
    let about = |name: &str| Event {
        about: Some(name.into()),
        kind: EventKind::Warning,
        reason: "Odd".into(),
        message: format!("{name} is odd"),
    };
    let events = vec![about("n1"), about("n2")];
    let delay = Duration::from_secs(1);
    let fake = talkative(machines(2), events);
    fake.get.takes(delay);
    let (recorder, mut recorded) = Recorder::captured();
    let inventory = Inventory { recorder, ..of_batches(200, &fake) };
    let (first, second) = (existing("n1", "fake://1"), existing("n2", "fake://2"));
    // Nobody waits for what is said about the first any more.
    let dropped = tokio::time::timeout(delay / 2, inventory.asked(&first, None));
    let (_, answer) = tokio::join!(dropped, inventory.asked(&second, None));
    assert_eq!(answer, Ok(Some(instance(2))));
    let event = recorded.try_recv().unwrap();
    assert_eq!((event.about.name.as_deref(), &*event.message), (Some("n2"), "n2 is odd"));
    assert!(recorded.try_recv().is_err());
}
