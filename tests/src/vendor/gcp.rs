//! Google Cloud.

use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::clouds::gcp::{
    self, Assets, Collection, KEY, OperationTime, Options, PROJECT, Place, REGION, Simulator, World,
};
use crate::control_plane::{Cluster, apply};
use crate::guests;
use crate::operator::Setup;
use crate::simulator::{Fault, Owner, Recorded};

use super::described::described;
use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, node_port, uid};
use super::manifest;

/// The file that installs the provider of Persistent Disks.
const INSTALLED_DISKS: &str = include_str!("../../../deploy/install-gcp-pd.yaml");

/// The collections of what load balancers are made of.
const MADE: [Collection; 8] = [
    Collection::ForwardingRules,
    Collection::Addresses,
    Collection::TargetPools,
    Collection::BackendServices,
    Collection::InstanceGroups,
    Collection::HttpHealthChecks,
    Collection::HealthChecks,
    Collection::Firewalls,
];

/// The vendor, with its provider and its simulated projects.
#[derive(Debug)]
pub struct GoogleCloud;

impl Vendor for GoogleCloud {
    type Cloud = Assets;

    const MACHINES: &'static str = "/compute/v1/projects/p1/zones/europe-west1-b/instances";
    const MACHINE_LISTS: &'static str = "/compute/v1/projects/p1/aggregated/instances";
    const LOAD_BALANCERS: &'static str = "/compute/v1/projects/p1/regions/europe-west1/forwardingRules";
    const MODULE: &'static str = guests::GCP;
    const MANIFEST: &'static str = include_str!("../../../deploy/gcp/config.yaml");
    const PAGE: &'static str = "gcp/README.md";
    const ENDPOINT: &'static str = "compute";
    const BASE: &'static str = "/compute/v1/projects/p1";
    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("project", PROJECT), ("region", REGION), ("nodeTags", "k8s-node")];
    const PROVIDER_ID: &'static str = "gce://p1/europe-west1-b/web-";
    const PREFIX: &'static str = "networking.gke.io/";
    /// There is none: the name is the UID's.
    const ID: &'static str = "";
    const NAME: &'static str = "";
    const HOSTNAME: &'static str = "";
    const SECOND_PORT: &'static [&'static str] = &[
        "PATCH /compute/v1/projects/p1/global/firewalls/k8s-fw-{id} → 200",
        "DELETE /compute/v1/projects/p1/regions/europe-west1/forwardingRules/{id} → 200",
        "POST /compute/v1/projects/p1/regions/europe-west1/forwardingRules → 200",
    ];
    const NAMES: bool = false;
    const OTHER_KIND: &'static [(&'static str, &'static str)] = &[("networking.gke.io/load-balancer-type", "Internal")];
    const FAST: &'static [(&'static str, &'static str)] = &[];

    fn is_about_load_balancers(request: &Recorded) -> bool {
        MADE.iter().any(|it| request.path.contains(&format!("/{}", it.many())))
    }

    /// All but forwarding rules.
    fn leftovers(account: &Assets) -> Vec<String> {
        account.with(|world| {
            let all = MADE.into_iter().filter(|it| *it != Collection::ForwardingRules).flat_map(|it| world.all(it));
            all.map(|(path, _)| path.to_owned()).collect()
        })
    }

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let operations = match creation {
            Creation::Takes(time) => OperationTime::Time(time),
            Creation::Reads(count) => OperationTime::Reads(count),
        };
        let behaviour = gcp::Behaviour { operations, lists_late_by, ..Default::default() };
        let cloud = Simulator::start(Options { behaviour, ..Options::default() }).await?;
        // Elsewhere, projects with the same names have other numbers.
        cloud.other_account().with(|world| world.add_project("before"));
        for account in [cloud.account(), cloud.other_account()] {
            account.with(World::build_plain);
        }
        Ok(cloud)
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        setup(cluster, cloud)
    }

    fn worker(id: u8) -> Node {
        let address = |kind, value| Address { kind, value };
        Node {
            name: format!("web-{id}"),
            provider_id: Some(format!("{}{id}", Self::PROVIDER_ID)),
            addresses: vec![
                address(AddressKind::InternalIp, format!("10.132.0.{}", id + 1)),
                address(AddressKind::ExternalIp, format!("198.51.100.{}", id + 1)),
            ],
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, id: u64, name: &str) {
        let number = u32::try_from(id).expect("numbers of machines are small");
        account.with(|world| {
            if let Some(earlier) = machine(world, id) {
                world.remove(&earlier);
            }
            world.add_machine(&zone(), number, name)
        });
    }

    /// The credential is the same: what it reaches differs.
    fn belong_to(owner: Owner, cloud: &Simulator, _: &Setup) {
        cloud.set_owner(owner);
    }

    fn remove_machine(account: &Assets, id: u64) {
        account.with(|world| machine(world, id).and_then(|it| world.remove(&it)));
    }

    /// Lists leave it out.
    fn hide_machine(account: &Assets, id: u64) {
        account.with(|world| {
            if let Some(it) = machine(world, id).and_then(|it| world.get_mut(&it)) {
                it["_unlisted"] = json!(true);
            }
        });
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.with(|world| world.behaviour.lists_late_by = time);
    }

    fn limit(account: &Assets, load_balancers: usize) {
        account.with(|world| _ = world.behaviour.quotas.insert(Collection::ForwardingRules, load_balancers));
    }

    fn built(account: &Assets) -> Vec<Built> {
        account.with(|world| world.all(Collection::ForwardingRules).map(|(_, it)| built(world, it)).collect())
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        let rule =
            json!({ "name": name, "IPAddress": "203.0.113.250", "portRange": "80-80", "description": "somebody's" });
        account.with(|world| drop(world.insert(&region(), Collection::ForwardingRules, rule)));
        name.to_owned()
    }

    fn remove_built(account: &Assets, id: &str) {
        account.with(|world| drop(world.remove(&region().path(Collection::ForwardingRules, id))));
    }

    fn clear_machines(account: &Assets, id: &str) {
        account.with(|world| {
            if let Some(it) = world.get_mut(&region().path(Collection::TargetPools, id)) {
                it["instances"] = json!([]);
            }
        });
    }

    fn leave_behind(account: &Assets, service: &Service, _: Left<'_>) -> LeftBehind {
        let name = Self::default_name(uid(service));
        let of = format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any());
        debug_assert!(node_port(service) > 0);
        let description = json!({ "kubernetes.io/service-name": of }).to_string();
        let link = |place: &Place, collection, name: &str| {
            format!("https://www.googleapis.com/compute/v1/{}", place.path(collection, name))
        };
        let machines = [1, 2].map(|it| link(&zone(), Collection::Instances, &format!("web-{it}")));
        let pool =
            json!({ "name": name, "description": description, "instances": machines, "sessionAffinity": "NONE" });
        let address = "203.0.113.240";
        let rule = json!({
            "name": name, "description": description, "IPAddress": address, "IPProtocol": "TCP", "portRange": "80-80",
            "loadBalancingScheme": "EXTERNAL", "networkTier": "PREMIUM",
            "target": link(&region(), Collection::TargetPools, &name),
        });
        account.with(|world| {
            world.insert(&region(), Collection::TargetPools, pool);
            world.insert(&region(), Collection::ForwardingRules, rule);
        });
        LeftBehind { id: name, annotations: json!({}), ingress: json!([{ "ip": address }]) }
    }

    fn unmark(account: &Assets, id: &str) {
        account.with(|world| {
            if let Some(it) = world.get_mut(&region().path(Collection::ForwardingRules, id)) {
                (it["description"], it["labels"]) = (json!(""), json!({}));
            }
        });
    }

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        let name = Self::name_for(service);
        if built.name == name { Ok(()) } else { Err(format!("its name is {}, not {name}", built.name)) }
    }

    /// `a` and 31 digits of the UID.
    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    /// Its first word; others say how far it is.
    fn id_in(memo: &str) -> &str {
        memo.split(' ').next().unwrap_or(memo)
    }

    fn refusal(message: &str) -> String {
        let one = json!({ "message": message, "domain": "global", "reason": "invalid" });
        json!({ "error": { "code": 400, "message": message, "errors": [one], "status": "INVALID_ARGUMENT" } })
            .to_string()
    }

    fn busy(method: &str, path: &str) -> Fault {
        let body = Self::refusal("The resource is not ready").replace("\"invalid\"", "\"resourceNotReady\"");
        Fault::status(method, path, 400).body(body)
    }

    /// Google says nothing of the kind; proxies before it may.
    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("retry-after", &pause.as_secs().to_string())
    }
}

