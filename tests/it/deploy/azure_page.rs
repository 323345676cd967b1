//! The page for Azure: its commands, typed as they stand there, install what runs with each way to tokens.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;
use serde_json::{Value, json};
use tests::clouds::azure::{CLIENT, GROUP, LOCATION, MetadataService, SECRET, SUBSCRIPTION, Simulator, TENANT};
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::vendor::{AzureCloud, Behaviour, Vendor as _};

use crate::pages::{is_there, leave, type_in};
use crate::served::{Differences, joins, mount};
use crate::setup::{Folder, commands, commands_for};

/// The words of the page's commands.
pub(crate) fn words() -> String {
    format!(
        "SUBSCRIPTION={SUBSCRIPTION} RESOURCE_GROUP={GROUP} LOCATION={LOCATION} VNET=vnet1 SUBNET=subnet1 \
         SECURITY_GROUP=nsg1 TENANT={TENANT} CLIENT_ID={CLIENT}"
    )
}

/// A token that the kubelet projects for the ServiceAccount, and that the application trusts.
pub(crate) fn projected(cloud: &Simulator) -> String {
    let (issuer, subject) = ("https://cluster.test", "system:serviceaccount:kube-system:cloud-controller-manager");
    cloud.identity().trust(CLIENT, issuer, subject);
    let encoded = |it: &Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
    let claims =
        json!({ "iss": issuer, "sub": subject, "aud": "api://AzureADTokenExchange", "exp": 4_102_444_800_u64 });
    format!("{}.{}.AA", encoded(&json!({ "alg": "RS256" })), encoded(&claims))
}

/// Leads the way to tokens to the simulated Entra.
pub(crate) fn at_authority(_: &Folder, url: &str, config: &mut Value) {
    let tls = config["endpoints"][0]["tls"].clone();
    let entra = &mut config["credentials"][0]["entra"];
    (entra["tls"], entra["authority"], entra["addresses"]) = (tls, json!(url), json!(["127.0.0.0/8"]));
}

/// The state after the page's commands for all ways.
async fn begin() -> (Cluster, Folder, Simulator) {
    let cluster = cluster().await;
    let folder = Folder::new().with("azure").with("persistent-volumes").module(guests::AZURE, "azure.wasm");
    let blocks = commands("azure/README.md");
    assert_eq!(blocks.len(), 1, "{blocks:#?}");
    type_in(&cluster, &folder, &format!("{}\n{}", words(), blocks[0]), "");
    is_there(&cluster, "azure-provider", guests::AZURE).await;
    (cluster, folder, AzureCloud::start(Behaviour::default()).await.unwrap())
}

/// Types the commands for one way.
fn type_for(cluster: &Cluster, folder: &Folder, way: &str) {
    let blocks = commands_for("azure/README.md", way);
    assert_eq!(blocks.len(), 1, "{blocks:#?}");
    let said = folder.run(cluster, &blocks[0], "");
    assert!(said.success, "{said:#?}");
}

/// Cases: manifests
#[tokio::test]
async fn azures_page_installs_what_runs_by_workload_identity() {
    let (cluster, folder, cloud) = begin().await;
    type_for(&cluster, &folder, "workload-identity");
    // The kubelet mounts it beside the config.
    fs::write(folder.path("azure-token"), projected(&cloud)).unwrap();
    mount(&cluster, &folder).await;
    let by_token = Differences { config: Box::new(at_authority), ..Differences::default() };
    joins::<AzureCloud>(&cluster, &folder, &cloud, by_token).await;
    cloud.assert_valid();
    crate::gcp::end(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn azures_page_installs_what_runs_by_a_secret() {
    let (cluster, folder, cloud) = begin().await;
    fs::write(folder.path("azure-secret"), SECRET).unwrap();
    type_for(&cluster, &folder, "secret");
    mount(&cluster, &folder).await;
    assert_eq!(fs::read_to_string(folder.path("azure-secret")).unwrap(), SECRET);
    let origins = fs::read_to_string(folder.path("azure-secret.origins")).unwrap();
    assert_eq!(origins.trim(), "https://management.azure.com\nhttps://login.microsoftonline.com");
    let by_secret = Differences { config: Box::new(at_authority), ..Differences::default() };
    joins::<AzureCloud>(&cluster, &folder, &cloud, by_secret).await;
    cloud.assert_valid();
    leave(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn azures_page_installs_what_runs_by_the_machine() {
    let (cluster, folder, cloud) = begin().await;
    type_for(&cluster, &folder, "managed-identity");
    mount(&cluster, &folder).await;
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let deployment = json!(deployments.get("aerostat").await.unwrap());
    let sources = &deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"];
    assert_eq!(*sources, json!([{ "configMap": { "name": "aerostat" } }]), "no Secret, and no token");
    let metadata = MetadataService::start(cloud.client(&["http/1.1"]), cloud.base_url()).await;
    fs::write(folder.path("metadata-url"), metadata.url()).unwrap();
    let by_machine = Differences {
        config: Box::new(|folder, _, config| {
            let entra = &mut config["credentials"][0]["entra"];
            assert_eq!(*entra, json!({ "managedIdentity": {} }));
            entra["managedIdentity"]["url"] = json!(fs::read_to_string(folder.path("metadata-url")).unwrap());
        }),
        ..Differences::default()
    };
    joins::<AzureCloud>(&cluster, &folder, &cloud, by_machine).await;
    assert!(
        !cloud.requests_to("GET", "/metadata/identity/oauth2/token").is_empty(),
        "the machine's identity is asked for"
    );
    cloud.assert_valid();
    crate::gcp::end(&cluster).await;
}
