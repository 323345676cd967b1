//! Modules in a registry that an operator got wrong, as the last line of the log says it: the object, the cause and the
//! next step. The process ends with 1, unless waiting may help.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::operator::{PATIENCE, Setup, says};
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry, Signer};

use super::{acme, in_registry, with_login};

/// The password of the registry's user, and as base64 has it behind the user.
const PASSWORD: [&str; 2] = ["correct-horse", "Y29ycmVjdC1ob3JzZ"];

/// A cluster, a registry with the SDK's example, and what an operator writes for it.
async fn pushed(access: Access) -> (Cluster, RealRegistry, Setup) {
    let (cluster, registry) = (cluster().await, RealRegistry::distribution(access).await);
    registry.push(&acme(), Some("1.2.0")).await;
    let setup = in_registry(Setup::guest(&cluster, guests::ACME), &registry, &acme().digest());
    (cluster, registry, setup)
}

/// Names another artifact than the one that is there.
fn digest(setup: Setup, digest: &str) -> Setup {
    let digest = format!("sha256:{digest}");
    setup.edit(|config| config["provider"]["module"]["oci"]["digest"] = json!(digest))
}

/// Starts the binary, which must give up for these reasons, and show no password on the way.
async fn refused(setup: &Setup, parts: &[&str]) {
    let (status, lines) = setup.start().aerostat.ended(PATIENCE).await.unwrap();
    let last = lines.last().map(message).unwrap_or_default();
    assert_eq!(status.code(), Some(1), "{last}");
    says(last, parts);
    let all = Value::from_iter(lines.into_iter().map(Value::Object)).to_string();
    for secret in PASSWORD {
        assert!(!all.contains(secret), "{all}");
    }
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_unknown_registry_at_start() {
    let (_cluster, _registry, setup) = pushed(Access::Anyone).await;
    let setup = setup.edit(|config| {
        config["provider"]["module"]["oci"]["image"] = json!(format!("registry.invalid/{REPOSITORY}"));
    });
    let mut process = setup.start();
    // A name that does not resolve now may do so later: the process waits.
    let line = process.says("tried again in 1s; until then nothing is led").await;
    says(
        message(&line),
        &["module registry.invalid/acme/provider@sha256:", "https://registry.invalid", "has a name that"],
    );
    assert_eq!(process.get("/readyz", None).await.code, 500);
    process.stop().await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_no_login_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Password).await;
    let next = "name a file with one in provider.module.oci.login, as kubectl create secret docker-registry makes it";
    refused(&setup, &[registry.address(), "does not let us read acme/provider (401 Unauthorized)", next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_wrong_password_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Password).await;
    let entry =
        |password: &str| json!({ "auths": { registry.address(): { "username": "alice", "password": password } } });
    let setup = with_login(setup, &entry("correct-horse-staple"));
    let cause = "does not let us read acme/provider (401 Unauthorized)";
    refused(&setup, &[registry.address(), cause, "correct the login in", "login.json, or what it may read"]).await;
    // It was the password alone.
    let setup = with_login(setup, &entry("correct-horse"));
    let mut process = setup.start();
    process.says("comes from the registry").await;
    process.kill();
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_login_helper_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Password).await;
    let helper = json!({ "credHelpers": { registry.address(): "ecr-login" } });
    let cause = "leaves the login to the helper \"ecr-login\", and nothing is executed here";
    let next = "write the login itself, as kubectl create secret docker-registry does";
    refused(&with_login(setup, &helper), &["provider.module.oci.login", "login.json", cause, next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_digest_of_the_module_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Anyone).await;
    let setup = digest(setup, &guests::sha256(guests::ACME));
    let next = "provider.module.oci.digest has to be the manifest's, as registries print it";
    refused(&setup, &[registry.address(), "has no such manifest in acme/provider", next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_index_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Anyone).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [acme().entry()],
    });
    let index = Artifact { manifest: index.to_string().into_bytes(), module: Vec::new() };
    registry.put_manifest("1.2.0", &index.manifest).await;
    let next = format!("write one of those that it names as digest: sha256:{}", acme().digest());
    refused(&digest(setup, &index.digest()), &[registry.address(), "is an index and no manifest", &next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_two_layers_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Anyone).await;
    let two = Artifact::edited(&acme().module, |it| it["layers"] = json!([it["layers"][0], it["layers"][0]]));
    registry.push(&two, None).await;
    let next = "push it as an artifact with the module alone";
    refused(&digest(setup, &two.digest()), &[registry.address(), "has 2 layers, and a module is one", next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_module_of_5_mib_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Anyone).await;
    let large = Artifact::new(&vec![0; 5 << 20]);
    registry.push(&large, None).await;
    let next = "build it with opt-level \"s\", lto and strip";
    refused(&digest(setup, &large.digest()), &[registry.address(), "5242880 bytes; 4194304 are the most", next]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_expired_authority_at_start() {
    let (_cluster, _registry, setup) = pushed(Access::Anyone).await;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let expired = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    let path = setup.folder.write("expired.pem", expired);
    let setup = setup.edit(|config| config["provider"]["module"]["oci"]["tls"]["caFile"] = json!(path));
    refused(&setup, &["provider.module.oci", "expired.pem", "`tls.caFile`", "its certificate has expired"]).await;
}

/// Cases: bad-signature
#[tokio::test]
async fn bad_input_key_that_is_a_certificate_at_start() {
    let (_cluster, _registry, setup) = pushed(Access::Anyone).await;
    let certificate = CertificateParams::default().self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    let key = setup.folder.write("acme.pub", certificate);
    let setup = setup.edit(|config| config["provider"]["module"]["signedBy"] = json!({ "keys": [key] }));
    let cause = "is a certificate, and a public key is wanted";
    let next = "openssl x509 -pubkey -noout takes it out";
    refused(&setup, &["acme.pub of provider.module.signedBy.keys", cause, next]).await;
}

/// Cases: bad-signature
#[tokio::test]
async fn bad_input_signature_by_another_key_at_start() {
    let (_cluster, registry, setup) = pushed(Access::Anyone).await;
    let ours = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let theirs = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let referrer = theirs.referrer(&acme().digest());
    registry.push(&referrer, None).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [referrer.entry()],
    });
    registry.put_manifest(&format!("sha256-{}", acme().digest()), index.to_string().as_bytes()).await;
    let key = setup.folder.write("acme.pub", ours.public_key());
    let setup = setup.edit(|config| config["provider"]["module"]["signedBy"] = json!({ "keys": [key] }));
    let cause = "is not by a key of provider.module.signedBy.keys";
    refused(&setup, &[registry.address(), cause, "Sign it (cosign sign --key), or correct the keys"]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_previous_equal_to_digest_at_start() {
    let (_cluster, _registry, setup) = pushed(Access::Anyone).await;
    let setup = setup.edit(|config| {
        let oci = &mut config["provider"]["module"]["oci"];
        oci["previous"] = oci["digest"].clone();
    });
    let next = "write the version before it, or nothing";
    refused(&setup, &["cloud.yaml", "provider.module.oci.previous is the same as digest", next]).await;
}
