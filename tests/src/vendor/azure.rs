//! Azure.

use std::time::Duration;

use cloud_provider::{Address, AddressKind, Node};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::clouds::azure::{
    self, Assets, CLIENT, GROUP, Kind, LOCATION, Options, SECRET, SUBSCRIPTION, Simulator, TENANT, Taking, World, id,
    machine_address,
};
use crate::control_plane::Cluster;
use crate::guests;
use crate::operator::Setup;
use crate::simulator::{Fault, Owner, Recorded};

use super::described::described;
use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, node_port, uid};

/// The load balancers of a cluster without `--cluster-name`.
const BALANCERS: [&str; 2] = ["kubernetes", "kubernetes-internal"];

/// The vendor, with its provider and its simulated subscription.
#[derive(Debug)]
pub struct AzureCloud;

impl Vendor for AzureCloud {
    type Cloud = Assets;

    const MACHINES: &'static str = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Compute/virtualMachines";
    const LOAD_BALANCERS: &'static str = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Network/loadBalancers";
    const MODULE: &'static str = guests::AZURE;
    const MANIFEST: &'static str = include_str!("../../../deploy/azure/config.yaml");
    const PAGE: &'static str = "azure/README.md";
    const CLUSTER: &'static str = "kubernetes";
    const ENDPOINT: &'static str = "compute";
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("subscriptionId", SUBSCRIPTION),
        ("resourceGroup", GROUP),
        ("location", LOCATION),
        ("vnetName", "vnet1"),
        ("subnetName", "subnet1"),
        ("securityGroupName", "nsg1"),
    ];
    const PROVIDER_ID: &'static str = "azure:///subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Compute/virtualMachines/web-";
    const PREFIX: &'static str = "service.beta.kubernetes.io/azure-";
    /// There is none: the name is the UID's.
    const ID: &'static str = "";
    const NAME: &'static str = "";
    const HOSTNAME: &'static str = "";
    const SECOND_PORT: &'static [&'static str] = &[
        "PUT /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Network/loadBalancers/kubernetes → 200",
        "PUT /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Network/networkSecurityGroups/nsg1 → 200",
    ];
    const NAMES: bool = false;
    const OTHER_KIND: &'static [(&'static str, &'static str)] =
        &[("service.beta.kubernetes.io/azure-load-balancer-internal", "true")];
    const FAST: &'static [(&'static str, &'static str)] = &[];

    fn is_about_load_balancers(request: &Recorded) -> bool {
        request.path.contains("/providers/Microsoft.Network/")
    }

    /// Public addresses that are no machine's, load balancers without frontends, and rules that let clients in.
    fn leftovers(account: &Assets) -> Vec<String> {
        let of = |kind: Kind| account.all(kind).into_iter();
        let named = |it: &Value| text(it, "id").to_owned();
        let addresses = of(Kind::PublicIp).filter(|it| !text(it, "name").ends_with("-ip"));
        let balancers = of(Kind::LoadBalancer).chain(of(Kind::PrivateLinkService));
        let rules = of(Kind::SecurityGroup).flat_map(|it| list(&it, "securityRules").to_vec());
        addresses.chain(balancers).chain(rules).map(|it| named(&it)).collect()
    }

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let Behaviour { creation, lists_late_by, names_are_unique: _, has_other_account: _ } = behaviour;
        let operations = match creation {
            Creation::Takes(time) => Taking::Time(time),
            Creation::Reads(count) => Taking::Reads(count),
        };
        let behaviour = azure::Behaviour { operations, lists_late_by, ..Default::default() };
        let cloud = Simulator::start(Options { behaviour, ..Options::default() }).await?;
        for account in [cloud.account(), cloud.other_account()] {
            account.with(World::build_plain);
        }
        Ok(cloud)
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        setup(cluster, cloud)
    }

    fn worker(number: u8) -> Node {
        let value = machine_address(number.into());
        Node {
            name: format!("web-{number}"),
            provider_id: Some(format!("{}{number}", Self::PROVIDER_ID)),
            addresses: vec![Address { kind: AddressKind::InternalIp, value }],
            ..Node::default()
        }
    }

    fn add_machine(account: &Assets, number: u64, name: &str) {
        let number = u32::try_from(number).expect("numbers of machines are small");
        account.with(|world| {
            remove(world, number.into());
            let machine = world.add_machine(number, name);
            world.behaviour.unlisted.remove(&machine.to_lowercase());
        });
    }

    /// The credential is the same: what it reaches differs.
    fn belong_to(owner: Owner, cloud: &Simulator, _: &Setup) {
        cloud.set_owner(owner);
    }

    fn remove_machine(account: &Assets, number: u64) {
        account.with(|world| remove(world, number));
    }

    /// Lists leave it out.
    fn hide_machine(account: &Assets, number: u64) {
        account.with(|world| {
            if let Some(it) = machine(world, number) {
                world.behaviour.unlisted.insert(it.to_lowercase());
            }
        });
    }

    /// Its code is the proof: 404 alone says nothing.
    fn denial() -> Fault {
        let message =
            "The Resource 'Microsoft.Compute/virtualMachines/worker' under resource group 'rg1' was not found.";
        Fault::status("GET", &format!("{}/*", Self::MACHINES), 404).body(azure::refusal("ResourceNotFound", message))
    }

    fn lists_late_by(account: &Assets, time: Duration) {
        account.with(|world| world.behaviour.lists_late_by = time);
    }

    /// The load balancer is shared: what a Service has of its own is its address.
    fn limit(account: &Assets, load_balancers: usize) {
        account.with(|world| _ = world.behaviour.quotas.insert(Kind::PublicIp, load_balancers));
    }

    fn built(account: &Assets) -> Vec<Built> {
        let balancers = account.all(Kind::LoadBalancer);
        let of = |balancer: &Value| {
            let frontends = list(balancer, "frontendIPConfigurations").iter();
            let ours = frontends.filter(|it| text(it, "name").starts_with('a'));
            ours.map(|it| account.with(|world| built(world, balancer, it))).collect::<Vec<_>>()
        };
        balancers.iter().flat_map(of).collect()
    }

    fn add_foreign(account: &Assets, name: &str) -> String {
        let id = id(&format!("Microsoft.Network/loadBalancers/{name}"));
        let body = json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {} });
        account.with(|world| world.insert(Kind::LoadBalancer, &id, body));
        name.to_owned()
    }

    /// Its parts of the shared load balancer.
    fn remove_built(account: &Assets, base: &str) {
        account.with(|world| {
            for id in balancers(world) {
                let Some(body) = world.get_mut(&id) else { continue };
                for part in ["loadBalancingRules", "probes", "frontendIPConfigurations"] {
                    if let Some(all) = body["properties"][part].as_array_mut() {
                        all.retain(|it| !text(it, "name").starts_with(base));
                    }
                }
                world.mark(&id);
            }
        });
    }

    /// The interfaces of all machines leave the pool.
    fn clear_machines(account: &Assets, _: &str) {
        account.with(|world| {
            let all: Vec<_> = world.all(Kind::Interface).map(|it| text(it, "id").to_owned()).collect();
            for id in all {
                let Some(body) = world.get_mut(&id) else { continue };
                for it in body["properties"]["ipConfigurations"].as_array_mut().into_iter().flatten() {
                    it["properties"].as_object_mut().map(|it| it.remove("loadBalancerBackendAddressPools"));
                }
                world.mark(&id);
            }
        });
    }

    fn leave_behind(account: &Assets, service: &Service, _: Left<'_>) -> LeftBehind {
        let base = Self::default_name(uid(service));
        let owner = format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any());
        account.with(|world| leave(world, &base, &owner, node_port(service)));
        LeftBehind { id: base, annotations: json!({}), ingress: json!([{ "ip": LEFT }]) }
    }

    fn unmark(account: &Assets, base: &str) {
        account.with(|world| {
            let id = public(base);
            if let Some(it) = world.get_mut(&id) {
                it["tags"] = json!({});
            }
            world.mark(&id);
        });
    }

    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String> {
        let name = Self::name_for(service);
        if built.name == name { Ok(()) } else { Err(format!("its frontend is {}, not {name}", built.name)) }
    }

    /// `a` and 31 digits of the UID.
    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    /// Its second word, after its version.
    fn id_in(memo: &str) -> &str {
        memo.split(' ').nth(1).unwrap_or(memo)
    }

    fn refusal(message: &str) -> String {
        azure::refusal("InvalidRequestFormat", message)
    }

    fn busy(method: &str, path: &str) -> Fault {
        let message = "Another operation on this or dependent resource is in progress.";
        Fault::status(method, path, 409).body(azure::refusal("AnotherOperationInProgress", message))
    }

    fn pause(fault: Fault, pause: Duration) -> Fault {
        fault.header("retry-after", &pause.as_secs().to_string())
    }
}

