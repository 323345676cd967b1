//! The rights of the ServiceAccount: those that the binary and the module ask for, and no others.

use std::collections::BTreeSet;

use aerostat::{ControllerName, RoleRule, RunSettings, rules};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use serde_json::Value;
use tests::control_plane::{cluster, roles};
use tests::guests;
use tests::vendor::{Aws, AzureCloud, DigitalOcean, GoogleCloud, Hetzner, OpenStack, Vendor as _};

use crate::setup::{cloud_config, command_line, container, provider, template, text};

/// Where the module is, by the shipped config.
fn module() -> String {
    let module: Value = cloud_config()["provider"]["module"]["configMap"].clone();
    assert!(matches!(module["namespace"].as_str(), None | Some("kube-system")), "{module}");
    module["name"].as_str().unwrap().to_owned()
}

/// The status of the API server's answer when a ConfigMap of kube-system is read.
async fn read(client: &Client, name: &str) -> u16 {
    match Api::<ConfigMap>::namespaced(client.clone(), "kube-system").get(name).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn adv_112_other_config_maps_are_not_readable() {
    let mut cluster = cluster().await;
    cluster.forbids();
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    for name in [module(), "somebody-elses".to_owned()] {
        let config_map =
            ConfigMap { metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() }, ..ConfigMap::default() };
        config_maps.create(&PostParams::default(), &config_map).await.unwrap();
    }
    assert_eq!(read(&cluster.aerostat, &module()).await, 200);
    for foreign in ["somebody-elses", "extension-apiserver-authentication", "kube-root-ca.crt", "not-there"] {
        assert_eq!(read(&cluster.aerostat, foreign).await, 403, "{foreign}");
    }
    let ours: Api<ConfigMap> = Api::namespaced(cluster.aerostat.clone(), "kube-system");
    assert!(matches!(ours.list(&ListParams::default()).await, Err(kube::Error::Api(status)) if status.code == 403));
    let secrets: Api<Secret> = Api::namespaced(cluster.aerostat.clone(), "kube-system");
    assert!(matches!(secrets.get("aerostat").await, Err(kube::Error::Api(status)) if status.code == 403));
}

/// A verb of a rule of a role: the role's namespace, group, resource, name and verb.
pub(crate) type Right = (Option<String>, String, String, Option<String>, String);

#[test]
fn the_roles_hold_what_the_binary_asks_for_and_nothing_else() {
    let held = held_in("rbac.yaml");
    let settings = RunSettings::parse(command_line(&container(&template()))).unwrap();
    // What manifests of their own allow is asked for where the provider knows volumes.
    let of_volumes = [
        ControllerName::PersistentVolumeLabel,
        ControllerName::VolumeProvisioner,
        ControllerName::VolumeAttacher,
        ControllerName::VolumeExpander,
    ];
    let controllers: Vec<_> = ControllerName::ALL.into_iter().filter(|it| !of_volumes.contains(it)).collect();
    let rules = rules(&settings, &controllers);
    let module = RoleRule {
        namespace: Some("kube-system".to_owned()),
        group: "",
        resource: "configmaps",
        name: Some(module()),
        verbs: vec!["get"],
    };
    assert_eq!(held, asked(rules.work().into_iter().chain(rules.metrics).chain(rules.further).chain([module])));
}

#[test]
fn a_provider_that_knows_volumes_needs_one_more_role() {
    let settings = RunSettings::parse(command_line(&container(&template()))).unwrap();
    for (manifest, controller) in [
        ("persistent-volumes/rbac.yaml", ControllerName::PersistentVolumeLabel),
        ("volumes/rbac.yaml", ControllerName::VolumeProvisioner),
        ("volumes/attacher-rbac.yaml", ControllerName::VolumeAttacher),
        ("volumes/expander-rbac.yaml", ControllerName::VolumeExpander),
    ] {
        let [(_, own)] = &rules(&settings, &[controller]).own[..] else { panic!("one controller") };
        assert_eq!(held_in(manifest), asked(own.clone()), "{manifest}");
    }
}

