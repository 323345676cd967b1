//! Providers that hide what their requests came to: the egress has seen it, and their answers are held against that.

use std::time::Duration;

use cloud_provider::{
    Cloud, Deletion, Error, Event, LoadBalancer, Node, Progress, Reply, Result, RouteChange, RouteOutcome, RouteTarget,
    Volume,
};
use egress::{Method, PathPattern, Rule};
use prometheus::Registry;
use serde_json::json;
use tests::capture::{Capture, Step};

use crate::setup::{Guest, Lab, endpoint, node, service};

/// A cloud that answers by what a path ends with: `/500` with that status, `/lost` not at all, and all else with success;
/// but `/again` only the second time.
async fn cloud() -> Capture {
    let answered = std::sync::atomic::AtomicUsize::new(0);
    Capture::http(move |request| {
        let target = request.text().split(' ').nth(1).unwrap_or_default().to_owned();
        let path = target.split('?').next().unwrap_or_default();
        let second_page = target.ends_with("page=2");
        match path.rsplit('/').next().unwrap_or_default() {
            "lost" => vec![Step::Close],
            "again" if answered.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 => {
                Step::answer("500 Internal Server Error", &[], "")
            }
            "later" => Step::answer("429 Too Many Requests", &[("retry-after", "7")], ""),
            "routes" | "load-balancers" if second_page => Step::answer("502 Bad Gateway", &[], ""),
            "hidden" => Step::answer("503 Service Unavailable", &[], ""),
            status if status.len() == 3 && status.bytes().all(|it| it.is_ascii_digit()) => {
                Step::answer(&format!("{status} Status"), &[], "")
            }
            _ => Step::ok("{}"),
        }
    })
    .await
}

fn with_api(mut guest: Guest, cloud: &Capture) -> Guest {
    let mut api = endpoint("api", cloud.address());
    let methods = [Method::Get, Method::Post, Method::Put, Method::Delete];
    api.allow = vec![Rule::new(methods, [PathPattern::parse("/v1/**").unwrap()])];
    api.allow.push(Rule::new([Method::Get, Method::Delete], [PathPattern::parse("/*").unwrap()]));
    api.allow.push(Rule::new([Method::Get, Method::Delete], [PathPattern::parse("/*/*").unwrap()]));
    api.limits.reuse = Duration::ZERO;
    guest.endpoints.push(api);
    guest
}

async fn hostile(cloud: &Capture) -> Lab {
    with_api(Guest::hostile(), cloud).load().await
}

async fn lying(cloud: &Capture, lie: &str) -> Cloud {
    let guest = with_api(Guest::of(std::fs::read(tests::guests::LYING).unwrap()).setting("lie", lie), cloud);
    guest.try_load(&Registry::new()).await.unwrap_or_else(|error| panic!("{error:?}")).cloud()
}

fn crime(sends: &[&str], answers: &str) -> String {
    json!({ "sends": sends, "answers": answers }).to_string()
}

#[tokio::test]
async fn adv_156_none_after_a_failed_read_is_the_clouds_error() {
    let cloud = cloud().await;
    let lab = hostile(&cloud).await;
    let get = async |sends: &[&str]| lab.get(&crime(sends, "none")).await;
    for status in [500, 502, 423] {
        assert!(matches!(get(&[&format!("GET /v1/{status}")]).await, Err(Error::Unavailable(_))), "{status}");
    }
    for status in [401, 403] {
        assert!(matches!(get(&[&format!("GET /v1/{status}")]).await, Err(Error::Denied(_))), "{status}");
    }
    let text = "GET /v1/lost at endpoint api was left without an answer, and the provider answers that it does not exist: that \
                is not believed";
    assert_eq!(get(&["GET /v1/lost"]).await, Err(Error::Unavailable(text.to_owned())));
    let denied = get(&["GET /elsewhere/on/this/host"]).await;
    assert!(matches!(&denied, Err(Error::Denied(why)) if why.contains("no rule allows it")), "{denied:?}");
    for known in [&["GET /v1/404"][..], &["GET /v1/410"], &["GET /v1/400"], &["GET /v1/machines?name=a"], &[]] {
        assert_eq!(get(known).await, Ok(None), "{known:?}");
    }
    assert_eq!(get(&["GET /v1/again", "GET /v1/again"]).await, Ok(None), "it was repeated, and answered");
    let throttled = get(&["GET /v1/later"]).await;
    assert!(
        matches!(&throttled, Err(Error::RetryAfter { after, .. }) if *after == Duration::from_secs(7)),
        "{throttled:?}"
    );
}

