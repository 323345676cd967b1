//! Leader migration: who gives nodes their networks passes from one manager to another and back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tests::audit_log::Request;
use tests::control_plane::{Cluster, apply, cluster};
use tests::operator::{Setup, says};
use tests::{aerostat, guests, wait};

use crate::setup::{all_given, assert_distinct, given, join, join_all};
use crate::start::FLAGS;

/// The Lease of the migration, by `deploy/leader-migration.yaml`.
const LEASE: &str = "cloud-provider-extraction-migration";
/// The user that seeks the Lease as kube-controller-manager, and the one that writes nodes for it.
const KUBE: &str = "system:kube-controller-manager";
const KUBE_NODES: &str = "system:serviceaccount:kube-system:node-controller";
/// Tried more often than upstream does. The times themselves are upstream's: shorter ones would end processes on a busy
/// machine.
const FAST: [&str; 3] =
    ["--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=500ms"];
const LASTS: Duration = Duration::from_secs(15);

/// The shipped Role and the shipped file; what kube-controller-manager needs for the same Lease.
async fn prepare(cluster: &Cluster) {
    apply(&cluster.admin, include_str!("../../../deploy/leader-migration.yaml")).await.unwrap();
    let role = |kind: &str, rest: Value| {
        let metadata = json!({ "name": "kube-controller-manager-migration", "namespace": "kube-system" });
        let mut role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata });
        role.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        role.to_string()
    };
    let rule = json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [LEASE],
        "verbs": ["get", "update"] });
    apply(&cluster.admin, &role("Role", json!({ "rules": [rule] }))).await.unwrap();
    let binding = json!({
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "kube-controller-manager-migration" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": KUBE }],
    });
    apply(&cluster.admin, &role("RoleBinding", binding)).await.unwrap();
}

/// Starts the other manager, with the flags that it has in the field.
///
/// This version cannot run a controller under its second Lease (it registers an informer twice and ends), so that it seeks
/// the Lease of the migration as its main one: what it writes is the same.
fn start_kube_controller_manager(cluster: &Cluster) {
    let lease = format!("--leader-elect-resource-name={LEASE}");
    let flags = ["--leader-elect=true", &lease, "--controllers=node-ipam-controller"];
    let flags: Vec<_> = flags.iter().chain(&FAST).chain(&FLAGS).map(|it| (*it).to_owned()).collect();
    cluster.control_plane.start_controller_manager(&flags).unwrap();
}

/// The shipped file, as an operator mounts it, with changes.
fn file(setup: &Setup, change: impl FnOnce(&str) -> String) -> PathBuf {
    let manifests: Vec<Value> =
        serde_saphyr::from_multiple(include_str!("../../../deploy/leader-migration.yaml")).unwrap();
    let text = manifests[0]["data"]["leader-migration.yaml"].as_str().unwrap().to_owned();
    setup.folder.write("leader-migration.yaml", change(&text))
}

fn setup(cluster: &Cluster) -> Setup {
    let setup = Setup::guest(cluster, guests::HOSTILE).flags(&FLAGS).flags(&FAST);
    let file = file(&setup, str::to_owned);
    setup.flags(&["--enable-leader-migration", &format!("--leader-migration-config={}", file.display())])
}

fn leases(cluster: &Cluster) -> Api<Lease> {
    Api::namespaced(cluster.admin.clone(), "kube-system")
}

async fn holder(cluster: &Cluster) -> Option<String> {
    let lease = leases(cluster).get_opt(LEASE).await.ok()??;
    lease.spec?.holder_identity.filter(|it| !it.is_empty())
}

/// The names of ten nodes.
fn ten(first: usize) -> impl Iterator<Item = String> {
    (first..first + 10).map(|nth| format!("n{nth}"))
}

fn is_pod_cidr_write(request: &Request) -> bool {
    request.resource() == "nodes" && request.is_write() && request.body.to_string().contains("podCIDR")
}

/// Each write of networks came from the manager that held the Lease of the migration when the API server got it. Returns
/// who has written.
async fn assert_one_owner(cluster: &Cluster) -> BTreeSet<String> {
    cluster.audit().settle(&cluster.admin).await.unwrap();
    let mut requests = cluster.audit().everything().unwrap();
    requests.retain(|it| (200..300).contains(&it.response.code));
    requests.sort_by_key(|it| it.received);
    let mut holder: Option<(String, Timestamp)> = None;
    let mut writers = BTreeSet::new();
    for request in requests {
        let (user, at) = (request.user.username.clone(), request.received);
        if request.object.resource == "leases" && request.object.name == LEASE && request.is_write() {
            let holds = request.body["spec"]["holderIdentity"].as_str().is_some_and(|it| !it.is_empty());
            holder = holds.then_some((user, at));
        } else if is_pod_cidr_write(&request) {
            let (holder, since) = holder.clone().unwrap_or_else(|| panic!("nobody held the Lease: {request:?}"));
            let expected = if holder == KUBE { KUBE_NODES } else { aerostat::USER };
            assert_eq!(user, expected, "the holder was {holder}: {request:?}");
            assert!(at.duration_since(since).unsigned_abs() < LASTS, "the Lease had expired: {request:?}");
            writers.insert(user);
        }
    }
    writers
}

