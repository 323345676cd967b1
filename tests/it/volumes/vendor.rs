//! A vendor's own controller that still runs beside the ones here.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CloudVolumes as _, VolumeDescription};
use controllers::{volume_attacher, volume_provisioner};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Namespace};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::api::storage::v1::CSINode;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::faults::Faults;
use tests::lagging::Recorded;
use tests::rig::Rig;
use tests::vendor::gcp::allow_disks;
use tests::wait;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::attachments::{FINALIZER, NODE_ID, attach, attachments, is_attached, persistent, seen};
use crate::claims::pending_cloud;
use crate::provisioner::{DRIVER, VolumeCloud, claim, class, cluster, given, made, no_intent};
use crate::volumes::{PROVISIONED_BY, create, volume};

/// How often the vendor's Leases are looked at here; in the product it is twenty seconds.
const LOOKS: Duration = Duration::from_secs(2);
/// So long after the last renewal it goes on.
const QUIET: Duration = Duration::from_secs(6);
const NAMESPACE: &str = "kube-system";
const LEASE: &str = "external-attacher-leader-csi-fakecloud-example";
const REASON: &str = "VendorControllerRuns";
/// The driver of Google Cloud's Persistent Disks, whose vendor has its controller in a namespace of its own.
const DISKS: &str = "pd.csi.storage.gke.io";
const OF_DISKS: &str = "gce-pd-csi-driver";
const LEASE_OF_DISKS: &str = "external-attacher-leader-pd-csi-storage-gke-io";

fn attacher() -> volume_attacher::Options {
    volume_attacher::Options { vendor_period: LOOKS, ..volume_attacher::Options::default() }
}

fn leases(cluster: &Cluster, namespace: &str) -> Api<Lease> {
    Api::namespaced(cluster.admin.clone(), namespace)
}

/// A Lease that a sidecar holds, as it is renewed now.
fn held() -> serde_json::Value {
    let now = format!("{:.6}", Timestamp::now());
    json!({ "holderIdentity": "csi-controller-0", "leaseDurationSeconds": 15, "renewTime": now })
}

/// The vendor's attacher, which renews its Lease in this namespace until this is dropped.
async fn elected(cluster: &Cluster, namespace: &str, name: &'static str) -> JoinSet<()> {
    made(leases(cluster, namespace), json!({ "metadata": { "name": name }, "spec": held() })).await;
    let (leases, mut renewing) = (leases(cluster, namespace), JoinSet::new());
    renewing.spawn(async move {
        let mut times = tokio::time::interval(Duration::from_millis(200));
        loop {
            times.tick().await;
            // A renewal that fails is followed by the next one.
            leases.patch(name, &PatchParams::default(), &Patch::Merge(json!({ "spec": held() }))).await.ok();
        }
    });
    renewing
}

/// The event that names the vendor's controller, as soon as it is there.
async fn noticed(cluster: &Cluster) -> Event {
    told(cluster, REASON).await
}

/// The event with this reason, as soon as it is there.
async fn told(cluster: &Cluster, reason: &str) -> Event {
    let all: Api<Event> = Api::all(cluster.admin.clone());
    wait::until_after(QUIET, &format!("the event {reason}"), async || {
        let found = all.list(&ListParams::default()).await.ok()?.items;
        found.into_iter().find(|it| it.reason.as_deref() == Some(reason))
    })
    .await
}

/// A cloud whose driver is that of Persistent Disks, and the namespace of its vendor's controller.
async fn disks(cluster: &Cluster) -> Arc<VolumeCloud> {
    let namespaces: Api<Namespace> = Api::all(cluster.admin.clone());
    if namespaces.get_opt(OF_DISKS).await.unwrap().is_none() {
        made(namespaces, json!({ "metadata": { "name": OF_DISKS } })).await;
    }
    let cloud = VolumeCloud::new();
    let described = (*cloud.script.description()).clone();
    let vendor_namespaces = vec![OF_DISKS.to_owned()];
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DISKS.to_owned(),
        vendor_namespaces,
        ..described
    });
    cloud
}

/// Gives aerostat the role of the release for Persistent Disks that attaches them.
async fn may_attach_disks(cluster: &Cluster) {
    allow_disks(cluster, ":volume-attacher").await;
}

/// Takes the rule from aerostat's roles by which it reads the Lease of the vendor's attacher.
async fn forbid_leases_of_disks(cluster: &Cluster) {
    let roles: Api<ClusterRole> = Api::all(cluster.admin.clone());
    let is_it = |rule: &PolicyRule| rule.resource_names.iter().flatten().any(|it| it == LEASE_OF_DISKS);
    for mut role in roles.list(&ListParams::default()).await.unwrap().items {
        let rules = role.rules.get_or_insert_default();
        if rules.iter().any(is_it) {
            rules.retain(|it| !is_it(it));
            roles.replace(&role.name_any(), &PostParams::default(), &role).await.unwrap();
        }
    }
}

