//! A hostile module: the binary's messages about it, and its costs.

use std::time::Duration;

use serde_json::{Value, json};
use tests::aerostat::message;
use tests::clouds::digitalocean::{Options, Simulator};
use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, says};

/// The memory that the host may hold while it reads a list that never ends: 80 MiB of the list, the part that is being
/// converted, and that of every process. 135 were measured.
const ENDLESS_MEBIBYTES: u64 = 250;

#[tokio::test]
async fn adv_109_a_version_cannot_forge_a_line_of_the_log() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--logging-format=text"]).edit(|config| {
        config["provider"]["settings"] = json!({ "describe": "forged" });
        config["endpoints"] = json!([{ "name": "api", "baseUrl": "https://127.0.0.1:9", "allow": [] }]);
    });
    let mut process = setup.start();
    let mut lines = Vec::new();
    loop {
        let line = tokio::time::timeout(tests::operator::PATIENCE, process.aerostat.log.recv()).await;
        let line = message(&line.expect("it says in time what it loads").expect("it runs")).to_owned();
        let is_last = line.contains("successfully acquired lease");
        lines.push(line);
        if is_last {
            break;
        }
    }
    let version = lines.iter().find(|it| it.contains("provider hostile 1.0"));
    says(version.expect("the version is in the log"), &["1.0\\n1999-01-01T00:00:00.000000Z  INFO audit"]);
    for line in &lines {
        assert!(!line.starts_with("1999-") && line.starts_with("20"), "a forged line: {line:?}");
        assert!(cloud_provider::is_printable(line), "{line:?}");
    }
    process.stop().await;
}

#[tokio::test]
async fn adv_130_a_module_that_claims_another_clouds_nodes_is_refused() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE)
        .edit(|config| config["provider"]["settings"] = json!({ "describe": "greedy" }));
    let last = setup.refused().await;
    let parts = ["provider hostile", "digitalocean://", "belong to the provider digitalocean", "providerIDPrefixes"];
    says(&last, &parts);

    let pinned = setup.edit(|config| config["provider"]["providerIDPrefixes"] = json!(["hostile://"]));
    says(&pinned.refused().await, &["digitalocean://", "providerIDPrefixes allows only hostile://"]);

    let both =
        pinned.edit(|config| config["provider"]["providerIDPrefixes"] = json!(["hostile://", "digitalocean://"]));
    let mut process = both.start();
    process.says("yes, pinned").await;
    process.stop().await;
}

#[tokio::test]
async fn adv_107_a_list_without_end_does_not_fill_the_host() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).edit(|config| {
        config["provider"]["settings"] = json!({ "describe": "endless" });
        // A page of the largest machines takes a while in a build without optimisation.
        config["provider"]["limits"] = json!({ "cpu": "20s" });
    });
    // So many that the whole list is read for them.
    for nth in 0..12 {
        kubelet::join(&cluster.admin, &format!("endless-0-{nth}")).await.unwrap();
    }
    let mut process = setup.start();
    let line = process.says_after(Duration::from_secs(60), "was not read further than").await;
    says(message(&line), &["more than 80 MiB of memory", "nothing is deleted"]);
    process.says("events of the provider are left out").await;
    for nth in 0..12 {
        crate::setup::initialized(&cluster, &format!("endless-0-{nth}")).await;
    }
    let peak = peak_mebibytes(process.aerostat.pid());
    assert!(peak < ENDLESS_MEBIBYTES, "{peak} MiB");
    process.stop().await;
}

#[tokio::test]
async fn rules_that_the_config_lacks_are_reported_as_yaml() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let mut setup = Setup::digitalocean(&cluster, &cloud).edit(|config| {
        let rules = config["endpoints"][0]["allow"].as_array_mut().unwrap();
        rules.retain(|rule| {
            !["POST", "PUT"].iter().any(|method| rule["methods"].as_array().unwrap().contains(&json!(method)))
        });
    });
    let mut process = setup.start();
    let mut lacked = Vec::new();
    // Each says what it does and what stands in its requests, so that there is one for each.
    while lacked.len() < 5 {
        let line = process.says("endpoint api does not allow what the provider asks for").await;
        let (_, rule) = message(&line).split_once("--cloud-config: - ").unwrap();
        lacked.push(serde_saphyr::from_str::<Value>(rule).unwrap());
    }
    let methods: Vec<_> = lacked.iter().map(|it| it["methods"].clone()).collect();
    assert_eq!(methods, ["POST", "POST", "POST", "POST", "PUT"].map(|it| json!([it])));
    process.says("successfully acquired lease").await;
    process.stop().await;

    // Pasted, it is all that there is to ask for.
    setup.config["endpoints"][0]["allow"].as_array_mut().unwrap().extend(lacked);
    let mut process = setup.start();
    loop {
        let line = process.aerostat.log.recv().await.expect("it runs");
        assert!(!message(&line).contains("does not allow what"), "{line:?}");
        if message(&line).contains("successfully acquired lease") {
            break;
        }
    }
    process.stop().await;
}

/// The most that a process ever had in memory.
fn peak_mebibytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|it| it.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
