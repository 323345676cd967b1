//! The config for Azure: what the provider needs is allowed, nothing else is, what is shared is written over a version that was read, the
//! role says the same, and every key of the vendor's file has its place.

use std::collections::BTreeSet;
use std::process::Command;

use cloud_provider::{Description, Effect};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::clouds::azure::{GROUP, LOCATION, SUBSCRIPTION};
use tests::guests;

use crate::chart::{cloud_config, only, rendered, with};
use crate::setup::{cloud_config_in, commands_for, describe_with, described_content, object, text, texts};

/// The keys of cloud-provider-azure's file (its release of August 2026).
const VENDOR_KEYS: [&str; 84] = [
    "aadClientCertPassword",
    "aadClientCertPath",
    "aadClientId",
    "aadClientSecret",
    "aadFederatedTokenFile",
    "aadMSIDataPlaneIdentityPath",
    "availabilitySetsCacheTTLInSeconds",
    "cloud",
    "cloudConfigType",
    "cloudProviderBackoff",
    "cloudProviderBackoffDuration",
    "cloudProviderBackoffExponent",
    "cloudProviderBackoffJitter",
    "cloudProviderBackoffRetries",
    "cloudProviderRateLimit",
    "cloudProviderRateLimitBucket",
    "cloudProviderRateLimitBucketWrite",
    "cloudProviderRateLimitQPS",
    "cloudProviderRateLimitQPSWrite",
    "clusterServiceLoadBalancerHealthProbeMode",
    "clusterServiceSharedLoadBalancerHealthProbePath",
    "clusterServiceSharedLoadBalancerHealthProbePort",
    "disableAPICallCache",
    "disableAvailabilitySetNodes",
    "disableAzureStackCloud",
    "disableOutboundSNAT",
    "enableMigrateToIPBasedBackendPoolAPI",
    "enableVmssFlexNodes",
    "excludeMasterFromStandardLB",
    "extendedLocationName",
    "extendedLocationType",
    "identitySystem",
    "loadBalancerBackendPoolConfigurationType",
    "loadBalancerBackendPoolUpdateIntervalInSeconds",
    "loadBalancerCacheTTLInSeconds",
    "loadBalancerName",
    "loadBalancerResourceGroup",
    "loadBalancerSku",
    "location",
    "maximumLoadBalancerRuleCount",
    "multipleStandardLoadBalancerConfigurations",
    "networkResourceSubscriptionID",
    "networkResourceTenantID",
    "nodeInstanceNotFoundGracePeriodInSeconds",
    "nonVmssUniformNodesCacheTTLInSeconds",
    "nsgCacheTTLInSeconds",
    "plsCacheTTLInSeconds",
    "podCidrIPv4",
    "podCidrIPv6",
    "preConfiguredBackendPoolLoadBalancerTypes",
    "primaryAvailabilitySetName",
    "primaryScaleSetName",
    "privateLinkServiceResourceGroup",
    "publicIPCacheTTLInSeconds",
    "putVMSSVMBatchSize",
    "resourceGroup",
    "resourceManagerEndpoint",
    "routeTableCacheTTLInSeconds",
    "routeTableName",
    "routeTableResourceGroup",
    "routeUpdateIntervalInSeconds",
    "routeUpdateWaitingInSeconds",
    "securityGroupName",
    "securityGroupResourceGroup",
    "serviceGatewayEnabled",
    "subnetName",
    "subscriptionId",
    "systemTags",
    "tags",
    "tagsMap",
    "tenantId",
    "useFederatedWorkloadIdentityExtension",
    "useInstanceMetadata",
    "useManagedIdentityExtension",
    "userAssignedIdentityID",
    "vmCacheTTLInSeconds",
    "vmType",
    "vmssCacheTTLInSeconds",
    "vmssFlexCacheTTLInSeconds",
    "vmssFlexVMCacheTTLInSeconds",
    "vmssVirtualMachineCacheInstanceView",
    "vmssVirtualMachinesCacheTTLInSeconds",
    "vnetName",
    "vnetResourceGroup",
];

