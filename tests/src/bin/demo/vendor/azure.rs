//! Azure: tokens of Entra, one load balancer for all Services with public addresses and security rules, and a route table.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tests::clouds::azure::{
    Assets, Behaviour, CLIENT, GROUP, Kind, Options, SECRET, SUBSCRIPTION, Simulator, TENANT, Taking, World,
};
use tests::simulator::Recorded;
use tests::vendor::{AzureCloud, Vendor as _};

use super::{LATENCY, Shown};
use crate::cloud::machine;

/// How long each operation takes: a public address, then the load balancer and the security group, then interfaces.
const OPERATION: Duration = Duration::from_millis(1_250);

impl Shown for AzureCloud {
    const COMMAND: &'static str = "make demo CLOUD=azure";
    const JUDGE: &'static str = "every request and answer is checked against Microsoft's API description";
    const MACHINE: &'static str = "virtual machine";
    const PROOF: &'static str =
        "a complete list did not have the machine and a read of it answered 404 ResourceNotFound";
    const REALLY: &'static str =
        "an operation takes some seconds, and what Services share is one operation for all that wait";
    const SERVED: &'static str = ", and no worker waited for an operation.";
    const SHORTENED: &'static str = "unready nodes are looked at every second (usually every 5 s)";
    const ANOTHER: &'static str = "another frontend on the same load balancer";
    const CONFIG_MAP: &'static str = "azure-provider";
    const ROUTES: &'static str =
        "Each network of pods has a route to its node, and all of them were one write of the table.";
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour = Behaviour { operations: Taking::Time(OPERATION), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, ..Options::with(behaviour) }).await?;
        cloud.with(World::build_plain);
        for number in 1..=machines {
            Self::add_machine(cloud.account(), machine(number), &Self::node(number));
        }
        Ok(cloud)
    }

    /// With the number of its machine, by which pools are shown.
    fn node(number: u8) -> String {
        format!("node-{}", machine(number))
    }

    fn machine(id: u64) -> String {
        format!("node-{id}")
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("10.244.{number}.0/24"))
    }

    /// As it is shipped, in the simulated subscription.
    fn provider(_: &Simulator) -> Value {
        let mut provider = tests::vendor::manifest::cloud_config(Self::MANIFEST)["provider"].take();
        provider["settings"] = Self::SETTINGS.iter().copied().collect();
        provider["settings"]["routeTableName"] = json!("rt1");
        provider
    }

    /// The shipped rules name places to fill in.
    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        let filled = config.to_string().replace("ID-OF-THE-SUBSCRIPTION", SUBSCRIPTION);
        *config = serde_json::from_str(&filled.replace("NAME-OF-THE-RESOURCE-GROUP", GROUP))?;
        let tls = json!({ "caFile": cloud.ca_file() });
        for endpoint in config["endpoints"].as_array_mut().into_iter().flatten() {
            (endpoint["baseUrl"], endpoint["tls"]) = (json!(cloud.base_url()), tls.clone());
        }
        let secret = folder.join("azure-secret");
        fs::write(&secret, SECRET)?;
        config["credentials"][0]["entra"] = json!({
            "tenant": TENANT, "clientId": CLIENT, "clientSecret": { "file": secret }, "authority": cloud.base_url(), "tls": tls,
            "addresses": ["127.0.0.0/8"],
        });
        Ok(())
    }

    fn is_providers(request: &Recorded) -> bool {
        request.path.starts_with("/subscriptions")
    }

    /// Types, and `{name}` for what is in them.
    fn asked(request: &Recorded) -> String {
        let Some((_, path)) = request.path.split_once("/providers/Microsoft.") else {
            let path = if request.path.ends_with("/token") { "token of Entra" } else { &request.path };
            return format!("{:<6} {path}", request.method.as_str());
        };
        let (_, words) = path.split_once('/').unwrap_or((path, "zones of the region"));
        let parts = words.split('/').enumerate().map(|(at, it)| if at % 2 == 1 { "{name}" } else { it });
        format!("{:<6} {}", request.method.as_str(), parts.collect::<Vec<_>>().join("/"))
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        account.with(|world| {
            let balancers = world.all(Kind::LoadBalancer).map(|balancer| {
                let rules: Vec<_> = parts(balancer, "loadBalancingRules")
                    .map(|it| it["properties"]["frontendPort"].to_string())
                    .collect();
                let frontends = parts(balancer, "frontendIPConfigurations").count();
                let shown = format!("is {}: {frontends} frontend(s), ports {}", state(balancer), listed(&rules));
                (format!("load balancer {}", text(balancer, "name")), shown)
            });
            let addresses =
                world.all(Kind::PublicIp).filter(|it| it["tags"]["k8s-azure-service"].is_string()).map(|address| {
                    let shown = format!("is {}: {}", state(address), text(&address["properties"], "ipAddress"));
                    (format!("public address {}", short(address)), shown)
                });
            let groups = world.all(Kind::SecurityGroup).map(|group| {
                let ports =
                    parts(group, "securityRules").flat_map(|it| it["properties"]["destinationPortRanges"].as_array());
                let ports: Vec<_> = ports.flatten().filter_map(Value::as_str).map(str::to_owned).collect();
                (format!("security group {}", text(group, "name")), format!("lets ports {} in", listed(&ports)))
            });
            let routes = world.all(Kind::RouteTable).flat_map(|it| parts(it, "routes")).map(|route| {
                let properties = &route["properties"];
                let to = format!("leads to {}", text(properties, "nextHopIpAddress"));
                (format!("route {}", text(properties, "addressPrefix")), to)
            });
            balancers.chain(addresses).chain(groups).chain(routes).collect()
        })
    }

    fn routes(account: &Assets) -> usize {
        account.with(|world| world.all(Kind::RouteTable).flat_map(|it| parts(it, "routes")).count())
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

fn parts<'a>(object: &'a Value, part: &str) -> impl Iterator<Item = &'a Value> {
    object["properties"][part].as_array().into_iter().flatten()
}

fn state(object: &Value) -> &str {
    text(&object["properties"], "provisioningState")
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// The name without most of the UID in it.
fn short(object: &Value) -> String {
    let cut = |part: &str| if part.len() == 32 { format!("{}…", &part[..9]) } else { part.to_owned() };
    text(object, "name").split('-').map(cut).collect::<Vec<_>>().join("-")
}
