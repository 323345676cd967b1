//! Google Cloud: tokens that a key signs itself, load balancers of many parts, each with an operation of its own, and routes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::clouds::gcp::{
    Assets, Behaviour, Collection, KEY, OperationTime, Options, PROJECT, Place, Simulator, World, link,
};
use tests::simulator::Recorded;
use tests::vendor::{GoogleCloud, Vendor as _};

use super::{LATENCY, Shown, ShownVolumes, disks};
use crate::cloud::machine;

/// How long each operation takes: a load balancer is made in four steps.
const OPERATION: Duration = Duration::from_millis(1_250);

impl Shown for GoogleCloud {
    const COMMAND: &'static str = "make demo CLOUD=gcp";
    const JUDGE: &'static str = "every request and answer is checked against Google's API description";
    const MACHINE: &'static str = "instance";
    const REALLY: &'static str = "its steps come one after the other, and the operations of each run side by side";
    const SERVED: &'static str = ", and no worker waited for an operation: their names were the memo.";
    const SHORTENED: &'static str = "unready nodes are looked at every second (usually every 5 s)";
    const CONFIG_MAP: &'static str = "gcp-provider";
    const VOLUMES: Option<ShownVolumes> = Some(disks::GCP);
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour = Behaviour { operations: OperationTime::Time(OPERATION), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, behaviour, ..Options::default() }).await?;
        cloud.with(World::build_plain);
        for number in 1..=machines {
            Self::add_machine(cloud.account(), machine(number), &Self::node(number));
        }
        Ok(cloud)
    }

    /// With the number of its machine, by which target pools are shown.
    fn node(number: u8) -> String {
        format!("node-{}", machine(number))
    }

    fn machine(id: u64) -> String {
        format!("node-{id}")
    }

    /// The path of a machine in the project.
    fn node_id(id: u64) -> String {
        Place::zone(PROJECT, disks::GCP.place.1).path(Collection::Instances, &Self::machine(id))
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("10.244.{number}.0/24"))
    }

    /// The list of all zones: instances are read one by one in theirs.
    fn attacked() -> String {
        "aggregated/instances".to_owned()
    }

    /// As it is shipped, in the simulated project.
    fn provider(_: &Simulator) -> Value {
        let mut provider = shipped()["provider"].take();
        provider["settings"] = Self::SETTINGS.iter().copied().collect();
        // By which firewalls choose the simulated machines.
        provider["settings"]["nodeTags"] = json!("k8s-node");
        provider
    }

    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        for endpoint in config["endpoints"].as_array_mut().context("config.yaml has no endpoints")? {
            endpoint["baseUrl"] = json!(cloud.project_url(PROJECT));
            endpoint["tls"] = json!({ "caFile": cloud.ca_file() });
        }
        let key = folder.join("google-key.json");
        fs::write(&key, KEY)?;
        config["credentials"][0]["google"] = json!({ "serviceAccountKey": { "file": key } });
        Ok(())
    }

    /// Collections, and `{name}` for what is in them.
    fn asked(request: &Recorded) -> String {
        let path = request.path.strip_prefix(Self::BASE).unwrap_or(&request.path);
        let path = if path.is_empty() { "/" } else { path };
        let is_collection = |it: &&str| *it == "operations" || Collection::ALL.iter().any(|all| all.many() == *it);
        let mut is_name = false;
        let parts = path.split('/').map(|part| {
            let shown = if is_name { "{name}" } else { part };
            is_name = !is_name && is_collection(&part);
            shown
        });
        format!("{:<6} {}", request.method.as_str(), parts.collect::<Vec<_>>().join("/"))
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        account.with(|world| {
            let rules = world.all(Collection::ForwardingRules).map(|(_, it)| {
                (
                    format!("rule {}", short(it)),
                    format!("passes {} at {}", text(it, "portRange"), text(it, "IPAddress")),
                )
            });
            let addresses = world
                .all(Collection::Addresses)
                .map(|(_, it)| (format!("address {}", short(it)), format!("{} is held", text(it, "address"))));
            let pools = world.all(Collection::TargetPools).map(|(_, it)| {
                let machines = it["instances"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let machines: Vec<_> = machines.filter_map(|it| it.rsplit('/').next()).collect();
                (format!("pool {}", short(it)), format!("has {}", machines.join(", ")))
            });
            let firewalls = world.all(Collection::Firewalls).map(|(_, it)| {
                let allowed =
                    it["allowed"].as_array().into_iter().flatten().flat_map(|it| it["ports"].as_array()).flatten();
                let ports: Vec<_> = allowed.filter_map(Value::as_str).collect();
                (format!("firewall {}", short(it)), format!("lets ports {} in", ports.join(", ")))
            });
            let checks = world
                .all(Collection::HttpHealthChecks)
                .map(|(_, it)| (format!("check {}", short(it)), format!("asks port {}", it["port"])));
            let routes = world.all(Collection::Routes).map(|(_, it)| {
                let hop = text(it, "nextHopInstance").rsplit('/').next().unwrap_or_default();
                (format!("route {}", text(it, "destRange")), format!("leads to {hop}"))
            });
            let disks = world.all(Collection::Disks).map(|(path, it)| disk(world, path, it));
            rules.chain(addresses).chain(pools).chain(firewalls).chain(checks).chain(routes).chain(disks).collect()
        })
    }

    fn routes(account: &Assets) -> usize {
        account.with(|world| world.all(Collection::Routes).count())
    }
}

/// A disk, and the instance that has it.
fn disk(world: &World, path: &str, it: &Value) -> (String, String) {
    let source = json!(link(path));
    let has = |it: &Value| it["disks"].as_array().into_iter().flatten().any(|it| it["source"] == source);
    let instance = world.all(Collection::Instances).find(|(_, it)| has(it));
    let place = instance.map_or("at no instance".to_owned(), |(_, it)| format!("at {}", text(it, "name")));
    (format!("disk {}", text(it, "name")), format!("has {} GB, and is {place}", text(it, "sizeGb")))
}

/// The shipped config.
fn shipped() -> Value {
    tests::vendor::manifest::cloud_config(GoogleCloud::MANIFEST)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// The name without most of the UID in it.
fn short(object: &Value) -> String {
    let cut = |part: &str| match part.len() {
        32 => format!("{}…", &part[..9]),
        _ => part.to_owned(),
    };
    text(object, "name").split('-').map(cut).collect::<Vec<_>>().join("-")
}