/// The provider as an operator sets it up: an application with a secret, in the file `secret`.
///
/// # Panics
///
/// Panics if the provider cannot be described.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let mut setup = Setup::guest(cluster, guests::AZURE);
    let tls = json!({ "caFile": cloud.ca_file() });
    let file = setup.folder.write("secret", SECRET);
    setup.config["provider"]["settings"] = AzureCloud::SETTINGS.iter().copied().collect();
    let mut described = described(guests::AZURE);
    for endpoint in described["endpoints"].as_array_mut().into_iter().flatten() {
        endpoint["baseUrl"] = json!(cloud.base_url());
        (endpoint["credential"], endpoint["tls"]) = (json!("azure"), tls.clone());
    }
    setup.config["endpoints"] = described["endpoints"].take();
    setup.config["provider"]["nodeLabels"] = described["provider"]["nodeLabels"].take();
    setup.config["credentials"] = json!([{ "name": "azure", "entra": {
        "tenant": TENANT, "clientId": CLIENT, "clientSecret": { "file": file }, "authority": cloud.base_url(),
        "tls": tls, "addresses": ["127.0.0.0/8"],
    } }]);
    setup
}

/// The same for tests in which Services need not be one write: they do not wait long for each other.
#[must_use]
pub fn soon(setup: Setup) -> Setup {
    setup.edit(|config| config["provider"]["settings"]["gatherMilliseconds"] = json!("100"))
}

