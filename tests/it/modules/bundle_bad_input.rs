//! Mistakes in files and flags of `aerostat bundle`: the object, the cause and the next step, before anything is sent.

use bytes::Bytes;
use oci::Layout;
use tests::capture::{Capture, Step};
use tests::folder::Folder;
use tests::registry::{Access, REPOSITORY, RealRegistry};

use crate::bundle::{bundle, layout};
use crate::commands::{flag, run_with};
use crate::setup::says;

async fn refused(arguments: &[&str], parts: &[&str]) {
    let ran = bundle(arguments).await;
    assert_eq!((ran.code, ran.text.as_str()), (Some(1), ""), "{ran:?}");
    says(&ran.errors, parts);
}

#[tokio::test]
async fn nothing_of_a_bad_bundle_is_sent() {
    let (registry, folder) =
        (Capture::https(&["127.0.0.1"], |_| Step::answer("404 Not Found", &[], "")).await, Folder::new());
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let address = registry.address().to_string();
    let push = async |bytes: &[u8], parts: &[&str]| {
        let file = folder.write("bad.tar", bytes).display().to_string();
        let next = ["bad.tar is refused: it ", "Nothing was sent", "save it again with aerostat bundle save"];
        refused(&["push", &file, &address, &ca], &[&next[..], parts].concat()).await;
    };
    let good = layout().tar();
    push(&good[..good.len() / 2], &["is cut off"]).await;
    push(b"<html>", &["is cut off or damaged"]).await;
    push(&[], &["has no oci-layout"]).await;
    let mut flipped = good.clone();
    let last = flipped.len() - 1024 - 512;
    flipped[last] ^= 1;
    push(&flipped, &["with other bytes: they have sha256"]).await;
    let mut climbing = good.clone();
    climbing[..9].copy_from_slice(b"../layout");
    let sum: u32 = climbing[..512]
        .iter()
        .enumerate()
        .map(|(at, it)| if (148..156).contains(&at) { 32 } else { u32::from(*it) })
        .sum();
    climbing[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    push(&climbing, &["which has no place in it"]).await;
    assert_eq!(registry.connections(), 0);

    let file = folder.write("good.tar", &good).display().to_string();
    refused(&["push", &file, "registry.example.com:tag/", &ca], &["registry.example.com:tag/acme/provider:1.2.0"])
        .await;
    refused(&["push", &file, "mirror", &ca], &["does not begin with the host of a registry"]).await;
    refused(&["push", &folder.path("gone.tar").display().to_string(), &address], &["cannot read", "correct the path"])
        .await;
    assert_eq!(registry.connections(), 0);
}

#[tokio::test]
async fn a_bundle_larger_than_260_mib_is_not_read() {
    let folder = Folder::new();
    let path = folder.path("giant.tar");
    std::fs::File::create(&path).unwrap().set_len((260 << 20) + 1).unwrap();
    let path = path.display().to_string();
    refused(&["push", &path, "registry.example.com"], &["giant.tar is larger than 260 MiB; a bundle is smaller"]).await;
}

#[tokio::test]
async fn a_bundle_is_saved_whole_or_not_at_all() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    let ca = flag("ca", &registry.ca_file());
    let made = folder.write("made.tar", layout().tar()).display().to_string();
    assert_eq!(bundle(&["push", &made, registry.address(), &ca]).await.code, Some(0));
    let out = folder.path("out.tar");
    let saved = out.display().to_string();
    let module = format!("{}/{REPOSITORY}:1.2.0", registry.address());
    let save = async |places: &[&str], parts: &[&str]| {
        refused(&[&["save", &saved], places, &[&ca]].concat(), parts).await;
        assert!(!out.exists());
    };
    let gone = format!("{}/{REPOSITORY}:9", registry.address());
    save(&[&module, &gone], &["has nothing under the tag 9 in acme/provider"]).await;
    save(&[&module, "acme:1"], &["names no repository"]).await;
    let closed = ["registry (https://127.0.0.1:1) cannot be reached: ", "check its host and port in the reference"];
    save(&[&module, "127.0.0.1:1/acme/provider:1"], &closed).await;
    save(&[&format!("{}/{REPOSITORY}", registry.address())], &["names neither a tag nor a digest"]).await;
    let without = bundle(&["save", &saved]).await;
    assert_eq!(without.code, Some(1), "{without:?}");
    says(&without.errors, &["<REFERENCE>..."]);
    std::fs::write(&out, "mine").unwrap();
    refused(&["save", &saved, &module, &ca], &["out.tar is there already", "--force"]).await;
    assert_eq!(std::fs::read(&out).unwrap(), b"mine");
    let forced = run_with(&["bundle", "save", &saved, &module, &ca, "--force"], &[]).await;
    assert_eq!(forced.code, Some(0), "{forced:?}");
    let read = Layout::read(&Bytes::from(std::fs::read(&out).unwrap())).unwrap().artifacts().unwrap();
    assert_eq!(read.len(), 1);
}
