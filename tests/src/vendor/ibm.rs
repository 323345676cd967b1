//! IBM Cloud.

use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::clouds::ibm::{
    self, ACCOUNT, API_KEY, Assets, CLUSTER, Options, Owner, REGION, Simulator, Taking, VPC, VpcKind, World,
    machine_address, machine_id,
};
use crate::control_plane::Cluster;
use crate::guests;
use crate::operator::Setup;
use crate::simulator::{Fault, Recorded};

use super::described::described;
use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, node_port, uid};

/// The vendor, with its provider and its simulated account.
#[derive(Debug)]
pub struct IbmCloud;

impl Vendor for IbmCloud {
    type Cloud = Assets;

    const MACHINES: &'static str = "/v1/instances";
    const LOAD_BALANCERS: &'static str = "/v1/load_balancers";
    const MODULE: &'static str = guests::IBM;
    const MANIFEST: &'static str = include_str!("../../../deploy/ibm/config.yaml");
    const PAGE: &'static str = "ibm/README.md";
    const ENDPOINT: &'static str = "vpc";
    const BASE: &'static str = "/v1";
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("accountID", ACCOUNT),
        ("clusterID", CLUSTER),
        ("region", REGION),
        ("vpcID", VPC),
        ("g2VpcSubnetNames", "sub-10,sub-20,sub-30"),
    ];
    const PROVIDER_ID: &'static str = "ibm://acc0123456789///c1clusterid/0717_e21b7391-";
    const PREFIX: &'static str = "service.kubernetes.io/ibm-load-balancer-cloud-provider-";
    /// There is none: it is found by the name that the UID makes.
    const ID: &'static str = "";
    const NAME: &'static str = "service.kubernetes.io/ibm-load-balancer-cloud-provider-vpc-lb-name";
    const HOSTNAME: &'static str = "";
    const SECOND_PORT: &'static [&'static str] =
        &["POST /v1/load_balancers/{id}/pools → 201", "POST /v1/load_balancers/{id}/listeners → 201"];
    // A load balancer of IBM Cloud has no mark but its name: one that a person has chosen tells nobody whose it is.
    const NAMES: bool = false;
    const OTHER_KIND: &'static [(&'static str, &'static str)] =
        &[("service.kubernetes.io/ibm-load-balancer-cloud-provider-ip-type", "private")];

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let taking = match creation {
            Creation::Takes(time) => Taking::Time(time),
            Creation::Reads(count) => Taking::Reads(count),
        };
        let behaviour = ibm::Behaviour { creation: taking, change: taking, lists_late_by, ..Default::default() };
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
        let value = machine_address(id.into());
        Node {
            name: format!("web-{id}"),
            provider_id: Some(format!("{}{id}", Self::PROVIDER_ID)),
            addresses: vec![Address { kind: AddressKind::InternalIp, value }],
            zone: Some(format!("{REGION}-{}", (u32::from(id) + 2) % 3 + 1)),
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        account.with(|world| world.add_machine(number(id), name));
    }

    /// The API key of the account before is deleted, and its tokens end.
    fn belong_to(owner: Owner, cloud: &Simulator, setup: &Setup) {
        let key = match owner {
            Owner::Us => API_KEY,
            Owner::Other => "key-of-another-account",
        };
        cloud.iam().replace_keys(key);
        cloud.iam().revoke_all();
        cloud.set_owner(owner);
        setup.folder.write("api-key", key);
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.with(|world| world.remove(&machine_id(number(id))));
    }

    fn hide_machine(account: &Assets, id: u64) {
        account.with(|world| {
            if let Some(it) = world.get_mut(VpcKind::Instance, &machine_id(number(id))) {
                it["_unlisted"] = json!(true);
            }
        });
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.with(|world| world.behaviour.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.with(|world| _ = world.behaviour.quotas.insert(VpcKind::LoadBalancer, load_balancers));
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.with(|world| world.all(VpcKind::LoadBalancer).map(|it| built(world, it)).collect())
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        account.with(|world| world.add_foreign(VPC, name))
    }

    fn remove_built(account: &Assets, id: &str) {
        account.with(|world| world.take_away(id));
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.with(|world| {
            let members = world.all(VpcKind::Member).filter(|it| it["balancer"] == json!(id));
            let members: Vec<String> = members.filter_map(|it| it["id"].as_str().map(str::to_owned)).collect();
            members.iter().for_each(|it| drop(world.remove(it)));
        });
    }

    /// As the manager makes it: a check by TCP, and round robin.
    fn leave_behind(account: &Assets, service: &Service, left: Left<'_>) -> LeftBehind {
        let name = match left {
            Left::Plain => Self::default_name(uid(service)),
            Left::Named(name) | Left::Hosted(name, _) => name.to_owned(),
        };
        let node_port = node_port(service);
        let id = account.with(|world| {
            let id = world.add_foreign(VPC, &name);
            let pool = world.insert(
                VpcKind::Pool,
                json!({
                    "balancer": id, "name": format!("tcp-80-{node_port}"), "protocol": "tcp", "algorithm": "round_robin",
                    "proxy_protocol": "disabled",
                    "health_monitor": { "delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp", "port": node_port },
                }),
            );
            for machine in [1, 2] {
                let address = machine_address(machine);
                world.insert(
                    VpcKind::Member,
                    json!({ "balancer": id, "pool": pool, "port": node_port, "address": address }),
                );
            }
            world.insert(
                VpcKind::Listener,
                json!({
                    "balancer": id, "pool": pool, "port": 80, "protocol": "tcp", "connection_limit": 15_000,
                    "idle_connection_timeout": 50, "accept_proxy_protocol": false,
                }),
            );
            id
        });
        let ingress = json!([{ "hostname": hostname(&id) }]);
        LeftBehind { id, annotations: json!({}), ingress }
    }

    fn unmark(account: &Assets, id: &str) {
        account.with(|world| {
            if let Some(it) = world.get_mut(VpcKind::LoadBalancer, id) {
                it["name"] = json!("somebodys");
            }
        });
    }

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        let name = Self::name_for(service);
        if built.name == name { Ok(()) } else { Err(format!("its name is {}, not {name}", built.name)) }
    }

    fn default_name(uid: &str) -> String {
        format!("kube-{CLUSTER}-{}", uid.replace('-', "")).chars().take(63).collect()
    }

    fn refusal(message: &str) -> String {
        json!({ "errors": [{ "code": "bad_field", "message": message }], "trace": "1" }).to_string()
    }

    fn busy(method: &str, path: &str) -> Fault {
        Fault::status(method, path, 409)
    }

    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("retry-after", &pause.as_secs().to_string())
    }
}