#[tokio::test]
async fn each_clouds_page_applies_what_its_controllers_need() {
    let settings = RunSettings::parse(command_line(&container(&template()))).unwrap();
    for (page, module) in [
        (DigitalOcean::PAGE, guests::DIGITALOCEAN),
        (Hetzner::PAGE, guests::HETZNER),
        (Aws::PAGE, guests::AWS),
        (GoogleCloud::PAGE, guests::GCP),
        (AzureCloud::PAGE, guests::AZURE),
        (OpenStack::PAGE, guests::OPENSTACK),
    ] {
        let files = roles(&text(page));
        let held: BTreeSet<_> = files.iter().flat_map(|it| held_in(it.strip_prefix("deploy/").unwrap())).collect();
        let cloud = provider(module, &[]).await.cloud();
        let has = [
            (ControllerName::CloudNode, cloud.instances.is_some()),
            (ControllerName::CloudNodeLifecycle, cloud.instances.is_some()),
            (ControllerName::Service, cloud.load_balancers.is_some()),
            (ControllerName::Route, cloud.routes.is_some()),
            (ControllerName::PersistentVolumeLabel, cloud.persistent_volumes.is_some()),
        ];
        let controllers: Vec<_> = has.into_iter().filter(|(_, has)| *has).map(|(it, _)| it).collect();
        let rules = rules(&settings, &controllers);
        let needed = asked(rules.work().into_iter().chain(rules.further));
        assert_eq!(needed.difference(&held).collect::<Vec<_>>(), [] as [&Right; 0], "{page}: {files:?}");
        let knows_volumes = files.iter().any(|it| it.contains("persistent-volumes"));
        assert_eq!(knows_volumes, cloud.persistent_volumes.is_some(), "{page} gives no right that nothing needs");
    }
}

/// The rights that the roles of a manifest give.
fn held_in(manifest: &str) -> BTreeSet<Right> {
    held(&serde_saphyr::from_multiple::<Value>(&text(manifest)).unwrap())
}

/// The rights at resources that the roles among some objects give.
pub(crate) fn held(documents: &[Value]) -> BTreeSet<Right> {
    let roles =
        documents.iter().filter(|it| ["ClusterRole", "Role"].contains(&it["kind"].as_str().unwrap_or_default()));
    let list = |it: &Value| it.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let mut held: Vec<Right> = Vec::new();
    for role in roles {
        let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
        for rule in role["rules"].as_array().unwrap() {
            let names = rule.get("resourceNames").map(&list);
            let names: Vec<_> = names.map_or_else(|| vec![None], |names| names.into_iter().map(Some).collect());
            for (group, resource) in list(&rule["apiGroups"]).into_iter().zip(list(&rule["resources"])) {
                for name in &names {
                    let right = |verb| (namespace.clone(), group.clone(), resource.clone(), name.clone(), verb);
                    held.extend(list(&rule["verbs"]).into_iter().map(right));
                }
            }
        }
    }
    held.into_iter().collect()
}

/// The rights that rules ask for.
pub(crate) fn asked(rules: impl IntoIterator<Item = RoleRule>) -> BTreeSet<Right> {
    let rights = rules.into_iter().flat_map(|mut rule| {
        let verbs = std::mem::take(&mut rule.verbs);
        let right = move |verb: &str| {
            (
                rule.namespace.clone(),
                rule.group.to_owned(),
                rule.resource.to_owned(),
                rule.name.clone(),
                verb.to_owned(),
            )
        };
        verbs.into_iter().map(right).collect::<Vec<_>>()
    });
    rights.collect()
}

#[test]
fn the_pages_commands_create_the_config_map_that_may_be_read() {
    let command = format!("create configmap {} --from-file=provider.wasm=", module());
    assert!(text("README.md").contains(&command), "deploy/README.md does not {command:?}");
}
