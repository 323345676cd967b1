//! Volumes that grow since their claims ask for more, by the volume-expander.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cloud_provider::{
    CloudVolume, Error, KnownVolume, PendingVolume, Reply, Result, VolumeDescription, VolumeExpansion, VolumeGrowth,
    VolumePage,
};
use http::Method;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::faults::{Fault, Faults};
use tests::rig::{Controller, Rig};
use tests::wait;

use crate::provisioner::{DRIVER, VolumeCloud, claims, class, cluster, event, made};
use crate::volumes::{all, create, events, volume, when};

const GIB: u64 = 1 << 30;
const SIZE_BEFORE: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";
const CONTROLLERS: &str = "--controllers=persistentvolume-binder-controller,persistentvolume-expander-controller";

fn start(cluster: &Cluster, cloud: &Arc<VolumeCloud>) -> Rig {
    Rig::start(cluster, cloud, Controller::VolumeExpander)
}

/// A cluster with the class `grows`.
async fn growing() -> Cluster {
    let cluster = cluster().await;
    class(&cluster, "grows", json!({ "allowVolumeExpansion": true })).await;
    cluster
}

/// A claim of 1Gi for a PersistentVolume.
async fn claim(cluster: &Cluster, name: &str, pv: &str) -> PersistentVolumeClaim {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "grows", "volumeName": pv,
        "resources": { "requests": { "storage": "1Gi" } },
    });
    made(claims(cluster), json!({ "metadata": { "name": name }, "spec": spec })).await
}

/// A PersistentVolume of 1Gi of that class, with a change of its spec.
fn persistent(name: &str, spec: &Value) -> Value {
    let mut pv = volume(name, DRIVER);
    pv["spec"]["storageClassName"] = json!("grows");
    for (key, value) in spec.as_object().unwrap() {
        pv["spec"][key] = value.clone();
    }
    pv
}

/// A claim that is bound to a PersistentVolume `pv-NAME`, as kube-controller-manager writes both.
async fn bound(cluster: &Cluster, name: &str, spec: Value) {
    let pv = format!("pv-{name}");
    let uid = claim(cluster, name, &pv).await.uid();
    let mut written = persistent(&pv, &spec);
    if written["spec"]["claimRef"].is_null() {
        written["spec"]["claimRef"] =
            json!({ "kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": uid });
    }
    create(cluster, &written).await.unwrap();
    status(cluster, name, json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } })).await;
}

