//! Volumes at the machines of nodes, by the volume-attacher.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloud_provider::{
    CloudVolume, Error, PendingVolume, Reply, VolumeAttachment as Attachment, VolumeDescription, VolumeDetachment,
    VolumePage,
};
use controllers::volume_attacher;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, from_value, json};
use tests::control_plane::Cluster;
use tests::rig::Rig;
use tests::wait;

use crate::provisioner::{DRIVER, VolumeCloud, cluster, event, made, node};
use crate::volumes::{all, create, events, volume};

pub(crate) const FINALIZER: &str = "external-attacher/csi-fakecloud-example";
pub(crate) const NODE_ID: &str = "csi.alpha.kubernetes.io/node-id";
pub(crate) const CONTROLLERS: &str = "--controllers=persistentvolume-binder-controller,persistentvolume-attach-detach-controller,\
                           serviceaccount-controller";

fn start(cluster: &Cluster, cloud: &Arc<VolumeCloud>) -> Rig {
    Rig::start(cluster, cloud, volume_attacher::Options::default())
}

/// Options by which a request whose answer was lost may arrive for so long.
fn arriving(arrival: Duration) -> volume_attacher::Options {
    volume_attacher::Options { arrival, ..volume_attacher::Options::default() }
}

pub(crate) fn attachments(cluster: &Cluster) -> Api<VolumeAttachment> {
    Api::all(cluster.admin.clone())
}

/// An attachment of a volume, as kube-controller-manager makes it, but for its name.
pub(crate) async fn attach(cluster: &Cluster, volume: &str, node: &str) {
    attach_as(cluster, &format!("csi-{volume}"), volume, node).await;
}

async fn attach_as(cluster: &Cluster, name: &str, volume: &str, node: &str) {
    let spec = json!({ "attacher": DRIVER, "nodeName": node, "source": { "persistentVolumeName": volume } });
    made(attachments(cluster), json!({ "metadata": { "name": name }, "spec": spec })).await;
}

/// A volume of the driver, whose handle is its name.
pub(crate) async fn persistent(cluster: &Cluster, name: &str) {
    create(cluster, &volume(name, DRIVER)).await.unwrap();
}

/// The attachment of a volume, as soon as it is like this.
pub(crate) async fn seen(cluster: &Cluster, volume: &str, is: impl Fn(&VolumeAttachment) -> bool) -> VolumeAttachment {
    wait::until(&format!("the attachment of {volume} is as it should be"), async || {
        let found = attachments(cluster).list(&ListParams::default()).await.ok()?.items;
        let of_it = |it: &VolumeAttachment| it.spec.source.persistent_volume_name.as_deref() == Some(volume);
        found.into_iter().find(|it| of_it(it) && is(it))
    })
    .await
}

pub(crate) fn is_attached(it: &VolumeAttachment) -> bool {
    it.status.as_ref().is_some_and(|it| it.attached)
}

pub(crate) async fn gone(cluster: &Cluster, volume: &str) {
    wait::until(&format!("no attachment of {volume} is left"), async || {
        let found = attachments(cluster).list(&ListParams::default()).await.ok()?.items;
        let of_it = |it: &VolumeAttachment| it.spec.source.persistent_volume_name.as_deref() == Some(volume);
        (!found.iter().any(of_it)).then_some(())
    })
    .await;
}

/// The event that says of a claim, or of a volume without one, that it is not attached for this cause, as soon as it is there.
pub(crate) async fn told(cluster: &Cluster, name: &str, cause: &str) -> String {
    wait::until(&format!("it is told on {name} that {cause}"), async || {
        let all = events(cluster, name).await.into_iter();
        let failed = all.filter(|it| it.reason.as_deref() == Some("VolumeFailedAttach"));
        failed.filter_map(|it| it.message).find(|it| it.starts_with(cause))
    })
    .await
}

/// Handles and node ids of the volumes that were to be detached.
pub(crate) fn detached(cloud: &VolumeCloud) -> Vec<(String, String)> {
    cloud.script.detach_volume.calls().into_iter().map(|(it, node)| (it.handle, node)).collect()
}

fn pending(memo: Option<&str>, after: Duration) -> Attachment {
    Attachment::Pending(PendingVolume { memo: memo.map(str::to_owned), after, reason: "busy".to_owned() })
}

/// A pod on a node, with the claim `data`. It is made again until its namespace has its ServiceAccount.
pub(crate) async fn pod(cluster: &Cluster, name: &str, node: &str) {
    let pods: Api<Pod> = Api::namespaced(cluster.admin.clone(), "default");
    let pod: Pod = from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "nodeName": node,
            "containers": [{ "name": "main", "image": "none" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
        },
    }))
    .unwrap();
    wait::until(&format!("pod {name} is made"), async || pods.create(&PostParams::default(), &pod).await.ok()).await;
}