/// The provider as an operator sets it up: an API key, for which IAM gives tokens.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let mut setup = Setup::guest(cluster, guests::IBM);
    let tls = json!({ "caFile": cloud.ca_file() });
    let file = setup.folder.write("api-key", API_KEY);
    let mut described = described(guests::IBM);
    setup.config["provider"]["settings"] = IbmCloud::SETTINGS.iter().chain(IbmCloud::FAST).copied().collect();
    for key in ["nodeLabels", "writesAnnotations"] {
        setup.config["provider"][key] = described["provider"][key].take();
    }
    for endpoint in described["endpoints"].as_array_mut().into_iter().flatten() {
        (endpoint["baseUrl"], endpoint["credential"]) = (json!(cloud.vpc_url()), json!("ibm"));
        endpoint["tls"] = tls.clone();
    }
    setup.config["endpoints"] = described["endpoints"].take();
    setup.config["credentials"] = json!([{ "name": "ibm", "ibmIam": {
        "apiKey": { "file": file }, "baseUrl": cloud.base_url(), "tls": tls, "addresses": ["127.0.0.0/8"],
    } }]);
    setup
}

/// Whether a request is one for a token, which is the host's.
#[must_use]
pub fn is_for_a_token(request: &Recorded) -> bool {
    request.path == "/identity/token"
}

/// The name under which a load balancer is reached.
#[must_use]
pub fn hostname(id: &str) -> String {
    format!("{}-{REGION}.lb.appdomain.example", id.split('-').nth(1).unwrap_or_default())
}

fn number(id: u64) -> u32 {
    u32::try_from(id).unwrap_or_default()
}

/// In words that every cloud has.
fn built(world: &World, it: &Value) -> Built {
    let text = |key: &str| it[key].as_str().unwrap_or_default();
    let id = text("id");
    let of = |kind: VpcKind| world.all(kind).filter(move |part| part["balancer"] == json!(id));
    let mut ports: Vec<u16> = of(VpcKind::Listener).filter_map(|it| it["port"].as_u64()?.try_into().ok()).collect();
    ports.sort_unstable();
    let number = |member: &Value| {
        let parts: Vec<u64> = member["address"].as_str()?.split('.').filter_map(|it| it.parse().ok()).collect();
        (parts[2] * 256 + parts[3]).checked_sub(10)
    };
    let mut machines: Vec<u64> = of(VpcKind::Member).filter_map(number).collect();
    machines.sort_unstable();
    machines.dedup();
    let serves = text("provisioning_status") == "active";
    Built {
        id: id.to_owned(),
        name: text("name").to_owned(),
        ports,
        machines,
        addresses: vec![hostname(id)],
        serves,
        owner: None,
    }
}
