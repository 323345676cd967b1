//! Routes, an inventory and volumes that lie: what cannot be used is refused, and nobody else pays for it.

use std::time::Duration;

use cloud_provider::{
    Cloud, Error, InventoryPage, InventoryState, Node, PodNetwork, Route, RouteChange, RouteOutcome, RoutePage,
    RouteState, RouteTarget, Topology, Volume, is_printable,
};
use prometheus::Registry;

use crate::setup::{Guest, node};

const HONEST: &str = "10.244.0.0/24";

fn lying(lie: &str) -> Guest {
    Guest::of(std::fs::read(tests::guests::LYING).unwrap()).setting("lie", lie)
}

async fn cloud(lie: &str) -> Cloud {
    lying(lie).try_load(&Registry::new()).await.unwrap_or_else(|error| panic!("{error:?}")).cloud()
}

fn networks(names: &[&str]) -> Vec<PodNetwork> {
    names.iter().map(|name| PodNetwork { destination: HONEST.to_owned(), node: node(name) }).collect()
}

fn changes(names: &[&str]) -> Vec<RouteChange> {
    let change = |(nth, name): (usize, &&str)| RouteChange {
        destination: format!("10.244.{nth}.0/24"),
        before: None,
        after: Some(RouteTarget { next_hop: "hop".to_owned(), node: Node { name: (*name).to_owned(), ..node("") } }),
        pending: None,
    };
    names.iter().enumerate().map(change).collect()
}

fn volumes(handles: &[&str]) -> Vec<Volume> {
    let volume = |handle: &&str| Volume {
        name: format!("pv-{handle}"),
        source: "csi.lying.example".to_owned(),
        handle: (*handle).to_owned(),
        attributes: Vec::new(),
    };
    handles.iter().map(volume).collect()
}

async fn routes(lie: &str) -> Result<RoutePage, Error> {
    cloud(lie).await.routes.unwrap().list(None, 100).await.answer
}

async fn items(lie: &str) -> Result<InventoryPage, Error> {
    cloud(lie).await.load_balancer_inventory.unwrap().list(None, 50).await.answer
}

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, Error>, expected: &str) {
    let text = answer.unwrap_err().to_string();
    assert!(text.contains(expected) && is_printable(&text), "{text}");
}

#[tokio::test]
async fn the_exports_of_a_provider_are_what_its_cloud_can_do() {
    let cloud = cloud("").await;
    assert!(cloud.instances.is_none() && cloud.load_balancers.is_none());
    let routes = cloud.routes.unwrap();
    let described = routes.description();
    assert_eq!((described.batch_size, described.entries_per_route, described.ip_families.len()), (10, 2, 2));
    let page = routes.list(None, 100).await.answer.unwrap();
    assert_eq!((page.routes.len(), page.next, page.incomplete), (1, None, None));
    assert_eq!(routes.next_hops(&networks(&["a", "b"])).await.answer, [Ok("hop-of-a".into()), Ok("hop-of-b".into())]);
    assert_eq!(routes.apply(&changes(&["a"])).await.answer, [Ok(RouteOutcome::Done)]);
    let inventory = cloud.load_balancer_inventory.unwrap();
    assert!(inventory.description().revisions);
    assert_eq!(inventory.list(None, 50).await.answer.unwrap().items[0].memo.as_deref(), Some("lb-1"));
    let found = cloud.persistent_volumes.unwrap().get_topology(&volumes(&["a", "nowhere"])).await.answer;
    let place = Topology { region: Some("r1".into()), zones: vec!["z1".into()], ..Topology::default() };
    assert_eq!(found, [Ok(Some(place)), Ok(None)]);
}

#[tokio::test]
async fn descriptions_that_cannot_work_are_refused_at_load() {
    for (lie, expected) in [
        ("no-batch", "its description of routes is unusable: batch-size is 0, and has to be 1 to 1000"),
        ("large-batch", "batch-size is 1001, and has to be 1 to 1000"),
        ("many-calls", "concurrency is 17, and has to be 1 to 16"),
        ("many-entries", "entries-per-route is 65, and has to be 1 to 64"),
        ("no-family", "ip-families is empty"),
        ("refused", "forged"),
        ("crash", "routes.describe crashed"),
        ("no-volume-batch", "its description of volumes is unusable: batch-size is 0"),
        ("forged-driver", "of its drivers"),
    ] {
        let text = lying(lie).refusal().await;
        assert!(text.contains(expected) && is_printable(&text), "{lie}: {text}");
    }
}

#[tokio::test]
async fn pages_of_routes_that_cannot_be_used_are_refused() {
    assert_refused(routes("too-many").await, "a page has 101 routes, and 100 were asked for");
    assert_refused(routes("long-cursor").await, "a cursor is longer than 4096 bytes");
    let itself = cloud("itself").await.routes.unwrap();
    assert_refused(itself.list(Some("itself".into()), 100).await.answer, "a page names itself as the next one");
}

#[tokio::test]
async fn a_route_that_cannot_be_used_makes_the_page_incomplete() {
    let page = routes("one-unusable").await.unwrap();
    let of = |it: &Route| it.destination.clone();
    assert_eq!(page.routes.iter().map(of).collect::<Vec<_>>(), [HONEST]);
    let reason = "route \"10.244.1.0/33\": its destination \"10.244.1.0/33\" is no network in CIDR notation";
    assert_eq!(page.incomplete.as_deref(), Some(reason));
    let page = routes("forged-id").await.unwrap();
    assert!(page.routes.is_empty() && page.incomplete.is_some_and(|it| is_printable(&it)));
}

