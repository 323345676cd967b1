//! `aerostat bundle`: whole artifacts from one registry into a file, and from the file into another registry.

use std::collections::BTreeMap;

use oci::{Descriptor, Layout, LayoutName, NewManifest, Platform, PushedInterfaces};
use serde_json::{Value, json};
use tests::folder::Folder;
use tests::registry::{Access, REPOSITORY, RealRegistry, Signer};

use crate::commands::{Ran, flag, good, run_with};
use crate::recorded;
use crate::setup::says;

/// An image for two machines with an SBOM, and a module with another one.
pub(crate) fn layout() -> Layout {
    let mut layout = Layout::default();
    let images = ["amd64", "arm64"].map(|architecture| {
        let config =
            json!({ "architecture": architecture, "os": "linux", "rootfs": { "type": "layers", "diff_ids": [] } });
        let manifest = NewManifest {
            artifact_type: None,
            config: layout.add_blob("application/vnd.oci.image.config.v1+json", config.to_string()),
            layers: vec![layout.add_blob("application/vnd.oci.image.layer.v1.tar", format!("for {architecture}"))],
            subject: None,
            annotations: BTreeMap::new(),
        };
        let platform = Platform { architecture: architecture.to_owned(), os: "linux".to_owned() };
        Descriptor { platform: Some(platform), ..layout.add_manifest(&manifest) }
    });
    let index = layout.add_index(&images, &BTreeMap::new());
    layout.add_referrer(&images[1], "application/vnd.cyclonedx+json", "image.json", "{ \"of\": \"the image\" }");
    layout.add_name(&LayoutName::parse("aerostat:0.1.0").unwrap(), index);
    let module = layout.add_module(b"a module".to_vec(), &PushedInterfaces::default(), BTreeMap::new());
    layout.add_referrer(&module, "application/vnd.cyclonedx+json", "module.json", "{ \"of\": \"the module\" }");
    layout.add_name(&LayoutName::parse(&format!("{REPOSITORY}:1.2.0")).unwrap(), module);
    layout
}

pub(crate) async fn bundle(arguments: &[&str]) -> Ran {
    run_with(&[&["bundle"], arguments].concat(), &[]).await
}

/// A command that must work, and the digests that it printed by their references.
async fn digests(arguments: &[&str]) -> BTreeMap<String, String> {
    let ran = bundle(&[arguments, &["--output=json"]].concat()).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.text).unwrap();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let artifacts = said["artifacts"].as_array().unwrap().iter();
    artifacts.map(|it| (text(&it["reference"]), text(&it["manifest"]))).collect()
}

/// Pushes a file, signs the module, and carries everything into a third registry by way of a second one.
async fn carry(first: &RealRegistry, second: &RealRegistry) {
    let folder = Folder::new();
    let made = folder.write("made.tar", layout().tar()).display().to_string();
    let (ca, mirror_ca) = (flag("ca", &first.ca_file()), flag("ca", &second.ca_file()));
    let pushed = digests(&["push", &made, first.address(), &ca]).await;
    let (image, module) =
        (format!("{}/aerostat:0.1.0", first.address()), format!("{}/{REPOSITORY}:1.2.0", first.address()));
    assert_eq!(pushed.keys().collect::<Vec<_>>(), [&module, &image]);

    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = flag("key", &folder.write("acme.pub", signer.public_key()));
    let hex = pushed[&module].strip_prefix("sha256:").unwrap();
    first.refer(hex, &signer.referrer(hex)).await;
    says(&good(&["verify", &module, &key, &ca]).await, &["acme.pub (bundle)"]);
    // A second push loses nothing of the first.
    assert_eq!(digests(&["push", &made, first.address(), &ca]).await, pushed);
    says(&good(&["verify", &module, &key, &ca]).await, &["acme.pub (bundle)"]);

    let saved = folder.path("saved.tar");
    let saved_text = saved.display().to_string();
    assert_eq!(digests(&["save", &saved_text, &image, &module, &ca]).await, pushed);
    let mirror = format!("{}/mirror", second.address());
    let mirrored = digests(&["push", &saved_text, &mirror, &mirror_ca]).await;
    let moved = pushed.iter().map(|(it, digest)| (it.replace(first.address(), &mirror), digest.clone()));
    assert_eq!(mirrored, moved.collect());
    let module = format!("{mirror}/{REPOSITORY}:1.2.0");
    says(&good(&["verify", &module, &key, &mirror_ca]).await, &["acme.pub (bundle)"]);
    let out = folder.path("pulled.wasm");
    good(&["pull", &module, &mirror_ca, &flag("out", &out)]).await;
    assert_eq!(std::fs::read(&out).unwrap(), b"a module");

    // Everything arrived, SBOMs and signature too: the mirror makes the same file, but for the names.
    let again = folder.path("again.tar");
    let places: Vec<_> = pushed.keys().map(|it| it.replace(first.address(), &mirror)).collect();
    digests(&["save", &again.display().to_string(), &places[1], &places[0], &mirror_ca]).await;
    let blobs = |path| {
        let layout = Layout::read(&std::fs::read(path).unwrap().into()).unwrap();
        let names = layout.artifacts().unwrap().iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
        let files = layout.files().into_iter().map(|it| it.0).filter(|it| it.starts_with("blobs/"));
        (names, files.collect::<Vec<_>>())
    };
    let ((names, files), (mirrored, same)) = (blobs(saved), blobs(again));
    assert_eq!(names, [&format!("{REPOSITORY}:1.2.0"), "aerostat:0.1.0"]);
    assert_eq!(mirrored, [&format!("mirror/{REPOSITORY}:1.2.0"), "mirror/aerostat:0.1.0"]);
    assert_eq!(files, same);
    assert_eq!(files.len(), layout().files().len() - 2 + 2, "the signature and its blob came along");
}

#[tokio::test]
async fn a_bundle_goes_from_distribution_to_one_with_referrers() {
    let (first, second) = (RealRegistry::distribution(Access::Anyone).await, RealRegistry::referrers().await);
    carry(&first, &second).await;
}

#[tokio::test]
async fn a_bundle_goes_from_one_with_referrers_to_distribution() {
    let (first, second) = (RealRegistry::referrers().await, RealRegistry::distribution(Access::Anyone).await);
    carry(&first, &second).await;
}

#[tokio::test]
async fn signatures_under_a_tag_come_along() {
    let (cosigned, registry, folder) =
        (recorded::registry().await, RealRegistry::distribution(Access::Anyone).await, Folder::new());
    let ca = flag("ca", &folder.write("ca.pem", cosigned.ca()));
    let file = folder.path("signed.tar").display().to_string();
    let source = format!("{}/acme/p256-tag@sha256:{}", cosigned.address(), recorded::digest());
    digests(&["save", &file, &source, &ca]).await;
    let ca = flag("ca", &registry.ca_file());
    let pushed = digests(&["push", &file, registry.address(), &ca]).await;
    assert_eq!(pushed.len(), 2, "{pushed:?}");
    let reference = format!("{}/acme/p256-tag@sha256:{}", registry.address(), recorded::digest());
    let key = flag("key", &recorded::recorded("p256.pub"));
    let line = good(&["verify", &reference, &key, "--signed-as=localhost:5000/acme/p256-tag", &ca]).await;
    says(&line, &["p256.pub (tag)"]);
}
