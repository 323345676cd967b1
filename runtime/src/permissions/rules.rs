//! The rights that aerostat needs at the API server, as rules of roles: one table, which `deploy/rbac.yaml` is held against.

use std::collections::BTreeSet;
use std::fmt;

use controllers::volume_provisioner;

use crate::flags::{ControllerName, NodeIpam, RunSettings};

/// The order of verbs in a rule.
const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// Group, resource and verbs.
type Rights = (&'static str, &'static str, &'static [&'static str]);

/// Whatever runs: nodes are watched, the ranges of Services are read so that no provider reaches them, and events are
/// written. (And one namespace is read, whose UID is the cluster's.)
const ALWAYS: [Rights; 3] = [
    ("", "nodes", &["list", "watch"]),
    ("networking.k8s.io", "servicecidrs", &["list"]),
    ("", "events", &["create", "patch"]),
];

const CLOUD_NODE: [Rights; 2] = [("", "nodes", &["get", "patch"]), ("", "nodes/status", &["patch"])];

const CLOUD_NODE_LIFECYCLE: [Rights; 1] = [("", "nodes", &["get", "patch", "delete"])];

const SERVICE: [Rights; 2] = [("", "services", &["get", "list", "watch"]), ("", "services/status", &["patch"])];

const ROUTE: [Rights; 1] = [("", "nodes/status", &["patch"])];

const NODE_IPAM: [Rights; 1] = [("", "nodes", &["get", "patch"])];

/// The cloud allocator says on a node that its network is there.
const CLOUD_ALLOCATOR: [Rights; 1] = [("", "nodes/status", &["patch"])];

const PERSISTENT_VOLUME_LABEL: [Rights; 1] = [("", "persistentvolumes", &["list", "watch", "patch"])];

const VOLUME_PROVISIONER: [Rights; 5] = [
    ("", "persistentvolumeclaims", &["get", "list", "watch", "patch"]),
    ("", "persistentvolumes", &["get", "list", "watch", "create", "patch", "delete"]),
    ("storage.k8s.io", "storageclasses", &["get"]),
    ("storage.k8s.io", "csinodes", &["list", "watch"]),
    ("storage.k8s.io", "volumeattachments", &["list", "watch"]),
];

const VOLUME_ATTACHER: [Rights; 5] = [
    ("storage.k8s.io", "volumeattachments", &["get", "list", "watch", "patch"]),
    ("storage.k8s.io", "volumeattachments/status", &["patch"]),
    ("storage.k8s.io", "csinodes", &["list", "watch"]),
    ("storage.k8s.io", "csidrivers", &["list", "watch"]),
    ("", "persistentvolumes", &["list", "watch", "patch"]),
];

const VOLUME_EXPANDER: [Rights; 3] = [
    ("", "persistentvolumeclaims", &["get", "list", "watch"]),
    ("", "persistentvolumeclaims/status", &["patch"]),
    ("", "persistentvolumes", &["get", "list", "watch", "patch"]),
];

/// The Leases of a vendor's own controller of volumes, in `kube-system`: beside that nothing is written. Their names are the driver's, which
/// the module says.
const VENDOR_LEASES: Rights = ("coordination.k8s.io", "leases", &["get"]);

/// The intents to make volumes, in a namespace of their own.
const VOLUME_INTENTS: Rights = ("", "configmaps", &["get", "list", "create", "patch", "delete"]);

/// The questions about a caller of `/metrics`: who is it, and may it?
const METRICS: [Rights; 2] = [
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
];

/// One rule of a ClusterRole or of a Role.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RoleRule {
    /// The namespace of the Role; `None` for a ClusterRole.
    pub namespace: Option<String>,
    /// The API group; "" for the one of Nodes and Services.
    pub group: &'static str,
    /// As in `nodes/status`.
    pub resource: &'static str,
    /// The only object that it is about, if there is only one.
    pub name: Option<String>,
    /// At least one, in a fixed order.
    pub verbs: Vec<&'static str>,
}

/// The rights that are needed at the API server, with some flags and some controllers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NeededRights {
    /// Without these no controller can work.
    pub all: Vec<RoleRule>,
    /// The further rights of each controller.
    pub own: Vec<(ControllerName, Vec<RoleRule>)>,
    /// Without these nobody can read `/metrics`.
    pub metrics: Vec<RoleRule>,
    /// Without these less is known of the cluster, and nothing waits.
    pub further: Vec<RoleRule>,
}

