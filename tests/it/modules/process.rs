//! The binary with a module out of a registry.

mod attacks;
mod bad_input;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use serde_json::json;
use tests::capture::Capture;
use tests::control_plane::cluster;
use tests::guests;
use tests::kubelet;
use tests::operator::{Setup, assert_waits, says};
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry, Signer, provider_module};

/// An operator's config for a module in a real registry.
fn in_registry(setup: Setup, registry: &RealRegistry, digest: &str) -> Setup {
    setup.edit(|config| config["provider"]["module"] = registry.module(digest))
}

/// An operator's config for a module in a registry of the test's own.
fn in_hostile(setup: Setup, registry: &Capture, digest: &str) -> Setup {
    let ca_file = setup.folder.write("registry-ca.pem", registry.ca());
    let module = provider_module(&registry.address().to_string(), &ca_file, digest);
    setup.edit(|config| config["provider"]["module"] = module)
}

/// With a login file in Docker's form.
fn with_login(setup: Setup, login: &serde_json::Value) -> Setup {
    let path = setup.folder.write("login.json", login.to_string());
    setup.edit(|config| config["provider"]["module"]["oci"]["login"] = json!({ "file": path }))
}

/// The SDK's example, as registries store it.
fn acme() -> Artifact {
    Artifact::new(&std::fs::read(guests::ACME).unwrap())
}

#[tokio::test]
async fn a_signed_module_leads_and_leads_again_without_the_registry() {
    let cluster = cluster().await;
    let registry = RealRegistry::referrers().await;
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let module = Artifact::new(&tests::component::only_provider());
    registry.push(&module, Some("1.2.0")).await;
    registry.push(&signer.referrer(&module.digest()), None).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &module.digest());
    let key = setup.folder.write("acme.pub", signer.public_key());
    let cache = setup.folder.path("modules");
    let flag = format!("--module-cache={}", cache.display());
    let setup = setup.flags(&[&flag]).edit(|config| {
        config["provider"]["module"]["signedBy"] = json!({ "keys": [key] });
    });

    let mut process = setup.start();
    let line = process.says("comes from the registry and is signed by").await;
    says(tests::aerostat::message(&line), &[&format!("@sha256:{}", module.digest()), "acme.pub (bundle)"]);
    process.says("provider minimal").await;
    process.says("successfully acquired lease").await;
    process.stop().await;

    drop(registry);
    let mut process = setup.start();
    process.says("comes from --module-cache and is signed by").await;
    process.says("successfully acquired lease").await;
    process.stop().await;
}

#[tokio::test]
async fn a_registry_that_is_down_is_waited_for_without_the_lease() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    let setup =
        setup.edit(|config| config["provider"]["module"]["oci"]["image"] = json!(format!("127.0.0.1:9/{REPOSITORY}")));
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    let mut process = setup.start();
    process.says("tried again in 1s; until then nothing is led").await;
    let line = process.says("tried again in 2s").await;
    says(tests::aerostat::message(&line), &["module 127.0.0.1:9/acme/provider@sha256:", "Connection refused"]);
    assert_eq!(process.get("/healthz", None).await.code, 200, "no restart would help");
    assert_eq!(process.get("/readyz", None).await.code, 500);
    assert_waits(&cluster, "worker-1").await;
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let lease = leases.get_opt("cloud-controller-manager").await.unwrap();
    assert!(lease.is_none(), "it is left to whoever has a module: {lease:?}");
    process.stop().await;
}

/// Cases: bad-module-cache
#[tokio::test]
async fn bad_input_module_cache_that_cannot_be_written() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&acme(), None).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    let file = setup.folder.write("file", "");
    let setup = setup.flags(&[&format!("--module-cache={}", file.display())]);
    says(&setup.refused().await, &["cannot write to --module-cache", "mount a folder there", "leave the flag out"]);
}

#[tokio::test]
async fn adv_52_machine_code_in_place_of_a_module_is_refused() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    // As much of a program as a module may have.
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let program = Artifact::new(&program[..1 << 20]);
    registry.push(&program, None).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &program.digest());
    says(&setup.refused().await, &["module 127.0.0.1:", "not a WebAssembly component", "build it with --target"]);
}

/// Cases: bad-signature
#[tokio::test]
async fn bad_input_unsigned_module() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&acme(), None).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = setup.folder.write("acme.pub", signer.public_key());
    let setup = setup.edit(|config| config["provider"]["module"]["signedBy"] = json!({ "keys": [key] }));
    says(
        &setup.refused().await,
        &["is refused: no key of provider.module.signedBy.keys has signed sha256:", "cosign sign --key"],
    );
}
