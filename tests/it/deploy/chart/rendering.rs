//! Objects that the chart makes of values: types stay, nothing breaks out of its place, and secrets are in Secrets alone.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use super::{DIGEST, PRESETS, cloud_config, objects, only, rendered, run, texts, values, with};
use crate::setup::{container, text};

#[test]
fn helm_lint_has_nothing_to_say_of_the_presets() {
    for cloud in PRESETS {
        let said = run("helm", &["lint", "--strict", "chart"], &values(cloud));
        assert!(said.success, "{said:#?}");
        let complaints: Vec<_> =
            said.out.lines().filter(|it| it.contains("[WARNING]") || it.contains("[ERROR]")).collect();
        assert_eq!(complaints, [""; 0], "{cloud}");
    }
}

#[test]
fn helm_3_makes_the_same_of_each_preset() {
    for cloud in PRESETS {
        let said = run("helm3", &["template", "aerostat", "chart"], &values(cloud));
        assert!(said.success && said.error.is_empty(), "{said:#?}");
        assert_eq!(sorted(objects(&said.out)), sorted(rendered(&values(cloud))), "{cloud}");
    }
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(Value::to_string);
    objects
}

#[test]
fn the_charts_version_is_the_workspaces() {
    let version = text("../Cargo.toml").split("\nversion = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let chart: Value = serde_saphyr::from_str(&text("chart/Chart.yaml")).unwrap();
    assert_eq!((chart["version"].as_str(), chart["appVersion"].as_str()), (Some(&*version), Some(&*version)));
}

#[test]
fn another_tag_is_not_the_image_of_the_charts_digest() {
    let image = |image: Value| {
        let values = with("digitalocean", json!({ "digests": { "image": DIGEST }, "image": image }));
        container(&only::<Deployment>(&rendered(&values), "Deployment").spec.unwrap().template).image.unwrap()
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(image(json!({})), format!("registry.example.com/aerostat:{version}@{DIGEST}"));
    assert_eq!(image(json!({ "tag": "next" })), "registry.example.com/aerostat:next");
    assert_eq!(
        image(json!({ "tag": "next", "digest": DIGEST })),
        format!("registry.example.com/aerostat:next@{DIGEST}")
    );
}

#[test]
fn classic_infrastructure_at_ibm_asks_nobody() {
    let mut classic = with("ibm", json!({ "settings": { "clusterDefaultProvider": "classic" } }));
    classic["settings"].as_object_mut().unwrap().remove("vpcID");
    let objects = rendered(&classic);
    let config = cloud_config(&objects);
    assert!(config["endpoints"].is_null() && config["credentials"].is_null(), "{config:#}");
    assert_eq!(config["provider"]["settings"]["clusterDefaultProvider"], "classic");
    let preset = cloud_config(&rendered(&values("ibm")));
    assert_eq!(config["provider"]["nodeLabels"], preset["provider"]["nodeLabels"]);
    let pod = only::<Deployment>(&objects, "Deployment").spec.unwrap().template.spec.unwrap();
    let mounted: Vec<_> = pod.volumes.unwrap().into_iter().find(|it| it.name == "config").into_iter().collect();
    let sources = mounted[0].projected.clone().unwrap().sources.unwrap();
    assert!(sources.iter().all(|it| it.secret.is_none() && it.service_account_token.is_none()), "{sources:#?}");
    assert!(objects.iter().all(|it| it["kind"] != "Secret"));
}

#[test]
fn config_is_merged_over_the_preset_and_types_stay() {
    let preset = cloud_config(&rendered(&values("hetzner")));
    let more = json!({
        "provider": {
            "writesAnnotations": [],
            "nodeAddresses": ["10.0.0.0/8"],
            "limits": { "concurrency": 16, "memory": "64Mi", "deletesPerEnsure": 1_000_000 },
        },
        "clusterNetworks": { "pods": ["192.0.2.0/24"], "nodes": [] },
    });
    let values =
        with("hetzner", json!({ "config": more, "settings": { "network": "4711", "robot.enabled": "false" } }));
    let text = only::<ConfigMap>(&rendered(&values), "ConfigMap").data.unwrap().remove("cloud.yaml").unwrap();
    for expected in ["deletesPerEnsure: 1000000\n", "network: \"4711\"\n", "writesAnnotations: []\n"] {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
    let merged = cloud_config(&rendered(&values));
    assert_eq!(merged["provider"]["limits"], more["provider"]["limits"]);
    assert_eq!(merged["clusterNetworks"], more["clusterNetworks"]);
    let settings = json!({ "loadBalancers.location": "fsn1", "network": "4711", "robot.enabled": "false" });
    assert_eq!(merged["provider"]["settings"], settings);
    for same in ["endpoints", "credentials"] {
        assert_eq!(merged[same], preset[same], "{same}");
    }
    let zone = with("hetzner", json!({ "settings": { "loadBalancers.networkZone": "eu-central" } }));
    assert_eq!(
        cloud_config(&rendered(&zone))["provider"]["settings"],
        json!({ "loadBalancers.networkZone": "eu-central" }),
        "a network zone takes the place of the location"
    );
    assert_eq!(merged["provider"]["module"], preset["provider"]["module"]);
    // The version of AWS's API looks like a date, and is none.
    let aws = cloud_config(&rendered(&with("aws", json!({ "config": { "clusterNetworks": { "nodes": [] } } }))));
    assert_eq!(aws["endpoints"], cloud_config(&rendered(&super::values("aws")))["endpoints"]);
    assert_eq!(aws["endpoints"][0]["parameters"]["Version"], "2016-11-15");
}

/// Signs that would end a text in YAML, a comment, or a line.
const HOSTILE: &str = "a\"b'c: {{ .Values }} #d\n  e: f\n---\nkind: Pod\u{85}g: h\u{2028}i: j\\\t";

#[test]
fn no_value_breaks_out_of_its_place() {
    let values = with(
        "aws",
        json!({
            "settings": { "region": HOSTILE, "vpc": HOSTILE, "clusterID": HOSTILE, "other": HOSTILE },
            "credentials": { "existingSecret": HOSTILE, "aws": { "roleArn": HOSTILE } },
            "registry": HOSTILE,
            "module": { "oci": {
                "digest": HOSTILE, "previous": HOSTILE, "tokenServices": [HOSTILE], "addresses": [HOSTILE], "ca": HOSTILE,
                "signedBy": { "as": HOSTILE, "keys": { "release.pub": HOSTILE } },
                "login": { "dockerConfigJson": HOSTILE },
            } },
            "serviceAccount": { "annotations": { "a": HOSTILE } },
            "leaderMigration": { "enabled": true, "leaderName": HOSTILE,
                "controllerLeaders": [{ "name": HOSTILE, "component": HOSTILE }] },
            "extraArgs": [HOSTILE], "priorityClassName": HOSTILE, "podAnnotations": { "a": HOSTILE },
            "clusterCIDR": HOSTILE, "imagePullSecrets": [{ "name": HOSTILE }],
            "metrics": { "monitor": "ServiceMonitor", "labels": { "a": HOSTILE }, "interval": HOSTILE,
                "scraper": { "namespace": HOSTILE, "serviceAccount": HOSTILE }, "tokenSecret": { "name": HOSTILE } },
            "webhook": { "enabled": true, "driver": HOSTILE, "existingSecret": HOSTILE, "caBundle": HOSTILE },
        }),
    );
    // The schema would refuse most of it. An operator can do without.
    let said = run("helm", &["template", "aerostat", "chart", "--skip-schema-validation"], &values);
    assert!(said.success, "{said:#?}");
    let objects = objects(&said.out);
    let kinds = |objects: &[Value]| {
        let mut kinds: Vec<_> = objects.iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
        kinds.sort();
        kinds
    };
    let tame: Value = serde_json::from_str(&values.to_string().replace(&json!(HOSTILE).to_string(), "\"a\"")).unwrap();
    let tame = run("helm", &["template", "aerostat", "chart", "--skip-schema-validation"], &tame);
    assert_eq!(kinds(&objects), kinds(&super::objects(&tame.out)));
    let config = cloud_config(&objects);
    // A NEL is the end of a line to helm's own YAML, which folds it.
    let folded = HOSTILE.replace('\u{85}', " ");
    assert_eq!(config["provider"]["settings"]["other"], folded);
    assert_eq!(config["provider"]["module"]["oci"]["digest"], HOSTILE);
    assert_eq!(config["provider"]["module"]["oci"]["tokenServices"], json!([folded]));
    assert_eq!(config["credentials"][0]["sigv4"]["webIdentity"]["roleArn"], HOSTILE);
    let deployment = only::<Deployment>(&objects, "Deployment").spec.unwrap().template;
    assert!(container(&deployment).args.unwrap().contains(&folded));
    assert_eq!(deployment.spec.unwrap().priority_class_name.as_deref(), Some(HOSTILE));
    let migration = objects.iter().find(|it| it["metadata"]["name"] == "aerostat-leader-migration").unwrap();
    let migration: Value =
        serde_saphyr::from_str(migration["data"]["leader-migration.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(migration["leaderName"], HOSTILE);
}

#[test]
fn secrets_by_value_are_in_secrets_and_nowhere_else() {
    let robot = json!({ "user": "mark-of-the-user", "password": "mark-of-the-password" });
    let login =
        json!({ "oci": { "login": { "dockerConfigJson": "{\"auths\":{\"r\":{\"auth\":\"mark-of-the-login\"}}}" } } });
    let hetzner = json!({ "settings": { "robot.enabled": "true" }, "module": login,
        "credentials": { "token": "mark-of-the-token", "robot": robot } });
    let aws = json!({ "source": "sharedFile", "accessKeyId": "mark-of-the-id", "secretAccessKey": "mark-of-the-key" });
    let google = json!({ "source": "key", "key": "{\"private_key\":\"mark-of-the-private-key\"}" });
    let alibaba =
        json!({ "source": "accessKey", "accessKeyId": "mark-of-the-name", "accessKeySecret": "mark-of-the-word" });
    for values in [
        with("hetzner", hetzner),
        with("aws", json!({ "credentials": { "aws": aws } })),
        with("gcp", json!({ "credentials": { "google": google } })),
        with("gcp-pd", json!({ "credentials": { "google": google } })),
        with(
            "openstack-cinder",
            json!({ "credentials": { "openstack": { "id": "0123", "secret": "mark-of-the-word" } } }),
        ),
        with("azure", json!({ "credentials": { "entra": { "source": "secret", "secret": "mark-of-the-secret" } } })),
        with("alibaba", json!({ "credentials": { "alibaba": alibaba } })),
        with("ibm", json!({ "credentials": { "ibm": { "apiKey": "mark-of-the-key" } } })),
    ] {
        let marks: Vec<_> = texts(&values).into_iter().filter(|(_, it)| it.contains("mark-of-the-")).collect();
        // The notes are printed by an installation alone.
        let said = run("helm", &["install", "aerostat", "chart", "--dry-run=client"], &values);
        assert!(said.success, "{said:#?}");
        let (manifests, notes) = said.out.split_once("\nNOTES:\n").unwrap();
        let objects = objects(manifests.split_once("MANIFEST:\n").unwrap().1);
        for (path, mark) in marks {
            let mark = mark.split("mark-of-the-").nth(1).unwrap().trim_end_matches(|it: char| !it.is_alphabetic());
            let mark = format!("mark-of-the-{mark}");
            let kinds: Vec<_> =
                objects.iter().filter(|it| it.to_string().contains(&mark)).map(|it| &it["kind"]).collect();
            assert_eq!(kinds, ["Secret"], "{path}");
            assert!(!notes.contains("mark-of-the-"), "{notes}");
        }
    }
}

#[test]
fn a_secret_by_value_names_the_origins_that_it_goes_to() {
    let secret = |values: &Value| only::<Secret>(&rendered(values), "Secret").string_data.unwrap();
    let token =
        |cloud| secret(&with(cloud, json!({ "credentials": { "token": "12345678" } })))["token.origins"].clone();
    assert_eq!(token("digitalocean"), "https://api.digitalocean.com\n");
    assert_eq!(token("hetzner"), "https://api.hetzner.cloud\n");
    let keys = json!({ "source": "sharedFile", "accessKeyId": "AKIA", "secretAccessKey": "k/e+y" });
    let keys = secret(&with("aws", json!({ "credentials": { "aws": keys }, "settings": { "region": "cn-north-1" } })));
    assert_eq!(keys["aws-credentials"], "[default]\naws_access_key_id = AKIA\naws_secret_access_key = k/e+y\n");
    assert_eq!(
        keys["aws-credentials.origins"],
        "https://ec2.cn-north-1.amazonaws.com.cn\nhttps://elasticloadbalancing.cn-north-1.amazonaws.com.cn\n"
    );
    let login = json!({ "id": "0123", "secret": "4567" });
    let login = secret(&with("openstack-cinder", json!({ "credentials": { "openstack": login } })));
    let origins = ["cinder.example.com", "nova.example.com", "neutron.example.com", "keystone.example.com:5000"];
    assert_eq!(login["secret.origins"], origins.map(|it| format!("https://{it}\n")).concat());
    let alibaba = json!({ "source": "accessKey", "accessKeyId": "LTAI0123", "accessKeySecret": "01234567" });
    let alibaba = secret(&with(
        "alibaba",
        json!({ "credentials": { "alibaba": alibaba }, "settings": { "region": "eu-central-1" } }),
    ));
    let origins = ["ecs", "slb", "nlb", "vpc"].map(|it| format!("https://{it}.eu-central-1.aliyuncs.com\n"));
    assert_eq!((&alibaba["access-key-id"][..], &alibaba["access-key-secret"][..]), ("LTAI0123", "01234567"));
    assert_eq!(alibaba["access-key-secret.origins"], origins.concat());
    let ibm = |more: Value| secret(&with("ibm", more))["api-key.origins"].clone();
    let key = json!({ "ibm": { "apiKey": "01234567" } });
    let origins = "https://private.iam.cloud.ibm.com\nhttps://eu-de.private.iaas.cloud.ibm.com\n";
    assert_eq!(ibm(json!({ "credentials": key })), origins);
    let public = json!({ "credentials": key, "ibm": { "publicEndpoints": true } });
    assert_eq!(ibm(public), origins.replace("private.", ""));
    let robot = json!({ "settings": { "robot.enabled": "true" },
        "credentials": { "token": "12345678", "robot": { "user": "u", "password": "12345678" } } });
    let robot = secret(&with("hetzner", robot));
    assert_eq!(robot["token.origins"], "https://api.hetzner.cloud\n");
    assert_eq!(robot["robot-password.origins"], "https://robot-ws.your-server.de\n");
}
