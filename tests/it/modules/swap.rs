//! Another module takes the place of the one that serves, without a restart, and goes again.

mod kill_9;
mod load;
mod replicas;
mod rig;
mod told;

use std::time::Duration;

use controllers::ACCOUNT_ANNOTATION;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tests::aerostat::message;
use tests::operator::{Process, admin_token, event, initialized, says};
use tests::registry::Signer;
use tests::versioned::version;
use tests::{component, kubelet, wait};

use self::rig::{LEASE, REFUSED, Rig, names};

#[tokio::test]
async fn another_digest_serves_without_a_restart() {
    let mut rig = Rig::new().await;
    let mut process = rig.started("2s").await;
    let anonymous = process.get("/provider", None).await;
    assert_eq!(anonymous.code, 403, "it is for those who may read it");
    rig.joins("worker-1").await;

    let second = rig.push(&version("version=1.1.0")).await;
    rig.configure(&second);
    let line = process.says("serves from now on").await;
    says(message(&line), &["versioned 1.1.0", &format!("@sha256:{second}"), "on trial for 2s of leading"]);
    event(&rig.cluster, LEASE, &["versioned 1.1.0 serves from now on"]).await;
    rig.joins("worker-2").await;
    process.says("what served before is dropped").await;

    let page = rig.page(&process).await;
    let shown = ["/name", "/version", "/digest", "/state"].map(|it| page.pointer(it).unwrap().as_str().unwrap());
    assert_eq!(shown, ["versioned", "1.1.0", &format!("sha256:{second}"), "serving"]);
    assert_eq!(page["capabilities"], json!(["instances", "load-balancers"]));
    assert_eq!((&page["candidate"], &page["quarantine"]), (&Value::Null, &Value::Null));
    let endpoint = &page["endpoints"][0];
    assert!(endpoint["needed"].as_array().unwrap().contains(&json!("POST /balancers")), "{endpoint}");
    assert!(endpoint["allowed"].as_array().unwrap().contains(&json!("DELETE /balancers/*")), "{endpoint}");
    let metrics = process.get("/metrics", Some(&admin_token(&rig.cluster).await)).await.body;
    assert!(metrics.contains("aerostat_module_candidate{state=\"serving\"} 1"), "{metrics}");
    process.stop().await;
}

/// A module that is not put in place: the event says why, and the version before goes on.
async fn check_refused(prepare: impl AsyncFnOnce(&mut Rig) -> String, parts: &[&str]) -> Rig {
    let mut rig = Rig::new().await;
    let process = rig.started("10m").await;
    let digest = prepare(&mut rig).await;
    let found = event(&rig.cluster, LEASE, &["another provider.module is not put in place", "1.0.0 goes on"]).await;
    says(found.message.as_deref().unwrap(), parts);
    assert_eq!((found.reason.as_deref(), found.type_.as_deref()), (Some("ModuleRefused"), Some("Warning")));
    rig.joins("worker-1").await;
    assert_eq!(process.get("/readyz", None).await.code, 200);
    let page = rig.page(&process).await;
    assert_eq!((&page["version"], &page["state"]), (&json!("1.0.0"), &json!("refused")));
    assert_eq!(page["candidate"]["digest"], json!(format!("sha256:{digest}")));
    says(page["candidate"]["because"].as_str().unwrap(), parts);
    process.stop().await;
    rig
}

/// As [`check_refused`], for a module with these bytes.
async fn check_module_refused(bytes: &[u8], parts: &[&str]) -> Rig {
    let prepare = async |rig: &mut Rig| {
        let digest = rig.push(bytes).await;
        rig.configure(&digest);
        digest
    };
    check_refused(prepare, parts).await
}

