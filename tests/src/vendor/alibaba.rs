//! Alibaba Cloud.

use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::clouds::alibaba::{
    self, AccessKey, Assets, CLUSTER, KEY_ID, KEY_SECRET, Options, Owner, REGION, Simulator, Taking, VPC, World, ZONES,
    machine_address, machine_id,
};
use crate::control_plane::Cluster;
use crate::guests;
use crate::operator::Setup;
use crate::simulator::{Fault, Recorded};

use super::described::described;
use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, node_port, uid};

/// The id of a key of another account.
const OTHER_KEY_ID: &str = "LTAI5tSimulatedKeyId0002";

/// The vendor, with its provider and its simulated account.
#[derive(Debug)]
pub struct AlibabaCloud;

impl Vendor for AlibabaCloud {
    type Cloud = Assets;

    const MACHINES: &'static str = "/ecs/DescribeInstances";
    const LOAD_BALANCERS: &'static str = "/slb";
    const MODULE: &'static str = guests::ALIBABA;
    const MANIFEST: &'static str = include_str!("../../../deploy/alibaba/config.yaml");
    const PAGE: &'static str = "alibaba/README.md";
    const ENDPOINT: &'static str = "ecs";
    const OTHER_ENDPOINTS: &'static [&'static str] = &["slb", "nlb", "vpc"];
    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("region", REGION), ("vpc", VPC), ("clusterID", CLUSTER), ("vswitches", "vsw-b,vsw-g")];
    const PROVIDER_ID: &'static str = "cn-hangzhou.i-bp";
    const PREFIX: &'static str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
    /// There is none: it is found by its tags.
    const ID: &'static str = "";
    const NAME: &'static str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-name";
    const HOSTNAME: &'static str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-hostname";
    const SECOND_PORT: &'static [&'static str] = &[
        "POST /slb/CreateVServerGroup → 200",
        "POST /slb/CreateLoadBalancerTCPListener → 200",
        "POST /slb/StartLoadBalancerListener → 200",
    ];

    const OTHER_KIND: &'static [(&'static str, &'static str)] =
        &[("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps", ZONES)];
    const OTHER_CLASS: Option<&'static str> = Some("alibabacloud.com/nlb");

    fn is_about_load_balancers(request: &Recorded) -> bool {
        ["/slb/", "/nlb/"].iter().any(|it| request.path.starts_with(it))
    }

    /// Groups of Network Load Balancers, security groups and lists of access stand by themselves.
    fn leftovers(account: &Assets) -> Vec<String> {
        account.with(|world| {
            let tables = [&world.network_groups, &world.security, &world.access];
            tables.iter().flat_map(|it| it.all()).map(|(id, _)| format!("{id} is left")).collect()
        })
    }

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let taking = match creation {
            Creation::Takes(time) => Taking::Time(time),
            Creation::Reads(count) => Taking::Reads(count),
        };
        let behaviour = alibaba::Behaviour { lists_late_by, ..alibaba::Behaviour::taking(taking) };
        Simulator::start(Options::with(behaviour)).await
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
            zone: Some(format!("{REGION}-{}", if id.is_multiple_of(2) { "g" } else { "b" })),
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        account.with(|world| world.add_machine(id, name));
    }

    /// The key of the account before is deleted.
    fn belong_to(owner: Owner, cloud: &Simulator, setup: &Setup) {
        let (id, secret, before) = match owner {
            Owner::Us => (KEY_ID, KEY_SECRET, OTHER_KEY_ID),
            Owner::Other => (OTHER_KEY_ID, "secret-of-another-account", KEY_ID),
        };
        cloud.ram().remove(before);
        cloud.ram().add(AccessKey { id: id.to_owned(), secret: secret.to_owned(), session: None, ends: None });
        cloud.set_owner(owner);
        setup.folder.write("key-id", id);
        setup.folder.write("key-secret", secret);
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.with(|world| world.remove_machine(&machine_id(id)));
    }

    fn hide_machine(account: &Assets, id: u64) {
        account.with(|world| {
            if let Some(it) = world.instances.get_mut(&machine_id(id)) {
                it["_unlisted"] = json!(true);
            }
        });
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.with(|world| world.behaviour.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.with(|world| world.behaviour.most_balancers = load_balancers);
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.with(|world| {
            let classic = world.balancers.all().map(|(id, it)| classic(world, id, it));
            classic.chain(world.network_balancers.all().map(|(id, it)| network(world, id, it))).collect()
        })
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        account.with(|world| world.add_foreign(name, &[]))
    }

    fn remove_built(account: &Assets, id: &str) {
        account.with(|world| {
            world.take_away(id);
            world.take_network_away(id);
        });
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.with(|world| {
            let own: Vec<String> = world.groups.of("LoadBalancerId", id).map(|(id, _)| id.to_owned()).collect();
            for id in own {
                if let Some(it) = world.groups.get_mut(&id) {
                    it["Servers"] = json!([]);
                }
            }
        });
    }

    /// As the vendor's controller makes it: the two tags, and a group behind one listener.
    fn leave_behind(account: &Assets, service: &Service, left: Left<'_>) -> LeftBehind {
        let default = Self::default_name(uid(service));
        let (name, host) = match left {
            Left::Plain => (default.clone(), None),
            Left::Named(name) => (name.to_owned(), None),
            Left::Hosted(name, host) => (name.to_owned(), Some(host)),
        };
        let (own, node_port) = (&service.metadata, node_port(service));
        let parts = |port: u16| {
            let (name, namespace) = (own.name.as_deref(), own.namespace.as_deref());
            format!("k8s/{port}/{}/{}/{CLUSTER}", name.unwrap_or_default(), namespace.unwrap_or_default())
        };
        let (id, address) = account.with(|world| {
            let id = world.add_foreign(&name, &[("kubernetes.do.not.delete", &default), ("ack.aliyun.com", CLUSTER)]);
            if let Some(it) = world.balancers.get_mut(&id) {
                it["DeleteProtection"] = json!("on");
                it["ModificationProtectionStatus"] = json!("ConsoleProtection");
                it["ModificationProtectionReason"] = json!("managed.by.ack");
            }
            let server = |number: u64| {
                json!({ "ServerId": machine_id(number), "Port": node_port, "Weight": 100, "Type": "ecs", "Description": parts(node_port) })
            };
            let group = world.put_group(&id, &parts(node_port), vec![server(1), server(2)]);
            world.put_listener(json!({
                "LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp", "VServerGroupId": group, "Scheduler": "rr",
                "Description": parts(80), "Status": "running",
            }));
            let address = world.balancers.get(&id).map(|it| it["Address"].clone()).unwrap_or_default();
            (id, address)
        });
        let ingress = match host {
            Some(host) => json!([{ "hostname": host }]),
            None => json!([{ "ip": address }]),
        };
        LeftBehind { id, annotations: json!({}), ingress }
    }

    fn unmark(account: &Assets, id: &str) {
        account.with(|world| {
            for table in [&mut world.balancers, &mut world.network_balancers] {
                if let Some(it) = table.get_mut(id) {
                    it["Tags"] = json!([]);
                }
            }
        });
    }

    /// It finds them by its two tags.
    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        match built.owner.as_deref() == Some(uid(service)) {
            true => Ok(()),
            false => Err(format!("its tags say that it is of {:?}", built.owner)),
        }
    }

    fn default_name(uid: &str) -> String {
        format!("a{}", uid.replace('-', "")).chars().take(32).collect()
    }

    fn id_in(memo: &str) -> &str {
        memo.split(' ').next().unwrap_or_default()
    }

    fn refusal(message: &str) -> String {
        said("InvalidParameter", message)
    }

    fn busy(method: &str, path: &str) -> Fault {
        Fault::status(method, path, 400).body(said("OperationConflict", "it carries out an earlier change"))
    }

    /// The cloud does not say for how long.
    fn pause(fault: Fault, _: Duration) -> Fault {
        fault
    }
}

