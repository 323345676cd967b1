//! A whole cloud provider, for a cloud that does not exist.

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{Address, Deletion, Description, Endpoint, Error, Ingress, Instance, Instances, LoadBalancer};
use aerostat_sdk::{
    LoadBalancerStatus, LoadBalancers, Method, Node, Page, Port, Progress, Protocol, Provider, Result, State,
};
use aerostat_sdk::{http, provider_id};
use serde::{Deserialize, Serialize};

const PREFIX: &str = "acme://";

/// The provider.
pub struct Acme;

aerostat_sdk::export!(Acme: Provider, Instances, LoadBalancers);

impl Provider for Acme {
    fn describe() -> Result<Description> {
        let api = Endpoint::new("api", "machines and balancers", "https://api.acme.example/v1")
            .allow([Method::Get], ["/machines", "/machines/*"], ["machines:read"])
            .allow([Method::Get, Method::Put, Method::Delete], ["/balancers/*"], ["balancers:write"]);
        Ok(Description::new("acme", "1.0.0").provider_id_prefix(PREFIX).endpoint(api))
    }
}

impl Instances for Acme {
    fn get(node: &Node) -> Result<Option<Instance>> {
        // Acme calls a machine by the name of its node.
        let id = node.provider_id.as_deref().map_or(Ok(&*node.name), |it| provider_id::split(PREFIX, it))?;
        let machine: Option<AcmeMachine> = http::get("api", ["machines", id]).find()?;
        Ok(machine.map(Instance::from))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let request = http::get("api", ["machines"]).query("after", cursor.unwrap_or("0")).query("limit", limit);
        let machines: AcmeMachines = request.send()?.json()?;
        Ok(Page::new(machines.machines.into_iter().map(Instance::from).collect(), machines.next))
    }
}

impl LoadBalancers for Acme {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        // The name holds the Service's UID: a PUT whose answer was lost makes nothing twice. A POST needs `aerostat_sdk::backend`.
        let path = ["balancers", &desired.name];
        let spec = AcmeSpec::of(desired)?;
        let balancer = match http::get("api", path).find()? {
            Some(Balancer { spec: current, ip }) if current == spec => Balancer { spec, ip },
            Some(_) | None => http::put("api", path).json(&spec).send()?.json()?,
        };
        let status = LoadBalancerStatus::new(balancer.ip.into_iter().map(Ingress::ip)).memo(&desired.name);
        Ok(if status.ingress.is_empty() {
            Progress::pending(status, Duration::from_secs(5), "the cloud builds the balancer")
        } else {
            Progress::Ready(status)
        })
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        http::delete("api", ["balancers", &unwanted.name]).send_or_gone()?;
        Ok(Deletion::Done)
    }
}

impl AcmeSpec {
    fn of(desired: &LoadBalancer) -> Result<Self> {
        let ports = desired.ports.iter().map(forward).collect::<Result<_>>()?;
        Ok(Self { ports, machines: desired.nodes.iter().map(|it| it.name.clone()).collect() })
    }
}

fn forward(port: &Port) -> Result<(u16, u16)> {
    match (port.protocol, port.node_port) {
        (Protocol::Tcp, Some(node_port)) => Ok((port.port, node_port)),
        (Protocol::Tcp, None) => Err(Error::invalid(format_args!("port {} has no node port", port.port))),
        (other, _) => Err(Error::invalid(format_args!("port {}: {} is not TCP", port.port, other.as_str()))),
    }
}

impl From<AcmeMachine> for Instance {
    fn from(machine: AcmeMachine) -> Self {
        Self::new(&machine.id, provider_id::join(PREFIX, &machine.id))
            .state(if machine.running { State::Running } else { State::Stopped })
            .machine_type(machine.size)
            .zone(machine.zone)
            .addresses([Address::hostname(machine.id), Address::internal_ip(machine.ip)])
    }
}

#[derive(Deserialize)]
struct AcmeMachines {
    machines: Vec<AcmeMachine>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct AcmeMachine {
    id: String,
    running: bool,
    size: String,
    zone: String,
    ip: String,
}

#[derive(Deserialize)]
struct Balancer {
    spec: AcmeSpec,
    ip: Option<String>,
}

#[derive(Deserialize, PartialEq, Serialize)]
struct AcmeSpec {
    /// From the balancer's port to the machines' port.
    ports: BTreeMap<u16, u16>,
    machines: Vec<String>,
}
