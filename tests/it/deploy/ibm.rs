//! The config for IBM Cloud: what the provider needs is allowed, and nothing else is.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, VolumeProjection};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tests::clouds::ibm::{ACCOUNT, API_KEY, CLUSTER, REGION, VPC};
use tests::control_plane::cluster;
use tests::guests;
use tests::vendor::{Behaviour, IbmCloud, Vendor as _};

use crate::chart;
use crate::pages::{is_there, leave, stands_by, type_in};
use crate::served::{Differences, joins};
use crate::setup::{
    Folder, allowed, cloud_config_in, command_line, commands, commands_for, container, describe, described, object,
    quoted, rows_of, settings_in, text, texts,
};

/// The keys of the vendor's INI file, and what it reads of its environment.
const VENDOR_KEYS: [&str; 28] = [
    "ENABLE_VPC_PUBLIC_ENDPOINT",
    "accountID",
    "application",
    "calico-datastore",
    "cloudCredentials",
    "cluster-default-provider",
    "clusterID",
    "cniProvider",
    "config-file",
    "externalIP",
    "g2Credentials",
    "g2EndpointOverride",
    "g2ResourceGroupName",
    "g2VpcName",
    "g2VpcSubnetNames",
    "g2workerServiceAccountID",
    "iamEndpointOverride",
    "iksPrivateEndpointHostname",
    "image",
    "instanceType",
    "internalIP",
    "providerID",
    "region",
    "rmEndpointOverride",
    "set-network-unavailable",
    "version",
    "vlan-ip-config-map",
    "zone",
];

fn config() -> Value {
    cloud_config_in("ibm/config.yaml")
}

#[tokio::test]
async fn the_config_of_ibm_allows_all_described_and_no_more() {
    let (config, description) = (config(), describe(guests::IBM).await);
    assert_eq!(allowed(&config), described(&description));
    assert_eq!(config["endpoints"][0]["name"], description.endpoints[0].name);
    assert_eq!(config["endpoints"][0]["baseUrl"], description.endpoints[0].example_base_url);
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    let mut labels = description.node_labels.clone();
    labels.sort();
    assert_eq!(texts(&config["provider"]["nodeLabels"]), labels);
    assert_eq!(description.name, "ibm");
}

#[test]
fn the_key_for_ibm_goes_to_iam_and_to_the_vpc_alone() {
    let secret = object::<Secret>("ibm/secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["api-key", "api-key.origins"]);
    let config = config();
    let iam = config["credentials"][0]["ibmIam"]["baseUrl"].as_str().unwrap();
    let vpc = config["endpoints"][0]["baseUrl"].as_str().unwrap().strip_suffix("/v1").unwrap();
    assert_eq!(secret["api-key.origins"].lines().collect::<Vec<_>>(), [iam, vpc]);
}

#[tokio::test]
async fn each_key_of_the_vendors_file_stands_where_the_page_says() {
    let rows = rows_of("ibm/README.md", "From the file of the vendor's controller");
    let mut keys: Vec<String> = rows.iter().flat_map(|it| quoted(&it[1])).collect();
    keys.sort();
    assert_eq!(keys, VENDOR_KEYS);
    assert_eq!(settings_in(rows.iter().map(|it| &it[2]), &describe(guests::IBM).await), 7);
}

/// How often nodes' addresses and load balancers are looked at, as the provider's page counts an hour of rest.
const PERIODS: [&str; 2] = ["--node-status-update-frequency=30m", "--load-balancer-resync-period=15m"];

#[test]
fn the_periods_of_ibm_are_those_of_its_pages() {
    let manifest = text("install-ibm.yaml");
    let shipped: Vec<&str> = manifest.lines().filter_map(|it| it.trim_start().strip_prefix("- --")).collect();
    let (page, of_provider) = (text("ibm/README.md"), text("../providers/ibm/README.md"));
    for period in PERIODS {
        assert!(shipped.iter().any(|it| period[2..] == **it), "{period}: {shipped:?}");
        assert!(page.contains(period) && of_provider.contains(period), "{period}");
    }
}

/// Cases: manifests
#[tokio::test]
async fn the_page_of_ibm_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("ibm").with("persistent-volumes").module(guests::IBM, "ibm.wasm");
    let blocks = commands("ibm/README.md");
    assert_eq!(blocks.len(), 2, "{blocks:#?}");
    let places = format!(
        "ACCOUNT={ACCOUNT} CLUSTER={CLUSTER} VPC={VPC} SUBNETS=sub-10,sub-20,sub-30 REGION={REGION} IMAGE=registry.cloud.test/aerostat@sha256:0\n"
    );
    type_in(&cluster, &folder, &format!("{places}{}", blocks.concat()), &format!("{API_KEY}\n"));
    is_there(&cluster, "ibm-provider", guests::IBM).await;
    let edited = std::fs::read_to_string(folder.path("deploy/deployment.yaml")).unwrap();
    let edited = serde_saphyr::from_str::<Deployment>(&edited).unwrap().spec.unwrap().template;
    let flags = command_line(&container(&edited));
    assert!(PERIODS.iter().all(|it| flags.iter().any(|flag| flag == it)), "{flags:?}");
    stands_by(&cluster, &folder, "ibm").await;
    assert_eq!(std::fs::read_to_string(folder.path("api-key")).unwrap(), API_KEY);
    let cloud = IbmCloud::start(Behaviour::default()).await.unwrap();
    let through_iam = Differences { config: Box::new(|_, url, config| at_iam(url, config)), ..Differences::default() };
    joins::<IbmCloud>(&cluster, &folder, &cloud, through_iam).await;
    leave(&cluster).await;
}

