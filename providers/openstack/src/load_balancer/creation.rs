//! The creation of a load balancer: one request with its ports, and with as many members as it can hold.

use aerostat_sdk::backend::{Creation, Found, gave_up};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::http::Attempt;
use aerostat_sdk::{Error, IpFamily, LoadBalancer, Result};
use serde_json::{Map, Value, json};

use super::bodies::{BodyPlans, OctaviaFeatures, put, size};
use super::context::BalancerCall;
use super::desired::{self, DesiredBalancer, node_address};
use super::{floating, names, serial};
use crate::api::barbican;
use crate::api::neutron::{self, ServerPort};
use crate::api::octavia;
use crate::settings::ContainerStore;

/// Whether it can be created as the Service asks for it. Nothing is written.
///
/// # Errors
///
/// Why it cannot.
pub(crate) fn can_create(call: &BalancerCall<'_>) -> Result<()> {
    let desired = call.desired()?;
    if call.service.nodes.is_empty() && !has_place(&desired) {
        return Err(LoadBalancer::without_nodes(", and no setting says in which subnet it is"));
    }
    check_tls(call, &desired)?;
    if !desired.is_internal && desired.family() == IpFamily::Ipv4 {
        floating::network(&desired)?;
    }
    Ok(())
}

/// Checks that the key manager has the certificate.
///
/// # Errors
///
/// Whatever the key manager answered.
pub(crate) fn check_tls(call: &BalancerCall<'_>, desired: &DesiredBalancer) -> Result<()> {
    match &desired.tls {
        Some(tls) if call.settings.container_store == ContainerStore::Barbican => barbican::check(tls),
        _ => Ok(()),
    }
}

/// Whether somebody says where its address comes from.
fn has_place(desired: &DesiredBalancer) -> bool {
    desired.port.is_some() || desired.networks.network.is_some() || desired.networks.subnet.is_some()
}

/// Sends the creation, with the Service's marks.
///
/// # Errors
///
/// That it was certainly not created.
pub(crate) fn create(call: &BalancerCall<'_>) -> Result<Creation> {
    let (service, settings) = (call.service, &call.settings);
    let desired = call.desired()?;
    let features = OctaviaFeatures::of(octavia::minor_version()?, &settings.provider);
    let mut warnings = Warnings::default();
    let is_dual = desired.families.len() > 1 && features.additional_vips;
    let place = VipPlace::of(service, &desired, is_dual)?;
    let mut body = Map::new();
    put(&mut body, "description", Value::from(names::description(&service.owner)));
    put(&mut body, "name", json!(call.names.name));
    put(&mut body, "provider", Value::from(settings.provider.as_str()));
    if features.tags {
        put(&mut body, "tags", json!([call.names.name, call.names.mark.to_string()]));
    }
    for (field, value, can) in
        [("flavor_id", &desired.flavor, features.flavors), ("availability_zone", &desired.zone, features.zones)]
    {
        match value {
            Some(value) if can => put(&mut body, field, json!(value)),
            Some(value) => warnings.add(
                "LoadBalancerUnsupported",
                format_args!(
                    "{field} {value} is ignored: this version of Octavia, or driver {}, has none",
                    settings.provider
                ),
            ),
            None => {}
        }
    }
    place.write(&desired, service, &mut body);
    if desired.families.len() > 1 && !body.contains_key("additional_vips") {
        let why = "the load balancer has one address: Octavia, or the nodes, have no subnet for the second family";
        warnings.add("LoadBalancerSingleStack", why);
    }
    let members = desired::members(&service.nodes, desired.family());
    let plans = BodyPlans {
        desired: &desired,
        name: &call.names.name,
        features,
        members: &members,
        member_subnet: desired.networks.member_subnet.as_deref().or(place.member_subnet.as_deref()),
        monitors_local: true,
    };
    let mut bare = body.clone();
    warnings.emit();
    let is_known = settings.serial || serial::is_known(&settings.provider, features)?;
    if !is_known {
        let listeners = plans.populated(size(&Value::Object(body.clone())));
        put(&mut body, "listeners", Value::Array(listeners));
        match send(call, body)? {
            SentCreation::Refused => {}
            SentCreation::Answered(creation) => return Ok(creation),
        }
    }
    // A setting that says so needs no memory.
    if features.tags && !settings.serial {
        put(&mut bare, "tags", json!([call.names.name, call.names.mark.to_string(), serial::TAG]));
    }
    match send(call, bare)? {
        SentCreation::Answered(creation) => Ok(creation),
        SentCreation::Refused => {
            Err(Error::invalid(format_args!("driver {} of Octavia makes no load balancers", settings.provider)))
        }
    }
}

