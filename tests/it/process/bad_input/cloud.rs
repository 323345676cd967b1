//! The cloud's answers, through the real provider and the real egress: whatever they are, nodes stay, and the taint stays
//! until the cloud has answered.

use std::time::{Duration, Instant};

use tests::aerostat::message;
use tests::clouds::digitalocean::{Droplet, Fault, Options, Simulator};
use tests::control_plane::cluster;
use tests::kubelet;

use crate::setup::{Setup, assert_waits, event, initialized, says};

/// Within this a node is tried again that has changed while it was tried.
const AGAIN: Duration = Duration::from_secs(1);

/// The next state of a node for which the cloud was at fault.
enum Then {
    /// It is initialised once the cloud is well.
    Initialized,
    /// It waits for a change, such as of the credential.
    Waits,
}

/// A node joins while the cloud answers like this. `parts` are in the log.
async fn check(faults: impl IntoIterator<Item = Fault>, parts: &[&str], then: Then) {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(1, "worker-1"));
    let setup = Setup::digitalocean(&cluster, &cloud);
    let mut process = setup.started().await;
    // One that is there already shall not be touched.
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;

    for fault in faults {
        cloud.inject(fault);
    }
    // Not before: an answer that is still fresh must not know it.
    cloud.droplets().insert(Droplet::new(2, "worker-2"));
    kubelet::join(&cluster.admin, "worker-2").await.unwrap();
    let line = process.says("error syncing 'worker-2'").await;
    says(message(&line), parts);
    let next = match then {
        Then::Waits => "check the endpoint's credential",
        Then::Initialized => "tried again",
    };
    says(line["next"].as_str().unwrap(), &[next]);
    assert_waits(&cluster, "worker-2").await;
    if let Then::Waits = then {
        // The kubelet may have said that it is ready while the cloud was asked: then the cloud is asked once more.
        while process.aerostat.wait_for("error syncing 'worker-2'", AGAIN).await.is_ok() {}
        // While the cloud is at fault: a question that is still on its way must not find it well.
        event(&cluster, "worker-2", parts).await;
        assert_waits(&cluster, "worker-2").await;
    }

    cloud.clear_faults();
    if let Then::Initialized = then {
        initialized(&cluster, "worker-2").await;
    }
    let first = initialized(&cluster, "worker-1").await;
    assert_eq!(first.spec.unwrap().provider_id.as_deref(), Some("digitalocean://1"));
    process.stop().await;
}

/// Whatever is asked about droplets.
fn everywhere(fault: impl Fn(&str, &str) -> Fault) -> [Fault; 2] {
    ["/v2/droplets", "/v2/droplets/*"].map(|path| fault("GET", path))
}

fn status(code: u16) -> [Fault; 2] {
    everywhere(|method, path| Fault::status(method, path, code))
}

/// Cases: cloud-refuses
#[tokio::test]
async fn bad_input_cloud_answers_401() {
    check(status(401), &["GET /v2/droplets at endpoint api: 401"], Then::Waits).await;
}

/// Cases: cloud-refuses
#[tokio::test]
async fn bad_input_cloud_answers_403() {
    check(status(403), &["GET /v2/droplets at endpoint api: 403"], Then::Waits).await;
}

/// Cases: cloud-refuses
#[tokio::test]
async fn bad_input_cloud_answers_404() {
    check(status(404), &["GET /v2/droplets at endpoint api: 404"], Then::Initialized).await;
}

/// Cases: cloud-busy
#[tokio::test]
async fn bad_input_cloud_answers_429_with_retry_after() {
    let faults = everywhere(|method, path| Fault::status(method, path, 429).header("retry-after", "5"));
    let begin = Instant::now();
    check(faults, &["GET /v2/droplets at endpoint api: 429"], Then::Initialized).await;
    assert!(begin.elapsed() >= Duration::from_secs(5), "the cloud's pause is kept");
}

/// Cases: cloud-busy
#[tokio::test]
async fn bad_input_cloud_answers_429_without_retry_after() {
    let faults = everywhere(|method, path| Fault::status(method, path, 429).header("ratelimit-reset", ""));
    check(faults, &["GET /v2/droplets at endpoint api: 429"], Then::Initialized).await;
}

/// Cases: cloud-busy
#[tokio::test]
async fn bad_input_cloud_answers_500() {
    check(status(500), &["GET /v2/droplets at endpoint api: 500"], Then::Initialized).await;
}

/// Cases: bad-answer
#[tokio::test]
async fn bad_input_cloud_answers_nonsense() {
    check(everywhere(Fault::nonsense), &["GET /v2/droplets at endpoint api", "cannot be read"], Then::Initialized)
        .await;
}

/// Cases: bad-answer
#[tokio::test]
async fn bad_input_cloud_answers_half_a_page() {
    check(everywhere(Fault::half), &["GET /v2/droplets at endpoint api", "cut its answer off"], Then::Initialized)
        .await;
}

/// Cases: bad-answer
#[tokio::test]
async fn bad_input_cloud_answers_an_empty_list() {
    check(everywhere(Fault::empty_list), &["knows no machine named worker-2"], Then::Initialized).await;
}

/// Cases: bad-answer
#[tokio::test]
async fn bad_input_cloud_answers_nothing() {
    check(
        everywhere(Fault::nothing),
        &["GET /v2/droplets at endpoint api", "broke the connection off"],
        Then::Initialized,
    )
    .await;
}