/// Leads the config to the simulated IAM and VPC.
pub(crate) fn at_iam(url: &str, config: &mut Value) {
    let tls = config["endpoints"][0]["tls"].clone();
    config["endpoints"][0]["baseUrl"] = json!(format!("{url}/v1"));
    let iam = &mut config["credentials"][0]["ibmIam"];
    (iam["baseUrl"], iam["tls"], iam["addresses"]) = (json!(url), tls, json!(["127.0.0.0/8"]));
}

#[tokio::test]
async fn the_manifests_for_ibm_are_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let both = ["ibm/config.yaml", "ibm/secret.yaml"].map(text).join("---\n");
    let said = Folder::new().run(&cluster, "kubectl apply --server-side --dry-run=server -f -", &both);
    assert!(said.success, "{said:#?}");
    assert_eq!((said.error.as_str(), said.out.lines().count()), ("", 2));
}

#[tokio::test]
async fn a_trusted_profile_for_pods_takes_the_keys_place() {
    let (cluster, folder) = (cluster().await, Folder::new().with("ibm"));
    let [patches] = &commands_for("ibm/README.md", "profile")[..] else { panic!("one command patches it") };
    let said = folder.run(&cluster, &format!("kubectl apply --server-side -f deploy/deployment.yaml\n{patches}"), "");
    assert!(said.success, "{said:#?}");
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let sources = |deployment: Deployment| {
        let volumes = deployment.spec.unwrap().template.spec.unwrap().volumes.unwrap();
        volumes.into_iter().find_map(|it| it.projected?.sources).unwrap()
    };
    let patched = sources(deployments.get("aerostat").await.unwrap());
    deployments.delete("aerostat", &DeleteParams::default()).await.unwrap();
    assert!(patched.iter().all(|it| it.secret.is_none()), "the key is not needed: {patched:?}");
    let by_profile = json!({ "source": "computeResource", "profile": "Profile-0123" });
    let values = chart::with("ibm", json!({ "credentials": { "ibm": by_profile } }));
    let of_chart = sources(chart::only(&chart::rendered(&values), "Deployment"));
    let tokens = |all: &[VolumeProjection]| {
        json!(all.iter().filter_map(|it| it.service_account_token.clone()).collect::<Vec<_>>())
    };
    assert_eq!(tokens(&patched), tokens(&of_chart));
    assert_eq!(tokens(&patched)[0]["audience"], "iam");
}
