//! Objects as their least authors can make them: a kubelet its own Node, an editor of one namespace a Service, an author of
//! volumes a PersistentVolume. None of them ends a process that starts with it, and none keeps it from the others.
//!
//! Cases: adv_155

use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Map, Value, json};
use tests::control_plane::{Cluster, apply};
use tests::operator::{Process, initialized};
use tests::rig::nodes::node_when;
use tests::vendor::{Behaviour, Hetzner};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, service, worker};

const FLAGS: [&str; 2] = ["--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16"];

/// So many objects are there more at each start.
const AT_A_TIME: usize = 5;

/// Nodes that were there before all others, as in a cluster that is used.
const WORKERS: u64 = 6;

/// The rights of an editor and of an author of volumes. The role `edit` is written out: no controller aggregates it
/// here.
const ROLES: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: tests-editor, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:aggregate-to-edit' }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: editor }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: tests-volumes }
rules: [{ apiGroups: [''], resources: [persistentvolumes], verbs: [create, get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: tests-volumes }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tests-volumes }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: provisioner }]
";

/// An object, and what an event about it says, if one has to.
type Made = (&'static str, Value, Option<&'static str>);

/// A Node as its kubelet makes it, with this merged into it.
fn node_with(name: &'static str, patch: Value, told: Option<&'static str>) -> Made {
    let mut node = serde_json::to_value(kubelet::node(name)).unwrap();
    merge(&mut node, patch);
    (name, node, told)
}

fn node_in(name: &'static str, cidrs: &[&str], told: Option<&'static str>) -> Made {
    node_with(name, json!({ "spec": { "podCIDR": cidrs[0], "podCIDRs": cidrs } }), told)
}

/// A Service of type LoadBalancer with this merged into it.
fn service_with(name: &'static str, patch: Value, told: Option<&'static str>) -> Made {
    let mut object = serde_json::to_value(service(name, &[80], &[])).unwrap();
    merge(&mut object, patch);
    (name, object, told)
}

fn annotated(name: &'static str, annotations: Value, told: Option<&'static str>) -> Made {
    service_with(name, json!({ "metadata": { "annotations": annotations } }), told)
}

/// A PersistentVolume with this source, and this merged into it.
fn volume_with(name: &'static str, source: Value, patch: Value) -> Made {
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": name },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
        },
    });
    merge(&mut volume, json!({ "spec": source }));
    merge(&mut volume, patch);
    (name, volume, None)
}

/// A merge patch, by RFC 7386.
fn merge(object: &mut Value, patch: Value) {
    match patch {
        Value::Object(patch) => {
            if !object.is_object() {
                *object = json!({});
            }
            let fields: &mut Map<String, Value> = object.as_object_mut().unwrap();
            for (key, value) in patch {
                merge(fields.entry(key).or_insert(Value::Null), value);
            }
        }
        value => *object = value,
    }
}

fn nodes() -> Vec<Made> {
    let addresses = |of: fn(u32) -> String| {
        let all: Vec<_> = (0..300).map(|it| json!({ "type": "InternalIP", "address": of(it) })).collect();
        json!({ "status": { "addresses": all } })
    };
    let labels: Map<_, _> = (0..600).map(|it| (format!("example.com/label-{it}"), json!("x"))).collect();
    let long = "x".repeat(200_000);
    vec![
        node_in("foreign", &["10.9.0.0/24"], Some("The pod network 10.9.0.0/24 is outside --cluster-cidr")),
        node_in("everything", &["0.0.0.0/0"], Some("The pod network 0.0.0.0/0 is wider than a node's part")),
        node_in("cluster", &["10.244.0.0/16"], Some("The pod network 10.244.0.0/16 is wider than a node's part")),
        node_in("half", &["10.244.128.0/17"], Some("The pod network 10.244.128.0/17 is wider than a node's part")),
        node_in("everything-v6", &["::/0"], Some("The pod network ::/0 is outside --cluster-cidr")),
        node_in("both", &["10.244.77.0/24", "fd00::/64"], Some("fd00::/64 is one more than --cluster-cidr has")),
        node_in("thief", &["10.244.0.0/24"], Some("The pod network 10.244.0.0/24 overlaps that of node worker-")),
        node_with("addresses", addresses(|it| format!("10.1.{}.{}", it / 256, it % 256)), None),
        node_with("no-addresses", addresses(|it| format!("\u{1b}[2J nonsense\n{it}")), None),
        node_with(
            "annotations",
            json!({ "metadata": { "labels": labels, "annotations": {
                "alpha.kubernetes.io/provided-node-ip": "nonsense\n",
                "aerostat.dev/pod-cidr-mark": "\u{0}",
                "example.com/long": long,
            } } }),
            None,
        ),
        node_with("provider-id", json!({ "spec": { "providerID": "hcloud://99999999999999999999999999/../1" } }), None),
        node_with(
            "conditions",
            json!({ "status": { "conditions": [
                { "type": "NetworkUnavailable", "status": "nonsense", "lastTransitionTime": null },
                { "type": "NetworkUnavailable", "status": "False", "lastTransitionTime": "0001-01-01T00:00:00Z" },
                { "type": "Ready", "status": "", "lastHeartbeatTime": "9999-12-31T23:59:59Z" },
            ] } }),
            None,
        ),
    ]
}

