//! Changes of claims, their volumes, and attachments, in words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt;

use crate::cloud::{cut, short};

/// Describes what has changed about volumes. There is one claim, and one volume.
#[derive(Default)]
pub(crate) struct Volumes {
    /// The last lines about the claim.
    claim: Vec<String>,
    /// The PersistentVolume as it was first shown.
    volume: Option<PersistentVolume>,
    /// Attachments by their names.
    attachments: BTreeMap<String, SeenAttachment>,
}

#[derive(Clone, Default, PartialEq)]
struct SeenAttachment {
    node: String,
    /// The publish context that the node plugin reads, if it is attached.
    context: Option<String>,
    error: Option<String>,
    goes: bool,
}

impl Volumes {
    /// The changes since the claim was last shown.
    pub(crate) fn describe_claim(&mut self, claim: &PersistentVolumeClaim) -> Vec<String> {
        let spec = claim.spec.clone().unwrap_or_default();
        let requests = spec.resources.and_then(|it| it.requests).unwrap_or_default();
        let size = requests.get("storage").map(|it| it.0.clone()).unwrap_or_default();
        let mut lines = vec![format!("asks for {size} of class {}", spec.storage_class_name.unwrap_or_default())];
        let is_bound = claim.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound");
        if let Some(name) = spec.volume_name.filter(|_| is_bound) {
            lines.push(format!("is bound to {}", cut(&name)));
        }
        let new = lines.iter().filter(|it| !self.claim.contains(it)).cloned().collect();
        self.claim = lines;
        new
    }

    /// The PersistentVolume, when it comes.
    pub(crate) fn describe_volume(&mut self, volume: &PersistentVolume) -> Vec<String> {
        if self.volume.is_some() {
            return Vec::new();
        }
        self.volume = Some(volume.clone());
        let spec = volume.spec.clone().unwrap_or_default();
        let size = spec.capacity.and_then(|it| it.get("storage").map(|it| it.0.clone())).unwrap_or_default();
        let terms = spec.node_affinity.and_then(|it| it.required).map(|it| it.node_selector_terms).unwrap_or_default();
        let rows = terms.iter().flat_map(|it| it.match_expressions.iter().flatten());
        let places: Vec<_> =
            rows.map(|it| format!("{}={}", it.key, it.values.as_deref().unwrap_or_default().join(","))).collect();
        let handle = spec.csi.map(|it| it.volume_handle).unwrap_or_default();
        let (name, handle) = (cut(&volume.name_any()), short(&handle));
        vec![format!("{name} is saved: {size}, volume {handle}, for nodes with {}", places.join("  "))]
    }

    /// The changes since an attachment was last shown.
    pub(crate) fn describe_attachment(&mut self, attachment: &VolumeAttachment) -> Vec<String> {
        let now = SeenAttachment::of(attachment);
        let before = self.attachments.insert(attachment.name_any(), now.clone());
        let mut lines = Vec::new();
        let mut tell = |what: String| lines.push(format!("to {}: {what}", now.node));
        if before.is_none() {
            tell("asked for".to_owned());
        }
        let before = before.unwrap_or_default();
        if let Some(error) = now.error.as_ref().filter(|_| before.error != now.error) {
            tell(format!("not yet: {error}"));
        }
        if let Some(context) = now.context.as_ref().filter(|_| before.context != now.context) {
            let plugin =
                if context.is_empty() { "finds it by its name".to_owned() } else { format!("reads {context}") };
            tell(format!("attached, and the node plugin {plugin}"));
        }
        if now.goes && !before.goes {
            tell("is to go; its finalizer holds it until the disk is detached".to_owned());
        }
        lines
    }

    /// Forgets an attachment that is no more.
    pub(crate) fn forget_attachment(&mut self, name: &str) -> Vec<String> {
        self.attachments.remove(name).map(|it| format!("to {}: is gone", it.node)).into_iter().collect()
    }

    /// The PersistentVolume of the claim, once it is there.
    pub(crate) fn volume(&self) -> Option<&PersistentVolume> {
        self.volume.as_ref()
    }

    /// Whether the claim has its volume.
    pub(crate) fn is_bound(&self) -> bool {
        self.claim.len() > 1
    }

    /// Whether an attachment to this node is there, done or not.
    pub(crate) fn has_attachment(&self, node: &str) -> bool {
        self.attachments.values().any(|it| it.node == node)
    }

