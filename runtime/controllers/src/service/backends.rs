//! Which nodes take traffic from load balancers: those that say so, and whose instance the cloud confirmed. No client, no
//! clock, no log.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::node_object::KubeNode;
use cloud_provider::{Address, Description};
use serde_json::{Value, json};

use crate::inventory::machine;
use crate::node_fields::{is_waiting, provider_id};
use crate::nodes::Evidence;
use crate::service::selectors::Selectors;

/// With a true value, a node takes no traffic from load balancers.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// The key of the taint of a node that the cluster autoscaler is about to delete, with any value and any effect.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";
/// The most backends that a message names.
const NAMED: usize = 20;

/// The nodes that take traffic, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Backends {
    pub(super) nodes: Vec<cloud_provider::Node>,
    /// Shared with every load balancer that was built for them.
    pub(super) compared_fields: Arc<[BackendNode]>,
}

/// The fields of a node whose change makes it another backend: labels that the provider is shown are among them, other labels and its place are not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct BackendNode {
    name: String,
    provider_id: Option<String>,
    addresses: Vec<Address>,
    /// What the provider said of its instance: where its network interfaces are, say.
    extra: Vec<(String, String)>,
    /// Those that the provider is shown: it may leave a node out because of them.
    labels: Vec<(String, String)>,
}

/// What a node is to load balancers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum BackendStatus {
    /// It takes no traffic, and none is meant for it: it is excluded, about to go, or not initialised.
    No,
    /// It could take traffic, and the cloud has not said yet whether its instance exists.
    Unknown,
    /// It could take traffic, and gets none. The text is a sentence about the node.
    LeftOut(String),
    /// It takes traffic, where the cloud says.
    Yes(cloud_provider::Node),
}

impl BackendStatus {
    /// What a provider may know of a node that takes traffic.
    pub(super) fn machine(self) -> Option<cloud_provider::Node> {
        match self {
            Self::Yes(machine) => Some(machine),
            Self::No | Self::Unknown | Self::LeftOut(_) => None,
        }
    }
}

/// What a node is to load balancers, given what the cloud said of its instance; `None` if this cloud cannot be asked about
/// instances: then the node's own word counts.
///
/// Addresses, zone and region are the cloud's. Only where it tells no addresses are they the node's own.
pub(super) fn status(node: &KubeNode, cloud: &Description, evidence: Option<Evidence>) -> BackendStatus {
    if !is_eligible(node) {
        return BackendStatus::No;
    }
    if let Some(other) = provider_id(node).filter(|it| cloud.is_foreign(it)) {
        let prefixes = cloud.provider_id_prefixes.join(", ");
        return BackendStatus::LeftOut(format!(
            "its provider id {other:?} begins with none of those of the provider {}: {prefixes}",
            cloud.name
        ));
    }
    let mut machine = machine(node);
    match evidence {
        None => BackendStatus::Yes(machine),
        Some(Evidence::Unknown) => BackendStatus::Unknown,
        Some(Evidence::Refused(why)) => BackendStatus::LeftOut(why.to_string()),
        Some(Evidence::Confirmed(confirmed)) => {
            if !confirmed.addresses.is_empty() {
                machine.addresses.clone_from(&confirmed.addresses);
            }
            machine.extra.clone_from(&confirmed.extra);
            machine.zone.clone_from(&confirmed.zone);
            machine.region.clone_from(&confirmed.region);
            BackendStatus::Yes(machine)
        }
    }
}

impl Backends {
    /// The nodes that take traffic, of whose labels the provider is shown those with these keys. `before` are those of the
    /// last time: what is equal is shared with them.
    pub(super) fn of(mut nodes: Vec<cloud_provider::Node>, shown_labels: &[String], before: &Backends) -> Self {
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let compared_fields: Vec<_> = nodes.iter().map(|it| BackendNode::of(it, shown_labels)).collect();
        let compared_fields = if *before.compared_fields == *compared_fields {
            before.compared_fields.clone()
        } else {
            compared_fields.into()
        };
        Self { nodes, compared_fields }
    }

    /// Those of them that match.
    pub(super) fn selected(&self, selectors: &Selectors) -> Self {
        let both = self.nodes.iter().zip(self.compared_fields.iter());
        let both = both.filter(|(node, _)| selectors.matches(node));
        let (nodes, compared_fields): (_, Vec<_>) = both.map(|(node, it)| (node.clone(), it.clone())).unzip();
        Self { nodes, compared_fields: compared_fields.into() }
    }

