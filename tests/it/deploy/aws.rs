//! The config for AWS: what the provider needs is allowed, nothing else is, and the IAM policy says the same.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cloud_provider::Description;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::control_plane::cluster;
use tests::{folder, guests};

use crate::chart;
use crate::setup::{Folder, cloud_config_in, describe_with, described_content, object, text, texts, written_content};

const CONFIG: &str = "aws/config.yaml";

/// With the settings of the config, and what an operator writes into them.
async fn described() -> Description {
    let settings = [("region", "eu-central-1"), ("vpc", VPC), ("clusterID", CLUSTER)];
    describe_with(guests::AWS, &settings).await
}

/// The config for a cluster.
fn config() -> Value {
    let text = cloud_config_in(CONFIG).to_string().replace("VPC-OF-THE-CLUSTER", VPC);
    serde_json::from_str(&text.replace("ID-OF-THE-CLUSTER", CLUSTER)).unwrap()
}

/// The words in the place of the cluster's VPC and id, in the config and in a description.
const VPC: &str = "vpc-0123456789abcdef0";
const CLUSTER: &str = "prod";

/// The rules of each endpoint, one for each operation, as `effect operation` and what the requests carry.
fn described_rules(description: &Description) -> BTreeMap<String, BTreeSet<String>> {
    let endpoints = description.endpoints.iter().map(|endpoint| {
        let rules = endpoint.allow.iter().flat_map(|rule| {
            assert_eq!(
                (rule.methods.as_slice(), rule.paths.as_slice()),
                (&["POST".to_owned()][..], &["/".to_owned()][..])
            );
            let carried = described_content(&rule.content);
            rule.operations
                .iter()
                .map(move |it| format!("{} {carried}", format!("{:?} {it}", rule.effect).to_lowercase()))
        });
        (endpoint.name.clone(), rules.collect())
    });
    endpoints.collect()
}

fn allowed_rules(config: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let endpoints = config["endpoints"].as_array().unwrap().iter().map(|endpoint| {
        let rules = endpoint["allow"].as_array().unwrap().iter().flat_map(|rule| {
            assert_eq!(
                (texts(&rule["methods"]), texts(&rule["paths"])),
                (vec!["POST".to_owned()], vec!["/".to_owned()])
            );
            let (effect, carried) = (rule["effect"].as_str().unwrap().to_owned(), written_content(rule));
            texts(&rule["operations"])
                .into_iter()
                .map(move |it| format!("{} {carried}", format!("{effect} {it}").to_lowercase()))
        });
        (endpoint["name"].as_str().unwrap().to_owned(), rules.collect())
    });
    endpoints.collect()
}

#[tokio::test]
async fn the_config_of_aws_allows_all_that_is_described_and_no_more() {
    let (config, description) = (config(), described().await);
    assert_eq!(allowed_rules(&config), described_rules(&description));
    let endpoints = config["endpoints"].as_array().unwrap();
    for described in &description.endpoints {
        let written = endpoints.iter().find(|it| it["name"] == described.name).unwrap();
        assert_eq!(written["baseUrl"], described.example_base_url);
        let parameters: BTreeMap<_, _> = described.parameters.iter().cloned().collect();
        assert_eq!(written["parameters"], serde_json::to_value(parameters).unwrap());
    }
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(description.name, "aws");
}

fn statements() -> Vec<Value> {
    statements_in("aws/policy.json")
}