    /// Whether the volume is attached to the machine of this node.
    pub(crate) fn is_attached(&self, node: &str) -> bool {
        self.attachments.values().any(|it| it.node == node && it.context.is_some())
    }
}

impl SeenAttachment {
    fn of(attachment: &VolumeAttachment) -> SeenAttachment {
        let status = attachment.status.clone().unwrap_or_default();
        let context = status.attachment_metadata.unwrap_or_default();
        // A key's last part is what is particular to it.
        let shown = |(key, value): (&String, &String)| {
            let key = key.rsplit('/').next().unwrap_or_default();
            format!("{key}={}", cut(value))
        };
        let context: Vec<_> = context.iter().map(shown).collect();
        SeenAttachment {
            node: attachment.spec.node_name.clone(),
            context: status.attached.then(|| context.join("  ")),
            error: status.attach_error.or(status.detach_error).and_then(|it| it.message),
            goes: attachment.metadata.deletion_timestamp.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    const UID: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

    fn attachment(metadata: Value, status: Value) -> VolumeAttachment {
        let mut it = json!({ "metadata": { "name": "csi-1" }, "status": status,
            "spec": { "attacher": "a", "nodeName": "worker-1", "source": {} } });
        it["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        from_value(it).unwrap()
    }

    #[test]
    fn an_attachment_is_told_once_at_each_turn() {
        let mut volumes = Volumes::default();
        let asked = attachment(json!({}), json!({ "attached": false }));
        assert_eq!(volumes.describe_attachment(&asked), ["to worker-1: asked for"]);
        assert!(volumes.describe_attachment(&asked).is_empty());
        assert!(volumes.has_attachment("worker-1") && !volumes.is_attached("worker-1"));
        let context = json!({ "csi.example.com/volume-name": format!("pvc-{UID}") });
        let status = json!({ "attached": true, "attachmentMetadata": context });
        let attached = attachment(json!({}), status.clone());
        let told = "to worker-1: attached, and the node plugin reads volume-name=pvc-4de7ac8b…";
        assert_eq!(volumes.describe_attachment(&attached), [told]);
        assert!(volumes.is_attached("worker-1") && !volumes.is_attached("worker-2"));
        let going = attachment(json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }), status);
        let told = "to worker-1: is to go; its finalizer holds it until the disk is detached";
        assert_eq!(volumes.describe_attachment(&going), [told]);
        assert_eq!(volumes.forget_attachment("csi-1"), ["to worker-1: is gone"]);
        assert!(!volumes.has_attachment("worker-1"));
    }

    #[test]
    fn an_attachment_without_a_context_is_told_by_the_name() {
        let mut volumes = Volumes::default();
        let attached = attachment(json!({}), json!({ "attached": true }));
        let told = "to worker-1: attached, and the node plugin finds it by its name";
        assert_eq!(volumes.describe_attachment(&attached), ["to worker-1: asked for", told]);
        assert!(volumes.is_attached("worker-1"));
    }

    #[test]
    fn a_claim_and_its_volume_are_told() {
        let claim = |volume: Value, phase: &str| {
            from_value(json!({ "metadata": { "name": "data" }, "status": { "phase": phase }, "spec": {
                "storageClassName": "fast", "volumeName": volume, "resources": { "requests": { "storage": "10Gi" } } } }))
            .unwrap()
        };
        let mut volumes = Volumes::default();
        assert_eq!(volumes.describe_claim(&claim(json!(null), "Pending")), ["asks for 10Gi of class fast"]);
        let volume = from_value(json!({ "metadata": { "name": format!("pvc-{UID}") }, "spec": {
            "capacity": { "storage": "10Gi" }, "csi": { "driver": "a", "volumeHandle": format!("disks/{UID}") },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [
                { "key": "region", "operator": "In", "values": ["fra1"] } ] }] } } } }))
        .unwrap();
        let told = "pvc-4de7ac8b… is saved: 10Gi, volume disks/4de7ac8b…, for nodes with region=fra1";
        assert_eq!(volumes.describe_volume(&volume), [told]);
        assert!(volumes.describe_volume(&volume).is_empty() && !volumes.is_bound());
        let bound = claim(json!(format!("pvc-{UID}")), "Bound");
        assert_eq!(volumes.describe_claim(&bound), ["is bound to pvc-4de7ac8b…"]);
        assert!(volumes.is_bound() && volumes.describe_claim(&bound).is_empty());
    }
}
