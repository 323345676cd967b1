//! AWS: requests are signed, load balancers have host names, and security groups let them in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::clouds::aws::{Account, LoadBalancer, Options, Permission, RouteEntry, Simulator, State};
use tests::moto::REGION;
use tests::simulator::Recorded;
use tests::vendor::aws::{CLUSTER, instance, settings};
use tests::vendor::{Aws, Vendor as _};

use super::{BUILDING, LATENCY, Shown, ShownVolumes, disks};
use crate::cloud::{cut, machine};
use crate::hostile::{self, Attack};

/// How long a change of a volume takes, in seconds.
const VOLUME_CHANGE: u64 = 1;

/// The rights that the shipped policy gives the user, and those of the user for volumes.
const POLICY: &str = include_str!("../../../../../deploy/aws/policy.json");
const VOLUMES_POLICY: &str = include_str!("../../../../../deploy/aws/volumes-policy.json");

/// The beginning of pods' networks.
const PODS: &str = "10.244.";

impl Shown for Aws {
    const COMMAND: &'static str = "make demo CLOUD=aws";
    const JUDGE: &'static str =
        "moto's server judges signatures and rights, and AWS's SDK checks every request and answer";
    const MACHINE: &'static str = "instance";
    const GONE: &'static str = "is terminated";
    const PROOF: &'static str = "a complete list had no such instance that lives, and EC2, asked for it by its id, said that \
                                 it is terminated";
    const NAME_LENGTH: usize = "ip-172-31-0-11".len();
    const REALLY: &'static str = "at AWS, a Network Load Balancer takes two or three minutes";
    const SERVED: &'static str = ". AWS names the host at once and builds the load balancer meanwhile.";
    const SHORTENED: &'static str = "unready nodes are looked at every second (usually every 5 s)";
    const ANOTHER: &'static str = "a Classic Load Balancer: this Service asks for no other";
    const ATTACKS: &'static [Attack] = &hostile::ON_OPERATIONS;
    const CONFIG_MAP: &'static str = "aws-provider";
    const VOLUMES: Option<ShownVolumes> = Some(disks::AWS);
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let cloud = Simulator::start(Options { latency: LATENCY, ..Options::default() }).await?;
        let moto = cloud.moto();
        moto.order("prepare", &json!({ "cluster": CLUSTER }));
        cloud.behave(&json!({ "provisioning": BUILDING.as_secs(), "volume_changes": VOLUME_CHANGE }));
        for number in 1..=machines {
            let (id, address) = (instance(machine(number)), address(number));
            let machine = json!({ "id": id, "name": Self::node(number), "address": address, "cluster": CLUSTER });
            moto.order("machine", &machine);
        }
        Ok(cloud)
    }

    /// Its private DNS name, as EC2 makes it in this region.
    fn node(number: u8) -> String {
        format!("ip-{}.ec2.internal", address(number).replace('.', "-"))
    }

    fn machine(id: u64) -> String {
        instance(id)
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("{PODS}{number}.0/24"))
    }

    fn provider(cloud: &Simulator) -> Value {
        json!({ "settings": settings(cloud) })
    }

    /// With the key of a user who has the actions of the shipped policy, and no others: moto knows no conditions.
    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        lead_as("aerostat", POLICY, config, cloud, folder)
    }

    /// With another user, who has the actions of the policy for volumes.
    fn lead_beside(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        lead_as("aerostat-aws-ebs", VOLUMES_POLICY, config, cloud, folder)
    }

    fn states(account: &Account) -> BTreeMap<String, String> {
        let state = account.state();
        let balancers = state.network.iter().map(|it| (format!("load balancer {}", short(&it.name)), balancer(it)));
        let groups = state.targets.iter().map(|group| {
            let machines = if group.machines.is_empty() { "no instance".to_owned() } else { group.machines.join(" ") };
            (format!("target group {}", group.name), format!("leads to port {} of {machines}", group.port))
        });
        let routes = routes(&state).into_iter().map(|(to, machine)| (format!("route {to}"), machine.to_owned()));
        let rules = state.security.iter().flat_map(|group| {
            group
                .rules
                .iter()
                .map(|it| (format!("rule {}", rule(it)), format!("is in the security group {}", group.id)))
        });
        let volumes = account.moto().order("volumes", &json!({}));
        let volumes = volumes.as_array().into_iter().flatten().map(volume);
        balancers.chain(groups).chain(routes).chain(rules).chain(volumes).collect()
    }

    fn routes(account: &Account) -> usize {
        routes(&account.state()).len()
    }

    /// As policies write it: `ec2:DescribeInstances`.
    fn asked(request: &Recorded) -> String {
        request.path.trim_start_matches('/').replace('/', ":")
    }
}

