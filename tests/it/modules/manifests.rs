//! The digest decides which manifest it is, and what stands in it.

use std::time::Duration;

use serde_json::json;
use tests::capture::{Capture, Step};
use tests::registry::{Answers, Artifact};

use crate::setup::{MODULE, Setup, artifact, paths};

#[tokio::test]
async fn a_module_is_pulled_by_the_digest_of_its_manifest() {
    let registry = Answers::of(&artifact()).serve().await;
    let pulled = Setup::at(&registry, &artifact().digest()).pulled().await;
    assert_eq!((&pulled.bytes[..], pulled.is_cached, pulled.signer), (MODULE, false, None));
    assert_eq!(registry.connections(), 2, "manifest and module, and no question beside");
    for request in registry.requests() {
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("accept-encoding"), Some("identity"));
    }
}

#[tokio::test]
async fn adv_53_a_tag_is_for_people_and_the_digest_decides() {
    let moved = Artifact::new(b"another module");
    let registry = Answers::of(&artifact()).with(&moved).set("manifests/1.2.0", Step::bytes(&[], &moved.manifest));
    let registry = registry.serve().await;
    let setup = Setup::at(&registry, &artifact().digest());
    assert_eq!(setup.pulled().await.bytes, MODULE);
    assert!(paths(&registry).iter().all(|it| !it.contains("1.2.0")), "{:?}", paths(&registry));
}

#[tokio::test]
async fn adv_52_another_manifest_than_the_configured_one_is_refused() {
    let other = Artifact::new(b"another module");
    let path = format!("manifests/sha256:{}", artifact().digest());
    let registry = Answers::of(&other).set(&path, Step::bytes(&[], &other.manifest)).serve().await;
    let wanted = format!("sha256 {}", other.digest());
    let setup = Setup::at(&registry, &artifact().digest());
    setup.refused(&["acme/provider:1.2.0@sha256:", "sent other bytes as manifest", &wanted, "find out who"]).await;
    assert_eq!(registry.connections(), 1, "nothing that it names is asked for");
}

#[tokio::test]
async fn a_lie_in_docker_content_digest_changes_nothing() {
    let (right, wrong) = (artifact(), Artifact::new(b"another module"));
    let path = format!("manifests/sha256:{}", right.digest());
    let header = |it: &Artifact| format!("sha256:{}", it.digest());
    let lies = [("docker-content-digest", header(&wrong))];
    let lies: Vec<_> = lies.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let registry = Answers::of(&right).set(&path, Step::bytes(&lies, &right.manifest)).serve().await;
    assert_eq!(Setup::at(&registry, &right.digest()).pulled().await.bytes, MODULE);

    let lies = [("docker-content-digest", header(&right))];
    let lies: Vec<_> = lies.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let registry = Answers::of(&wrong).set(&path, Step::bytes(&lies, &wrong.manifest)).serve().await;
    Setup::at(&registry, &right.digest()).refused(&["sent other bytes"]).await;
}

#[tokio::test]
async fn a_page_for_people_is_no_manifest() {
    let path = format!("manifests/sha256:{}", artifact().digest());
    let page = Step::bytes(&[("content-type", "text/html")], b"<html>Please log in</html>");
    let registry = Answers::default().set(&path, page).serve().await;
    let setup = Setup::at(&registry, &artifact().digest());
    setup.refused(&["other bytes that look like a page for people", "what stands between"]).await;
}