/// A refusal with this code.
fn said(code: &str, message: &str) -> String {
    json!({ "Code": code, "Message": message, "RequestId": "R-1", "HostId": "api.aliyuncs.example" }).to_string()
}

/// The provider as an operator sets it up: a key in files, which signs each request.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let mut setup = Setup::guest(cluster, guests::ALIBABA);
    let tls = json!({ "caFile": cloud.ca_file() });
    let key = json!({
        "idFile": setup.folder.write("key-id", KEY_ID), "secretFile": setup.folder.write("key-secret", KEY_SECRET),
    });
    let mut described = described(guests::ALIBABA);
    setup.config["provider"]["settings"] = AlibabaCloud::SETTINGS.iter().chain(AlibabaCloud::FAST).copied().collect();
    for name in ["nodeLabels", "providerIDPrefixes", "writesAnnotations"] {
        setup.config["provider"][name] = described["provider"][name].take();
    }
    for endpoint in described["endpoints"].as_array_mut().into_iter().flatten() {
        (endpoint["baseUrl"], endpoint["credential"]) = (json!(cloud.base_url()), json!("alibaba"));
        endpoint["tls"] = tls.clone();
    }
    setup.config["provider"]["finalizers"] = json!(["service.k8s.alibaba/resources", "service.k8s.alibaba/nlb"]);
    setup.config["endpoints"] = described["endpoints"].take();
    setup.config["credentials"] = json!([{ "name": "alibaba", "acs3": { "region": REGION, "accessKey": key } }]);
    setup
}