/// Cases: case 245
#[tokio::test]
async fn node_ipam_passes_from_the_other_manager_and_back() {
    let cluster = cluster().await;
    prepare(&cluster).await;
    start_kube_controller_manager(&cluster);
    wait::until("the other manager holds the Lease", async || holder(&cluster).await).await;
    join_all(&cluster, ten(0)).await;
    all_given(&cluster, 10).await;

    let setup = setup(&cluster);
    let mut process = setup.start();
    process.says(&format!("holds lease kube-system/{LEASE}")).await;
    let checks = process.checks().await;
    assert!(checks.contains(&"cloud-node-controller".to_owned()), "the others run: {checks:?}");
    assert!(!checks.contains(&"node-ipam-controller".to_owned()), "another manager has it: {checks:?}");
    join_all(&cluster, ten(10)).await;
    all_given(&cluster, 20).await;

    let (killed, ()) = tokio::join!(cluster.control_plane.kill_controller_manager(), join_all(&cluster, ten(20)));
    killed.unwrap();
    process.says("started node-ipam-controller").await;
    assert!(process.checks().await.contains(&"node-ipam-controller".to_owned()));
    join_all(&cluster, ten(30)).await;
    all_given(&cluster, 40).await;

    // And back.
    start_kube_controller_manager(&cluster);
    join_all(&cluster, ten(40)).await;
    all_given(&cluster, 50).await;
    tokio::join!(process.stop(), join_all(&cluster, ten(50)));
    join_all(&cluster, ten(60)).await;
    let all = all_given(&cluster, 70).await;
    cluster.control_plane.kill_controller_manager().await.unwrap();
    assert_distinct(&all);
    let writers = assert_one_owner(&cluster).await;
    assert_eq!(writers, [aerostat::USER, KUBE_NODES].map(str::to_owned).into(), "both have written");
}

/// Cases: case 245
#[tokio::test]
async fn without_the_second_lease_the_process_ends_and_writes_no_more() {
    let cluster = cluster().await;
    prepare(&cluster).await;
    let setup = setup(&cluster);
    let mut process = setup.start();
    process.says("started node-ipam-controller").await;
    join(&cluster, "n1").await;
    given(&cluster, "n1").await;
    let theft = json!({ "spec": { "holderIdentity": "thief", "renewTime": "2030-01-01T00:00:00.000000Z" } });
    leases(&cluster).patch(LEASE, &PatchParams::default(), &Patch::Merge(theft)).await.unwrap();
    says(&process.fails().await, &["leaderelection lost", "thief holds lease", LEASE]);
    assert_eq!(holder(&cluster).await.as_deref(), Some("thief"));
}

#[tokio::test]
async fn a_second_lease_that_may_not_be_written_is_told_at_start() {
    let mut cluster = cluster().await;
    cluster.forbids();
    let setup = setup(&cluster);
    let text = file(&setup, |it| it.replace(LEASE, "not-allowed"));
    let setup = setup.flags(&[&format!("--leader-migration-config={}", text.display())]);
    let mut process = setup.start();
    let line = process.says("the API server does not allow what the controllers need").await;
    let expected =
        "{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [not-allowed], verbs: [get, update]}";
    says(line["message"].as_str().unwrap(), &[expected]);
    process.stop().await;
}

/// Starts the binary with a file, and returns why it does not.
async fn refused(change: impl FnOnce(&str) -> String) -> String {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let file = file(&setup, change);
    let flag = format!("--leader-migration-config={}", file.display());
    setup.flags(&["--enable-leader-migration", &flag]).refused().await
}

/// Cases: bad-migration, case 246
#[tokio::test]
async fn bad_input_a_migration_file_that_is_missing() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let setup = setup.flags(&["--enable-leader-migration", "--leader-migration-config=/not/there.yaml"]);
    says(&setup.refused().await, &["--leader-migration-config /not/there.yaml: cannot be read"]);
}

/// Cases: bad-migration, case 246
#[tokio::test]
async fn bad_input_a_migration_file_that_is_garbled() {
    says(&refused(|_| "{ [".to_owned()).await, &["--leader-migration-config", "leader-migration.yaml"]);
}

/// Cases: bad-migration, case 246
#[tokio::test]
async fn bad_input_a_migration_file_that_names_an_unknown_controller() {
    let message = refused(|it| it.replace("node-ipam-controller", "nope-controller")).await;
    says(&message, &["\"nope-controller\"", "known are", "node-ipam-controller"]);
}

/// Cases: bad-migration, case 246
#[tokio::test]
async fn bad_input_a_migration_under_the_main_lease() {
    let message = refused(|it| it.replace(LEASE, "cloud-controller-manager")).await;
    says(&message, &["the name of the main Lease", "the migration needs another one"]);
}
