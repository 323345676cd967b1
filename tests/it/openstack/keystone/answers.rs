//! Annotations of Services that are wrong.

use serde_json::{Value, json};
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
