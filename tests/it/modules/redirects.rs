//! Only for blobs may a registry send us elsewhere, without its login, and not everywhere.

use std::time::Duration;

use tests::audit;
use tests::capture::{Capture, Step};
use tests::registry::Answers;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::setup::{MODULE, Setup, artifact, lead, paths};

/// A registry that sends us there for its module, after a login.
async fn sending_to(location: &str) -> (Capture, Setup) {
    let path = format!("blobs/sha256:{}", sha256::Digest::of(MODULE));
    let redirect = Step::answer("307 Temporary Redirect", &[("location", location)], "");
    let registry = Answers::of(&artifact()).set(&path, redirect).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).impatient();
    (registry, setup)
}

#[tokio::test]
async fn adv_57_redirects_to_metadata_and_loopback_are_refused() {
    let trap = Capture::https(&["127.0.0.1"], |_| Step::ok("a module")).await;
    let loopback = trap.url();
    let port = trap.address().port();
    for (location, part) in [
        ("http://169.254.169.254/latest/meta-data", "http://, which is only for loopback"),
        ("https://169.254.169.254/latest/meta-data", "is at 169.254.169.254, which is link-local"),
        (&loopback, "is at 127.0.0.1, which is loopback"),
        (&format!("https://localhost:{port}/"), "which is loopback"),
        (&format!("https://[::ffff:127.0.0.1]:{port}/"), "which embeds 127.0.0.1"),
        (&format!("http://127.0.0.1:{port}/"), "is not https"),
        (
            "https://10.0.0.7/",
            "is at 10.0.0.7, which is a private address; the operator would have to name its network in `addresses` of provider.module.oci",
        ),
        ("https://user:x@1.0.0.57/", "has a user"),
        ("file:///etc/passwd", "has no host"),
        ("", "answered"),
    ] {
        let (_registry, setup) = sending_to(location).await;
        let setup = setup.trust(&trap);
        let text = setup.pull().await.unwrap_err().to_string();
        // Without a location it is itself that the registry names.
        let part = if location.is_empty() { "more than 3 times" } else { part };
        assert!(text.contains(part), "{location}: {part:?} is not in {text:?}");
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn adv_57_a_blob_elsewhere_is_read_without_the_login() {
    let storage = Capture::https(&["1-0-0-57.example.com"], |_| Step::ok("a module")).await;
    lead("1.0.0.57", storage.address());
    let path = format!("blobs/sha256:{}", sha256::Digest::of(MODULE));
    let location = "https://1-0-0-57.example.com/bucket/blob?signature=abc";
    let redirect = Step::answer("307 Temporary Redirect", &[("location", location)], "");
    let registry = Answers::of(&artifact()).set(&path, redirect).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).trust(&storage).led();
    let setup = setup.login(&serde_json::json!({ "registrytoken": "the-token" }));
    assert_eq!(setup.pulled().await.bytes, MODULE);
    let shown: Vec<_> = registry.requests().iter().map(|it| it.header("authorization").map(str::to_owned)).collect();
    assert_eq!(shown, [Some("Bearer the-token".to_owned()), Some("Bearer the-token".to_owned())]);
    assert_eq!(paths(&storage), ["/bucket/blob?signature=abc"]);
    assert_eq!(storage.requests()[0].header("authorization"), None);
    assert!(!storage.requests()[0].text().contains("the-token"));
}

#[tokio::test]
async fn registry_and_storage_have_audit_lines_without_queries() {
    audit::keep();
    let storage = Capture::https(&["1-0-4-57.example.com"], |_| Step::ok("a module")).await;
    lead("1.0.4.57", storage.address());
    let secret = "https://1-0-4-57.example.com/bucket/audited-blob?X-Signature=not-for-the-log";
    let (registry, setup) = sending_to(secret).await;
    assert_eq!(setup.trust(&storage).led().pulled().await.bytes, MODULE);
    let line = |path: &str, origin: &str| {
        let lines = audit::lines(path);
        let line = lines.iter().find(|it| it["origin"] == origin);
        line.cloned().unwrap_or_else(|| panic!("no line about {origin} in {lines:?}"))
    };
    let blob = format!("/v2/acme/provider/blobs/sha256:{}", sha256::Digest::of(MODULE));
    let asked = line(&blob, &registry.url());
    assert_eq!(
        (&asked["what"], &asked["method"], &asked["status"]),
        (&"provider.module.oci".into(), &"GET".into(), &307.into())
    );
    let stored = line("/bucket/audited-blob", "https://1-0-4-57.example.com");
    assert_eq!((&stored["status"], &stored["address"]), (&200.into(), &"1.0.4.57:443".into()));
    for shown in [asked, stored] {
        assert!(!shown.to_string().contains("not-for-the-log"), "{shown}");
    }
}

#[tokio::test]
async fn adv_57_bytes_from_elsewhere_are_checked_too() {
    let storage = Capture::https(&["1-0-1-57.example.com"], |_| Step::ok("A MODULE")).await;
    lead("1.0.1.57", storage.address());
    let (_registry, setup) = sending_to("https://1-0-1-57.example.com/").await;
    setup.trust(&storage).led().refused(&["sent other bytes as blob"]).await;
}

#[tokio::test]
async fn adv_57_there_is_no_second_try_without_tls() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    let other = Answers::default().serve().await;
    let mut setup = Setup::at(&other, &artifact().digest());
    setup.settings.image = oci::Image::parse(&format!("{address}/acme/provider")).unwrap();
    let answer = async {
        let (mut stream, _) = plain.accept().await.unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        assert_eq!(hello[0], 22, "a handshake of TLS");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        tokio::time::timeout(Duration::from_secs(1), plain.accept()).await
    };
    let (again, ()) = tokio::join!(answer, setup.unavailable(&["cannot be reached", "InvalidContentType"]));
    assert!(again.is_err(), "it came again");
}

#[tokio::test]
async fn a_registry_that_sends_us_round_in_circles_is_left() {
    let (registry, setup) = sending_to(&format!("/v2/acme/provider/blobs/sha256:{}", sha256::Digest::of(MODULE))).await;
    setup.refused(&["sends us elsewhere more than 3 times for one blob"]).await;
    assert_eq!(registry.connections(), 5);
}

#[tokio::test]
async fn a_manifest_elsewhere_is_not_looked_for() {
    let path = format!("manifests/sha256:{}", artifact().digest());
    let redirect = Step::answer("307 Temporary Redirect", &[("location", "https://1-0-2-57.example.com/")], "");
    let registry = Answers::of(&artifact()).set(&path, redirect).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).led();
    setup.refused(&["answers 307 Temporary Redirect", "only for blobs may it send us elsewhere"]).await;
}