/// Waits until a node shows that this volume alone is attached: before that, kube-controller-manager takes none away for six minutes.
pub(crate) async fn node_shows(cluster: &Cluster, node: &str, driver: &str, handle: &str) {
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    let name = format!("kubernetes.io/csi/{driver}^{handle}");
    wait::until(&format!("node {node} shows {name}"), async || {
        let attached = nodes.get(node).await.ok()?.status?.volumes_attached?;
        attached.iter().map(|it| it.name.as_str()).eq([name.as_str()]).then_some(())
    })
    .await;
}

/// The attachment goes while nobody looks, and everything else of it, too.
///
/// Cases: csi 49, csi 51, csi 52
#[tokio::test]
async fn an_attachment_is_undone_without_volume_and_node() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.attach_volume.answers(|_| Ok(pending(Some("op-1"), Duration::from_secs(300))).into());
    let rig = start(&cluster, &cloud);
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    let begun = seen(&cluster, "pv-1", |it| it.annotations().contains_key("aerostat.dev/volume-attach-memo")).await;
    assert_eq!(begun.annotations()["aerostat.dev/volume-attach-memo"], "op-1");
    assert_eq!((begun.finalizers(), is_attached(&begun)), (&[FINALIZER.to_owned()][..], false));
    rig.stop().ended().await;
    attachments(&cluster).delete("csi-pv-1", &DeleteParams::default()).await.unwrap();
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    all(&cluster).patch("pv-1", &PatchParams::default(), &bare).await.unwrap();
    all(&cluster).delete("pv-1", &DeleteParams::default()).await.unwrap();
    Api::<CSINode>::all(cluster.admin.clone()).delete("n1", &DeleteParams::default()).await.unwrap();
    Api::<Node>::all(cluster.admin.clone()).delete("n1", &DeleteParams::default()).await.unwrap();
    let _rig = Rig::start(&cluster, &cloud, arriving(Duration::from_secs(5)));
    gone(&cluster, "pv-1").await;
    let asked: BTreeSet<_> = detached(&cloud).into_iter().collect();
    assert_eq!(asked, BTreeSet::from([("pv-1".to_owned(), "n1".to_owned())]));
    assert_eq!(cloud.script.attach_volume.asked(), 1);
}

/// The process ended before the answer came, and the request may reach the cloud once the next process has begun.
///
/// Cases: csi 50
#[tokio::test]
async fn an_attachment_of_a_process_before_is_waited_for() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.attach_volume.answers(|_| Ok(pending(None, Duration::from_secs(300))).into());
    let rig = start(&cluster, &cloud);
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    seen(&cluster, "pv-1", |it| it.annotations().contains_key(NODE_ID)).await;
    wait::until("it is asked for", async || (cloud.script.attach_volume.asked() > 0).then_some(())).await;
    rig.stop().ended().await;
    attachments(&cluster).delete("csi-pv-1", &DeleteParams::default()).await.unwrap();
    let _rig = Rig::start(&cluster, &cloud, arriving(Duration::from_secs(10)));
    wait::until("it is asked about", async || (!detached(&cloud).is_empty()).then_some(())).await;
    let early = wait::within(Duration::from_secs(3), async || {
        let found = attachments(&cluster).get_opt("csi-pv-1").await.ok()?;
        (found.is_none() || detached(&cloud).len() > 1).then_some(())
    });
    assert!(early.await.is_none(), "the request may arrive yet");
    gone(&cluster, "pv-1").await;
    assert!(detached(&cloud).len() > 1, "the last question began when nothing could arrive any more");
}

/// The answer to it was lost, and the request may reach the cloud after the attachment was to go.
///
/// Cases: csi 50
#[tokio::test]
async fn a_lost_attachment_is_waited_for_before_it_is_gone() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let lost = || Err(Error::Unavailable("the answer was lost".to_owned()));
    cloud.script.attach_volume.answers(move |_| Reply { answer: lost(), events: Vec::new(), wrote: true });
    let _rig = Rig::start(&cluster, &cloud, arriving(Duration::from_secs(10)));
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    wait::until("it is attached in vain", async || (cloud.script.attach_volume.asked() > 0).then_some(())).await;
    attachments(&cluster).delete("csi-pv-1", &DeleteParams::default()).await.unwrap();
    gone(&cluster, "pv-1").await;
    assert!(detached(&cloud).len() > 1, "the last question began when nothing could arrive any more");
}

