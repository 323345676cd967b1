//! Operations, lists and what a project may have.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, OperationFailure, OperationTime, Options, PROJECT, Place, REGION};

use crate::asked::Asked;

/// A simulator whose operations last until their time is told to pass.
async fn slow() -> Asked {
    let mut options = Options::default();
    options.behaviour.operations = OperationTime::Time(Duration::from_secs(3_600));
    Asked::with(options).await
}

fn named(page: &Value, list: &str) -> Vec<String> {
    page[list].as_array().into_iter().flatten().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_operation_lasts_and_its_resource_waits() {
    let asked = slow().await;
    let insert = r#"POST regions/europe-west1/addresses {"name":"a"}"#;
    let operation = asked.done(insert).await;
    assert_eq!((&operation["status"], &operation["operationType"]), (&json!("RUNNING"), &json!("insert")));
    let wait = format!("POST regions/europe-west1/operations/{}/wait", operation["name"].as_str().unwrap());
    assert_eq!(asked.done(&wait).await["status"], "RUNNING");
    let address = asked.done("GET regions/europe-west1/addresses/a").await;
    assert_eq!((&address["status"], address.get("address")), (&json!("RESERVING"), None));
    assert_eq!(asked.line(insert).await.0, "409 alreadyExists");
    assert_eq!(asked.line("DELETE regions/europe-west1/addresses/a").await.0, "400 resourceNotReady");
    asked.cloud.advance(Duration::from_secs(3_600));
    let ended = asked.done(&wait).await;
    assert_eq!((&ended["status"], &ended["progress"]), (&json!("DONE"), &json!(100)));
    assert_eq!(asked.done("GET regions/europe-west1/addresses/a").await["status"], "RESERVED");

    // A resource that is being deleted is there until the operation's end.
    asked.done("DELETE regions/europe-west1/addresses/a").await;
    asked.done("GET regions/europe-west1/addresses/a").await;
    asked.cloud.advance(Duration::from_secs(3_600));
    assert_eq!(asked.line("GET regions/europe-west1/addresses/a").await.0, "404 notFound");
}

#[tokio::test]
async fn a_failed_operation_undoes_what_it_did() {
    let asked = Asked::instant().await;
    let failure = |verb| OperationFailure {
        verb,
        collection: Collection::Firewalls,
        code: "INTERNAL_ERROR",
        message: "it failed".to_owned(),
        status: 503,
    };
    asked.done(r#"POST global/firewalls {"name":"f","allowed":[{"IPProtocol":"tcp"}]}"#).await;
    asked.cloud.behave(|it| it.failures = ["insert", "patch", "delete"].map(failure).to_vec());
    for (line, after) in [
        (r#"POST global/firewalls {"name":"g","allowed":[{"IPProtocol":"tcp"}]}"#, "GET global/firewalls/g"),
        (r#"PATCH global/firewalls/f {"priority":7}"#, "GET global/firewalls/f"),
        ("DELETE global/firewalls/f", "GET global/firewalls/f"),
    ] {
        let operation = asked.done(line).await;
        let path = format!("GET global/operations/{}", operation["name"].as_str().unwrap());
        let ended = asked.done(&path).await;
        assert_eq!(ended["error"]["errors"][0]["code"], "INTERNAL_ERROR", "{line}: {ended}");
        assert_eq!(ended["httpErrorStatusCode"], 503, "{line}");
        let (status, found) = asked.line(after).await;
        match line.starts_with("POST") {
            true => assert_eq!(status, "404 notFound", "{line}"),
            false => assert_eq!(found["priority"], 1_000, "{line}"),
        }
    }
}

#[tokio::test]
async fn refusals_come_with_the_operation_where_they_do() {
    let asked = Asked::instant().await;
    asked.cloud.behave(|behaviour| {
        behaviour.refuses_in_operations = true;
        behaviour.quotas.insert(Collection::Addresses, 1);
    });
    let operation = asked.done(r#"POST regions/europe-west1/addresses {"name":"a"}"#).await;
    let path = format!("GET regions/europe-west1/operations/{}", operation["name"].as_str().unwrap());
    let error = &asked.done(&path).await["error"]["errors"][0];
    assert_eq!(error["code"], "QUOTA_EXCEEDED");
    let message = error["message"].as_str().unwrap();
    assert_eq!(message, "Quota 'STATIC_ADDRESSES' exceeded.  Limit: 1.0 in region europe-west1.");
    assert_eq!(asked.line("GET regions/europe-west1/addresses/a").await.0, "404 notFound");
}

#[tokio::test]
async fn a_request_with_an_id_is_carried_out_once() {
    let asked = Asked::instant().await;
    let id = "0c0ffee0-0000-4000-8000-000000000001";
    let insert = format!(r#"POST regions/europe-west1/addresses?requestId={id} {{"name":"a"}}"#);
    let first = asked.done(&insert).await;
    let second = asked.done(&insert).await;
    assert_eq!(first["name"], second["name"]);
    assert_eq!(second["status"], "DONE");
    let other = format!(r#"POST global/httpHealthChecks?requestId={id} {{"name":"a"}}"#);
    assert_eq!(asked.line(&other).await.0, "400 invalid");
    let zero = r#"POST global/httpHealthChecks?requestId=00000000-0000-0000-0000-000000000000 {"name":"a"}"#;
    assert_eq!(asked.line(zero).await.0, "400 invalid");
    // A refused one is tried again.
    let id = "0c0ffee0-0000-4000-8000-000000000002";
    let insert = format!(r#"POST global/httpHealthChecks?requestId={id} {{"name":"a"}}"#);
    asked.cloud.behave(|it| _ = it.quotas.insert(Collection::HttpHealthChecks, 0));
    assert_eq!(asked.line(&insert).await.0, "403 quotaExceeded");
    asked.cloud.behave(|it| it.quotas.clear());
    asked.done(&insert).await;
}

#[tokio::test]
async fn aggregated_pages_name_every_zone_and_warn() {
    let asked = Asked::instant().await;
    let zone = |letter: &str| Place::zone(PROJECT, &format!("{REGION}-{letter}"));
    asked.cloud.with(|world| (3..=9).for_each(|it| drop(world.add_machine(&zone("b"), it, &format!("node-{it}")))));
    let mut found = Vec::new();
    let mut token = String::new();
    for _ in 0..3 {
        let fields = "nextPageToken,items/*/warning/code,items/*/instances(name,tags/items)";
        let line = format!("GET aggregated/instances?maxResults=4&fields={fields}&pageToken={token}");
        let page = asked.done(&line).await;
        assert_eq!(page["items"].as_object().unwrap().len(), 4, "{page}");
        for (zone, here) in page["items"].as_object().unwrap() {
            let names = named(here, "instances");
            assert_eq!(names.is_empty(), here["warning"] == json!({ "code": "NO_RESULTS_ON_PAGE" }), "{zone} {here}");
            found.extend(names);
        }
        token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
    }
    assert_eq!((found.len(), token.as_str()), (9, ""));

    asked.cloud.behave(|it| _ = it.unreachable.insert(format!("{REGION}-b")));
    let page = asked.done("GET aggregated/instances?filter=name%20eq%20node-.*").await;
    assert_eq!(page["items"]["zones/europe-west1-b"]["warning"]["code"], "UNREACHABLE");
    assert_eq!(named(&page["items"]["zones/europe-west1-c"], "instances"), ["node-2"]);
    assert_eq!(asked.line("GET zones/europe-west1-b/instances/node-1").await.0, "503 backendError");
    assert_eq!(asked.line("GET aggregated/instances?maxResults=501").await.0, "400 invalid");
    assert_eq!(asked.line("GET aggregated/instances?pageToken=x").await.0, "400 invalid");
    assert_eq!(asked.line("GET aggregated/instances?fields=items(").await.0, "400 invalidParameter");
}

#[tokio::test]
async fn new_resources_come_late_where_they_do() {
    let asked = Asked::instant().await;
    asked.cloud.behave(|behaviour| {
        behaviour.lists_late_by = Duration::from_secs(60);
        behaviour.reads_late_by = Duration::from_secs(30);
    });
    asked.done(r#"POST regions/europe-west1/addresses {"name":"a","labels":{"team":"blue"}}"#).await;
    let (one, list) =
        ("GET regions/europe-west1/addresses/a", "GET regions/europe-west1/addresses?filter=labels.team=blue");
    for (passed, found, listed) in [(0, "404 notFound", 0), (30, "200", 0), (30, "200", 1)] {
        asked.cloud.advance(Duration::from_secs(passed));
        assert_eq!(asked.line(one).await.0, found);
        assert_eq!(named(&asked.done(list).await, "items").len(), listed);
    }
}

#[tokio::test]
async fn another_project_has_its_own_network_and_rights() {
    let asked = Asked::instant().await;
    let firewall = json!({ "name": "f", "allowed": [{ "IPProtocol": "tcp" }] });
    let path = "projects/shared/global/firewalls";
    asked.cloud.behave(|it| _ = it.read_only.insert(("shared".to_owned(), Collection::Firewalls)));
    let (status, refused) = asked.send(&http::Method::POST, path, Some(&firewall)).await;
    assert_eq!((status, &refused["error"]["errors"][0]["reason"]), (403, &json!("forbidden")), "{refused}");
    asked.cloud.behave(|it| it.read_only.clear());
    assert_eq!(asked.send(&http::Method::POST, path, Some(&firewall)).await.0, 200);
    assert_eq!(asked.line("GET global/firewalls/f").await.0, "404 notFound");
    assert_eq!(asked.send(&http::Method::GET, "projects/none", None).await.0, 404);
    asked.cloud.behave(|it| _ = it.disabled.insert("p1".to_owned()));
    assert_eq!(asked.line("GET ").await.0, "403 accessNotConfigured");
}
