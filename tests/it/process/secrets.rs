//! A token goes to the cloud and nowhere else, whatever the cloud does with it.

use std::fs;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Node, Service};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::capture::{Capture, Request, Step};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{PATIENCE, Process};
use tests::{guests, kubelet, wait};
use tokio::process::Command;

use crate::setup::{Setup, admin_token, own_token};

/// The cloud's token. The second is what it is changed to.
const TOKENS: [&str; 2] = ["dop_v1_canary_1_7f3a9c5e1b2d4f60", "dop_v1_canary_2_0e8d6c4b2a1f3957"];

/// A token that a caller of `/metrics` sends, and that no user has.
const UNKNOWN: &str = "canary_of_a_caller_4b7d1e9f";

const ACCOUNT: &str = r#"{ "account": { "uuid": "u-1", "team": { "uuid": "t-1" } } }"#;

/// Answers questions about the account, and refuses everything else, with the request's own text in every place where a cloud can put it.
fn echo(request: &Request) -> Vec<Step> {
    let said = request.header("authorization").unwrap_or_default();
    if request.text().starts_with("GET /v2/account ") {
        return Step::ok(ACCOUNT);
    }
    let message = |text: &str| json!({ "id": "server_error", "message": text }).to_string();
    let encoded = STANDARD_NO_PAD.encode(format!("x{said}"));
    match request.connection % 4 {
        0 => Step::answer("500 Internal Server Error", &[], &message(said)),
        1 => Step::answer("422 Unprocessable Entity", &[], &message(&encoded)),
        2 => Step::answer("400 Bad Request", &[("x-request-id", said)], &message("look at the headers")),
        _ => Step::answer(&format!("503 {said}"), &[("www-authenticate", said), ("connection", "close")], "{}"),
    }
    .into_iter()
    // Each answer on a connection of its own, so that all of them come.
    .chain([Step::Close])
    .collect()
}

/// The binary with this cloud and token.
fn setup(cluster: &Cluster, cloud: &Capture) -> Setup {
    let setup = Setup::guest(cluster, guests::DIGITALOCEAN);
    let token = setup.folder.write("token", TOKENS[0]);
    let ca = setup.folder.write("ca.pem", cloud.ca());
    setup.flags(&["-v=10", "--node-monitor-period=1s"]).edit(|config| {
        config["endpoints"] = json!([{
            "name": "api",
            "baseUrl": cloud.url(),
            "credential": "token",
            "allow": [{ "methods": ["GET", "POST"], "paths": ["/v2/**"] }],
            "tls": { "caFile": ca },
        }]);
        config["credentials"] = json!([{ "name": "token", "bearer": { "file": token } }]);
    })
}

/// A secret as it is, and what stays of it in base64 wherever it begins.
fn forms(secret: &str) -> Vec<String> {
    let base64 = (0..3).map(|offset| {
        let text = format!("{}{secret}", &"___"[..offset]);
        let encoded = STANDARD_NO_PAD.encode(&text);
        encoded[4.min(offset * 4)..text.len() / 3 * 4].to_owned()
    });
    [secret.to_owned()].into_iter().chain(base64).collect()
}

/// All objects of a kind, as text.
async fn objects<K>(client: &Client) -> String
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    serde_json::to_string(&Api::<K>::all(client.clone()).list(&ListParams::default()).await.unwrap().items).unwrap()
}

/// Waits until a line of the log holds `text`. All lines are kept.
async fn says(process: &mut Process, log: &mut Vec<String>, text: &str) {
    let found = wait::within(PATIENCE, async || {
        let new = std::iter::from_fn(|| process.aerostat.log.try_recv().ok());
        log.extend(new.map(|it| Value::Object(it).to_string()));
        log.iter().any(|it| it.contains(text)).then_some(())
    });
    assert!(found.await.is_some(), "{text:?} is not in\n{}", log.join("\n"));
}

/// Makes a node and a Service, for which the cloud is asked.
async fn ask_for_something(cluster: &Cluster) {
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let web = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
}

