//! A whole cloud provider, for a cloud that does not exist.

use aerostat_sdk::{Address, Description, Endpoint, Instance, Instances, Node, Page, Provider, Result, State};
use aerostat_sdk::{http, provider_id};
use serde::Deserialize;

const PREFIX: &str = "acme://";

/// The provider.
pub struct Acme;

aerostat_sdk::export!(Acme: Provider, Instances);

impl Provider for Acme {
    fn describe() -> Result<Description> {
        let api = Endpoint::new("api", "machines", "https://api.acme.example/v1");
        let api = api.allow(["GET"], ["/machines", "/machines/*"], ["machines:read"]);
        Ok(Description::new("acme", "1.0.0").provider_id_prefix(PREFIX).endpoint(api))
    }
}

impl Instances for Acme {
    fn get(node: &Node) -> Result<Option<Instance>> {
        // Acme calls a machine by the name of its node.
        let id = node.provider_id.as_deref().map_or(Ok(&*node.name), |it| provider_id::split(PREFIX, it))?;
        let machine: Option<Machine> = http::get("api", ["machines", id]).find()?;
        Ok(machine.map(Instance::from))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let request = http::get("api", ["machines"]).query("after", cursor.unwrap_or("0")).query("limit", limit);
        let machines: Machines = request.send()?.json()?;
        Ok(Page::new(machines.machines.into_iter().map(Instance::from).collect(), machines.next))
    }
}

impl From<Machine> for Instance {
    fn from(machine: Machine) -> Self {
        Self::new(&machine.id, provider_id::join(PREFIX, &machine.id))
            .state(if machine.running { State::Running } else { State::Stopped })
            .machine_type(machine.size)
            .zone(machine.zone)
            .addresses([Address::hostname(machine.id), Address::internal_ip(machine.ip)])
    }
}

#[derive(Deserialize)]
struct Machines {
    machines: Vec<Machine>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Machine {
    id: String,
    running: bool,
    size: String,
    zone: String,
    ip: String,
}
