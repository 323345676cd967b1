//! Where managed disks are, with the binary between a cluster and Azure.

use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::aerostat::USER;
use tests::clouds::azure::{Kind, World, id};
use tests::wait;

use crate::ground::Ground;

const ZONE: &str = "topology.kubernetes.io/zone";
/// The rights of the controller of volumes, which is not everybody's.
const ROLE: &str = "volumes-of-azure";

fn disk(name: &str) -> String {
    id(&format!("Microsoft.Compute/disks/{name}"))
}

fn add_disks(world: &mut World) {
    for (name, sku) in [("zonal", "Premium_LRS"), ("older", "Standard_LRS"), ("redundant", "Premium_ZRS")] {
        let body = json!({ "location": "westeurope", "zones": ["2"], "sku": { "name": sku }, "properties": {
            "diskSizeGB": 4, "creationData": { "createOption": "Empty" },
        } });
        world.insert(Kind::Disk, &disk(name), body);
    }
}

#[tokio::test]
async fn disks_of_azure_name_zones_and_an_unknown_one_fails_no_other() {
    let mut ground = Ground::resting(add_disks, |setup| setup).await;
    let volumes: Api<PersistentVolume> = Api::all(ground.cluster.admin.clone());
    let csi = |name: &str| json!({ "csi": { "driver": "disk.csi.azure.com", "volumeHandle": disk(name) } });
    let in_tree = json!({ "azureDisk": { "diskName": "older", "diskURI": disk("older"), "kind": "Managed" } });
    for (name, source) in [
        ("unknown", csi("nothing")),
        ("zonal", csi("zonal")),
        ("upper", csi(&"zonal".to_uppercase())),
        ("older", in_tree),
        ("redundant", csi("redundant")),
    ] {
        let mut volume: Value = json!({
            "metadata": { "name": name },
            "spec": { "capacity": { "storage": "4Gi" }, "accessModes": ["ReadWriteOnce"] },
        });
        volume["spec"].as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
        volumes.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
    }
    let admin = ground.cluster.admin.clone();
    let (roles, bindings): (Api<ClusterRole>, Api<ClusterRoleBinding>) = (Api::all(admin.clone()), Api::all(admin));
    let rule = json!({ "apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["list", "watch", "patch"] });
    let role = json!({ "metadata": { "name": ROLE }, "rules": [rule] });
    let binding = json!({
        "metadata": { "name": ROLE },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER }],
    });
    roles.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    ground.restart().await;
    for name in ["zonal", "upper", "older", "redundant"] {
        let zone = (name != "redundant").then_some("westeurope-2");
        let placed = wait::until(&format!("{name} has its region"), async || {
            let volume = volumes.get(name).await.ok()?;
            volume.metadata.labels.as_ref()?.contains_key("topology.kubernetes.io/region").then_some(volume)
        })
        .await;
        let labels = placed.metadata.labels.unwrap();
        assert_eq!(labels.get(ZONE).map(String::as_str), zone, "{name}");
        let affinity = json!(placed.spec.unwrap().node_affinity).to_string();
        assert_eq!(affinity.contains("westeurope-2"), zone.is_some(), "{name}: {affinity}");
    }
    let unknown = volumes.get("unknown").await.unwrap();
    assert!(unknown.metadata.labels.is_none() && unknown.spec.unwrap().node_affinity.is_none());
    ground.stop().await;
    bindings.delete(ROLE, &DeleteParams::default()).await.unwrap();
    roles.delete(ROLE, &DeleteParams::default()).await.unwrap();
}