fn services() -> Vec<Made> {
    let ports: Vec<_> = (1..=2_000).map(|it| json!({ "name": format!("p-{it}"), "port": it })).collect();
    let hetzner = |name: &str| format!("load-balancer.hetzner.cloud/{name}");
    vec![
        service_with(
            "huge",
            json!({ "spec": { "allocateLoadBalancerNodePorts": false, "ports": ports } }),
            Some("2000 ports, and a provider is given 1500"),
        ),
        annotated("long", json!({ hetzner("http-certificates"): "x,".repeat(60_000) }), Some("given 65536 at most")),
        annotated("id", json!({ hetzner("id"): "-1\n\u{0}\u{1b}[2J" }), None),
        annotated("name", json!({ hetzner("name"): "\u{202e}\n".repeat(200) }), None),
        annotated("selector", json!({ hetzner("node-selector"): "((( in ,,!=" }), None),
        annotated(
            "numbers",
            json!({
                hetzner("health-check-interval"): "99999999999999999999999h",
                hetzner("health-check-port"): "-80",
                hetzner("health-check-retries"): "NaN",
                hetzner("uses-proxyprotocol"): "perhaps",
            }),
            None,
        ),
        service_with("ip", json!({ "spec": { "loadBalancerIP": "nonsense\n" } }), None),
        service_with(
            "finalizers",
            json!({ "metadata": {
                "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
                "labels": { "service.kubernetes.io/service-proxy-name": "other" },
            }, "spec": { "type": "ClusterIP" } }),
            None,
        ),
        service_with("sctp", json!({ "spec": { "ports": [{ "port": 80, "protocol": "SCTP" }] } }), None),
        service_with("no-selector", json!({ "spec": { "selector": null, "externalTrafficPolicy": "Local" } }), None),
    ]
}

fn volumes() -> Vec<Made> {
    let csi = |handle: String| json!({ "csi": { "driver": "csi.hetzner.cloud", "volumeHandle": handle } });
    let attributes: Map<_, _> = (0..2_000).map(|it| (format!("key-{it}"), json!("x".repeat(100)))).collect();
    let terms = json!([
        { "matchExpressions": [{ "key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a", "b"] }] },
        { "matchExpressions": [{ "key": "topology.kubernetes.io/zone", "operator": "Gt", "values": ["7"] }] },
        { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["worker-1"] }] },
    ]);
    vec![
        volume_with("path", csi("../../servers/1?x=1#\n\u{0}".to_owned()), json!({})),
        volume_with("handle", csi("9".repeat(100_000)), json!({})),
        volume_with(
            "attributes",
            csi("17".to_owned()),
            json!({ "spec": { "csi": { "volumeAttributes": attributes } } }),
        ),
        volume_with(
            "labels",
            csi("18".to_owned()),
            json!({ "metadata": { "labels": {
                "topology.kubernetes.io/zone": "a__b__c", "topology.kubernetes.io/region": "",
            } }, "spec": { "nodeAffinity": { "required": { "nodeSelectorTerms": terms } } } }),
        ),
        volume_with(
            "aws",
            json!({ "awsElasticBlockStore": { "volumeID": "aws://\n/vol-", "partition": 255 } }),
            json!({}),
        ),
        volume_with("gce", json!({ "gcePersistentDisk": { "pdName": "/..//" } }), json!({})),
    ]
}

/// The cloud and the process that must serve the other users, whatever has been made so far.
struct Others {
    rig: CloudRig<Hetzner>,
    machines: u64,
}

impl Others {
    async fn client(&self, user: &str, group: &str) -> Client {
        self.rig.cluster.control_plane.user(user, &[group, "system:authenticated"]).await.unwrap()
    }

