//! OpenStack.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::clouds::openstack::{
    self, APPLICATION_CREDENTIAL, ApplicationCredential, Assets, Kind, OTHER_PROJECT, Options, Owner, REGION, SECRET,
    Simulator, Taking, User, World,
};
use crate::control_plane::Cluster;
use crate::guests;
use crate::operator::Setup;
use crate::simulator::{Fault, Recorded};

use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, node_port};
use super::manifest;

/// The cluster's name where no flag says another.
const CLUSTER: &str = "kubernetes";
/// The application credential of the other project.
const OTHER_CREDENTIAL: &str = "6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b1a";
/// The secret of that one.
const OTHER_SECRET: &str = "secret-of-the-other-credential";

/// The vendor, with its provider and its simulated region.
#[derive(Debug)]
pub struct OpenStack;

impl Vendor for OpenStack {
    type Cloud = Assets;

    const MACHINES: &'static str = "/compute/v2.1/servers";
    const MACHINE_LISTS: &'static str = "/compute/v2.1/servers/detail";
    const LOAD_BALANCERS: &'static str = "/load-balancer/v2.0/lbaas/loadbalancers";
    const MODULE: &'static str = guests::OPENSTACK;
    const MANIFEST: &'static str = include_str!("../../../deploy/openstack/config.yaml");
    const PAGE: &'static str = "openstack/README.md";
    const ENDPOINT: &'static str = "load-balancer";
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("region", REGION)];
    const PROVIDER_ID: &'static str = "openstack:///";
    const PREFIX: &'static str = "loadbalancer.openstack.org/";
    const ID: &'static str = "loadbalancer.openstack.org/load-balancer-id";
    /// There is none: the name is the Service's.
    const NAME: &'static str = "";
    const HOSTNAME: &'static str = "loadbalancer.openstack.org/hostname";
    const SECOND_PORT: &'static [&'static str] = &[
        "POST /load-balancer/v2.0/lbaas/listeners → 201",
        "POST /load-balancer/v2.0/lbaas/pools → 201",
        "PUT /load-balancer/v2.0/lbaas/loadbalancers/{id} → 200",
    ];
    const NAMES: bool = false;

    /// Floating IPs and security groups are in another service.
    fn is_about_load_balancers(request: &Recorded) -> bool {
        let parts = ["/load-balancer/", "/network/v2.0/floatingips", "/network/v2.0/security-group"];
        parts.iter().any(|it| request.path.starts_with(it))
    }

    /// Floating IPs, security groups, and parts without a load balancer.
    fn leftovers(account: &Assets) -> Vec<String> {
        let named = |kind: Kind| {
            let all = account.all(kind).into_iter();
            all.map(move |it| format!("{kind:?} {} {}", text(&it, "name"), text(&it, "description")))
        };
        [Kind::FloatingIp, Kind::SecurityGroup, Kind::Listener, Kind::Pool].into_iter().flat_map(named).collect()
    }

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let provisioning = match creation {
            Creation::Takes(time) => Taking::Time(time),
            Creation::Reads(count) => Taking::Reads(count),
        };
        let behaviour = openstack::Behaviour { provisioning, lists_late_by, ..Default::default() };
        let cloud = Simulator::start(Options { behaviour, ..Options::default() }).await?;
        for account in [cloud.account(), cloud.other_account()] {
            account.with(World::build_plain);
        }
        Ok(cloud)
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        setup(cluster, cloud)
    }

    fn worker(id: u8) -> Node {
        let address = |value| Address { kind: AddressKind::InternalIp, value };
        Node {
            name: format!("web-{id}"),
            provider_id: Some(format!("{}{}", Self::PROVIDER_ID, server(id.into()))),
            addresses: vec![address(format!("10.6.0.{}", id + 10)), address(format!("fd00:6::{}", id + 10))],
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        account.with(|world| {
            world.remove_server(&server(id));
            world.add_node(u16::try_from(id).expect("numbers of machines are small"), name, Some(&server(id)));
        });
    }

    fn belong_to(owner: Owner, cloud: &Simulator, setup: &Setup) {
        let (id, secret) = match owner {
            Owner::Us => (APPLICATION_CREDENTIAL, SECRET),
            Owner::Other => (OTHER_CREDENTIAL, OTHER_SECRET),
        };
        if owner == Owner::Other {
            add_other_user(cloud);
        }
        cloud.set_owner(owner);
        setup.folder.write("id", id);
        setup.folder.write("secret", secret);
        cloud.identity().revoke_all();
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.with(|world| world.delete_server(&server(id)));
    }

    /// Lists leave it out.
    fn hide_machine(account: &Assets, id: u64) {
        account.with(|world| {
            if let Some(it) = world.get_mut(Kind::Server, &server(id)) {
                it["_unlisted"] = json!(true);
            }
        });
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.with(|world| world.behaviour.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.with(|world| {
            world.behaviour.quotas.insert(Kind::LoadBalancer, load_balancers);
        });
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.with(|world| world.all(Kind::LoadBalancer).map(|it| built(world, it)).collect())
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        account.with(|world| {
            let subnet = world.named(Kind::Subnet, "k8s");
            world.build_balancer(&json!({ "name": name, "vip_subnet_id": subnet }))
        })
    }

    /// With a floating IP that stays, as people forget it.
    fn remove_built(account: &Assets, id: &str) {
        account.with(|world| world.take_away(id));
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.with(|world| {
            let members: Vec<_> = of_balancer(world, Kind::Member, id).map(|it| text(it, "id").to_owned()).collect();
            members.iter().for_each(|it| drop(world.remove(Kind::Member, it)));
        });
    }

    fn leave_behind(account: &Assets, service: &Service, left: Left<'_>) -> LeftBehind {
        let host = match left {
            Left::Hosted(_, host) => Some(host.to_owned()),
            Left::Plain | Left::Named(_) => None,
        };
        let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
        account.with(|world| leave(world, (&namespace, &name), node_port(service), host))
    }

    fn unmark(account: &Assets, id: &str) {
        account.with(|world| {
            if let Some(it) = world.get_mut(Kind::LoadBalancer, id) {
                (it["name"], it["description"], it["tags"]) = (json!("somebody's"), json!(""), json!([]));
            }
        });
    }

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        let name = Self::name_for(service);
        if built.name == name { Ok(()) } else { Err(format!("its name is {}, not {name}", built.name)) }
    }

    /// The name of earlier versions, which is the only one that a UID tells.
    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    fn name_for(service: &Service) -> String {
        balancer_name(&service.namespace().unwrap_or_default(), &service.name_any())
    }

    fn refusal(message: &str) -> String {
        json!({ "faultcode": "Client", "faultstring": message, "debuginfo": null }).to_string()
    }

    fn busy(method: &str, path: &str) -> Fault {
        let message = "Load Balancer 00000000-0000-4000-8000-000000000000 is immutable and cannot be updated.";
        Fault::status(method, path, 409).body(Self::refusal(message))
    }

    /// Octavia says nothing of the kind; proxies before it may.
    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("retry-after", &pause.as_secs().to_string())
    }
}

