//! The script's machines.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use aerostat_sdk::{Address, AddressKind, Error, Instance, Instances, Node, Page, Result, State, http};
use serde::Deserialize;

use crate::{Answer, ENDPOINT, Scripted};

impl Instances for Scripted {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let provider_id = node.provider_id.as_deref().unwrap_or_default();
        let request = http::get(ENDPOINT, ["machines", &node.name]).query("providerID", provider_id);
        let answer: Option<Answer<Found>> = request.query("unique", unique()).find()?;
        answer.map(|it| it.told()?.machine.instance()).transpose()
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let request = http::get(ENDPOINT, ["machines"]).query("after", cursor.unwrap_or_default());
        let machines: Machines = request.query("limit", limit).query("unique", unique()).send()?.json()?;
        let instances = machines.machines.into_iter().map(Machine::instance).collect::<Result<_>>()?;
        Ok(Page::new(instances, machines.next))
    }
}

/// Different in every call: the host would answer equal questions with one answer, and the script counts questions.
fn unique() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[derive(Deserialize)]
struct Machines {
    machines: Vec<Machine>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    machine: Machine,
}

/// The script's word on one machine.
#[derive(Deserialize)]
struct Machine {
    name: String,
    #[serde(rename = "providerID")]
    provider_id: String,
    stopped: bool,
    #[serde(rename = "type")]
    machine_type: String,
    zone: String,
    region: String,
    addresses: Vec<MachineAddress>,
    labels: Vec<(String, String)>,
    #[serde(rename = "podCIDRs", default)]
    pod_cidrs: Vec<String>,
}

#[derive(Deserialize)]
struct MachineAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

impl Machine {
    fn instance(self) -> Result<Instance> {
        let addresses = self.addresses.into_iter().map(MachineAddress::address).collect::<Result<Vec<_>>>()?;
        let mut instance = Instance::new(self.name, self.provider_id).addresses(addresses).state(if self.stopped {
            State::Stopped
        } else {
            State::Running
        });
        // An empty word of the script means that the cloud does not say.
        instance.machine_type = Some(self.machine_type).filter(|it| !it.is_empty());
        instance.zone = Some(self.zone).filter(|it| !it.is_empty());
        instance.region = Some(self.region).filter(|it| !it.is_empty());
        instance.labels = self.labels;
        instance.pod_cidrs = self.pod_cidrs;
        Ok(instance)
    }
}

impl MachineAddress {
    fn address(self) -> Result<Address> {
        let kind = match self.kind.as_str() {
            "Hostname" => AddressKind::Hostname,
            "InternalIP" => AddressKind::InternalIp,
            "ExternalIP" => AddressKind::ExternalIp,
            "InternalDNS" => AddressKind::InternalDns,
            "ExternalDNS" => AddressKind::ExternalDns,
            other => return Err(Error::invalid(format_args!("the script has an address of the type {other}"))),
        };
        Ok(Address { kind, value: self.address })
    }
}
