//! Objects of volumes that others write in a cluster, and the demo in their place: kube-controller-manager, the scheduler, and kubelets
//! with the vendor's node plugin.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ground::Ground;
use crate::vendor::ShownVolumes;

/// The name of the claim.
const CLAIM: &str = "data";
/// The name of the pod that uses it, which is made again at each node.
const POD: &str = "db";
/// The size that the claim asks for.
const SIZE: &str = "10Gi";

/// The vendor's CSIDriver and class.
pub(crate) async fn make_class(ground: &Ground, volumes: &ShownVolumes) -> Result<()> {
    let ShownVolumes { driver, class, .. } = volumes;
    let attached = json!({ "attachRequired": true, "podInfoOnMount": true });
    let csi_driver = json!({ "metadata": { "name": driver }, "spec": attached });
    create(&Api::<CSIDriver>::all(ground.admin.clone()), csi_driver).await?;
    let mode = if volumes.waits_for_pod { "WaitForFirstConsumer" } else { "Immediate" };
    let parameters: Value = volumes.parameters.iter().copied().collect();
    let class = json!({
        "metadata": { "name": class }, "provisioner": driver, "volumeBindingMode": mode, "parameters": parameters,
    });
    create(&Api::<StorageClass>::all(ground.admin.clone()), class).await
}

/// The node plugin's word for the machine of a node, which its kubelet writes.
pub(crate) async fn make_csi_node(ground: &Ground, volumes: &ShownVolumes, node: &str, machine: &str) -> Result<()> {
    let keys: Vec<_> = [volumes.place.0].into_iter().chain(volumes.further_key).collect();
    let drivers = json!([{ "name": volumes.driver, "nodeID": machine, "topologyKeys": keys }]);
    let csi_node = json!({ "metadata": { "name": node }, "spec": { "drivers": drivers } });
    create(&Api::<CSINode>::all(ground.admin.clone()), csi_node).await
}

/// The CSINode of a node that is gone goes with it.
pub(crate) async fn remove_csi_node(ground: &Ground, node: &str) -> Result<()> {
    let csi_nodes: Api<CSINode> = Api::all(ground.admin.clone());
    csi_nodes.delete(node, &DeleteParams::default()).await?;
    Ok(())
}

/// A claim, with the annotations by which kube-controller-manager gives it to the driver, once the scheduler has chosen a node
/// where the class waits for that.
pub(crate) async fn make_claim(ground: &Ground, volumes: &ShownVolumes, node: &str) -> Result<()> {
    let mut annotations = json!({ "volume.kubernetes.io/storage-provisioner": volumes.driver });
    if volumes.waits_for_pod {
        annotations["volume.kubernetes.io/selected-node"] = json!(node);
    }
    let claim = json!({
        "metadata": { "name": CLAIM, "annotations": annotations },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": volumes.class,
            "resources": { "requests": { "storage": SIZE } },
        },
    });
    create(&claims(ground), claim).await
}

/// The claim gets its volume, as by kube-controller-manager.
pub(crate) async fn bind(ground: &Ground, volume: &PersistentVolume) -> Result<()> {
    let (name, merge) = (volume.name_any(), PatchParams::default());
    let bound = Patch::Merge(json!({ "spec": { "volumeName": name } }));
    claims(ground).patch(CLAIM, &merge, &bound).await?;
    let volumes: Api<PersistentVolume> = Api::all(ground.admin.clone());
    volumes.patch_status(&name, &merge, &Patch::Merge(json!({ "status": { "phase": "Bound" } }))).await?;
    let capacity = volume.spec.as_ref().and_then(|it| it.capacity.clone());
    let status = json!({ "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": capacity });
    claims(ground).patch_status(CLAIM, &merge, &Patch::Merge(json!({ "status": status }))).await?;
    Ok(())
}

/// The pod on a node, with the claim.
pub(crate) async fn make_pod(ground: &Ground, node: &str) -> Result<()> {
    let pod = json!({
        "metadata": { "name": POD },
        "spec": {
            "nodeName": node,
            "containers": [{ "name": "main", "image": "example.com/db" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": CLAIM } }],
        },
    });
    create(&pods(ground), pod).await
}

/// Its kubelet has mounted the disk, and runs it.
pub(crate) async fn run_pod(ground: &Ground) -> Result<()> {
    let status = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    pods(ground).patch_status(POD, &PatchParams::default(), &status).await?;
    Ok(())
}

/// The pod is gone.
pub(crate) async fn remove_pod(ground: &Ground) -> Result<()> {
    pods(ground).delete(POD, &DeleteParams::default().grace_period(0)).await?;
    Ok(())
}

/// The attachment of the volume to a node, as kube-controller-manager makes it.
pub(crate) async fn attach(
    ground: &Ground,
    volumes: &ShownVolumes,
    volume: &PersistentVolume,
    node: &str,
) -> Result<()> {
    let name = attachment_name(volumes, volume, node)?;
    let source = json!({ "persistentVolumeName": volume.name_any() });
    let spec = json!({ "attacher": volumes.driver, "nodeName": node, "source": source });
    create(&attachments(ground), json!({ "metadata": { "name": name }, "spec": spec })).await
}

/// The volume is needed at that node no more.
pub(crate) async fn detach(
    ground: &Ground,
    volumes: &ShownVolumes,
    volume: &PersistentVolume,
    node: &str,
) -> Result<()> {
    let name = attachment_name(volumes, volume, node)?;
    attachments(ground).delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

/// The name that kube-controller-manager gives the attachment of a volume to a node.
fn attachment_name(volumes: &ShownVolumes, volume: &PersistentVolume, node: &str) -> Result<String> {
    let csi = volume.spec.as_ref().and_then(|it| it.csi.as_ref()).context("the PersistentVolume has no handle")?;
    let of = format!("{}{}{node}", csi.volume_handle, volumes.driver);
    Ok(format!("csi-{}", hex::encode(Sha256::digest(of))))
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

fn claims(ground: &Ground) -> Api<PersistentVolumeClaim> {
    Api::namespaced(ground.admin.clone(), ground.service_namespace())
}

fn pods(ground: &Ground) -> Api<Pod> {
    Api::namespaced(ground.admin.clone(), ground.service_namespace())
}

fn attachments(ground: &Ground) -> Api<VolumeAttachment> {
    Api::all(ground.admin.clone())
}
