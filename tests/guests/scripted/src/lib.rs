//! A provider whose cloud is whatever a script says: a server of the test, asked through the real gate.
//!
//! Machines are asked about by the name of their node. An answer may be an error of any kind.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use aerostat_sdk::{
    Address, AddressKind, Description, Endpoint, Error, Instance, Instances, Node, Page, Provider, Result, Setting,
};
use aerostat_sdk::{http, settings};
use serde::Deserialize;

const ENDPOINT: &str = "script";

/// The provider.
pub struct Scripted;

aerostat_sdk::export!(Scripted: Provider, Instances);

impl Provider for Scripted {
    fn describe() -> Result<Description> {
        let script = Endpoint::new(ENDPOINT, "the script", "http://127.0.0.1:8080");
        let script = script.allow(["GET"], ["/machines", "/machines/*"], []);
        let list_page = Setting::optional("listPage", "Machines in one page of a list.").default("100");
        Ok(Description::new("fakecloud", "1.0.0")
            .provider_id_prefix("fakecloud://")
            .endpoint(script)
            .setting(list_page)
            .list_page(settings::find("listPage")?.unwrap_or(100)))
    }
}

impl Instances for Scripted {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let provider_id = node.provider_id.as_deref().unwrap_or_default();
        let request = http::get(ENDPOINT, ["machines", &node.name]).query("providerID", provider_id);
        let answer: Option<Answer> = request.query("unique", unique()).find()?;
        answer.map(Answer::instance).transpose()
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

/// What the script says about one machine.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Answer {
    Machine(Machine),
    Unavailable { text: String },
    RetryAfter { text: String, milliseconds: u64 },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Machine {
    name: String,
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(rename = "type")]
    machine_type: String,
    zone: String,
    region: String,
    addresses: Vec<MachineAddress>,
    labels: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct MachineAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

impl Answer {
    fn instance(self) -> Result<Instance> {
        match self {
            Self::Machine(machine) => machine.instance(),
            Self::Unavailable { text } => Err(Error::unavailable(text)),
            Self::RetryAfter { text, milliseconds } => {
                Err(Error::retry_after(Duration::from_millis(milliseconds), text))
            }
        }
    }
}

impl Machine {
    fn instance(self) -> Result<Instance> {
        let addresses = self.addresses.into_iter().map(MachineAddress::address).collect::<Result<Vec<_>>>()?;
        let mut instance = Instance::new(self.name, self.provider_id).addresses(addresses);
        // An empty word of the script means that the cloud does not say.
        instance.machine_type = Some(self.machine_type).filter(|it| !it.is_empty());
        instance.zone = Some(self.zone).filter(|it| !it.is_empty());
        instance.region = Some(self.region).filter(|it| !it.is_empty());
        instance.labels = self.labels;
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
