//! Neutron, as far as load balancers need it: floating IPs, subnets, and ports.

pub(crate) mod groups;

use aerostat_sdk::http::{Attempt, Response};
use aerostat_sdk::{Change, Error, Result};
use openstack_api::fields::{FromFields, items, number, object, objects, text, texts, word};
use openstack_api::{NEUTRON, errors};
use serde_json::{Map, Value, json};

/// How many ids a list is asked for at a time: each is some 47 bytes of a query, which has 64 pairs at most.
const IDS: usize = 50;

/// A floating IP.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FloatingIp {
    pub(crate) id: String,
    pub(crate) floating_ip_address: String,
    pub(crate) port_id: Option<String>,
    pub(crate) description: String,
}

/// A subnet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NeutronSubnet {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) cidr: String,
}

/// A network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExternalNetwork {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A port of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerPort {
    pub(crate) id: String,
    pub(crate) fixed_ips: Vec<FixedIp>,
    pub(crate) security_groups: Vec<String>,
    /// Absent where Neutron has no port security.
    pub(crate) port_security_enabled: Option<bool>,
    pub(crate) revision_number: Option<u64>,
}

/// An address of a port.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
pub(crate) struct FixedIp {
    #[serde(default, deserialize_with = "aerostat_sdk::json::null_as_default")]
    pub(crate) subnet_id: String,
    #[serde(default, deserialize_with = "aerostat_sdk::json::null_as_default")]
    pub(crate) ip_address: String,
}

impl FromFields for FloatingIp {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: word(shown, "id")?,
            floating_ip_address: text(shown, "floating_ip_address"),
            port_id: word(shown, "port_id"),
            description: text(shown, "description"),
        })
    }
}

impl FromFields for NeutronSubnet {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self { id: word(shown, "id")?, name: text(shown, "name"), cidr: text(shown, "cidr") })
    }
}

impl FromFields for ExternalNetwork {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self { id: word(shown, "id")?, name: text(shown, "name") })
    }
}

impl FromFields for ServerPort {
    fn from_fields(shown: &Value) -> Option<Self> {
        let fixed = |it: &Value| FixedIp { subnet_id: text(it, "subnet_id"), ip_address: text(it, "ip_address") };
        Some(Self {
            id: word(shown, "id")?,
            fixed_ips: items(shown, "fixed_ips").iter().map(fixed).collect(),
            security_groups: texts(shown, "security_groups").unwrap_or_default(),
            port_security_enabled: shown["port_security_enabled"].as_bool(),
            revision_number: number(shown, "revision_number"),
        })
    }
}

/// The result of asking for a floating IP.
#[derive(Debug)]
pub(crate) enum NewFloatingIp {
    /// It is there.
    Made(FloatingIp),
    /// The subnet is full, as Neutron says.
    Full(String),
    /// The answer was lost: if it was made, the port has it.
    Unclear(String),
}

/// All floating IPs of the project.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn floating_ips() -> Result<Vec<FloatingIp>> {
    objects(&NEUTRON.get(["floatingips"]), "floatingips")
}

/// The floating IPs in which `field` has this value: "port_id", "floating_ip_address", "description".
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn floating_ips_by(field: &str, value: &str) -> Result<Vec<FloatingIp>> {
    objects(&NEUTRON.get(["floatingips"]).query(field, value), "floatingips")
}

/// Makes a floating IP on a port.
///
/// # Errors
///
/// Whatever Neutron answered, but for a subnet that is full.
pub(crate) fn make_floating_ip(body: Map<String, Value>) -> Result<NewFloatingIp> {
    let request = NEUTRON.post(["floatingips"]).json(&json!({ "floatingip": Value::Object(body) }));
    let response = match request.attempt()? {
        Attempt::Lost(why) => return Ok(NewFloatingIp::Unclear(why)),
        Attempt::Answered(response) => response,
    };
    if is_full(&response) {
        return Ok(NewFloatingIp::Full(response.complaint()));
    }
    // An earlier request made it, and the list does not show it yet.
    if errors::neutron_type(&response) == "FloatingIPPortAlreadyAssociated" {
        return Ok(NewFloatingIp::Unclear(response.complaint()));
    }
    object(&response.accepted()?, "floatingip").map(NewFloatingIp::Made)
}

fn is_full(response: &Response) -> bool {
    matches!(&*errors::neutron_type(response), "IpAddressGenerationFailure" | "ExternalIpAddressExhausted")
}

/// Puts a floating IP on a port, or takes it off its port.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn attach_floating_ip(id: &str, port: Option<&str>) -> Result<()> {
    NEUTRON.put(["floatingips", id]).json(&json!({ "floatingip": { "port_id": port } })).send().map(drop)
}

/// Deletes a floating IP.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn delete_floating_ip(id: &str) -> Result<()> {
    NEUTRON.delete(["floatingips", id]).send_or_gone()
}

/// The subnets of a network, with these filters.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn subnets(network: &str, filters: &[(&str, &str)]) -> Result<Vec<NeutronSubnet>> {
    objects(&NEUTRON.get(["subnets"]).query("network_id", network).queries(filters), "subnets")
}

/// The subnet with this id.
///
/// # Errors
///
/// Whatever Neutron answered; `invalid` if there is none.
pub(crate) fn subnet(id: &str) -> Result<NeutronSubnet> {
    let found = NEUTRON.get(["subnets", id]).find_response()?.map(|it| object(&it, "subnet")).transpose()?;
    found.ok_or_else(|| Error::invalid(format_args!("there is no subnet {id}")))
}

/// The external networks.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn external_networks() -> Result<Vec<ExternalNetwork>> {
    objects(&NEUTRON.get(["networks"]).query("router:external", "true"), "networks")
}

/// The ports of servers, by their ids.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn ports_of(servers: &[&str]) -> Result<Vec<ServerPort>> {
    let mut ports = Vec::new();
    for servers in servers.chunks(IDS) {
        let request = servers.iter().fold(NEUTRON.get(["ports"]), |it, server| it.query("device_id", server));
        let fields = ["id", "fixed_ips", "security_groups", "port_security_enabled", "revision_number"];
        let request = fields.iter().fold(request, |it, field| it.query("fields", field));
        ports.extend(objects::<ServerPort>(&request, "ports")?);
    }
    Ok(ports)
}

/// The ports that have a security group.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn ports_with_group(group: &str) -> Result<Vec<ServerPort>> {
    objects(&NEUTRON.get(["ports"]).query("security_groups", group), "ports")
}

/// Gives a port these security groups, unless it has changed since it was read.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn set_groups(port: &ServerPort, groups: &[&str]) -> Result<Change<()>> {
    let request = NEUTRON.put(["ports", &port.id]).json(&json!({ "port": { "security_groups": groups } }));
    let request = match port.revision_number {
        Some(revision) => request.header("if-match", format!("revision_number={revision}")),
        None => request,
    };
    Ok(request.change()?.map(drop))
}