    /// The node with this name, if it takes traffic.
    pub(super) fn get(&self, name: &str) -> Option<&cloud_provider::Node> {
        let place = self.nodes.binary_search_by(|it| it.name.as_str().cmp(name)).ok()?;
        self.nodes.get(place)
    }
}

/// What it means that a node was this to load balancers, and is that, in a cloud with this description.
pub(super) fn change(
    before: Option<&cloud_provider::Node>,
    after: Option<&cloud_provider::Node>,
    cloud: &Description,
) -> BackendChange {
    let backends = |shown_labels| [before, after].map(|it| it.map(|it| BackendNode::of(it, shown_labels)));
    let differ = |[before, after]: [Option<BackendNode>; 2]| before != after;
    if before == after {
        BackendChange::Nothing
    } else if differ(backends(&[])) {
        BackendChange::Backend
    } else if before.map(|it| &it.labels) != after.map(|it| &it.labels) && cloud.selects_nodes() {
        BackendChange::Labels
    } else if differ(backends(&cloud.shown_labels)) {
        BackendChange::Backend
    } else {
        BackendChange::Detail
    }
}

/// What a change of a node means to load balancers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BackendChange {
    /// Nothing at all.
    Nothing,
    /// The next call about a load balancer says it, and none is made for it.
    Detail,
    /// Services may select other nodes, or the provider may leave out others.
    Labels,
    /// Other nodes take traffic, or take it elsewhere, or the provider is shown another label of them.
    Backend,
}

impl BackendNode {
    fn of(machine: &cloud_provider::Node, shown_labels: &[String]) -> Self {
        Self {
            name: machine.name.clone(),
            provider_id: machine.provider_id.clone(),
            addresses: machine.addresses.clone(),
            extra: machine.extra.clone(),
            labels: machine.labels.iter().filter(|(key, _)| shown_labels.contains(key)).cloned().collect(),
        }
    }

    /// All of it, in lists.
    pub(super) fn listed(&self) -> Value {
        let Self { name, provider_id, addresses, extra, labels } = self;
        let addresses: Vec<_> = addresses.iter().map(|it| [it.kind.as_str(), &it.value]).collect();
        let mut listed = json!([name, provider_id, addresses, extra]);
        // Without them it is what it was before they counted.
        if let (false, Some(listed)) = (labels.is_empty(), listed.as_array_mut()) {
            listed.push(json!(labels));
        }
        listed
    }
}

/// How many names only one of the two has.
pub(super) fn other_names(one: &[BackendNode], other: &[BackendNode]) -> usize {
    let [one, other] = [one, other].map(|it| it.iter().map(|it| &it.name).collect::<BTreeSet<_>>());
    one.symmetric_difference(&other).count()
}

/// The first names of backends, as upstream's messages list them: `[n1 n2 <3 more>]`.
pub(super) fn names(backends: &[BackendNode]) -> String {
    let mut names: Vec<_> = backends.iter().take(NAMED).map(|it| it.name.clone()).collect();
    if backends.len() > NAMED {
        names.push(format!("<{} more>", backends.len() - NAMED));
    }
    format!("[{}]", names.join(" "))
}

/// Whether a node says that it takes traffic.
pub(super) fn is_eligible(node: &KubeNode) -> bool {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default();
    node.metadata.deletion_timestamp.is_none()
        && !is_excluded(node)
        && !taints.iter().any(|it| it.key == TO_BE_DELETED)
        && !is_waiting(node)
        && provider_id(node).is_some()
}

/// Whether the exclusion label is there and does not say false, in one of the spellings that Go knows.
fn is_excluded(node: &KubeNode) -> bool {
    let label = node.metadata.labels.as_ref().and_then(|it| it.get(EXCLUDED));
    label.is_some_and(|it| !matches!(it.as_str(), "0" | "f" | "F" | "FALSE" | "false" | "False"))
}

#[cfg(test)]
mod tests {
    use cloud_provider::AddressKind;

    use super::*;
    use crate::nodes::Confirmed;
    use crate::service::testing::node;

    /// What a node is in a cloud that cannot be asked about instances.
    fn machine_of(node: &KubeNode) -> Option<cloud_provider::Node> {
        status(node, &Description::default(), None).machine()
    }

    fn is_backend(change: Value) -> bool {
        machine_of(&node("n1", change)).is_some()
    }

    fn labelled(value: &str) -> Value {
        json!({ "metadata": { "labels": { EXCLUDED: value } } })
    }

