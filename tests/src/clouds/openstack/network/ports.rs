//! Ports of Neutron.

use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::objects::{found, wanted, write};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::World;

/// The fields that a request may change.
const CHANGEABLE: [&str; 10] = [
    "admin_state_up",
    "allowed_address_pairs",
    "description",
    "device_id",
    "device_owner",
    "dns_name",
    "fixed_ips",
    "name",
    "port_security_enabled",
    "security_groups",
];

/// `PUT /ports/{id}`.
pub(super) fn update(world: &mut World, request: &Recorded, id: &str, body: &Value) -> Result<Answer, Refused> {
    let change = wanted(body, Kind::Port)?;
    let port = found(world, Kind::Port, id)?;
    let fields = change.as_object().into_iter().flatten();
    if let Some((key, _)) = fields.clone().find(|(key, _)| !CHANGEABLE.contains(&key.as_str())) {
        return Err(errors::neutron(400, "HTTPBadRequest", &format!("Cannot update read-only attribute {key}")));
    }
    let mut fields: Vec<_> = fields.map(|(key, value)| (key.as_str(), value.clone())).collect();
    let secure = change.get("port_security_enabled").unwrap_or(&port["port_security_enabled"]) != &json!(false);
    for (key, value) in &mut fields {
        let empty = value.as_array().is_none_or(Vec::is_empty);
        match *key {
            "security_groups" if !empty && !secure => {
                return Err(errors::neutron(
                    400,
                    "PortSecurityAndIPRequiredForSecurityGroups",
                    "Port security must be enabled and port must have an IP address in order to use security groups.",
                ));
            }
            "security_groups" => {
                for group in value.as_array().into_iter().flatten() {
                    found(world, Kind::SecurityGroup, group.as_str().unwrap_or_default())?;
                }
            }
            "allowed_address_pairs" if !empty && !secure => {
                let message = "Port Security must be enabled in order to have allowed address pairs on a port.";
                return Err(errors::neutron(409, "AddressPairAndPortSecurityRequired", message));
            }
            "allowed_address_pairs" => {
                for pair in value.as_array_mut().into_iter().flatten() {
                    if pair["mac_address"].is_null() {
                        pair["mac_address"] = port["mac_address"].clone();
                    }
                }
            }
            _ => {}
        }
    }
    write(world, Some(request), (Kind::Port, id), &fields)
}
