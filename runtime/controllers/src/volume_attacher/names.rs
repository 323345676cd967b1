//! The names of attachments, by what each of them names. No client, no clock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::plan;

/// How often another id of a node is a reason to look at its attachments at once: a kubelet writes it, as often as it likes.
const AGAIN: Duration = Duration::from_secs(5);

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

/// The nodes whose attachments were looked at because of another id, and when.
#[derive(Debug, Default)]
pub(super) struct WokenNodes(HashMap<String, Instant>);

impl WokenNodes {
    /// A node has another id. Whether its attachments are looked at at once, and not when their own pauses end.
    pub(super) fn wake(&mut self, node: &str, now: Instant) -> bool {
        self.0.retain(|_, it| *it + AGAIN > now);
        let is_due = !self.0.contains_key(node);
        if is_due {
            self.0.insert(node.to_owned(), now);
        }
        is_due
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

    #[test]
    fn nodes_that_change_their_ids_all_the_time_wake_nobody() {
        let (mut woken, begin) = (WokenNodes::default(), Instant::now());
        assert!(woken.wake("n1", begin) && woken.wake("n2", begin), "a node plugin comes");
        let times = (1..100).filter(|it| woken.wake("n1", begin + AGAIN * *it / 10)).count();
        assert_eq!(times, 9, "once in five seconds");
        assert_eq!(woken.0.len(), 1, "the other one is forgotten");
    }
}