/// Writes a part of a claim's status.
async fn status(cluster: &Cluster, name: &str, status: Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    claims(cluster).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

/// The claim asks for another size.
async fn ask(cluster: &Cluster, name: &str, size: &str) {
    let patch = Patch::Merge(json!({ "spec": { "resources": { "requests": { "storage": size } } } }));
    claims(cluster).patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// The kubelet's part.
async fn node_grows(cluster: &Cluster, name: &str, size: &str) {
    let done = json!({ "capacity": { "storage": size }, "allocatedResourceStatuses": null, "conditions": null });
    status(cluster, name, done).await;
}

/// The claim, as soon as its growth stands there.
async fn stands(cluster: &Cluster, name: &str, at: Option<&str>) -> PersistentVolumeClaim {
    let is = |claim: &PersistentVolumeClaim| {
        json!(claim.status)["allocatedResourceStatuses"]["storage"] == at.map_or(Value::Null, |it| json!(it))
    };
    wait::until(&format!("the growth of {name} stands at {at:?}"), async || {
        claims(cluster).get(name).await.ok().filter(|it| is(it))
    })
    .await
}

/// The kinds of conditions that hold of a claim.
fn conditions(claim: &PersistentVolumeClaim) -> Vec<String> {
    let all = claim.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let mut kinds: Vec<_> = all.filter(|it| it.status == "True").map(|it| it.type_.clone()).collect();
    kinds.sort_unstable();
    kinds
}

fn size_of(pv: &PersistentVolume) -> Value {
    json!(pv.spec)["capacity"]["storage"].clone()
}

/// Handles and sizes that the cloud was asked for.
fn asked(cloud: &VolumeCloud) -> Vec<(String, u64)> {
    cloud.script.expand_volume.calls().into_iter().map(|(it, bytes)| (it.handle, bytes / GIB)).collect()
}

type ExpandAnswer = Reply<Result<VolumeExpansion>>;

fn ready(bytes: u64, node_must_grow: bool) -> ExpandAnswer {
    Ok(VolumeExpansion::Ready { bytes, node_must_grow }).into()
}

fn pending(memo: Option<&str>) -> ExpandAnswer {
    let after = Duration::from_millis(100);
    Ok(VolumeExpansion::Pending(PendingVolume { memo: memo.map(str::to_owned), after, reason: "busy".to_owned() }))
        .into()
}

/// Until it is set, the cloud is at work.
fn at_work(cloud: &VolumeCloud, memo: Option<&'static str>) -> Arc<AtomicBool> {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = is_done.clone();
    cloud.script.expand_volume.answers(move |(_, bytes)| match done.load(Ordering::SeqCst) {
        true => ready(bytes, true),
        false => pending(memo),
    });
    is_done
}

/// With kube-controller-manager's binder and expander. The kubelet is the test's.
///
/// Cases: csi 69
#[tokio::test]
async fn a_claims_volume_grows_and_its_node_ends_it() {
    let cluster = growing().await;
    let flags = ["--leader-elect=false", CONTROLLERS].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).unwrap();
    let cloud = VolumeCloud::new();
    let is_done = at_work(&cloud, Some("op-1"));
    let _rig = start(&cluster, &cloud);
    create(&cluster, &persistent("pv-1", &json!({}))).await.unwrap();
    claim(&cluster, "data", "pv-1").await;
    wait::until("the claim is bound", async || {
        claims(&cluster).get("data").await.ok().filter(|it| json!(it.status)["phase"] == "Bound")
    })
    .await;
    assert_eq!(cloud.script.expand_volume.asked(), 0, "it asks for no more than it has");

    ask(&cluster, "data", "2560Mi").await;
    let at_work = stands(&cluster, "data", Some("ControllerResizeInProgress")).await;
    assert_eq!(json!(at_work.status)["allocatedResources"], json!({ "storage": "2560Mi" }));
    assert_eq!(conditions(&at_work), ["Resizing"]);
    let told = event(&cluster, "data", "Resizing").await;
    assert_eq!(told.message.as_deref(), Some("External resizer is resizing volume pv-1"));
    event(&cluster, "data", "ExternalExpanding").await;
    let memo = |it: &PersistentVolume| it.annotations().get("aerostat.dev/volume-expansion-memo").cloned();
    let kept = when(&cluster, "pv-1", |it| memo(it).is_some()).await;
    assert_eq!((memo(&kept).as_deref(), size_of(&kept)), (Some("op-1"), json!("1Gi")), "the cloud has not said it");
    wait::until("the memo is told", async || {
        let calls = cloud.script.expand_volume.calls();
        calls.iter().any(|(it, bytes)| it.memo.as_deref() == Some("op-1") && *bytes == 3 * GIB).then_some(())
    })
    .await;

    is_done.store(true, Ordering::SeqCst);
    let waits = stands(&cluster, "data", Some("NodeResizePending")).await;
    assert_eq!(json!(waits.status)["capacity"], json!({ "storage": "1Gi" }), "the filesystem is as large as before");
    assert_eq!(conditions(&waits), ["FileSystemResizePending", "Resizing"]);
    let told = event(&cluster, "data", "FileSystemResizeRequired").await;
    assert_eq!(told.message.as_deref(), Some("Require file system resize of volume on node"));
    let grown = all(&cluster).get("pv-1").await.unwrap();
    assert_eq!((size_of(&grown), memo(&grown)), (json!("3Gi"), None));
    assert_eq!(grown.annotations().get(SIZE_BEFORE).map(String::as_str), Some("1Gi"));

    node_grows(&cluster, "data", "3Gi").await;
    when(&cluster, "pv-1", |it| !it.annotations().contains_key(SIZE_BEFORE)).await;
    let calls = cloud.script.expand_volume.asked();
    assert!(asked(&cloud).iter().all(|it| *it == ("pv-1".to_owned(), 3)));
    ask(&cluster, "data", "3Gi").await;
    assert_eq!(cloud.script.expand_volume.asked(), calls, "it has that much");
    cluster.control_plane.kill_controller_manager().await.unwrap();
}

/// The cloud is larger already.
///
/// Cases: csi 69, csi 71
#[tokio::test]
async fn a_block_device_has_the_clouds_size_without_its_node() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    let answer = |(volume, bytes): (KnownVolume, u64)| ready(bytes.max(7 * GIB), !volume.is_block);
    cloud.script.expand_volume.answers(answer);
    bound(&cluster, "data", json!({ "volumeMode": "Block" })).await;
    ask(&cluster, "data", "2Gi").await;
    let _rig = start(&cluster, &cloud);
    event(&cluster, "data", "VolumeResizeSuccessful").await;
    let grown = claims(&cluster).get("data").await.unwrap();
    assert_eq!(json!(grown.status)["capacity"], json!({ "storage": "7Gi" }));
    assert_eq!(json!(grown.status)["allocatedResourceStatuses"]["storage"], Value::Null);
    assert_eq!(conditions(&grown), [""; 0]);
    assert_eq!(grown.annotations()["volume.kubernetes.io/node-expansion-not-required"], "true");
    let pv = all(&cluster).get("pv-data").await.unwrap();
    assert_eq!((size_of(&pv), pv.annotations().get(SIZE_BEFORE)), (json!("7Gi"), None));
    ask(&cluster, "data", "8Gi").await;
    wait::until("it is asked for more", async || (asked(&cloud).len() == 2).then_some(())).await;
    assert_eq!(asked(&cloud), [("pv-data".to_owned(), 2), ("pv-data".to_owned(), 8)]);
}

