//! An object over which a provider crashes is set aside; a provider that crashes whatever it is asked is left alone. Both
//! come back.

use std::time::{Duration, Instant};

use cloud_provider::{Error, LoadBalancer};
use sandbox::CallLimits;
use tests::wait;

use crate::setup::{Guest, Lab, node, service};

/// Runs a call about no object that crashes, and returns what it said.
async fn crash(lab: &Lab, crime: &str) -> String {
    match lab.instances.list(Some(crime.to_owned()), 10).await.answer {
        Err(Error::Unavailable(text)) => text,
        other => panic!("{crime} was not stopped: {other:?}"),
    }
}

/// Runs five calls about no object that crash.
async fn crash_in_a_row(lab: &Lab) {
    for _ in 0..5 {
        let text = crash(lab, "panic:on purpose").await;
        assert!(text.contains("list crashed: wasm trap"), "{text}");
    }
}

fn pausing(quarantine: Duration) -> CallLimits {
    CallLimits { quarantine, ..CallLimits::default() }
}

/// A Service that is named after a crime: the one with this number.
fn numbered(crime: &str, number: usize) -> LoadBalancer {
    let mut service = service(crime);
    service.owner.uid = format!("uid-{number}");
    service
}

impl Lab {
    /// Why a Service was set aside, and for how long.
    async fn sets_aside(&self, service: &LoadBalancer) -> (Duration, String) {
        match self.load_balancers.ensure(service).await.answer {
            Err(Error::Crashed { after, reason }) => (after, reason),
            other => panic!("{} was not set aside: {other:?}", service.owner.name),
        }
    }

    /// How many calls of a function trapped.
    fn traps(&self, function: &str) -> u64 {
        self.counter("aerostat_provider_calls_total", &[("function", function), ("outcome", "trap")])
    }
}

#[tokio::test]
async fn adv_67_a_guest_that_always_traps_is_run_less_and_less() {
    let first = Duration::from_millis(50);
    let lab = Guest::hostile().setting("identity", "panic:here too").limits(pausing(first)).load().await;
    let start = Instant::now();
    let mut pauses = Vec::new();
    // A caller with one node after the other, that comes back as soon as it may, and after a crash at once.
    for nth in 0.. {
        match lab.get(&format!("panic:{nth}")).await {
            Err(Error::RetryAfter { after, .. }) => {
                pauses.push(after);
                tokio::time::sleep(after).await;
            }
            Err(Error::Crashed { .. }) => {}
            other => panic!("{other:?}"),
        }
        if pauses.len() == 6 {
            break;
        }
    }
    // 50 ms, 100 ms, … 1 s: nothing runs meanwhile, and after each of them one probe.
    assert!(start.elapsed() >= first * (1 + 2 + 4 + 8 + 16 + 20) - Duration::from_millis(100), "{pauses:?}");
    assert_eq!((lab.traps("get"), lab.traps("identity")), (5, 1 + 5));
}

#[tokio::test]
async fn meanwhile_every_call_says_when_to_come_back_and_nothing_runs() {
    let lab = Guest::hostile().load().await;
    let quarantine = lab.provider.quarantine();
    assert_eq!(*quarantine.borrow(), None);
    crash_in_a_row(&lab).await;
    let because = quarantine.borrow().clone().expect("it is in quarantine");
    assert!(
        because.starts_with("in quarantine, because its calls crash in a row; the last: list crashed"),
        "{because}"
    );
    assert_eq!(lab.gauge("aerostat_provider_quarantined"), 1.0);

    let answers = [
        lab.get("an-honest-node").await.err(),
        lab.instances.list(None, 10).await.answer.err(),
        lab.identity.identity().await.err(),
        lab.load_balancers.ensure(&service("web")).await.answer.err(),
        lab.load_balancers.delete(&service("web")).await.answer.err(),
    ];
    for answer in answers {
        let Some(Error::RetryAfter { after, reason: text }) = answer else { panic!("{answer:?}") };
        assert!(after <= Duration::from_secs(30) && after > Duration::from_secs(15), "{after:?}");
        assert_eq!(text, format!("provider hostile: {because}"));
    }
    assert_eq!(lab.counter("aerostat_provider_calls_total", &[("outcome", "ok")]), 1, "only describe, at load");
}