/// The public address of a Service that the vendor has left.
const LEFT: &str = "20.50.0.240";

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, part: &str) -> &'v [Value] {
    value["properties"][part].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn balancers(world: &World) -> Vec<String> {
    let all = BALANCERS.map(|it| id(&format!("Microsoft.Network/loadBalancers/{it}")));
    all.into_iter().filter(|it| world.get(it).is_some()).collect()
}

/// The id of a Service's own public address.
fn public(base: &str) -> String {
    id(&format!("Microsoft.Network/publicIPAddresses/kubernetes-{base}"))
}

/// The id of the machine with this number, whatever its name.
fn machine(world: &World, number: u64) -> Option<String> {
    let address = machine_address(u32::try_from(number).ok()?);
    let has =
        |it: &&Value| list(it, "ipConfigurations").iter().any(|it| it["properties"]["privateIPAddress"] == *address);
    let interface = world.all(Kind::Interface).find(has)?;
    let name = text(interface, "name").strip_suffix("-nic")?;
    Some(id(&format!("Microsoft.Compute/virtualMachines/{name}")))
}

fn remove(world: &mut World, number: u64) {
    let Some(machine) = machine(world, number) else { return };
    let name = machine.rsplit('/').next().unwrap_or_default().to_owned();
    world.remove(&machine);
    for rest in [format!("networkInterfaces/{name}-nic"), format!("publicIPAddresses/{name}-ip")] {
        world.remove(&id(&format!("Microsoft.Network/{rest}")));
    }
}

