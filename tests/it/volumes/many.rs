//! Many claims at once, and what they cost.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cloud_provider::{CloudVolume, PendingVolume, VolumeCreation};
use kube::api::ListParams;
use serde_json::json;
use tests::wait;

use crate::provisioner::{VolumeCloud, claim, class, cluster, given, no_intent, start};
use crate::volumes::all;

const COUNT: usize = 100;
/// Each volume takes so many calls.
const CALLS: usize = 3;
/// So many writes: the intent, the PersistentVolume, and the end of the intent.
const WRITES: usize = 3;
/// So many claims are worked on side by side: the others of a turn have had theirs.
const WORKERS: usize = 20;
/// Upstream's client sends so many requests a second at most.
const CEILING: usize = 5;

/// As many as in the time of a test: `make bench ROW=volumes` makes a thousand.
///
/// Cases: csi 34
#[tokio::test]
async fn many_claims_at_once_take_turns_and_three_writes_each() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    for index in 0..COUNT {
        claim(&cluster, &format!("data-{index}"), "fast", given()).await;
    }
    let cloud = VolumeCloud::new();
    let asked: Mutex<HashMap<String, usize>> = Mutex::default();
    cloud.script.create_volume.answers(move |(desired, _)| {
        let mut asked = asked.lock().unwrap();
        let calls = asked.entry(desired.name.clone()).or_default();
        *calls += 1;
        let pending = PendingVolume { memo: None, after: Duration::ZERO, reason: "busy".to_owned() };
        let handle = format!("handle-of-{}", desired.name);
        let made = CloudVolume {
            handle,
            name: desired.name,
            bytes: desired.bytes,
            places: desired.places,
            ..CloudVolume::default()
        };
        Ok(if *calls < CALLS { VolumeCreation::Pending(pending) } else { VolumeCreation::Ready(Box::new(made)) }).into()
    });
    let (audit, begun) = (cluster.audit().from_now().unwrap(), Instant::now());
    let rig = start(&cluster, &cloud);
    wait::until("each claim has its volume", async || {
        let found = all(&cluster).list(&ListParams::default()).await.ok()?.items;
        (found.len() == COUNT).then_some(())
    })
    .await;
    no_intent(&cluster).await;
    let took = begun.elapsed();
    rig.stop().ended().await;
    audit.settle(&cluster.admin).await.unwrap();
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for request in audit.writes().unwrap() {
        *writes.entry(format!("{} {}", request.verb, request.resource())).or_default() += 1;
    }
    let expected =
        ["create configmaps", "create persistentvolumes", "delete configmaps"].map(|it| (it.to_owned(), COUNT));
    assert_eq!(writes, BTreeMap::from(expected));
    let ceiling = Duration::from_secs((COUNT * WRITES / CEILING) as u64);
    assert!(took < ceiling, "{took:?}: upstream's client would take {ceiling:?}");

    let order = cloud.made();
    assert_eq!(order.len(), COUNT * CALLS);
    let mut calls: HashMap<&str, Vec<usize>> = HashMap::new();
    order.iter().enumerate().for_each(|(at, name)| calls.entry(name).or_default().push(at));
    let first_last = calls.values().map(|it| it[CALLS - 1]).min().unwrap();
    let not_begun = calls.values().filter(|it| it[0] > first_last).count();
    assert!(not_begun < WORKERS, "{not_begun} had not their first call when one came to its last");
}