/// The PersistentVolume with this name that the vendor's provisioner saves for a claim.
fn vendors_volume(claim: &str, name: &str) -> Value {
    let mut made = volume(name, DRIVER);
    made["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER });
    made["spec"]["csi"]["volumeHandle"] = json!(format!("handle-of-{name}"));
    made["spec"]["csi"]["volumeAttributes"] =
        json!({ "storage.kubernetes.io/csiProvisionerIdentity": format!("1764460800000-8081-{DRIVER}") });
    let uid = name.strip_prefix("pvc-").unwrap();
    made["spec"]["claimRef"] =
        json!({ "kind": "PersistentVolumeClaim", "name": claim, "namespace": "default", "uid": uid });
    made
}

/// Options by which a vendor's provisioner is looked for all the time.
fn provisioner() -> volume_provisioner::Options {
    volume_provisioner::Options { vendor_period: Duration::from_millis(100), ..volume_provisioner::Options::default() }
}

/// Claims that are begun here, and whose volumes the vendor saves then, one after the other until its hand is noticed. Returns the event's text.
async fn served_by_both(cluster: &Cluster, cloud: &VolumeCloud) -> String {
    let all: Api<Event> = Api::all(cluster.admin.clone());
    let mut number = 0;
    let told = wait::until("its hand is noticed", async || {
        number += 1;
        let owner = format!("both-{number}");
        cloud.script.create_volume.hold(true);
        let name = claim(cluster, &owner, "fast", given()).await;
        // Once it is noticed, no more is begun.
        let begun = async || cloud.made().contains(&name).then_some(());
        if wait::within(Duration::from_secs(2), begun).await.is_some() {
            create(cluster, &vendors_volume(&owner, &name)).await.unwrap();
        }
        cloud.script.create_volume.hold(false);
        wait::until("it is answered", async || (cloud.script.create_volume.in_flight() == 0).then_some(())).await;
        let found = all.list(&ListParams::default()).await.ok()?.items;
        found.into_iter().find(|it| it.reason.as_deref() == Some(REASON))
    })
    .await;
    told.message.unwrap()
}

/// Waits until one more key was looked at and put back than so many before.
async fn put_back(rig: &Rig, before: f64) {
    wait::until("it waits", async || (rig.tries() > before).then_some(())).await;
}

/// Cases: csi 74
#[tokio::test]
async fn a_lease_that_a_vendor_renews_stops_what_is_written() {
    let cluster = cluster().await;
    let renewing = elected(&cluster, NAMESPACE, LEASE).await;
    let cloud = VolumeCloud::new();
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    let rig = Rig::start(&cluster, &cloud, attacher());
    let told = noticed(&cluster).await;
    assert_eq!(told.involved_object.name.as_deref(), Some(LEASE));
    let message = told.message.unwrap();
    for part in [
        "kube-system/external-attacher-leader",
        "is renewed by csi-controller-0",
        "Next step: take the container csi-attacher",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(rig.gauge("aerostat_volume_vendor_controller"), 1.0);
    // The only key was there before the controller was.
    put_back(&rig, 0.0).await;
    let untouched = seen(&cluster, "pv-1", |_| true).await;
    assert_eq!((untouched.finalizers(), cloud.script.attach_volume.asked()), (&[][..], 0));
    drop(renewing);
    wait::until_after(QUIET + LOOKS, "it goes on", async || (cloud.script.attach_volume.asked() > 0).then_some(()))
        .await;
    seen(&cluster, "pv-1", is_attached).await;
    assert_eq!(rig.gauge("aerostat_volume_vendor_controller"), 0.0);
}

/// Cases: csi 74
#[tokio::test]
async fn a_lease_in_the_vendors_own_namespace_stops_writes_too() {
    let cluster = cluster().await;
    let cloud = disks(&cluster).await;
    may_attach_disks(&cluster).await;
    let renewing = elected(&cluster, OF_DISKS, LEASE_OF_DISKS).await;
    let rig = Rig::start(&cluster, &cloud, attacher());
    let told = noticed(&cluster).await;
    let about = told.involved_object;
    assert_eq!((about.namespace.as_deref(), about.name.as_deref()), (Some(OF_DISKS), Some(LEASE_OF_DISKS)));
    assert_eq!(rig.gauge("aerostat_volume_vendor_controller"), 1.0);
    drop(renewing);
    wait::until_after(QUIET + LOOKS, "it is away", async || {
        (rig.gauge("aerostat_volume_vendor_controller") == 0.0).then_some(())
    })
    .await;
}

/// The roles are those of a release from before.
///
/// Cases: csi 74
#[tokio::test]
async fn leases_that_may_not_be_read_are_told_and_waited_for() {
    let cluster = cluster().await;
    let cloud = disks(&cluster).await;
    let mut left = held();
    left["renewTime"] = json!("2026-01-01T00:00:00.000000Z");
    made(leases(&cluster, OF_DISKS), json!({ "metadata": { "name": LEASE_OF_DISKS }, "spec": left })).await;
    let options = volume_attacher::Options { vendor_period: Duration::from_millis(200), ..attacher() };
    let _rig = Rig::start(&cluster, &cloud, options);
    let message = told(&cluster, "VendorLeasesForbidden").await.message.unwrap();
    for part in ["gce-pd-csi-driver/external-attacher-leader-pd-csi-storage-gke-io", "Next step: apply the rules"] {
        assert!(message.contains(part), "{message}");
    }
    let csi_nodes: Api<CSINode> = Api::all(cluster.admin.clone());
    let plugin = json!({ "spec": { "drivers": [{ "name": DISKS, "nodeID": "n1", "topologyKeys": [] }] } });
    csi_nodes.patch("n1", &PatchParams::default(), &Patch::Merge(plugin)).await.unwrap();
    create(&cluster, &volume("pv-1", DISKS)).await.unwrap();
    let spec = json!({ "attacher": DISKS, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } });
    made(attachments(&cluster), json!({ "metadata": { "name": "of-a-disk" }, "spec": spec })).await;
    // Ten looks later.
    let asked = || cloud.script.attach_volume.asked();
    let begun = wait::within(LOOKS, async || (asked() > 0).then_some(())).await;
    let untouched = seen(&cluster, "pv-1", |_| true).await;
    assert_eq!((begun, untouched.finalizers()), (None, &[][..]), "nothing begins");
    may_attach_disks(&cluster).await;
    seen(&cluster, "pv-1", is_attached).await;
    // An old role comes back, with another module say: what was read before proves nothing any more.
    forbid_leases_of_disks(&cluster).await;
    assert_eq!(wait::within(LOOKS, async || None::<()>).await, None);
    create(&cluster, &volume("pv-2", DISKS)).await.unwrap();
    let spec = json!({ "attacher": DISKS, "nodeName": "n1", "source": { "persistentVolumeName": "pv-2" } });
    made(attachments(&cluster), json!({ "metadata": { "name": "of-another" }, "spec": spec })).await;
    let before = asked();
    let begun = wait::within(LOOKS, async || (asked() > before).then_some(())).await;
    assert_eq!(begun, None, "nothing begins");
    may_attach_disks(&cluster).await;
    seen(&cluster, "pv-2", is_attached).await;
}

/// The Lease of a vendor's controller stays when that has gone.
///
/// Cases: csi 74
#[tokio::test]
async fn leases_that_were_left_or_are_others_stop_nothing() {
    let cluster = cluster().await;
    for name in [LEASE, "external-attacher-leader-csi-other-example"] {
        let mut spec = held();
        spec["renewTime"] = json!("2026-01-01T00:00:00.000000Z");
        made(leases(&cluster, NAMESPACE), json!({ "metadata": { "name": name }, "spec": spec })).await;
    }
    let cloud = VolumeCloud::new();
    let _rig = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    seen(&cluster, "pv-1", is_attached).await;
}

/// The role `edit` lets its holder write Leases in a namespace.
///
/// Cases: csi 74
#[tokio::test]
async fn a_tenants_lease_stops_no_work_on_volumes() {
    let cluster = cluster().await;
    let _tenants = elected(&cluster, "default", LEASE).await;
    let cloud = VolumeCloud::new();
    let rig = Rig::start(&cluster, &cloud, attacher());
    persistent(&cluster, "pv-1").await;
    attach(&cluster, "pv-1", "n1").await;
    seen(&cluster, "pv-1", is_attached).await;
    assert_eq!(rig.gauge("aerostat_volume_vendor_controller"), 0.0);
    // Two looks later it would have been told of the tenant's.
    let _vendors = elected(&cluster, NAMESPACE, LEASE).await;
    let told = noticed(&cluster).await;
    assert_eq!(told.involved_object.namespace.as_deref(), Some(NAMESPACE));
}

/// Controllers of vendors that elect no leader are noticed by what they do.
///
/// Cases: csi 74
#[tokio::test]
async fn an_attacher_without_a_lease_is_noticed_by_its_hand() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let options = volume_attacher::Options { vendor_period: Duration::from_millis(100), ..attacher() };
    let rig = Rig::start(&cluster, &cloud, options);
    persistent(&cluster, "pv-1").await;
    // In the first moments its work is taken for what it has done before.
    let all: Api<Event> = Api::all(cluster.admin.clone());
    let mut number = 0;
    let told = wait::until("its hand is noticed", async || {
        number += 1;
        let spec = json!({ "attacher": DRIVER, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } });
        let metadata = json!({
            "name": format!("vendors-{number}"), "finalizers": [FINALIZER], "annotations": { NODE_ID: "n1" },
        });
        made(attachments(&cluster), json!({ "metadata": metadata, "spec": spec })).await;
        let found = all.list(&ListParams::default()).await.ok()?.items;
        found.into_iter().find(|it| it.reason.as_deref() == Some(REASON))
    })
    .await;
    let message = told.message.unwrap();
    for part in [
        "VolumeAttachment vendors-",
        "to node n1 was begun by another hand",
        "csi-attacher",
        "aerostat.dev/cloud-writes-approved",
    ] {
        assert!(message.contains(part), "{message}");
    }
    persistent(&cluster, "pv-2").await;
    let before = rig.tries();
    attach(&cluster, "pv-2", "n1").await;
    put_back(&rig, before).await;
    let of_second = || cloud.script.attach_volume.calls().iter().any(|(it, _)| it.handle == "pv-2");
    assert!(!of_second());
    wait::until("it goes on", async || {
        // Whatever of the other's work was still to be seen.
        rig.requested.approve(Instant::now());
        of_second().then_some(())
    })
    .await;
    seen(&cluster, "pv-2", is_attached).await;
}

