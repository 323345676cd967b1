//! Operations, etags, lists, limits and faults.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tests::clouds::azure::{
    Fault, Kind, OperationFailure, Options, Overlap, RequestGroup, Service, Taking, Throttle, refusal,
};

use crate::asked::{Answered, Asked};

const ADDRESS: &str = r#"PUT Network/publicIPAddresses/p {"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}"#;
const GET: &str = "GET Network/publicIPAddresses/p";
const HOUR: Duration = Duration::from_secs(3_600);

/// A simulator whose operations last until their time is told to pass.
async fn slow() -> Asked {
    let mut options = Options::default();
    options.behaviour.operations = Taking::Time(HOUR);
    Asked::with(options).await
}

/// Asks where an answer says that its operation is.
async fn poll(asked: &Asked, begun: &Answered, header: &str) -> Answered {
    asked.send(&Method::GET, begun.header(header), &[], None).await
}

#[tokio::test]
async fn an_operation_lasts_and_its_resource_waits() {
    let asked = slow().await;
    let begun = asked.line(ADDRESS).await;
    assert_eq!((begun.status, begun.header("retry-after")), (201, "1"));
    let state = |body: &Value| body["properties"]["provisioningState"].clone();
    assert_eq!(state(&begun.body), "Updating");
    assert_eq!(begun.body["properties"].get("ipAddress"), None, "it is not known yet");
    let going = poll(&asked, &begun, "azure-asyncoperation").await;
    assert_eq!((&going.body["status"], going.header("retry-after")), (&json!("InProgress"), "1"));
    assert_eq!(asked.line(ADDRESS).await.short(), "409 AnotherOperationInProgress");
    let balancer = r#"PUT Network/loadBalancers/l {"location":"westeurope","sku":{"name":"Standard"},"properties":{
        "frontendIPConfigurations":[{"name":"f","properties":{"publicIPAddress":{"id":"@Network/publicIPAddresses/p"}}}]}}"#;
    let told = asked.line(balancer).await;
    assert_eq!((told.short().as_str(), told.header("retry-after")), ("429 RetryableError", "1"), "{}", told.body);
    assert_eq!(told.body["error"]["details"][0]["code"], "ReferencedResourceNotProvisioned");
    asked.cloud.advance(HOUR);
    assert_eq!(poll(&asked, &begun, "azure-asyncoperation").await.body, json!({ "status": "Succeeded" }));
    let there = asked.done(GET).await;
    assert_eq!((state(&there), &there["properties"]["ipAddress"]), (json!("Succeeded"), &json!("20.50.0.11")));
    assert_ne!(there["etag"], begun.body["etag"], "the end is a change");

    // What is being deleted is there until the operation's end.
    let begun = asked.line("DELETE Network/publicIPAddresses/p").await;
    assert_eq!(begun.status, 202);
    assert_eq!(poll(&asked, &begun, "location").await.status, 202);
    assert_eq!(state(&asked.done(GET).await), "Deleting");
    asked.cloud.advance(HOUR);
    assert_eq!(poll(&asked, &begun, "location").await.status, 204);
    assert_eq!(asked.line(GET).await.short(), "404 ResourceNotFound");
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn writes_while_an_operation_lasts_are_judged_as_told() {
    for (overlap, told, first) in [
        (Overlap::Conflict, "409 AnotherOperationInProgress", "InProgress"),
        (Overlap::Retryable, "429 RetryableError", "InProgress"),
        (Overlap::Supersedes, "200", "Canceled"),
    ] {
        let asked = slow().await;
        asked.cloud.behave(|it| it.overlap = overlap);
        let begun = asked.line(ADDRESS).await;
        assert_eq!(asked.line(ADDRESS).await.short(), told, "{overlap:?}");
        let polled = poll(&asked, &begun, "azure-asyncoperation").await;
        assert_eq!(polled.body["status"], first, "{overlap:?}");
    }
}