#[tokio::test]
async fn adv_69_a_module_that_needs_more_waits_for_the_operator() {
    let parts = [
        "versioned 1.1.0 needs what versioned 1.0.0 did not, and endpoint api does not allow it",
        "allow: - { methods: [POST], paths: ['/firewalls'], fields: ['name'] }",
        "restart, or stay with versioned 1.0.0",
        "In what they differ (aerostat module diff): request + endpoint api: POST /firewalls, write, fields: ['name']",
    ];
    let mut rig = check_module_refused(&version("version=1.1.0 grown"), &parts).await;
    let rules = &mut rig.setup.config["endpoints"][0]["allow"];
    rules.as_array_mut().unwrap().push(json!({ "methods": ["POST"], "paths": ["/firewalls"], "fields": ["name"] }));
    let mut process = rig.setup.start();
    process.says("provider versioned 1.1.0 from").await;
    rig.joins("worker-2").await;
    process.stop().await;
}

/// Whatever the config allows: what is not offered cannot be approved.
#[tokio::test]
async fn adv_69_a_module_that_imports_more_is_refused() {
    let world = "
        package test:guest;
        world guest { import evil:host/exec@1.0.0; export aerostat:cloud/provider@0.1.0; }
        package evil:host@1.0.0 { interface exec { run: func(); } }
    ";
    let module = r#"(module
        (import "evil:host/exec@1.0.0" "run" (func))
        (memory (export "memory") 1)
        (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) (i32.const 0))
        (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) (i32.const 0)))"#;
    let parts = ["imports evil:host/exec@1.0.0, which Aerostat does not offer"];
    check_module_refused(&component::component(world, module), &parts).await;
}

#[tokio::test]
async fn a_module_of_another_name_is_refused() {
    check_module_refused(&version("version=1.1.0 name=other"), &["it is the provider other 1.1.0"]).await;
}

#[tokio::test]
async fn a_module_without_a_capability_is_refused() {
    check_module_refused(&component::only_provider(), &["does not export aerostat:cloud/instances"]).await;
}

#[tokio::test]
async fn machine_code_is_not_put_in_place() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    check_module_refused(&program[..1 << 20], &["not a WebAssembly component"]).await;
}

#[tokio::test]
async fn an_unsigned_module_is_not_put_in_place() {
    let prepare = async |rig: &mut Rig| {
        let digest = rig.push(&version("version=1.1.0")).await;
        let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
        let key = rig.setup.folder.write("acme.pub", signer.public_key());
        // Both at once, so that it is one change of the file.
        rig.setup.config["provider"]["module"]["signedBy"] = json!({ "keys": [key] });
        rig.setup.rewrite(|it| it["provider"]["module"]["oci"]["digest"] = json!(format!("sha256:{digest}")));
        digest
    };
    check_refused(prepare, &["no key of provider.module.signedBy.keys has signed sha256:"]).await;
}

#[tokio::test]
async fn adv_169_signatures_are_asked_for_until_a_restart() {
    let mut rig = Rig::new().await;
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let signature = signer.referrer(&rig.first);
    rig.registry.push(&signature, None).await;
    // The registry knows no referrers: cosign keeps an index under a tag.
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [signature.entry()],
    });
    rig.registry.put_manifest(&format!("sha256-{}", rig.first), index.to_string().as_bytes()).await;
    let key = rig.setup.folder.write("acme.pub", signer.public_key());
    rig.setup.rewrite(|it| it["provider"]["module"]["signedBy"] = json!({ "keys": [key] }));
    let process = rig.started("10m").await;
    rig.joins("worker-1").await;

    // One change of the file: another digest, and nobody who must have signed it.
    let unsigned = rig.comes("version=1.1.0").await;
    let parts = [&*format!("sha256:{unsigned}"), "signedBy is gone", "restart to use it", "1.0.0 goes on"];
    let found = event(&rig.cluster, LEASE, &parts).await;
    assert_eq!((found.reason.as_deref(), found.type_.as_deref()), (Some("ModuleRefused"), Some("Warning")));
    rig.joins("worker-2").await;
    assert_eq!(rig.page(&process).await["version"], json!("1.0.0"));
    process.stop().await;

    let mut process = rig.setup.start();
    process.says("provider versioned 1.1.0 from").await;
    process.stop().await;
}

