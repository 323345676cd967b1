//! Hetzner.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use serde_json::json;

use crate::clouds::hetzner::{self, Assets, LoadBalancer, Network, Options, Server, Simulator, Taking, Target};
use crate::control_plane::Cluster;
use crate::guests;
use crate::operator::Setup;
use crate::simulator::Fault;

use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Readdresses, Vendor, node_port, uid};
use super::manifest;

/// The vendor's label for the Service that a load balancer is for.
const SERVICE: &str = "hcloud-ccm/service-uid";

/// The annotation that says what ports speak.
const PROTOCOL: &str = "load-balancer.hetzner.cloud/protocol";

/// The name of the cluster's network. The other project has one that is called so, too.
pub const NETWORK: &str = "cluster";
/// The id of the cluster's network.
pub const NETWORK_ID: u64 = 4_711;
const OTHER_NETWORK_ID: u64 = 9_004_711;

/// The vendor, with its provider and its simulated cloud.
#[derive(Debug)]
pub struct Hetzner;

impl Vendor for Hetzner {
    type Cloud = Assets;

    const MACHINES: &'static str = "/v1/servers";
    const LOAD_BALANCERS: &'static str = "/v1/load_balancers";
    const MODULE: &'static str = guests::HETZNER;
    const MANIFEST: &'static str = include_str!("../../../deploy/hetzner/config.yaml");
    const PAGE: &'static str = "hetzner/README.md";
    const ENDPOINT: &'static str = "hcloud";
    const BASE: &'static str = "/v1";
    /// The cluster's network, and where its load balancers are.
    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("network", NETWORK), ("loadBalancers.location", "fsn1"), ("loadBalancers.type", "lb11")];
    const NAMEABLE: &'static [(&'static str, &'static str)] = &[("loadBalancers.allowedCertificates", "*")];
    const PROVIDER_ID: &'static str = "hcloud://";
    const PREFIX: &'static str = "load-balancer.hetzner.cloud/";
    const ID: &'static str = "load-balancer.hetzner.cloud/id";
    const NAME: &'static str = "load-balancer.hetzner.cloud/name";
    const HOSTNAME: &'static str = "load-balancer.hetzner.cloud/hostname";
    const SECOND_PORT: &'static [&'static str] =
        &["PUT /v1/load_balancers/{id} → 200", "POST /v1/load_balancers/{id}/actions/add_service → 201"];

    /// Names are unique in every project.
    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let creation = match creation {
            Creation::Takes(time) => Taking::Time(time),
            Creation::Reads(count) => Taking::Reads(count),
        };
        let behaviour = hetzner::Behaviour { creation, lists_late_by, ..Default::default() };
        let cloud = Simulator::start(Options { behaviour, ..Options::default() }).await?;
        cloud.networks().insert(Network::new(NETWORK_ID, NETWORK));
        cloud.other_account().networks().insert(Network::new(OTHER_NETWORK_ID, NETWORK));
        Ok(cloud)
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        let mut setup = Setup::guest(cluster, guests::HETZNER);
        let mut shipped = manifest::cloud_config(Self::MANIFEST);
        setup.config["endpoints"] = shipped["endpoints"].take();
        setup.config["endpoints"][0]["baseUrl"] = json!(Self::base_url(cloud));
        setup.config["endpoints"][0]["tls"] = json!({ "caFile": cloud.ca_file() });
        setup.config["credentials"] = shipped["credentials"].take();
        let token = setup.folder.write("token", format!("{}\n", cloud.token));
        setup.config["credentials"][0]["bearer"]["file"] = json!(token);
        setup.config["provider"]["settings"] = Self::SETTINGS.iter().chain(Self::NAMEABLE).copied().collect();
        setup
    }

    fn worker(id: u8) -> Node {
        let address = |kind, value| Address { kind, value };
        let (public, private) = (format!("198.18.0.{id}"), format!("10.0.0.{}", id + 1));
        Node {
            name: format!("web-{id}"),
            provider_id: Some(format!("{}{id}", Self::PROVIDER_ID)),
            extra: vec![("public-ipv4".to_owned(), public.clone()), ("private-ipv4".to_owned(), private.clone())],
            addresses: vec![address(AddressKind::ExternalIp, public), address(AddressKind::InternalIp, private)],
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        // The first address is the network's own.
        let [.., high, low] = (id + 1).to_be_bytes();
        let ip = Ipv4Addr::new(10, 0, high, low);
        account.servers().insert(Server::new(id, name).private(network(account), ip));
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.servers().remove(id);
    }

    fn hide_machine(account: &Assets, id: u64) {
        account.servers().update(id, |it| it.listed = false);
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.behave(|it| it.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.behave(|it| it.limit = Some(load_balancers));
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.load_balancers().all().into_iter().map(built).collect()
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        let id = 4_000_001;
        account.load_balancers().insert(LoadBalancer::new(id, name));
        id.to_string()
    }

    fn remove_built(account: &Assets, id: &str) {
        account.load_balancers().remove(number(id));
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.load_balancers().update(number(id), |it| it.targets.clear());
    }

    /// As with a setting about health checks: they speak what the port does.
    fn leave_behind(account: &Assets, service: &Service, left: Left<'_>) -> LeftBehind {
        let id = 5_000_001 + account.load_balancers().all().len() as u64;
        let (name, host) = match left {
            Left::Plain => (Self::default_name(uid(service)), None),
            Left::Named(name) => (name.to_owned(), None),
            Left::Hosted(name, host) => (name.to_owned(), Some(host)),
        };
        let last = u8::try_from(id % 100).expect("it is below 100");
        let speaks_http = service.annotations().get(PROTOCOL).is_some_and(|it| it == "http");
        let of_port = if speaks_http { hetzner::Service::http } else { hetzner::Service::tcp };
        let load_balancer = LoadBalancer {
            services: vec![of_port(80, node_port(service))],
            targets: vec![Target::server(1), Target::server(2)],
            private_net: Some((NETWORK_ID, Ipv4Addr::new(10, 0, 200, last))),
            ..LoadBalancer::new(id, &name).label(SERVICE, uid(service))
        };
        let ingress = match host {
            Some(host) => json!([{ "hostname": host }]),
            None => addresses(&load_balancer).into_iter().map(|ip| json!({ "ip": ip, "ipMode": "VIP" })).collect(),
        };
        account.load_balancers().insert(load_balancer);
        LeftBehind { id: id.to_string(), annotations: json!({}), ingress }
    }

    fn unmark(account: &Assets, id: &str) {
        account.load_balancers().update(number(id), |it| it.labels.clear());
    }

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        match &built.owner {
            Some(owner) if owner == uid(service) => Ok(()),
            other => Err(format!("the label {SERVICE} is {other:?}")),
        }
    }

    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    fn refusal(message: &str) -> String {
        json!({ "error": { "code": "invalid_input", "message": message, "details": null } }).to_string()
    }

    fn busy(method: &str, path: &str) -> Fault {
        Fault::status(method, path, 423)
    }

    /// The cloud says when its bucket is full again.
    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("ratelimit-remaining", "0").reset("ratelimit-reset", pause)
    }
}

