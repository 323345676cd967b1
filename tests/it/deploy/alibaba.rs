//! The config for Alibaba Cloud: what the provider needs is allowed, nothing else is, and the policy of RAM says the same.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use cloud_provider::Description;
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::clouds::alibaba::{OIDC_TOKEN, REGION, VPC};
use tests::control_plane::cluster;
use tests::guests;
use tests::published::{self as served, Served};
use tests::vendor::AlibabaCloud;

use crate::pages::{is_there, leave, stands_by, type_in};
use crate::served::{Differences, joins};
use crate::setup::{
    Folder, cloud_config_in, commands, describe_with, described_content, quoted, rows_of, settings_in, text, texts,
    written_content,
};

/// The keys of the vendor's file, its flags and what it reads of its environment.
const VENDOR_KEYS: [&str; 42] = [
    "ACCESS_KEY_ID",
    "ACCESS_KEY_SECRET",
    "ALICLOUD_CLIENT_SCHEME",
    "ECS_ENDPOINT",
    "EFLO_CONTROLLER_ENDPOINT",
    "NLB_ENDPOINT",
    "SERVICE_FORCE_BACKEND_ENI",
    "SLB_ENDPOINT",
    "VPC_ENDPOINT",
    "X-ACSPROXY-ASCM-CONTEXT",
    "accessKeyID",
    "accessKeySecret",
    "cluster-cidr",
    "clusterID",
    "configure-cloud-routes",
    "disablePublicSLB",
    "dry-run",
    "enable-imdsv2",
    "featureGates",
    "kubernetesClusterTag",
    "max-concurrent-actions",
    "max-throttling-retry-times",
    "network",
    "node-reconcile-batch-size",
    "nodeAddrSyncPeriod",
    "nodeMaxConcurrentReconciles",
    "nodeMonitorPeriod",
    "privateZoneId",
    "privateZoneRecordTTL",
    "region",
    "resourceGroupID",
    "route-reconcile-batch-size",
    "routeMaxConcurrentReconciles",
    "routeTableIDs",
    "serviceBackendType",
    "serviceMaxConcurrentReconciles",
    "sg-batch-size",
    "skip-disable-source-dest-check",
    "uid",
    "vpcid",
    "vswitchid",
    "zoneid",
];

/// With the settings of the config, and the VPC that an operator writes.
async fn described() -> Description {
    describe_with(guests::ALIBABA, &[("region", "cn-hangzhou"), ("vpc", "vpc-1")]).await
}

#[tokio::test]
async fn the_config_of_alibaba_allows_all_described_and_no_more() {
    let (config, description) = (cloud_config_in("alibaba/config.yaml"), described().await);
    let endpoints = config["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), description.endpoints.len());
    for (written, described) in endpoints.iter().zip(&description.endpoints) {
        assert_eq!(
            (&written["name"], &written["baseUrl"]),
            (&json!(described.name), &json!(described.example_base_url))
        );
        let parameters: BTreeMap<_, _> = described.parameters.iter().cloned().collect();
        assert_eq!(written["parameters"], json!(parameters));
        assert_eq!(written["operation"], json!({ "header": "x-acs-action" }));
        let rules = described.allow.iter().map(|rule| {
            let effect = format!("{:?}", rule.effect).to_lowercase();
            (texts(&json!(rule.operations)), effect, described_content(&rule.content))
        });
        let allowed = written["allow"].as_array().unwrap().iter().map(|rule| {
            assert_eq!((&rule["methods"], &rule["paths"]), (&json!(["POST"]), &json!(["/"])));
            (texts(&rule["operations"]), rule["effect"].as_str().unwrap().to_owned(), written_content(rule))
        });
        assert!(allowed.eq(rules), "{}", described.name);
    }
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(texts(&config["provider"]["nodeLabels"]), description.node_labels);
    assert_eq!(description.name, "alicloud");
}

#[test]
fn the_policy_is_what_alibabas_provider_describes() {
    let described = Command::new(binary().unwrap())
        .args(["provider", "describe", guests::ALIBABA, "--format=permissions"])
        .output()
        .unwrap();
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    assert_eq!(String::from_utf8(described.stdout).unwrap(), text("alibaba/policy.json"));
}

#[tokio::test]
async fn each_key_of_alibabas_manager_stands_where_the_page_says() {
    let rows = rows_of("alibaba/README.md", "From the file of the vendor's controller");
    let mut keys: Vec<String> = rows.iter().flat_map(|it| quoted(&it[1])).collect();
    keys.sort();
    assert_eq!(keys, VENDOR_KEYS);
    assert_eq!(settings_in(rows.iter().map(|it| &it[2]), &described().await), 8);
}

/// Cases: manifests
#[tokio::test]
async fn alibabas_page_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("alibaba").with("persistent-volumes").module(guests::ALIBABA, "alibaba.wasm");
    let blocks = commands("alibaba/README.md");
    assert_eq!(blocks.len(), 2, "{blocks:#?}");
    let known = "ACCOUNT=1234567890123456 ROLE=aerostat PROVIDER=cluster IMAGE=registry.cloud.test/aerostat@sha256:0";
    type_in(&cluster, &folder, &format!("REGION={REGION} VPC={VPC} {known}\n{}", blocks.concat()), "");
    is_there(&cluster, "alibaba-provider", guests::ALIBABA).await;
    // The kubelet mounts it beside the config.
    fs::write(folder.path("alibaba-token"), OIDC_TOKEN).unwrap();
    stands_by(&cluster, &folder, "alicloud").await;
    let Served { url, simulator: cloud } = served::alibaba::serve(0, Some(Duration::ZERO)).await.unwrap();
    let by_role = Differences { config: Box::new(move |_, _, config| at_sts(&url, config)), ..Differences::default() };
    joins::<AlibabaCloud>(&cluster, &folder, &cloud, by_role).await;
    cloud.assert_valid();
    leave(&cluster).await;
}

/// Leads to the STS of the simulated account, which is at this address.
pub(crate) fn at_sts(url: &str, config: &mut Value) {
    let acs3 = &mut config["credentials"][0]["acs3"];
    assert!(acs3["oidc"]["tokenFile"].is_string(), "a role for the ServiceAccount: {acs3}");
    acs3["sts"] = json!({ "baseUrl": url, "addresses": ["127.0.0.0/8"] });
}
