//! DigitalOcean.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tests::clouds::digitalocean::{
    ActionTime, Assets, Behaviour, Creation, Droplet, LoadBalancer, LoadBalancerStatus, Options, Simulator, Volume,
};
use tests::vendor::DigitalOcean;

use super::{BUILDING, LATENCY, Shown, ShownVolumes, disks};
use crate::cloud::{cut, machine};

/// How long an action on a volume takes.
const ACTION: Duration = Duration::from_secs(1);

impl Shown for DigitalOcean {
    const COMMAND: &'static str = "make demo";
    const MACHINE: &'static str = "droplet";
    const REALLY: &'static str = "at DigitalOcean, it takes a minute or two";
    const SERVED: &'static str = ", of which the cloud took 5.";
    const CONFIG_MAP: &'static str = "digitalocean-provider";
    const VOLUMES: Option<ShownVolumes> = Some(disks::DIGITALOCEAN);

    async fn open(machines: u8) -> Result<Simulator> {
        let load_balancers = Behaviour { creation: Creation::Takes(BUILDING), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, load_balancers, ..Options::default() }).await?;
        cloud.volumes().behave(|it| it.action = ActionTime::Takes(ACTION));
        for number in 1..=machines {
            cloud.droplets().insert(
                Droplet::new(machine(number), &Self::node(number))
                    .size("s-2vcpu-4gb")
                    .region("fra1")
                    .private_v4([Ipv4Addr::new(10, 114, 0, number)])
                    .public_v4([Ipv4Addr::new(203, 0, 113, number)]),
            );
        }
        Ok(cloud)
    }

    fn provider(_: &Simulator) -> Value {
        let written =
            ["kubernetes.digitalocean.com/load-balancer-id", "service.beta.kubernetes.io/do-loadbalancer-type"];
        json!({ "settings": { "pollInterval": "1s" }, "writesAnnotations": written })
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        let all = account.load_balancers().all().into_iter();
        let mut states: BTreeMap<_, _> = all.map(|it| (format!("load balancer {}", it.id), state(&it))).collect();
        let volumes = account.volumes().all().into_iter();
        states.extend(volumes.map(|it| (format!("volume {}", it.id), state_of_volume(&it))));
        states
    }
}

fn state_of_volume(volume: &Volume) -> String {
    let Volume { name, size_gigabytes, droplet, .. } = volume;
    let place = droplet.map_or("at no droplet".to_owned(), |it| format!("at droplet {it}"));
    format!("has {size_gigabytes} GiB, the name {}, and is {place}", cut(name))
}

fn state(load_balancer: &LoadBalancer) -> String {
    let attributes = &load_balancer.attributes;
    let rules = attributes.forwarding_rules.iter().map(|it| format!("{} to {}", it.entry_port, it.target_port));
    let targets = attributes.droplet_ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let serves = format!("{}; droplets {targets}", rules.collect::<Vec<_>>().join(", "));
    match (load_balancer.status, load_balancer.ip) {
        (LoadBalancerStatus::New, _) => "is new: being built".to_owned(),
        (LoadBalancerStatus::Active, Some(ip)) => format!("is active at {ip}: {serves}"),
        (LoadBalancerStatus::Active, None) => format!("is active: {serves}"),
        (LoadBalancerStatus::Errored, _) => "is errored".to_owned(),
    }
}