#[tokio::test]
async fn a_guest_that_answers_again_serves_again() {
    let lab = Guest::hostile().limits(pausing(Duration::from_millis(200))).load().await;
    let quarantine = lab.provider.quarantine();
    crash_in_a_row(&lab).await;
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
        let text = crash(&lab, "spin").await;
        assert!(text.contains("was stopped after 20ms of CPU time"), "{text}");
    }
    assert!(matches!(lab.get("an-honest-node").await, Err(Error::RetryAfter { .. })));
}

#[tokio::test]
async fn a_slow_cloud_is_no_crash() {
    let limits = CallLimits { wall: Duration::from_millis(500), ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    for _ in 0..6 {
        let text = lab.end("sleep-an-hour").await;
        assert!(text.contains("was stopped after 500ms (provider.limits.wall)"), "{text}");
    }
    lab.assert_alive().await;
}

#[tokio::test]
async fn a_call_that_returns_breaks_the_row() {
    let lab = Guest::hostile().load().await;
    for _ in 0..4 {
        for _ in 0..4 {
            crash(&lab, "panic:on purpose").await;
        }
        // An error is an answer.
        assert_eq!(lab.report("see-node").await, "[] None None");
    }
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_103_a_crashing_service_alone_is_set_aside() {
    let lab = Guest::hostile().load().await;
    let (after, told) = lab.sets_aside(&service("panic")).await;
    assert_eq!(after.as_secs(), 29, "{after:?} of 30 s");
    for part in
        ["ensure crashed: wasm trap", "Service default/panic", "after 30 s", "up to 600 s", "change the Service"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    for _ in 0..20 {
        let (after, again) = lab.sets_aside(&service("panic")).await;
        assert!(after < Duration::from_secs(30));
        assert_eq!(again, told, "one text, so that it becomes one event");
    }
    assert_eq!(lab.traps("ensure"), 1, "nothing runs before the pause is over");
    lab.load_balancers.ensure(&numbered("web", 2)).await.answer.expect("another Service is served");
    // What its `ensure` did is not held against its deletion.
    let deletion = lab.load_balancers.delete(&service("panic")).await.answer;
    assert!(matches!(deletion, Err(Error::Crashed { .. })), "{deletion:?}");
    assert_eq!(lab.traps("delete"), 1);
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_103_a_set_aside_object_is_tried_again_later() {
    let first = Duration::from_millis(20);
    let lab = Guest::hostile().limits(pausing(first)).load().await;
    for tries in 1..=4 {
        let tried = async || (lab.get("panic:again").await.is_err() && lab.traps("get") >= tries).then_some(());
        wait::until("it is tried again", tried).await;
    }
    assert_eq!(*lab.provider.quarantine().borrow(), None);
}

#[tokio::test]
async fn adv_103_fifty_crashing_services_stop_nobody_else() {
    let lab = Guest::hostile().load().await;
    for number in 0..50 {
        lab.sets_aside(&numbered("panic", number)).await;
    }
    assert_eq!(*lab.provider.quarantine().borrow(), None);
    assert_eq!((lab.traps("ensure"), lab.traps("list")), (50, 0));
    lab.assert_alive().await;
    lab.load_balancers.ensure(&numbered("web", 50)).await.answer.expect("another Service is served");
}

#[tokio::test]
async fn adv_103_a_guest_that_crashes_everywhere_is_quarantined() {
    let lab = Guest::hostile().setting("identity", "panic:here too").load().await;
    for number in 0..5 {
        lab.sets_aside(&numbered("panic", number)).await;
    }
    let because = lab.provider.quarantine().borrow().clone().expect("it is in quarantine");
    assert!(because.contains("identity crashed"), "{because}");
    assert!(matches!(lab.get("an-honest-node").await, Err(Error::RetryAfter { .. })));
}

#[tokio::test]
async fn adv_103_one_crashing_node_of_many_hides_no_other() {
    let lab = Guest::hostile().setting("get-batch", "10").load().await;
    let names = ["honest-1", "panic:one", "honest-2", "honest-3"];
    let nodes: Vec<_> = names.iter().map(|it| node(it)).collect();
    for _ in 0..3 {
        let answers = lab.instances.get(&nodes).await.answer;
        for (name, answer) in names.iter().zip(&answers) {
            match answer {
                Ok(Some(instance)) => assert_eq!(instance.name, *name),
                Err(Error::Crashed { reason, .. }) => assert!(reason.contains("node panic:one"), "{reason}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(matches!(answers[1], Err(Error::Crashed { .. })));
    }
    assert_eq!(lab.traps("get"), 2, "once with the others, once alone, and not again before the pause is over");
}
