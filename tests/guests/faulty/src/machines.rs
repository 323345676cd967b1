//! Machines.

use aerostat_sdk::{Address, Error, Instance, Instances, Node, Page, Result, State, http, provider_id};
use serde::Deserialize;

use crate::fault::{self, Fault};
use crate::{API, Faulty, PREFIX};

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

/// More machines than there are.
const ALL: u32 = 100;

impl Instances for Faulty {
    fn get(node: &Node) -> Result<Option<Instance>> {
        if node.provider_id.is_none() && fault::is(Fault::NotFound)? {
            return Ok(None);
        }
        let id = node.provider_id.as_deref().map_or(Ok(&*node.name), |it| provider_id::split(PREFIX, it))?;
        match find(id) {
            Err(_) if fault::is(Fault::NoneOnError)? => Ok(None),
            Ok(None) if fault::is(Fault::ErrorOnMissing)? => Err(Error::unavailable("the cloud has no such machine")),
            Ok(None) if fault::is(Fault::FoundByAddress)? => with_address_of(node)?.map(instance).transpose(),
            found => found?.map(instance).transpose(),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let limit = if fault::is(Fault::IgnoresLimit)? { ALL } else { limit };
        let request = http::get(API, ["machines"]).query("after", cursor.unwrap_or("0")).query("limit", limit);
        let read = request.send().and_then(|it| it.json::<Machines>());
        if read.is_err() && fault::is(Fault::SilentGap)? {
            return Ok(Page::new(Vec::new(), None));
        }
        let Machines { machines, next } = read?;
        let mut instances = Vec::new();
        for machine in machines {
            if fault::is(Fault::CallForEach)? {
                for _ in 0..4 {
                    find(&machine.id)?;
                }
            }
            let mut listed = instance(machine)?;
            if fault::is(Fault::OtherSpelling)? {
                listed.provider_id = listed.provider_id.map(|it| it.replace("web", "WEB"));
            }
            if fault::is(Fault::OtherType)? {
                listed.machine_type = Some("other".to_owned());
            }
            instances.push(listed);
        }
        let next = if fault::is(Fault::OnePage)? { None } else { next };
        let endless = next.is_none() && fault::is(Fault::EndlessList)?;
        Ok(Page::new(instances, if endless { Some(format!("0{}", cursor.unwrap_or("0"))) } else { next }))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        Ok(if fault::is(Fault::OneWord)? { "machine".to_owned() } else { provider_id.to_owned() })
    }
}

/// The machine that has an address of this node.
fn with_address_of(node: &Node) -> Result<Option<Machine>> {
    let all: Machines = http::get(API, ["machines"]).query("limit", ALL).send()?.json()?;
    Ok(all.machines.into_iter().find(|it| node.addresses.iter().any(|address| address.value == it.ip)))
}

fn find(id: &str) -> Result<Option<Machine>> {
    http::get(API, ["machines", id]).find()
}

fn instance(machine: Machine) -> Result<Instance> {
    let runs = machine.running || fault::is(Fault::AlwaysRunning)?;
    Ok(Instance::new(&machine.id, provider_id::join(PREFIX, &machine.id))
        .state(if runs { State::Running } else { State::Stopped })
        .machine_type(machine.size)
        .zone(machine.zone)
        .addresses([Address::hostname(machine.id), Address::internal_ip(machine.ip)]))
}
