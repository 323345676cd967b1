//! The roles of the chart: what the controllers that are on ask for, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use aerostat::{ControllerName, RoleRule, RunSettings, rules};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use super::{DIGEST, PRESETS, only, rendered, values, with};
use crate::rights::{Right, asked, held};
use crate::setup::{command_line, container};

/// The rights that the binary asks for with the flags in the chart's Deployment, beside that to its module, where the cloud has
/// something for these controllers.
fn needed(objects: &[Value], cloud: &[ControllerName]) -> BTreeSet<Right> {
    let deployment: Deployment = only(objects, "Deployment");
    let container = container(&deployment.spec.unwrap().template);
    // The file is the Pod's, and names the Lease that stands there unless the values say otherwise.
    let line = command_line(&container).into_iter().filter(|it| !it.starts_with("--leader-migration-config"));
    let settings = RunSettings::parse(line).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(settings.warnings, [""; 0]);
    let runs = |controller: &ControllerName| match controller {
        ControllerName::NodeIpam => settings.node_ipam.is_some(),
        ControllerName::Route => settings.routes.enabled && !settings.cluster_cidrs.is_empty(),
        _ => true,
    };
    let runs: Vec<_> = cloud.iter().copied().filter(|it| settings.controllers.is_enabled(*it) && runs(it)).collect();
    let rules = rules(&settings, &runs);
    asked(rules.work().into_iter().chain(rules.metrics).chain(rules.further))
}

/// The controllers that DigitalOcean's provider has something for.
const DIGITALOCEAN: [ControllerName; 7] = [
    ControllerName::CloudNode,
    ControllerName::CloudNodeLifecycle,
    ControllerName::Service,
    ControllerName::NodeIpam,
    ControllerName::VolumeProvisioner,
    ControllerName::VolumeAttacher,
    ControllerName::VolumeExpander,
];

/// Those that a provider of volumes alone has something for.
const VOLUMES: [ControllerName; 3] =
    [ControllerName::VolumeProvisioner, ControllerName::VolumeAttacher, ControllerName::VolumeExpander];

/// Those that OpenStack's has something for.
const OPENSTACK: [ControllerName; 5] = [
    ControllerName::CloudNode,
    ControllerName::CloudNodeLifecycle,
    ControllerName::Service,
    ControllerName::NodeIpam,
    ControllerName::Route,
];

#[test]
fn each_cloud_has_the_roles_that_its_controllers_need() {
    for cloud in PRESETS {
        let objects = rendered(&values(cloud));
        let known: &[ControllerName] = match cloud {
            "aws-ebs" | "gcp-pd" | "openstack-cinder" => &VOLUMES,
            "digitalocean" => &DIGITALOCEAN,
            "openstack" => &OPENSTACK,
            _ => &HETZNER,
        };
        let mut needed = needed(&objects, known);
        if cloud == "gcp" {
            needed.extend(asked(made_config_map()));
        }
        if cloud == "gcp-pd" {
            needed.extend(asked(leases_of_disks([true; 3])));
        }
        assert_eq!(held(&objects), needed, "{cloud}");
    }
}

/// The Leases of the vendor's controller of Persistent Disks, by their names in whatever namespace: where volumes are provisioned, attached and
/// expanded. The binary does not know them before it has loaded the module.
fn leases_of_disks(own: [bool; 3]) -> Vec<RoleRule> {
    let lease = |(is_on, prefix): (bool, &str)| {
        is_on.then(|| RoleRule {
            namespace: None,
            group: "coordination.k8s.io",
            resource: "leases",
            name: Some(format!("{prefix}pd-csi-storage-gke-io")),
            verbs: vec!["get"],
        })
    };
    own.into_iter().zip(["", "external-attacher-leader-", "external-resizer-"]).filter_map(lease).collect()
}

/// The rules that a ConfigMap needs which is read, and made where it is missing.
fn made_config_map() -> [RoleRule; 2] {
    [(Some("ingress-uid"), "get"), (None, "create")].map(|(name, verb)| RoleRule {
        namespace: Some("kube-system".to_owned()),
        group: "",
        resource: "configmaps",
        name: name.map(str::to_owned),
        verbs: vec![verb],
    })
}

/// Those that Hetzner's has something for, and that of other clouds which know routes and places of volumes.
const HETZNER: [ControllerName; 6] = [
    ControllerName::CloudNode,
    ControllerName::CloudNodeLifecycle,
    ControllerName::Service,
    ControllerName::NodeIpam,
    ControllerName::Route,
    ControllerName::PersistentVolumeLabel,
];

