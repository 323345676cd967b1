//! Signatures that cosign has stored in a registry, as `tests/registry/cosign/record.sh` recorded them.

use std::path::{Path, PathBuf};

use oci::{Image, SignedBy};
use sha256::Digest;
use tests::capture::{Capture, Step};

use crate::setup::Setup;

pub(crate) fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("registry/cosign/recorded").join(name)
}

pub(crate) fn digest() -> String {
    let text = std::fs::read_to_string(recorded("digest")).unwrap();
    text.trim().strip_prefix("sha256:").unwrap().to_owned()
}

/// A registry that serves the recording: without the API for referrers, as the one that was recorded.
pub(crate) async fn registry() -> Capture {
    let tags = std::fs::read_to_string(recorded("tags")).unwrap();
    Capture::https(&["127.0.0.1"], move |request| {
        let path = request.text().split(' ').nth(1).unwrap().strip_prefix("/v2/").unwrap().to_owned();
        let found =
            path.split_once("/manifests/").or_else(|| path.split_once("/blobs/")).and_then(|(repository, name)| {
                let tag = format!("{repository}:{name} ");
                let tagged = tags.lines().find_map(|it| it.strip_prefix(&tag));
                let digest = tagged.unwrap_or(name).strip_prefix("sha256:")?;
                std::fs::read(recorded(digest)).ok()
            });
        found.map_or_else(|| Step::answer("404 Not Found", &[], ""), |bytes| Step::bytes(&[], &bytes))
    })
    .await
}

/// The module in one repository of the recording, by one key.
fn setup(registry: &Capture, repository: &str, key: &str) -> Setup {
    let mut setup = Setup::at(registry, &digest());
    setup.settings.image = Image::parse(&format!("{}/acme/{repository}", registry.address())).unwrap();
    let name = Some(format!("localhost:5000/acme/{repository}"));
    setup.settings.signed_by = Some(SignedBy { keys: vec![recorded(key)], name });
    setup
}

#[tokio::test]
async fn cosign_signs_with_three_kinds_of_keys_in_two_forms() {
    let registry = registry().await;
    for key in ["p256", "p384", "rsa"] {
        for form in ["bundle", "tag"] {
            let pulled = setup(&registry, &format!("{key}-{form}"), &format!("{key}.pub")).pulled().await;
            assert_eq!(pulled.bytes, b"a module");
            let signer = pulled.signer.unwrap();
            assert!(signer.ends_with(&format!("{key}.pub ({form})")), "{signer}");
        }
    }
}

#[tokio::test]
async fn another_key_than_cosign_signed_with_is_refused() {
    let registry = registry().await;
    for (repository, key) in [("p256-bundle", "p384.pub"), ("p384-bundle", "rsa.pub"), ("rsa-bundle", "p256.pub")] {
        setup(&registry, repository, key).refused(&["is not by a key of provider.module.signedBy.keys"]).await;
        setup(&registry, &repository.replace("bundle", "tag"), key).refused(&["is not by a key of"]).await;
    }
}

#[tokio::test]
async fn an_attestation_of_cosign_is_no_approval() {
    let registry = registry().await;
    let setup = setup(&registry, "attested", "p256.pub");
    setup.refused(&["only attests https://example.com/scan, which is no approval"]).await;
}

#[tokio::test]
async fn a_signature_under_a_tag_is_for_one_repository() {
    let registry = registry().await;
    let mut setup = setup(&registry, "p256-tag", "p256.pub");
    setup.settings.signed_by.as_mut().unwrap().name = None;
    let own = format!("and not of {}/acme/p256-tag", registry.address());
    setup.refused(&["is a signature of localhost:5000/acme/p256-tag", &own, "provider.module.signedBy.as"]).await;
}

#[tokio::test]
async fn every_file_of_the_recording_is_what_its_name_says() {
    let mut files = 0;
    for entry in std::fs::read_dir(recorded("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Ok(digest) = Digest::parse(&name) {
            assert_eq!(Digest::of(&std::fs::read(&path).unwrap()), digest);
            files += 1;
        }
    }
    assert_eq!(files, 24, "each of seven signatures has at least a manifest and a blob");
}
