//! A role that lacks something: said once, as YAML, before the Lease is sought; and served once it is there.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::{guests, kubelet};

use crate::setup::{Setup, admin_token, event, initialized, refuses, says};

const ROLE: &str = "cloud-controller-manager";
const MISSING: &str = "the API server does not allow what the controllers need";

/// Takes rules out of the shipped ClusterRole.
async fn forbid(cluster: &Cluster, resource: &str) {
    let roles: Api<ClusterRole> = Api::all(cluster.admin.clone());
    let rules = roles.get(ROLE).await.unwrap().rules.unwrap();
    let is_about_it = |it: &PolicyRule| it.resources.iter().flatten().any(|it| it == resource);
    let (taken, kept): (Vec<_>, Vec<_>) = rules.into_iter().partition(is_about_it);
    write(&roles, &kept).await;
    for rule in &taken {
        refuses(cluster, "", rule).await;
    }
}

/// Adds rules to the shipped ClusterRole, as a person who pastes them does.
async fn allow(cluster: &Cluster, pasted: Vec<PolicyRule>) {
    let roles: Api<ClusterRole> = Api::all(cluster.admin.clone());
    let mut rules = roles.get(ROLE).await.unwrap().rules.unwrap();
    rules.extend(pasted);
    write(&roles, &rules).await;
}

async fn write(roles: &Api<ClusterRole>, rules: &[PolicyRule]) {
    let patch = Patch::Merge(json!({ "rules": rules }));
    roles.patch(ROLE, &PatchParams::default(), &patch).await.unwrap();
}

/// The rules that a message holds for an object of this kind: what stands there between `rules:` and the end of the list.
fn rules(message: &str, to: &str) -> Vec<PolicyRule> {
    let (_, after) = message.split_once(to).unwrap_or_else(|| panic!("{to:?} is not in {message:?}"));
    let (_, list) = after.split_once("rules: ").unwrap();
    let end = list.find("]}]").unwrap() + 3;
    serde_saphyr::from_str(&list[..end]).unwrap_or_else(|error| panic!("{list:?} is no YAML: {error}"))
}

async fn holder(cluster: &Cluster) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    leases.get_opt(ROLE).await.unwrap()?.spec?.holder_identity
}

/// Waits for the next message about missing rules.
async fn warning(process: &mut Process) -> String {
    message(&process.says(MISSING).await).to_owned()
}

#[tokio::test]
async fn a_missing_rule_is_reported_as_yaml_that_can_be_applied() {
    let mut cluster = cluster().await;
    cluster.forbids();
    forbid(&cluster, "servicecidrs").await;
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let mut process = setup.start();
    let text = warning(&mut process).await;
    let missing = rules(&text, "the ClusterRole of");
    let expected = PolicyRule {
        api_groups: Some(vec!["networking.k8s.io".to_owned()]),
        resources: Some(vec!["servicecidrs".to_owned()]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    assert_eq!(missing, [expected]);
    says(&text, &["system:serviceaccount:kube-system:cloud-controller-manager"]);

    let sent = event(&cluster, ROLE, &[MISSING, "servicecidrs"]).await;
    assert_eq!(sent.reason.as_deref(), Some("PermissionsMissing"));
    assert_eq!(sent.type_.as_deref(), Some("Warning"));
    assert_eq!(sent.involved_object.kind.as_deref(), Some("Lease"));
    assert_eq!(holder(&cluster).await, None, "another replica may have what this one lacks");
    assert_eq!(process.get("/healthz", None).await.code, 200, "a restart would not help");
    let ready = process.get("/readyz", None).await;
    assert_eq!(ready.code, 500, "{}", ready.body);
    says(&ready.body, &["[-]permissions failed", "readyz check failed"]);

    allow(&cluster, missing).await;
    process.says("the API server allows by now what the controllers need").await;
    initialized(&cluster, "honest-1").await;
    assert_eq!(process.get("/readyz", None).await.body, "ok");
    process.stop().await;
}

#[tokio::test]
async fn all_missing_rules_are_in_one_message() {
    let mut cluster = cluster().await;
    cluster.forbids();
    for resource in ["nodes", "nodes/status", "services", "services/status", "events"] {
        forbid(&cluster, resource).await;
    }
    let roles: Api<Role> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let mut taken = roles.get(ROLE).await.unwrap().rules.unwrap();
    taken.retain(|it| it.resource_names.as_deref() == Some([ROLE.to_owned()].as_slice()));
    roles.patch(ROLE, &PatchParams::default(), &Patch::Merge(json!({ "rules": [] }))).await.unwrap();
    for rule in &taken {
        refuses(&cluster, "kube-system", rule).await;
    }
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let mut process = setup.start();
    let text = warning(&mut process).await;
    let of_the_cluster = rules(&text, "the ClusterRole of");
    let resources: Vec<_> = of_the_cluster.iter().flat_map(|it| it.resources.clone().unwrap()).collect();
    assert_eq!(resources, ["nodes", "events", "nodes/status", "services", "services/status"]);
    let of_the_lease = rules(&text, "the Role in the namespace kube-system");
    assert_eq!(of_the_lease[1].resource_names.as_deref(), Some([ROLE.to_owned()].as_slice()));
    // It is asked again until something else is missing; what is the same is not said twice.
    allow(&cluster, of_the_cluster).await;
    let again = warning(&mut process).await;
    assert!(!again.contains("the ClusterRole of"), "{again}");
    assert_eq!(rules(&again, "the Role in the namespace kube-system"), of_the_lease);
    process.stop().await;
}

#[tokio::test]
async fn missing_rules_of_metrics_do_not_keep_nodes_waiting() {
    let mut cluster = cluster().await;
    cluster.forbids();
    forbid(&cluster, "subjectaccessreviews").await;
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let mut process = setup.start();
    let line = process.says("nobody can read /metrics").await;
    let missing = rules(message(&line), "the ClusterRole of");
    assert_eq!(missing[0].resources.as_deref(), Some(["subjectaccessreviews".to_owned()].as_slice()));
    initialized(&cluster, "honest-1").await;
    assert_eq!(process.get("/readyz", None).await.code, 200);
    let token = admin_token(&cluster).await;
    assert_eq!(process.get("/metrics", Some(&token)).await.code, 500);
    process.stop().await;
}

#[tokio::test]
async fn where_rights_cannot_be_asked_the_work_goes_on() {
    let cluster = cluster().await;
    let faults = tests::faults::Faults::new();
    let path = "/selfsubjectaccessreviews";
    faults.set(tests::faults::Fault::status(http::Method::POST, path, 403, "Forbidden", "injected refusal"));
    let overrides = aerostat::Overrides { client: Some(cluster.faulty(&faults)), ..aerostat::Overrides::default() };
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let settings = aerostat::RunSettings::parse(setup.arguments()).unwrap();
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    let asked_to_end = async {
        initialized(&cluster, "honest-1").await;
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), aerostat::run(settings, overrides, asked_to_end)).await;
    ended.expect("it ends in time").unwrap();
    assert!(!faults.answered().is_empty(), "it was asked");
}
