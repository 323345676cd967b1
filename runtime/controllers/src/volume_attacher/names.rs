//! The names of attachments, by what each of them names. No client, no clock.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;

use super::plan;

/// The names of attachments by PersistentVolume and by node: of ten thousand, an event concerns a few.
#[derive(Debug, Default)]
pub(super) struct NamesNear {
    by_volume: HashMap<String, BTreeSet<String>>,
    by_node: HashMap<String, BTreeSet<String>>,
}

impl NamesNear {
    /// An attachment is now as `after`, and was as `before`.
    pub(super) fn change(&mut self, before: Option<&VolumeAttachment>, after: Option<&VolumeAttachment>) {
        if let Some(before) = before {
            take(&mut self.by_node, &before.spec.node_name, &before.name_any());
            plan::volume_name(before).into_iter().for_each(|it| take(&mut self.by_volume, it, &before.name_any()));
        }
        if let Some(after) = after {
            let put = |names: &mut HashMap<String, BTreeSet<String>>, key: &str| {
                names.entry(key.to_owned()).or_default().insert(after.name_any());
            };
            put(&mut self.by_node, &after.spec.node_name);
            plan::volume_name(after).into_iter().for_each(|it| put(&mut self.by_volume, it));
        }
    }

    /// Those that name this PersistentVolume.
    pub(super) fn of_volume(&self, volume: &str) -> Vec<String> {
        self.by_volume.get(volume).into_iter().flatten().cloned().collect()
    }

    /// Those that name this node.
    pub(super) fn of_node(&self, node: &str) -> Vec<String> {
        self.by_node.get(node).into_iter().flatten().cloned().collect()
    }
}

fn take(names: &mut HashMap<String, BTreeSet<String>>, key: &str, name: &str) {
    if let Some(left) = names.get_mut(key) {
        left.remove(name);
        if left.is_empty() {
            names.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn attachment(name: &str, volume: &str, node: &str) -> VolumeAttachment {
        let spec = json!({ "attacher": "a", "nodeName": node, "source": { "persistentVolumeName": volume } });
        from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    #[test]
    fn attachments_are_found_by_volume_and_node() {
        let mut near = NamesNear::default();
        let (one, two) = (attachment("a", "pv-1", "n1"), attachment("b", "pv-1", "n2"));
        near.change(None, Some(&one));
        near.change(None, Some(&two));
        near.change(Some(&one), Some(&one));
        assert_eq!((near.of_volume("pv-1"), near.of_node("n1")), (vec!["a".into(), "b".into()], vec!["a".into()]));
        let again = attachment("a", "pv-2", "n2");
        near.change(Some(&one), Some(&again));
        assert_eq!((near.of_volume("pv-1"), near.of_volume("pv-2")), (vec!["b".into()], vec!["a".into()]));
        assert_eq!((near.of_node("n1").len(), near.of_node("n2").len()), (0, 2));
        near.change(Some(&again), None);
        near.change(Some(&two), None);
        assert!(near.by_volume.is_empty() && near.by_node.is_empty());
    }
}