/// Leads a shipped configuration to the simulated account, with the key of a user of this policy.
fn lead_as(user: &str, policy: &str, config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
    let file = folder.join("aws-credentials");
    if !file.exists() {
        let policy: Value = serde_json::from_str(policy)?;
        let statements = policy["Statement"].as_array().context("the policy has no statements")?;
        let actions = statements.iter().filter_map(|it| it["Action"].as_array()).flatten().filter_map(Value::as_str);
        let key = cloud.moto().user(user, &Vec::from_iter(actions));
        fs::write(&file, key.shared_file())?;
    }
    // The account has one VPC.
    let rules = config["endpoints"].to_string().replace("VPC-OF-THE-CLUSTER", "vpc-*");
    config["endpoints"] = serde_json::from_str(&rules.replace("ID-OF-THE-CLUSTER", CLUSTER))?;
    for endpoint in config["endpoints"].as_array_mut().context("the config has no endpoints")? {
        endpoint["baseUrl"] = json!(Aws::base_url(cloud));
        endpoint["tls"] = json!({ "caFile": cloud.ca_file() });
        endpoint["signing"]["region"] = json!(REGION);
    }
    config["credentials"][0]["sigv4"] = json!({ "region": REGION, "sharedFile": { "file": file } });
    Ok(())
}

/// The private address of a machine.
fn address(number: u8) -> String {
    format!("172.31.0.{}", 10 + number)
}

/// A volume, as `shown` in `tests/moto/aws/volumes.py` tells it.
fn volume(it: &Value) -> (String, String) {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let place = it["instances"][0].as_str().map_or("at no instance".to_owned(), |it| format!("at instance {it}"));
    let (name, state) = (text(&it["tags"]["CSIVolumeName"]), text(&it["state"]));
    let told = format!("has {} GiB, the name {}, and is {state} {place}", it["gibibytes"], cut(&name));
    (format!("volume {}", text(&it["id"])), told)
}

fn balancer(it: &LoadBalancer) -> String {
    let mut ports: Vec<_> = it.listeners.iter().map(|it| it.port).collect();
    ports.sort_unstable();
    let ports = Vec::from_iter(ports.iter().map(ToString::to_string)).join(", ");
    format!("is {}; it listens on {}", it.state, if ports.is_empty() { "no port" } else { &ports })
}

/// Routes of pods, and what they do.
fn routes(state: &State) -> BTreeMap<&str, String> {
    let leads = |route: &RouteEntry| match &route.instance {
        Some(instance) => format!("leads to {instance}"),
        None => format!("is a {}: its instance has ended", route.state),
    };
    let all = state.routes.iter().filter_map(|it| Some((it.destination.as_deref()?, leads(it))));
    all.filter(|(to, _)| to.starts_with(PODS)).collect()
}

/// The traffic that a rule lets in: `tcp 30080 from 0.0.0.0/0`, and why.
fn rule(it: &Permission) -> String {
    let ports = match it.ports {
        (Some(first), Some(last)) if first == last => format!(" {first}"),
        (Some(first), Some(last)) => format!(" {first}/{last}"),
        _ => String::new(),
    };
    let why = it.description.as_deref().and_then(|it| it.split('=').next());
    let why = why.map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{}{ports} from {}{why}", it.protocol, it.peer.as_deref().unwrap_or("nobody"))
}

/// The beginning of a load balancer's name, which holds a UID.
fn short(name: &str) -> String {
    format!("{}…", name.chars().take(9).collect::<String>())
}
