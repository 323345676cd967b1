//! Changes of nodes, as the watch shows them, that matter to routes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::node_object::KubeNode;
use cloud_provider::CurrentDescription;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::debounce::Debounce;
use crate::node_fields::{current_addresses, is_waiting, label, place, provider_id};
use crate::nodes::Nodes;
use crate::route::networks::pod_cidrs;

/// While so many nodes wait to be initialised, a change does not make a pass at once: it is the first of many.
const MANY: usize = 8;

/// Changes of nodes that wait for a pass, and what was seen with certainty.
#[derive(Clone, Default)]
pub(super) struct NodeChanges(Arc<SharedChanges>);

#[derive(Default)]
struct SharedChanges {
    noted: Mutex<Noted>,
    wake: Notify,
}

#[derive(Default)]
struct Noted {
    waiting: Option<Debounce>,
    /// When routes were last changed.
    worked: Option<Instant>,
    seen: SeenNodes,
}

/// UIDs of nodes about which the watch has said so itself: the difference of two lists proves nothing.
#[derive(Debug, Default)]
pub(super) struct SeenNodes {
    pub(super) deleted: HashSet<String>,
    /// Those that came, or changed in what their routes depend on.
    pub(super) changed: HashSet<String>,
}

impl NodeChanges {
    /// Notes every change of nodes from now on. The provider with this description may be shown labels of nodes.
    pub(super) fn of(nodes: &Nodes, cloud: CurrentDescription) -> Self {
        let changes = Self::default();
        let (noted, known) = (changes.clone(), nodes.clone());
        nodes.listen(move |before, after| noted.wake_by(before, after, &cloud.now().shown_labels, known.waiting()));
        let noted = changes.clone();
        nodes.listen_to_watch(move |before, after| noted.see(before, after));
        let (noted, known) = (changes.clone(), nodes.clone());
        // What the cloud says of an instance comes back to the provider with its node, once that is initialised.
        nodes.listen_for_evidence(move |name| {
            if known.get(name).is_some_and(|it| !pod_cidrs(&it).is_empty() && !is_waiting(&it)) {
                noted.wake(known.waiting());
            }
        });
        changes
    }

    /// Waits until nodes have changed, and have been quiet for a moment.
    pub(super) async fn settled(&self) {
        loop {
            let waiting = self.0.noted.lock().waiting;
            let Some(waiting) = waiting else {
                self.0.wake.notified().await;
                continue;
            };
            if waiting.due() <= Instant::now() {
                return;
            }
            let _ = tokio::time::timeout_at(waiting.due(), self.0.wake.notified()).await;
        }
    }

    /// The changes since the last time. Those that come from now on are for the next pass.
    pub(super) fn take(&self) -> SeenNodes {
        let mut noted = self.0.noted.lock();
        noted.waiting = None;
        std::mem::take(&mut noted.seen)
    }

    /// Routes were changed just now: what comes next may be one of many.
    pub(super) fn worked(&self) {
        self.0.noted.lock().worked = Some(Instant::now());
    }

    fn wake_by(&self, before: Option<&KubeNode>, after: Option<&KubeNode>, shown_labels: &[String], joining: usize) {
        // Another label makes a pass, and is no proof that the node has changed: its kubelet writes it.
        let is_relevant = matters(before, after) || differ_in_labels(before, after, shown_labels);
        if is_relevant && calls_for_a_pass(before, after) {
            self.wake(joining);
        }
    }

    /// A change comes while so many nodes wait to be initialised.
    fn wake(&self, joining: usize) {
        let mut noted = self.0.noted.lock();
        let debounce = Debounce::noted(noted.waiting, noted.worked, Instant::now());
        noted.waiting = Some(if joining < MANY { debounce } else { debounce.of_many() });
        self.0.wake.notify_one();
    }

    fn see(&self, before: Option<&KubeNode>, after: Option<&KubeNode>) {
        let uid = |it: &KubeNode| it.metadata.uid.clone();
        let mut noted = self.0.noted.lock();
        if after.and_then(uid) != before.and_then(uid) {
            noted.seen.deleted.extend(before.and_then(uid));
        }
        if matters(before, after) {
            noted.seen.changed.extend(after.and_then(uid));
        }
    }
}