/// Cases: csi 74
#[tokio::test]
async fn a_provisioner_without_a_lease_is_noticed_by_its_hand() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    let rig = Rig::start(&cluster, &cloud, provisioner());
    let all: Api<Event> = Api::all(cluster.admin.clone());
    let mut number = 0;
    let told = wait::until("its hand is noticed", async || {
        number += 1;
        // Given to nobody: none is made here.
        let owner = format!("vendors-{number}");
        let name = claim(&cluster, &owner, "fast", json!({})).await;
        create(&cluster, &vendors_volume(&owner, &name)).await.unwrap();
        let found = all.list(&ListParams::default()).await.ok()?.items;
        found.into_iter().find(|it| it.reason.as_deref() == Some(REASON))
    })
    .await;
    let message = told.message.unwrap();
    assert!(message.contains("was made by another hand") && message.contains("csi-provisioner"), "{message}");
    let before = rig.tries();
    let name = claim(&cluster, "data", "fast", given()).await;
    put_back(&rig, before).await;
    no_intent(&cluster).await;
    assert_eq!(cloud.made(), [""; 0]);
    wait::until("it goes on", async || {
        rig.requested.approve(Instant::now());
        (cloud.made() == [name.as_str()]).then_some(())
    })
    .await;
}

/// Its PersistentVolume comes after its cloud has answered, and the claim is begun here long before.
///
/// Cases: csi 74
#[tokio::test]
async fn a_provisioner_of_claims_begun_here_is_noticed() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let rig = Rig::start(&cluster, &cloud, provisioner());
    let message = served_by_both(&cluster, &cloud).await;
    assert!(message.contains("was made by another hand") && message.contains("csi-provisioner"), "{message}");
    let (asked, before) = (cloud.script.create_volume.asked(), rig.tries());
    claim(&cluster, "data", "fast", given()).await;
    put_back(&rig, before).await;
    assert_eq!(cloud.script.create_volume.asked(), asked, "nothing more is begun");
}

/// The watch lags, and shows none of the vendor's PersistentVolumes.
///
/// Cases: csi 74
#[tokio::test]
async fn a_volume_that_a_vendor_saves_first_is_noticed() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let (cloud, faults) = (VolumeCloud::new(), Faults::new());
    Recorded::now(&cluster.admin, "persistentvolumes").await.stay(&faults);
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, provisioner());
    let message = served_by_both(&cluster, &cloud).await;
    assert!(message.contains("was made by another hand") && message.contains("csi-provisioner"), "{message}");
}

/// The one whose work nobody does here is the vendor's to do.
#[tokio::test]
async fn a_vendors_attacher_is_let_alone_where_only_volumes_are_made() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let _renewing = elected(&cluster, NAMESPACE, LEASE).await;
    let cloud = VolumeCloud::new();
    let options = volume_provisioner::Options { vendor_period: LOOKS, ..volume_provisioner::Options::default() };
    let _rig = Rig::start(&cluster, &cloud, options);
    let name = claim(&cluster, "data", "fast", given()).await;
    wait::until("the volume is made", async || (cloud.made() == [name.as_str()]).then_some(())).await;
}
