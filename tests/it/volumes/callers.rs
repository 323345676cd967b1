//! Callers of the webhook: bodies that are no question, too large, too slow, and calls that come too often.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::operator::admin_token;
use tests::script::{Place, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::setup::{DRIVER, NO_CONTROLLER, Webhook, asked, cluster, review, scripted};
use crate::volumes::volume;

const JSON: &str = "application/json";
/// How long an API server waits for the webhook at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Cases: case 249, case 257
#[tokio::test]
async fn case_249_a_body_that_is_no_question_gets_a_status() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let webhook = Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    let question = review(&volume("pv-1", DRIVER));
    let with = |change: fn(&mut Value)| {
        let mut review = question.clone();
        change(&mut review);
        review.to_string()
    };
    for (path, content_type, body, code, part) in [
        ("/admit", "text/plain", question.to_string(), 400, "Content-Type has to be application/json"),
        ("/admit", "application/json; charset=utf-8", question.to_string(), 400, "Content-Type"),
        ("/admit", JSON, String::new(), 400, "the body is empty"),
        ("/admit", JSON, "{".to_owned(), 400, "it is no AdmissionReview"),
        ("/admit", JSON, with(|it| it["request"] = json!(null)), 400, "it holds no request"),
        ("/admit", JSON, with(|it| it["request"]["kind"]["kind"] = json!("Pod")), 400, "\"Pod\""),
        (
            "/admit",
            JSON,
            with(|it| it["request"]["object"] = json!({ "kind": "Pod" })),
            400,
            "it is no AdmissionReview",
        ),
        ("/healthz", JSON, String::new(), 404, "404 page not found"),
        ("/metrics", JSON, String::new(), 404, "404 page not found"),
    ] {
        let (status, text) = webhook.post(path, content_type, body).await;
        assert!(status == code && text.contains(part), "{path} {content_type}: {status} {text}");
    }
    let response = webhook.review(&volume("pv-1", DRIVER)).await;
    assert_eq!(response, json!({ "uid": "5a5d0c1e", "allowed": true }));
    let token = admin_token(&cluster).await;
    let page = process.get("/metrics", Some(&token)).await.body;
    for line in [
        r#"cloud_provider_webhook_request_total{code="200",webhook="cloud-pvl-admission"} 1"#,
        r#"cloud_provider_webhook_request_total{code="400",webhook="cloud-pvl-admission"} 7"#,
        r#"cloud_provider_webhook_request_duration_seconds_bucket{code="200",webhook="cloud-pvl-admission",le="0.7"}"#,
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    process.stop().await;
}

#[tokio::test]
async fn adv_102_bodies_without_end_are_cut() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let webhook = Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    let mut large = volume("pv-1", DRIVER);
    large["metadata"]["annotations"] = json!({ "a": "x".repeat(1 << 20) });
    let (code, text) = webhook.post("/admit", JSON, review(&large).to_string()).await;
    assert!(code == 413 && text.contains("more than 1048576 bytes"), "{code} {text}");
    // One that never ends, and says no length.
    let mut tls = connect(&webhook, Ipv4Addr::LOCALHOST).await.unwrap();
    tls.write_all(
        b"POST /admit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await
    .unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    let mut sent = 0;
    while sent < 64 << 20 && tls.write_all(&chunk).await.is_ok() {
        sent += chunk.len();
    }
    assert!(sent < 64 << 20, "{sent} bytes were taken");
    // What is nested without end is no question either.
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = review(&volume("pv-1", DRIVER)).to_string().replace("\"5a5d0c1e\"", &nested);
    let (code, text) = webhook.post("/admit", JSON, body).await;
    assert!(code == 400 && text.contains("it is no AdmissionReview"), "{code} {text}");
    assert_eq!(webhook.review(&volume("pv-1", DRIVER)).await["allowed"], json!(true));
    process.stop().await;
}

/// Many who send slowly, or read slowly, keep nobody out: not even at the address of the API server.
#[tokio::test(flavor = "multi_thread")]
async fn adv_102_slow_callers_do_not_stop_the_webhook() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let webhook = Arc::new(Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER])));
    let process = webhook.started().await;
    let place = Place { delay: Duration::from_secs(2), ..Place::zone("r1", "z1") };
    script.set_volume("pv-1", place);
    let mut slow = JoinSet::new();
    let connected = Arc::new(tokio::sync::Semaphore::new(0));
    for nth in 0..200_u32 {
        let (webhook, connected) = (webhook.clone(), connected.clone());
        slow.spawn(async move {
            // Half of them at the address of the API server, the others each at one of its own.
            let from = if nth % 4 < 2 { Ipv4Addr::LOCALHOST } else { Ipv4Addr::from_bits(0x7f01_0001 + nth) };
            let mut ticks = tokio::time::interval(Duration::from_secs(2));
            loop {
                ticks.tick().await;
                let Ok(mut tls) = connect(&webhook, from).await else { continue };
                let head = "POST /admit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
                let rest = if nth % 2 == 0 { "content-length: 1000000\r\n\r\n{" } else { "x: " };
                let _ = tls.write_all(format!("{head}{rest}").as_bytes()).await;
                connected.add_permits(1);
                // Until the server ends it.
                let _ = tls.read_to_end(&mut Vec::new()).await;
            }
        });
    }
    let _all = tokio::time::timeout(tests::wait::DEADLINE, connected.acquire_many(200)).await.unwrap().unwrap();
    for _ in 0..4 {
        let began = Instant::now();
        let response = webhook.review(&volume("pv-1", DRIVER)).await;
        assert!(response["patch"].is_string(), "{response}");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    }
    drop(slow);
    process.stop().await;
}

