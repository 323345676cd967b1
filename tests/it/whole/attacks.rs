//! Attacks that need more than the sandbox to be seen: on the API server through a provider, and on the cloud through a
//! Service.

use std::fmt::Write as _;
use std::time::Duration;

use tests::clouds::digitalocean::{Certificate, Options, Simulator};
use tests::control_plane::cluster;
use tests::operator::Setup;
use tests::{guests, kubelet, wait};

use crate::setup::{Rig, key, service};

/// As many events as an object may have before it gets no more for a while.
const SPAM: usize = 25;
/// The longest message of an event.
const KIBIBYTE: usize = 1 << 10;

#[tokio::test]
async fn adv_41_ten_thousand_events_of_a_provider_become_few() {
    let cluster = cluster().await;
    // Not asked by anybody: its place is taken by a provider that needs no cloud.
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--service-retry-base-delay=500ms"]);
    let rig = Rig { cluster, cloud, setup };
    let process = rig.start().await;
    // Each call makes twenty thousand events, one kibibyte and more each, for a node and for a Service.
    kubelet::join(&rig.cluster.admin, "many-events").await.unwrap();
    rig.create(&service("many-events", &[80], &[])).await;
    rig.warned("many-events", "SyncLoadBalancerFailed", &["noted"]).await;
    for port in 81..91 {
        rig.ports("many-events", &[port]).await;
    }
    wait::until("what repeats is counted", async || {
        let events = rig.events("many-events").await;
        events.into_iter().find(|it| it.count > Some(1))
    })
    .await;
    rig.never(Duration::from_secs(5), async || {
        let events = rig.events("many-events").await;
        let long = events.iter().find(|it| it.message.as_ref().is_some_and(|it| it.len() > KIBIBYTE)).cloned();
        long.or_else(|| (events.len() > 2 * SPAM).then(|| events[0].clone()))
    })
    .await;
    process.stop().await;
    rig.cluster.audit().settle(&rig.cluster.admin).await.unwrap();
    let about = |kind: &str| {
        let requests = rig.cluster.audit().events().unwrap();
        requests.iter().filter(|it| it.object.name.starts_with("many-events") && it.object.namespace == kind).count()
    };
    // Node and Service have one allowance for each controller that speaks of them.
    let requests = about("default");
    assert!((1..=3 * SPAM).contains(&requests), "{requests} requests");
}

/// Every byte but those that RFC 3986 leaves alone, as it must be in a query.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[tokio::test]
async fn adv_73_text_of_a_service_stays_in_its_part_of_a_request() {
    let odd = [
        "../../droplets/1",
        "web?page=2&per_page=1",
        "web#fragment",
        "${TOKEN}",
        "%2e%2e%2f",
        "a b+c&name=other",
        "\u{1f980}",
        "\u{202e}bew",
    ];
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    let (kind, name, ports) = (key("type"), key("certificate-name"), key("tls-ports"));
    for (index, value) in odd.iter().enumerate() {
        let id = format!("892071a0-bb95-49bc-8021-3afd67a210b{index}");
        rig.cloud.certificates().insert(Certificate::new(&id, value));
        let annotations = [(kind.as_str(), "REGIONAL"), (name.as_str(), *value), (ports.as_str(), "443")];
        rig.create(&service(&format!("odd-{index}"), &[443], &annotations)).await;
    }
    for (index, value) in odd.iter().enumerate() {
        rig.served(&format!("odd-{index}")).await;
        let target = format!("/v2/certificates?name={}&page=1&per_page=1", encoded(value));
        let asked = rig.cloud.requests_to("GET", "/v2/certificates");
        assert!(asked.iter().any(|it| it.target == target), "{target} is not among {asked:?}");
    }
    for (index, value) in ["web\r\nx-injected: 1", "web\0", "web\tcertificate"].iter().enumerate() {
        let annotations = [(kind.as_str(), "REGIONAL"), (name.as_str(), *value), (ports.as_str(), "443")];
        let control = format!("control-{index}");
        rig.create(&service(&control, &[443], &annotations)).await;
        rig.warned(&control, "SyncLoadBalancerFailed", &["E-EGRESS-QUERY"]).await;
    }
    let known = ["/v2/account", "/v2/droplets", "/v2/load_balancers", "/v2/certificates", "/v2/tags"];
    for request in rig.cloud.requests() {
        assert!(known.iter().any(|it| request.path.starts_with(it)), "{request}");
        assert!(!request.headers.contains_key("x-injected"), "{request}");
    }
    let built = rig.cloud.load_balancers().all();
    assert_eq!(built.len(), odd.len());
    for (index, _) in odd.iter().enumerate() {
        let id = format!("892071a0-bb95-49bc-8021-3afd67a210b{index}");
        let users = built.iter().filter(|it| it.attributes.forwarding_rules.iter().any(|it| it.certificate_id == id));
        assert_eq!(users.count(), 1, "the certificate that was named");
    }
    process.stop().await;
}