/// A machine that joined once more under another name. The first attachment goes with the first node, and the volume is in use.
///
/// Cases: adv 179
#[tokio::test]
async fn a_volume_stays_where_another_attachment_holds_it() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let _rig = start(&cluster, &cloud);
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    seen(&cluster, "pv-1", is_attached).await;
    let drivers = json!([{ "name": DRIVER, "nodeID": "n1", "topologyKeys": [] }]);
    made(
        Api::<CSINode>::all(cluster.admin.clone()),
        json!({ "metadata": { "name": "n1-again" }, "spec": { "drivers": drivers } }),
    )
    .await;
    attach_as(&cluster, "second", "pv-1", "n1-again").await;
    seen(&cluster, "pv-1", |it| it.name_any() == "second" && is_attached(it)).await;
    attachments(&cluster).delete("csi-pv-1", &DeleteParams::default()).await.unwrap();
    wait::until("the first one is gone", async || {
        attachments(&cluster).get_opt("csi-pv-1").await.ok().filter(Option::is_none)
    })
    .await;
    assert_eq!(detached(&cloud), []);
    attachments(&cluster).delete("second", &DeleteParams::default()).await.unwrap();
    gone(&cluster, "pv-1").await;
    assert_eq!(detached(&cloud), [("pv-1".to_owned(), "n1".to_owned())]);
}

/// Cases: csi 48, csi 53, csi 54, csi 58
#[tokio::test]
async fn an_attachment_that_fails_says_why_and_goes_on() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let asked = AtomicUsize::new(0);
    cloud.script.attach_volume.answers(move |(volume, _)| {
        let is_first = volume.handle == "pv-1";
        match is_first.then(|| asked.fetch_add(1, Ordering::SeqCst)) {
            Some(0) => Err(Error::Unavailable(format!("busy (request r-1): {}", "ä".repeat(2_500)))).into(),
            Some(1) => Ok(Attachment::Full("15 are there".to_owned())).into(),
            _ => Ok(Attachment::Ready(Vec::new())).into(),
        }
    });
    let _rig = start(&cluster, &cloud);
    for name in ["pv-1", "pv-2"] {
        persistent(&cluster, name).await;
        attach(&cluster, name, "n9").await;
    }
    let error = |it: &VolumeAttachment| it.status.as_ref()?.attach_error.as_ref()?.message.clone();
    let says = |text: &'static str| move |it: &VolumeAttachment| error(it).is_some_and(|it| it.contains(text));
    seen(&cluster, "pv-1", says("node n9 has no id of driver")).await;
    assert_eq!(cloud.script.attach_volume.asked(), 0);
    let volume = all(&cluster).get("pv-1").await.unwrap();
    assert!(volume.finalizers().iter().any(|it| it == FINALIZER), "before the node is known");
    node(&cluster, "n9", "a").await;
    let failed = seen(&cluster, "pv-1", says("busy (request r-1)")).await;
    assert!((1_020..=1_024).contains(&error(&failed).unwrap().len()));
    let failed = told(&cluster, "pv-1", "the cloud did not do it: busy (request r-1): ää").await;
    assert!(failed.ends_with("ä…. Next step: tried again with growing pauses"), "{failed}");
    let full = "machine n9 takes no more volumes: 15 are there";
    seen(&cluster, "pv-1", says(full)).await;
    let failed = told(&cluster, "pv-1", full).await;
    assert!(
        failed.ends_with("Next step: tried again when a volume leaves the machine, and every 5 minutes"),
        "{failed}"
    );
    seen(&cluster, "pv-2", is_attached).await;
    persistent(&cluster, "pv-3").await;
    attach(&cluster, "pv-3", "n9").await;
    seen(&cluster, "pv-3", says(full)).await;
    let asked = |handle: &str| cloud.script.attach_volume.calls().iter().filter(|(it, _)| it.handle == handle).count();
    assert_eq!(["pv-1", "pv-2", "pv-3"].map(asked), [2, 1, 0], "the full machine is not asked again");
    attachments(&cluster).delete("csi-pv-2", &DeleteParams::default()).await.unwrap();
    for name in ["pv-1", "pv-3"] {
        let attached = seen(&cluster, name, is_attached).await;
        assert_eq!(error(&attached), None);
    }
    assert_eq!(["pv-1", "pv-2", "pv-3"].map(asked), [3, 1, 1]);
}

