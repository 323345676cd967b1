//! Signatures of the manifest, in both forms of cosign. Without one that counts nothing is loaded.

use serde_json::{Value, json};
use tests::capture::{Capture, Step};
use tests::registry::{Answers, Artifact, Signer};

use crate::setup::{Setup, artifact, paths};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

fn signer() -> Signer {
    Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256)
}

/// A registry with these referrers of the module.
async fn referred(referrers: &[Artifact]) -> Capture {
    Answers::of(&artifact()).referrers(&artifact().digest(), referrers).serve().await
}

/// A registry in which the module has this bundle.
async fn bundled(bundle: &Value) -> Capture {
    referred(&[Artifact::referrer(&artifact().digest(), BUNDLE, bundle.to_string().as_bytes())]).await
}

fn setup(registry: &Capture, signers: &[&Signer]) -> Setup {
    Setup::at(registry, &artifact().digest()).signed_by(signers)
}

/// A bundle whose statement was changed before it was signed.
fn about(signer: &Signer, change: impl FnOnce(&mut Value)) -> Value {
    let mut statement = Signer::statement(&artifact().digest());
    change(&mut statement);
    signer.bundle(&statement)
}

#[tokio::test]
async fn a_bundle_by_any_configured_key_counts() {
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
        let (first, second) = (signer(), Signer::new(algorithm));
        let registry = referred(&[second.referrer(&artifact().digest())]).await;
        let pulled = setup(&registry, &[&first, &second]).pulled().await;
        assert!(pulled.signer.unwrap().ends_with("1.pub (bundle)"));
        setup(&registry, &[&first])
            .refused(&["is not by a key of provider.module.signedBy.keys", "cosign sign --key"])
            .await;
    }
}

#[tokio::test]
async fn a_signature_under_the_tag_counts() {
    let (signer, digest) = (signer(), artifact().digest());
    // The name has the port of the registry, which is known once it runs.
    let registry = Answers::of(&artifact()).serve().await;
    let payload = Signer::payload(&Setup::at(&registry, &digest).name(), &digest);
    let mirror =
        Answers::of(&artifact()).tagged_signature(&digest, payload.as_bytes(), &signer.sign(payload.as_bytes()));
    let mirror = mirror.serve().await;
    let mut mirrored = setup(&mirror, &[&signer]);
    mirrored
        .refused(&["is a signature of", "and not of", "write where it was signed as provider.module.signedBy.as"])
        .await;
    mirrored.settings.signed_by.as_mut().unwrap().name = Some(Setup::at(&registry, &digest).name());
    assert!(mirrored.pulled().await.signer.unwrap().ends_with("0.pub (tag)"));
}

#[tokio::test]
async fn a_payload_that_says_something_else_does_not_count() {
    let (signer, digest) = (signer(), artifact().digest());
    let name = "registry.example.com/acme/provider";
    let right: Value = serde_json::from_str(&Signer::payload(name, &digest)).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut payload = right.clone();
        change(&mut payload);
        payload.to_string()
    };
    let other = format!("sha256:{}", "7".repeat(64));
    for (payload, part) in [
        (changed(&|it| it["critical"]["type"] = json!("something else")), "is a signature of something else"),
        (
            changed(&|it| it["critical"]["image"]["docker-manifest-digest"] = json!(other)),
            "of another manifest, sha256:777",
        ),
        (changed(&|it| it["critical"]["image"]["docker-manifest-digest"] = json!(digest)), "of another manifest"),
        (
            changed(&|it| it["critical"]["identity"]["docker-reference"] = json!("x.example.com/a")),
            "of x.example.com/a and not",
        ),
        ("{}".to_owned(), "is a signature of something else"),
        ("x".repeat(65 << 10), "has 66560 bytes; 65536 are the most"),
    ] {
        let answers = Answers::of(&artifact());
        let registry =
            answers.tagged_signature(&digest, payload.as_bytes(), &signer.sign(payload.as_bytes())).serve().await;
        let mut setup = setup(&registry, &[&signer]);
        setup.settings.signed_by.as_mut().unwrap().name = Some(name.to_owned());
        setup.refused(&[part]).await;
    }
    let payload = Signer::payload(name, &digest);
    let registry = Answers::of(&artifact()).tagged_signature(&digest, payload.as_bytes(), "?").serve().await;
    setup(&registry, &[&signer]).refused(&["has a signature that is not base64"]).await;
}

