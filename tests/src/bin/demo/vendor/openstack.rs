//! OpenStack: tokens of Keystone, services where its catalogue leads, load balancers with floating IPs, routes of a router.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::clouds::openstack::{
    APPLICATION_CREDENTIAL, Assets, Behaviour, Kind, Options, SECRET, Simulator, Taking, World,
};
use tests::simulator::Recorded;
use tests::vendor::openstack::server;
use tests::vendor::{OpenStack, Vendor as _};

use super::{BUILDING, LATENCY, Shown, ShownVolumes, disks};
use crate::cloud::{cut, machine};

/// How long a change of a volume takes.
const VOLUME_CHANGE: Duration = Duration::from_secs(1);

/// The router of the simulated project.
const ROUTER: &str = "r1";

impl Shown for OpenStack {
    const COMMAND: &'static str = "make demo CLOUD=openstack";
    const JUDGE: &'static str = "every request and answer is checked against the services' API descriptions";
    const MACHINE: &'static str = "server";
    const REALLY: &'static str = "with amphorae, it takes a minute or two";
    const SERVED: &'static str = ", of which the cloud took 5; then it got a floating IP.";
    const CONFIG_MAP: &'static str = "openstack-provider";
    const VOLUMES: Option<ShownVolumes> = Some(disks::OPENSTACK);
    const ROUTES: &'static str =
        "Each network of pods has a route to its node, and the node's port lets its packets through.";
    const FLAGS: &'static [&'static str] = &["--cluster-cidr=10.244.0.0/16"];

    async fn open(machines: u8) -> Result<Simulator> {
        let behaviour = Behaviour {
            provisioning: Taking::Time(BUILDING),
            volume_changes: Taking::Time(VOLUME_CHANGE),
            ..Behaviour::default()
        };
        let cloud = Simulator::start(Options { latency: LATENCY, behaviour, ..Options::default() }).await?;
        cloud.account().with(|world| {
            world.build_plain();
            for number in 1..=machines {
                let id = server(machine(number));
                world.add_node(number.into(), &Self::node(number), Some(&id));
            }
        });
        Ok(cloud)
    }

    fn machine(id: u64) -> String {
        server(id)
    }

    fn pods(number: u8) -> Option<String> {
        Some(format!("10.244.{number}.0/24"))
    }

    fn provider(cloud: &Simulator) -> Value {
        let mut settings: Value = Self::SETTINGS.iter().copied().collect();
        settings["pollInterval"] = json!("1s");
        settings["routerID"] = json!(cloud.account().with(|world| world.named(Kind::Router, ROUTER)));
        let written = [Self::ID, "loadbalancer.openstack.org/load-balancer-address"];
        json!({ "settings": settings, "writesAnnotations": written })
    }

    /// Keystone's are the host's own.
    fn is_providers(request: &Recorded) -> bool {
        !request.path.starts_with("/identity/")
    }

    fn attacked() -> String {
        "servers/detail".to_owned()
    }

    fn lead(config: &mut Value, cloud: &Simulator, folder: &Path) -> Result<()> {
        let ca_file = json!({ "caFile": cloud.ca_file() });
        for endpoint in config["endpoints"].as_array_mut().context("config.yaml has no endpoints")? {
            endpoint["origins"] = json!([cloud.base_url()]);
            endpoint["tls"] = ca_file.clone();
        }
        let [id, secret] = ["id", "secret"].map(|it| folder.join(it));
        fs::write(&id, APPLICATION_CREDENTIAL)?;
        fs::write(&secret, SECRET)?;
        let keystone = &mut config["credentials"][0]["keystone"];
        (keystone["baseUrl"], keystone["tls"]) = (json!(cloud.keystone()), ca_file);
        keystone["applicationCredential"] = json!({ "idFile": id, "secretFile": secret });
        Ok(())
    }

    fn states(account: &Assets) -> BTreeMap<String, String> {
        account.with(|world| {
            let balancers = world
                .all(Kind::LoadBalancer)
                .map(|it| (format!("load balancer {}", text(it, "id")), balancer(world, it)));
            let floating = world.all(Kind::FloatingIp).map(|address| {
                (
                    format!("floating IP {}", text(address, "floating_ip_address")),
                    format!("leads to {}", text(address, "fixed_ip_address")),
                )
            });
            let routes = routes(world).into_iter().map(|(to, hop)| (format!("route {to}"), format!("leads to {hop}")));
            let volumes = world.all(Kind::Volume).map(|it| (format!("volume {}", text(it, "id")), volume(it)));
            balancers.chain(floating).chain(routes).chain(volumes).collect()
        })
    }

    fn routes(account: &Assets) -> usize {
        account.with(|world| routes(world).len())
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

fn balancer(world: &World, it: &Value) -> String {
    let id = text(it, "id");
    let listeners = world.all(Kind::Listener).filter(|it| text(it, "_balancer") == id);
    let ports: Vec<_> = listeners.map(|it| it["protocol_port"].to_string()).collect();
    let status = text(it, "provisioning_status");
    format!(
        "is at {}: {status}; it listens on {}",
        text(it, "vip_address"),
        if ports.is_empty() { "no port".to_owned() } else { ports.join(", ") }
    )
}

fn volume(it: &Value) -> String {
    let place = it["_server"].as_str().map_or("at no server".to_owned(), |it| format!("at server {it}"));
    format!("has {} GiB, the name {}, and is {} {place}", it["size"], cut(text(it, "name")), text(it, "status"))
}

/// Routes of pods, by their networks.
fn routes(world: &World) -> BTreeMap<String, String> {
    let router = world.named(Kind::Router, ROUTER);
    let routes = world.get(Kind::Router, &router).and_then(|it| it["routes"].as_array().cloned()).unwrap_or_default();
    routes.iter().map(|it| (text(it, "destination").to_owned(), text(it, "nexthop").to_owned())).collect()
}