impl Readdresses for Hetzner {
    fn readdress(account: &Assets, id: u64, ip: Ipv4Addr) {
        account.servers().update(id, |it| it.ipv4 = Some(ip));
    }
}

/// The network of the machines in a project.
fn network(account: &Assets) -> u64 {
    if account.networks().get(NETWORK_ID).is_some() { NETWORK_ID } else { OTHER_NETWORK_ID }
}

fn number(id: &str) -> u64 {
    id.parse().expect("ids of load balancers are numbers")
}

fn built(it: LoadBalancer) -> Built {
    let mut ports = Vec::from_iter(it.services.iter().map(|it| it.listen_port));
    let mut machines = Vec::from_iter(it.targets.iter().filter_map(Target::server_id));
    ports.sort_unstable();
    machines.sort_unstable();
    Built {
        id: it.id.to_string(),
        ports,
        machines,
        addresses: addresses(&it),
        serves: it.ipv4.is_some(),
        owner: it.labels.get(SERVICE).cloned(),
        name: it.name,
    }
}

/// The addresses in a Service's status: the public ones, and the one in the network.
fn addresses(it: &LoadBalancer) -> Vec<String> {
    let public = it.ipv4.map(IpAddr::V4).into_iter().chain(it.ipv6.map(IpAddr::V6)).filter(|_| it.public);
    let private = it.private_net.map(|(_, ip)| IpAddr::V4(ip));
    public.chain(private).map(|it| it.to_string()).collect()
}