/// Cases: csi 80
#[tokio::test]
async fn a_crash_of_the_provider_attaches_and_detaches_nothing() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let is_well = Arc::new(AtomicBool::new(false));
    let crashed = |well: &AtomicBool| {
        let reason = "the provider crashed over it, and it is set aside".to_owned();
        let crash = Error::Crashed { after: Duration::from_millis(100), reason };
        if well.load(Ordering::SeqCst) { Ok(()) } else { Err(crash) }
    };
    let well = is_well.clone();
    cloud.script.attach_volume.answers(move |_| crashed(&well).map(|()| Attachment::Ready(Vec::new())).into());
    let well = is_well.clone();
    cloud.script.detach_volume.answers(move |_| crashed(&well).map(|()| VolumeDetachment::Done).into());
    let _rig = Rig::start(&cluster, &cloud, arriving(Duration::from_secs(1)));
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    let says = |key: &'static str| {
        move |attachment: &VolumeAttachment| {
            json!(attachment.status)[key]["message"].to_string().contains("the provider crashed over it")
        }
    };
    let failed = seen(&cluster, "pv-1", says("attachError")).await;
    thrice_more("it is tried again", || cloud.script.attach_volume.asked()).await;
    assert!(!is_attached(&failed) && !is_attached(&seen(&cluster, "pv-1", |_| true).await));
    is_well.store(true, Ordering::SeqCst);
    seen(&cluster, "pv-1", is_attached).await;

    is_well.store(false, Ordering::SeqCst);
    attachments(&cluster).delete("csi-pv-1", &DeleteParams::default()).await.unwrap();
    seen(&cluster, "pv-1", says("detachError")).await;
    thrice_more("it is tried again", || cloud.script.detach_volume.asked()).await;
    let held = seen(&cluster, "pv-1", |_| true).await;
    assert_eq!((is_attached(&held), held.finalizers()), (true, &[FINALIZER.to_owned()][..]));
    is_well.store(true, Ordering::SeqCst);
    gone(&cluster, "pv-1").await;
}

/// Each would be asked about every two seconds.
///
/// Cases: csi 60
#[tokio::test]
async fn many_attachments_that_take_long_are_read_in_one_list() {
    const COUNT: usize = 12;
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DRIVER.to_owned(),
        list_page_size: 500,
        ..VolumeDescription::default()
    });
    let is_done = Arc::new(AtomicBool::new(false));
    let shown = is_done.clone();
    cloud.script.attach_volume.answers(move |_| match shown.load(Ordering::SeqCst) {
        true => Ok(Attachment::Ready(Vec::new())).into(),
        false => Ok(pending(None, Duration::from_secs(2))).into(),
    });
    let names: Vec<_> = (0..COUNT).map(|it| format!("pv-{it}")).collect();
    let (shown, handles) = (is_done.clone(), names.clone());
    cloud.script.list_volumes.answers(move |_| {
        let attached_to = if shown.load(Ordering::SeqCst) { vec!["n1".to_owned()] } else { Vec::new() };
        let volume = |handle: &String| CloudVolume {
            handle: handle.clone(),
            attached_to: attached_to.clone(),
            ..CloudVolume::default()
        };
        Ok(VolumePage { volumes: handles.iter().map(volume).collect(), ..VolumePage::default() }).into()
    });
    let _rig = start(&cluster, &cloud);
    for name in &names {
        persistent(&cluster, name).await;
        attach(&cluster, name, "n1").await;
    }
    let handles = || cloud.script.attach_volume.calls().into_iter().map(|(it, _)| it.handle).collect::<BTreeSet<_>>();
    wait::until("each was asked about", async || (handles().len() == COUNT).then_some(())).await;
    let lists = cloud.script.list_volumes.asked();
    wait::until("the list is read again", async || (cloud.script.list_volumes.asked() >= lists + 3).then_some(()))
        .await;
    // The first has no list yet, and none is asked about again before half a minute.
    let asked = cloud.script.attach_volume.asked();
    assert!(asked <= 2 * COUNT + 1, "in fifteen seconds each would be asked about seven times: {asked}");
    is_done.store(true, Ordering::SeqCst);
    for name in &names {
        seen(&cluster, name, is_attached).await;
    }
}

/// Waits until there are three more questions.
async fn thrice_more(what: &str, asked: impl Fn() -> usize) {
    let before = asked();
    wait::until(what, async || (asked() >= before + 3).then_some(())).await;
}

