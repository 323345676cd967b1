//! `CLUSTER=kubeconfig make demo`: the demo in somebody's cluster, of which it leaves all else as it is.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Node, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde_json::json;
use tests::audit_log::{AuditLog, Request};
use tests::control_plane::{ControlPlane, Options, cluster};
use tests::folder::Folder;
use tests::kubelet;

/// The user that aerostat is in the demo's namespace.
const USER: &str = "system:serviceaccount:aerostat-demo:aerostat";

fn demo(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    for other in ["CLOUD", "KEEP", "POD"] {
        command.env_remove(other);
    }
    command.env("CLUSTER", kubeconfig).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Plays it to its end.
fn played(kubeconfig: &Path) -> Output {
    tokio::task::block_in_place(|| demo(kubeconfig).output()).unwrap()
}

/// Plays it until a line contains `text`, and stops it as Ctrl-C does. Returns whether it succeeded, and what it said of errors.
fn stopped(kubeconfig: &Path, text: &str) -> (bool, String) {
    tokio::task::block_in_place(|| {
        let mut child = demo(kubeconfig).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.by_ref().map_while(Result::ok).find(|it| it.contains(text));
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        lines.for_each(drop);
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        let success = child.wait().unwrap().success();
        assert!(seen.is_some(), "it never came to {text:?}: {error}");
        (success, error)
    })
}

/// The names of everything that the demo could leave behind, and of much else.
async fn everything(admin: &Client) -> BTreeSet<String> {
    async fn names<K>(admin: &Client) -> Vec<String>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let all = Api::<K>::all(admin.clone()).list(&ListParams::default()).await.unwrap();
        let name = |it: K| format!("{} {:?} {}", K::kind(&()), it.namespace(), it.name_any());
        all.into_iter().map(name).collect()
    }
    let mut all = names::<Namespace>(admin).await;
    all.extend(names::<Node>(admin).await);
    all.extend(names::<Service>(admin).await);
    // kube-controller-manager makes those of its controllers when they are needed.
    let accounts = names::<ServiceAccount>(admin).await;
    all.extend(accounts.into_iter().filter(|it| !it.contains("kube-system")));
    all.extend(names::<ConfigMap>(admin).await);
    all.extend(names::<Lease>(admin).await);
    all.extend(names::<ClusterRole>(admin).await);
    all.extend(names::<ClusterRoleBinding>(admin).await);
    all.extend(names::<Role>(admin).await);
    all.extend(names::<RoleBinding>(admin).await);
    // The cluster's own controllers tell of nodes and Services, too. An event of theirs that the API server takes
    // while the namespace goes stays behind it.
    let of_cluster = ["node-controller", "endpoint-controller", "endpoint-slice-controller"];
    let events = Api::<Event>::all(admin.clone()).list(&ListParams::default()).await.unwrap();
    let of_aerostat = events.into_iter().filter(|event| {
        let source = event.source.as_ref().and_then(|it| it.component.as_deref()).unwrap_or_default();
        let about = event.involved_object.name.as_deref().unwrap_or_default();
        !of_cluster.contains(&source) && about != "theirs"
    });
    all.extend(of_aerostat.map(|it| format!("Event {:?} {:?}", it.source, it.message)));
    all.into_iter().collect()
}

/// Whatever came or went.
fn changes(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    before.symmetric_difference(after).cloned().collect()
}

/// A node that waits for a cloud manager, and a Service that waits for a load balancer: neither is the demo's.
async fn others(admin: &Client) {
    kubelet::join(admin, "theirs").await.unwrap();
    let service = serde_json::from_value(json!({ "metadata": { "name": "theirs" },
        "spec": { "type": "LoadBalancer", "selector": { "app": "theirs" }, "ports": [{ "port": 80 }] } }));
    let services: Api<Service> = Api::namespaced(admin.clone(), "default");
    services.create(&PostParams::default(), &service.unwrap()).await.unwrap();
}