/// The place of the subscription in the files of `deploy/`.
const PLACE: &str = "/subscriptions/ID-OF-THE-SUBSCRIPTION/resourceGroups/NAME-OF-THE-RESOURCE-GROUP/";

async fn described() -> Description {
    let settings = [("subscriptionId", SUBSCRIPTION), ("resourceGroup", GROUP), ("location", LOCATION)];
    describe_with(guests::AZURE, &settings).await
}

fn lines<'a>(
    methods: &'a [String],
    paths: &'a [String],
    effect: &'a str,
    carried: &'a str,
) -> impl Iterator<Item = String> + 'a {
    methods.iter().flat_map(move |method| paths.iter().map(move |path| format!("{method} {path}: {effect} {carried}")))
}

/// Whether requests name the version that was read: who has written in between is not overwritten, and what somebody has begun to use is
/// not deleted. Connections to Private Link services are their consumers' alone.
fn names_version(methods: &[String], paths: &[String]) -> bool {
    let has = |method: &str| methods.iter().any(|it| it == method);
    has("PUT") || (has("DELETE") && !paths.iter().any(|it| it.contains("/privateEndpointConnections/")))
}

#[tokio::test]
async fn the_config_of_azure_allows_all_described_and_no_more() {
    let (config, description) = (cloud_config_in("azure/config.yaml"), described().await);
    let written = config["endpoints"].as_array().unwrap();
    assert_eq!(written.len(), description.endpoints.len());
    for (written, described) in written.iter().zip(&description.endpoints) {
        assert_eq!(
            (&written["name"], &written["baseUrl"]),
            (&json!(described.name), &json!(described.example_base_url))
        );
        let parameters: Vec<(String, String)> = described.parameters.clone();
        let expected: serde_json::Map<String, Value> =
            parameters.into_iter().map(|(name, value)| (name, json!(value))).collect();
        assert_eq!(written["parameters"], Value::Object(expected), "{}", described.name);
        let mut allowed = BTreeSet::new();
        for rule in written["allow"].as_array().unwrap() {
            let methods = texts(&rule["methods"]);
            let effect = rule["effect"].as_str().unwrap_or(Effect::of_method(&methods[0]).as_str());
            // The config names the group of what is made; the description knows of none.
            let paths: Vec<_> = texts(&rule["paths"])
                .iter()
                .map(|it| it.replace(PLACE, "/subscriptions/*/resourceGroups/*/"))
                .collect();
            allowed.extend(lines(&methods, &paths, effect, &crate::setup::written_content(rule)));
            let expected = if names_version(&methods, &paths) { json!(["if-match"]) } else { Value::Null };
            assert_eq!(rule["requires"], expected, "{rule}");
        }
        let versions = described.allow.iter().all(|it| it.names_version == names_version(&it.methods, &it.paths));
        assert!(versions, "the module says so, too");
        let needed = described.allow.iter().flat_map(|rule| {
            let carried = described_content(&rule.content);
            lines(&rule.methods, &rule.paths, rule.effect.as_str(), &carried).collect::<Vec<_>>()
        });
        assert_eq!(allowed, needed.collect(), "{}", described.name);
    }
    let provider = &config["provider"];
    assert_eq!(texts(&provider["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(texts(&provider["nodeLabels"]), description.node_labels);
    assert_eq!((&provider["writesAnnotations"], &description.writes_annotations[..]), (&Value::Null, &[][..]));
    assert_eq!(description.name, "azure");
}

#[test]
fn public_addresses_are_those_of_the_clusters_group() {
    let config = cloud_config_in("azure/config.yaml");
    let rules = config["endpoints"].as_array().unwrap().iter().flat_map(|it| it["allow"].as_array().unwrap().clone());
    let paths: Vec<String> = rules.flat_map(|it| texts(&it["paths"])).collect();
    let publics = paths.iter().filter(|it| it.contains("Microsoft.Network/publicIPAddresses"));
    assert!(publics.clone().count() >= 4 && publics.clone().all(|it| it.starts_with(PLACE)), "{paths:#?}");

    // With a network in another subscription, machines have their addresses in their own.
    let other = "22222222-2222-3333-4444-555555555555";
    let settings = json!({ "networkResourceSubscriptionID": other, "loadBalancerResourceGroup": "lb" });
    let config = cloud_config(&rendered(&with("azure", json!({ "settings": settings }))));
    let rules = config["endpoints"][1]["allow"].as_array().unwrap();
    let of = |method: &str, part: &str| -> Vec<String> {
        let rules = rules.iter().filter(|it| texts(&it["methods"]).contains(&method.to_owned()));
        rules.flat_map(|it| texts(&it["paths"])).filter(|it| it.contains(part)).collect()
    };
    let at = |subscription: &str, group: &str, rest: &str| {
        format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/{rest}")
    };
    let publics: BTreeSet<_> = of("GET", "Microsoft.Network/publicIPAddresses").into_iter().collect();
    let expected = [other, SUBSCRIPTION]
        .into_iter()
        .flat_map(|it| ["publicIPAddresses", "publicIPAddresses/*"].map(|rest| at(it, "cluster", rest)));
    assert_eq!(publics, expected.collect());
    assert_eq!(of("DELETE", "publicIPAddresses"), [at(other, "cluster", "publicIPAddresses/*")]);
    assert_eq!(of("DELETE", "loadBalancers"), [at(other, "lb", "loadBalancers/*")]);
}

#[tokio::test]
async fn the_role_definition_is_what_azures_provider_describes() {
    let output = Command::new(binary().unwrap())
        .args(["provider", "describe", guests::AZURE, "--format=permissions"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text("azure/role.json"));
    let role: Value = serde_json::from_str(&text("azure/role.json")).unwrap();
    let rules = described().await.endpoints;
    let actions: BTreeSet<_> = rules.iter().flat_map(|it| &it.allow).flat_map(|it| it.actions.clone()).collect();
    assert_eq!(texts(&role["Actions"]).into_iter().collect::<BTreeSet<_>>(), actions);
    assert!(actions.iter().all(|it| it.starts_with("Microsoft.") && !it.contains('*')), "{actions:#?}");
    assert_eq!(role["AssignableScopes"], json!(["/subscriptions/ID-OF-THE-SUBSCRIPTION"]));
    let page = text("azure/README.md");
    let command = format!("--role {} ", role["Name"].as_str().unwrap());
    assert!(page.contains("(role.json)") && page.contains(&command), "the page assigns it");
}

#[test]
fn a_secret_by_value_goes_to_azure_and_entra_alone() {
    for (cloud, origins) in [
        ("AzurePublicCloud", "https://management.azure.com\nhttps://login.microsoftonline.com\n"),
        ("AzureUSGovernmentCloud", "https://management.usgovcloudapi.net\nhttps://login.microsoftonline.us\n"),
        ("AzureChinaCloud", "https://management.chinacloudapi.cn\nhttps://login.chinacloudapi.cn\n"),
    ] {
        let entra = json!({ "source": "secret", "secret": "s/e+c", "cloud": cloud });
        let objects = rendered(&with("azure", json!({ "credentials": { "entra": entra } })));
        let secret = only::<Secret>(&objects, "Secret").string_data.unwrap();
        assert_eq!((&*secret["azure-secret"], &*secret["azure-secret.origins"]), ("s/e+c", origins));
        let config = cloud_config(&objects);
        let section = &config["credentials"][0]["entra"];
        assert_eq!(section["clientSecret"], json!({ "file": "/etc/aerostat/azure-secret" }));
        assert_eq!(section["cloud"].as_str().unwrap_or("AzurePublicCloud"), cloud);
    }
    let page = &commands_for("azure/README.md", "secret")[0];
    for origin in ["https://management.azure.com", "https://login.microsoftonline.com"] {
        assert!(page.contains(origin), "the page says the same");
    }
}

#[test]
fn each_source_of_azures_tokens_has_what_it_needs() {
    let deployed = |entra: Value| {
        let objects = rendered(&with("azure", json!({ "credentials": { "entra": entra } })));
        let deployment = objects.iter().find(|it| it["kind"] == "Deployment").unwrap();
        let sources = deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"].clone();
        (cloud_config(&objects)["credentials"][0]["entra"].clone(), sources)
    };
    let (section, sources) = deployed(json!({ "cloud": "AzureUSGovernmentCloud" }));
    assert_eq!(section["federatedToken"], json!({ "file": "/etc/aerostat/azure-token" }));
    let token =
        json!({ "path": "azure-token", "audience": "api://AzureADTokenExchangeUSGov", "expirationSeconds": 3600 });
    assert_eq!(sources[1], json!({ "serviceAccountToken": token }));
    // One of a user, and the machine's own.
    let client = "88888888-0000-0000-0000-000000000002";
    for (client, identity) in [(client, json!({ "clientId": client })), ("", json!({}))] {
        let entra = json!({ "source": "managedIdentity", "clientId": client, "tenant": "" });
        let (section, sources) = deployed(entra);
        assert_eq!((section, sources.as_array().unwrap().len()), (json!({ "managedIdentity": identity }), 1));
    }
    let patch: Value = serde_saphyr::from_str(&text("azure/workload-identity-patch.yaml")).unwrap();
    let (_, sources) = deployed(json!({}));
    assert_eq!(patch[0]["value"], sources[1], "the patch is what the chart makes");
}

/// A row of the table that translates `azure.json`: keys, and what stands here.
fn translations() -> Vec<(Vec<String>, String)> {
    let page = text("../docs/configuration.md");
    let table = page.split("### From azure.json\n").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = table.lines().filter(|it| it.starts_with("| `"));
    let row = |row: &str| {
        let (keys, here) = row.trim_matches('|').split_once('|').unwrap();
        (words(keys), here.trim().to_owned())
    };
    rows.map(row).collect()
}

/// The words in backticks.
fn words(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test]
async fn each_key_of_the_vendors_file_has_its_place() {
    let rows = translations();
    let keys: Vec<String> = rows.iter().flat_map(|(keys, _)| keys.clone()).collect();
    let all: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    assert_eq!(all, VENDOR_KEYS.into_iter().collect());
    assert_eq!(all.len(), keys.len(), "each stands once");
    let settings: BTreeSet<String> = described().await.settings.into_iter().map(|it| it.name).collect();
    let schema: Value = serde_json::from_str(&text("../docs/cloud-config.schema.json")).unwrap();
    let mut named = BTreeSet::new();
    for (keys, here) in &rows {
        let is_said =
            ["setting `", "`entra.", "not needed: ", "refused", "nothing: ", "limits.", "`--", "credential `entra`"];
        assert!(is_said.iter().any(|it| here.contains(it)), "{keys:?}: {here}");
        for setting in here.split("setting `").skip(1).map(|it| it.split('`').next().unwrap()) {
            assert!(settings.contains(setting), "{keys:?}: there is no setting {setting}");
            named.insert(setting.to_owned());
        }
        for key in words(here).iter().filter_map(|it| it.strip_prefix("entra.")) {
            let section = &schema["properties"]["credentials"]["items"]["properties"]["entra"];
            let found = key.split('.').fold(section, |it, key| &it["properties"][key]);
            assert!(!found.is_null(), "{keys:?}: there is no credentials[].entra.{key}");
        }
    }
    // The vendor asks Azure for the zones of the region.
    assert_eq!(settings.difference(&named).collect::<Vec<_>>(), ["zones"]);
}

#[test]
fn the_config_of_azure_holds_no_secret() {
    let config: ConfigMap = object("azure/config.yaml");
    assert_eq!(config.data.unwrap().into_keys().collect::<Vec<_>>(), ["cloud.yaml"]);
}