/// Cases: csi 70
#[tokio::test]
async fn a_size_that_is_infeasible_may_be_lowered() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    cloud.script.expand_volume.answers(|(_, bytes)| match bytes > 10 * GIB {
        true => Err(Error::Invalid(format!("no such size (request r-1): {}", "x".repeat(5_000)))).into(),
        false => ready(bytes, true),
    });
    let rig = start(&cluster, &cloud);
    bound(&cluster, "data", json!({})).await;
    ask(&cluster, "data", "50Gi").await;
    let refused = stands(&cluster, "data", Some("ControllerResizeInfeasible")).await;
    assert_eq!(json!(refused.status)["allocatedResources"], json!({ "storage": "50Gi" }));
    assert_eq!(conditions(&refused), ["ControllerResizeError", "Resizing"]);
    let said = refused.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let said = said.filter_map(|it| it.message.clone()).max_by_key(String::len).unwrap();
    assert!(said.contains("no such size") && said.len() <= 1_024, "{said}");
    let told = event(&cluster, "data", "VolumeResizeFailed").await;
    assert!(told.message.unwrap().contains("no such size"));

    rig.stop().ended().await;
    let _rig = start(&cluster, &cloud);
    bound(&cluster, "other", json!({})).await;
    ask(&cluster, "other", "2Gi").await;
    stands(&cluster, "other", Some("NodeResizePending")).await;
    assert_eq!(asked(&cloud).len(), 2, "it is asked for once, and rests after a restart");

    ask(&cluster, "data", "200Gi").await;
    wait::until("more than the cloud has is refused", async || {
        let claim = claims(&cluster).get("data").await.ok()?;
        (json!(claim.status)["allocatedResources"]["storage"] == "200Gi").then_some(())
    })
    .await;
    stands(&cluster, "data", Some("ControllerResizeInfeasible")).await;
    assert_eq!(asked(&cloud).len(), 2, "and costs no call");
    ask(&cluster, "data", "5Gi").await;
    let recovered = stands(&cluster, "data", Some("NodeResizePending")).await;
    assert_eq!(json!(recovered.status)["allocatedResources"], json!({ "storage": "5Gi" }));
    assert_eq!(conditions(&recovered), ["FileSystemResizePending", "Resizing"]);
    assert_eq!(asked(&cloud).last(), Some(&("pv-data".to_owned(), 5)));
}

/// The status says of a used-up quota that it is under way; once it was refused, the claim may ask for less.
///
/// Cases: csi 70
#[tokio::test]
async fn a_used_up_quota_is_told_and_a_smaller_size_is_tried() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    cloud.script.expand_volume.answers(|(_, bytes)| match bytes > 10 * GIB {
        true => Err(Error::Denied("the quota is used up".to_owned())).into(),
        false => ready(bytes, true),
    });
    let _rig = start(&cluster, &cloud);
    bound(&cluster, "data", json!({})).await;
    ask(&cluster, "data", "50Gi").await;
    event(&cluster, "data", "VolumeResizeFailed").await;
    let told = wait::until("the claim says why", async || {
        let claim = claims(&cluster).get("data").await.ok()?;
        conditions(&claim).contains(&"ControllerResizeError".to_owned()).then_some(claim)
    })
    .await;
    assert_eq!(json!(told.status)["allocatedResourceStatuses"]["storage"], "ControllerResizeInProgress");
    ask(&cluster, "data", "5Gi").await;
    stands(&cluster, "data", Some("NodeResizePending")).await;
    assert_eq!(asked(&cloud).last(), Some(&("pv-data".to_owned(), 5)));
}