    fn tainted(key: &str, effect: &str) -> Value {
        json!({ "spec": { "taints": [{ "key": key, "effect": effect }] } })
    }

    /// What it means that a node that was like this is like that.
    fn change(before: Value, after: Value) -> BackendChange {
        let (before, after) = (machine_of(&node("n1", before)), machine_of(&node("n1", after)));
        super::change(before.as_ref(), after.as_ref(), &Description::default())
    }

    /// The nodes that take traffic.
    fn backends(nodes: &[&KubeNode], before: &Backends) -> Backends {
        Backends::of(nodes.iter().filter_map(|it| machine_of(it)).collect(), &[], before)
    }

    fn triggers(before: Value, after: Value) -> bool {
        change(before, after) == BackendChange::Backend
    }

    #[test]
    fn case_152_which_nodes_take_traffic() {
        assert!(is_backend(json!({})));
        for effect in ["NoSchedule", "NoExecute", "PreferNoSchedule"] {
            assert!(!is_backend(tainted(TO_BE_DELETED, effect)), "{effect}");
        }
        assert!(!is_backend(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })));
        assert!(
            is_backend(json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } })),
            "NotReady"
        );
        assert!(is_backend(json!({ "spec": { "unschedulable": true } })), "cordoned");
        assert!(is_backend(tainted("example.com/other", "NoExecute")));
        assert!(is_backend(json!({ "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "" } } })));
    }

    #[test]
    fn case_173_a_node_takes_traffic_once_it_is_initialised() {
        assert!(!is_backend(tainted("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")));
        assert!(!is_backend(json!({ "spec": { "providerID": null } })));
        assert!(!is_backend(json!({ "spec": { "providerID": "" } })));
    }

    #[test]
    fn the_exclusion_label_is_read_as_go_reads_it() {
        for value in ["1", "t", "T", "TRUE", "true", "True", "", "yes", "fALSE"] {
            assert!(!is_backend(labelled(value)), "{value:?}");
        }
        for value in ["0", "f", "F", "FALSE", "false", "False"] {
            assert!(is_backend(labelled(value)), "{value:?}");
        }
    }

    #[test]
    fn case_153_which_changes_of_a_node_concern_load_balancers() {
        let ready = |status: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
        let conditions = |kind: &str| json!({ "status": { "conditions": [{ "type": kind, "status": "True" }] } });
        let id = |id: Option<&str>| json!({ "spec": { "providerID": id } });
        assert!(!triggers(json!({}), json!({})));
        assert!(triggers(json!({}), labelled("true")));
        assert!(triggers(labelled("true"), json!({})));
        assert!(!triggers(labelled("true"), labelled("1")));
        assert!(!triggers(json!({}), labelled("false")));
        assert!(!triggers(json!({}), json!({ "metadata": { "labels": { "example.com/a": "b" } } })));
        assert!(!triggers(json!({}), tainted("example.com/other", "NoSchedule")));
        for (before, after) in [("True", "False"), ("False", "True"), ("True", "Unknown"), ("Unknown", "False")] {
            assert!(!triggers(ready(before), ready(after)), "{before} {after}");
        }
        assert!(!triggers(ready("True"), json!({ "status": { "conditions": null } })));
        assert!(!triggers(json!({}), conditions("DiskPressure")));
        // 174 is always on.
        assert!(triggers(json!({}), tainted(TO_BE_DELETED, "NoSchedule")));
        assert!(triggers(tainted(TO_BE_DELETED, "NoSchedule"), json!({})));
        assert!(triggers(json!({}), json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })));
        assert!(triggers(id(None), id(Some("fake://1"))));
        assert!(triggers(id(Some("fake://1")), id(None)));
        assert!(triggers(id(Some("fake://1")), id(Some("fake://2"))));
        let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.1.0.2" }] } });
        assert!(triggers(json!({}), address), "our providers may send traffic to addresses");
    }

    #[test]
    fn case_154_several_changes_at_once() {
        let both = |mut one: Value, other: Value| {
            for (key, value) in other.as_object().unwrap() {
                for (inner, value) in value.as_object().unwrap() {
                    one[key][inner] = value.clone();
                }
            }
            one
        };
        let deleted = || tainted(TO_BE_DELETED, "NoSchedule");
        let not_ready = || json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
        let without_id = || json!({ "spec": { "providerID": null } });
        assert!(!triggers(deleted(), both(deleted(), labelled("true"))), "it took no traffic before, and takes none");
        assert!(!triggers(labelled("true"), both(labelled("true"), json!({ "spec": { "providerID": "fake://2" } }))));
        assert!(!triggers(labelled("true"), both(labelled("true"), deleted())));
        assert!(!triggers(labelled("true"), both(labelled("true"), not_ready())));
        assert!(triggers(not_ready(), both(not_ready(), labelled("true"))));
        assert!(!triggers(without_id(), both(without_id(), not_ready())));
        assert!(!triggers(without_id(), both(without_id(), tainted("example.com/other", "NoSchedule"))));
    }

    #[test]
    fn other_details_of_a_node_come_with_the_next_call() {
        assert_eq!(change(json!({}), json!({ "metadata": { "labels": { "a": "b" } } })), BackendChange::Detail);
        assert_eq!(change(json!({}), json!({ "spec": { "unschedulable": true } })), BackendChange::Nothing);
        let machine = |change| machine_of(&node("n1", change));
        let change = |before: Option<&cloud_provider::Node>, after: Option<&cloud_provider::Node>| {
            super::change(before, after, &Description::default())
        };
        assert_eq!(change(None, machine(json!({})).as_ref()), BackendChange::Backend);
        assert_eq!(change(machine(json!({})).as_ref(), None), BackendChange::Backend);
        assert_eq!(change(None, machine(labelled("true")).as_ref()), BackendChange::Nothing);
    }

    #[test]
    fn another_extra_of_an_instance_is_a_change_of_backends() {
        let with = |extra: &str| {
            let extra = vec![("nic".to_owned(), extra.to_owned())];
            let confirmed = Confirmed { extra, ..Confirmed::default() };
            let evidence = Some(Evidence::Confirmed(Arc::new(confirmed)));
            status(&node("n1", json!({})), &Description::default(), evidence).machine()
        };
        let (one, other) = (with("1"), with("2"));
        assert_eq!(one.as_ref().map(|it| it.extra[0].1.as_str()), Some("1"));
        let cloud = Description::default();
        assert_eq!(super::change(one.as_ref(), other.as_ref(), &cloud), BackendChange::Backend);
        assert_eq!(super::change(one.as_ref(), with("1").as_ref(), &cloud), BackendChange::Nothing);
    }

    #[test]
    fn labels_count_where_annotations_select_nodes() {
        let annotation = cloud_provider::Annotation { selects_nodes: true, ..cloud_provider::Annotation::default() };
        let cloud = Description { annotations: vec![annotation], ..Description::default() };
        let labelled = |pool: &str| machine_of(&node("n1", json!({ "metadata": { "labels": { "pool": pool } } })));
        assert_eq!(super::change(labelled("a").as_ref(), labelled("b").as_ref(), &cloud), BackendChange::Labels);
        assert_eq!(super::change(labelled("a").as_ref(), labelled("a").as_ref(), &cloud), BackendChange::Nothing);
    }

    #[test]
    fn a_label_counts_that_the_provider_is_shown() {
        let shown = || vec!["exclude".to_owned()];
        let cloud = Description { shown_labels: shown(), ..Description::default() };
        let with = |labels: Value| machine_of(&node("n1", json!({ "metadata": { "labels": labels } })));
        let change =
            |before, after, cloud: &Description| super::change(with(before).as_ref(), with(after).as_ref(), cloud);
        let (excluded, other) = (json!({ "exclude": "" }), json!({ "a": "b" }));
        for (before, after, expected) in [
            (json!({}), excluded.clone(), BackendChange::Backend),
            (excluded.clone(), json!({}), BackendChange::Backend),
            (excluded.clone(), json!({ "exclude": "true" }), BackendChange::Backend),
            (json!({}), other.clone(), BackendChange::Detail),
            (excluded.clone(), json!({ "exclude": "", "a": "b" }), BackendChange::Detail),
        ] {
            assert_eq!(change(before.clone(), after.clone(), &cloud), expected, "{before} {after}");
        }
        assert_eq!(change(json!({}), excluded.clone(), &Description::default()), BackendChange::Detail);
        let selecting = Description { node_selector: Some(("pool".to_owned(), "a".to_owned())), ..cloud };
        assert_eq!(
            change(json!({}), excluded.clone(), &selecting),
            BackendChange::Labels,
            "it counts as Kubernetes' word"
        );

        let of = |labels: Value| Backends::of(vec![with(labels).unwrap()], &shown(), &Backends::default());
        let (plain, excluded) = (of(json!({})), of(excluded));
        assert_ne!(plain.compared_fields, excluded.compared_fields);
        assert_eq!(plain.compared_fields, of(other).compared_fields);
        let listed = |it: &Backends| it.compared_fields[0].listed();
        assert_eq!(listed(&plain).as_array().unwrap().len(), 4, "as it was before labels counted");
        assert_eq!(listed(&excluded)[4], json!([["exclude", ""]]));
    }

    #[test]
    fn case_160_the_order_of_nodes_is_no_change() {
        let (n1, n2, n3) = (node("n1", json!({})), node("n2", json!({})), node("n3", labelled("true")));
        let before = backends(&[&n1, &n2, &n3], &Backends::default());
        let after = backends(&[&n2, &n3, &n1], &before);
        assert!(Arc::ptr_eq(&before.compared_fields, &after.compared_fields), "what is equal is kept once");
        assert_eq!(after.nodes.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
        let renamed = node("n1", json!({ "spec": { "providerID": "fake://other" } }));
        assert_ne!(backends(&[&renamed, &n2], &before).compared_fields, before.compared_fields);
        assert_eq!((after.get("n2").map(|it| it.name.as_str()), after.get("n3")), (Some("n2"), None));
    }

    /// A cloud that names an instance with these addresses.
    fn confirmed(addresses: &[&str]) -> Option<Evidence> {
        let address = |it: &&str| Address { kind: AddressKind::InternalIp, value: (*it).to_owned() };
        let addresses = addresses.iter().map(address).collect();
        let confirmed = Confirmed { addresses, region: Some("r1".to_owned()), ..Confirmed::default() };
        Some(Evidence::Confirmed(Arc::new(confirmed)))
    }

    #[test]
    fn adv_105_a_backend_is_what_the_cloud_says_of_its_instance() {
        let cloud = Description { provider_id_prefixes: vec!["fake://".to_owned()], ..Description::default() };
        let forged = node(
            "n1",
            json!({
                "metadata": { "labels": {
                    "topology.kubernetes.io/zone": "forged",
                    "topology.kubernetes.io/region": "forged",
                } },
                "status": { "addresses": [{ "type": "InternalIP", "address": "192.0.2.66" }] },
            }),
        );
        let told = |evidence| {
            let machine = status(&forged, &cloud, evidence).machine().unwrap();
            let addresses: Vec<_> = machine.addresses.into_iter().map(|it| it.value).collect();
            (addresses.join(" "), machine.zone, machine.region)
        };
        let region = |it: &str| Some(it.to_owned());
        assert_eq!(told(confirmed(&["10.0.0.1"])), ("10.0.0.1".to_owned(), None, region("r1")));
        assert_eq!(told(confirmed(&[])), ("192.0.2.66".to_owned(), None, region("r1")));
        assert_eq!(told(None), ("192.0.2.66".to_owned(), region("forged"), region("forged")));

        assert_eq!(status(&forged, &cloud, Some(Evidence::Unknown)), BackendStatus::Unknown);
        let refused = || Some(Evidence::Refused("no such instance".into()));
        assert_eq!(status(&forged, &cloud, refused()), BackendStatus::LeftOut("no such instance".to_owned()));
        assert_eq!(status(&node("n1", labelled("true")), &cloud, refused()), BackendStatus::No);
        let others = node("n1", json!({ "spec": { "providerID": "aws:///z/i-1" } }));
        for evidence in [None, Some(Evidence::Unknown), confirmed(&["10.0.0.1"])] {
            let BackendStatus::LeftOut(why) = status(&others, &cloud, evidence) else { panic!("another cloud's") };
            assert!(why.contains("aws:///z/i-1") && why.contains("fake://"), "{why}");
        }
    }

    #[test]
    fn the_first_twenty_names_are_listed() {
        let backend = |nth: usize| BackendNode {
            name: format!("n{nth}"),
            provider_id: None,
            addresses: Vec::new(),
            extra: Vec::new(),
            labels: Vec::new(),
        };
        let backends: Vec<_> = (1..=23).map(backend).collect();
        assert_eq!(names(&backends[..3]), "[n1 n2 n3]");
        assert_eq!(names(&[]), "[]");
        let first: Vec<_> = (1..=20).map(|it| format!("n{it}")).collect();
        assert_eq!(names(&backends), format!("[{} <3 more>]", first.join(" ")));
    }
}
