//! Machines and their interfaces.

use serde_json::{Value, json};

use super::rg;

/// A machine with this interface.
pub(super) fn machine(name: &str, nic: &str) -> Value {
    json!({ "location": "westeurope", "zones": ["1"], "properties": {
        "hardwareProfile": { "vmSize": "Standard_D2s_v5" }, "osProfile": { "computerName": name },
        "networkProfile": { "networkInterfaces": [{ "id": nic, "properties": { "primary": true } }] },
        "instanceView": { "platformFaultDomain": 1, "statuses": [{ "code": "ProvisioningState/succeeded" }, { "code": "PowerState/running" }] },
    } })
}

/// An interface of a machine.
pub(super) fn interface(id: &str, vm: &str, ip: &str) -> Value {
    json!({ "location": "westeurope", "properties": { "primary": true, "virtualMachine": { "id": vm }, "ipConfigurations": [{
        "name": "ipc", "id": format!("{id}/ipConfigurations/ipc"), "properties": { "primary": true, "privateIPAddress": ip,
        "privateIPAddressVersion": "IPv4", "subnet": { "id": rg("Microsoft.Network/virtualNetworks/vnet1/subnets/subnet1") } } }] } })
}
