//! Versions come and go while 200 Services are being built and 100 nodes join.
//!
//! That no call is cut off is seen from both ends. The cloud answers late, and counts requests whose sender goes away before the
//! answer. And calls are numbered when they begin, and say their number when they end: a call that was dropped leaves a gap.

use std::time::Duration;

use tests::control_plane::cluster;
use tests::wait;

use super::rig::{Heard, Rig, names};

const SERVICES: usize = 200;
const NODES: usize = 100;
/// So many parts of them come one after the other.
const PARTS: usize = 4;
/// How many calls run at once by default.
const PLACES: usize = 8;
/// How long the cloud takes for a request.
const LATENCY: Duration = Duration::from_millis(30);
/// How long it may take until everything is built, or gone.
const PATIENCE: Duration = Duration::from_secs(90);

/// Cases: swap under load
#[tokio::test]
async fn versions_come_and_go_under_load_and_nothing_is_lost() {
    let mut rig = Rig::over(cluster().await, "version=1.0.0 pause=2").await;
    rig.cloud.set_latency(LATENCY);
    // The log has the end of each call, and the API server's client has no limit.
    rig.setup.flags.extend(["-v=2", "--kube-api-qps=-1", "--module-trial=10s"].map(str::to_owned));
    let (mut heard, mut process) = (Heard::default(), rig.setup.start());
    heard.says(&mut process, "started cloud-node-controller").await;
    rig.part(0).await;

    rig.comes("version=1.1.0 pause=2 sizes").await;
    rig.part(1).await;
    heard.says(&mut process, "versioned 1.1.0 serves from now on").await;
    heard.says(&mut process, "what served before is dropped").await;

    rig.comes("version=1.1.1 pause=2 sizes fragile").await;
    rig.part(2).await;
    let fragile = heard.says(&mut process, "versioned 1.1.1 serves from now on").await;
    // What it cannot read comes only now.
    rig.cloud.becomes_new();
    heard.says(&mut process, "versioned 1.1.0 serves again").await;

    rig.comes("version=1.2.0 pause=2").await;
    rig.part(3).await;
    let last = heard.says(&mut process, "versioned 1.2.0 serves from now on").await;
    heard.says(&mut process, "what served before is dropped").await;

    rig.cloud.finish_balancers();
    let names = names("web", 0..SERVICES);
    rig.settles(names.clone(), PATIENCE).await;
    let mut made = names.clone();
    made.sort();
    assert_eq!(rig.cloud.made_for(), made, "one was made for each Service, and no other");
    rig.delete(&names).await;
    rig.settles(Vec::new(), PATIENCE).await;
    assert_eq!(rig.cloud.made(), SERVICES, "and none since");

    assert_eq!(rig.cloud.cut_off(), [""; 0]);
    assert!(rig.cloud.most_at_once() <= PLACES, "{} requests at once", rig.cloud.most_at_once());
    let mut missing = Vec::new();
    let all_ended = wait::within(wait::DEADLINE, async || {
        heard.catch_up(&mut process);
        let ended = heard.calls();
        let begun = 1..=*ended.keys().last().unwrap();
        missing = begun.filter(|it| !ended.contains_key(it)).collect::<Vec<_>>();
        missing.is_empty().then_some(())
    });
    assert!(all_ended.await.is_some(), "calls that never ended: {missing:?}");
    for (line, entry) in heard.0.iter().enumerate() {
        let outcome = entry.get("outcome").and_then(|it| it.as_str()).unwrap_or("ok");
        let is_allowed =
            matches!(outcome, "ok" | "guest-error") || outcome == "trap" && (fragile..last).contains(&line);
        assert!(is_allowed, "{entry:?}");
    }
    assert!(heard.calls().values().any(|it| *it == "trap"), "it was the fragile version that was rolled back");
    process.stop().await;
}

impl Rig {
    /// A part of the Services and nodes comes.
    async fn part(&self, nth: usize) {
        let part = |of: usize| nth * of / PARTS..(nth + 1) * of / PARTS;
        let (services, nodes) = (names("web", part(SERVICES)), names("worker", part(NODES)));
        tokio::join!(self.create(&services), self.join(&nodes));
    }
}