/// Whether a change may be one of routes: a node that comes or goes, with other pod networks, or that is reached elsewhere.
fn matters(before: Option<&KubeNode>, after: Option<&KubeNode>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    before.metadata.uid != after.metadata.uid
        || pod_cidrs(before) != pod_cidrs(after)
        || current_addresses(before) != current_addresses(after)
        || provider_id(before) != provider_id(after)
        || is_waiting(before) != is_waiting(after)
        || place(before) != place(after)
}

/// Whether a node shows the provider another label, by which no route may lead to it.
fn differ_in_labels(before: Option<&KubeNode>, after: Option<&KubeNode>, shown_labels: &[String]) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    shown_labels.iter().any(|it| label(before, it) != label(after, it))
}

/// Whether there may be something to do: not for a node that comes without a network, or is still to be initialised.
fn calls_for_a_pass(before: Option<&KubeNode>, after: Option<&KubeNode>) -> bool {
    let may_have_route = |node: &KubeNode| !is_waiting(node) && !pod_cidrs(node).is_empty();
    let Some(after) = after else { return true };
    let is_other = |before: &KubeNode| before.metadata.uid != after.metadata.uid;
    may_have_route(after) || before.is_some_and(|before| is_other(before) || may_have_route(before))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cloud_provider::Description;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;

    fn node(edit: impl FnOnce(&mut Value)) -> KubeNode {
        let mut node = json!({
            "metadata": { "name": "n1", "uid": "u1", "resourceVersion": "1" },
            "spec": { "podCIDRs": ["10.244.1.0/24"], "providerID": "cloud://1" },
            "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] },
        });
        edit(&mut node);
        serde_json::from_value(node).unwrap()
    }

    #[test]
    fn case_194_other_nodes_networks_and_addresses_matter() {
        let before = node(|_| {});
        assert!(matters(None, Some(&before)), "added");
        assert!(matters(Some(&before), None), "deleted");
        let check = |path: &str, value: Value, expected: bool| {
            let after = node(|it| *it.pointer_mut(path).unwrap() = value);
            assert_eq!(matters(Some(&before), Some(&after)), expected, "{path}");
        };
        check("/spec/podCIDRs", json!(["10.244.2.0/24"]), true);
        check("/status/addresses", json!([{ "type": "InternalIP", "address": "10.0.0.2" }]), true);
        check("/metadata/uid", json!("u2"), true);
        check("/spec/providerID", json!("cloud://2"), true);
        check("/metadata/resourceVersion", json!("2"), false);
        let with = |edit: fn(&mut Value)| matters(Some(&before), Some(&node(edit)));
        assert!(!with(|it| it["status"]["conditions"] = json!([{ "type": "Ready", "status": "False" }])));
        assert!(!with(|it| it["status"]["images"] = json!([{ "names": ["image"] }])));
        assert!(!with(|it| it["metadata"]["labels"] = json!({ "a": "b" })));
    }

    #[test]
    fn a_node_that_can_have_no_route_makes_no_pass() {
        let bare = node(|it| it["spec"]["podCIDRs"] = json!([]));
        let taint = json!([{ "key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule" }]);
        let joining = node(|it| it["spec"]["taints"] = taint.clone());
        let (ready, other) = (node(|_| {}), node(|it| it["metadata"]["uid"] = json!("u2")));
        for nothing in [&bare, &joining] {
            assert!(!calls_for_a_pass(None, Some(nothing)) && !calls_for_a_pass(Some(nothing), Some(nothing)));
            assert!(calls_for_a_pass(Some(nothing), Some(&ready)) && calls_for_a_pass(Some(&ready), Some(nothing)));
            assert!(calls_for_a_pass(Some(nothing), None), "its network may have a route of an earlier node");
            assert!(calls_for_a_pass(Some(&other), Some(nothing)), "another node is gone");
        }
        assert!(calls_for_a_pass(None, Some(&ready)));
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_gathered_and_only_the_watch_is_a_witness() {
        let (nodes, mut writer) = Nodes::new();
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitApply(node(|_| {})), &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        let changes = NodeChanges::of(&nodes, CurrentDescription::default());
        changes.take();
        changes.worked();
        let begin = Instant::now();
        let other = node(|it| it["metadata"] = json!({ "name": "n2", "uid": "u2" }));
        nodes.apply(Event::Apply(other.clone()), &mut writer);
        changes.settled().await;
        assert_eq!(begin.elapsed(), Duration::from_secs(1));
        let seen = changes.take();
        assert_eq!((seen.changed, seen.deleted), (HashSet::from(["u2".to_owned()]), HashSet::new()));
        // A list that lacks nodes, as of an API server that was restored from a backup.
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitApply(other.clone()), &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        changes.settled().await;
        assert!(changes.take().deleted.is_empty(), "nobody has seen that n1 was deleted");
        nodes.apply(Event::Delete(other), &mut writer);
        changes.settled().await;
        assert_eq!(changes.take().deleted, HashSet::from(["u2".to_owned()]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_label_that_the_provider_is_shown_makes_a_pass() {
        let (nodes, mut writer) = Nodes::new();
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitApply(node(|_| {})), &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        let cloud = Description { shown_labels: vec!["exclude".to_owned()], ..Description::default() };
        let changes = NodeChanges::of(&nodes, Arc::new(cloud).into());
        changes.take();
        let mut labelled = async |labels: Value, is_pass: bool| {
            nodes.apply(Event::Apply(node(|it| it["metadata"]["labels"] = labels.clone())), &mut writer);
            let pass = tokio::time::timeout(Duration::from_secs(60), changes.settled()).await;
            assert_eq!(pass.is_ok(), is_pass, "{labels}");
            assert!(changes.take().changed.is_empty(), "a kubelet's label proves nothing");
        };
        labelled(json!({ "a": "b" }), false).await;
        labelled(json!({ "a": "b", "exclude": "" }), true).await;
        labelled(json!({ "exclude": "" }), false).await;
        labelled(json!({}), true).await;
    }

    #[tokio::test(start_paused = true)]
    async fn case_197_a_change_after_a_rest_makes_a_pass_at_once() {
        let (nodes, mut writer) = Nodes::new();
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        let changes = NodeChanges::of(&nodes, CurrentDescription::default());
        changes.worked();
        let mut came = async |name: &str| {
            let begin = Instant::now();
            let node = node(|it| it["metadata"] = json!({ "name": name, "uid": name }));
            nodes.apply(Event::Apply(node), &mut writer);
            changes.settled().await;
            assert_eq!(changes.take().changed, HashSet::from([name.to_owned()]));
            begin.elapsed()
        };
        assert_eq!(came("n1").await, Duration::from_secs(1), "one of many, as it seems");
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(came("n2").await, Duration::ZERO, "nothing was done for ten seconds");
        assert_eq!(came("n3").await, Duration::ZERO, "nor was there anything to do for n2");
        changes.worked();
        assert_eq!(came("n4").await, Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_waits_for_others_while_many_nodes_join() {
        let (nodes, mut writer) = Nodes::new();
        nodes.apply(Event::Init, &mut writer);
        nodes.apply(Event::InitDone, &mut writer);
        let changes = NodeChanges::of(&nodes, CurrentDescription::default());
        let taint = json!([{ "key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule" }]);
        let named = |name: String| node(|it| it["metadata"] = json!({ "name": name, "uid": name }));
        let joining = |name: String| {
            node(|node| {
                (node["metadata"], node["spec"]["taints"]) = (json!({ "name": name, "uid": name }), taint.clone());
            })
        };
        let mut first_pass = async |count: usize| {
            for nth in 0..=count {
                nodes.apply(Event::Apply(joining(format!("n{nth}"))), &mut writer);
            }
            let begin = Instant::now();
            nodes.apply(Event::Apply(named("n0".to_owned())), &mut writer);
            changes.settled().await;
            changes.take();
            for nth in 0..=count {
                nodes.apply(Event::Delete(joining(format!("n{nth}"))), &mut writer);
            }
            changes.take();
            begin.elapsed()
        };
        assert_eq!(first_pass(MANY - 1).await, Duration::ZERO, "few nodes wait");
        assert_eq!(first_pass(MANY).await, Duration::from_secs(1));
    }
}
