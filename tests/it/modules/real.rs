//! Registries as operators run them.

use std::sync::Arc;

use serde_json::json;
use tests::capture::{Capture, Step};
use tests::registry::{Access, Artifact, RealRegistry, Signer, TokenService};

use crate::setup::{MODULE, Setup, artifact, lead};

#[tokio::test]
async fn distribution_without_a_login() {
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&artifact(), Some("1.2.0")).await;
    assert_eq!(Setup::in_real(&registry, &artifact().digest()).pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn adv_53_a_real_tag_moves_and_the_digest_stays() {
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&artifact(), Some("1.2.0")).await;
    registry.push(&Artifact::new(b"another module"), Some("1.2.0")).await;
    assert_eq!(Setup::in_real(&registry, &artifact().digest()).pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn distribution_with_a_password() {
    let registry = RealRegistry::distribution(Access::Password).await;
    registry.push(&artifact(), None).await;
    let setup = || Setup::in_real(&registry, &artifact().digest());
    assert_eq!(setup().password("correct-horse").pulled().await.bytes, MODULE);
    let auth = json!({ "auth": "YWxpY2U6Y29ycmVjdC1ob3JzZQ==" });
    assert_eq!(setup().login(&auth).pulled().await.bytes, MODULE);
    setup().password("wrong").refused(&["does not let us read acme/provider (401", "correct the login in"]).await;
    setup().refused(&["(401 Unauthorized); it wants a login", "provider.module.oci.login"]).await;
}

#[tokio::test]
async fn distribution_with_a_token_service() {
    let tokens = Arc::new(TokenService::new());
    let logins = [
        "authorization: Basic YWxpY2U6Y29ycmVjdC1ob3JzZQ==",
        "grant_type=refresh_token&client_id=aerostat&service=registry",
    ];
    let logins: &'static [&'static str] = Box::leak(Box::new(logins));
    let service = tokens.clone().serve(logins).await;
    let registry = RealRegistry::distribution(Access::Token(tokens, format!("{}/token", service.url()))).await;
    registry.push(&artifact(), None).await;
    let setup = || Setup::in_real(&registry, &artifact().digest()).token_service(&service);
    assert_eq!(setup().password("correct-horse").pulled().await.bytes, MODULE);
    let identity = setup().login(&json!({ "auth": "YWxpY2U6", "identitytoken": "refresh&me" }));
    assert_eq!(identity.pulled().await.bytes, MODULE);
    let form = service.requests().last().unwrap().text().to_owned();
    assert!(form.starts_with("POST /token HTTP/1.1") && form.ends_with("&refresh_token=refresh%26me"), "{form}");
    setup().password("wrong").refused(&["does not let us read acme/provider (401"]).await;

    let unnamed = Setup::in_real(&registry, &artifact().digest()).trust(&service).password("correct-horse");
    let before = service.connections();
    unnamed.refused(&["name 127.0.0.1:", "in provider.module.oci.tokenServices; nothing was sent"]).await;
    assert_eq!(service.connections(), before);
}

#[tokio::test]
async fn distribution_with_anonymous_tokens() {
    let tokens = Arc::new(TokenService::new());
    let service = tokens.clone().serve(&["GET /token"]).await;
    let registry = RealRegistry::distribution(Access::Token(tokens, format!("{}/token", service.url()))).await;
    registry.push(&artifact(), None).await;
    assert_eq!(Setup::in_real(&registry, &artifact().digest()).token_service(&service).pulled().await.bytes, MODULE);
    assert_eq!(service.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn adv_57_distribution_that_keeps_its_blobs_elsewhere() {
    let storage = Capture::https(&["1-0-3-57.example.com"], |_| Step::ok("a module")).await;
    lead("1.0.3.57", storage.address());
    let registry = RealRegistry::distribution(Access::Elsewhere("https://1-0-3-57.example.com".to_owned())).await;
    registry.push(&artifact(), None).await;
    let setup = Setup::in_real(&registry, &artifact().digest()).trust(&storage).led();
    assert_eq!(setup.pulled().await.bytes, MODULE);
    assert_eq!(storage.requests().len(), 1);
    assert_eq!(storage.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn signatures_in_both_kinds_of_real_registries() {
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let digest = artifact().digest();
    let referrer = signer.referrer(&digest);

    let registry = RealRegistry::referrers().await;
    registry.push(&artifact(), None).await;
    let setup = Setup::in_real(&registry, &digest).signed_by(&[&signer]);
    setup.refused(&["no key of provider.module.signedBy.keys has signed", "the registry has no signature of it"]).await;
    registry.push(&referrer, None).await;
    assert!(setup.pulled().await.signer.unwrap().ends_with("0.pub (bundle)"));

    // This one knows no referrers: cosign keeps an index under a tag.
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&artifact(), None).await;
    registry.push(&referrer, None).await;
    let setup = Setup::in_real(&registry, &digest).signed_by(&[&signer]);
    setup.refused(&["the registry has no signature of it"]).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [referrer.entry()],
    });
    registry.put_manifest(&format!("sha256-{digest}"), index.to_string().as_bytes()).await;
    assert!(setup.pulled().await.signer.unwrap().ends_with("0.pub (bundle)"));
}

#[tokio::test]
async fn a_signature_under_the_tag_of_a_real_registry() {
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let digest = artifact().digest();
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&artifact(), None).await;
    let setup = Setup::in_real(&registry, &digest).signed_by(&[&signer]);
    let tag = format!("sha256-{digest}.sig");
    // The name is the image's own: nothing stands in signedBy.as.
    for (name, is_ours) in [("127.0.0.1:1/acme/provider", false), (&*setup.name(), true)] {
        let payload = Signer::payload(name, &digest);
        let signature = signer.sign(payload.as_bytes());
        let signed = Artifact::edited(payload.as_bytes(), |manifest| {
            manifest["layers"][0]["mediaType"] = json!("application/vnd.dev.cosign.simplesigning.v1+json");
            manifest["layers"][0]["annotations"] = json!({ "dev.cosignproject.cosign/signature": signature });
        });
        registry.push(&signed, Some(&tag)).await;
        match is_ours {
            false => setup.refused(&["is a signature of 127.0.0.1:1/acme/provider and not of"]).await,
            true => assert!(setup.pulled().await.signer.unwrap().ends_with("0.pub (tag)")),
        }
    }
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_digest_that_a_real_registry_has_not() {
    let registry = RealRegistry::distribution(Access::Anyone).await;
    registry.push(&artifact(), None).await;
    let module = sha256::Digest::of(MODULE).to_string();
    for digest in [module, "0".repeat(64)] {
        Setup::in_real(&registry, &digest).refused(&["has no such manifest in acme/provider"]).await;
    }
}
