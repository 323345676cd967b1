//! Answers of the services and annotations of Services that are unusual or wrong.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::openstack::Fault;
use tests::vendor::{OpenStack, Vendor as _};

use super::place::Place;
use super::settled::{Settled, balancing};

/// A value of each annotation that is refused. One for source ranges the API server refuses itself.
const REFUSED: [(&str, &str); 29] = [
    ("service.beta.kubernetes.io/openstack-internal-load-balancer", "True"),
    ("class", "gold"),
    ("floating-network-id", "../../x"),
    ("floating-subnet-id", "a b"),
    ("floating-subnet", "a\nb"),
    ("floating-subnet-tags", "a\u{7f}"),
    ("keep-floatingip", "1"),
    ("network-id", "x/y"),
    ("subnet-id", "../../x"),
    ("member-subnet-id", "x?y=z"),
    ("port-id", "x#y"),
    ("load-balancer-id", "../quotas"),
    ("hostname", "192.0.2.1"),
    ("connection-limit", "many"),
    ("lb-method", "FASTEST"),
    ("proxy-protocol", "v3"),
    ("x-forwarded-for", "True"),
    ("timeout-client-data", "5s"),
    ("timeout-member-connect", "-5"),
    ("timeout-member-data", "1e3"),
    ("timeout-tcp-inspect", "99999999999"),
    ("flavor-id", "%2e%2e"),
    ("availability-zone", "a\tb"),
    ("default-tls-container-ref", "https://keys/v1/orders/1"),
    ("enable-health-monitor", "yes"),
    ("health-monitor-delay", "soon"),
    ("health-monitor-timeout", "0"),
    ("health-monitor-max-retries", "11"),
    ("health-monitor-max-retries-down", "0"),
];

#[tokio::test]
async fn bad_values_of_each_annotation_are_events() {
    let place = Place::start().await;
    let settled = Settled::at(&place).await;
    let key = |it: &str| if it.contains('/') { it.to_owned() } else { format!("{}{it}", OpenStack::PREFIX) };
    let rows = REFUSED.map(|(name, value)| (format!("of-{}", name.rsplit('/').next().unwrap()), key(name), value));
    for (name, key, value) in &rows {
        settled.create("default", name, &json!({ key: value })).await;
    }
    for (name, key, _) in &rows {
        settled.told(name, &[key]).await;
    }
    assert_eq!(balancing(&place, &settled.project), Vec::<Value>::new());
    settled.stop().await;
}

#[tokio::test]
async fn bad_300_and_413_are_read_told_and_obeyed() {
    let place = Place::start().await;
    let settled = Settled::at(&place).await;
    let versions = json!({ "versions": [
        { "id": "v2.0", "status": "SUPPORTED", "links": [] }, { "id": "v2.30", "status": "CURRENT", "links": [] },
    ] });
    let roots = ["/load-balancer", "/load-balancer/"];
    for root in roots {
        place.cloud.inject(Fault::status("GET", root, 300).body(versions.to_string()));
    }
    settled.create("default", "chosen", &json!({})).await;
    settled.served("default", "chosen").await;
    let read: Vec<_> = roots.iter().flat_map(|root| place.cloud.requests_to("GET", root)).collect();
    assert!(!read.is_empty() && read.iter().all(|it| it.status == Some(300)), "{read:?}");

    let create = |status| Fault::status("POST", OpenStack::LOAD_BALANCERS, status).times(1);
    // Octavia's own limit, in plain text and without Retry-After: no pause makes the request smaller.
    place.cloud.inject(create(413).body("Request is too large."));
    settled.create("default", "large", &json!({})).await;
    settled.told("large", &["413", "too large"]).await;

    let begun = place.cloud.requests().len();
    place.cloud.inject(create(413).header("retry-after", "2").body("{\"overLimit\": {\"message\": \"slow down\"}}"));
    settled.create("default", "patient", &json!({})).await;
    settled.served("default", "patient").await;
    let mut since = place.cloud.requests_from(begun);
    since.retain(|it| it.path.starts_with("/load-balancer/"));
    let refused = since.iter().position(|it| it.status == Some(413)).expect("it is refused");
    let pause = since[refused + 1].at.duration_since(since[refused].at).unwrap();
    assert!(pause >= Duration::from_secs(2), "{pause:?}");

    // Without Retry-After, and not for its size.
    place.cloud.inject(create(413).body("{\"overLimit\": {\"message\": \"slow down\"}}"));
    settled.create("default", "limited", &json!({})).await;
    settled.told("limited", &["413"]).await;
    settled.stop().await;
}
