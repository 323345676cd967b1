//! Hetzner: the cloud that has routes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tests::clouds::hetzner::{
    Assets, Behaviour, LoadBalancer, Network, Options, Server, Simulator, Taking, Target, Volume,
};
use tests::vendor::hetzner::{NETWORK, NETWORK_ID};
use tests::vendor::{Hetzner, Vendor as _};

use super::{BUILDING, LATENCY, Shown, ShownVolumes, disks};
use crate::cloud::{cut, machine};

/// How long every action takes but the making of a load balancer. The network takes one at a time.
const ACTION: Duration = Duration::from_millis(500);

impl Shown for Hetzner {
    const COMMAND: &'static str = "make demo CLOUD=hetzner";
    const MACHINE: &'static str = "server";
    const REALLY: &'static str = "at Hetzner, it takes some seconds";
    const SERVED: &'static str = ", of which the cloud took 5.";
    const CONFIG_MAP: &'static str = "hetzner-provider";
    const VOLUMES: Option<ShownVolumes> = Some(disks::HETZNER);
    const ROUTES: &'static str = "Each network of pods has a route to its node, and the cloud took one at a time.";
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour =
            Behaviour { creation: Taking::Time(BUILDING), actions: Taking::Time(ACTION), ..Behaviour::default() };
        let cloud = Simulator::start(Options { latency: LATENCY, behaviour, ..Options::default() }).await?;
        cloud.networks().insert(Network::new(NETWORK_ID, NETWORK));
        for number in 1..=machines {
            cloud.servers().insert(
                Server::new(machine(number), &Self::node(number))
                    .ipv4(Some(Ipv4Addr::new(203, 0, 113, number)))
                    .private(NETWORK_ID, Ipv4Addr::new(10, 0, 0, 1 + number)),
            );
        }
        Ok(cloud)
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("10.244.{number}.0/24"))
    }

    fn provider(_: &Simulator) -> Value {
        let mut settings: Value = Self::SETTINGS.iter().copied().collect();
        settings["pollInterval"] = json!("1s");
        json!({ "settings": settings })
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        let all = account.load_balancers().all().into_iter();
        let mut states: BTreeMap<_, _> = all.map(|it| (format!("load balancer {}", it.id), state(&it))).collect();
        let routes = account.networks().routes(NETWORK_ID).into_iter();
        states.extend(routes.map(|it| (format!("route {}", it.destination), format!("leads to {}", it.gateway))));
        let volumes = account.volumes().all().into_iter();
        states.extend(volumes.map(|it| (format!("volume {}", it.id), state_of_volume(&it))));
        states
    }

    fn routes(account: &Assets) -> usize {
        account.networks().routes(NETWORK_ID).len()
    }
}

fn state_of_volume(volume: &Volume) -> String {
    let Volume { name, size, server, .. } = volume;
    let place = server.map_or("at no server".to_owned(), |it| format!("at server {it}"));
    format!("has {size} GB, the name {}, and is {place}", cut(name))
}

fn state(it: &LoadBalancer) -> String {
    let services = it.services.iter().map(|it| format!("{} to {}", it.listen_port, it.destination_port));
    let targets = it.targets.iter().filter_map(Target::server_id).map(|it| it.to_string());
    let (services, targets) = (Vec::from_iter(services).join(", "), Vec::from_iter(targets).join(" "));
    match it.ipv4 {
        Some(ip) => format!("is at {ip}: {services}; servers {targets}"),
        None => "is new: being built".to_owned(),
    }
}