#[tokio::test]
async fn adv_156_only_the_unanswered_of_several_nodes_is_doubted() {
    let cloud = cloud().await;
    let lab = with_api(Guest::hostile().setting("get-batch", "3"), &cloud).load().await;
    let nodes = [crime(&["GET /v1/500"], "none"), crime(&["GET /v1/404"], "none"), "an-honest-node".to_owned()];
    let answers = lab.instances.get(&nodes.map(|it| node(&it))).await.answer;
    assert!(matches!(&answers[0], Err(Error::Unavailable(_))), "{answers:?}");
    assert_eq!(answers[1], Ok(None));
    assert!(matches!(&answers[2], Ok(Some(_))), "{answers:?}");
}

#[tokio::test]
async fn adv_156_no_account_after_a_failed_read_is_an_error() {
    let cloud = cloud().await;
    for (sends, is_believed) in [("GET /v1/500", false), ("GET /v1/lost", false), ("GET /v1/403", true)] {
        let lab = with_api(Guest::hostile().setting("identity", &crime(&[sends], "none")), &cloud).load().await;
        let account = lab.identity.identity().await;
        assert_eq!(account == Ok(None), is_believed, "{sends}: {account:?}");
    }
}

#[tokio::test]
async fn adv_156_a_list_without_its_second_page_has_a_gap() {
    let cloud = cloud().await;
    for (sends, gaps) in [
        (&["GET /v1/machines?page=1", "GET /v1/500?page=2"][..], 1),
        (&["GET /v1/machines?page=1", "GET /v1/lost?page=2"], 1),
        (&["GET /v1/403"], 1),
        (&["GET /v1/machines?page=1", "GET /v1/403"], 0),
        (&["GET /v1/machines?page=1", "GET /v1/machines?page=2"], 0),
    ] {
        let lab = with_api(Guest::hostile().setting("list", &crime(sends, "some")), &cloud).load().await;
        let page = lab.instances.list(None, 50).await.answer.unwrap();
        assert_eq!((page.instances.len(), page.gaps.len()), (1, gaps), "{sends:?}");
        assert!(page.gaps.iter().all(|it| it.zone.is_none()), "any zone");
    }
}

#[tokio::test]
async fn adv_156_routes_load_balancers_and_volumes_are_judged() {
    let cloud = cloud().await;
    let lying = lying(&cloud, "hides").await;
    let why = Some("GET /routes at endpoint api was answered with 502, and the provider does not say what is missing");
    let routes = lying.routes.unwrap();
    assert_eq!(routes.list(None, 100).await.answer.unwrap().incomplete.as_deref(), why);
    let page = lying.load_balancer_inventory.unwrap().list(None, 50).await.answer.unwrap();
    assert!(page.incomplete.is_some_and(|it| it.contains("/load-balancers at endpoint api was answered with 502")));

    let volume = |handle: &str| Volume {
        name: format!("pv-{handle}"),
        source: "csi.lying.example".to_owned(),
        handle: handle.to_owned(),
        attributes: Vec::new(),
    };
    let volumes = lying.persistent_volumes.unwrap();
    let found = volumes.get_topology(&[volume("hidden")]).await.answer;
    assert!(matches!(&found[..], [Err(Error::Unavailable(_))]), "{found:?}");
    assert_eq!(volumes.get_topology(&[volume("nowhere")]).await.answer, [Ok(None)]);

    let change = async |destination: &str| {
        let before = routes.list(None, 100).await.answer.unwrap().routes.remove(0);
        let change = RouteChange {
            destination: destination.to_owned(),
            before: Some(before),
            after: None::<RouteTarget>,
            pending: None,
        };
        routes.apply(&[change]).await.answer
    };
    assert!(matches!(&change("423").await[..], [Err(Error::Unavailable(_))]));
    assert!(matches!(&change("403").await[..], [Err(Error::Denied(_))]));
    assert_eq!(change("404").await, [Ok(RouteOutcome::Done)]);
    assert_eq!(change("10.244.0.0").await, [Ok(RouteOutcome::Done)]);
}