/// Writes of the demo and of its aerostat, as `verb resource namespace/name`.
fn writes(audit: &AuditLog) -> Vec<(String, Request)> {
    let by_demo = |it: &Request| it.is_write() && (it.user.username == USER || it.user.username == "admin");
    let all = audit.everything().unwrap().into_iter().filter(by_demo);
    all.map(|it| (format!("{} {} {}/{}", it.verb, it.resource(), it.object.namespace, it.object.name), it)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_leaves_somebodys_cluster_as_it_was() {
    let options = Options { controller_manager: true, ..Options::default() };
    let control_plane = ControlPlane::start(options).await.unwrap();
    let (admin, kubeconfig) = (control_plane.admin().await.unwrap(), control_plane.admin_kubeconfig());
    others(&admin).await;
    // The controller manager makes what every cluster has.
    tests::wait::until("the namespaces have what they get", async || {
        let all = everything(&admin).await;
        let count = |kind: &str, name: &str| all.iter().filter(|it| it.starts_with(kind) && it.ends_with(name)).count();
        (count("ConfigMap", "kube-root-ca.crt") == 4 && count("ServiceAccount", "default") == 3).then_some(())
    })
    .await;
    let before = everything(&admin).await;
    let audit = control_plane.audit().from_now().unwrap();

    let (success, error) = stopped(&kubeconfig, "created, of type LoadBalancer");
    assert!(!success && error.contains("stopped; what the demo made in the cluster is removed"), "{error}");
    let changed = changes(&before, &everything(&admin).await);
    assert!(changed.is_empty(), "{changed:#?}");

    let played = played(&kubeconfig);
    let (out, error) = (String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
    assert!(played.status.success() && error.is_empty(), "{out}\n{error}");
    for part in [
        "taint gone   the demo's own, aerostat.dev/demo, stays",
        "is active at",
        "DeletedLoadBalancer",
        "E-EGRESS-PATH",
        "ModuleRolledBack",
        // Volumes are objects of the whole cluster, and no step of these.
        "[13/13]",
        "It is as it was",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("theirs"), "{out}");
    let changed = changes(&before, &everything(&admin).await);
    assert!(changed.is_empty(), "{changed:#?}");

    audit.settle(&admin).await.unwrap();
    let writes = writes(&audit);
    assert!(writes.iter().any(|it| it.0 == "patch nodes /worker-1") && writes.len() > 50, "{writes:#?}");
    let selected = "labelSelector=aerostat.dev%2Fdemo";
    for (write, request) in &writes {
        let object = &request.object;
        let is_own = object.namespace == "aerostat-demo" || object.name.starts_with("aerostat-demo");
        let is_of_node = matches!(object.resource.as_str(), "nodes" | "leases" | "events") && object.name != "theirs";
        let is_review = object.resource.ends_with("reviews");
        let is_allowed = match request.verb.as_str() {
            "deletecollection" => request.uri.contains(selected),
            _ => is_own || is_of_node || is_review,
        };
        assert!(is_allowed && request.response.code != 403, "{write}: {}", request.response.code);
    }
    // aerostat saw no others.
    let everything = audit.everything().unwrap();
    let of_all = everything.iter().filter(|it| it.user.username == USER && it.uri.starts_with("/api/v1/nodes?"));
    let unselected: Vec<_> = of_all.filter(|it| !it.uri.contains(selected)).collect();
    assert!(unselected.is_empty(), "{unselected:#?}");
    control_plane.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_refuses_a_cluster_that_it_could_disturb() {
    let cluster = cluster().await;
    let kubeconfig = cluster.control_plane.admin_kubeconfig();
    let folder = Folder::new();
    let refused = |kubeconfig: &Path, texts: &[&str]| {
        let played = played(kubeconfig);
        let error = String::from_utf8_lossy(&played.stderr).into_owned();
        assert_eq!(played.status.code(), Some(1), "{error}");
        assert!(texts.iter().all(|it| error.contains(it)) && error.contains("next: "), "{texts:?}: {error}");
    };
    refused(&folder.path("none"), &["there is no such file", "CLUSTER="]);
    refused(&folder.write("broken", "apiVersion: ["), &["broken cannot be used", "kubectl --kubeconfig"]);
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let unreached = text.replace(&format!(":{}", cluster.control_plane.port()), ":1");
    refused(&folder.write("unreached", unreached), &["https://127.0.0.1:1/ does not answer as an API server"]);
    let unknown = json!({ "token": "of-nobody" });
    let mut unknown_user: serde_json::Value = serde_json::from_str(&text).unwrap();
    unknown_user["users"][0]["user"] = unknown;
    refused(&folder.write("unknown", unknown_user.to_string()), &["cannot be used"]);
    refused(&cluster.kubeconfig, &["does not let this user create namespaces", "cluster administrator"]);

    let admin = &cluster.admin;
    let (nodes, leases) = (Api::<Node>::all(admin.clone()), Api::<Lease>::namespaced(admin.clone(), "kube-system"));
    let create = PostParams::default();
    let mut node = kubelet::node("theirs");
    node.spec.as_mut().unwrap().provider_id = Some("aws:///eu-west-1a/i-1".to_owned());
    nodes.create(&create, &node).await.unwrap();
    refused(&kubeconfig, &["node theirs belongs to a cloud", "aws:///eu-west-1a/i-1", "Nothing was changed"]);
    nodes.delete("theirs", &kube::api::DeleteParams::default()).await.unwrap();
    nodes.create(&create, &kubelet::node("worker-2")).await.unwrap();
    refused(&kubeconfig, &["there is a node worker-2", "Nothing was changed"]);
    nodes.delete("worker-2", &kube::api::DeleteParams::default()).await.unwrap();
    let lease: Lease =
        serde_json::from_value(json!({ "metadata": { "name": "k3s-cloud-controller-manager" }, "spec": {
        "holderIdentity": "server-1", "leaseDurationSeconds": 15, "renewTime": format!("{:.6}", Timestamp::now()) } }))
        .unwrap();
    leases.create(&create, &lease).await.unwrap();
    refused(&kubeconfig, &["server-1 holds the Lease kube-system/k3s-cloud-controller-manager", "Nothing was changed"]);

    cluster.audit().settle(admin).await.unwrap();
    let own = ["nodes", "leases", "selfsubjectaccessreviews"];
    let made = writes(cluster.audit()).into_iter().map(|it| it.0);
    let made: Vec<_> = made.filter(|it| !own.iter().any(|own| it.contains(own))).collect();
    assert!(made.is_empty(), "{made:#?}");
}