/// None, each alone, all but one, and all.
#[test]
fn the_roles_grow_with_the_controllers_that_are_on() {
    for choice in 0_u32..1 << HETZNER.len() {
        if (2..5).contains(&choice.count_ones()) {
            continue;
        }
        let is_on = |at: usize| (choice >> at) & 1 == 1;
        let controllers: BTreeMap<_, _> = HETZNER.iter().enumerate().map(|(at, it)| (it.name(), is_on(at))).collect();
        for allocator in ["RangeAllocator", "CloudAllocator"] {
            let objects = rendered(&with(
                "hetzner",
                json!({ "controllers": controllers, "clusterCIDR": "10.244.0.0/16", "nodeIPAM": { "allocator": allocator } }),
            ));
            let held = held(&objects);
            assert_eq!(held, needed(&objects, &HETZNER), "{controllers:?}");
            for (at, controller) in HETZNER.iter().enumerate() {
                let own = match controller {
                    ControllerName::Service => "services/status",
                    ControllerName::PersistentVolumeLabel => "persistentvolumes",
                    _ => continue,
                };
                assert_eq!(held.iter().any(|it| it.2 == own), is_on(at), "{own}: {controllers:?}");
            }
        }
    }
}

#[test]
fn controllers_of_volumes_have_their_roles_where_they_are_on() {
    let hetzner = [&HETZNER[..], &VOLUMES].concat();
    for (cloud, known, first) in [
        ("digitalocean", &DIGITALOCEAN[..], 0),
        ("hetzner", &hetzner[..], 0),
        ("aws-ebs", &VOLUMES[..], 1),
        ("gcp-pd", &VOLUMES[..], 1),
        ("openstack-cinder", &VOLUMES[..], 1),
    ] {
        // A release for volumes alone has one of them at least.
        for choice in first..1_u32 << VOLUMES.len() {
            let [provisions, attaches, expands] = [0, 1, 2].map(|at| (choice >> at) & 1 == 1);
            let controllers = json!({
                "volume-provisioner": provisions, "volume-attacher": attaches, "volume-expander": expands,
            });
            let objects = rendered(&with(cloud, json!({ "controllers": controllers })));
            let held = held(&objects);
            let mut needed = needed(&objects, known);
            if cloud == "gcp-pd" {
                needed.extend(asked(leases_of_disks([provisions, attaches, expands])));
            }
            assert_eq!(held, needed, "{cloud}: {controllers}");
            let has = |resource: &str| held.iter().any(|it| it.2 == resource);
            let own = ["storageclasses", "volumeattachments/status", "persistentvolumeclaims/status"].map(has);
            assert_eq!(own, [provisions, attaches, expands], "{cloud}: {controllers}");
            let kept: Vec<_> = objects.iter().filter(|it| it["kind"] == "Namespace").collect();
            assert_eq!(kept.len(), usize::from(provisions), "{cloud}: {controllers}");
            assert!(kept.iter().all(|it| it["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"));
        }
    }
}

#[test]
fn the_module_and_leader_migration_need_a_right_each() {
    let local = json!({ "module": { "source": "configMap", "configMap": { "name": "ours", "sha256": &DIGEST[7..] } },
        "leaderMigration": { "enabled": true } });
    let objects = rendered(&with("digitalocean", local));
    let module = RoleRule {
        namespace: Some("kube-system".to_owned()),
        group: "",
        resource: "configmaps",
        name: Some("ours".to_owned()),
        verbs: vec!["get"],
    };
    let mut needed = needed(&objects, &DIGITALOCEAN);
    needed.extend(asked([module]));
    assert_eq!(held(&objects), needed);
}

#[test]
fn each_config_map_of_an_earlier_controller_needs_a_right() {
    let names = ["kube-system/ingress-uid", "gke/one", "gke/two"];
    let objects = rendered(&with("digitalocean", json!({ "config": { "provider": { "configMaps": names } } })));
    let may_get = names.map(|path| {
        let (namespace, name) = path.split_once('/').unwrap();
        let (namespace, name) = (Some(namespace.to_owned()), Some(name.to_owned()));
        RoleRule { namespace, group: "", resource: "configmaps", name, verbs: vec!["get"] }
    });
    let mut needed = needed(&objects, &DIGITALOCEAN);
    needed.extend(asked(may_get));
    assert_eq!(held(&objects), needed);
}

#[test]
fn a_config_map_that_is_made_needs_the_right_to_create_one() {
    let name = ["kube-system/ingress-uid"];
    let provider = json!({ "configMaps": name, "createsConfigMaps": name });
    let objects = rendered(&with("digitalocean", json!({ "config": { "provider": provider } })));
    let mut needed = needed(&objects, &DIGITALOCEAN);
    needed.extend(asked(made_config_map()));
    assert_eq!(held(&objects), needed);
}

#[test]
fn the_scraper_may_read_the_metrics_and_nothing_else() {
    let scraper = json!({ "namespace": "monitoring", "serviceAccount": "prometheus-k8s" });
    let objects = rendered(&with("digitalocean", json!({ "metrics": { "scraper": scraper } })));
    let of_scraper = |it: &&Value| it["metadata"]["name"] == "aerostat:metrics";
    let [role, binding] = &objects.iter().filter(of_scraper).collect::<Vec<_>>()[..] else { panic!("{objects:#?}") };
    assert_eq!(role["rules"], json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]));
    let subject = json!({ "kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "monitoring" });
    assert_eq!((&binding["roleRef"]["name"], &binding["subjects"]), (&role["metadata"]["name"], &json!([subject])));
    let ours: Vec<_> = objects.iter().filter(|it| !of_scraper(it)).cloned().collect();
    assert_eq!(ours, rendered(&values("digitalocean")));
}