#[tokio::test]
async fn a_module_that_crashes_on_trial_is_rolled_back() {
    let mut rig = Rig::new().await;
    let mut process = rig.started("10m").await;
    rig.joins("worker-1").await;
    let fragile = rig.push(&version("version=1.1.0 fragile")).await;
    rig.configure(&fragile);
    process.says("versioned 1.1.0 serves from now on").await;
    // What it cannot read comes only now.
    rig.cloud.becomes_new();
    for nth in 2..=7 {
        let name = format!("worker-{nth}");
        rig.cloud.add_machine(&name);
        kubelet::join(&rig.cluster.admin, &name).await.unwrap();
    }
    process.says("versioned 1.0.0 serves again").await;
    let parts = [&*format!("sha256:{fragile} was rolled back to sha256:{}", rig.first), "in quarantine", REFUSED];
    let found = event(&rig.cluster, LEASE, &parts).await;
    assert_eq!(found.reason.as_deref(), Some("ModuleRolledBack"));
    for nth in 2..=7 {
        initialized(&rig.cluster, &format!("worker-{nth}")).await;
    }
    wait::until("the Lease says which module was rolled back", async || {
        rig.refused().await.filter(|it| *it == format!("sha256:{fragile}"))
    })
    .await;
    assert_eq!(rig.page(&process).await["state"], json!("rolled-back"));
    process.stop().await;

    let first = rig.first.clone();
    rig.setup.rewrite(|it| it["provider"]["module"]["oci"]["previous"] = json!(format!("sha256:{first}")));
    let mut process = rig.setup.start();
    process.says("provider.module.oci.previous is loaded instead").await;
    process.says("provider versioned 1.0.0 from").await;
    let line = process.says("is not put in place").await;
    says(message(&line), &["was rolled back in this cluster", "versioned 1.0.0 goes on"]);
    rig.joins("worker-8").await;
    process.stop().await;
}

/// A process that was started with a version that crashes whatever it is asked: none before it is kept.
async fn in_quarantine(rig: &mut Rig) -> Process {
    rig.cloud.becomes_new();
    rig.comes("version=1.1.0 fragile").await;
    let mut process = rig.started("10m").await;
    rig.join(&names("worker", 0..6)).await;
    let line = process.says("in quarantine").await;
    says(
        message(&line),
        &["Another version that provider.module names by its digest takes its place without a restart"],
    );
    let parts = ["in quarantine", "name a sound version in provider.module of --cloud-config", "without a restart"];
    event(&rig.cluster, LEASE, &parts).await;
    process
}

#[tokio::test]
async fn a_version_in_quarantine_is_replaced_without_a_restart() {
    let mut rig = Rig::new().await;
    let mut process = in_quarantine(&mut rig).await;
    rig.comes("version=1.2.0").await;
    process.says("versioned 1.2.0 serves from now on").await;
    rig.settles(Vec::new(), Duration::from_secs(60)).await;
    process.stop().await;
}

#[tokio::test]
async fn in_quarantine_a_candidate_of_another_account_is_refused() {
    let mut rig = Rig::new().await;
    let leases: Api<Lease> = Api::namespaced(rig.cluster.admin.clone(), "kube-system");
    let lease = json!({ "metadata": { "name": LEASE, "annotations": { ACCOUNT_ANNOTATION: "another" } } });
    leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    let process = in_quarantine(&mut rig).await;
    rig.comes("version=1.2.0").await;
    let parts = [r#"the credential belongs to the cloud account "a""#, r#"belongs to the cloud account "another""#];
    let found = event(&rig.cluster, LEASE, &parts).await;
    assert_eq!(found.reason.as_deref(), Some("ModuleRefused"));
    assert_eq!(rig.page(&process).await["version"], json!("1.1.0"));
    process.stop().await;
}