fn statements_in(file: &str) -> Vec<Value> {
    let policy: Value = serde_json::from_str(&text(file)).unwrap();
    assert_eq!(policy["Version"], "2012-10-17");
    policy["Statement"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_release_for_volumes_allows_what_is_described_alone() {
    let config = chart::cloud_config(&chart::rendered(&chart::values("aws-ebs")));
    let description = describe_with(guests::AWS_EBS, &[]).await;
    assert_eq!(allowed_rules(&config), described_rules(&description));
    assert_eq!((&*description.name, description.provider_id_prefixes.len()), ("aws-ebs", 0));
    assert_eq!(config["provider"]["providerIDPrefixes"], Value::Null, "it has no nodes");
    assert_eq!(
        config["provider"]["settings"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["clusterID", "region", "vpc"]
    );
}

#[tokio::test]
async fn the_iam_policy_for_volumes_is_enough_by_itself() {
    let description = describe_with(guests::AWS_EBS, &[]).await;
    let rules = description.endpoints.iter().flat_map(|it| &it.allow);
    let needed = rules.flat_map(|it| it.actions.iter().cloned());
    // Tags are written with a volume.
    let needed: BTreeSet<_> = needed.chain(["ec2:CreateTags".to_owned()]).collect();
    let statements = statements_in("aws/volumes-policy.json");
    assert!(statements.iter().all(|it| it["Effect"] == "Allow"));
    let allowed: BTreeSet<_> = statements.iter().flat_map(|it| texts(&it["Action"])).collect();
    assert_eq!(allowed, needed);
    for statement in statements {
        let reads = texts(&statement["Action"]).iter().all(|it| it.contains(":Describe"));
        assert!(reads || (statement["Resource"] != "*" && statement["Condition"].is_object()), "{statement}");
    }
}

#[tokio::test]
async fn the_iam_policy_has_the_actions_of_the_description() {
    let statements = statements();
    assert!(statements.iter().all(|it| it["Effect"] == "Allow"));
    let allowed: BTreeSet<_> = statements.iter().flat_map(|it| texts(&it["Action"])).collect();
    let description = described().await;
    let rules = description.endpoints.iter().flat_map(|it| &it.allow);
    let needed: BTreeSet<_> = rules.flat_map(|it| it.actions.iter().cloned()).collect();
    assert_eq!(allowed, needed);
}

/// The resource and the condition of each statement of the policy that allows an action.
fn conditions(action: &str) -> Vec<(String, Value)> {
    let statements = statements().into_iter().filter(|it| texts(&it["Action"]).iter().any(|it| it == action));
    statements.map(|it| (it["Resource"].to_string().replace('"', ""), it["Condition"].clone())).collect()
}

#[test]
fn adv_166_the_iam_policy_has_conditions_for_all_writes() {
    const ARN: &str = "arn:aws:ec2:eu-central-1:ACCOUNT-ID:";
    let vpc = json!({ "ArnEquals": { "ec2:Vpc": format!("{ARN}vpc/VPC-OF-THE-CLUSTER") } });
    let has_tag = json!({ "Null": { "aws:ResourceTag/kubernetes.io/cluster/ID-OF-THE-CLUSTER": "false" } });
    let gets_tag = json!({ "StringEquals": { "aws:RequestTag/kubernetes.io/cluster/ID-OF-THE-CLUSTER": "owned" } });
    for (actions, resource) in [
        (&["CreateRoute", "DeleteRoute", "ReplaceRoute"], "route-table/*"),
        (&["AuthorizeSecurityGroupIngress", "DeleteSecurityGroup", "RevokeSecurityGroupIngress"], "security-group/*"),
    ] {
        for action in actions {
            let expected = [(format!("{ARN}{resource}"), vpc.clone())];
            assert_eq!(conditions(&format!("ec2:{action}")), expected, "{action}");
        }
    }
    let mut check = has_tag.clone();
    check["StringEquals"] = json!({ "ec2:Attribute/SourceDestCheck": "false" });
    assert_eq!(conditions("ec2:ModifyInstanceAttribute"), [(format!("{ARN}instance/*"), check)]);
    let made =
        [(format!("{ARN}vpc/VPC-OF-THE-CLUSTER"), Value::Null), (format!("{ARN}security-group/*"), gets_tag.clone())];
    assert_eq!(conditions("ec2:CreateSecurityGroup"), made);
    let creation = json!({ "StringEquals": { "ec2:CreateAction": "CreateSecurityGroup" } });
    let group = format!("{ARN}security-group/*");
    assert_eq!(conditions("ec2:CreateTags"), [(group.clone(), creation), (group, has_tag.clone())]);
    for action in ["CreateLoadBalancer", "CreateTargetGroup"] {
        let expected = [("*".to_owned(), gets_tag.clone())];
        assert_eq!(conditions(&format!("elasticloadbalancing:{action}")), expected, "{action}");
    }
    for statement in statements() {
        let actions = texts(&statement["Action"]);
        let reads = actions.iter().all(|it| it.contains(":Describe"));
        let is_bound = statement["Resource"] != "*" || statement["Condition"].is_object();
        assert!(reads || is_bound, "{actions:?} is allowed on everything");
        let of_balancers = actions.iter().any(|it| it == "elasticloadbalancing:DeleteLoadBalancer");
        assert!(!of_balancers || statement["Condition"] == has_tag, "{statement}");
    }
}

#[test]
fn signatures_with_static_keys_go_to_the_endpoints_alone() {
    let secret = object::<Secret>("aws/secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["aws-credentials", "aws-credentials.origins"]);
    let config = cloud_config_in(CONFIG);
    let origins: BTreeSet<_> =
        config["endpoints"].as_array().unwrap().iter().map(|it| it["baseUrl"].as_str().unwrap()).collect();
    let listed: BTreeSet<_> = secret["aws-credentials.origins"].lines().collect();
    assert_eq!(listed, origins);
}

#[tokio::test]
async fn the_manifests_for_aws_are_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let folder = Folder::new().with("aws");
    for name in ["config.yaml", "secret.yaml"] {
        let said =
            folder.run(&cluster, &format!("kubectl apply --server-side --dry-run=server -f deploy/aws/{name}"), "");
        assert!(said.success && said.error.is_empty(), "{name}: {said:#?}");
    }
    for (patch, audience) in
        [("irsa-patch.yaml", "sts.amazonaws.com"), ("pod-identity-patch.yaml", "pods.eks.amazonaws.com")]
    {
        let script = format!(
            "kubectl patch -f deploy/deployment.yaml --local --type=json -o yaml --patch-file=deploy/aws/{patch} |
             kubectl apply --server-side --force-conflicts --dry-run=server -o json -f -"
        );
        let said = folder.run(&cluster, &script, "");
        assert!(said.success && said.error.is_empty(), "{patch}: {said:#?}");
        let patched: Value = serde_json::from_str(&said.out).unwrap();
        let sources = &patched["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"];
        let token = json!({ "path": "aws-token", "audience": audience, "expirationSeconds": 3600 });
        assert_eq!(sources[1], json!({ "serviceAccountToken": token }), "and no Secret is mounted");
    }
}

/// Each way to get keys, as the README says: one is uncommented, the other taken out.
#[tokio::test]
async fn each_source_of_keys_in_the_config_is_a_config_that_starts() {
    let written = text(CONFIG);
    let mut lines: Vec<&str> = written.lines().collect();
    let at = lines.iter().position(|it| it.trim() == "webIdentity:").unwrap();
    let web_identity: Vec<&str> = lines.splice(at..at + 3, []).collect();
    let mut sources = vec![web_identity.join("\n")];
    for name in ["podIdentity", "sharedFile", "instanceMetadata"] {
        let at = lines.iter().position(|it| it.trim().starts_with(&format!("# {name}:"))).unwrap();
        sources.push(lines.remove(at).replacen("# ", "", 1));
    }
    let rest = lines.join("\n");
    let place = "          # One of these four: README.md of this folder says what each needs.";
    assert!(rest.contains(place));
    for source in sources {
        let manifest = rest.replace(place, &source).replace("ARN-OF-THE-ROLE", "arn:aws:iam::123456789012:role/ccm");
        let config: ConfigMap = serde_saphyr::from_str(&manifest).unwrap();
        let config = config.data.unwrap()["cloud.yaml"]
            .replace("VPC-OF-THE-CLUSTER", "vpc-0123456789abcdef0")
            .replace("ID-OF-THE-CLUSTER", "prod")
            .replace("SHA256-OF-THE-MODULE", &guests::sha256(guests::AWS));
        let folder = folder::Folder::new();
        let file = folder.write("cloud.yaml", config);
        let said = Command::new(binary().unwrap())
            .args(["module", "inspect", guests::AWS])
            .arg(format!("--cloud-config={}", file.display()))
            .output()
            .unwrap();
        let (out, error) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert!(said.status.success(), "{source}\n{out}\n{error}");
        assert!(out.ends_with("missing     nothing\n"), "{source}\n{out}\n{error}");
    }
}
