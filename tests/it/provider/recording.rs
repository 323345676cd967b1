//! `aerostat provider record` and `replay`, against a simulated cloud and then without it.

use std::path::Path;

use serde_json::{Value, json};
use tests::guests;
use tests::published::{acme, digitalocean};

use crate::setup::{Ended, ForSimulator, aerostat, ends, flag, json_of, says};

async fn record(config: &ForSimulator, guest: &str, recording: &Path, call: &[&str]) -> Ended {
    let (file, flag) = (recording.display().to_string(), config.flag());
    aerostat(&[&["provider", "record", guest, &file], call, &[&flag]].concat()).await
}

fn read(recording: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(recording).unwrap()).unwrap()
}

fn write(recording: &Path, value: &Value) {
    std::fs::write(recording, value.to_string()).unwrap();
}

const UID: &str = "--cluster-uid=c1a5e000-1111-2222-3333-444455556666";
const BALANCER: &str =
    r#"{ "owner": { "name": "web", "uid": "4711" }, "ports": [{ "port": 80, "nodePort": 30080 }], "nodes": [] }"#;
const WITH_MEMO: &str = r#"{ "owner": { "name": "web", "uid": "4711" }, "memo": "a4711", "ports": [{ "port": 80, "nodePort": 30080 }], "nodes": [] }"#;

