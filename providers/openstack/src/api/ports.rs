//! Ports: what connects servers and routers with networks.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Result, SortedMap, SortedSet};
use openstack_api::NEUTRON;
use openstack_api::fields::{FromFields, items, object, objects, text, word};
use openstack_api::lists::listed;
use serde_json::{Value, json};

use super::revision::if_match;

/// Ids or addresses in one request: a query has 64 pairs at most.
const AT_ONCE: usize = 40;
/// Networks beside them.
const NETWORKS_AT_ONCE: usize = 10;
/// From so many addresses on, all ports of their networks are read.
const MANY: usize = 200;

/// One port, as far as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct NeutronPort {
    pub(crate) id: String,
    /// The server or router that it is of.
    pub(crate) device_id: String,
    pub(crate) status: String,
    pub(crate) network_id: String,
    pub(crate) fixed_ips: Vec<PortAddress>,
    /// The ids of the ports that hang on it by VLANs.
    pub(crate) sub_ports: Vec<String>,
    /// Addresses that it lets through beside its own; `None` where Neutron cannot.
    pub(crate) allowed_address_pairs: Option<Vec<Value>>,
    /// Whether it lets through nothing else; `None` where Neutron knows no other ports.
    pub(crate) port_security_enabled: Option<bool>,
    pub(crate) revision_number: Option<u64>,
}

/// An address of a port, and its subnet.
#[derive(Clone, Debug)]
pub(crate) struct PortAddress {
    pub(crate) subnet_id: String,
    pub(crate) ip_address: String,
}

impl FromFields for NeutronPort {
    fn from_fields(shown: &Value) -> Option<Self> {
        let address = |it: &Value| PortAddress { subnet_id: text(it, "subnet_id"), ip_address: text(it, "ip_address") };
        let sub_ports = items(&shown["trunk_details"], "sub_ports");
        Some(Self {
            id: word(shown, "id")?,
            device_id: text(shown, "device_id"),
            status: text(shown, "status"),
            network_id: text(shown, "network_id"),
            fixed_ips: items(shown, "fixed_ips").iter().map(address).collect(),
            sub_ports: sub_ports.iter().filter_map(|it| word(it, "port_id")).collect(),
            allowed_address_pairs: shown["allowed_address_pairs"].as_array().cloned(),
            port_security_enabled: shown["port_security_enabled"].as_bool(),
            revision_number: shown["revision_number"].as_u64(),
        })
    }
}

impl NeutronPort {
    /// Whether it carries packets.
    pub(crate) fn is_active(&self) -> bool {
        self.status == "ACTIVE"
    }

    /// Its addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> + Clone {
        self.fixed_ips.iter().map(|it| it.ip_address.as_str())
    }
}

/// A list of ports with what is read of servers' ports.
fn of_servers() -> Request {
    fields(["id", "device_id", "status", "network_id", "fixed_ips", "trunk_details"])
}

fn fields<const N: usize>(names: [&str; N]) -> Request {
    names.iter().fold(NEUTRON.get(["ports"]), |it, name| it.query("fields", name))
}

/// The ports for which `name` is one of `values`, by as many requests as it takes.
fn with<T: AsRef<str>>(request: &Request, name: &str, values: &[T]) -> Result<Vec<NeutronPort>> {
    let mut all = Vec::new();
    for values in values.chunks(AT_ONCE) {
        let request = values.iter().fold(request.clone(), |it, value| it.query(name, value.as_ref()));
        all.extend(objects::<NeutronPort>(&request, "ports")?);
    }
    Ok(all)
}

/// The ports of these servers.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn of_devices(ids: &[&str]) -> Result<Vec<NeutronPort>> {
    with(&of_servers(), "device_id", ids)
}

/// All ports of these projects; of all that the credential sees, if there are none.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn of_projects(ids: &SortedSet<&str>) -> Result<Vec<NeutronPort>> {
    objects(&ids.iter().fold(of_servers(), |it, id| it.query("tenant_id", id)), "ports")
}

/// The ports with these ids.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn by_ids(ids: &[&str]) -> Result<Vec<NeutronPort>> {
    with(&of_servers(), "id", ids)
}

/// The names of networks, by their ids.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn network_names(ids: &[&str]) -> Result<SortedMap<String, String>> {
    let request = NEUTRON.get(["networks"]).query("fields", "id").query("fields", "name");
    let mut names = Vec::new();
    for ids in ids.chunks(AT_ONCE) {
        let request = ids.iter().fold(request.clone(), |it, id| it.query("id", id));
        names.extend(listed(&request, "networks")?.iter().map(|it| (text(it, "id"), text(it, "name"))));
    }
    Ok(names.into_iter().collect())
}

/// The ports of a router: one in each of its networks.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn of_router(id: &str) -> Result<Vec<NeutronPort>> {
    objects(&fields(["id", "network_id", "fixed_ips"]).query("device_id", id), "ports")
}

/// The ports in these networks that have one of these addresses, with what they let through; all ports of these networks where the
/// addresses are many.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn at(networks: &[&str], addresses: &[&str]) -> Result<Vec<NeutronPort>> {
    if addresses.len() > MANY {
        return in_networks(networks);
    }
    let filters: Vec<_> = addresses.iter().map(|it| format!("ip_address={it}")).collect();
    let mut all = Vec::new();
    for request in with_pairs(networks) {
        all.extend(with(&request, "fixed_ips", &filters)?);
    }
    Ok(all)
}

/// All ports in these networks, with what they let through.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn in_networks(networks: &[&str]) -> Result<Vec<NeutronPort>> {
    let mut all = Vec::new();
    for request in with_pairs(networks) {
        all.extend(objects(&request, "ports")?);
    }
    Ok(all)
}

/// Lists of the ports in these networks.
fn with_pairs(networks: &[&str]) -> impl Iterator<Item = Request> {
    let names = ["id", "network_id", "fixed_ips", "allowed_address_pairs", "port_security_enabled", "revision_number"];
    let networks = networks.chunks(NETWORKS_AT_ONCE);
    networks.map(move |it| it.iter().fold(fields(names), |request, id| request.query("network_id", id)))
}

/// Lets a port let through these pairs and no others, if it is still as it was read.
/// Answers the port as it is then.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn allow(port: &NeutronPort, pairs: &[Value]) -> Result<Change<NeutronPort>> {
    let request = NEUTRON.put(["ports", &port.id]).json(&json!({ "port": { "allowed_address_pairs": pairs } }));
    Ok(match if_match(request, port.revision_number).change()? {
        Change::Done(response) => Change::Done(object(&response, "port")?),
        Change::Busy(why) => Change::Busy(why),
    })
}