/// The rights that are needed at the API server where these `controllers` run. The module is not in it, which may lie in a ConfigMap.
#[must_use]
pub fn rules(settings: &RunSettings, controllers: &[ControllerName]) -> NeededRights {
    let mut all: Vec<_> = ALWAYS.iter().map(|row| rule(None, None, *row)).collect();
    all.push(rule(None, Some("kube-system"), ("", "namespaces", &["get"])));
    let (default, kubernetes) = (Some("default"), Some("kubernetes"));
    all.push(rule(default, kubernetes, ("", "services", &["get"])));
    if let Some(election) = &settings.leader_election {
        let (namespace, name) = (Some(election.namespace.as_str()), Some(election.name.as_str()));
        // No rule can name an object that is not there yet.
        all.push(rule(namespace, None, ("coordination.k8s.io", "leases", &["create"])));
        all.push(rule(namespace, name, ("coordination.k8s.io", "leases", &["get", "update", "patch"])));
        if let Some(migration) = &settings.leader_migration {
            let name = Some(migration.leader_name.as_str());
            all.push(rule(namespace, name, ("coordination.k8s.io", "leases", &["get", "update"])));
        }
    }
    let own = controllers.iter().map(|it| (*it, of_controller(*it, settings))).collect();
    let metrics = settings.serving.iter().flat_map(|_| METRICS).map(|row| rule(None, None, row)).collect();
    let further = vec![rule(default, kubernetes, ("discovery.k8s.io", "endpointslices", &["get"]))];
    NeededRights { all: merged(all), own, metrics, further }
}

/// The rights that one controller needs beside those of them all.
fn of_controller(controller: ControllerName, settings: &RunSettings) -> Vec<RoleRule> {
    let rows = match controller {
        ControllerName::CloudNode => CLOUD_NODE.as_slice(),
        ControllerName::CloudNodeLifecycle => &CLOUD_NODE_LIFECYCLE,
        ControllerName::Service => &SERVICE,
        ControllerName::NodeIpam => &NODE_IPAM,
        ControllerName::Route => &ROUTE,
        ControllerName::PersistentVolumeLabel => &PERSISTENT_VOLUME_LABEL,
        ControllerName::VolumeProvisioner => &VOLUME_PROVISIONER,
        ControllerName::VolumeAttacher => &VOLUME_ATTACHER,
        ControllerName::VolumeExpander => &VOLUME_EXPANDER,
    };
    let gives_the_clouds_networks = matches!(settings.node_ipam, Some(NodeIpam::Cloud { .. }));
    let further = (controller == ControllerName::NodeIpam && gives_the_clouds_networks).then_some(CLOUD_ALLOCATOR);
    let everywhere = rows.iter().copied().chain(further.into_iter().flatten()).map(|row| rule(None, None, row));
    let has_vendors = matches!(
        controller,
        ControllerName::VolumeProvisioner | ControllerName::VolumeAttacher | ControllerName::VolumeExpander
    );
    let leases = has_vendors.then(|| rule(Some("kube-system"), None, VENDOR_LEASES));
    let intents = (controller == ControllerName::VolumeProvisioner)
        .then(|| rule(Some(volume_provisioner::NAMESPACE), None, VOLUME_INTENTS));
    everywhere.chain(leases).chain(intents).collect()
}

impl NeededRights {
    /// The rights that all of the controllers need together, each once.
    #[must_use]
    pub fn work(&self) -> Vec<RoleRule> {
        merged(self.all.iter().chain(self.own.iter().flat_map(|(_, own)| own)).cloned())
    }

    /// The controllers that have to wait where these rights are refused, each with those of them that it needs.
    pub(super) fn waiting(&self, refused: &[RoleRule]) -> Vec<(ControllerName, Vec<RoleRule>)> {
        let waiting = self.own.iter().map(|(controller, own)| (*controller, lacking(own, refused)));
        waiting.filter(|(_, lacking)| !lacking.is_empty()).collect()
    }

    /// Whether the process can do anything where these rights are refused: none that all controllers need is among them, and
    /// one of the controllers, if there is any, lacks nothing.
    pub(super) fn are_enough_without(&self, refused: &[RoleRule]) -> bool {
        let one_can_work = self.own.is_empty() || self.waiting(refused).len() < self.own.len();
        one_can_work && lacking(&self.all, refused).is_empty()
    }
}

/// The needed rules that are among the refused ones.
fn lacking(needed: &[RoleRule], refused: &[RoleRule]) -> Vec<RoleRule> {
    let lacking = needed.iter().filter_map(|rule| {
        let refused = refused.iter().find(|it| it.is_about_the_same(rule))?;
        let verbs: Vec<_> = rule.verbs.iter().copied().filter(|it| refused.verbs.contains(it)).collect();
        (!verbs.is_empty()).then(|| RoleRule { verbs, ..rule.clone() })
    });
    lacking.collect()
}

