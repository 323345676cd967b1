//! `aerostat provider call`, against simulated clouds.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Volume};
use tests::guests;
use tests::published::{acme, aws, digitalocean, hetzner};

use crate::setup::{Ended, ForSimulator, aerostat, says};

const UID: &str = "--cluster-uid=c1a5e000-1111-2222-3333-444455556666";

const BALANCER: &str = r#"{
    "owner": { "name": "web", "uid": "4711-0815" },
    "ports": [{ "port": 80, "nodePort": 30080 }],
    "nodes": [{ "name": "web-1", "providerID": "acme://web-1" }]
}"#;

/// Calls a function with a config. The secret of its login is nowhere.
async fn call(config: &ForSimulator, guest: &str, arguments: &[&str]) -> Ended {
    let flag = config.flag();
    let ended = aerostat(&[&["provider", "call", guest], arguments, &[&flag]].concat()).await;
    if let Some(secret) = &config.secret {
        assert!(!format!("{ended:?}").contains(secret.as_str()), "{ended:?}");
    }
    ended
}

async fn answer(config: &ForSimulator, guest: &str, arguments: &[&str]) -> (Value, String) {
    let ended = call(config, guest, arguments).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (serde_json::from_str(&ended.out).unwrap(), ended.errors)
}

#[tokio::test]
async fn a_machine_is_found_and_its_request_shown() {
    let served = acme::serve(0, &[]).await.unwrap();
    served.simulator.account().add_machine("web-1", true);
    let config = ForSimulator::new(guests::ACME, &served.url).await;
    let (found, shown) = answer(&config, guests::ACME, &["instances.get", r#"{"name": "web-1"}"#]).await;
    assert_eq!((&found["providerID"], &found["state"]), (&json!("acme://web-1"), &json!("running")));
    let line = format!("GET {}/v1/machines/web-1 200, ", served.url);
    says(&shown, &[&line, " ms, ", " bytes\n"]);
    assert_eq!(shown.lines().count(), 1, "{shown}");

    let (missing, shown) = answer(&config, guests::ACME, &["instances.get", r#"{"name": "web-2"}"#]).await;
    assert_eq!(missing, Value::Null);
    says(&shown, &["/v1/machines/web-2 404, "]);

    let both = r#"[{"name": "web-1"}, {"name": "web-2"}]"#;
    let (several, _) = answer(&config, guests::ACME, &["instances.get", both]).await;
    assert_eq!((&several[0]["name"], &several[1]), (&json!("web-1"), &Value::Null));
    let (page, shown) = answer(&config, guests::ACME, &["instances.list", r#"{"limit": 5}"#]).await;
    assert_eq!(page["instances"][0]["addresses"][1]["kind"], "InternalIP");
    says(&shown, &["/v1/machines?after=0&limit=5 200"]);
}

#[tokio::test]
async fn a_dry_run_stops_before_the_first_write() {
    let served = acme::serve(0, &[]).await.unwrap();
    let config = ForSimulator::new(guests::ACME, &served.url).await;
    let ensure = ["load-balancers.ensure", BALANCER, UID];
    let (stopped, shown) = answer(&config, guests::ACME, &[&ensure[..], &["--dry-run"]].concat()).await;
    let request = &stopped["stoppedBefore"];
    assert_eq!((&request["method"], &request["effect"]), (&json!("PUT"), &json!("write")), "{stopped}");
    assert_eq!(request["body"], json!({ "ports": { "80": 30080 }, "machines": ["web-1"] }));
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    says(lines[0], &["GET ", "/v1/balancers/a47110815 404"]);
    says(lines[1], &["stopped before PUT ", "/v1/balancers/a47110815 (write, by api.allow[1] PUT /balancers/*)"]);
    assert!(served.simulator.account().balancers().is_empty(), "it was sent");

    let (made, shown) = answer(&config, guests::ACME, &ensure).await;
    assert_eq!(made["pending"]["status"]["memo"], "a47110815", "{made}");
    says(&shown, &["GET ", "PUT "]);
    assert_eq!(served.simulator.account().balancers().len(), 1);
    let again = call(&config, guests::ACME, &[&ensure[..], &["--dry-run", "--output=json"]].concat()).await;
    let whole: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((again.code, again.errors.as_str(), &whole["stoppedBefore"]), (Some(0), "", &Value::Null), "{whole}");
    assert_eq!(whole["requests"][0]["status"], 200, "{whole}");
    assert_eq!(whole["function"], "load-balancers.ensure");
    let (gone, _) = answer(&config, guests::ACME, &["load-balancers.delete", BALANCER, UID]).await;
    assert_eq!(gone, "done");
    assert!(served.simulator.account().balancers().is_empty());
}

#[tokio::test]
async fn digitalocean_is_called_with_its_token() {
    let served = digitalocean::serve(0).await.unwrap();
    let mut config = ForSimulator::new(guests::DIGITALOCEAN, &served.url).await;
    let (identity, shown) = answer(&config, guests::DIGITALOCEAN, &["provider.identity"]).await;
    assert!(identity["identity"].is_string(), "{identity}");
    says(&shown, &["GET ", "/v2/account 200"]);
    let ensure = ["load-balancers.ensure", BALANCER, UID, "--dry-run", "--output=json"];
    let ended = call(&config, guests::DIGITALOCEAN, &ensure).await;
    let whole: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(whole["stoppedBefore"]["method"] == "POST" || whole["answer"].is_object(), "{whole}");

    config.value["credentials"][0]["bearer"]["file"] = json!(config.folder.write("token", "of-nobody-at-all\n"));
    let ended = call(&config, guests::DIGITALOCEAN, &["provider.identity"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let error: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(error["error"]["kind"], "denied", "{error}");
    says(&ended.errors, &["/v2/account 401"]);
}

#[tokio::test]
async fn hetzner_and_aws_are_called() {
    let served = hetzner::serve(0).await.unwrap();
    let config = ForSimulator::new(guests::HETZNER, &served.url).await;
    let (page, shown) = answer(&config, guests::HETZNER, &["instances.list"]).await;
    assert!(page["instances"].is_array(), "{page}");
    says(&shown, &["GET ", "/v1/servers?"]);
    let (page, _) = answer(&config, guests::HETZNER, &["routes.list", UID]).await;
    assert!(page["routes"].is_array(), "{page}");

    let served = aws::serve(0).await.unwrap();
    let config = ForSimulator::new(guests::AWS, &served.url).await;
    let (page, shown) = answer(&config, guests::AWS, &["instances.list"]).await;
    assert!(page["instances"].is_array(), "{page}");
    says(&shown, &["POST ", "/ DescribeInstances 200, "]);
}

#[tokio::test]
async fn a_request_that_no_rule_allows_is_shown_too() {
    let served = acme::serve(0, &[]).await.unwrap();
    let mut config = ForSimulator::new(guests::ACME, &served.url).await;
    config.value["endpoints"][0]["allow"][0]["paths"] = json!(["/machines"]);
    let ended = call(&config, guests::ACME, &["instances.get", r#"{"name": "web-1"}"#]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    says(&ended.errors, &["GET /machines/web-1 no answer, ", "E-EGRESS-PATH"]);
    config.value["endpoints"][0]["baseUrl"] = json!("http://127.0.0.1:1/v1");
    let ended = call(&config, guests::ACME, &["instances.list"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    says(&ended.errors, &["GET http://127.0.0.1:1/v1/machines", "no answer"]);
    says(&ended.out, &["\"kind\": \"unavailable\""]);
}

#[tokio::test]
async fn services_of_a_batch_are_asked_about_together() {
    let config = ForSimulator::without_cloud(guests::BATCHED).await;
    let service =
        |name: &str, uid: &str| json!({ "owner": { "name": name, "uid": uid }, "nodes": [{ "name": "web-1" }] });
    let batch = |services: &[Value]| json!(services).to_string();
    let both = batch(&[service("tell", "u-1"), service("invalid", "u-2")]);
    let ended = call(&config, guests::BATCHED, &["load-balancer-batches.ensure", &both, UID, "--output=json"]).await;
    assert_eq!(ended.code, Some(1), "one of them has an error: {ended:?}");
    let whole: Value = serde_json::from_str(&ended.out).unwrap();
    let memo = whole["answer"][0]["ready"]["memo"].as_str().unwrap_or_default();
    assert!(memo.starts_with("u-1 of 2 nodes 0 web-1"), "one call has both: {whole}");
    assert_eq!(whole["answer"][1]["error"]["kind"], "invalid", "{whole}");
    let events = whole["events"].as_array().unwrap();
    assert!(events.len() == 1 && events[0]["about"] == "u-1" && events[0]["reason"] == "Note", "{whole}");

    let both = batch(&[service("count", "u-1"), service("web", "u-2")]);
    let (gone, _) = answer(&config, guests::BATCHED, &["load-balancer-batches.delete", &both, UID]).await;
    assert_eq!(gone, json!([{ "kept": "one of 2" }, "done"]));

    let twice = batch(&[service("web", "u-1"), service("web", "u-1")]);
    let ended = call(&config, guests::BATCHED, &["load-balancer-batches.ensure", &twice, UID]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["the Service with the UID \"u-1\" is there twice; name each once"]);
    let config = ForSimulator::without_cloud(guests::LYING_VOLUMES).await;
    let ended = call(&config, guests::LYING_VOLUMES, &["load-balancer-batches.ensure", &both, UID]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["exports no load-balancer-batches"]);
}

#[tokio::test]
async fn volumes_of_claims_are_asked_for() {
    let config = ForSimulator::without_cloud(guests::LYING_VOLUMES).await;
    let claim = r#"{"owner": {"name": "data", "uid": "4711"}, "bytes": 1073741824, "filesystem": "ext4"}"#;
    let (made, _) = answer(&config, guests::LYING_VOLUMES, &["volumes.create", claim, UID]).await;
    let ready = &made["ready"];
    assert_eq!((&ready["handle"], &ready["name"]), (&json!("vol-1"), &json!("pvc-4711")), "{made}");
    assert_eq!((&ready["bytes"], &ready["state"]), (&json!(1_u64 << 30), &json!("ready")), "{made}");
    let on = r#"{"volume": {"handle": "vol-1"}, "nodeID": "m-1"}"#;
    let (attached, _) = answer(&config, guests::LYING_VOLUMES, &["volumes.attach", on, UID]).await;
    assert_eq!(attached, json!({ "ready": { "devicePath": "/dev/m-1" } }));
    let (found, _) = answer(&config, guests::LYING_VOLUMES, &["volumes.get", r#"["nowhere", "vol-2"]"#, UID]).await;
    assert_eq!((&found[0], &found[1]["handle"]), (&Value::Null, &json!("vol-2")), "{found}");
    let ended = call(&config, guests::LYING_VOLUMES, &["volumes.list"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    says(&ended.errors, &["volumes.list marks what it makes with the cluster's UID"]);
}

/// The rules for volumes at DigitalOcean, as the provider's page has them.
fn volume_rules() -> Vec<Value> {
    let action = |kind: &str, effect: &str, fields: &[&str]| {
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"], "effect": effect, "fields": fields,
            "body": { "type": [kind] },
        })
    };
    vec![
        json!({ "methods": ["GET"], "paths": ["/v2/volumes", "/v2/volumes/*", "/v2/volumes/*/actions"] }),
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes"],
            "fields": ["description", "name", "region", "size_gigabytes", "tags"],
        }),
        json!({ "methods": ["DELETE"], "paths": ["/v2/volumes/*"], "only": [] }),
        action("attach", "update", &["droplet_id", "region"]),
        action("resize", "write", &["region", "size_gigabytes"]),
        action("detach", "detach", &["droplet_id", "region"]),
    ]
}

/// Cases: csi 76
#[tokio::test]
async fn a_dry_run_shows_the_request_for_a_volume_and_sends_none() {
    const IDS: [&str; 2] = ["506f78a4-e098-11e5-ad9f-000000000001", "506f78a4-e098-11e5-ad9f-000000000002"];
    let served = digitalocean::serve(0).await.unwrap();
    served.simulator.droplets().insert(Droplet::new(42, "web-1"));
    served.simulator.volumes().insert(Volume::new(IDS[0], "pvc-free"));
    served.simulator.volumes().insert(Volume { droplet: Some(42), ..Volume::new(IDS[1], "pvc-used") });
    let mut config = ForSimulator::new(guests::DIGITALOCEAN, &served.url).await;
    config.value["endpoints"][0]["allow"].as_array_mut().unwrap().extend(volume_rules());
    let [free, used] = IDS.map(|it| json!({ "handle": it, "name": "pvc-1" }));
    let claim = json!({
        // Its creation may have been sent before, and was absent since.
        "memo": "lost since 1", "bytes": 1 << 30, "accessibleTopologies": [{ "region": "fra1" }],
        "owner": { "namespace": "default", "name": "data", "uid": "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11" },
    });
    for (function, argument, method, body) in [
        ("volumes.create", claim, "POST", json!({ "size_gigabytes": 1 })),
        (
            "volumes.attach",
            json!({ "volume": free, "nodeID": "42" }),
            "POST",
            json!({ "type": "attach", "droplet_id": 42 }),
        ),
        (
            "volumes.detach",
            json!({ "volume": used, "nodeID": "42" }),
            "POST",
            json!({ "type": "detach", "droplet_id": 42 }),
        ),
        (
            "volumes.expand",
            json!({ "volume": free, "bytes": 20_u64 << 30 }),
            "POST",
            json!({ "type": "resize", "size_gigabytes": 20 }),
        ),
        ("volumes.delete", free.clone(), "DELETE", json!({})),
    ] {
        let (stopped, shown) =
            answer(&config, guests::DIGITALOCEAN, &[function, &argument.to_string(), UID, "--dry-run"]).await;
        let request = &stopped["stoppedBefore"];
        assert_eq!(request["method"], method, "{function}: {stopped} {shown}");
        for (key, value) in body.as_object().unwrap() {
            assert_eq!(request["body"][key], *value, "{function}: {stopped}");
        }
        says(&shown, &["GET ", "/v2/volumes", "stopped before "]);
    }
    assert_eq!(served.simulator.volumes().all().len(), IDS.len());
    assert!(served.simulator.volumes().actions().is_empty(), "nothing was sent");
}
