//! DigitalOcean.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::Result;
use serde_json::{Value, json};
use tests::clouds::digitalocean::{
    Assets, Behaviour, Creation, Droplet, LoadBalancer, LoadBalancerStatus, Options, Simulator,
};
use tests::vendor::DigitalOcean;

use super::{BUILDING, LATENCY, Shown};
use crate::cloud::machine;

impl Shown for DigitalOcean {
    const COMMAND: &'static str = "make demo";
    const MACHINE: &'static str = "droplet";
    const REALLY: &'static str = "at DigitalOcean, it takes a minute or two";
    const SERVED: &'static str = ", of which the cloud took 5.";
    const CONFIG_MAP: &'static str = "digitalocean-provider";

    async fn open(machines: u8) -> Result<Simulator> {
        let load_balancers = Behaviour { creation: Creation::Takes(BUILDING), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, load_balancers, ..Options::default() }).await?;
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
        all.map(|it| (format!("load balancer {}", it.id), state(&it))).collect()
    }
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