#[tokio::test]
async fn adv_156_done_after_a_failed_deletion_keeps_the_load_balancer() {
    let cloud = cloud().await;
    let lab = hostile(&cloud).await;
    let delete = async |sends: &[&str]| lab.load_balancers.delete(&service(&crime(sends, "done"))).await.answer;
    for status in [500, 409, 423, 429] {
        let answer = delete(&[&format!("DELETE /v1/{status}")]).await;
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{status}: {answer:?}");
    }
    assert!(matches!(delete(&["DELETE /v1/403"]).await, Err(Error::Denied(_))));
    let text = "DELETE /v1/lost at endpoint api was left without an answer, and the provider answers that the load balancer is \
                gone: that is not believed";
    assert_eq!(delete(&["DELETE /v1/lost"]).await, Err(Error::Unavailable(text.to_owned())));
    assert!(matches!(delete(&["GET /v1/500"]).await, Err(Error::Unavailable(_))), "what it lists is not known");
    for gone in [&["DELETE /v1/7"][..], &["DELETE /v1/404"], &["DELETE /v1/again", "DELETE /v1/again"], &[]] {
        assert_eq!(delete(gone).await, Ok(Deletion::Done), "{gone:?}");
    }
}

async fn ensure(lab: &Lab, service: LoadBalancer) -> (Vec<Event>, Result<Progress>) {
    let Reply { answer, events, .. } = lab.load_balancers.ensure(&service).await;
    (events, answer)
}

#[tokio::test]
async fn adv_157_a_creation_without_an_answer_is_an_event() {
    let cloud = cloud().await;
    let lab = hostile(&cloud).await;
    for (sends, answers) in [
        (&["POST /v1/lost"][..], "ready lb-1"),
        (&["POST /v1/lost", "POST /v1/balancers"], "ready lb-1"),
        (&["POST /v1/500"], "pending lb-1"),
        (&["PUT /v1/lost"], "error"),
    ] {
        let (events, _) = ensure(&lab, service(&crime(sends, answers))).await;
        let reasons: Vec<_> = events.iter().map(|it| &*it.reason).collect();
        assert_eq!(reasons, ["LoadBalancerCreationUnclear"], "{sends:?}");
        assert!(events[0].message.contains("what it was to create may be there or not"), "{events:?}");
    }
    let own = json!({ "sends": ["POST /v1/lost"], "answers": "pending lb-1", "tells": true }).to_string();
    let (events, _) = ensure(&lab, service(&own)).await;
    assert_eq!(events.len(), 1, "the provider has told it itself: {events:?}");
}

#[tokio::test]
async fn adv_157_a_write_that_leaves_no_memo_is_an_event() {
    let cloud = cloud().await;
    let lab = hostile(&cloud).await;
    let reasons = async |sends: &[&str], answers: &str, memo: Option<&str>| {
        let asked = LoadBalancer { memo: memo.map(str::to_owned), ..service(&crime(sends, answers)) };
        let (events, _) = ensure(&lab, asked).await;
        events.into_iter().map(|it| it.reason).collect::<Vec<_>>()
    };
    for answers in ["ready", "pending", "error"] {
        assert_eq!(reasons(&["POST /v1/balancers"], answers, None).await, ["MemoMissing"], "{answers}");
    }
    assert_eq!(reasons(&["POST /v1/balancers"], "ready lb-1", None).await, [""; 0]);
    assert_eq!(
        reasons(&["POST /v1/balancers"], "ready", Some("lb-1")).await,
        [""; 0],
        "that it is dropped is another event"
    );
    assert_eq!(reasons(&["POST /v1/422"], "pending", None).await, [""; 0]);
    assert_eq!(reasons(&["PUT /v1/balancers/a0e2f6f1c"], "pending", None).await, [""; 0], "its name is the Service's");
    assert_eq!(reasons(&["PUT /v1/balancers/a0e2f6f1c"], "ready", None).await, [""; 0]);
    assert_eq!(reasons(&["POST /v1/balancers/a0e2f6f1c"], "ready", None).await, ["MemoMissing"]);
}

#[tokio::test]
async fn an_honest_answer_is_believed_whatever_else_failed() {
    let cloud = cloud().await;
    let lab = hostile(&cloud).await;
    let found = lab.get(&crime(&["GET /v1/403", "GET /v1/500"], "some")).await.unwrap();
    assert_eq!(found.map(|it| it.name).as_deref(), Some("hidden"));
    let node: Node = node("an-honest-node");
    assert!(matches!(&lab.instances.get(&[node]).await.answer[..], [Ok(Some(_))]));
}
