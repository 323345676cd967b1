//! Flags and files of webhooks that cannot work: each is named, with the next step.

use http::Method;
use tests::guests;
use tests::operator::{Setup, ask, says};
use tests::port::free_port;
use tests::script::Script;

use crate::certificates::{Authority, Files};
use crate::setup::{GATE, Webhook, cluster, scripted};

/// Whether somebody listens there.
async fn is_open(port: u16) -> bool {
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}

/// Cases: bad-webhook
#[tokio::test]
async fn bad_input_webhook_without_a_certificate() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let message = scripted(&cluster, &script).flags(&[GATE, "--webhooks=*"]).refused().await;
    says(
        &message,
        &["--webhooks needs a certificate", "give --webhook-tls-cert-file and --webhook-tls-private-key-file"],
    );
}

/// Cases: bad-webhook
#[tokio::test]
async fn bad_input_webhook_certificate_that_is_missing() {
    let cluster = cluster().await;
    let script = Script::start().await;
    for (file, flag) in [("webhook.crt", "--webhook-tls-cert-file"), ("webhook.key", "--webhook-tls-private-key-file")]
    {
        let webhook = Webhook::new(scripted(&cluster, &script));
        let missing = webhook.setup.folder.path(file);
        std::fs::remove_file(&missing).unwrap();
        let message = webhook.setup.refused().await;
        let path = missing.display().to_string();
        says(&message, &["cannot serve the webhook cloud-pvl-admission", flag, &path, "give a PEM file"]);
        assert!(!is_open(webhook.port).await);
    }
    let setup = scripted(&cluster, &script);
    let folder = setup.folder.path("").display().to_string();
    let message = setup.flags(&[GATE, "--webhooks=*", &format!("--webhook-cert-dir={folder}")]).refused().await;
    says(&message, &["--webhook-cert-dir", "cloud-controller-manager-webhook.crt", "give a PEM file"]);
}

/// Cases: bad-webhook
#[tokio::test]
async fn bad_input_webhook_key_of_another_certificate() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let webhook = Webhook::new(scripted(&cluster, &script));
    let key = webhook.files.key.clone();
    // Another pair, of which only the certificate stays.
    let own = std::fs::read(&key).unwrap();
    Authority::new().write(&Files { key: key.clone(), ..webhook.files.clone() });
    std::fs::write(&key, own).unwrap();
    let message = webhook.setup.refused().await;
    says(&message, &["--webhook-tls-cert-file and --webhook-tls-private-key-file do not belong together"]);
}

/// Cases: bad-webhook
#[tokio::test]
async fn bad_input_webhook_port_that_is_taken() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let webhook = Webhook::new(scripted(&cluster, &script));
    let taken = std::net::TcpListener::bind(("127.0.0.1", webhook.port)).unwrap();
    let message = webhook.setup.refused().await;
    drop(taken);
    says(&message, &["cannot listen on 127.0.0.1:", "webhook", "give another --webhook-secure-port"]);
}

/// Cases: case 248
#[tokio::test]
async fn case_248_ports_and_names_are_refused_as_upstream_does() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let setup = scripted(&cluster, &script);
    let port = format!("--webhook-secure-port={}", setup.port);
    let message = setup.flags(&[&port]).refused().await;
    assert_eq!(message, "--webhook-secure-port cannot be the same value as --secure-port");
    let message = scripted(&cluster, &script).flags(&[GATE, "--webhooks=nope"]).refused().await;
    says(&message, &["\"nope\" is not in the list of known webhooks", "cloud-pvl-admission"]);
}

/// Cases: case 248
#[tokio::test]
async fn case_248_nothing_listens_without_gate_or_webhook() {
    let cluster = cluster().await;
    let script = Script::start().await;
    for flags in [["--webhooks=*"].as_slice(), &[GATE], &[GATE, "--webhooks=-cloud-pvl-admission"]] {
        let port = free_port();
        let setup = scripted(&cluster, &script).flags(flags);
        let setup = setup.flags(&[&format!("--webhook-secure-port={port}"), "--webhook-bind-address=127.0.0.1"]);
        let mut process = setup.start();
        process.says("started persistentvolume-label-controller").await;
        assert!(!is_open(port).await, "{flags:?}");
        assert_eq!(ask(setup.port, Method::GET, "/readyz", None).await.code, 200);
        process.stop().await;
    }
}

/// Cases: bad-webhook
#[tokio::test]
async fn bad_input_webhook_of_a_provider_without_volumes() {
    let cluster = cluster().await;
    let webhook = Webhook::new(Setup::guest(&cluster, guests::HOSTILE));
    let mut process = webhook.setup.start();
    let warning = process.says("the webhook cloud-pvl-admission is not served").await;
    says(warning["message"].as_str().unwrap(), &["hostile", "does not export aerostat:cloud/persistent-volumes"]);
    process.says("persistentvolume-label-controller is skipped").await;
    assert!(!is_open(webhook.port).await);
    process.stop().await;
}