/// A write of each step fails once, and the process ends while the cloud is at work.
///
/// Cases: csi 72
#[tokio::test]
async fn a_growth_that_was_interrupted_comes_to_its_size() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    let is_done = at_work(&cloud, None);
    let rig = start(&cluster, &cloud);
    bound(&cluster, "data", json!({})).await;
    ask(&cluster, "data", "3Gi").await;
    stands(&cluster, "data", Some("ControllerResizeInProgress")).await;
    wait::until("the cloud is asked", async || (!asked(&cloud).is_empty()).then_some(())).await;
    rig.stop().ended().await;
    ask(&cluster, "data", "9Gi").await;
    is_done.store(true, Ordering::SeqCst);
    let faults = Faults::new();
    for path in ["/persistentvolumes/pv-data", "/persistentvolumeclaims/data/status"] {
        let fault = Fault::status(Method::PATCH, path, 500, "InternalError", "the API server fails once");
        faults.set(fault.times(1));
    }
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, Controller::VolumeExpander);
    let waits = stands(&cluster, "data", Some("NodeResizePending")).await;
    assert_eq!(json!(waits.status)["allocatedResources"], json!({ "storage": "3Gi" }), "what was begun comes first");
    assert!(asked(&cloud).iter().all(|it| *it == ("pv-data".to_owned(), 3)), "{:?}", asked(&cloud));
    assert_eq!(faults.answered().len(), 2);
    assert_eq!(size_of(&all(&cluster).get("pv-data").await.unwrap()), "3Gi");

    node_grows(&cluster, "data", "3Gi").await;
    wait::until("it goes on to what is asked for now", async || {
        (asked(&cloud).last() == Some(&("pv-data".to_owned(), 9))).then_some(())
    })
    .await;
    stands(&cluster, "data", Some("NodeResizePending")).await;
    assert_eq!(size_of(&all(&cluster).get("pv-data").await.unwrap()), "9Gi");
}

/// Its author changes it as often as he likes. What was begun is carried on to its size, and the last size is tried once it is time.
#[tokio::test]
async fn a_claim_that_changes_all_the_time_costs_few_calls() {
    const TIMES: u64 = 20;
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    cloud.script.expand_volume.answers(|(volume, _)| match volume.handle == "pv-slow" {
        true => {
            let after = Duration::from_secs(300);
            Ok(VolumeExpansion::Pending(PendingVolume { memo: None, after, reason: "busy".to_owned() })).into()
        }
        false => Err(Error::Invalid("no such size".to_owned())).into(),
    });
    for name in ["slow", "odd"] {
        bound(&cluster, name, json!({})).await;
        ask(&cluster, name, "2Gi").await;
    }
    let _rig = start(&cluster, &cloud);
    stands(&cluster, "slow", Some("ControllerResizeInProgress")).await;
    stands(&cluster, "odd", Some("ControllerResizeInfeasible")).await;
    let each = |handle: &str| asked(&cloud).iter().filter(|(it, _)| it == handle).count();
    wait::until("the cloud is at work", async || (each("pv-slow") == 1).then_some(())).await;
    let begin = std::time::Instant::now();
    for nth in 1..=TIMES {
        for name in ["slow", "odd"] {
            ask(&cluster, name, &format!("{}Gi", 10 + nth)).await;
        }
    }
    let last = ("pv-odd".to_owned(), 10 + TIMES);
    wait::until("the last size is tried", async || (asked(&cloud).contains(&last)).then_some(())).await;
    let most = 3 + usize::try_from(begin.elapsed().as_secs() / 5).unwrap();
    assert!(each("pv-odd") <= most, "{:?}", asked(&cloud));
    assert_eq!(each("pv-slow"), 1, "{:?}", asked(&cloud));
}