/// The result of a creation.
enum SentCreation {
    Answered(Creation),
    /// The driver cannot make all of it at once.
    Refused,
}

fn send(call: &BalancerCall<'_>, body: Map<String, Value>) -> Result<SentCreation> {
    let request = octavia::creation(&json!({ "loadbalancer": Value::Object(body) }));
    let response = match request.attempt()? {
        Attempt::Lost(why) => return Ok(SentCreation::Answered(Creation::Unclear(why))),
        Attempt::Answered(response) => response,
    };
    if response.status() == 501 {
        return Ok(SentCreation::Refused);
    }
    if gave_up(response.status()) {
        return Ok(SentCreation::Answered(Creation::Unclear(response.complaint())));
    }
    let response = response.accepted()?;
    let made = response.json_in::<Value>("loadbalancer").map(|it| it["id"].as_str().unwrap_or_default().to_owned());
    // The status says that it was accepted, also if the body cannot be read.
    let unread = |_| Creation::Unclear(format!("{}, with an answer that cannot be read", response.complaint()));
    let begun = |id: String| Creation::Begun(Found::new(id, call.names.name.clone(), true));
    Ok(SentCreation::Answered(made.map_or_else(unread, begun)))
}

/// Where its addresses come from.
struct VipPlace {
    /// The subnet of its address, where nobody says one.
    subnet: Option<String>,
    /// The subnet of its second address.
    second: Option<String>,
    /// The subnet from which nodes are reached, where nobody says one.
    member_subnet: Option<String>,
}

impl VipPlace {
    /// The subnet in which the first node's address is, as far as nobody says where.
    fn of(service: &LoadBalancer, desired: &DesiredBalancer, is_dual: bool) -> Result<Self> {
        let networks = &desired.networks;
        let is_said = networks.network.is_some() || networks.subnet.is_some();
        if is_said && !is_dual {
            return Ok(Self { subnet: None, second: None, member_subnet: None });
        }
        let ports = ports_of_first(service)?;
        let found = |family: IpFamily| {
            let address = service.nodes.first().and_then(|it| node_address(it, family))?;
            ports.iter().flat_map(|it| &it.fixed_ips).find(|it| it.ip_address == address).map(|it| it.subnet_id.clone())
        };
        let first = found(desired.family());
        if first.is_none() && !has_place(desired) {
            return Err(Error::unavailable(
                "the subnet of the load balancer is not known: no port of the first node has the node's address. Set \
                 loadBalancers.subnetID under provider.settings",
            ));
        }
        let second = desired.families.get(1).filter(|_| is_dual).and_then(|it| found(*it));
        let first = first.filter(|_| !is_said);
        Ok(Self { subnet: first.clone(), second, member_subnet: first })
    }

    fn write(&self, desired: &DesiredBalancer, service: &LoadBalancer, body: &mut Map<String, Value>) {
        let networks = &desired.networks;
        if let Some(port) = &desired.port {
            put(body, "vip_port_id", Value::from(port.as_str()));
        } else {
            if let Some(subnet) = networks.subnet.as_ref().or(self.subnet.as_ref()) {
                put(body, "vip_subnet_id", Value::from(subnet.as_str()));
            }
            if let Some(network) = &networks.network {
                put(body, "vip_network_id", Value::from(network.as_str()));
            }
        }
        if let Some(second) = &self.second {
            put(body, "additional_vips", json!([{ "subnet_id": second }]));
        }
        // An external load balancer's is the floating IP.
        let is_own = desired.is_internal || desired.family() == IpFamily::Ipv6;
        if let Some(address) = service.load_balancer_ip.as_ref().filter(|_| is_own) {
            put(body, "vip_address", Value::from(address.as_str()));
        }
    }
}

/// The ports of the first node's server.
fn ports_of_first(service: &LoadBalancer) -> Result<Vec<ServerPort>> {
    let Some(node) = service.nodes.first() else { return Ok(Vec::new()) };
    let id = node.provider_id.as_deref().and_then(|it| it.rsplit('/').next()).filter(|it| !it.is_empty());
    let Some(id) = id else {
        return Err(Error::unavailable(format_args!("the server behind node {} is not known yet", node.name)));
    };
    neutron::ports_of(&[id])
}
