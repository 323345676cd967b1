//! A provider that crashes again and again is left alone, and comes back.

use std::time::{Duration, Instant};

use cloud_provider::Error;
use sandbox::CallLimits;
use tests::wait;

use crate::setup::{Guest, Lab, service};

/// Runs five calls that crash.
async fn crash(lab: &Lab) {
    for _ in 0..5 {
        let text = lab.end("panic:on purpose").await;
        assert!(text.contains("get crashed: wasm trap"), "{text}");
    }
}

fn pausing(quarantine: Duration) -> CallLimits {
    CallLimits { quarantine, ..CallLimits::default() }
}

#[tokio::test]
async fn adv_67_a_guest_that_always_traps_is_run_less_and_less() {
    let first = Duration::from_millis(50);
    let lab = Guest::hostile().limits(pausing(first)).load().await;
    let start = Instant::now();
    let mut pauses = Vec::new();
    // A caller that comes back as soon as it may, and after a crash at once.
    while pauses.len() < 6 {
        match lab.get("panic:on purpose").await {
            Err(Error::RetryAfter { after, .. }) => {
                pauses.push(after);
                tokio::time::sleep(after).await;
            }
            Err(Error::Unavailable(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    // 50 ms, 100 ms, … 1 s: nothing runs meanwhile, and after each of them one probe and five calls.
    assert!(start.elapsed() >= first * (1 + 2 + 4 + 8 + 16 + 20) - Duration::from_millis(100), "{pauses:?}");
    assert_eq!(lab.calls("trap"), 5 + 5 * 5);
    assert_eq!(lab.counter("aerostat_provider_calls_total", &[("function", "describe"), ("outcome", "ok")]), 1 + 5);
}

#[tokio::test]
async fn meanwhile_every_call_says_when_to_come_back_and_nothing_runs() {
    let lab = Guest::hostile().load().await;
    let quarantine = lab.provider.quarantine();
    assert_eq!(*quarantine.borrow(), None);
    crash(&lab).await;
    let because = quarantine.borrow().clone().expect("it is in quarantine");
    assert!(because.starts_with("in quarantine, because its calls crash in a row; the last: get crashed"), "{because}");
    assert_eq!(lab.gauge("aerostat_provider_quarantined"), 1.0);

    let answers = [
        lab.get("an-honest-node").await.err(),
        lab.instances.list(None, 10).await.answer.err(),
        lab.identity.identity().await.err(),
        lab.load_balancers.ensure(&service("web")).await.answer.err(),
        lab.load_balancers.delete(&service("web")).await.answer.err(),
    ];
    for answer in answers {
        let Some(Error::RetryAfter { after, because: text }) = answer else { panic!("{answer:?}") };
        assert!(after <= Duration::from_secs(30) && after > Duration::from_secs(15), "{after:?}");
        assert_eq!(text, format!("provider hostile: {because}"));
    }
    assert_eq!(lab.counter("aerostat_provider_calls_total", &[("outcome", "ok")]), 1, "only describe, at load");
}

#[tokio::test]
async fn a_guest_that_answers_again_serves_again() {
    let lab = Guest::hostile().limits(pausing(Duration::from_millis(200))).load().await;
    let quarantine = lab.provider.quarantine();
    crash(&lab).await;
    wait::until("the provider serves again", async || match lab.get("an-honest-node").await {
        Ok(found) => found,
        Err(Error::RetryAfter { .. }) => None,
        Err(other) => panic!("{other}"),
    })
    .await;
    assert_eq!((quarantine.borrow().clone(), lab.gauge("aerostat_provider_quarantined")), (None, 0.0));
    assert_eq!(lab.counter("aerostat_provider_calls_total", &[("function", "describe")]), 2, "one probe");
    lab.end("panic:once more").await;
    lab.assert_alive().await;
}

#[tokio::test]
async fn a_spinning_guest_is_left_alone_too() {
    let limits = CallLimits { cpu: Duration::from_millis(20), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    for _ in 0..5 {
        let text = lab.end("spin").await;
        assert!(text.contains("was stopped after 20ms of CPU time"), "{text}");
    }
    assert!(matches!(lab.get("an-honest-node").await, Err(Error::RetryAfter { .. })));
}

#[tokio::test]
async fn a_slow_cloud_is_no_crash() {
    let limits = CallLimits { wall: Duration::from_millis(50), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    for _ in 0..6 {
        let text = lab.end("sleep-an-hour").await;
        assert!(text.contains("was stopped after 50ms (provider.limits.wall)"), "{text}");
    }
    lab.assert_alive().await;
}

#[tokio::test]
async fn a_call_that_returns_breaks_the_row() {
    let lab = Guest::hostile().load().await;
    for _ in 0..4 {
        for _ in 0..4 {
            lab.end("panic:on purpose").await;
        }
        // An error is an answer.
        assert_eq!(lab.report("see-node").await, "[] None None");
    }
    lab.assert_alive().await;
}