#[tokio::test]
async fn a_manifest_that_never_ends_is_given_up() {
    let path = format!("manifests/sha256:{}", artifact().digest());
    let slow = std::time::Duration::from_millis(100);
    let head = Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
    for (steps, part) in [
        (vec![head.clone(), Step::Hang], "stopped for 2s within its answer"),
        (vec![head, Step::Drip(vec![b' '; 1000], slow)], "did not answer within 6s"),
        (vec![Step::Hang], "did not begin to answer within 2s"),
        (vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n")], "more than the 1048576 bytes"),
        (vec![Step::raw("HTTP/1.1 200 OK\r\n\r\n{"), Step::Close], "sent other bytes"),
        (vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), Step::Close], "cut its answer off"),
        (
            vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}")],
            "broke the connection off",
        ),
        (
            vec![Step::raw(&format!("HTTP/1.1 200 OK\r\nx-large: {}\r\n\r\n", "x".repeat(65 << 10)))],
            "broke the connection off",
        ),
        (
            vec![Step::raw(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "x-many: x\r\n".repeat(101)))],
            "broke the connection off",
        ),
        (vec![Step::raw("SSH-2.0-OpenSSH_9.6\r\n")], "broke the connection off"),
        (vec![Step::Close], "broke the connection off"),
        (Step::answer("503 Service Unavailable", &[], "later"), "answers 503 Service Unavailable"),
        (Step::answer("429 Too Many Requests", &[], ""), "answers 429 Too Many Requests"),
    ] {
        let registry = Answers::default().set(&path, steps).serve().await;
        let setup = Setup::at(&registry, &artifact().digest()).impatient();
        let text = setup.pull().await.unwrap_err().to_string();
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[tokio::test]
async fn a_registry_that_is_slow_each_time_is_given_up_in_all() {
    let answers = Answers::of(&artifact());
    // No single answer is late.
    let registry = Capture::https(&["127.0.0.1"], move |request| {
        let mut answer = answers.answer(request);
        let Some(Step::Send(bytes)) = answer.pop() else { return answer };
        let head = bytes.windows(4).position(|it| it == b"\r\n\r\n").map_or(0, |it| it + 4);
        let (head, body) = bytes.split_at(head);
        vec![Step::Send(head.to_vec()), Step::Drip(body.to_vec(), Duration::from_millis(5))]
    })
    .await;
    let mut setup = Setup::at(&registry, &artifact().digest());
    setup.outside.total = Duration::from_millis(500);
    let begun = std::time::Instant::now();
    setup.unavailable(&["cannot be pulled: the registry was not done within 500ms"]).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    setup.outside.total = Duration::from_secs(60);
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn adv_59_a_compressed_answer_is_refused() {
    let bomb = b"\x28\xb5\x2f\xfd\x04\x00";
    for encoding in ["zstd", "gzip", "identity, zstd"] {
        let path = format!("manifests/sha256:{}", artifact().digest());
        let answer = Step::bytes(&[("content-encoding", encoding)], bomb);
        let registry = Answers::default().set(&path, answer).serve().await;
        let setup = Setup::at(&registry, &artifact().digest());
        setup.unavailable(&["answered with a content-encoding, although it was asked for none"]).await;
    }
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_index_instead_of_a_manifest() {
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [artifact().entry()],
    });
    let index = Artifact { manifest: index.to_string().into_bytes(), module: Vec::new() };
    let registry = Answers::of(&artifact()).with(&index).serve().await;
    let named = format!("write one of those that it names as digest: sha256:{}", artifact().digest());
    Setup::at(&registry, &index.digest()).refused(&["is an index and no manifest", &named]).await;
    assert_eq!(registry.connections(), 1);
}

#[tokio::test]
async fn a_manifest_that_is_an_index_too_is_refused() {
    let both = Artifact::edited(MODULE, |it| it["manifests"] = json!([artifact().entry()]));
    let registry = Answers::of(&both).serve().await;
    Setup::at(&registry, &both.digest()).refused(&["a manifest and an index at once"]).await;
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_manifest_with_two_layers() {
    let two = Artifact::edited(MODULE, |it| it["layers"] = json!([it["layers"][0], it["layers"][0]]));
    let registry = Answers::of(&two).serve().await;
    Setup::at(&registry, &two.digest()).refused(&["has 2 layers, and a module is one", "push it as an artifact"]).await;
    assert_eq!(registry.connections(), 1);
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_module_of_5_mib_in_a_registry() {
    let large = Artifact::new(&vec![0; 5 << 20]);
    let registry = Answers::of(&large).serve().await;
    let setup = Setup::at(&registry, &large.digest());
    setup.refused(&["has 5242880 bytes; 4194304 are the most", "build it with opt-level"]).await;
    assert_eq!(registry.connections(), 1, "it is not asked for");
}

/// Cases: bad-artifact
#[tokio::test]
async fn bad_input_digest_of_a_blob_instead_of_a_manifest() {
    let registry = Answers::of(&artifact()).serve().await;
    let module = sha256::Digest::of(MODULE).to_string();
    let setup = Setup::at(&registry, &module);
    setup
        .refused(&["has no such manifest in acme/provider", "has to be the manifest's", "not that of the module"])
        .await;
}
