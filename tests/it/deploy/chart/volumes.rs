//! The config for volumes of claims: with one of the controllers that work on them, and not without; and the release for them alone.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};
use tests::guests;

use super::{BESIDE, cloud_config, only, rendered, values, with};
use crate::setup::{allowed, command_line, container, describe_with, described};

/// The providers that export volumes.
const PROVIDERS: [(&str, &str); 2] = [("digitalocean", guests::DIGITALOCEAN), ("hetzner", guests::HETZNER)];

#[tokio::test]
async fn rules_and_setting_of_volumes_come_with_their_controllers() {
    for (cloud, module) in PROVIDERS {
        let set = describe_with(module, &[("volumes", "true")]).await;
        let bare = describe_with(module, &[]).await;
        assert_ne!(described(&set), described(&bare), "{cloud}");
        for (more, is_set) in [
            (json!({}), false),
            (json!({ "controllers": { "volume-provisioner": true } }), true),
            (json!({ "controllers": { "volume-attacher": true } }), true),
            (json!({ "controllers": { "volume-expander": true } }), true),
            (json!({ "controllers": { "volume-provisioner": true, "volume-attacher": true } }), true),
            (json!({ "controllers": { "volume-provisioner": false, "volume-attacher": false } }), false),
            (json!({ "settings": { "volumes": "true" } }), true),
        ] {
            let config = cloud_config(&rendered(&with(cloud, more.clone())));
            assert_eq!(allowed(&config), described(if is_set { &set } else { &bare }), "{cloud}: {more}");
            assert_eq!(config["provider"]["settings"]["volumes"] == "true", is_set, "{cloud}: {more}");
        }
    }
}

/// The release for a cloud, and the one for its volumes beside it.
fn beside(pair: [&str; 2]) -> [Vec<Value>; 2] {
    // With all that has a name of its own.
    let more = json!({
        "module": { "oci": { "login": { "dockerConfigJson": "{\"auths\":{}}" }, "ca": "PEM" } },
        "credentials": {
            "aws": { "source": "sharedFile", "accessKeyId": "AKIA", "secretAccessKey": "k/e+y" },
            "google": { "source": "key", "key": "{}" },
            "openstack": { "id": "0123", "secret": "4567" },
        },
        "metrics": { "monitor": "ServiceMonitor", "scraper": { "namespace": "monitoring", "serviceAccount": "prometheus" } },
        "leaderMigration": { "enabled": true },
    });
    pair.map(|provider| rendered(&with(provider, more.clone())))
}

#[test]
fn the_release_for_volumes_shares_no_object_with_the_other() {
    for pair in BESIDE {
        let [cluster, volumes] = beside(pair).map(|objects| -> BTreeSet<_> {
            let name =
                |it: &Value| format!("{} {} {}", it["kind"], it["metadata"]["namespace"], it["metadata"]["name"]);
            objects.iter().map(name).collect()
        });
        assert_eq!(cluster.intersection(&volumes).collect::<Vec<_>>(), [] as [&String; 0], "{pair:?}");
        let kinds =
            |names: &BTreeSet<String>| names.iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect();
        let [cluster, volumes]: [BTreeSet<String>; 2] = [kinds(&cluster), kinds(&volumes)];
        let more: Vec<_> = volumes.difference(&cluster).collect();
        assert_eq!(more, ["\"Namespace\""], "{pair:?}: that of what was begun");
        assert!(volumes.contains("\"Secret\""), "{pair:?}: {volumes:?}");
    }
}

#[test]
fn pods_of_the_release_for_volumes_are_told_from_the_others() {
    for pair in BESIDE {
        let [cluster, volumes] = beside(pair).map(|objects| {
            let labels = |it: &Value| it["spec"]["selector"].to_string();
            let selectors: BTreeSet<_> =
                objects.iter().filter(|it| !it["spec"]["selector"].is_null()).map(labels).collect();
            let deployment: Deployment = only(&objects, "Deployment");
            let pod = deployment.spec.unwrap().template;
            let port = container(&pod).ports.unwrap()[0].container_port;
            (selectors, port, pod.spec.unwrap().service_account_name)
        });
        assert!(cluster.0.is_disjoint(&volumes.0) && volumes.0.len() == cluster.0.len(), "{cluster:?} {volumes:?}");
        // Both are on the network of their node.
        assert_eq!((cluster.1, volumes.1), (10_258, 10_268), "{pair:?}");
        assert_eq!(volumes.2, Some(format!("cloud-controller-manager-{}", pair[1])));
    }
}

#[test]
fn the_release_for_volumes_has_its_own_lease_and_controllers() {
    for [cloud, provider] in BESIDE {
        let flags = |more: Value| {
            let deployment: Deployment = only(&rendered(&with(provider, more)), "Deployment");
            command_line(&container(&deployment.spec.unwrap().template))
        };
        let all = flags(json!({}));
        for flag in [
            "--controllers=volume-provisioner,volume-attacher,volume-expander",
            format!("--leader-elect-resource-name=cloud-controller-manager-{provider}").as_str(),
            format!("--cloud-provider={provider}").as_str(),
            "--secure-port=10268",
        ] {
            assert!(all.contains(&flag.to_owned()), "{flag}: {all:?}");
        }
        let one = flags(json!({ "controllers": { "volume-attacher": false, "volume-expander": false }, "port": 4711 }));
        for flag in ["--controllers=volume-provisioner", "--secure-port=4711"] {
            assert!(one.contains(&flag.to_owned()), "{flag}: {one:?}");
        }
        // The release of the cluster holds the usual one, and says nothing of it.
        let deployment: Deployment = only(&rendered(&values(cloud)), "Deployment");
        let usual = command_line(&container(&deployment.spec.unwrap().template));
        assert!(!usual.iter().any(|it| it.starts_with("--leader-elect-resource-name")), "{usual:?}");
    }
}

/// Clouds have one name or the other.
#[test]
fn the_catalogues_name_of_cinder_is_a_value() {
    let catalog =
        |more: Value| cloud_config(&rendered(&with("openstack-cinder", more)))["endpoints"][0]["catalog"].clone();
    let expected = json!({ "type": "volumev3", "interface": "public", "region": "RegionOne" });
    assert_eq!(catalog(json!({})), expected, "its URL there holds the project, so that no path takes its place");
    let named = json!({ "openstack": { "volumeService": "block-storage", "interface": "internal" } });
    let expected = json!({ "type": "block-storage", "interface": "internal", "region": "RegionOne" });
    assert_eq!(catalog(named), expected);
}
