//! A module that comes, serves, waits or goes is shown on the page, in the log and on the Lease.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::aerostat::message;
use tests::control_plane::Cluster;
use tests::operator::{Process, admin_token, event, initialized, says};
use tests::registry::{REPOSITORY, Signer};
use tests::versioned::version;
use tests::{kubelet, wait};

use super::{LEASE, REFUSED, Rig, check_module_refused};

fn lease(cluster: &Cluster) -> Api<Lease> {
    Api::namespaced(cluster.admin.clone(), "kube-system")
}

/// Lets the version that serves crash until the one before serves again.
async fn rolls_back(rig: &Rig, process: &mut Process) {
    rig.cloud.becomes_new();
    for nth in 2..=7 {
        let name = format!("worker-{nth}");
        rig.cloud.add_machine(&name);
        kubelet::join(&rig.cluster.admin, &name).await.unwrap();
    }
    process.says("serves again").await;
    for nth in 2..=7 {
        initialized(&rig.cluster, &format!("worker-{nth}")).await;
    }
    wait::until("the Lease says which module was rolled back", async || rig.refused().await).await;
}

/// A version comes that crashes on trial, and the one before serves again. Returns the digest that was rolled back.
async fn rolled_back() -> (Rig, Process, String) {
    let mut rig = Rig::new().await;
    let mut process = rig.started("10m").await;
    rig.joins("worker-1").await;
    let fragile = rig.push(&version("version=1.1.0 fragile")).await;
    rig.configure(&fragile);
    process.says("versioned 1.1.0 serves from now on").await;
    rolls_back(&rig, &mut process).await;
    (rig, process, fragile)
}

/// Waits until a page says this there.
async fn shows(rig: &Rig, process: &Process, pointer: &str, expected: impl Fn(&Value) -> bool) -> Value {
    wait::until(&format!("/provider shows {pointer}"), async || {
        let page = rig.page(process).await;
        expected(page.pointer(pointer).unwrap()).then_some(page)
    })
    .await
}

async fn metrics(rig: &Rig, process: &Process) -> String {
    process.get("/metrics", Some(&admin_token(&rig.cluster).await)).await.body
}

#[tokio::test]
async fn a_module_for_another_account_is_refused() {
    let parts =
        ["it says that the credential belongs to the cloud account \"b\"", "belongs to the cloud account \"a\""];
    check_module_refused(&version("version=1.1.0 account=b"), &parts).await;
}

#[tokio::test]
async fn a_module_without_its_setting_is_refused() {
    let parts = ["provider versioned needs the setting \"zone\" (where to look)"];
    check_module_refused(&version("version=1.1.0 setting=zone"), &parts).await;
}

#[tokio::test]
async fn a_module_without_its_endpoint_is_refused() {
    let parts = ["provider versioned needs the endpoint \"files\" (what else there is)"];
    check_module_refused(&version("version=1.1.0 endpoint=files"), &parts).await;
}

#[tokio::test]
async fn each_version_is_shown_with_who_has_signed_it() {
    let mut rig = Rig::new().await;
    let (ours, theirs) = (Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256), Signer::new(&rcgen::PKCS_ECDSA_P384_SHA384));
    let keys =
        [("ours.pub", &ours), ("theirs.pub", &theirs)].map(|(name, it)| rig.setup.folder.write(name, it.public_key()));
    let second = rig.push(&version("version=1.1.0 fragile")).await;
    for (signer, digest) in [(&ours, &rig.first), (&theirs, &second)] {
        let referrer = signer.referrer(digest);
        rig.registry.push(&referrer, None).await;
        // This registry knows no referrers: cosign keeps an index under a tag.
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [referrer.entry()],
        });
        rig.registry.put_manifest(&format!("sha256-{digest}"), index.to_string().as_bytes()).await;
    }
    rig.setup.config["provider"]["module"]["signedBy"] = json!({ "keys": keys });
    let mut process = rig.started("10m").await;
    let is_by =
        |key: &'static str| move |it: &Value| it.as_str().is_some_and(|it| it.ends_with(&format!("{key} (bundle)")));
    shows(&rig, &process, "/module/signer", is_by("ours.pub")).await;

    rig.setup.rewrite(|it| it["provider"]["module"]["oci"]["digest"] = json!(format!("sha256:{second}")));
    process.says("versioned 1.1.0 serves from now on").await;
    shows(&rig, &process, "/module/signer", is_by("theirs.pub")).await;
    // Another key alone is nothing to load, and is not passed over in silence.
    rig.setup.rewrite(|it| it["provider"]["module"]["signedBy"]["keys"] = json!([keys[1]]));
    let line = process.says("has changed in provider.module, but not in its digest").await;
    says(message(&line), &["cloud.yaml", "Other keys", "count from the next load on"]);

    rolls_back(&rig, &mut process).await;
    shows(&rig, &process, "/module/signer", is_by("ours.pub")).await;
    process.stop().await;
}