#[tokio::test]
async fn adv_121_a_token_appears_nowhere() {
    let cluster = cluster().await;
    let cloud = Capture::https(&["127.0.0.1"], echo).await;
    let setup = setup(&cluster, &cloud);
    let (mut process, mut log) = (setup.start(), Vec::new());
    says(&mut process, &mut log, "started cloud-node-controller").await;
    let admin = admin_token(&cluster).await;
    ask_for_something(&cluster).await;
    for text in ["error syncing 'worker-1'", "answer is withheld", "error syncing 'default/web'"] {
        says(&mut process, &mut log, text).await;
    }
    setup.folder.write("token", TOKENS[1]);
    let is_sent = |token: &str| cloud.requests().iter().any(|it| it.text().contains(token));
    // A changed file is noticed within a minute.
    wait::within(2 * PATIENCE, async || is_sent(TOKENS[1]).then_some(())).await.expect("the new token is sent");
    let mut pages = String::new();
    for path in ["/metrics", "/metrics/slis", "/healthz?verbose"] {
        for token in [Some(admin.as_str()), Some(UNKNOWN), None] {
            pages += &process.get(path, token).await.body;
        }
    }
    kill_process(Pid::from_raw(process.aerostat.pid().cast_signed()).unwrap(), Signal::TERM).unwrap();
    let (status, rest) = process.aerostat.ended(PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(0));
    log.extend(rest.into_iter().map(|it| Value::Object(it).to_string()));
    cluster.audit().settle(&cluster.admin).await.unwrap();

    assert!(is_sent(TOKENS[0]), "the cloud could echo it");
    let log = log.join("\n");
    assert!(log.contains(r#""target":"audit""#) && log.contains(r#""level":"DEBUG""#), "{log}");
    // What is asked about tokens holds them.
    let asked = cluster.audit().everything().unwrap().into_iter().filter(|it| !it.uri.contains("tokenreviews"));
    let outputs = [
        ("the log", log),
        ("the pages of the server", pages),
        ("events", objects::<Event>(&cluster.admin).await),
        ("nodes", objects::<Node>(&cluster.admin).await),
        ("Services", objects::<Service>(&cluster.admin).await),
        ("Leases", objects::<Lease>(&cluster.admin).await),
        ("ConfigMaps", objects::<ConfigMap>(&cluster.admin).await),
        ("what the API server was sent", asked.map(|it| format!("{it:?}\n")).collect()),
    ];
    for (name, text) in outputs {
        for secret in [TOKENS[0], TOKENS[1], UNKNOWN, &admin, &own_token(&cluster)] {
            let found = forms(secret).into_iter().find(|it| text.contains(it));
            assert_eq!(found, None, "in {name}");
        }
    }
}

/// A process's limits of core dumps: the soft and the hard one, as the kernel says them.
fn core_limits(pid: u32) -> Option<[String; 2]> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|it| it.strip_prefix("Max core file size"))?;
    let mut words = line.split_whitespace().map(str::to_owned);
    Some([words.next()?, words.next()?])
}

#[tokio::test]
async fn adv_121_no_process_of_ours_leaves_a_core_dump() {
    let cluster = cluster().await;
    let process = Setup::guest(&cluster, guests::HOSTILE).started().await;
    let none = Some(["0".to_owned(), "0".to_owned()]);
    assert_eq!(core_limits(process.aerostat.pid()), none);
    let page = process.get("/metrics", Some(&admin_token(&cluster).await)).await.body;
    for family in ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds "] {
        assert!(page.lines().any(|it| it.starts_with(family)), "{family}is still read from /proc");
    }
    process.stop().await;

    // The compiler of providers waits for its module, and has said before what may become of its memory.
    let mut compiler = Command::new(binary().unwrap());
    let compiler = compiler.args(["compile-provider", "1048576"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let compiler = compiler.kill_on_drop(true).spawn().unwrap();
    let pid = compiler.id().unwrap();
    wait::until("a compiler without a core", async || (core_limits(pid) == none).then_some(())).await;
}