    /// Starts the process. It is ready, a node joins and gets a pod network and its route, and a Service is served.
    async fn are_served(&mut self, made: &str) {
        let process = self.rig.setup.started().await;
        wait::until(&format!("the process is ready, with {made}"), async || {
            (process.ask(Method::GET, "/readyz", None).await.code == 200).then_some(())
        })
        .await;
        let (id, name) = (self.machines + 1, worker(self.machines + 1));
        self.machines = id;
        self.rig.add_machine(id);
        kubelet::join(&self.rig.cluster.admin, &name).await.unwrap();
        initialized(&self.rig.cluster, &name).await;
        node_when(&self.rig.cluster, &name, |it| it.spec.as_ref().is_some_and(|it| it.pod_cidrs.is_some())).await;
        node_when(&self.rig.cluster, &name, has_route).await;
        let web = format!("web-{id}");
        self.rig.create(&service(&web, &[80], &[])).await;
        self.rig.served(&web).await;
        self.check(&process, made).await;
        process.stop().await;
    }

    async fn check(&self, process: &Process, made: &str) {
        let answer = process.ask(Method::GET, "/healthz", None).await;
        assert_eq!(answer.code, 200, "{made}: {}", answer.body);
        let quarantined =
            self.rig.all_events().await.into_iter().find(|it| it.reason.as_deref() == Some("ProviderQuarantined"));
        assert!(quarantined.is_none(), "{made}: {quarantined:?}");
    }

    async fn told(&self, name: &str, part: &str) {
        let told = wait::within(Duration::from_secs(30), async || {
            let events = self.rig.events(name).await;
            events.into_iter().find(|it| it.message.as_deref().is_some_and(|it| it.contains(part)))
        });
        assert!(told.await.is_some(), "no event about {name} says {part:?}: {:#?}", self.rig.events(name).await);
    }
}

fn has_route(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False")
}

async fn others() -> Others {
    let rig = CloudRig::<Hetzner>::with(Behaviour::default()).await.flags(&FLAGS);
    apply(&rig.cluster.admin, ROLES).await.unwrap();
    let process = rig.setup.started().await;
    rig.workers(WORKERS).await;
    for id in 1..=WORKERS {
        node_when(&rig.cluster, &worker(id), has_route).await;
    }
    process.stop().await;
    Others { rig, machines: WORKERS }
}

/// Sends an object as it is: no type of ours stands between.
async fn created(client: &Client, path: &str, object: &Value, name: &str) {
    let body = serde_json::to_vec(object).unwrap();
    let request = http::Request::post(path).header("content-type", "application/json").body(body).unwrap();
    if let Err(error) = client.request::<Value>(request).await {
        panic!("its least author cannot make {name}, so that it proves nothing: {error}");
    }
}

/// Makes objects, some at a time: each by its author, and then the others are served by a process that starts with all of them.
async fn others_are_served_beside(path: &str, objects: &[Made], author: impl AsyncFn(&Others, &str) -> Client) {
    let mut others = others().await;
    for some in objects.chunks(AT_A_TIME) {
        for (name, object, _) in some {
            created(&author(&others, name).await, path, object, name).await;
        }
        let names: Vec<_> = some.iter().map(|(name, ..)| *name).collect();
        others.are_served(&names.join(", ")).await;
        for (name, _, told) in some {
            if let Some(part) = told {
                others.told(name, part).await;
            }
        }
    }
}

#[tokio::test]
async fn adv_155_no_node_of_its_kubelet_ends_the_process() {
    let kubelet =
        async |others: &Others, name: &str| others.client(&format!("system:node:{name}"), "system:nodes").await;
    others_are_served_beside("/api/v1/nodes", &nodes(), kubelet).await;
}

#[tokio::test]
async fn adv_155_no_service_of_an_editor_ends_the_process() {
    let editor = async |others: &Others, _: &str| others.client("editor", "editors").await;
    others_are_served_beside("/api/v1/namespaces/default/services", &services(), editor).await;
}

#[tokio::test]
async fn adv_155_no_volume_of_its_author_ends_the_process() {
    let author = async |others: &Others, _: &str| others.client("provisioner", "provisioners").await;
    others_are_served_beside("/api/v1/persistentvolumes", &volumes(), author).await;
}

/// The rights that these tests hand out are no more than the least.
#[tokio::test]
async fn adv_155_least_authors_have_no_rights_beyond_their_own() {
    let cluster = tests::control_plane::cluster().await;
    apply(&cluster.admin, ROLES).await.unwrap();
    let refused = async |cluster: &Cluster, user: &str, group: &str| {
        let client = cluster.control_plane.user(user, &[group, "system:authenticated"]).await.unwrap();
        let node: Node = kubelet::node("another");
        let made = Api::<Node>::all(client).create(&PostParams::default(), &node).await;
        assert!(matches!(made, Err(kube::Error::Api(status)) if status.code == 403), "{user}");
    };
    refused(&cluster, "system:node:own", "system:nodes").await;
    refused(&cluster, "editor", "editors").await;
    refused(&cluster, "provisioner", "provisioners").await;
}