#[tokio::test]
async fn a_bundle_of_another_digest_does_not_count() {
    let signer = signer();
    let other = "7".repeat(64);
    let registry = bundled(&signer.bundle(&Signer::statement(&other))).await;
    setup(&registry, &[&signer]).refused(&[&format!("is a signature of another manifest, sha256:{other}")]).await;
    // That of the module in the manifest is another one, too.
    let module = sha256::Digest::of(crate::setup::MODULE).to_string();
    let registry = bundled(&signer.bundle(&Signer::statement(&module))).await;
    setup(&registry, &[&signer]).refused(&["is a signature of another manifest"]).await;
}

#[tokio::test]
async fn a_bundle_that_only_attests_does_not_count() {
    let signer = signer();
    let scan = about(&signer, |it| it["predicateType"] = json!("https://slsa.dev/provenance/v1"));
    setup(&bundled(&scan).await, &[&signer])
        .refused(&["only attests https://slsa.dev/provenance/v1, which is no approval"])
        .await;
}

#[tokio::test]
async fn a_bundle_that_says_something_else_does_not_count() {
    let signer = signer();
    let digest = artifact().digest();
    let right = about(&signer, |_| ());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bundle = right.clone();
        change(&mut bundle);
        bundle
    };
    let two = json!([{ "digest": { "sha256": digest } }, { "digest": { "sha256": digest } }]);
    for (bundle, part) in [
        (about(&signer, |it| it["subject"] = two), "is about 2 things"),
        (about(&signer, |it| it["subject"] = json!([])), "is about 0 things"),
        (about(&signer, |it| it["subject"][0]["digest"]["sha512"] = json!("x")), "is no statement"),
        (about(&signer, |it| it["_type"] = json!("https://in-toto.io/Statement/v0.1")), "statement of another version"),
        (changed(&|it| it["dsseEnvelope"]["payloadType"] = json!("text/plain")), "is not by a key"),
        (changed(&|it| it["dsseEnvelope"]["payload"] = json!("e30=")), "is not by a key"),
        (changed(&|it| it["dsseEnvelope"]["payload"] = json!("?")), "payload that is not base64"),
        (changed(&|it| it["dsseEnvelope"]["signatures"] = json!([])), "has 0 signatures in one envelope"),
        (changed(&|it| it["dsseEnvelope"] = Value::Null), "without an envelope"),
        (
            changed(&|it| it["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1")),
            "another version",
        ),
        (changed(&|it| it["verificationMaterial"] = json!({ "certificate": { "rawBytes": "" } })), "(keyless)"),
        (changed(&|it| it["verificationMaterial"]["certificate"] = json!({ "rawBytes": "" })), "(keyless)"),
        (json!("no bundle"), "is no bundle"),
    ] {
        setup(&bundled(&bundle).await, &[&signer]).refused(&["no key of", part]).await;
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_a_signature_counts_as_none() {
    let signer = signer();
    let right = about(&signer, |_| ());
    let signature = right["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap().to_owned();
    for at in (0..signature.len() - 4).step_by(9) {
        let mut bytes = signature.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let mut bundle = right.clone();
        bundle["dsseEnvelope"]["signatures"][0]["sig"] = json!(String::from_utf8(bytes).unwrap());
        setup(&bundled(&bundle).await, &[&signer]).refused(&["is not by a key of"]).await;
    }
}

#[tokio::test]
async fn a_referrer_of_another_manifest_does_not_count() {
    let signer = signer();
    let bundle = about(&signer, |_| ()).to_string();
    let registry = referred(&[Artifact::referrer(&"7".repeat(64), BUNDLE, bundle.as_bytes())]).await;
    setup(&registry, &[&signer]).refused(&["refers to another manifest"]).await;
}

#[tokio::test]
async fn signatures_are_found_among_others_but_not_without_end() {
    let signer = signer();
    let digest = artifact().digest();
    let right = signer.referrer(&digest);
    let boms = |count: u8| {
        (0..count).map(|it| Artifact::referrer(&digest, "application/spdx+json", &[it])).collect::<Vec<_>>()
    };
    let mut many = boms(40);
    many.push(right.clone());
    let registry = referred(&many).await;
    setup(&registry, &[&signer]).pulled().await;

    // The type that an index says is not believed, but it says where to look first.
    let typed_otherwise = Artifact::edited(&right.module, |manifest| {
        *manifest = serde_json::from_slice(&right.manifest).unwrap();
        manifest["artifactType"] = json!("application/vnd.oci.empty.v1+json");
    });
    let mut few = boms(15);
    few.push(typed_otherwise.clone());
    setup(&referred(&few).await, &[&signer]).pulled().await;
    let mut many = boms(16);
    many.push(typed_otherwise);
    let registry = referred(&many).await;
    setup(&registry, &[&signer]).refused(&["the registry has no signature of it"]).await;
    assert_eq!(paths(&registry).iter().filter(|it| it.contains("/manifests/sha256:")).count(), 1 + 16);
}

#[tokio::test]
async fn eight_signatures_under_the_tag_are_looked_at() {
    let (signer, other, digest) = (signer(), signer(), artifact().digest());
    let name = "registry.example.com/acme/provider";
    let payload = Signer::payload(name, &digest);
    for (others, counts) in [(7, true), (8, false)] {
        let tagged = Artifact::edited(payload.as_bytes(), |manifest| {
            let layer = |signer: &Signer| {
                let mut layer = manifest["layers"][0].clone();
                layer["mediaType"] = json!("application/vnd.dev.cosign.simplesigning.v1+json");
                layer["annotations"] = json!({ "dev.cosignproject.cosign/signature": signer.sign(payload.as_bytes()) });
                layer
            };
            let layers: Vec<_> = (0..others).map(|_| layer(&other)).chain([layer(&signer)]).collect();
            manifest["layers"] = json!(layers);
        });
        let answers = Answers::of(&artifact()).blob(payload.as_bytes());
        let answers = answers.set(&format!("manifests/sha256-{digest}.sig"), Step::bytes(&[], &tagged.manifest));
        let registry = answers.serve().await;
        let mut setup = setup(&registry, &[&signer]);
        setup.settings.signed_by.as_mut().unwrap().name = Some(name.to_owned());
        match counts {
            true => assert!(setup.pulled().await.signer.unwrap().ends_with("0.pub (tag)")),
            false => setup.refused(&["is not by a key of provider.module.signedBy.keys"]).await,
        }
        let payload = format!("/blobs/sha256:{}", sha256::Digest::of(payload.as_bytes()));
        let asked = paths(&registry).iter().filter(|it| it.ends_with(&payload)).count();
        assert_eq!(asked, 8, "with {others} others");
    }
}

#[tokio::test]
async fn a_bundle_of_more_than_1_mib_is_not_read() {
    let signer = signer();
    let right = about(&signer, |_| ());
    let of_size = |size: usize| {
        let mut bundle = right.clone();
        bundle["padding"] = json!("");
        let length = bundle.to_string().len();
        bundle["padding"] = json!("x".repeat(size - length));
        bundle
    };
    let registry = bundled(&of_size(1 << 20)).await;
    setup(&registry, &[&signer]).pulled().await;
    let large = of_size((1 << 20) + 1);
    let registry = bundled(&large).await;
    setup(&registry, &[&signer]).refused(&["has 1048577 bytes; 1048576 are the most"]).await;
    let blob = format!("/blobs/sha256:{}", sha256::Digest::of(large.to_string().as_bytes()));
    assert!(paths(&registry).iter().all(|it| !it.ends_with(&blob)), "{:?}", paths(&registry));
}

#[tokio::test]
async fn an_unreadable_signature_is_no_permission() {
    let signer = signer();
    let digest = artifact().digest();
    let path = format!("referrers/sha256:{digest}");
    let down = Step::answer("503 Service Unavailable", &[], "");
    let registry = Answers::of(&artifact()).set(&path, down.clone()).serve().await;
    setup(&registry, &[&signer]).unavailable(&["answers 503"]).await;
    let registry = Answers::of(&artifact()).set(&path, Step::answer("400 Bad Request", &[], "")).serve().await;
    setup(&registry, &[&signer]).refused(&["answers 400"]).await;
    let registry = Answers::of(&artifact()).set(&path, Step::ok("<html>")).serve().await;
    setup(&registry, &[&signer]).refused(&["names what refers to the manifest in no index"]).await;

    let right = signer.referrer(&digest);
    let blob = format!("blobs/sha256:{}", sha256::Digest::of(&right.module));
    let answers = Answers::of(&artifact()).referrers(&digest, std::slice::from_ref(&right));
    let registry = answers.clone().set(&blob, down).serve().await;
    setup(&registry, &[&signer]).unavailable(&["answers 503"]).await;
    let registry = answers.set(&blob, Step::bytes(&[], b"{}")).serve().await;
    let text = setup(&registry, &[&signer]).pull().await.unwrap_err().to_string();
    assert!(text.contains("sent 2 bytes as blob"), "{text}");
}

#[tokio::test]
async fn the_module_is_not_asked_for_before_its_signature_counts() {
    let registry = Answers::of(&artifact()).serve().await;
    setup(&registry, &[&signer()]).refused(&["the registry has no signature of it"]).await;
    assert!(paths(&registry).iter().all(|it| !it.contains("/blobs/")), "{:?}", paths(&registry));
}
