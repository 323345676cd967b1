//! Machines, natively: what is asked, and what becomes of the answers.

mod lookup;
pub(crate) mod published;

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use aerostat_sdk::{Error, Provider as _};
use serde_json::{Value, json};

use crate::provider::Ibm;

/// A refusal of the API.
pub(crate) fn refused(status: u16, code: &str) -> Outcome {
    let error = json!({ "code": code, "message": format!("it is {code}"), "more_info": "https://cloud.ibm.com/docs" });
    answer(status, json!({ "errors": [error], "trace": "1" }).to_string())
}

/// A host with the settings of a cluster in us-south.
pub(crate) fn settings() -> Host {
    Host::new()
        .setting("accountID", "acc")
        .setting("clusterID", "c1")
        .setting("region", "us-south")
        .setting("vpcID", "r006-1")
}

/// The value of a name in the query.
pub(crate) fn asked<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let mut values = request.query.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str());
    let first = values.next();
    assert_eq!(values.next(), None, "{name} stands once");
    first
}

/// A page of a list, as the API answers it.
pub(crate) fn page_of(request: &Request, field: &str, all: &[Value]) -> Outcome {
    let limit: usize = asked(request, "limit").unwrap().parse().unwrap();
    assert!((1..=100).contains(&limit));
    let start: usize = asked(request, "start").map_or(0, |it| it.strip_prefix("at/").unwrap().parse().unwrap());
    let shown = &all[start..all.len().min(start + limit)];
    let mut page = json!({ field: shown, "limit": limit, "total_count": all.len() });
    if start + limit < all.len() {
        let next = start + limit;
        page["next"] = json!({ "href": format!("https://us-south.iaas.cloud.ibm.com/v1/{field}?limit={limit}&start=at%2F{next}") });
    }
    answer(200, page.to_string())
}

/// An instance as the API shows it: the number is its name's, its address's and its id's.
pub(crate) fn instance(number: usize) -> Value {
    json!({
        "id": format!("0717_{number}"), "name": format!("node-{number}"), "status": "running", "lifecycle_state": "stable",
        "profile": { "name": "bx2-4x16" }, "zone": { "name": "us-south-1" }, "vpc": { "id": "r006-1", "name": "vpc1" },
        "primary_network_interface": { "id": format!("nic-{number}"), "primary_ip": { "address": format!("10.240.0.{number}") } },
    })
}

#[test]
fn the_page_has_the_tables_of_the_description() {
    let text = include_str!("../README.md");
    let described = settings().without_cluster().run(Ibm::describe).unwrap();
    let filled =
        aerostat_sdk::readme::filled(text, &described, "service.kubernetes.io/ibm-load-balancer-cloud-provider-");
    expect_test::expect_file!["../README.md"].assert_eq(&filled);
}

#[test]
fn every_request_has_the_version_and_the_generation() {
    let endpoint = crate::endpoints::vpc();
    let parameters: Vec<_> = endpoint.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(parameters, ["version=2026-06-23", "generation=2"]);
    let host = settings().answers(|_| refused(404, "not_found"));
    let _ = host.run(Ibm::identity);
    assert_eq!(host.requests(), ["GET vpc /vpcs/r006-1?version=2026-06-23&generation=2"]);
}

#[test]
fn the_identity_is_the_vpc_with_its_account() {
    let identity = |host: Host, status, crn: &str| {
        let body = json!({ "id": "r006-1", "crn": crn, "name": "vpc1" }).to_string();
        host.answers(move |_| answer(status, body.clone())).run(Ibm::identity)
    };
    let crn = "crn:v1:bluemix:public:is:us-south:a/acc::vpc:r006-1";
    assert_eq!(identity(settings(), 200, crn), Ok(Some("account acc, region us-south, VPC r006-1".to_owned())));
    for (crn, part) in [
        ("crn:v1:bluemix:public:is:us-south:a/other::vpc:r006-1", "is of account other"),
        ("crn:v1:bluemix:public:is:eu-de:a/acc::vpc:r006-1", "is in region eu-de"),
    ] {
        let refused = identity(settings(), 200, crn);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(part)), "{refused:?}");
    }
    for crn in ["", "r006-1", "crn:v1:bluemix:public:is::a/acc::vpc:r006-1"] {
        assert!(matches!(identity(settings(), 200, crn), Err(Error::Unavailable(_))), "{crn}");
    }
    let missing = settings().answers(|_| refused(404, "not_found")).run(Ibm::identity);
    assert!(matches!(&missing, Err(Error::Invalid(why)) if why.contains("correct settings vpcID")), "{missing:?}");
    let elsewhere = settings().answers(|_| answer(404, "<html>")).run(Ibm::identity);
    assert!(matches!(&elsewhere, Err(Error::Unavailable(why)) if why.contains("baseUrl")), "{elsewhere:?}");
}

#[test]
fn bad_settings_are_refused_by_name() {
    let describe = |host: Host| host.without_cluster().run(Ibm::describe).unwrap_err();
    let without_vpc =
        || Host::new().setting("accountID", "acc").setting("clusterID", "c1").setting("region", "us-south");
    for (host, part) in [
        (without_vpc(), "setting vpcID is missing"),
        (settings().setting("clusterDefaultProvider", "classic"), "take one of them out"),
        (settings().setting("clusterDefaultProvider", "g1"), "\"g1\" is not g2 or classic"),
        (Host::new().setting("accountID", "a/b"), "setting accountID: \"a/b\" is not the id of an account"),
        (Host::new().setting("accountID", "acc"), "setting vpcID is missing"),
        (
            Host::new().setting("accountID", "acc").setting("vpcID", "r006-1").setting("clusterID", &"c".repeat(42)),
            "is not the id of a cluster: at most 41 letters",
        ),
    ] {
        let refused = describe(host);
        assert!(matches!(&refused, Error::Invalid(why) if why.contains(part)), "{part}: {refused:?}");
    }
    assert!(Host::new().without_cluster().run(Ibm::describe).is_ok(), "without any the host refuses it");
    let classic = without_vpc().setting("clusterDefaultProvider", "classic");
    assert_eq!(classic.run(Ibm::identity), Ok(None));
}