fn rule(namespace: Option<&str>, name: Option<&str>, (group, resource, verbs): Rights) -> RoleRule {
    RoleRule {
        namespace: namespace.map(str::to_owned),
        group,
        resource,
        name: name.map(str::to_owned),
        verbs: verbs.to_vec(),
    }
}

/// The same rules, of which no two are about the same.
fn merged(rules: impl IntoIterator<Item = RoleRule>) -> Vec<RoleRule> {
    let mut merged: Vec<RoleRule> = Vec::new();
    for rule in rules {
        match merged.iter_mut().find(|it| it.is_about_the_same(&rule)) {
            Some(same) => {
                let both: Vec<_> = same.verbs.drain(..).chain(rule.verbs).collect();
                same.verbs = VERBS.into_iter().filter(|it| both.contains(it)).collect();
            }
            None => merged.push(rule),
        }
    }
    merged
}

impl RoleRule {
    fn is_about_the_same(&self, other: &Self) -> bool {
        let about = |it: &Self| (it.namespace.clone(), it.group, it.resource, it.name.clone());
        about(self) == about(other)
    }
}

/// As an item of `rules`: YAML, in one line.
impl fmt::Display for RoleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() { "\"\"" } else { self.group };
        write!(f, "{{apiGroups: [{group}], resources: [{}], ", self.resource)?;
        if let Some(name) = &self.name {
            write!(f, "resourceNames: [{name}], ")?;
        }
        write!(f, "verbs: [{}]}}", self.verbs.join(", "))
    }
}

