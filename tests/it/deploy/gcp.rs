//! The config for Google Cloud: what the provider needs is allowed, nothing else is, the role says the same, and each way to tokens works
//! as the page says.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use cloud_provider::{Description, Effect};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::clouds::gcp::{KEY, MetadataServer, PROJECT, REGION};
use tests::control_plane::{Cluster, cluster};
use tests::vendor::{Behaviour, GoogleCloud, Vendor as _};
use tests::{folder, guests};

use crate::chart::{cloud_config, only, rendered, with};
use crate::pages::{is_there, leave, type_in};
use crate::served::{Differences, joins, mount};
use crate::setup::{
    Folder, commands, commands_for, describe_with, described_content, object, text, texts, written_content,
};

/// The provider of a pool, as Google names it.
pub(crate) const POOL_PROVIDER: &str =
    "projects/424242424242/locations/global/workloadIdentityPools/aerostat/providers/cluster";
/// The token that the kubelet projects.
const PROJECTED: &str = "token-of-the-ServiceAccount";
/// The address of the account of the key.
const ACCOUNT: &str = "ccm@p1.iam.gserviceaccount.com";

/// The config for a project.
fn config() -> Value {
    let config_map: ConfigMap = object("gcp/config.yaml");
    let text = config_map.data.unwrap()["cloud.yaml"].replace("ID-OF-THE-PROJECT", PROJECT);
    serde_saphyr::from_str(&text).unwrap()
}

async fn described() -> Description {
    describe_with(guests::GCP, &[("project", PROJECT), ("region", REGION)]).await
}

fn lines(methods: &[String], paths: &[String], effect: Option<&str>, carried: &str) -> Vec<String> {
    let line = |method: &String, path: &String| {
        let effect = effect.unwrap_or(Effect::of_method(method).as_str());
        format!("{method} {path}: {effect} {carried}")
    };
    methods.iter().flat_map(|method| paths.iter().map(move |path| line(method, path))).collect()
}

/// The endpoints of a config allow what is described, and nothing else.
fn allows_what_is_described(config: &Value, description: &Description) {
    let written = config["endpoints"].as_array().unwrap();
    assert_eq!(written.len(), description.endpoints.len());
    for (written, described) in written.iter().zip(&description.endpoints) {
        assert_eq!(written["name"], described.name);
        assert_eq!(written["baseUrl"], described.example_base_url.replace("PROJECT", PROJECT));
        let allowed: BTreeSet<_> = written["allow"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|rule| {
                let (effect, carried) = (rule["effect"].as_str(), written_content(rule));
                lines(&texts(&rule["methods"]), &texts(&rule["paths"]), effect, &carried)
            })
            .collect();
        let needed = described.allow.iter().flat_map(|rule| {
            // A POST that reads is described as it is: the SDK leaves no effect out.
            let effect = Some(rule.effect.as_str());
            lines(&rule.methods, &rule.paths, effect, &described_content(&rule.content))
        });
        assert_eq!(allowed, needed.collect(), "{}", described.name);
    }
}

