//! Requests and answers for tests. Not there on wasm.

use aerostat_sdk::testing::{Body, Host, Outcome, Request, answer};
use aerostat_sdk::{Method, SortedMap};
use serde_json::Value;

/// The settings that each module requires.
#[must_use]
pub fn required() -> Host {
    Host::new().setting("region", "us-east-1").setting("vpc", "vpc-1").setting("clusterID", "prod")
}

/// The action of a request.
///
/// # Panics
///
/// Panics if it has none.
#[must_use]
pub fn action(request: &Request) -> &str {
    value(request, "Action").unwrap_or_else(|| panic!("{request:?} has no action"))
}

/// The value of this name in a request's form.
///
/// # Panics
///
/// Panics if it has no form.
#[must_use]
pub fn value<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    form(request).iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
}

/// The values of a filter; none, if a request has no such filter.
#[must_use]
pub fn filter<'a>(request: &'a Request, name: &str) -> Vec<&'a str> {
    let Some(number) = (1..10).find(|it| value(request, &format!("Filter.{it}.Name")) == Some(name)) else {
        return Vec::new();
    };
    (1..=200).map_while(|it| value(request, &format!("Filter.{number}.Value.{it}"))).collect()
}

/// A request as one line: "ec2 DescribeInstances", and its form without what every request has.
#[must_use]
pub fn line(request: &Request) -> String {
    let mut line = format!("{} {}", request.endpoint, action(request));
    for (name, value) in form(request).iter().filter(|(name, _)| name != "Action" && name != "Version") {
        line.push_str(&format!(" {name}={value}"));
    }
    line
}

fn form(request: &Request) -> &[(String, String)] {
    let Some(Body::Form(pairs)) = &request.body else { panic!("{request:?} has no form") };
    pairs
}

/// An error as EC2 writes it.
pub fn refused(status: u16, code: &str) -> Outcome {
    answer(
        status,
        format!(
            "<Response><Errors><Error><Code>{code}</Code><Message>It is so.</Message></Error></Errors>\
             <RequestID>r-1</RequestID></Response>"
        ),
    )
}

/// A name, and what makes the requests that are recorded under it.
pub type SdkCall = (&'static str, fn(&Host));

/// Compares the request that each call sends with that of the official SDK, by the names of the recordings.
///
/// # Panics
///
/// Panics where they differ, and where a recording has no call.
pub fn check_recorded(recorded: &str, calls: &[SdkCall], host: impl Fn() -> Host) {
    let recorded: Value = serde_json::from_str(recorded).unwrap_or_else(|error| panic!("no recordings: {error}"));
    let count = recorded["requests"].as_object().map(serde_json::Map::len);
    assert_eq!(count, Some(calls.len()), "each recording has its call");
    for (name, call) in calls {
        let expected = &recorded["requests"][name];
        let pairs = expected["pairs"].as_object().unwrap_or_else(|| panic!("{name} is not recorded"));
        let pairs: SortedMap<&str, &str> =
            pairs.iter().map(|(name, value)| (&**name, value.as_str().unwrap_or_default())).collect();
        let host = host();
        call(&host);
        let requests = host.sent();
        let of_action: Vec<_> = requests.iter().filter(|it| action(it) == pairs["Action"]).collect();
        let [request] = of_action[..] else { panic!("{name}: {of_action:#?}") };
        assert_eq!((request.method, expected["method"].as_str()), (Method::Post, Some("POST")), "{name}");
        let target = format!("/{}", request.path.join("/"));
        assert_eq!((Some(target.as_str()), request.query.len()), (expected["target"].as_str(), 0), "{name}");
        // The host writes the form, and its content type.
        let content_type = expected["contentType"].as_str().unwrap_or_default();
        assert!(content_type.starts_with("application/x-www-form-urlencoded"), "{name}: {content_type}");
        let ours: SortedMap<&str, &str> = form(request).iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(ours, pairs, "{name}");
    }
}
