//! The ground of the story: an account with two droplets, a cluster with their nodes, classes, and aerostat's configuration.

use std::time::Duration;

use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::clouds::digitalocean::{ActionTime, Droplet, Options, Simulator};
use crate::control_plane::Cluster;
use crate::kubelet;
use crate::operator::Setup;

/// The driver's name.
pub(super) const DRIVER: &str = "dobs.csi.digitalocean.com";
/// The region of all droplets and volumes, which is the key of the driver's places, too.
pub(super) const REGION: &str = "fra1";
/// The nodes, each with its droplet. Other tests leave pods on nodes of other names.
pub(super) const NODES: [(&str, u64); 2] = [("csi-worker-1", 3_164_494), ("csi-worker-2", 3_164_495)];

/// Two for each choice that a class has: when a volume is made, and what becomes of it.
const CLASSES: [(&str, &str, &str); 2] =
    [("csi-now", "Immediate", "Delete"), ("csi-later", "WaitForFirstConsumer", "Retain")];

/// How long each attachment, detachment and growth goes on after the answer: a few seconds, as at the cloud itself.
const ACTION: Duration = Duration::from_secs(3);

/// The controllers of kube-controller-manager that the story needs.
const CONTROLLERS: &str = "--controllers=persistentvolume-binder-controller,persistentvolume-attach-detach-controller,\
                           persistentvolume-expander-controller,persistentvolumeclaim-protection-controller,\
                           persistentvolume-protection-controller,serviceaccount-controller";

/// An account with the droplets.
pub(super) async fn account() -> Simulator {
    let cloud = Simulator::start(Options::default()).await.expect("a port on loopback is free");
    for (name, id) in NODES {
        cloud.droplets().insert(Droplet { region: REGION.to_owned(), ..Droplet::new(id, name) });
    }
    cloud.volumes().behave(|it| it.action = ActionTime::Takes(ACTION));
    cloud
}

/// A cluster with their nodes, where aerostat may manage volumes.
pub(super) async fn cluster() -> Cluster {
    let cluster = crate::control_plane::cluster().await;
    cluster.follow("../docs/volumes.md").await;
    for (name, id) in NODES {
        let mut node = kubelet::node(name);
        node.labels_mut().insert("region".to_owned(), REGION.to_owned());
        let managed = "volumes.kubernetes.io/controller-managed-attach-detach".to_owned();
        node.annotations_mut().insert(managed, "true".to_owned());
        kubelet::join_as(&cluster.admin, node).await.expect("the API server takes a node");
        let driver = json!({
            "name": DRIVER, "nodeID": id.to_string(), "topologyKeys": ["region"], "allocatable": { "count": 7 },
        });
        made::<CSINode>(&cluster, json!({ "metadata": { "name": name }, "spec": { "drivers": [driver] } })).await;
    }
    for (name, binding, policy) in CLASSES {
        let class = json!({
            "metadata": { "name": name }, "provisioner": DRIVER, "allowVolumeExpansion": true,
            "volumeBindingMode": binding, "reclaimPolicy": policy,
        });
        made::<StorageClass>(&cluster, class).await;
    }
    let flags = ["--leader-elect=false", CONTROLLERS].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).expect("kube-controller-manager starts");
    cluster
}

async fn made<K>(cluster: &Cluster, object: Value)
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object = serde_json::from_value(object).expect("it is such an object");
    let api: Api<K> = Api::all(cluster.admin.clone());
    api.create(&PostParams::default(), &object).await.expect("the API server takes it");
}

/// Aerostat as it manages volumes and nothing else, with the rules of the provider's page.
pub(super) fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let rules = json!([
        { "methods": ["GET"], "paths": ["/v2/account"] },
        { "methods": ["GET"], "paths": ["/v2/droplets", "/v2/droplets/*"] },
        { "methods": ["GET"], "paths": ["/v2/volumes", "/v2/volumes/*", "/v2/volumes/*/actions"] },
        {
            "methods": ["POST"], "paths": ["/v2/volumes"],
            "fields": ["description", "name", "region", "size_gigabytes", "tags"],
        },
        { "methods": ["DELETE"], "paths": ["/v2/volumes/*"], "only": [] },
        {
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"], "effect": "update",
            "fields": ["droplet_id", "region"], "body": { "type": ["attach"] },
        },
        {
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"],
            "fields": ["region", "size_gigabytes"], "body": { "type": ["resize"] },
        },
        {
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"], "effect": "detach",
            "fields": ["droplet_id", "region"], "body": { "type": ["detach"] },
        },
    ]);
    Setup::digitalocean(cluster, cloud)
        .edit(|config| {
            config["provider"]["settings"] = json!({ "volumes": "true", "createAgainAfter": "1s" });
            config["endpoints"][0]["allow"] = rules;
        })
        .flags(&["--controllers=volume-provisioner,volume-attacher,volume-expander"])
}