#[tokio::test]
async fn adv_109_every_text_about_a_route_is_printable() {
    let RouteState::Failed(reason) = routes("forged-reason").await.unwrap().routes.remove(0).state else {
        panic!("another state");
    };
    assert!(is_printable(&reason) && reason.contains("forged"), "{reason}");
    let reason = routes("incomplete").await.unwrap().incomplete.unwrap();
    assert!(is_printable(&reason) && reason.contains("forged"), "{reason}");
}

/// Cases: bad-routes
#[tokio::test]
async fn bad_input_next_hops_that_lie() {
    let routes = cloud("").await.routes.unwrap();
    let answers = routes.next_hops(&networks(&["forged", "empty", "endless", "none", "a"])).await.answer;
    for answer in &answers[..3] {
        assert_refused(answer.clone(), "is not one line of 1 to 256 bytes");
    }
    assert_refused(answers[3].clone(), "no route can lead to");
    assert_eq!(answers[4], Ok("hop-of-a".into()));
}

#[tokio::test]
async fn too_few_answers_are_an_error_for_each_question() {
    let cloud = cloud("").await;
    let routes = cloud.routes.unwrap();
    let expected = "0 answers for 2 questions";
    for answer in routes.next_hops(&networks(&["too-few", "a"])).await.answer {
        assert_refused(answer, expected);
    }
    for answer in routes.apply(&changes(&["too-few", "a"])).await.answer {
        assert_refused(answer, expected);
    }
    for answer in cloud.persistent_volumes.unwrap().get_topology(&volumes(&["too-few", "a"])).await.answer {
        assert_refused(answer, expected);
    }
}

#[tokio::test]
async fn one_crash_of_a_batch_is_no_crash_of_the_others() {
    let cloud = cloud("").await;
    let routes = cloud.routes.unwrap();
    let answers = routes.next_hops(&networks(&["a", "crash", "b"])).await.answer;
    assert_eq!((&answers[0], &answers[2]), (&Ok("hop-of-a".into()), &Ok("hop-of-b".into())));
    assert_refused(answers[1].clone(), "Only pod network 10.244.0.0/24 of node crash is set aside");
    let answers = routes.apply(&changes(&["a", "crash", "b"])).await.answer;
    assert_eq!((&answers[0], &answers[2]), (&Ok(RouteOutcome::Done), &Ok(RouteOutcome::Done)));
    assert_refused(answers[1].clone(), "Only the route for 10.244.1.0/24 is set aside");
    let volumes = cloud.persistent_volumes.unwrap().get_topology(&volumes(&["a", "crash", "b"])).await.answer;
    assert!(volumes[0].is_ok() && volumes[2].is_ok());
    assert_refused(volumes[1].clone(), "Only PersistentVolume pv-crash is set aside");
}

#[tokio::test]
async fn a_pending_change_is_neither_a_busy_loop_nor_an_outage() {
    let answers = cloud("").await.routes.unwrap().apply(&changes(&["impatient", "patient"])).await.answer;
    let waits = answers.into_iter().map(|answer| match answer.unwrap() {
        RouteOutcome::Pending { after, reason } => (after, is_printable(&reason) && !reason.is_empty()),
        RouteOutcome::Done => panic!("it is done"),
    });
    let waits: Vec<_> = waits.collect();
    assert_eq!(waits, [(Duration::from_millis(100), true), (Duration::from_secs(300), true)]);
}

#[tokio::test]
async fn pages_of_load_balancers_that_cannot_be_used_are_refused() {
    assert_refused(items("too-many").await, "a page has 51 items, and 50 were asked for");
    assert_eq!(cloud("no-page").await.load_balancer_inventory.unwrap().description().page_size, 1);
    let itself = cloud("itself").await.load_balancer_inventory.unwrap();
    assert_refused(itself.list(Some("itself".into()), 50).await.answer, "a page names itself as the next one");
}

#[tokio::test]
async fn an_item_that_cannot_be_used_makes_the_page_incomplete() {
    for (lie, expected) in [
        ("long-revision", "is not up to 64 visible ASCII characters"),
        ("long-outline", "its outline \"xxx"),
        ("no-uid", "its owner's UID \"default/web\" does not look like a UID"),
        ("forged-name", "is not printable text of up to 253 bytes"),
        ("forged-memo", "is not printable text"),
        ("no-address", "is no IP address"),
    ] {
        let page = items(lie).await.unwrap();
        let reason = page.incomplete.unwrap();
        assert_eq!(page.items.len(), 1, "{lie}");
        assert!(reason.starts_with("load balancer 1: ") && reason.contains(expected), "{lie}: {reason}");
        assert!(is_printable(&reason), "{lie}");
    }
}

#[tokio::test]
async fn adv_109_every_text_of_an_inventory_is_printable() {
    let item = items("forged-object").await.unwrap().items.remove(0);
    let InventoryState::Failed(reason) = item.state else { panic!("another state") };
    for text in [item.cloud_object, reason, items("incomplete").await.unwrap().incomplete.unwrap()] {
        assert!(is_printable(&text) && text.contains("forged"), "{text}");
    }
}

#[tokio::test]
async fn places_of_volumes_that_kubernetes_would_not_take_are_refused() {
    let volumes_of = cloud("").await.persistent_volumes.unwrap();
    for (handle, expected) in [
        ("many-zones", "it has 17 zones, more than 16"),
        ("many-places", "it has 17 places, more than 16"),
        ("forged-zone", "cannot be the value of a label"),
        ("empty-zone", "it has a zone without a name"),
        ("forged-label", "is no label"),
    ] {
        let answer = volumes_of.get_topology(&volumes(&[handle])).await.answer.remove(0);
        assert_refused(answer, expected);
    }
}