/// The provider as its README says that an operator sets it up: an application credential, and endpoints from Keystone's catalogue.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let mut setup = Setup::guest(cluster, guests::OPENSTACK);
    let mut shipped = manifest::cloud_config(OpenStack::MANIFEST);
    let file = |name: &str, text: &str| setup.folder.write(name, format!("{text}\n"));
    let credential = credential(cloud, &file("id", APPLICATION_CREDENTIAL), &file("secret", SECRET));
    setup.config["endpoints"] = endpoints(cloud);
    setup.config["credentials"] = json!([credential]);
    setup.config["provider"]["writesAnnotations"] = shipped["provider"]["writesAnnotations"].take();
    setup.config["provider"]["settings"] = OpenStack::SETTINGS.iter().copied().collect();
    setup
}

/// The endpoints as shipped, from the catalogue of a simulator.
#[must_use]
pub fn endpoints(cloud: &Simulator) -> Value {
    let mut endpoints = manifest::cloud_config(OpenStack::MANIFEST)["endpoints"].take();
    for endpoint in endpoints.as_array_mut().into_iter().flatten() {
        endpoint["origins"] = json!([cloud.base_url()]);
        endpoint["tls"] = json!({ "caFile": cloud.ca_file() });
    }
    endpoints
}

/// The credential as shipped, whose files hold [`APPLICATION_CREDENTIAL`] and [`SECRET`].
#[must_use]
pub fn credential(cloud: &Simulator, id: &Path, secret: &Path) -> Value {
    let mut shipped = manifest::cloud_config(OpenStack::MANIFEST)["credentials"][0].take();
    shipped["keystone"]["baseUrl"] = json!(cloud.keystone());
    shipped["keystone"]["tls"] = json!({ "caFile": cloud.ca_file() });
    shipped["keystone"]["applicationCredential"] = json!({ "idFile": id, "secretFile": secret });
    shipped
}

/// The id of the server with this number.
#[must_use]
pub fn server(number: u64) -> String {
    format!("00000000-0000-4000-9000-{number:012}")
}

