//! IBM Cloud: tokens that IAM gives for an API key, and load balancers that one request makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::clouds::ibm::{API_KEY, Assets, Behaviour, Options, Simulator, Taking, VpcKind, World, machine_id};
use tests::simulator::Recorded;
use tests::vendor::{IbmCloud, Vendor as _, ibm};

use super::{BUILDING, LATENCY, Shown};
use crate::cloud::machine;

impl Shown for IbmCloud {
    const COMMAND: &'static str = "make demo CLOUD=ibm";
    const JUDGE: &'static str =
        "every request and answer is checked against the description that the vendor's SDK was made from";
    const MACHINE: &'static str = "instance";
    const REALLY: &'static str = "three to ten minutes";
    const SERVED: &'static str = ", of which the cloud took 5: one request made it with everything in it.";
    const CONFIG_MAP: &'static str = "ibm-provider";

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour = Behaviour { creation: Taking::Time(BUILDING), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, behaviour, ..Options::default() }).await?;
        cloud.with(World::build_plain);
        for number in 1..=machines {
            Self::add_machine(cloud.account(), machine(number), &Self::node(number));
        }
        Ok(cloud)
    }

    fn machine(id: u64) -> String {
        machine_id(u32::try_from(id).unwrap_or_default())
    }

    fn provider(_: &Simulator) -> Value {
        let mut provider = tests::vendor::manifest::cloud_config(Self::MANIFEST)["provider"].take();
        provider["settings"] = Self::SETTINGS.iter().chain(Self::FAST).copied().collect();
        provider
    }

    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        let tls = json!({ "caFile": cloud.ca_file() });
        for endpoint in config["endpoints"].as_array_mut().context("config.yaml has no endpoints")? {
            endpoint["baseUrl"] = json!(cloud.vpc_url());
            endpoint["tls"] = tls.clone();
        }
        let key = folder.join("api-key");
        fs::write(&key, API_KEY)?;
        config["credentials"][0]["ibmIam"] = json!({
            "apiKey": { "file": key }, "baseUrl": cloud.base_url(), "tls": tls, "addresses": ["127.0.0.0/8"],
        });
        Ok(())
    }

    fn is_providers(request: &Recorded) -> bool {
        !ibm::is_for_a_token(request)
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        account.with(|world| {
            let all = world.all(VpcKind::LoadBalancer);
            all.map(|it| (format!("load balancer {}", text(it, "name")), balancer(world, it))).collect()
        })
    }
}

fn balancer(world: &World, it: &Value) -> String {
    let of = |kind: VpcKind| world.all(kind).filter(|part| part["balancer"] == it["id"]);
    let ports: Vec<_> = of(VpcKind::Listener).map(|it| it["port"].to_string()).collect();
    let members: Vec<_> = of(VpcKind::Member).map(|it| text(it, "address")).collect();
    format!("{}: it listens on {}, for {}", text(it, "provisioning_status"), ports.join(", "), members.join(", "))
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
