//! `aerostat provider describe`.

use serde_json::{Value, json};
use tests::guests;

use crate::setup::{ends, json_of, says};

/// The rows of the tables in a provider's README, between their marks.
fn rows(readme: &str) -> Vec<String> {
    let path = format!("{}/../providers/{readme}/README.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = Vec::new();
    for begin in ["<!-- settings -->", "<!-- annotations -->"] {
        let table = text.split(begin).nth(1).unwrap().split("<!-- end -->").next().unwrap();
        rows.extend(table.lines().filter(|it| it.starts_with("| `")).map(str::to_owned));
    }
    rows
}

#[tokio::test]
async fn tables_are_those_of_the_readmes() {
    for (guest, readme) in [(guests::DIGITALOCEAN, "digitalocean"), (guests::HETZNER, "hetzner"), (guests::AWS, "aws")]
    {
        let text = ends(0, &["provider", "describe", guest, "--format=readme"]).await;
        let rows = rows(readme);
        assert!(rows.len() > 20, "{rows:?}");
        for row in rows {
            // READMEs leave the beginning of keys out.
            let (key, rest) = row.trim_start_matches("| `").split_once('`').unwrap();
            let is_there = |it: &str| it.contains(&format!("{key}`{rest}"));
            assert!(text.lines().any(is_there), "{row} is not in {text}");
        }
    }
}

#[tokio::test]
async fn permissions_are_in_the_words_of_the_cloud() {
    let policy = json_of(0, &["provider", "describe", guests::AWS, "--format=permissions"]).await;
    let statement = |sid: &str| {
        let found = policy["Statement"].as_array().unwrap().iter().find(|it| it["Sid"] == sid);
        let actions = found.unwrap()["Action"].as_array().unwrap().clone();
        actions.iter().map(|it| it.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (reads, writes) = (statement("Read"), statement("Write"));
    assert!(reads.iter().all(|it| it.contains(":Describe")), "{reads:?}");
    assert!(writes.iter().all(|it| !it.contains(":Describe")), "{writes:?}");
    assert!(reads.len() > 10 && writes.len() > 20, "{} {}", reads.len(), writes.len());
    let text = ends(0, &["provider", "describe", guests::AWS, "--format=permissions"]).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), policy, "the policy is what is printed");

    let scopes = ends(0, &["provider", "describe", guests::DIGITALOCEAN, "--format=permissions"]).await;
    says(&scopes, &["endpoint api (https://api.digitalocean.com)", "load_balancer:delete  delete", "droplet:read"]);
    let requests = ends(0, &["provider", "describe", guests::HETZNER, "--format=permissions"]).await;
    says(&requests, &["endpoint hcloud", "names no scopes", "{ methods: [GET], paths: ['/servers'"]);
}

/// IAM's actions for the requests of IBM's provider, each with its strongest effect.
const IBM_ACTIONS: [(&str, &str); 23] = [
    ("is.floating-ip.floating-ip.list", "read"),
    ("is.instance.instance.list", "read"),
    ("is.instance.instance.read", "read"),
    ("is.instance.instance.update", "update"),
    ("is.load-balancer.load-balancer.create", "write"),
    ("is.load-balancer.load-balancer.delete", "delete"),
    ("is.load-balancer.load-balancer.list", "read"),
    ("is.load-balancer.load-balancer.manage", "detach"),
    ("is.load-balancer.load-balancer.view", "read"),
    ("is.security-group.security-group.create", "write"),
    ("is.security-group.security-group.delete", "delete"),
    ("is.security-group.security-group.list", "read"),
    ("is.security-group.security-group.operate", "read"),
    ("is.security-group.security-group.read", "read"),
    ("is.security-group.security-group.update", "detach"),
    ("is.subnet.subnet.list", "read"),
    ("is.subnet.subnet.operate", "write"),
    ("is.virtual-network-interface.virtual-network-interface.manage-ip-spoofing", "update"),
    ("is.volume.volume.read", "read"),
    ("is.vpc.routing-table.list", "read"),
    ("is.vpc.routing-table.read", "read"),
    ("is.vpc.routing-table.update", "detach"),
    ("is.vpc.vpc.read", "read"),
];

#[tokio::test]
async fn permissions_at_ibm_cloud_are_the_actions_of_its_requests() {
    let text = ends(0, &["provider", "describe", guests::IBM, "--format=permissions"]).await;
    let actions: Vec<_> = text.lines().filter_map(|it| it.trim().split_once(' ')).collect();
    let actions: Vec<_> = actions
        .into_iter()
        .filter(|it| it.0.starts_with("is."))
        .map(|(action, effect)| (action, effect.trim()))
        .collect();
    assert_eq!(actions, IBM_ACTIONS);
}

#[tokio::test]
async fn network_policies_know_endpoints_and_config() {
    let command = ["provider", "describe", guests::AWS, "--format=cilium-network-policy"];
    let policy = ends(0, &command).await;
    says(&policy, &["matchName: ec2.eu-central-1.amazonaws.com", "kube-apiserver"]);
    let folder = tests::folder::Folder::new();
    let mut config = json_of(0, &["provider", "describe", guests::ACME]).await;
    config["endpoints"][0]["baseUrl"] = json!("https://192.0.2.7:8443/v1");
    let path = folder.write("cloud.yaml", config.to_string());
    let flag = crate::setup::flag("cloud-config", &path);
    let policy = json_of(0, &["provider", "describe", guests::ACME, "--format=network-policy", &flag]).await;
    let last = policy["spec"]["egress"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["to"][0]["ipBlock"]["cidr"], &last["ports"][0]["port"]), (&json!("192.0.2.7/32"), &json!(8443)));
}
