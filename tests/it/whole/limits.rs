//! A cloud that asks for a pause gets exactly this pause.

use std::time::Duration;

use serde_json::json;
use tests::clouds::hetzner::Taking;
use tests::operator::initialized;
use tests::simulator::Fault;
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, IbmCloud, Vendor};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, addresses, service, worker};

const PAUSE: Duration = Duration::from_secs(30);

/// Cases: cloud-pause
#[tokio::test]
async fn retry_after_is_obeyed_by_all_and_ends_in_time() {
    a_pause_is_obeyed_and_ends_in_time(rig::<DigitalOcean>().await).await;
}

/// Cases: cloud-pause
#[tokio::test]
async fn the_reset_header_is_obeyed_by_all_and_ends_in_time() {
    let rig = rig::<Hetzner>().await;
    // Ten machines are ten targets, and the cloud locks a load balancer for each; what is measured is the pause.
    rig.cloud.behave(|it| it.actions = Taking::Time(Duration::ZERO));
    a_pause_is_obeyed_and_ends_in_time(rig).await;
}

/// Cases: cloud-pause
#[tokio::test]
async fn a_pause_of_ibm_cloud_is_obeyed_by_all_and_ends_in_time() {
    let rig = rig::<IbmCloud>().await;
    // Ten nodes more are a change of each load balancer, one after the other; what is measured is the pause.
    let at_once = tests::simulator::Taking::Time(Duration::ZERO);
    rig.cloud.behave(|it| (it.creation, it.change) = (at_once, at_once));
    a_pause_is_obeyed_and_ends_in_time(rig).await;
}

/// Clouds differ in how many requests all this takes.
async fn rig<V: Vendor>() -> CloudRig<V> {
    CloudRig::<V>::with(Behaviour::default()).await.limits(&json!({ "requestsPerSecond": 200 }))
}

async fn a_pause_is_obeyed_and_ends_in_time<V: Vendor>(rig: CloudRig<V>) {
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("before", &[80], &[])).await;
    rig.served("before").await;

    rig.cloud.inject(V::pause(Fault::status("*", "/**", 429), PAUSE));
    // One Service meets the refusal; all others come when the pause has begun, so that no request of theirs is under way already.
    rig.ports("before", &[80, 81]).await;
    rig.cloud.wait_for("a refusal", |requests| requests.iter().any(|it| it.status == Some(429))).await;
    for index in 0..10 {
        rig.create(&service(&format!("after-{index}"), &[80], &[])).await;
    }
    for id in 10..20 {
        rig.add_machine(id);
        kubelet::join(&rig.cluster.admin, &worker(id)).await.unwrap();
    }
    let requests = rig.cloud.requests();
    let answered = requests.iter().filter(|it| it.status == Some(429)).map(|it| it.at + it.took.unwrap());
    let refused = answered.min().unwrap();
    let within = || {
        let requests = rig.cloud.requests();
        requests.iter().filter(|it| it.at > refused && it.at < refused + PAUSE).count()
    };

    // The cloud is well again before the pause is over, as a cloud is that says when to come back.
    let nearly = (PAUSE - Duration::from_secs(2)).saturating_sub(refused.elapsed().unwrap());
    rig.never(nearly, async || (within() > 1).then(|| format!("{} requests", within()))).await;
    rig.cloud.clear_faults();
    let well = async {
        for id in 10..20 {
            initialized(&rig.cluster, &worker(id)).await;
        }
        for index in 0..10 {
            rig.served(&format!("after-{index}")).await;
        }
        wait::until("the changed Service has its second port", async || {
            rig.built().iter().any(|it| it.ports.len() == 2).then_some(())
        })
        .await;
    };
    well.await;
    assert!(within() <= 1, "{} requests while the cloud had asked for a pause", within());
    let first = rig.cloud.requests().iter().filter(|it| it.at >= refused + PAUSE).map(|it| it.at).min().unwrap();
    let late = first.duration_since(refused + PAUSE).unwrap();
    assert!(late < Duration::from_secs(5), "the first request comes {late:?} after the pause");
    assert!(!addresses(&rig.services().get("before").await.unwrap()).is_empty());
    process.stop().await;
}