/// An unknown caller is not asked who he is, and so may not ask the cloud without end.
#[tokio::test(flavor = "multi_thread")]
async fn adv_102_unknown_callers_ask_the_cloud_only_so_often() {
    let cluster = cluster().await;
    let script = Script::start().await;
    script.set_volume("pv-1", Place::zone("r1", "z1"));
    let webhook = Arc::new(Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER])));
    let process = webhook.started().await;
    let log = cluster.audit().from_now().unwrap();
    let began = Instant::now();
    // A server gives a handshake three seconds: so many at a time can make theirs on a busy machine.
    let places = Arc::new(tokio::sync::Semaphore::new(50));
    let mut callers = JoinSet::new();
    for nth in 0..200 {
        let (webhook, places) = (webhook.clone(), places.clone());
        callers.spawn(async move {
            let _place = places.acquire().await.unwrap();
            // Whoever waits longer than he says is refused.
            let body = review(&volume(&format!("guess-{nth}"), DRIVER)).to_string();
            let (code, text) = webhook.post("/admit?timeout=1s", JSON, body).await;
            assert_eq!(code, 200, "{text}");
            let response = serde_json::from_str::<Value>(&text).unwrap()["response"].clone();
            response["allowed"] == json!(false) && response["status"]["code"] == json!(429)
        });
    }
    let refused = callers.join_all().await.into_iter().filter(|it| *it).count();
    let seconds = usize::try_from(began.elapsed().as_secs() + 2).unwrap();
    let questions = script.calls().len();
    assert!(questions <= 20 + 10 * seconds, "{questions} questions in {seconds} s");
    assert!(refused > 0, "all of 200 were answered, with {questions} questions in {seconds} s");
    // Whoever was refused as often as this waits for long; others who come later are served.
    tests::wait::until("another user's volume is labelled", async || {
        webhook.review_as("alice", &volume("pv-1", DRIVER)).await.get("patch").map(drop)
    })
    .await;
    assert!(asked(&script, "pv-1") > 0);
    // Nor is the API server asked who they are.
    log.settle(&cluster.admin).await.unwrap();
    let reviews: Vec<_> =
        log.everything().unwrap().into_iter().filter(|it| it.is_aerostats() && it.uri.contains("review")).collect();
    assert!(reviews.is_empty(), "{reviews:?}");
    process.stop().await;
}

/// The user of a CSI provisioner creates all volumes: what a silent cloud does to him, it does to everybody.
#[tokio::test(flavor = "multi_thread")]
async fn adv_168_a_silent_cloud_locks_no_provisioner_out() {
    const USER: &str = "system:serviceaccount:kube-system:csi-provisioner";
    let cluster = cluster().await;
    let script = Script::start().await;
    let silent = Place { delay: Duration::from_secs(600), ..Place::zone("r1", "z1") };
    (0..60).for_each(|nth| script.set_volume(&format!("pv-{nth}"), silent.clone()));
    script.set_volume("pv-60", Place::zone("r1", "z1"));
    let webhook = Arc::new(Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER])));
    let process = webhook.started().await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        let mut volumes = JoinSet::new();
        for nth in 0..60 {
            let webhook = webhook.clone();
            volumes.spawn(async move {
                let mut review = review(&volume(&format!("pv-{nth}"), DRIVER));
                review["request"]["userInfo"] = json!({ "username": USER });
                let (code, text) = webhook.post("/admit?timeout=4s", JSON, review.to_string()).await;
                assert_eq!(code, 200, "{text}");
                serde_json::from_str::<Value>(&text).unwrap()["response"]["allowed"] == json!(true)
            });
        }
        assert!(volumes.join_all().await.iter().all(|allowed| !allowed), "the cloud says nothing");
    }
    let response = webhook.review_as(USER, &volume("pv-60", DRIVER)).await;
    assert!(response["patch"].is_string(), "the cloud answers again: {response}");
    process.stop().await;
}

/// A TLS connection to a webhook, from an address of this machine.
async fn connect(webhook: &Webhook, from: Ipv4Addr) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(crate::certificates::der(&webhook.authority.pem())).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls_pki_types::ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let tcp = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, webhook.port))).await?;
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}