/// The advice to a person about rules that are missing: which role of whom gets which, role by role.
pub(super) fn advice(missing: &[RoleRule], whose: &str) -> String {
    // The ClusterRole comes first: `None` is less than any name.
    let namespaces: BTreeSet<_> = missing.iter().map(|it| &it.namespace).collect();
    let roles = namespaces.into_iter().map(|namespace| {
        let rules: Vec<_> = missing.iter().filter(|it| it.namespace == *namespace).map(RoleRule::to_string).collect();
        let role = namespace.as_ref().map_or("ClusterRole".to_owned(), |it| format!("Role in the namespace {it}"));
        format!("the {role} of {whose} needs rules: [{}]", rules.join(", "))
    });
    roles.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flags: &[&str]) -> RunSettings {
        RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"].iter().chain(flags)).unwrap()
    }

    fn texts(rules: &[RoleRule]) -> Vec<String> {
        rules.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_controller_needs_its_own_rules() {
        let bare = settings(&["--leader-elect=false", "--secure-port=0"]);
        let always = texts(&rules(&bare, &[]).work());
        assert_eq!(
            always,
            [
                "{apiGroups: [\"\"], resources: [nodes], verbs: [list, watch]}",
                "{apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: [list]}",
                "{apiGroups: [\"\"], resources: [events], verbs: [create, patch]}",
                "{apiGroups: [\"\"], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}",
                "{apiGroups: [\"\"], resources: [services], resourceNames: [kubernetes], verbs: [get]}",
            ]
        );
        assert_eq!(rules(&bare, &[]).metrics, []);
        let nodes = texts(&rules(&bare, &[ControllerName::CloudNodeLifecycle, ControllerName::CloudNode]).work());
        assert_eq!(nodes[0], "{apiGroups: [\"\"], resources: [nodes], verbs: [get, list, watch, patch, delete]}");
        let services = texts(&rules(&bare, &[ControllerName::Service]).work());
        assert!(services.contains(&"{apiGroups: [\"\"], resources: [services], verbs: [get, list, watch]}".to_owned()));
        assert_eq!(rules(&settings(&[]), &[]).metrics.len(), 2);
    }

    /// The rights that the API server refuses, and which controllers then wait for what; `None` where all of them do.
    #[track_caller]
    fn check(refused: &[Rights], expected: Option<&[(ControllerName, &str)]>) {
        let controllers =
            [ControllerName::CloudNode, ControllerName::CloudNodeLifecycle, ControllerName::PersistentVolumeLabel];
        let rules = rules(&settings(&[]), &controllers);
        let refused: Vec<_> = refused.iter().map(|row| rule(None, None, *row)).collect();
        let waiting = rules.waiting(&refused);
        let waiting: Vec<_> = waiting.iter().map(|(it, lacks)| (*it, texts(lacks).join(", "))).collect();
        let waiting: Vec<_> = waiting.iter().map(|(it, lacks)| (*it, lacks.as_str())).collect();
        assert_eq!(rules.are_enough_without(&refused).then_some(waiting.as_slice()), expected, "{refused:?}");
    }

    #[test]
    fn a_refused_right_stops_the_controllers_that_need_it() {
        check(&[], Some(&[]));
        let volumes = "{apiGroups: [\"\"], resources: [persistentvolumes], verbs: [list, watch]}";
        let lists = ("", "persistentvolumes", ["list", "watch"].as_slice());
        check(&[lists], Some(&[(ControllerName::PersistentVolumeLabel, volumes)]));
        let deletions = "{apiGroups: [\"\"], resources: [nodes], verbs: [delete]}";
        check(&[("", "nodes", &["delete"])], Some(&[(ControllerName::CloudNodeLifecycle, deletions)]));
        let status = "{apiGroups: [\"\"], resources: [nodes/status], verbs: [patch]}";
        check(
            &[("", "nodes/status", &["patch"]), lists],
            Some(&[(ControllerName::CloudNode, status), (ControllerName::PersistentVolumeLabel, volumes)]),
        );
        check(&[("", "nodes", &["watch"])], None);
        check(&[("", "events", &["patch"])], None);
        check(&[("", "nodes", &["patch"]), lists], None);
    }

    #[test]
    fn a_process_without_controllers_waits_for_what_all_need() {
        let rules = rules(&settings(&[]), &[]);
        assert!(rules.are_enough_without(&[]));
        assert!(!rules.are_enough_without(&[rule(None, None, ("", "nodes", &["list"]))]));
    }

    #[test]
    fn the_lease_is_the_one_that_the_flags_name() {
        let flags = ["--leader-elect-resource-name=other", "--leader-elect-resource-namespace=here"];
        let leases = rules(&settings(&flags), &[]).work();
        let leases: Vec<_> = leases.into_iter().filter(|it| it.resource == "leases").collect();
        assert!(leases.iter().all(|it| it.namespace.as_deref() == Some("here")));
        assert_eq!(
            texts(&leases),
            [
                "{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}",
                "{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [other], verbs: [get, update, patch]}",
            ]
        );
    }

    #[test]
    fn the_second_lease_is_the_one_that_the_migration_names() {
        let leases = rules(&settings(&["--enable-leader-migration"]), &[]).work();
        let leases: Vec<_> = leases.into_iter().filter(|it| it.resource == "leases").collect();
        assert_eq!(
            texts(&leases)[2],
            "{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [cloud-provider-extraction-migration], \
             verbs: [get, update]}"
        );
    }

    #[test]
    fn node_ipam_needs_no_more_than_the_nodes() {
        let range = settings(&["--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/16"]);
        let of = |settings: &RunSettings| texts(&rules(settings, &[ControllerName::NodeIpam]).work());
        assert_eq!(of(&range)[0], "{apiGroups: [\"\"], resources: [nodes], verbs: [get, list, watch, patch]}");
        let status = "{apiGroups: [\"\"], resources: [nodes/status], verbs: [patch]}".to_owned();
        assert!(!of(&range).contains(&status));
        let cloud = settings(&["--allocate-node-cidrs", "--cidr-allocator-type=CloudAllocator"]);
        assert!(of(&cloud).contains(&status));
    }

    #[test]
    fn volumes_of_claims_need_config_maps_of_one_namespace_alone() {
        let rules = rules(&settings(&[]), &[ControllerName::VolumeProvisioner]).work();
        let namespaces: Vec<_> =
            rules.iter().filter(|it| it.resource == "configmaps").map(|it| it.namespace.as_deref()).collect();
        assert_eq!(namespaces, [Some("aerostat-volumes")]);
        assert!(rules.iter().all(|it| it.resource != "secrets"));
    }

    #[test]
    fn leases_of_vendors_are_read_in_one_namespace_alone() {
        let of_volumes =
            [ControllerName::VolumeProvisioner, ControllerName::VolumeAttacher, ControllerName::VolumeExpander];
        for controller in of_volumes {
            let rules = rules(&settings(&["--leader-elect=false"]), &[controller]).work();
            let leases: Vec<_> = rules.into_iter().filter(|it| it.resource == "leases").collect();
            assert_eq!(leases, [rule(Some("kube-system"), None, VENDOR_LEASES)], "{controller:?}");
        }
    }

    #[test]
    fn advice_names_each_role_once_with_all_its_rules() {
        let all = rules(&settings(&["--leader-elect=false"]), &[]);
        assert_eq!(
            advice(&all.work()[1..], "me"),
            "the ClusterRole of me needs rules: [{apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: \
             [list]}, {apiGroups: [\"\"], resources: [events], verbs: [create, patch]}, {apiGroups: [\"\"], \
             resources: [namespaces], resourceNames: [kube-system], verbs: [get]}]; the Role in the namespace \
             default of me needs rules: [{apiGroups: [\"\"], resources: [services], resourceNames: [kubernetes], verbs: \
             [get]}]"
        );
    }
}
