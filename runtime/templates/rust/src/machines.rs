//! The machines of nodes.

use aerostat_sdk::{
    Address, Instance, Instances, Node, Page, Position, Result, State, provider_id,
};
use serde::Deserialize;

use crate::api::{API, ITEMS, PAGES};
use crate::{NewCloud, PREFIX};

impl Instances for NewCloud {
    // `None` is a promise: the cloud is certain that there is no such machine. The node is deleted then.
    fn get(node: &Node) -> Result<Option<Instance>> {
        let machine: Option<Machine> = match &node.provider_id {
            Some(id) => API
                .get(["machines", provider_id::split(PREFIX, id)?])
                .find()?,
            None => PAGES
                .all(&API.get(["machines"]).query("name", &node.name), ITEMS)?
                .into_iter()
                .find(|it: &Machine| it.name == node.name),
        };
        Ok(machine.map(Instance::from))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let at = Position::parse(cursor, &["machines"], limit)?;
        let page = PAGES.page(API.get([at.list]), ITEMS, at.page, limit)?;
        let instances = page
            .items
            .into_iter()
            .map(|it: Machine| Instance::from(it))
            .collect();
        Ok(Page::new(instances, at.next(page.is_last)))
    }
}

impl From<Machine> for Instance {
    fn from(machine: Machine) -> Self {
        Self::new(&machine.name, provider_id::join(PREFIX, &machine.id))
            .state(if machine.status == "running" {
                State::Running
            } else {
                State::Stopped
            })
            .machine_type(machine.size)
            .zone(machine.zone)
            .addresses([
                Address::hostname(machine.name),
                Address::internal_ip(machine.ip),
            ])
    }
}

/// A machine, as the cloud shows it.
#[derive(Deserialize)]
struct Machine {
    id: String,
    name: String,
    status: String,
    size: String,
    zone: String,
    ip: String,
}
