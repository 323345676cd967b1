//! The module is what its manifest names: so long, and with these bytes.

use serde_json::json;
use tests::capture::Step;
use tests::registry::{Answers, Artifact};

use crate::setup::{MODULE, Setup, artifact};

/// A registry whose module is answered like this, and what the operator has written.
async fn served(steps: Vec<Step>) -> (tests::capture::Capture, Setup) {
    let path = format!("blobs/sha256:{}", sha256::Digest::of(MODULE));
    let registry = Answers::of(&artifact()).set(&path, steps).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).impatient();
    (registry, setup)
}

#[tokio::test]
async fn adv_52_another_module_than_the_manifest_names_is_refused() {
    let (_registry, setup) = served(Step::bytes(&[], b"A MODULE")).await;
    setup.refused(&["sent other bytes as blob sha256:", "find out who replaced them"]).await;
}

#[tokio::test]
async fn a_digest_that_is_wrong_only_at_the_end_is_wrong() {
    let module = vec![7; 1 << 20];
    let mut other = module.clone();
    *other.last_mut().unwrap() = 8;
    let large = Artifact::new(&module);
    let path = format!("blobs/sha256:{}", sha256::Digest::of(&module));
    let registry = Answers::of(&large).set(&path, Step::bytes(&[], &other)).serve().await;
    Setup::at(&registry, &large.digest()).refused(&["sent other bytes as blob"]).await;
}

#[tokio::test]
async fn a_blob_of_10_gb_is_read_as_far_as_the_manifest_names() {
    let (_registry, setup) =
        served(vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n"), Step::Hang]).await;
    setup.unavailable(&["answered with more than the 8 bytes that are awaited"]).await;
}

#[tokio::test]
async fn without_a_length_no_more_is_read_than_the_manifest_names() {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000)).into_bytes();
    let mut steps = vec![Step::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")];
    steps.extend(std::iter::repeat_n(Step::Send(chunk), 1_000));
    let (_registry, setup) = served(steps).await;
    setup.unavailable(&["answered with more than the 8 bytes that are awaited"]).await;

    let mut steps = vec![Step::raw("HTTP/1.1 200 OK\r\n\r\n")];
    steps.extend(std::iter::repeat_n(Step::Send(vec![b'x'; 4096]), 1_000));
    let (_registry, setup) = served(steps).await;
    setup.unavailable(&["answered with more than the 8 bytes that are awaited"]).await;

    let right = format!("{:x}\r\na module\r\n0\r\n\r\n", MODULE.len());
    let (_registry, setup) =
        served(vec![Step::raw(&format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{right}"))]).await;
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn a_module_that_is_cut_off_or_too_short_is_asked_for_again() {
    let (_registry, setup) =
        served(vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\na mod"), Step::Close]).await;
    setup.unavailable(&["cut its answer off"]).await;
    let (_registry, setup) = served(Step::bytes(&[], b"a mod")).await;
    setup.unavailable(&["sent 5 bytes as blob", "which has 8"]).await;
    let (_registry, setup) = served(Step::answer("404 Not Found", &[], "")).await;
    setup.refused(&["has no blob sha256:", "which its manifest names"]).await;
}

#[tokio::test]
async fn adv_59_a_compressed_module_is_refused() {
    for encoding in ["gzip", "zstd", "br", "identity, gzip"] {
        let (_registry, setup) = served(Step::bytes(&[("content-encoding", encoding)], MODULE)).await;
        setup.unavailable(&["answered with a content-encoding, although it was asked for none"]).await;
    }
    let (_registry, setup) = served(Step::bytes(&[("content-encoding", "identity")], MODULE)).await;
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn a_lie_in_content_length_is_not_believed() {
    let said = |length: &str| vec![Step::raw(&format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\na module"))];
    for (length, part) in [
        ("4", "sent 4 bytes as blob"),
        ("0", "sent 0 bytes as blob"),
        ("9", "more than the 8 bytes that are awaited"),
        ("18446744073709551615", "broke the connection off"),
        ("-1", "broke the connection off"),
        ("8, 9", "broke the connection off"),
    ] {
        let (_registry, setup) = served(said(length)).await;
        let text = setup.pull().await.unwrap_err().to_string();
        assert!(text.contains(part), "{length}: {part:?} is not in {text:?}");
    }
    let (_registry, setup) = served(said("8")).await;
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn a_part_of_a_module_is_no_module() {
    let part =
        Step::raw("HTTP/1.1 206 Partial Content\r\ncontent-length: 8\r\ncontent-range: bytes 0-7/8\r\n\r\na module");
    let (_registry, setup) = served(vec![part]).await;
    setup.refused(&["answers 206 Partial Content"]).await;
}

#[tokio::test]
async fn a_layer_that_is_no_module_is_not_asked_for() {
    let tar = Artifact::edited(MODULE, |manifest| {
        manifest["layers"][0]["mediaType"] = json!("application/vnd.oci.image.layer.v1.tar+gzip");
    });
    let registry = Answers::of(&tar).serve().await;
    Setup::at(&registry, &tar.digest()).refused(&["tar+gzip, and a module has application/wasm"]).await;
    assert_eq!(registry.connections(), 1);
}