/// A frontend with its rules, in words that every cloud has.
fn built(world: &World, balancer: &Value, frontend: &Value) -> Built {
    let name = text(frontend, "name");
    let of_frontend = |rule: &&Value| {
        let of = text(&rule["properties"]["frontendIPConfiguration"], "id");
        of.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name))
    };
    let rules: Vec<&Value> = list(balancer, "loadBalancingRules").iter().filter(of_frontend).collect();
    let mut ports: Vec<u16> =
        rules.iter().filter_map(|it| u16::try_from(it["properties"]["frontendPort"].as_u64()?).ok()).collect();
    ports.sort_unstable();
    let pool = rules.first().map_or("", |it| text(&it["properties"]["backendAddressPool"], "id")).to_lowercase();
    let is_in = |interface: &&Value| {
        !pool.is_empty() && interface["properties"]["ipConfigurations"].to_string().to_lowercase().contains(&pool)
    };
    let number = |it: &Value| text(it, "name").strip_suffix("-nic")?.rsplit('-').next()?.parse().ok();
    let mut machines: Vec<u64> = world.all(Kind::Interface).filter(is_in).filter_map(number).collect();
    machines.sort_unstable();
    let public = world.get(text(&frontend["properties"]["publicIPAddress"], "id"));
    let address = public.and_then(|it| it["properties"]["ipAddress"].as_str());
    let address = address.or_else(|| frontend["properties"]["privateIPAddress"].as_str());
    let mark = public.map_or("", |it| text(&it["tags"], "aerostat-owner"));
    Built {
        id: name.to_owned(),
        name: name.to_owned(),
        ports,
        machines,
        addresses: address.into_iter().map(str::to_owned).collect(),
        serves: text(&balancer["properties"], "provisioningState") == "Succeeded",
        owner: mark.rsplit(':').next().filter(|it| !it.is_empty()).map(str::to_owned),
    }
}

/// Makes what the vendor's controller leaves for port 80 of a Service with the machines 1 and 2.
fn leave(world: &mut World, base: &str, owner: &str, node_port: u16) {
    let balancer = id("Microsoft.Network/loadBalancers/kubernetes");
    let part = |kind: &str, name: &str| json!({ "id": format!("{balancer}/{kind}/{name}") });
    let rule = format!("{base}-TCP-80");
    world.insert(
        Kind::PublicIp,
        &public(base),
        json!({
            "location": LOCATION, "sku": { "name": "Standard" }, "zones": ["1", "2", "3"],
            "tags": { "k8s-azure-service": owner, "k8s-azure-cluster-name": "kubernetes" },
            "properties": {
                "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "idleTimeoutInMinutes": 4,
                "ipAddress": LEFT,
            },
        }),
    );
    world.insert(
        Kind::LoadBalancer,
        &balancer,
        json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {
            "frontendIPConfigurations": [{ "name": base, "properties": {
                "publicIPAddress": { "id": public(base) }, "privateIPAllocationMethod": "Dynamic",
            } }],
            "backendAddressPools": [{ "name": "kubernetes", "properties": {} }],
            "probes": [{ "name": rule, "properties": {
                "protocol": "Tcp", "port": node_port, "intervalInSeconds": 5, "probeThreshold": 2, "numberOfProbes": 1,
            } }],
            "loadBalancingRules": [{ "name": rule, "properties": {
                "protocol": "Tcp", "frontendPort": 80, "backendPort": 80, "enableFloatingIP": true, "enableTcpReset": true,
                "idleTimeoutInMinutes": 4, "loadDistribution": "Default", "disableOutboundSnat": false,
                "frontendIPConfiguration": part("frontendIPConfigurations", base),
                "backendAddressPool": part("backendAddressPools", "kubernetes"), "probe": part("probes", &rule),
            } }],
            "inboundNatRules": [], "inboundNatPools": [], "outboundRules": [],
        } }),
    );
    let interfaces: Vec<_> = world.all(Kind::Interface).map(|it| text(it, "id").to_owned()).collect();
    for id in interfaces {
        if let Some(it) = world.get_mut(&id) {
            it["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"] =
                json!([part("backendAddressPools", "kubernetes")]);
        }
        world.mark(&id);
    }
}