/// The list says so first, the volume alone then. Neither alone is believed, nor what a list lacks.
///
/// Cases: csi 64
#[tokio::test]
async fn a_volume_that_was_taken_away_is_attached_again() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DRIVER.to_owned(),
        list_page_size: 500,
        get_batch_size: 1,
        ..VolumeDescription::default()
    });
    let [is_unlisted, has_left] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let shown = |is_away: bool| CloudVolume {
        handle: "pv-1".to_owned(),
        attached_to: if is_away { Vec::new() } else { vec!["n1".to_owned()] },
        ..CloudVolume::default()
    };
    let (listed, known) = (is_unlisted.clone(), has_left.clone());
    cloud.script.attach_volume.answers(move |_| {
        listed.store(false, Ordering::SeqCst);
        known.store(false, Ordering::SeqCst);
        Ok(Attachment::Ready(Vec::new())).into()
    });
    let known = has_left.clone();
    cloud.script.get_volumes.answers(move |_| vec![Ok(Some(shown(known.load(Ordering::SeqCst))))].into());
    let options =
        volume_attacher::Options { look_period: Duration::from_millis(50), ..volume_attacher::Options::default() };
    let _rig = Rig::start(&cluster, &cloud, options);
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    seen(&cluster, "pv-1", is_attached).await;
    thrice_more("the list lacks it", || cloud.script.list_volumes.asked()).await;
    assert_eq!((cloud.script.get_volumes.asked(), cloud.script.attach_volume.asked()), (0, 1));

    is_unlisted.store(true, Ordering::SeqCst);
    let listed = is_unlisted.clone();
    cloud.script.list_volumes.answers(move |_| {
        let volumes = vec![shown(listed.load(Ordering::SeqCst))];
        Ok(VolumePage { volumes, ..VolumePage::default() }).into()
    });
    thrice_more("the list alone says that it has left", || cloud.script.get_volumes.asked()).await;
    assert_eq!(cloud.script.attach_volume.asked(), 1);

    has_left.store(true, Ordering::SeqCst);
    let told = event(&cluster, "pv-1", "VolumeLeftMachine").await;
    assert!(told.message.unwrap().contains("volume pv-1 is not at machine n1 any more"));
    wait::until("it is attached again", async || (cloud.script.attach_volume.asked() == 2).then_some(())).await;
    seen(&cluster, "pv-1", is_attached).await;
    thrice_more("it stays", || cloud.script.list_volumes.asked()).await;
    assert_eq!((cloud.script.attach_volume.asked(), detached(&cloud).len()), (2, 0));
}

/// A machine holds up others while an attachment is pending at it, and nothing else does.
///
/// Cases: csi 59, csi 65
#[tokio::test]
async fn attachments_at_one_machine_are_made_one_after_the_other() {
    const COUNT: usize = 8;
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DRIVER.to_owned(),
        one_at_a_time_per_node: true,
        ..VolumeDescription::default()
    });
    let at_work: Mutex<Option<String>> = Mutex::default();
    cloud.script.attach_volume.answers(move |(volume, _)| {
        let mut at_work = at_work.lock().unwrap();
        match at_work.take() {
            None => {
                *at_work = Some(volume.handle);
                Ok(pending(None, Duration::ZERO)).into()
            }
            Some(it) if it == volume.handle => Ok(Attachment::Ready(Vec::new())).into(),
            it => {
                *at_work = it;
                Err(Error::Invalid("Droplet already has a pending event".to_owned())).into()
            }
        }
    });
    let rig = start(&cluster, &cloud);
    let names: Vec<_> = (0..COUNT).map(|it| format!("pv-{it}")).collect();
    for name in &names {
        persistent(&cluster, name).await;
        attach(&cluster, name, "n1").await;
    }
    for name in &names {
        let attached = seen(&cluster, name, is_attached).await;
        assert_eq!(json!(attached.status)["attachError"], Value::Null);
    }
    assert_eq!(cloud.script.attach_volume.asked(), 2 * COUNT, "nobody was told to come back");
    rig.stop().ended().await;
    let _rig = start(&cluster, &cloud);
    persistent(&cluster, "last").await;
    attach(&cluster, "last", "n1").await;
    seen(&cluster, "last", is_attached).await;
    assert_eq!(cloud.script.attach_volume.asked(), 2 * COUNT + 2, "what is attached costs no call after a restart");

    for name in ["pv-0", "last"] {
        all(&cluster).delete(name, &DeleteParams::default()).await.unwrap();
        attachments(&cluster).delete(&format!("csi-{name}"), &DeleteParams::default()).await.unwrap();
        gone(&cluster, name).await;
        let is_free = |it: &PersistentVolume| !it.finalizers().iter().any(|it| it == FINALIZER);
        wait::until("the volume may go", async || {
            all(&cluster).get_opt(name).await.ok().filter(|it| it.as_ref().is_none_or(is_free))
        })
        .await;
    }
}
