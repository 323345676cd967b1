//! Attachments that another attacher has worked on. No client, no clock, no log.

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;

use super::plan::{self, HANDLE, NODE_ID};

/// Whether an attachment, which was known before, says only now that it is attached.
pub(super) fn becomes_attached(before: Option<&VolumeAttachment>, after: &VolumeAttachment) -> bool {
    before.is_some_and(|it| it.metadata.uid == after.metadata.uid && !plan::is_attached(it)) && plan::is_attached(after)
}

/// The work of another attacher, as a sentence without its full stop says it; `None` if a change of an attachment shows none. This one begins an
/// attachment with node id and handle in one write, and the vendor's with a node id alone. `is_said`: this process has said that it is attached.
pub(super) fn of_vendor(
    before: Option<&VolumeAttachment>,
    after: &VolumeAttachment,
    is_said: bool,
    driver: &str,
) -> Option<String> {
    if after.spec.attacher != driver {
        return None;
    }
    let is_begun = |it: &VolumeAttachment| it.annotations().contains_key(NODE_ID);
    let was_begun = before.is_some_and(|it| it.metadata.uid == after.metadata.uid && is_begun(it));
    let what = if is_begun(after) && !was_begun && !after.annotations().contains_key(HANDLE) {
        "begun"
    } else if becomes_attached(before, after) && !is_said {
        "said to be attached"
    } else {
        return None;
    };
    Some(format!("VolumeAttachment {} to node {} was {what} by another hand", after.name_any(), after.spec.node_name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    const DRIVER: &str = "csi.fakecloud.example";

    fn attachment(annotations: Value, is_attached: bool) -> VolumeAttachment {
        from_value(json!({
            "metadata": { "name": "csi-1", "uid": "1", "annotations": annotations },
            "spec": { "attacher": DRIVER, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } },
            "status": { "attached": is_attached },
        }))
        .unwrap()
    }

    fn is_vendors(before: Option<&VolumeAttachment>, after: &VolumeAttachment, is_said: bool) -> bool {
        of_vendor(before, after, is_said, DRIVER).is_some()
    }

    /// Cases: csi 74
    #[test]
    fn an_attachment_that_another_attacher_begins_is_noticed() {
        let (new, begun) = (attachment(json!({}), false), attachment(json!({ NODE_ID: "7" }), false));
        assert!(is_vendors(Some(&new), &begun, false) && is_vendors(None, &begun, false));
        assert!(!is_vendors(Some(&begun), &begun, false), "it was like that");
        assert!(!is_vendors(Some(&new), &new, false) && !is_vendors(None, &new, false));
        let own = attachment(json!({ NODE_ID: "7", HANDLE: "vol-1" }), false);
        assert!(!is_vendors(Some(&new), &own, false), "as it is begun here");
        let left = attachment(json!({ HANDLE: "vol-1" }), false);
        assert!(!is_vendors(Some(&own), &left, false) && !is_vendors(Some(&left), &own, false));
        assert_eq!(of_vendor(Some(&new), &begun, false, "another"), None);
    }

    /// Cases: csi 74
    #[test]
    fn an_attachment_that_another_attacher_ends_is_noticed() {
        let own = |is_attached| attachment(json!({ NODE_ID: "7", HANDLE: "vol-1" }), is_attached);
        assert!(is_vendors(Some(&own(false)), &own(true), false));
        assert!(!is_vendors(Some(&own(false)), &own(true), true), "it was said here");
        assert!(!is_vendors(Some(&own(true)), &own(false), false) && !is_vendors(Some(&own(true)), &own(true), false));
        assert!(!is_vendors(None, &own(true), false), "nobody has seen how it became that");
        let mut again = own(true);
        again.metadata.uid = Some("2".to_owned());
        assert!(!is_vendors(Some(&own(false)), &again, false), "another one of the same name");
    }
}