/// The number of the machine with this id.
fn machine(id: &Value) -> Option<u64> {
    id.as_str()?.strip_prefix("i-bp")?.parse().ok()
}

/// The UID that the tags of an object name.
fn owner(object: &Value) -> Option<String> {
    let tags = object["Tags"].as_array()?;
    let tag = tags.iter().find(|it| it["TagKey"] == "aerostat.dev/service-uid")?;
    tag["TagValue"].as_str().map(str::to_owned)
}

/// A Classic Load Balancer in words that every cloud has.
fn classic(world: &World, id: &str, it: &Value) -> Built {
    let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let listeners: Vec<&Value> = world.listeners.of("LoadBalancerId", id).map(|(_, it)| it).collect();
    let groups = world.groups.of("LoadBalancerId", id).map(|(_, it)| it);
    built(
        Built {
            id: id.to_owned(),
            name: text("LoadBalancerName"),
            ports: Vec::new(),
            machines: Vec::new(),
            addresses: vec![text("Address")],
            serves: !listeners.is_empty() && listeners.iter().all(|it| it["Status"] == "running"),
            owner: owner(it),
        },
        &listeners,
        groups,
    )
}

/// A Network Load Balancer in words that every cloud has.
fn network(world: &World, id: &str, it: &Value) -> Built {
    let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let listeners: Vec<&Value> = world.network_listeners.of("LoadBalancerId", id).map(|(_, it)| it).collect();
    let groups = listeners.iter().filter_map(|it| world.network_groups.get(it["ServerGroupId"].as_str()?));
    let serves = it["LoadBalancerStatus"] == "Active" && !listeners.is_empty();
    built(
        Built {
            id: id.to_owned(),
            name: text("LoadBalancerName"),
            ports: Vec::new(),
            machines: Vec::new(),
            addresses: vec![text("DNSName")],
            serves: serves && listeners.iter().all(|it| it["ListenerStatus"] == "Running"),
            owner: owner(it),
        },
        &listeners,
        groups,
    )
}

/// With the ports of its listeners, and the machines of its groups.
fn built<'w>(mut built: Built, listeners: &[&Value], groups: impl Iterator<Item = &'w Value>) -> Built {
    built.ports = listeners.iter().filter_map(|it| it["ListenerPort"].as_str()?.parse().ok()).collect();
    built.ports.sort_unstable();
    let servers = groups.filter_map(|it| it["Servers"].as_array()).flatten();
    built.machines = servers.filter_map(|it| machine(&it["ServerId"])).collect();
    built.machines.sort_unstable();
    built.machines.dedup();
    built
}