#[tokio::test]
async fn a_conversation_is_played_again_without_its_cloud() {
    let served = acme::serve(0, &[]).await.unwrap();
    served.simulator.account().add_machine("web-1", true);
    let config = ForSimulator::new(guests::ACME, &served.url).await;
    let recording = config.folder.path("acme.json");
    for call in [
        &["instances.get", r#"{"name": "web-1"}"#, UID][..],
        &["instances.get", r#"{"name": "web-2"}"#, UID],
        &["instances.list", r#"{"limit": 5}"#, UID],
        &["load-balancers.ensure", BALANCER, UID],
        &["load-balancers.delete", BALANCER, UID],
    ] {
        let ended = record(&config, guests::ACME, &recording, call).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        says(&ended.out, &["recorded ", " requests; ", "acme.json has "]);
    }
    drop(served);
    let file = recording.display().to_string();
    for mode in [&[][..], &["--by-key"]] {
        let played = json_of(0, &[&["provider", "replay", guests::ACME, &file], mode].concat()).await;
        let calls = played["calls"].as_array().unwrap();
        assert_eq!(calls.len(), 5, "{played}");
        assert!(calls.iter().all(|it| it["differences"] == json!([])), "{played}");
    }

    // A recording answers each request of a call by what the request asks for.
    let from_file = format!("--recording={file}");
    let call = ["provider", "call", guests::ACME, "instances.get", r#"{"name": "web-1"}"#, &from_file];
    let called = aerostat(&call).await;
    assert_eq!(called.code, Some(0), "{called:?}");
    says(&called.errors, &["GET ", "/machines/web-1 200, "]);
    says(&called.out, &["\"web-1\""]);
    let called = aerostat(&[&call[..4], &[r#"{"name": "web-9"}"#, &from_file]].concat()).await;
    assert_eq!(called.code, Some(1), "{called:?}");
    says(&called.errors, &["/machines/web-9 was not recorded"]);

    // Another answer of the cloud is another answer of the provider, and another request is told.
    let whole = read(&recording);
    assert_eq!(whole["calls"][3]["exchanges"][1]["body"]["json"]["ports"], json!({ "80": 30080 }), "{whole}");
    let mut other = whole.clone();
    other["calls"][1]["exchanges"][0] = other["calls"][0]["exchanges"][0].clone();
    other["calls"][1]["exchanges"][0]["path"] = json!("/v1/machines/web-2");
    other["calls"][3]["exchanges"][1]["body"]["json"]["ports"] = json!({ "80": 30081 });
    write(&recording, &other);
    let ended = aerostat(&["provider", "replay", guests::ACME, &file]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    says(&ended.out, &["call 2  instances.get", "DIFFERS", "the answer is ", ", and was null"]);
    says(&ended.out, &["request 2 is PUT /v1/balancers/a4711, with another body, and was PUT", "5 calls, 2 differ"]);

    // Fewer requests than were recorded are right by key alone.
    let mut more = whole.clone();
    let again = more["calls"][0]["exchanges"][0].clone();
    more["calls"][0]["exchanges"].as_array_mut().unwrap().push(again);
    write(&recording, &more);
    let ended = aerostat(&["provider", "replay", guests::ACME, &file]).await;
    says(&ended.out, &["GET /v1/machines/web-1 was recorded, and is not asked", "5 calls, 1 differ"]);
    let ended = aerostat(&["provider", "replay", guests::ACME, &file, "--by-key"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test]
async fn no_secret_is_in_a_recording() {
    let served = digitalocean::serve(0).await.unwrap();
    let mut config = ForSimulator::new(guests::DIGITALOCEAN, &served.url).await;
    let recording = config.folder.path("do.json");
    let ended = record(&config, guests::DIGITALOCEAN, &recording, &["provider.identity"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (secret, text) = (config.secret.clone().unwrap(), std::fs::read_to_string(&recording).unwrap());
    assert!(!text.contains(&secret) && !text.to_lowercase().contains("authorization"), "{text}");
    says(&text, &["/v2/account", "\"status\": 200"]);

    // A secret in the argument is the author's own doing: nothing is written.
    let node = json!({ "name": secret }).to_string();
    let ended = record(&config, guests::DIGITALOCEAN, &recording, &["instances.get", &node]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["the recording would hold a credential", "leave it out of"]);
    assert_eq!(std::fs::read_to_string(&recording).unwrap(), text);

    // Another cloud is another recording.
    config.value["endpoints"][0]["baseUrl"] = json!("http://127.0.0.1:1/v2");
    let ended = record(&config, guests::DIGITALOCEAN, &recording, &["provider.identity"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["was recorded with other endpoints; name another file"]);
}

/// Calls about machines.
const MACHINES: [&[&str]; 5] = [
    &["provider.identity", UID],
    &["provider.identity", UID],
    GET,
    &["instances.get", r#"{"name": "web-2"}"#, UID],
    LIST,
];
const GET: &[&str] = &["instances.get", r#"{"name": "web-1"}"#, UID];
const LIST: &[&str] = &["instances.list", r#"{"limit": 2}"#, UID];
/// Calls about a load balancer that is ready, and looked at once more.
const ENSURES: [&[&str]; 4] = [&["load-balancers.ensure", BALANCER, UID], ENSURE, ENSURE, ENSURE];
const ENSURE: &[&str] = &["load-balancers.ensure", WITH_MEMO, UID];
/// The same is deleted twice.
const DELETES: [&[&str]; 2] = [&["load-balancers.delete", WITH_MEMO, UID]; 2];

/// A recording of these calls.
async fn recorded(guest: &str, fault: Option<&str>, calls: &[&[&str]]) -> (ForSimulator, String) {
    let settings: Vec<_> = fault.into_iter().map(|it| ("fault", it)).collect();
    let served = acme::serve(0, &settings).await.unwrap();
    served.simulator.account().add_machine("web-1", true);
    let config = ForSimulator::new(guest, &served.url).await;
    let recording = config.folder.path("life.json");
    for call in calls {
        let ended = record(&config, guest, &recording, call).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let file = flag("recording", &recording);
    (config, file)
}

/// The names of the promises with this outcome.
fn names(report: &Value, outcome: &str) -> Vec<String> {
    let promises = report["promises"].as_array().unwrap().iter().filter(|it| it["outcome"] == outcome);
    promises.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_recording_proves_reads_and_names_the_rest() {
    // A conversation that can prove most.
    let life = [&MACHINES[..], &ENSURES, &DELETES].concat();
    let (config, recording) = recorded(guests::FAULTY, None, &life).await;
    let xml = config.folder.path("report.xml");
    let conformance = ["provider", "conformance", guests::FAULTY, &recording];
    let report = json_of(0, &[&conformance[..], &[&flag("junit", &xml)]].concat()).await;
    let kept = [
        "settings-hold-no-secret",
        "account-stays",
        "none-only-when-certain",
        "list-keeps-its-limit",
        "list-tells-its-gaps",
        "list-is-cheap",
        "list-and-get-agree",
        "ids-are-stable",
        "canonical-ids-tell-apart",
        "creation-is-announced",
        "ready-writes-nothing",
        "memo-is-kept",
        "errors-are-tried-again",
        "done-only-when-gone",
        "gone-is-done",
    ];
    assert_eq!(names(&report, "kept"), kept, "{report:#}");
    let promises = report["promises"].as_array().unwrap();
    let reason = |name: &str| promises.iter().find(|it| it["name"] == name).unwrap()["reason"].as_str().unwrap();
    assert_eq!(reason("nothing-twice"), "nothing can be written into a recording");
    assert_eq!(reason("machine-is-found"), "a recording does not say what there was in the cloud");
    assert_eq!(reason("memos-differ"), "the recording has load-balancers.ensure of one Service at most");
    assert!(promises.iter().filter(|it| it["outcome"] == "not tried").all(|it| it["reason"].is_string()));
    assert_eq!(report["costs"].as_array().unwrap().len(), 11, "{report:#}");
    assert_eq!(report["costs"][2]["deed"], "call 3, instances.get");
    assert_eq!((&report["costs"][2]["reads"], &report["costs"][5]["writes"]), (&json!(1), &json!(1)));
    let xml = std::fs::read_to_string(xml).unwrap();
    says(&xml, &["failures=\"0\"", "name=\"nothing-twice\"><skipped message=\"nothing can be written"]);
    let text = ends(0, &conformance).await;
    says(&text, &["none-only-when-certain", "not tried: nothing happens in a recording", "15 kept, 0 broken"]);
}

#[tokio::test]
async fn faults_are_found_by_a_recording_alone() {
    for (fault, broken, calls) in [
        ("none-on-error", "none-only-when-certain", &[GET][..]),
        ("silent-gap", "list-tells-its-gaps", &[LIST]),
        ("writes-again", "ready-writes-nothing", &ENSURES),
        ("final-errors", "errors-are-tried-again", &ENSURES[..1]),
        ("swallowed-error", "done-only-when-gone", &[ENSURES[0], DELETES[0]]),
    ] {
        let (_config, recording) = recorded(guests::FAULTY, Some(fault), calls).await;
        let report = json_of(1, &["provider", "conformance", guests::FAULTY, &recording]).await;
        assert!(names(&report, "broken").iter().any(|it| it == broken), "{fault}: {report:#}");
    }
}

/// Cases: bad-provider-command
#[tokio::test]
async fn bad_input_of_record_and_replay() {
    let served = acme::serve(0, &[]).await.unwrap();
    let config = ForSimulator::new(guests::ACME, &served.url).await;
    let empty = json!({
        "recording": 1, "clusterName": "kubernetes", "endpoints": {}, "calls": [],
        "provider": { "name": "acme", "version": "1", "sha256": "" },
    });
    let write = |name: &str, value: &Value| config.folder.write(name, value.to_string()).display().to_string();
    let [none, text, old, empty_file] = [
        config.folder.path("none.json").display().to_string(),
        write("text.json", &json!("words")),
        write("old.json", &json!({ "recording": 7 })),
        write("empty.json", &empty),
    ];
    let mut foreign = empty.clone();
    foreign["calls"] = json!([{ "function": "instances.find", "exchanges": [] }]);
    let unknown = write("unknown.json", &foreign);
    foreign["provider"]["name"] = json!("hcloud");
    let foreign = write("foreign.json", &foreign);
    let (acme, flag) = (guests::ACME, config.flag());
    for (arguments, parts) in [
        (&["provider", "replay", acme, &none][..], &["cannot read ", "none.json; correct the path"][..]),
        (&["provider", "replay", acme, &text], &["text.json", "it is no recording", "aerostat provider record"]),
        (&["provider", "replay", acme, &old], &["old.json", "its form is 7", "record it again"]),
        (&["provider", "replay", acme, &empty_file], &["empty.json has no calls; add one"]),
        (&["provider", "replay", acme, &unknown], &["unknown.json", "\"instances.find\" is no function"]),
        (&["provider", "replay", acme, &foreign], &["is of the provider hcloud", "name the recording of this one"]),
        (&["provider", "replay", &none, &unknown], &["none.json; correct the path"]),
        (&["provider", "replay", acme], &["<RECORDING>"]),
        (&["provider", "call", acme, "instances.list"], &["--cloud-config"]),
        (&["provider", "call", acme, "instances.list", "--recording", &none], &["none.json; correct the path"]),
        (&["provider", "call", acme, "instances.list", "--recording", &foreign], &["name the recording of this one"]),
        (&["provider", "call", acme, "instances.list", "--recording", &unknown, "--dry-run"], &["--recording"]),
        (&["provider", "record", acme, &none, "instances.list"], &["--cloud-config"]),
        (&["provider", "record", acme, &none, "instances.find", &flag], &["\"instances.find\" is no function"]),
        (&["provider", "record", acme, &text, "instances.list", &flag], &["text.json", "it is no recording"]),
        (&["provider", "record", acme, &none, "load-balancers.ensure", "{}", &flag], &["add --cluster-uid=$("]),
        (&["provider", "record", acme, "/nowhere/a.json", "instances.list", &flag], &["cannot write /nowhere/a.json"]),
    ] {
        let ended = aerostat(arguments).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        says(&ended.errors, parts);
        assert!(!parts.contains(&"text.json") || ended.errors.matches("expected").count() == 1, "once: {ended:?}");
    }
    for (file, parts) in [
        (&none, &["cannot read ", "none.json; correct the path"][..]),
        (&text, &["text.json", "it is no recording", "aerostat provider record"]),
        (&old, &["old.json", "its form is 7", "record it again"]),
        (&empty_file, &["empty.json has no calls; add one with aerostat provider record"]),
        (&foreign, &["foreign.json is of the provider hcloud", "name the recording of this one"]),
    ] {
        let ended = aerostat(&["provider", "conformance", acme, "--recording", file]).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{file}: {ended:?}");
        says(&ended.errors, parts);
        assert_eq!(ended.errors.trim_end().lines().count(), 1, "{ended:?}");
    }
    for beside in ["--cloud=http://127.0.0.1:1", "--every=2"] {
        let ended = aerostat(&["provider", "conformance", acme, "--recording", &empty_file, beside]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        says(&ended.errors, &["--recording", "cannot be used with"]);
    }
    for command in ["record", "replay"] {
        let ended = aerostat(&["provider", command, "--help"]).await;
        says(&ended.out, &["Examples:\n", &format!("  aerostat provider {command} "), "Exit code: 0", "--output"]);
    }
    let completions = aerostat(&["completions", "bash"]).await;
    says(&completions.out, &["--by-key", "replay"]);
}
