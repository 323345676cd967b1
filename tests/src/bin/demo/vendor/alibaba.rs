//! Alibaba Cloud: each request is signed, its action stands in a header, and a load balancer takes one change after the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::clouds::alibaba::{
    Assets, Behaviour, KEY_ID, KEY_SECRET, Options, REGION, Simulator, Taking, World, machine_id,
};
use tests::simulator::Recorded;
use tests::vendor::{AlibabaCloud, Vendor as _};

use super::{LATENCY, Shown};
use crate::cloud::machine;
use crate::hostile::{self, Attack};

/// How long each change of a load balancer takes: itself, its group of machines, its listener, and the start of that.
const CHANGE: Duration = Duration::from_secs(1);

impl Shown for AlibabaCloud {
    const COMMAND: &'static str = "make demo CLOUD=alibaba";
    const JUDGE: &'static str =
        "each signature is computed again, and every request and answer checked against the vendor's API description";
    const MACHINE: &'static str = "instance";
    const PROOF: &'static str = "a complete list did not have the machine, and a request for it by its id showed none";
    const REALLY: &'static str = "it carries out one change after the other";
    const SERVED: &'static str = ", and no worker waited for a change.";
    const ATTACKS: &'static [Attack] = &hostile::ON_HEADERS;
    const CONFIG_MAP: &'static str = "alibaba-provider";
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour = Behaviour { configuring: Taking::Time(CHANGE), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, ..Options::with(behaviour) }).await?;
        for number in 1..=machines {
            Self::add_machine(cloud.account(), machine(number), &Self::node(number));
        }
        Ok(cloud)
    }

    fn machine(id: u64) -> String {
        machine_id(id)
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("10.244.{number}.0/24"))
    }

    /// As it is shipped, in the simulated VPC.
    fn provider(_: &Simulator) -> Value {
        let mut provider = tests::vendor::manifest::cloud_config(Self::MANIFEST)["provider"].take();
        provider["settings"] = Self::SETTINGS.iter().chain(Self::FAST).copied().collect();
        provider
    }

    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        for endpoint in config["endpoints"].as_array_mut().context("config.yaml has no endpoints")? {
            (endpoint["baseUrl"], endpoint["tls"]) = (json!(cloud.base_url()), json!({ "caFile": cloud.ca_file() }));
        }
        let (id, secret) = (folder.join("access-key-id"), folder.join("access-key-secret"));
        fs::write(&id, KEY_ID)?;
        fs::write(&secret, KEY_SECRET)?;
        let key = json!({ "idFile": id, "secretFile": secret });
        config["credentials"][0]["acs3"] = json!({ "region": REGION, "accessKey": key });
        Ok(())
    }

    /// As policies write it: `ecs:DescribeInstances`.
    fn asked(request: &Recorded) -> String {
        request.path.trim_start_matches('/').replace('/', ":")
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        let balancers = Self::built(account).into_iter().map(|built| {
            let short: String = built.name.chars().take(9).collect();
            let ports: Vec<String> = built.ports.iter().map(ToString::to_string).collect();
            let ports = if ports.is_empty() { "no port".to_owned() } else { ports.join(", ") };
            let machines: Vec<String> = built.machines.iter().map(|it| machine_id(*it)).collect();
            (format!("load balancer {short}…"), format!("listens on {ports}, for {}", machines.join(", ")))
        });
        let routes = account.with(|world| {
            let leads = |(to, route): (&str, &Value)| {
                let hop = text(&route["NextHops"]["NextHop"][0], "NextHopId");
                (format!("route {to}"), format!("is {}: it leads to {hop}", text(route, "Status")))
            };
            of_pods(world).map(leads).collect::<Vec<_>>()
        });
        balancers.chain(routes).collect()
    }

    fn routes(account: &Assets) -> usize {
        account.with(|world| of_pods(world).filter(|(_, it)| it["Status"] == "Available").count())
    }
}

/// Entries of the route table, with their destinations.
fn of_pods(world: &World) -> impl Iterator<Item = (&str, &Value)> {
    world.routes.all().map(|(_, it)| (text(it, "DestinationCidrBlock"), it))
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
