//! `aerostat module push` at a registry that does not mean well, and at one that has everything.

use tests::capture::{Capture, Request, Step};
use tests::folder::Folder;
use tests::guests;
use tests::registry::REPOSITORY;

use crate::commands::{flag, good, login, refused};
use crate::setup::says;

/// The method of a request.
fn method(request: &Request) -> &str {
    request.text().split(' ').next().unwrap_or_default()
}

/// A registry that has no blobs, and wants uploads there.
async fn wanting(location: &'static str) -> Capture {
    Capture::https(&["127.0.0.1"], move |request| match method(request) {
        "POST" => Step::answer("202 Accepted", &[("location", location)], ""),
        "HEAD" => Step::answer("404 Not Found", &[], ""),
        _ => Step::answer("201 Created", &[], ""),
    })
    .await
}

#[tokio::test]
async fn adv_57_an_upload_is_sent_nowhere_else() {
    let folder = Folder::new();
    for (location, part) in [
        ("https://storage.example.com/up", "is another host: uploads go to the registry alone"),
        ("https://169.254.169.254/", "is another host"),
        ("http://127.0.0.1:80/", "is another host"),
        ("", "does not say where it wants an upload"),
    ] {
        let registry = wanting(location).await;
        let address = registry.address().to_string();
        let (ca, login) = (flag("ca", &folder.write("ca.pem", registry.ca())), login(&folder, &address, "x"));
        let reference = format!("{address}/{REPOSITORY}:1");
        refused(&["push", guests::ACME, &reference, &ca, &login], &["registry 127.0.0.1:", part]).await;
        assert!(registry.requests().iter().all(|it| method(it) != "PUT"), "{location}");
    }
}

#[tokio::test]
async fn adv_57_an_upload_follows_no_redirect() {
    let folder = Folder::new();
    let trap = Capture::https(&["127.0.0.1"], |_| Step::answer("201 Created", &[], "")).await;
    let elsewhere = trap.url();
    let registry = Capture::https(&["127.0.0.1"], move |request| match method(request) {
        "HEAD" => Step::answer("404 Not Found", &[], ""),
        _ => Step::answer("307 Temporary Redirect", &[("location", &elsewhere)], ""),
    })
    .await;
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let reference = format!("{}/{REPOSITORY}:1", registry.address());
    let part = "answers 307 Temporary Redirect to the beginning of an upload, where 202 is awaited";
    refused(&["push", guests::ACME, &reference, &ca], &[part]).await;
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn a_blob_that_a_registry_has_is_not_sent_again() {
    let folder = Folder::new();
    let registry = Capture::https(&["127.0.0.1"], |request| match method(request) {
        "HEAD" => Step::answer("200 OK", &[], ""),
        _ => Step::answer("201 Created", &[], ""),
    })
    .await;
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let reference = format!("{}/{REPOSITORY}:1.0.0", registry.address());
    says(&good(&["push", guests::ACME, &reference, &ca]).await, &["manifest    sha256:", "cosign sign --key"]);
    let requests = registry.requests();
    let methods: Vec<_> = requests.iter().map(method).collect();
    assert_eq!(methods, ["HEAD", "HEAD", "PUT"]);
    says(requests[2].text(), &["PUT /v2/acme/provider/manifests/1.0.0 ", "application/vnd.wasm.config.v0+json"]);
}