#[tokio::test]
async fn volumes_of_others_do_not_grow() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    let denied = || Error::Denied("volume pv-foreign has the mark of another cluster".to_owned());
    cloud.script.expand_volume.answers(move |(volume, bytes)| match volume.handle == "pv-foreign" {
        true => Err(denied()).into(),
        false => ready(bytes, true),
    });
    let other = json!({ "driver": "csi.other.example", "volumeHandle": "vol-1" });
    let claimed = json!({ "kind": "PersistentVolumeClaim", "namespace": "default", "name": "claimed", "uid": "other" });
    bound(&cluster, "driver", json!({ "csi": other })).await;
    bound(&cluster, "claimed", json!({ "claimRef": claimed })).await;
    bound(&cluster, "foreign", json!({})).await;
    bound(&cluster, "ours", json!({})).await;
    for name in ["driver", "claimed", "foreign", "ours"] {
        ask(&cluster, name, "2Gi").await;
    }
    let _rig = start(&cluster, &cloud);
    stands(&cluster, "ours", Some("NodeResizePending")).await;
    let told = event(&cluster, "foreign", "VolumeResizeFailed").await;
    assert!(told.message.unwrap().contains("another cluster"));
    let mut handles: Vec<_> = asked(&cloud).into_iter().map(|(handle, _)| handle).collect();
    handles.sort_unstable();
    assert_eq!(handles, ["pv-foreign", "pv-ours"]);
    for name in ["driver", "claimed"] {
        let claim = claims(&cluster).get(name).await.unwrap();
        assert_eq!(json!(claim.status)["allocatedResources"], Value::Null, "{name}");
        assert!(events(&cluster, name).await.is_empty(), "{name}");
    }
    assert_eq!(size_of(&all(&cluster).get("pv-foreign").await.unwrap()), "1Gi");
}

/// Cases: csi 60
#[tokio::test]
async fn many_volumes_that_grow_are_followed_by_one_list() {
    const COUNT: usize = 8;
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DRIVER.to_owned(),
        smallest_bytes: GIB,
        step_bytes: GIB,
        largest_bytes: 100 * GIB,
        growth: VolumeGrowth::Online,
        list_page_size: 500,
        ..VolumeDescription::default()
    });
    let is_done = at_work(&cloud, None);
    let names: Vec<_> = (0..COUNT).map(|it| format!("data-{it}")).collect();
    let (handles, done) = (names.clone(), is_done.clone());
    cloud.script.list_volumes.answers(move |_| {
        let bytes = if done.load(Ordering::SeqCst) { 2 * GIB } else { GIB };
        let volume = |name: &String| CloudVolume { handle: format!("pv-{name}"), bytes, ..CloudVolume::default() };
        Ok(VolumePage { volumes: handles.iter().map(volume).collect(), ..VolumePage::default() }).into()
    });
    for name in &names {
        bound(&cluster, name, json!({})).await;
        ask(&cluster, name, "2Gi").await;
    }
    let _rig = start(&cluster, &cloud);
    for name in &names {
        stands(&cluster, name, Some("ControllerResizeInProgress")).await;
    }
    let lists = cloud.script.list_volumes.asked();
    wait::until("the list is read again", async || (cloud.script.list_volumes.asked() >= lists + 2).then_some(()))
        .await;
    let each = |handle: &str| asked(&cloud).iter().filter(|(it, _)| it == handle).count();
    let once = names.iter().filter(|it| each(&format!("pv-{it}")) == 1).count();
    assert!(once >= COUNT - 1, "one of them was alone at first: {:?}", asked(&cloud));
    is_done.store(true, Ordering::SeqCst);
    for name in &names {
        stands(&cluster, name, Some("NodeResizePending")).await;
    }
}

/// Cases: csi 70
#[tokio::test]
async fn a_volume_that_grows_alone_waits_until_it_is_free() {
    let cluster = growing().await;
    let cloud = VolumeCloud::new();
    let is_free = Arc::new(AtomicBool::new(false));
    let free = is_free.clone();
    cloud.script.expand_volume.answers(move |(_, bytes)| match free.load(Ordering::SeqCst) {
        true => ready(bytes, true),
        false => Ok(VolumeExpansion::InUse(vec!["n1".to_owned()])).into(),
    });
    let _rig = start(&cluster, &cloud);
    bound(&cluster, "data", json!({})).await;
    ask(&cluster, "data", "2Gi").await;
    let told = event(&cluster, "data", "VolumeResizeFailed").await;
    assert!(told.message.unwrap().contains("is attached to n1"));
    let waits = claims(&cluster).get("data").await.unwrap();
    assert_eq!(json!(waits.status)["allocatedResourceStatuses"]["storage"], "ControllerResizeInProgress");
    is_free.store(true, Ordering::SeqCst);
    stands(&cluster, "data", Some("NodeResizePending")).await;
}
