//! `--controllers`, and other flags that decide what runs, compared with upstream.

use serde_json::json;
use tests::control_plane::cluster;
use tests::guests;
use tests::script::Script;

use crate::recording::{self, Case};
use crate::setup::Setup;

/// The checks of what this release has.
const OURS: [&str; 5] =
    ["cloud-node-controller", "cloud-node-lifecycle-controller", "leaderElection", "ping", "service-lb-controller"];

/// The checks with these flags. Without any controller of ours, those of upstream without any of its own.
fn expected(case: &Case) -> Vec<&str> {
    let mut checks: Vec<_> = case.healthz_checks.iter().map(String::as_str).filter(|it| OURS.contains(it)).collect();
    // Upstream starts controllers in random order.
    checks.sort_unstable();
    if checks.is_empty() { vec!["ping"] } else { checks }
}

/// Starts the binary with a case's flags, and compares what becomes of it.
async fn check(case: &Case) {
    let cluster = cluster().await;
    let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&flags);
    match case.result.as_str() {
        "keeps running" => {
            let mut process = setup.start();
            // The last controller of the list.
            process.says("node-route-controller is ").await;
            let mut checks = process.checks().await;
            checks.sort_unstable();
            assert_eq!(checks, expected(case), "{}", case.name);
            process.stop().await;
        }
        "exit 1" => {
            let message = setup.refused().await;
            assert!(message.starts_with(&case.error()), "{}: {message}", case.name);
        }
        other => panic!("{}: {other} is not a result of these cases", case.name),
    }
}

async fn check_all(number: u32, choose: impl Fn(&Case) -> bool) {
    let cases: Vec<_> = recording::process().cases.into_iter().filter(|it| it.covers(number) && choose(it)).collect();
    assert!(!cases.is_empty(), "the recording has no such case");
    for case in cases {
        check(&case).await;
    }
}

#[tokio::test]
async fn case_232_controllers_are_chosen_by_name() {
    check_all(232, |it| !has_alias(it)).await;
}

#[tokio::test]
async fn case_233_controllers_are_chosen_by_alias() {
    check_all(233, has_alias).await;
}

fn has_alias(case: &Case) -> bool {
    let names = case.flags[0].trim_start_matches("--controllers=").split(',').map(|it| it.trim_start_matches('-'));
    let aliases = ["cloud-node", "cloud-node-lifecycle", "service", "route"];
    names.into_iter().any(|it| aliases.contains(&it))
}

#[tokio::test]
async fn case_234_only_leases_are_locks() {
    check_all(234, |_| true).await;
}

#[tokio::test]
async fn routes_without_the_pods_networks_are_skipped() {
    let (cluster, script) = (cluster().await, Script::start().await);
    cluster.follow("persistent-volumes/README.md").await;
    let base_url = script.base_url();
    let setup = |flags: &[&str]| {
        let setup = Setup::guest(&cluster, guests::SCRIPTED_NETWORK).flags(flags);
        setup.edit(|config| {
            let allow = json!([{ "methods": ["GET", "POST"], "paths": ["/routes"] }]);
            config["endpoints"] = json!([{ "name": "script", "baseUrl": base_url, "allow": allow }]);
        })
    };
    // Nobody has to ask for routes: the provider has them.
    let without = setup(&[]);
    let mut process = without.start();
    let warning = process.says("node-route-controller is skipped").await;
    assert_eq!(warning["level"], "WARN");
    let message = "node-route-controller is skipped: it needs to know the networks of all pods. Give them with --cluster-cidr, \
                   or switch it off with --configure-cloud-routes=false";
    assert_eq!(warning["message"], message);
    process.says("started persistentvolume-label-controller").await;
    let checks = process.checks().await;
    assert_eq!(checks, ["leaderElection", "persistentvolume-label-controller"]);
    process.stop().await;

    let with = setup(&["--cluster-cidr=10.244.0.0/16"]);
    let mut process = with.start();
    process.says("started node-route-controller").await;
    process.stop().await;
}