fn add_other_user(cloud: &Simulator) {
    let (id, name) = ("0f1e2d3c4b5a69788796a5b4c3d2e1f0".to_owned(), "other".to_owned());
    let user = User { password: "unused".to_owned(), enabled: true, project: OTHER_PROJECT.to_owned(), id, name };
    let credential = ApplicationCredential {
        id: OTHER_CREDENTIAL.to_owned(),
        name: user.name.clone(),
        secret: OTHER_SECRET.to_owned(),
        user: user.id.clone(),
        expires: None::<SystemTime>,
    };
    cloud.identity().add_user(user);
    cloud.identity().add_credential(credential);
}

/// In words that every cloud has. A machine is in it that is in each of its pools.
fn built(world: &World, it: &Value) -> Built {
    let id = text(it, "id");
    let listeners = || of_balancer(world, Kind::Listener, id);
    let machines_of = |listener: &Value| -> BTreeSet<u64> {
        let pool = text(listener, "default_pool_id");
        let members = world.all(Kind::Member).filter(|it| text(it, "_pool") == pool);
        members.filter_map(|it| number(text(it, "address"))).collect()
    };
    let machines = listeners().map(machines_of).reduce(|all, more| &all & &more).unwrap_or_default();
    let mut ports: Vec<_> = listeners().filter_map(|it| u16::try_from(it["protocol_port"].as_u64()?).ok()).collect();
    ports.sort_unstable();
    let port = text(it, "vip_port_id");
    let outside = world.all(Kind::FloatingIp).find(|it| text(it, "port_id") == port);
    let serves = text(it, "provisioning_status") == "ACTIVE";
    let mark = it["tags"].as_array().into_iter().flatten().find_map(|it| it.as_str()?.strip_prefix("aerostat:"));
    Built {
        id: id.to_owned(),
        name: text(it, "name").to_owned(),
        ports,
        machines: machines.into_iter().collect(),
        addresses: outside.map(|it| text(it, "floating_ip_address").to_owned()).into_iter().collect(),
        serves,
        owner: mark.and_then(|it| it.split(':').next_back()).map(str::to_owned),
    }
}

/// Makes what OpenStack's own controller leaves for port 80 of a Service with the machines 1 and 2.
fn leave(world: &mut World, (namespace, name): (&str, &str), node_port: u16, host: Option<String>) -> LeftBehind {
    let full = balancer_name(namespace, name);
    let [subnet, network] = [(Kind::Subnet, "k8s"), (Kind::Network, "ext")].map(|(kind, it)| world.named(kind, it));
    let member = |id: u64| {
        let (name, address) = (format!("web-{id}"), format!("10.6.0.{}", id + 10));
        json!({ "name": name, "address": address, "protocol_port": node_port, "subnet_id": subnet })
    };
    let id = world.build_balancer(&json!({
        "name": full,
        "description": format!("Kubernetes external service {namespace}/{name} from cluster {CLUSTER}"),
        "provider": "amphora",
        "tags": [full],
        "vip_subnet_id": subnet,
        "listeners": [{
            "name": format!("listener_0_{full}"),
            "protocol": "TCP", "protocol_port": 80, "connection_limit": -1, "tags": [full],
            "timeout_client_data": 50_000, "timeout_member_connect": 5_000, "timeout_member_data": 50_000,
            "timeout_tcp_inspect": 0, "allowed_cidrs": ["0.0.0.0/0"],
            "default_pool": {
                "name": format!("pool_0_{full}"),
                "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "members": [member(1), member(2)],
            },
        }],
    }));
    let port = world.get(Kind::LoadBalancer, &id).map(|it| text(it, "vip_port_id").to_owned());
    let address = world.build_floating_ip(&json!({
        "floating_network_id": network,
        "port_id": port,
        "description": format!("Floating IP for Kubernetes external service {namespace}/{name} from cluster {CLUSTER}"),
    }));
    let ingress = match host {
        Some(host) => json!([{ "hostname": host }]),
        None => json!([{ "ip": address, "ipMode": "VIP" }]),
    };
    let annotations = json!({ OpenStack::ID: id, format!("{}load-balancer-address", OpenStack::PREFIX): address });
    LeftBehind { id, annotations, ingress }
}

fn balancer_name(namespace: &str, service: &str) -> String {
    format!("kube_service_{CLUSTER}_{namespace}_{service}")
}

fn of_balancer<'a>(world: &'a World, kind: Kind, id: &'a str) -> impl Iterator<Item = &'a Value> {
    world.all(kind).filter(move |it| text(it, "_balancer") == id)
}

/// The number of the machine with this address in the network of nodes.
fn number(address: &str) -> Option<u64> {
    let mut parts = address.strip_prefix("10.6.")?.split('.').map(|it| it.parse::<u64>().ok());
    let (high, low) = (parts.next()??, parts.next()??);
    (high * 256 + low).checked_sub(10)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