/// The provider as an operator sets it up: the key of a service account, which signs its own tokens.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    setup_of(cluster, cloud, guests::GCP, GoogleCloud::SETTINGS)
}

/// The file that installs the provider of volumes.
const PD: &str = include_str!("../../../deploy/install-gcp-pd.yaml");

/// Gives aerostat those roles of the release for Persistent Disks whose names have this end: they read the Leases of the vendor's controller in its
/// own namespace.
///
/// # Panics
///
/// Panics if they are refused.
pub async fn allow_disks(cluster: &Cluster, end: &str) {
    let roles = INSTALLED_DISKS.split("\n---\n").filter(|it| it.contains("kind: ClusterRole\n") && it.contains(end));
    let roles = roles.collect::<Vec<_>>().join("\n---\n");
    let roles = roles.replace("cloud-controller-manager-gcp-pd", "cloud-controller-manager");
    apply(&cluster.admin, &roles).await.expect("the API server takes what is shipped");
}

/// The provider of volumes beside the other one, as its page says that an operator sets it up: with flags and rules of its own. Its Lease has to be
/// allowed.
#[must_use]
pub fn volumes_setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let settings = [("project", PROJECT), ("appearsWithin", "1s")];
    let shipped = manifest::installed_config(PD);
    let setup = setup_of(cluster, cloud, guests::GCP_PD, &settings)
        .edit(|config| config["endpoints"][0]["allow"] = shipped["endpoints"][0]["allow"].clone());
    setup.flags(&manifest::own_flags(PD).iter().map(String::as_str).collect::<Vec<_>>())
}

