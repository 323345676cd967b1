//! Guests that never end do not cost the process its Lease.

use std::time::{Duration, Instant};

use aerostat::{Overrides, RunSettings};
use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use serde_json::json;
use tests::control_plane::cluster;
use tests::{guests, kubelet, wait};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::setup::{Setup, admin_token, ask};

const SPINNERS: usize = 64;

/// How many calls were ended because of their CPU time, by the page of metrics.
fn killed(page: &str) -> u64 {
    let series = r#"aerostat_provider_calls_total{function="get",outcome="cpu-budget"} "#;
    page.lines().find_map(|it| it.strip_prefix(series)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn adv_31_the_lease_is_renewed_while_guests_spin() {
    let cluster = cluster().await;
    let workers = format!("--concurrent-node-syncs={SPINNERS}");
    let setup = Setup::guest(&cluster, guests::HOSTILE)
        .flags(&[&workers])
        .edit(|it| it["provider"]["limits"] = json!({ "concurrency": SPINNERS, "cpu": "200ms" }));
    for number in 0..SPINNERS {
        kubelet::join(&cluster.admin, &format!("spin.{number}")).await.unwrap();
    }
    let token = admin_token(&cluster).await;
    let settings = RunSettings::parse(setup.arguments()).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    // Two threads for everything that the process does, however many this machine has.
    let process = std::thread::spawn(move || {
        let two = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        two.block_on(aerostat::run(settings, Overrides::default(), async { stopped.await.unwrap() }))
    });

    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let mut slowest = Duration::ZERO;
    let mut oldest = 0.0_f64;
    let mut first = None::<Instant>;
    wait::within(Duration::from_secs(180), async || {
        let begin = Instant::now();
        let page = ask(setup.port, Method::GET, "/metrics", Some(&token)).await;
        // The first page waits for the start.
        if first.is_some() {
            slowest = slowest.max(begin.elapsed());
        }
        if page.code == 200 {
            first = first.or_else(|| Some(Instant::now()));
        }
        let lease = leases.get_opt("cloud-controller-manager").await.unwrap();
        if let Some(renewed) = lease.and_then(|it| it.spec?.renew_time) {
            oldest = oldest.max(Timestamp::now().duration_since(renewed.0).as_secs_f64());
        }
        (killed(&page.body) >= SPINNERS as u64).then_some(())
    })
    .await
    .expect("all guests that spin are ended");
    // The process itself ends where ten seconds pass without a renewal; after fifteen another replica would lead.
    assert!(oldest < 15.0, "the Lease was {oldest} s old: no longer leading is what comes next");
    // A scrape waits for a few of the twenty turns of each guest, however slow the machine is; a process that starves answers after all.
    let took = first.expect("a page was served").elapsed();
    assert!(slowest < Duration::from_secs(5).max(took * 2 / 3), "a scrape took {slowest:?} of {took:?}");
    stop.send(()).unwrap();
    process.join().unwrap().expect("it led until it was asked to end");
}