#[tokio::test]
async fn the_config_of_google_allows_all_described_and_no_more() {
    let (config, description) = (config(), described().await);
    allows_what_is_described(&config, &description);
    let provider = &config["provider"];
    assert_eq!(texts(&provider["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(texts(&provider["writesAnnotations"]), description.writes_annotations);
    assert_eq!(texts(&provider["nodeLabels"]), description.node_labels);
    let made: BTreeSet<_> = description.cluster_ids.iter().map(|it| it.config_map.clone()).collect();
    for key in ["configMaps", "createsConfigMaps"] {
        assert_eq!(texts(&provider[key]).into_iter().collect::<BTreeSet<_>>(), made, "{key}");
    }
    // Finalizers of a controller that serves other Services stay.
    let finalizers = texts(&provider["finalizers"]);
    assert!(finalizers.iter().all(|it| it.ends_with("-v1") && description.finalizers.contains(it)), "{finalizers:?}");
    assert_eq!(description.finalizers.iter().filter(|it| it.ends_with("-v1")).count(), finalizers.len());
    assert_eq!(description.name, "gce");
}

#[tokio::test]
async fn the_release_for_disks_allows_what_is_described_alone() {
    let config = cloud_config(&rendered(&with("gcp-pd", json!({ "settings": { "project": PROJECT } }))));
    let description = describe_with(guests::GCP_PD, &[("project", PROJECT)]).await;
    allows_what_is_described(&config, &description);
    assert_eq!((&*description.name, description.provider_id_prefixes.len()), ("gcp-pd", 0));
    assert_eq!(config["provider"]["providerIDPrefixes"], Value::Null, "it has no nodes");
    assert_eq!(config["provider"]["settings"], json!({ "project": PROJECT }));
}

#[tokio::test]
async fn the_role_for_disks_is_what_their_provider_describes() {
    assert_eq!(permissions(guests::GCP_PD, &[]), text("gcp-pd/role.yaml"));
    let role: Value = serde_saphyr::from_str(&text("gcp-pd/role.yaml")).unwrap();
    let description = describe_with(guests::GCP_PD, &[("project", PROJECT)]).await;
    let rules = description.endpoints.iter().flat_map(|it| &it.allow);
    let needed: BTreeSet<_> = rules.flat_map(|it| it.actions.iter().cloned()).collect();
    assert_eq!(texts(&role["includedPermissions"]), needed.into_iter().collect::<Vec<_>>());
    // The page's commands make it, and bind it to the ServiceAccount of that release.
    let page = text("gcp-pd/README.md");
    assert!(page.contains("--file=deploy/gcp-pd/role.yaml\n"), "{page}");
    assert!(page.contains("system:serviceaccount:kube-system:cloud-controller-manager-gcp-pd\n"), "{page}");
}

/// `aerostat provider describe --format=permissions`, as it prints it.
fn permissions(module: &str, further: &[String]) -> String {
    let described = Command::new(binary().unwrap())
        .args(["provider", "describe", module, "--format=permissions"])
        .args(further)
        .output()
        .unwrap();
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    String::from_utf8(described.stdout).unwrap()
}

#[tokio::test]
async fn the_role_is_what_the_provider_describes() {
    assert_eq!(permissions(guests::GCP, &[]), text("gcp/role.yaml"));
    let role: Value = serde_saphyr::from_str(&text("gcp/role.yaml")).unwrap();
    let description = described().await;
    let actions = |endpoint: &cloud_provider::Endpoint| {
        endpoint.allow.iter().flat_map(|it| it.actions.iter().cloned()).collect::<BTreeSet<_>>()
    };
    let all: BTreeSet<_> = description.endpoints.iter().flat_map(actions).collect();
    assert_eq!(texts(&role["includedPermissions"]), all.into_iter().collect::<Vec<_>>());
    assert_eq!(role["stage"], "GA");

    // In a shared VPC each project has a role of its own.
    let mut shared = config();
    shared["endpoints"][1]["baseUrl"] = json!("https://compute.googleapis.com/compute/v1/projects/shared");
    shared["provider"]["settings"]["networkProject"] = json!("shared");
    let module = json!({ "file": { "path": guests::GCP, "sha256": guests::sha256(guests::GCP) } });
    shared["provider"]["module"] = module;
    let folder = folder::Folder::new();
    let file = folder.write("cloud.yaml", shared.to_string());
    let roles: Vec<Value> =
        serde_saphyr::from_multiple(&permissions(guests::GCP, &[format!("--cloud-config={}", file.display())]))
            .unwrap();
    assert_eq!(roles.len(), description.endpoints.len());
    for (role, endpoint) in roles.iter().zip(&description.endpoints) {
        let expected: Vec<_> = actions(endpoint).into_iter().collect();
        assert_eq!(texts(&role["includedPermissions"]), expected, "{}", endpoint.name);
    }
}

/// The rows of the page's tables of `gce.conf` and of the manager's flags, without their heads: the first cell, and the second.
fn rows_of_gce_conf() -> Vec<(String, String)> {
    let page = text("../docs/configuration.md");
    let (_, after) = page.split_once("\n### From gce.conf\n").unwrap();
    let section = after.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|it| it.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.filter(|it| it.0.starts_with('`')).map(|(key, here)| (key.to_owned(), here.to_owned())).collect()
}

/// The texts that a pattern's first group finds in a text.
fn matched(pattern: &str, text: &str) -> Vec<String> {
    let pattern = regex::Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|it| it[1].to_owned()).collect()
}

/// `make compare-gcp` compares `keys.txt` with what Google's package reads.
#[tokio::test]
async fn each_key_of_gce_conf_has_its_row_and_leads_somewhere() {
    let rows = rows_of_gce_conf();
    let (flags, keys): (Vec<_>, Vec<_>) = rows.iter().partition(|it| it.0.starts_with("`--"));
    let told: Vec<String> = keys.iter().flat_map(|it| matched("`([^`]+)`", &it.0)).collect();
    let known = include_str!("../../cloud-provider-gcp/keys.txt").lines().map(str::to_owned);
    assert_eq!(told.iter().cloned().collect::<BTreeSet<_>>(), known.collect());
    assert_eq!(told.len(), told.iter().collect::<BTreeSet<_>>().len(), "each once");
    assert!(flags.len() > 5, "{flags:?}");

    let description = described().await;
    let schema: Value = serde_json::from_str(include_str!("../../../docs/cloud-config.schema.json")).unwrap();
    let google = &schema["properties"]["credentials"]["items"]["properties"]["google"]["properties"];
    for (key, here) in &rows {
        for setting in matched("settings? `([^`]+)`", here) {
            assert!(description.settings.iter().any(|it| it.name == setting), "{key}: there is no setting {setting}");
        }
        for field in matched("`google\\.([^`]+)`", here) {
            assert!(google[&field].is_object(), "{key}: there is no google.{field}");
        }
        for endpoint in matched("endpoint `([^`]+)`", here) {
            assert!(
                description.endpoints.iter().any(|it| it.name == endpoint),
                "{key}: there is no endpoint {endpoint}"
            );
        }
        let says = ["setting `", "`baseUrl`", "`google.", "not needed", "refused", "nothing"];
        assert!(says.iter().any(|it| here.contains(it)), "{key}: {here}");
    }
}

#[test]
fn a_key_by_value_goes_to_compute_engine_alone() {
    let more = json!({ "credentials": { "google": { "source": "key", "key": KEY, "workloadIdentityProvider": "" } } });
    let objects = rendered(&with("gcp", more));
    let secret = only::<Secret>(&objects, "Secret").string_data.unwrap();
    assert_eq!(secret["google-key.json"], KEY);
    let origins: BTreeSet<_> = secret["google-key.json.origins"].lines().map(str::to_owned).collect();
    let endpoints = config()["endpoints"].as_array().unwrap().clone();
    let of_endpoints =
        endpoints.iter().map(|it| it["baseUrl"].as_str().unwrap().split("/compute/").next().unwrap().to_owned());
    assert_eq!(origins, of_endpoints.collect());
    let command = "--from-literal=google-key.json.origins=https://compute.googleapis.com\n";
    assert!(commands_for("gcp/README.md", "key")[0].contains(command), "the page says the same");
}

#[test]
fn federation_may_stand_for_a_service_account() {
    let google = json!({ "serviceAccount": ACCOUNT, "workloadIdentityProvider": POOL_PROVIDER });
    let objects = rendered(&with("gcp", json!({ "credentials": { "google": google } })));
    let files = only::<ConfigMap>(&objects, "ConfigMap").data.unwrap();
    let file: Value = serde_json::from_str(&files["google-federation.json"]).unwrap();
    let url =
        format!("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken");
    assert_eq!(file["service_account_impersonation_url"], url);
    assert_eq!(file["audience"], format!("//iam.googleapis.com/{POOL_PROVIDER}"));
    let deployment = objects.iter().find(|it| it["kind"] == "Deployment").unwrap();
    let sources = &deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"];
    let audience = format!("https://iam.googleapis.com/{POOL_PROVIDER}");
    let token = json!({ "path": "google-token", "audience": audience, "expirationSeconds": 3600 });
    assert_eq!(sources[1], json!({ "serviceAccountToken": token }));
}

/// Objects that the commands of the page for all ways leave.
async fn begin() -> (Cluster, Folder) {
    let cluster = cluster().await;
    let folder = Folder::new().with("gcp").with("persistent-volumes").module(guests::GCP, "gcp.wasm");
    let blocks = commands("gcp/README.md");
    assert_eq!(blocks.len(), 2, "{blocks:#?}");
    let known = format!("PROJECT={PROJECT} REGION={REGION} POOL_PROVIDER={POOL_PROVIDER}\n");
    type_in(&cluster, &folder, &format!("{known}{}", blocks.concat()), "");
    is_there(&cluster, "gcp-provider", guests::GCP).await;
    (cluster, folder)
}

/// Types the commands for one way.
fn type_for(cluster: &Cluster, folder: &Folder, way: &str) {
    let blocks = commands_for("gcp/README.md", way);
    assert_eq!(blocks.len(), 1, "{blocks:#?}");
    let said = folder.run(cluster, &blocks[0], "");
    assert!(said.success, "{said:#?}");
}

/// The ConfigMap with the cluster's id is made, and goes.
async fn forget_id(cluster: &Cluster) {
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let id = config_maps.get("ingress-uid").await.unwrap().data.unwrap();
    assert!(id["uid"].len() == 16 && id["uid"] == id["provider-uid"], "{id:?}");
    config_maps.delete("ingress-uid", &DeleteParams::default()).await.unwrap();
}

/// Cases: manifests
#[tokio::test]
async fn googles_page_installs_what_runs_by_federation() {
    let (cluster, folder) = begin().await;
    type_for(&cluster, &folder, "federation");
    // The kubelet mounts it beside the config.
    fs::write(folder.path("google-token"), PROJECTED).unwrap();
    let cloud = GoogleCloud::start(Behaviour::default()).await.unwrap();
    cloud.accounts().trust(PROJECTED, POOL_PROVIDER);
    for (machine, account) in [(1, None), (2, Some(ACCOUNT))] {
        mount(&cluster, &folder).await;
        let file = folder.path("google-federation.json");
        let mut federation: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        federation["token_url"] = json!(format!("{}/v1/token", cloud.base_url()));
        if let Some(account) = account {
            let url = format!("{}/v1/projects/-/serviceAccounts/{account}:generateAccessToken", cloud.base_url());
            federation["service_account_impersonation_url"] = json!(url);
        }
        fs::write(&file, federation.to_string()).unwrap();
        let by_federation = Differences { machine, config: Box::new(trusted), ..Differences::default() };
        joins::<GoogleCloud>(&cluster, &folder, &cloud, by_federation).await;
        let asked = cloud.requests_to("POST", "/v1/projects/-/serviceAccounts/*").len();
        assert_eq!(asked > 0, account.is_some(), "{asked}");
    }
    cloud.assert_valid();
    forget_id(&cluster).await;
    end(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn googles_page_installs_what_runs_by_a_key() {
    let (cluster, folder) = begin().await;
    fs::write(folder.path("key.json"), KEY).unwrap();
    type_for(&cluster, &folder, "key");
    mount(&cluster, &folder).await;
    assert_eq!(fs::read_to_string(folder.path("google-key.json")).unwrap(), KEY);
    let origins = fs::read_to_string(folder.path("google-key.json.origins")).unwrap();
    assert_eq!(origins.trim(), "https://compute.googleapis.com");
    let cloud = GoogleCloud::start(Behaviour::default()).await.unwrap();
    joins::<GoogleCloud>(&cluster, &folder, &cloud, Differences::default()).await;
    cloud.assert_valid();
    forget_id(&cluster).await;
    leave(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn googles_page_installs_what_runs_by_the_machine() {
    let (cluster, folder) = begin().await;
    type_for(&cluster, &folder, "metadata");
    mount(&cluster, &folder).await;
    let cloud = GoogleCloud::start(Behaviour::default()).await.unwrap();
    let metadata = MetadataServer::start(cloud.accounts().clone()).await;
    fs::write(folder.path("metadata-url"), metadata.url()).unwrap();
    let by_machine = Differences {
        config: Box::new(|folder, _, config| {
            let google = &mut config["credentials"][0]["google"];
            assert_eq!(*google, json!({ "metadata": {} }));
            google["metadata"]["url"] = json!(fs::read_to_string(folder.path("metadata-url")).unwrap());
        }),
        ..Differences::default()
    };
    joins::<GoogleCloud>(&cluster, &folder, &cloud, by_machine).await;
    cloud.assert_valid();
    forget_id(&cluster).await;
    end(&cluster).await;
}

/// Leads the way to tokens to the simulated givers.
pub(crate) fn trusted(_: &Folder, url: &str, config: &mut Value) {
    let tls = config["endpoints"][0]["tls"].clone();
    let google = &mut config["credentials"][0]["google"];
    assert!(google["federation"].is_object() && google.as_object().unwrap().len() == 1, "{google}");
    (google["tls"], google["tokenOrigins"], google["addresses"]) = (tls, json!([url]), json!(["127.0.0.0/8"]));
}

/// Objects that a reset of the cluster leaves, where there is no Secret.
pub(crate) async fn end(cluster: &Cluster) {
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(cluster.admin.clone(), "kube-system");
    deployments.delete("aerostat", &DeleteParams::default()).await.unwrap();
}
