//! Several replicas that manage volumes: the one that leads asks the cloud, and none that has lost its Lease.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tests::clouds::digitalocean::{ActionTime, VolumeChange};
use tests::csi_sidecars::VolumeStage;
use tests::operator::says;
use tests::wait;

use crate::provisioner::{claims, made};
use crate::volumes::all;

const LEASE: &str = "cloud-controller-manager";
const NODE: &str = "csi-worker-1";
const DRIVER: &str = "dobs.csi.digitalocean.com";
/// Sooner than upstream's fifteen seconds.
const FAST: [&str; 3] =
    ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"];

/// A claim of 1 GiB, once it has its volume. Returns the name of that.
async fn bound(stage: &VolumeStage, name: &str) -> String {
    let claims: Api<PersistentVolumeClaim> = claims(&stage.cluster);
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "csi-now", "resources": { "requests": { "storage": "1Gi" } },
    });
    let volume = format!(
        "pvc-{}",
        made(claims.clone(), json!({ "metadata": { "name": name }, "spec": spec })).await.uid().unwrap()
    );
    wait::until_after(Duration::from_secs(15), &format!("claim {name} is bound"), async || {
        (claims.get(name).await.ok()?.status?.phase? == "Bound").then_some(())
    })
    .await;
    volume
}

/// The requests that write, and how many there were in all.
fn asked(stage: &VolumeStage) -> (usize, usize) {
    let all = stage.cloud.requests();
    (all.iter().filter(|it| it.method.as_str() != "GET").count(), all.len())
}

/// An attachment and a growth are under way, so that the cloud is asked about both every two seconds.
///
/// Cases: csi 75
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_has_lost_its_lease_asks_about_no_volume() {
    let stage = VolumeStage::new().await;
    let [first, second] = [(); 2].map(|()| stage.replica().flags(&FAST));
    let mut leader = first.start();
    leader.says("started volume-expander").await;
    let mut standby = second.start();
    standby.says("standing by").await;
    let (moves, grows) = (bound(&stage, "moves").await, bound(&stage, "grows").await);
    assert_eq!(asked(&stage).0, 2, "one of them makes volumes");
    stage.cloud.volumes().behave(|it| it.action = ActionTime::Stuck);
    let attachments: Api<VolumeAttachment> = Api::all(stage.cluster.admin.clone());
    let spec = json!({ "attacher": DRIVER, "nodeName": NODE, "source": { "persistentVolumeName": moves } });
    made(attachments.clone(), json!({ "metadata": { "name": "csi-moves" }, "spec": spec })).await;
    let more = Patch::Merge(json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } }));
    claims(&stage.cluster).patch("grows", &PatchParams::default(), &more).await.unwrap();
    wait::until("both are begun", async || (stage.cloud.volumes().actions().len() == 2).then_some(())).await;
    let begun = asked(&stage);
    wait::until("both are asked about", async || (asked(&stage).1 > begun.1 + 4).then_some(())).await;
    assert_eq!(asked(&stage).0, 4, "one of them attaches and enlarges");
    standby.stop().await;

    let leases: Api<Lease> = Api::namespaced(stage.cluster.admin.clone(), "kube-system");
    let theft = json!({ "spec": { "holderIdentity": "thief", "renewTime": "2030-01-01T00:00:00.000000Z" } });
    leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(theft)).await.unwrap();
    says(&leader.fails().await, &["leaderelection lost", "thief holds lease"]);
    let left = asked(&stage);
    let more = wait::within(Duration::from_secs(6), async || (asked(&stage) != left).then_some(()));
    assert!(more.await.is_none(), "it is asked every two seconds else");

    // The next one carries on with what was begun, and begins nothing again.
    let mut next = second.start();
    next.says("started volume-expander").await;
    stage.cloud.volumes().behave(|it| it.action = ActionTime::Takes(Duration::ZERO));
    wait::until("the volume is attached", async || {
        attachments.get("csi-moves").await.ok()?.status.filter(|it| it.attached).map(drop)
    })
    .await;
    wait::until("the volume has grown", async || {
        let capacity = all(&stage.cluster).get(&grows).await.ok()?.spec?.capacity?;
        (capacity.get("storage")?.0 == "2Gi").then_some(())
    })
    .await;
    let actions: Vec<_> = stage.cloud.volumes().actions().iter().map(|it| it.change).collect();
    assert!(matches!(
        actions[..],
        [VolumeChange::Attach(_), VolumeChange::Resize(2)] | [VolumeChange::Resize(2), VolumeChange::Attach(_)]
    ));
    assert_eq!((asked(&stage).0, stage.cloud.volumes().all().len()), (4, 2), "nothing twice");
    next.stop().await;
    stage.end().await;
}