#[tokio::test]
async fn the_page_shows_a_trial_and_what_a_candidate_waits_for() {
    let mut rig = Rig::new().await;
    let mut process = rig.started("10m").await;
    assert_eq!(rig.page(&process).await["trialSecondsLeft"], Value::Null);
    let second = rig.push(&version("version=1.1.0")).await;
    rig.configure(&second);
    process.says("versioned 1.1.0 serves from now on").await;
    let page = shows(&rig, &process, "/state", |it| it == "on-trial").await;
    let left = page["trialSecondsLeft"].as_u64().unwrap();
    assert!((1..=600).contains(&left), "{left}");
    assert_eq!(page["capabilitiesAtNextStart"], json!([]));
    let text = metrics(&rig, &process).await;
    for (state, value) in [("on-trial", 1), ("serving", 0), ("named", 0), ("refused", 0), ("rolled-back", 0)] {
        let line = format!("aerostat_module_candidate{{state=\"{state}\"}} {value}");
        assert!(text.contains(&line), "{line} is not in {text}");
    }

    let third = "7".repeat(64);
    rig.setup.rewrite(|config| {
        let oci = &mut config["provider"]["module"]["oci"];
        oci["digest"] = json!(format!("sha256:{third}"));
        oci["image"] = json!(format!("127.0.0.1:9/{REPOSITORY}"));
    });
    let page = shows(&rig, &process, "/candidate", |it| it["because"].is_string()).await;
    assert_eq!((&page["state"], &page["version"]), (&json!("named"), &json!("1.1.0")));
    assert_eq!(page["candidate"]["digest"], json!(format!("sha256:{third}")));
    says(
        page["candidate"]["because"].as_str().unwrap(),
        &["module 127.0.0.1:9/", "cannot be pulled", "Connection refused"],
    );
    let text = metrics(&rig, &process).await;
    assert!(text.contains("aerostat_module_candidate{state=\"named\"} 1"), "{text}");
    assert!(text.contains("aerostat_module_candidate{state=\"on-trial\"} 0"), "{text}");
    process.stop().await;
}

#[tokio::test]
async fn the_page_is_for_those_who_may_read_it() {
    let mut rig = Rig::new().await;
    let process = rig.started("10m").await;
    let token = powerless_token(&rig.cluster).await;
    let answer = process.get("/provider", Some(&token)).await;
    assert_eq!(answer.code, 403, "{}", answer.body);
    says(&answer.body, &["system:serviceaccount:kube-system:tests-nobody", "cannot get path", "/provider"]);
    assert!(!answer.body.contains("versioned"), "{}", answer.body);
    process.stop().await;
}

/// The token of a user who may do nothing.
async fn powerless_token(cluster: &Cluster) -> String {
    let name = "tests-nobody";
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.admin.clone(), "kube-system");
    accounts.patch(name, &PatchParams::apply("tests").force(), &Patch::Apply(account)).await.unwrap();
    let request = accounts.create_token_request(name, &PostParams::default(), &TokenRequest::default()).await.unwrap();
    request.status.unwrap().token.unwrap()
}

#[tokio::test]
async fn the_page_shows_a_quarantine() {
    let mut rig = Rig::new().await;
    let fragile = rig.push(&version("version=1.0.0 fragile")).await;
    rig.configure(&fragile);
    let process = rig.started("10m").await;
    rig.cloud.becomes_new();
    for nth in 1..=6 {
        let name = format!("worker-{nth}");
        rig.cloud.add_machine(&name);
        kubelet::join(&rig.cluster.admin, &name).await.unwrap();
    }
    let page = shows(&rig, &process, "/quarantine", Value::is_string).await;
    says(page["quarantine"].as_str().unwrap(), &["in quarantine", "crashed"]);
    assert_eq!((&page["state"], &page["trialSecondsLeft"]), (&json!("serving"), &Value::Null));
    process.stop().await;
}

/// When the Lease was renewed last.
async fn renewed(cluster: &Cluster) -> Option<MicroTime> {
    lease(cluster).get(LEASE).await.unwrap().spec.unwrap().renew_time
}

#[tokio::test]
async fn a_module_rolled_back_is_tried_again_by_hand() {
    let (rig, mut process, fragile) = rolled_back().await;
    // The process has read its own annotation once it has renewed the Lease twice.
    for _ in 0..2 {
        let before = renewed(&rig.cluster).await;
        wait::until("the Lease is renewed", async || (renewed(&rig.cluster).await != before).then_some(())).await;
    }
    let gone = json!({ "metadata": { "annotations": { REFUSED: null } } });
    lease(&rig.cluster).patch(LEASE, &PatchParams::default(), &Patch::Merge(gone)).await.unwrap();
    process.says(&format!("--cloud-config names another module: sha256:{fragile}")).await;
    // The cloud is as it was, so that its account is the first thing that it cannot read.
    let parts = ["another provider.module is not put in place", "identity crashed", "versioned 1.0.0 goes on"];
    event(&rig.cluster, LEASE, &parts).await;
    process.stop().await;
}

#[tokio::test]
async fn without_previous_a_start_loads_what_was_rolled_back() {
    let (rig, process, fragile) = rolled_back().await;
    process.stop().await;

    let mut process = rig.setup.start();
    process.says("provider versioned 1.1.0 from").await;
    let line = process.says(&format!("module sha256:{fragile} serves, and was rolled back in this cluster")).await;
    says(
        message(&line),
        &[REFUSED, "provider.module.oci.previous would name what is loaded instead", "remove the annotation"],
    );
    process.stop().await;
}
