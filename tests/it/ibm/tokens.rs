//! Where tokens come from, beside an API key: a trusted profile for the Pods, and the identity of the machine. IAM and the metadata service look
//! at all that they are sent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::ibm::{API_KEY, IbmMetadata, Options, Recorded, Simulator, TRUSTED_PROFILE, World};
use tests::control_plane::{Cluster, cluster};
use tests::operator::Setup;
use tests::vendor::{IbmCloud, Vendor as _, ibm};
use tests::{kubelet, operator, services, wait};

/// For how long IAM's tokens last where they end within a story.
const SHORT: Duration = Duration::from_secs(10);

const CR_TOKEN: &str = "urn:ibm:params:oauth:grant-type:cr-token";

/// A cluster, and its account with two machines.
async fn ground() -> (Cluster, Simulator) {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    cloud.with(|world| (1..=2).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    (cluster, cloud)
}

/// The provider with this source of tokens in the place of an API key. `iam` is left of what says where IAM is.
fn with_source(cluster: &Cluster, cloud: &Simulator, key: &str, source: &Value, iam: bool) -> Setup {
    ibm::setup(cluster, cloud).edit(|config| {
        let credential = config["credentials"][0]["ibmIam"].as_object_mut().unwrap();
        credential.retain(|it, _| iam && it != "apiKey");
        credential.insert(key.to_owned(), source.clone());
    })
}

async fn joins(cluster: &Cluster, name: &str) {
    kubelet::join(&cluster.admin, name).await.unwrap();
    operator::initialized(cluster, name).await;
}

/// The fields of a form that IAM was sent, and the status that it answered.
type TokenForm = (Vec<(String, String)>, Option<u16>);

/// The forms that IAM was sent.
fn forms(cloud: &Simulator) -> Vec<TokenForm> {
    let fields = |it: &Recorded| url::form_urlencoded::parse(&it.body).into_owned().collect();
    cloud.requests_to("POST", "/identity/token").iter().map(|it| (fields(it), it.status)).collect()
}

fn is_refused(it: &Recorded) -> bool {
    it.status == Some(401)
}

#[tokio::test]
async fn a_cluster_lives_by_a_trusted_profile_of_its_pods() {
    let (cluster, cloud) = ground().await;
    cloud.iam().set_lifetime(SHORT);
    let token = cloud.iam().token_of_pod(3_600);
    let (id, _) = TRUSTED_PROFILE;
    let mut setup = with_source(&cluster, &cloud, "computeResource", &Value::Null, true);
    let file = setup.folder.write("ibm-token", &token);
    setup = setup.edit(|config| {
        config["credentials"][0]["ibmIam"]["computeResource"] = json!({ "tokenFile": file, "profile": { "id": id } });
    });
    let process = setup.started().await;
    joins(&cluster, "web-1").await;
    services::create(&cluster, "web", &json!({}), &json!({})).await;
    wait::until("the load balancer serves", async || {
        IbmCloud::built(cloud.account()).into_iter().find(|it| it.serves && it.machines == [1])
    })
    .await;
    // The token has ended by now, and another one is there before anything is refused.
    tokio::time::sleep(SHORT).await;
    joins(&cluster, "web-2").await;
    services::delete(&cluster, "web").await;
    process.stop().await;

    let forms = forms(&cloud);
    assert!(forms.len() > 1, "a token that ends is renewed");
    let expected = [("grant_type", CR_TOKEN), ("cr_token", token.as_str()), ("profile_id", id)];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    assert!(forms.iter().all(|it| *it == (expected.clone(), Some(200))), "{forms:#?}");
    assert!(!cloud.requests().iter().any(is_refused), "nothing was asked with a token that had ended");
    cloud.assert_valid();
}

/// A node joins where a metadata service of this age gives tokens for a profile. Returns what that was asked.
async fn asked_of_machine(older: bool, profile: Option<Value>) -> Vec<String> {
    let (cluster, cloud) = ground().await;
    let metadata = IbmMetadata::start(Arc::clone(cloud.iam()), older).await;
    let mut source = json!({ "url": metadata.url() });
    if let Some(profile) = profile {
        source["profile"] = profile;
    }
    let process = with_source(&cluster, &cloud, "instanceIdentity", &source, false).started().await;
    joins(&cluster, "web-1").await;
    process.stop().await;
    assert!(forms(&cloud).is_empty(), "IAM itself is not asked");
    assert!(!cloud.requests().iter().any(is_refused));
    cloud.assert_valid();
    metadata.asked()
}

#[tokio::test]
async fn a_cluster_lives_by_the_identity_of_its_machine() {
    let (id, name) = TRUSTED_PROFILE;
    let newer = [
        "PUT /identity/v1/token?version=2025-08-26 ibm → 200",
        "POST /identity/v1/iam_tokens?version=2025-08-26 ibm → 200",
    ];
    let older = [
        "PUT /identity/v1/token?version=2025-08-26 ibm → 404",
        "PUT /instance_identity/v1/token?version=2022-03-01 ibm → 200",
        "POST /instance_identity/v1/iam_token?version=2022-03-01 ibm → 200",
    ];
    let (by_itself, by_id, by_name) = tokio::join!(
        asked_of_machine(false, None),
        asked_of_machine(true, Some(json!({ "id": id }))),
        asked_of_machine(false, Some(json!({ "name": name }))),
    );
    assert_eq!((by_itself, by_id, by_name), (to_texts(&newer), to_texts(&older), to_texts(&newer)));
}

fn to_texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

/// The status, and the code, with which IAM answers a form.
async fn exchanged(cloud: &Simulator, form: &[(&str, &str)]) -> String {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let url = format!("{}/identity/token", cloud.base_url());
    let request = cloud.client(&["http/1.1"]).post(url).header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(body).send().await.unwrap();
    let status = response.status().as_u16();
    let body: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    format!("{status} {}", body["errorCode"].as_str().unwrap_or_default()).trim_end().to_owned()
}

#[tokio::test]
async fn iam_gives_tokens_to_what_proves_itself_alone() {
    let cloud = Simulator::start(Options::instant()).await.unwrap();
    let pods = "system:serviceaccount:kube-system:cloud-controller-manager";
    let iam = cloud.iam();
    let (good, ended) = (iam.token_of_pod(600), iam.token_of_pod(-60));
    let (thief, others) = (
        iam.signed_for_pod("system:serviceaccount:default:thief", "iam", 600),
        iam.signed_for_pod(pods, "sts.example.com", 600),
    );
    let forged = format!("{}.AAAA", good.rsplit_once('.').unwrap().0);
    let (good, ended, thief, others, forged) = (&*good, &*ended, &*thief, &*others, &*forged);
    let (id, name) = TRUSTED_PROFILE;
    let (of_key, of_pod) = ("urn:ibm:params:oauth:grant-type:apikey", CR_TOKEN);
    for (grant, form, expected) in [
        (of_key, &[("apikey", API_KEY)][..], "200"),
        (of_key, &[("apikey", "nobodys")], "400 BXNIM0415E"),
        (of_key, &[], "400 BXNIM0415E"),
        (of_key, &[("apikey", API_KEY), ("profile_id", id)], "400 BXNIM0101E"),
        (of_pod, &[("cr_token", good), ("profile_id", id)], "200"),
        (of_pod, &[("cr_token", good), ("profile_name", name)], "200"),
        (of_pod, &[("cr_token", good), ("profile_id", name)], "400 BXNIM0436E"),
        (of_pod, &[("cr_token", good), ("profile_id", id), ("profile_name", name)], "400 BXNIM0109E"),
        (of_pod, &[("cr_token", good)], "400 BXNIM0109E"),
        (of_pod, &[("cr_token", good), ("cr_token", good), ("profile_id", id)], "400 BXNIM0101E"),
        (of_pod, &[("cr_token", ended), ("profile_id", id)], "400 BXNIM0512E"),
        (of_pod, &[("cr_token", thief), ("profile_id", id)], "400 BXNIM0513E"),
        (of_pod, &[("cr_token", others), ("profile_id", id)], "400 BXNIM0513E"),
        (of_pod, &[("cr_token", forged), ("profile_id", id)], "400 BXNIM0514E"),
        (of_pod, &[("profile_id", id)], "400 BXNIM0514E"),
        ("password", &[("apikey", API_KEY)], "400 BXNIM0101E"),
    ] {
        let whole = [&[("grant_type", grant)][..], form].concat();
        assert_eq!(exchanged(&cloud, &whole).await, expected, "{whole:?}");
    }
    iam.delete_profile();
    let form = [("grant_type", of_pod), ("cr_token", good), ("profile_id", id)];
    assert_eq!(exchanged(&cloud, &form).await, "400 BXNIM0436E");
    cloud.assert_valid();
}

#[tokio::test]
async fn keys_and_profiles_that_iam_refuses_are_told_by_code() {
    let (cluster, cloud) = ground().await;
    let ended = cloud.iam().token_of_pod(-60);
    let (id, _) = TRUSTED_PROFILE;
    let of_pod = |file: &std::path::Path, id: &str| json!({ "tokenFile": file, "profile": { "id": id } });
    for (secret, profile, code, next) in [
        ("a-key-that-nobody-has-given-out", None, "BXNIM0415E", "put a key there that exists"),
        (&*ended, Some(id), "BXNIM0512E", "correct `ibmIam.computeResource.profile`"),
        (&*cloud.iam().token_of_pod(600), Some("Profile-1"), "BXNIM0436E", "correct `ibmIam.computeResource.profile`"),
    ] {
        let mut setup = match profile {
            None => ibm::setup(&cluster, &cloud),
            Some(_) => with_source(&cluster, &cloud, "computeResource", &Value::Null, true),
        };
        let file = setup.folder.write("api-key", secret);
        if let Some(profile) = profile {
            setup = setup.edit(|config| config["credentials"][0]["ibmIam"]["computeResource"] = of_pod(&file, profile));
        }
        let mut process = setup.start();
        let line = process.says(code).await;
        let line = Value::Object(line).to_string();
        assert!(line.contains(next) && !line.contains(secret), "{line}");
        process.kill();
    }
    let asked = cloud.requests();
    assert!(asked.iter().all(ibm::is_for_a_token), "nothing was asked without a token: {asked:?}");
}

#[tokio::test]
async fn a_key_with_white_space_is_refused_without_being_shown() {
    let (cluster, cloud) = ground().await;
    let setup = ibm::setup(&cluster, &cloud);
    let (first, last) = API_KEY.split_at(20);
    setup.folder.write("api-key", format!("{first} {last}"));
    let why = setup.start().fails().await;
    assert!(why.contains("holds white space in the API key; put the API key there alone"), "{why}");
    assert!(!why.contains(first) && !why.contains(last), "{why}");
    assert!(cloud.requests().is_empty());
}
