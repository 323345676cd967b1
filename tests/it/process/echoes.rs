//! Everybody whom the process shows a secret repeats it, wherever they can: those who give keys, registries, and token services.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};
use tests::capture::{Capture, Request, Step};
use tests::control_plane::cluster;
use tests::operator::{PATIENCE, Setup, says};
use tests::registry::{Artifact, REPOSITORY};
use tests::{guests, kubelet, wait};

const REGION: &str = "eu-west-1";
const ROLE: &str = "arn:aws:iam::123456789012:role/ccm";
/// Tokens of a service account for STS, of one for the agent, and of the instance metadata: words that could be codes.
const TOKENS: [&str; 3] =
    ["canary1Of2STS3d4e5f60718293a4b5c6", "canary1Of2Agent3d4e5f60718293a4b5", "canary1Of2Metadata3d4e5f6071829"];
const PASSWORD: &str = "canary-horse-7f3a9c5e1b2d";
const OF_SERVICE: &str = "canary.t0ken.of.the.service.0e8d6c4b";

/// A refusal with this text in all places, those of AWS and others.
fn everywhere(said: &str, number: usize) -> Vec<Step> {
    let xml = |code: &str, message: &str| {
        format!("<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>")
    };
    match number % 5 {
        0 => Step::answer("400 Bad Request", &[], &xml("InvalidIdentityToken", said)),
        1 => Step::answer("403 Forbidden", &[("x-amzn-errortype", said)], &xml(said, said)),
        2 => Step::answer("200 OK", &[], &json!({ "Code": said, "Message": said }).to_string()),
        3 => Step::answer("302 Found", &[("location", &format!("http://127.0.0.1/{said}"))], said),
        _ => Step::answer(&format!("500 {said}"), &[("x-amzn-requestid", said)], said),
    }
    .into_iter()
    .chain([Step::Close])
    .collect()
}

/// The instance metadata: it gives its token, and repeats it from then on.
fn metadata(request: &Request) -> Vec<Step> {
    let text = request.text();
    match text.starts_with("PUT ") {
        true => Step::ok(TOKENS[2]),
        false
            if text.starts_with("GET /latest/meta-data/iam/security-credentials/ ")
                && request.connection.is_multiple_of(2) =>
        {
            Step::ok("role")
        }
        false => everywhere(TOKENS[2], request.connection),
    }
}

/// The text, in base64 too.
fn assert_nowhere(what: &str, text: &str) {
    for secret in TOKENS.into_iter().chain([PASSWORD, OF_SERVICE]) {
        for form in [secret.to_owned(), STANDARD.encode(secret), STANDARD.encode(format!("alice:{secret}"))] {
            assert!(!text.contains(&form), "{form} is in {what}:\n{text}");
        }
    }
}

/// Three credentials of which none gets keys; the provider uses the first, and the egress keeps all fresh.
fn credentials(setup: Setup, sts: &Capture, agent: &Capture, metadata: &Capture) -> Setup {
    let (ca, identity) = (setup.folder.write("sts.pem", sts.ca()), setup.folder.write("identity", TOKENS[0]));
    let pod = setup.folder.write("pod-identity", TOKENS[1]);
    let sts = json!({ "baseUrl": sts.url(), "tls": { "caFile": ca }, "addresses": ["127.0.0.0/8"] });
    let sources = [
        ("sts", json!({ "webIdentity": { "roleArn": ROLE, "tokenFile": identity }, "sts": sts })),
        ("agent", json!({ "podIdentity": { "url": format!("{}/v1/credentials", agent.url()), "tokenFile": pod } })),
        ("metadata", json!({ "instanceMetadata": { "url": metadata.url() } })),
    ];
    setup.flags(&["-v=10"]).edit(|config| {
        let (mut endpoints, mut credentials) = (Vec::new(), Vec::new());
        for (name, mut source) in sources {
            source["region"] = json!(REGION);
            credentials.push(json!({ "name": name, "sigv4": source }));
            endpoints.push(json!({
                "name": if name == "sts" { "api" } else { name },
                "baseUrl": "https://127.0.0.1:1",
                "credential": name,
                "signing": { "region": REGION, "service": "ec2" },
                "allow": [{ "methods": ["GET", "POST"], "paths": ["/v2/**"] }],
            }));
        }
        config["endpoints"] = json!(endpoints);
        config["credentials"] = json!(credentials);
    })
}

