//! Input that operators get wrong, and credentials that Google refuses: each is told with what to correct, and no node goes.

use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, KEY, Options, PROJECT, Place, REGION, Simulator, World};
use tests::control_plane::{Cluster, cluster};
use tests::kubelet;
use tests::operator::{assert_waits, event, initialized, says};
use tests::services::address;
use tests::vendor::gcp;

use crate::ground::create;

/// The provider of a pool that exists, and the token that it trusts.
const POOL_PROVIDER: &str = "projects/424242424242/locations/global/workloadIdentityPools/pool/providers/cluster";
const PROJECTED: &str = "token-of-the-ServiceAccount";

async fn ground() -> (Cluster, Simulator) {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    (cluster, cloud)
}

async fn join(cluster: &Cluster, cloud: &Simulator, number: u32) -> String {
    let name = format!("node-{number}");
    let place = Place::zone(PROJECT, &format!("{REGION}-b"));
    cloud.with(|world| _ = world.add_machine(&place, number, &name));
    kubelet::join(&cluster.admin, &name).await.unwrap();
    name
}

#[tokio::test]
async fn bad_projects_and_networks_are_told_by_their_setting() {
    let (cluster, cloud) = ground().await;
    let lead = |config: &mut Value, project: &str| {
        for endpoint in config["endpoints"].as_array_mut().unwrap() {
            endpoint["baseUrl"] = json!(cloud.project_url(project));
        }
    };
    for (number, (settings, project, parts)) in (1..).zip([
        (json!({ "project": "nowhere" }), "nowhere", ["there is no project nowhere", "correct setting project"]),
        (
            json!({ "network": "nowhere" }),
            PROJECT,
            ["there is no network nowhere in project p1", "correct setting network"],
        ),
        (
            json!({ "networkProject": "shared" }),
            PROJECT,
            ["baseUrl of endpoint network leads to project p1", "networkProject"],
        ),
    ]) {
        let setup = gcp::setup(&cluster, &cloud).edit(|config| {
            lead(config, project);
            let all = config["provider"]["settings"].as_object_mut().unwrap();
            all.extend(settings.as_object().unwrap().clone());
        });
        let process = setup.started().await;
        let node = join(&cluster, &cloud, number).await;
        event(&cluster, &node, &parts).await;
        assert_waits(&cluster, &node).await;
        process.stop().await;
    }
    cloud.behave(|it| _ = it.disabled.insert(PROJECT.to_owned()));
    let process = gcp::setup(&cluster, &cloud).started().await;
    let node = join(&cluster, &cloud, 9).await;
    event(&cluster, &node, &["Enable the Compute Engine API"]).await;
    process.stop().await;
    assert!(cloud.requests().iter().all(|it| it.method.is_safe()), "nothing is written");
}

#[tokio::test]
async fn bad_a_subnet_that_is_not_there_is_told_on_the_service() {
    let (cluster, cloud) = ground().await;
    let setup = gcp::setup(&cluster, &cloud).edit(|config| {
        let settings = &mut config["provider"]["settings"];
        (settings["subnetwork"], settings["nodeTags"]) = (json!("nowhere"), json!("k8s-node"));
    });
    let process = setup.started().await;
    let node = join(&cluster, &cloud, 1).await;
    initialized(&cluster, &node).await;
    create(&cluster, "web", &json!({ "networking.gke.io/load-balancer-type": "Internal" }), &json!({})).await;
    event(&cluster, "web", &["subnetworks/nowhere"]).await;
    process.stop().await;
}

#[tokio::test]
async fn bad_nodes_without_a_network_tag_are_told_on_the_service() {
    let (cluster, cloud) = ground().await;
    let setup = gcp::setup(&cluster, &cloud).edit(|config| {
        config["provider"]["settings"].as_object_mut().unwrap().remove("nodeTags");
    });
    let process = setup.started().await;
    let node = join(&cluster, &cloud, 1).await;
    initialized(&cluster, &node).await;
    let balancer = create(&cluster, "web", &json!({}), &json!({})).await;
    event(&cluster, "web", &["instance node-1 has no network tag that its name begins with", "setting nodeTags"]).await;
    assert!(cloud.requests().iter().all(|it| it.method.is_safe()), "nothing is written");
    process.stop().await;
    // Once it has one, the next look at the Service makes up for it.
    let place = Place::zone(PROJECT, &format!("{REGION}-b"));
    cloud.with(|world| {
        world.get_mut(&place.path(Collection::Instances, &node)).unwrap()["tags"]["items"] = json!(["other", "node"]);
    });
    let process = setup.started().await;
    address(&cluster, "web").await;
    let firewall = Place::global(PROJECT).path(Collection::Firewalls, &format!("k8s-fw-{balancer}"));
    let tags = cloud.with(|world| world.get(&firewall).unwrap()["targetTags"].clone());
    assert_eq!(tags, json!(["node"]));
    process.stop().await;
    cloud.assert_valid();
}

#[tokio::test]
async fn bad_a_key_that_is_deleted_is_told_and_no_node_goes() {
    let (cluster, cloud) = ground().await;
    let mut setup = gcp::setup(&cluster, &cloud);
    let mut key: Value = serde_json::from_str(KEY).unwrap();
    key["token_uri"] = json!(format!("{}/token", cloud.base_url()));
    setup.folder.write("key.json", key.to_string());
    setup.config["credentials"][0]["google"]["serviceAccountKey"]["exchange"] = json!(true);
    let mut process = setup.started().await;
    let first = join(&cluster, &cloud, 1).await;
    initialized(&cluster, &first).await;
    cloud.accounts().delete_keys();
    cloud.accounts().revoke_all();
    let second = join(&cluster, &cloud, 2).await;
    let told = process.says("invalid_grant").await;
    says(told["message"].as_str().unwrap(), &["the key of ccm@p1", "make a new key of the account"]);
    event(&cluster, &second, &["401"]).await;
    assert_waits(&cluster, &second).await;
    kubelet::post_ready(&cluster.admin, &first, false).await.unwrap();
    initialized(&cluster, &first).await;
    process.stop().await;
}

#[tokio::test]
async fn bad_an_audience_that_the_pool_does_not_know_is_told() {
    let (cluster, cloud) = ground().await;
    cloud.accounts().trust(PROJECTED, POOL_PROVIDER);
    let mut setup = gcp::setup(&cluster, &cloud);
    let token = setup.folder.write("token", PROJECTED);
    let federation = |audience: &str| {
        json!({
            "type": "external_account", "audience": audience, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": format!("{}/v1/token", cloud.base_url()), "credential_source": { "file": token },
        })
    };
    let file = setup.folder.write("federation.json", federation("//iam.googleapis.com/projects/1").to_string());
    let google = &mut setup.config["credentials"][0]["google"];
    google.as_object_mut().unwrap().remove("serviceAccountKey");
    google["federation"] = json!({ "file": file });
    let mut process = setup.start();
    let told = process.says("invalid_target").await;
    says(told["message"].as_str().unwrap(), &["correct `audience`"]);
    // Another file is read at once.
    setup.folder.write("federation.json", federation(&format!("//iam.googleapis.com/{POOL_PROVIDER}")).to_string());
    process.says("the credential has a new token").await;
    let node = join(&cluster, &cloud, 1).await;
    initialized(&cluster, &node).await;
    process.stop().await;
    cloud.assert_valid();
}