#[tokio::test]
async fn an_operation_that_fails_leaves_its_resource_failed() {
    let asked = Asked::instant().await;
    asked.cloud.behave(|behaviour| {
        behaviour.failures = ["PUT", "DELETE"]
            .map(|method| OperationFailure {
                method,
                kind: Kind::PublicIp,
                code: "InternalServerError",
                message: "it failed".to_owned(),
            })
            .to_vec();
    });
    for line in [ADDRESS, "DELETE Network/publicIPAddresses/p"] {
        let begun = asked.line(line).await;
        let polled = poll(&asked, &begun, "azure-asyncoperation").await;
        assert_eq!(
            (&polled.body["status"], &polled.body["error"]["code"]),
            (&json!("Failed"), &json!("InternalServerError"))
        );
        assert_eq!(asked.done(GET).await["properties"]["provisioningState"], "Failed", "{line}");
    }
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn an_operation_of_compute_says_when_it_began() {
    let asked = Asked::instant().await;
    let begun = asked.line("POST Compute/virtualMachines/node-1/deallocate").await;
    assert_eq!(begun.status, 202);
    let polled = poll(&asked, &begun, "azure-asyncoperation").await.body;
    assert_eq!(polled["status"], "Succeeded");
    assert!(polled["startTime"].is_string() && polled["endTime"].is_string(), "{polled}");
}

#[tokio::test]
async fn a_write_names_the_state_that_it_knows() {
    let asked = Asked::instant().await;
    asked.cloud.with(|world| {
        world.add_scale_set("pool1");
        world.add_instance("pool1", 0);
    });
    asked.done(ADDRESS).await;
    let etag = asked.done(GET).await["etag"].as_str().unwrap().to_owned();
    let set = asked.done("GET Compute/virtualMachineScaleSets/pool1").await["etag"].as_str().unwrap().to_owned();
    let model = r#"PUT Compute/virtualMachineScaleSets/pool1 {"location":"westeurope"}"#;
    let none = r#"PUT Network/routeTables/rt1 {"location":"westeurope","properties":{}}"#;
    for (line, name, value, told) in [
        (ADDRESS, "if-match", "W/\"other\"", "412 PreconditionFailed"),
        (ADDRESS, "if-none-match", "*", "412 PreconditionFailed"),
        (ADDRESS, "if-match", etag.as_str(), "200"),
        (ADDRESS, "if-match", etag.as_str(), "412 PreconditionFailed"),
        (ADDRESS, "if-match", "*", "200"),
        ("DELETE Network/publicIPAddresses/p", "if-match", etag.as_str(), "412 PreconditionFailed"),
        (none, "if-match", "W/\"gone\"", "412 PreconditionFailed"),
        (none, "if-none-match", "*", "201"),
        (none, "if-none-match", "*", "412 PreconditionFailed"),
        (model, "if-match", "\"0\"", "412 PreconditionFailed"),
        (model, "if-match", set.as_str(), "200"),
        (model, "if-match", set.as_str(), "412 PreconditionFailed"),
    ] {
        assert_eq!(asked.line_with(line, &[(name, value)]).await.short(), told, "{line} {name}: {value}");
    }
    let told = asked.line_with(ADDRESS, &[("if-match", "W/\"other\"")]).await;
    assert_eq!(told.body["error"]["details"][0]["code"], "PreconditionFailedEtagMismatch");
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn lists_come_in_pages_and_late() {
    let mut options = Options::instant();
    options.behaviour.largest_page = 2;
    let asked = Asked::with(options).await;
    asked.cloud.with(|world| {
        world.add_scale_set("pool1");
        (0..5).for_each(|it| drop(world.add_instance("pool1", it)));
    });
    let mut next = tests::clouds::azure::id("Microsoft.Compute/virtualMachineScaleSets/pool1/virtualMachines");
    next.push_str("?api-version=2025-04-01&$expand=instanceView");
    let mut pages = Vec::new();
    while !next.is_empty() {
        let told = asked.send(&Method::GET, &next, &[], None).await;
        let page = told.body["value"].as_array().unwrap().clone();
        assert!(
            page.iter().all(|it| it["properties"]["instanceView"].is_object()),
            "the link keeps the rest of the query"
        );
        pages.push(page.len());
        next = told.body["nextLink"].as_str().unwrap_or_default().to_owned();
    }
    assert_eq!(pages, [2, 2, 1]);

    asked.cloud.behave(|it| it.lists_late_by = HOUR);
    asked.done(ADDRESS).await;
    let listed = async || {
        let list = asked.done("GET Network/publicIPAddresses").await;
        list["value"].as_array().unwrap().iter().any(|it| it["name"] == "p")
    };
    assert!(!listed().await);
    asked.done(GET).await;
    asked.cloud.advance(HOUR);
    assert!(listed().await);
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn each_group_of_requests_has_its_own_limit() {
    let asked = Asked::instant().await;
    let reads = RequestGroup { service: Service::Compute, writes: false };
    let machines = "GET Compute/virtualMachines";
    asked.cloud.throttle(reads, Throttle { size: 2, refill: Duration::from_secs(60) });
    let left = asked.line(machines).await;
    assert_eq!(left.header("x-ms-ratelimit-remaining-resource"), "Microsoft.Compute/reads;1");
    asked.done(machines).await;
    let refused = asked.line(machines).await;
    assert_eq!((refused.short().as_str(), refused.header("retry-after")), ("429 OperationNotAllowed", "60"));
    asked.done("GET Network/loadBalancers").await;
    asked.done("POST Compute/virtualMachines/node-1/start").await;

    let writes = RequestGroup { service: Service::Network, writes: true };
    asked.cloud.close(writes, Duration::from_secs(30));
    let refused = asked.line(ADDRESS).await;
    assert_eq!((refused.short().as_str(), refused.header("retry-after")), ("429 SubscriptionRequestsThrottled", "30"));
    assert_eq!(asked.line(GET).await.status, 404);
    asked.cloud.advance(Duration::from_secs(60));
    asked.done(ADDRESS).await;
    asked.done(machines).await;
    asked.cloud.assert_valid();
}

#[tokio::test]
async fn faults_answer_in_the_place_of_azure() {
    let asked = Asked::instant().await;
    let list = "/subscriptions/*/resourceGroups/*/providers/Microsoft.Network/loadBalancers";
    let gone = Fault::status("GET", list, 404)
        .body(refusal("ResourceGroupNotFound", "Resource group 'rg1' could not be found."));
    asked.cloud.inject(gone.times(1));
    assert_eq!(asked.line("GET network/LOADBALANCERS").await.short(), "404 ResourceGroupNotFound");
    asked.cloud.inject(Fault::empty_list("GET", "/**").times(1));
    assert_eq!(asked.done("GET Compute/virtualMachines").await, json!({ "value": [] }));
    asked.cloud.inject(Fault::status("PUT", "/**", 500).times(1));
    assert_eq!(asked.line(ADDRESS).await.short(), "500 InternalServerError");
    assert_eq!(asked.line(GET).await.status, 404, "it was not done");
    asked.cloud.behave(|it| _ = it.denied.insert("Microsoft.Network/publicIPAddresses/write".to_owned()));
    let told = asked.line(ADDRESS).await;
    assert_eq!(told.short(), "403 AuthorizationFailed");
    assert!(told.body["error"]["message"].as_str().unwrap().contains("'Microsoft.Network/publicIPAddresses/write'"));
    asked.cloud.assert_valid();
}