fn setup_of(cluster: &Cluster, cloud: &Simulator, guest: &'static str, settings: &[(&str, &str)]) -> Setup {
    let mut setup = Setup::guest(cluster, guest);
    let tls = json!({ "caFile": cloud.ca_file() });
    let file = setup.folder.write("key.json", KEY);
    setup.config["provider"]["settings"] = settings.iter().copied().collect();
    let mut described = described(guest);
    for endpoint in described["endpoints"].as_array_mut().into_iter().flatten() {
        endpoint["baseUrl"] = json!(cloud.project_url(PROJECT));
        (endpoint["credential"], endpoint["tls"]) = (json!("google"), tls.clone());
    }
    setup.config["endpoints"] = described["endpoints"].take();
    for key in ["nodeLabels", "writesAnnotations"] {
        if let Some(described) = described["provider"].get_mut(key) {
            setup.config["provider"][key] = described.take();
        }
    }
    setup.config["credentials"] = json!([{ "name": "google", "google": {
        "serviceAccountKey": { "file": file }, "tls": tls, "tokenOrigins": [cloud.base_url()], "addresses": ["127.0.0.0/8"],
    } }]);
    setup
}

/// The zone of all machines.
fn zone() -> Place {
    Place::zone(PROJECT, &format!("{REGION}-b"))
}

fn region() -> Place {
    Place::region(PROJECT, REGION)
}

/// The path of the machine with this number, whatever its name.
fn machine(world: &World, id: u64) -> Option<String> {
    let place = zone();
    let number = u32::try_from(id).ok()?;
    let address = gcp::machine_address(number);
    let has = |it: &Value| it["networkInterfaces"][0]["networkIP"] == json!(address);
    let found = world.all(Collection::Instances).find(|(_, it)| has(it))?;
    found.0.starts_with(&place.to_string()).then(|| found.0.to_owned())
}

/// In words that every cloud has.
fn built(world: &World, rule: &Value) -> Built {
    let text = |key: &str| rule[key].as_str().unwrap_or_default();
    let pool = world.get(&region().path(Collection::TargetPools, text("name")));
    let service = world.get(&region().path(Collection::BackendServices, text("name")));
    let groups = service.and_then(|it| it["backends"].as_array()).into_iter().flatten();
    let groups = groups.filter_map(|it| world.get(it["group"].as_str()?.split_once("/v1/")?.1));
    let members = groups.filter_map(|it| it["_members"].as_array()).flatten();
    let machines = pool.and_then(|it| it["instances"].as_array()).into_iter().flatten().chain(members);
    let number = |it: &Value| it.as_str()?.rsplit('-').next()?.parse().ok();
    let range = text("portRange").split('-').filter_map(|it| it.parse().ok());
    let ports = rule["ports"].as_array().into_iter().flatten().filter_map(|it| it.as_str()?.parse().ok());
    let mut ports: Vec<u16> = range.chain(ports).collect();
    ports.sort_unstable();
    ports.dedup();
    let mut machines: Vec<u64> = machines.filter_map(number).collect();
    machines.sort_unstable();
    Built {
        id: text("name").to_owned(),
        name: text("name").to_owned(),
        ports,
        machines,
        addresses: vec![text("IPAddress").to_owned()],
        serves: pool.is_some() || !rule["backendService"].is_null(),
        owner: None,
    }
}