#[tokio::test]
async fn adv_121_a_service_of_keys_may_repeat_its_token() {
    let cluster = cluster().await;
    let sts = Capture::https(&["127.0.0.1"], |it| everywhere(TOKENS[0], it.connection)).await;
    let agent = Capture::http(|it| everywhere(TOKENS[1], it.connection)).await;
    let metadata = Capture::http(metadata).await;
    let setup = credentials(Setup::guest(&cluster, guests::DIGITALOCEAN), &sts, &agent, &metadata);
    let (mut process, mut log) = (setup.start(), String::new());
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let web = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    // Each is asked every ten seconds, and answers in another way each time.
    let found = wait::within(3 * PATIENCE, async || {
        while let Ok(line) = process.aerostat.log.try_recv() {
            log += &format!("{}\n", Value::Object(line));
        }
        let is_asked = [&sts, &agent, &metadata].iter().all(|it| it.connections() >= 5);
        (is_asked && log.contains("InvalidIdentityToken")).then_some(())
    });
    assert!(found.await.is_some(), "{} {} {}\n{log}", sts.connections(), agent.connections(), metadata.connections());
    let list = ListParams::default();
    let events = Api::<Event>::all(cluster.admin.clone()).list(&list).await.unwrap().items;
    let nodes = Api::<Node>::all(cluster.admin.clone()).list(&list).await.unwrap().items;
    let services = services.list(&list).await.unwrap().items;
    process.kill();
    for (server, token) in [&sts, &agent, &metadata].into_iter().zip(TOKENS) {
        assert!(server.requests().iter().any(|it| it.text().contains(token)), "{token} could be repeated");
    }
    assert_nowhere("the log", &log);
    assert_nowhere("events", &serde_json::to_string(&events).unwrap());
    assert_nowhere("nodes", &serde_json::to_string(&nodes).unwrap());
    assert_nowhere("Services", &serde_json::to_string(&services).unwrap());
}

#[tokio::test]
async fn adv_121_registries_may_repeat_the_login_and_its_token() {
    let cluster = cluster().await;
    let module = fs::read(guests::DIGITALOCEAN).unwrap();
    let pair = STANDARD.encode(format!("alice:{PASSWORD}"));
    for said in [pair.as_str(), PASSWORD, OF_SERVICE] {
        let service = Capture::https(&["127.0.0.1"], |_| Step::ok(&json!({ "token": OF_SERVICE }).to_string())).await;
        let artifact = Artifact::edited(&module, |it| it["mediaType"] = json!(said));
        let (manifest, challenge) = (artifact.manifest.clone(), format!("Bearer realm=\"{}/token\"", service.url()));
        let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
            Some(_) => Step::bytes(&[], &manifest),
            None => Step::answer("401 Unauthorized", &[("www-authenticate", &challenge)], ""),
        })
        .await;
        let setup = Setup::guest(&cluster, guests::DIGITALOCEAN);
        let ca = setup.folder.write("ca.pem", format!("{}\n{}", registry.ca(), service.ca()));
        let auths =
            json!({ "auths": { registry.address().to_string(): { "username": "alice", "password": PASSWORD } } });
        let login = setup.folder.write("login.json", auths.to_string());
        let setup = setup.edit(|config| {
            config["provider"]["module"] = json!({ "oci": {
                "image": format!("{}/{REPOSITORY}:1.2.0", registry.address()),
                "digest": format!("sha256:{}", artifact.digest()),
                "login": { "file": login },
                "tokenServices": [service.address().to_string()],
                "tls": { "caFile": ca },
            } });
        });
        let mut process = setup.start();
        let line = process.says("is withheld").await;
        says(&Value::Object(line.clone()).to_string(), &["credential that it was sent"]);
        let rest = std::iter::from_fn(|| process.aerostat.log.try_recv().ok());
        let log: String = [line].into_iter().chain(rest).map(|it| format!("{}\n", Value::Object(it))).collect();
        process.kill();
        assert_nowhere("the log", &log);
    }
}
