//! DigitalOcean.

use std::net::Ipv4Addr;
use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::json;

use crate::clouds::digitalocean::{
    self, Assets, Attributes, Droplet, ForwardingRule, HealthCheck, LoadBalancer, LoadBalancerStatus, Options,
    Simulator,
};
use crate::control_plane::{Cluster, FIRST_PAGE};
use crate::guests;
use crate::operator::Setup;
use crate::simulator::Fault;

use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Readdresses, Vendor, node_port, uid};

/// The vendor's annotation for the id of a load balancer.
pub const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
/// The vendor's annotation for the type of a load balancer.
pub const TYPE: &str = "service.beta.kubernetes.io/do-loadbalancer-type";

/// The vendor, with its provider and its simulated cloud.
#[derive(Debug)]
pub struct DigitalOcean;

impl Vendor for DigitalOcean {
    type Cloud = Assets;

    const MACHINES: &'static str = "/v2/droplets";
    const LOAD_BALANCERS: &'static str = "/v2/load_balancers";
    const MODULE: &'static str = guests::DIGITALOCEAN;
    const MANIFEST: &'static str = include_str!("../../../deploy/config.yaml");
    const PAGE: &'static str = FIRST_PAGE;
    const ENDPOINT: &'static str = "api";
    const SETTINGS: &'static [(&'static str, &'static str)] = &[];
    const NAMEABLE: &'static [(&'static str, &'static str)] =
        &[("allowedCertificates", "*"), ("allowedReservedIPs", "*")];
    const PROVIDER_ID: &'static str = "digitalocean://";
    const PREFIX: &'static str = "service.beta.kubernetes.io/do-loadbalancer-";
    const ID: &'static str = ID;
    const NAME: &'static str = "service.beta.kubernetes.io/do-loadbalancer-name";
    const HOSTNAME: &'static str = "service.beta.kubernetes.io/do-loadbalancer-hostname";
    const SECOND_PORT: &'static [&'static str] = &["PUT /v2/load_balancers/{id} → 200"];

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique, has_other_account: _ } = behaviour;
        let creation = match creation {
            Creation::Takes(time) => digitalocean::Creation::Takes(time),
            Creation::Reads(count) => digitalocean::Creation::Reads(count),
        };
        let load_balancers =
            digitalocean::Behaviour { creation, lists_late_by, names_are_unique, ..Default::default() };
        Simulator::start(Options { load_balancers, ..Options::default() }).await
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        let mut setup = Setup::digitalocean(cluster, cloud);
        setup.config["provider"]["settings"] = Self::NAMEABLE.iter().copied().collect();
        setup
    }

    fn worker(id: u8) -> Node {
        let address = |kind, value| Address { kind, value };
        Node {
            name: format!("web-{id}"),
            provider_id: Some(format!("{}{id}", Self::PROVIDER_ID)),
            addresses: vec![
                address(AddressKind::InternalIp, format!("10.0.0.{id}")),
                address(AddressKind::ExternalIp, format!("198.18.0.{id}")),
            ],
            region: Some("fra1".to_owned()),
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        account.droplets().insert(Droplet::new(id, name));
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.droplets().remove(id);
    }

    fn hide_machine(account: &Assets, id: u64) {
        account.droplets().update(id, |it| it.listed = false);
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.load_balancers().behave(|it| it.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.load_balancers().behave(|it| it.limit = Some(load_balancers));
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.load_balancers().all().into_iter().map(built).collect()
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        account.load_balancers().insert(LoadBalancer::new(&id, name));
        id
    }

    fn remove_built(account: &Assets, id: &str) {
        account.load_balancers().remove(id);
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.load_balancers().update(id, |it| it.attributes.droplet_ids.clear());
    }

    fn leave_behind(account: &Assets, service: &Service, left: Left<'_>) -> LeftBehind {
        let id = uuid::Uuid::new_v4().to_string();
        let (name, host) = match left {
            Left::Plain => (Self::default_name(uid(service)), None),
            Left::Named(name) => (name.to_owned(), None),
            Left::Hosted(name, host) => (name.to_owned(), Some(host)),
        };
        // Its newer controllers build network load balancers, unless an annotation says otherwise.
        let (kind, target) = match host {
            None => ("REGIONAL_NETWORK", 80),
            Some(_) => ("REGIONAL", u32::from(node_port(service))),
        };
        let attributes = Attributes {
            kind: kind.to_owned(),
            health_check: HealthCheck {
                protocol: "http".to_owned(),
                port: 10_256,
                path: "/healthz".to_owned(),
                check_interval_seconds: 3,
                response_timeout_seconds: 5,
                unhealthy_threshold: 3,
                healthy_threshold: 5,
                proxy_protocol: Some(false),
            },
            droplet_ids: vec![1, 2],
            ..Attributes::new(&name, "fra1", vec![ForwardingRule::new("tcp", 80, "tcp", target)])
        };
        let load_balancer = LoadBalancer { attributes, ..LoadBalancer::new(&id, &name) };
        let ip = load_balancer.ip.map(|it| it.to_string());
        account.load_balancers().insert(load_balancer);
        let shown = host.map_or_else(|| json!({ "ip": ip }), |host| json!({ "hostname": host }));
        LeftBehind { annotations: json!({ ID: id, TYPE: kind }), ingress: json!([shown]), id }
    }

    /// Nothing that the cloud shows of it says so.
    fn unmark(_: &Assets, _: &str) {}

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        let said = [ID, TYPE].map(|it| service.annotations().get(it).map(String::as_str));
        if said == [Some(built.id.as_str()), Some("REGIONAL_NETWORK")] { Ok(()) } else { Err(format!("{said:?}")) }
    }

    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    fn refusal(message: &str) -> String {
        json!({ "id": "unprocessable_entity", "message": message }).to_string()
    }

    fn busy(method: &str, path: &str) -> Fault {
        let body = json!({ "id": "forbidden", "message": "the load balancer processes previous actions" });
        Fault::status(method, path, 403).body(body.to_string())
    }

    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("retry-after", &pause.as_secs().to_string())
    }
}

impl Readdresses for DigitalOcean {
    fn readdress(account: &Assets, id: u64, ip: Ipv4Addr) {
        account.droplets().update(id, |it| it.public_v4 = vec![ip]);
    }
}

fn built(it: LoadBalancer) -> Built {
    let rules = it.attributes.forwarding_rules.iter().filter_map(|it| u16::try_from(it.entry_port).ok());
    let (mut ports, mut machines) = (Vec::from_iter(rules), it.attributes.droplet_ids.clone());
    ports.sort_unstable();
    machines.sort_unstable();
    Built {
        id: it.id,
        name: it.attributes.name,
        ports,
        machines,
        addresses: it.ip.iter().map(ToString::to_string).collect(),
        serves: it.status == LoadBalancerStatus::Active,
        owner: None,
    }
}
