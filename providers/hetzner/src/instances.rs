//! The machine of a node: a cloud server, or a dedicated one.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Position, Result, State, events, log};

use crate::api::{PAGES, networks, robot, servers};
use crate::machine::Machine;
use crate::provider::Hetzner;
use crate::settings::{Machines, ROBOT};
use crate::{dedicated, server};

impl Instances for Hetzner {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let settings = Machines::read()?;
        match node.provider_id.as_deref().map(Machine::parse).transpose()? {
            Some(Machine::Cloud(id)) => servers::find(id)?.map(|it| cloud(&it, &settings)).transpose(),
            Some(Machine::Robot(number)) => dedicated_of(node, number, &settings),
            None => named(node, &settings),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = Machines::read()?;
        let size = limit.clamp(1, PAGES.largest);
        let lists = if settings.robot { &["servers", "robot"][..] } else { &["servers"] };
        let at = Position::parse(cursor, lists, size)?;
        if at.list == "robot" {
            return Ok(robot_page(at, size, &settings));
        }
        let network = settings.network.as_ref().map(networks::id).transpose()?;
        let found = servers::page(at.page, size)?;
        let instances = found.items.iter().map(|it| server::instance(it, &settings, network)).collect();
        Ok(Page::new(instances, at.next(found.is_last)))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        Machine::parse(provider_id).map(Machine::provider_id)
    }
}

fn cloud(found: &servers::Server, settings: &Machines) -> Result<Instance> {
    let network = settings.network.as_ref().map(networks::id).transpose()?;
    Ok(server::instance(found, settings, network))
}

/// Robot shows all of its servers at once: a page is a part of them.
fn robot_page(at: Position<'_>, size: u32, settings: &Machines) -> Page {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let all = match robot::all() {
        Ok(all) => all,
        // Cloud servers are known all the same, and nothing is concluded from what the list lacks.
        Err(error) => {
            let (Error::Invalid(why) | Error::Denied(why) | Error::Unavailable(why)) = error else {
                let Error::RetryAfter(pause) = error else { unreachable!("there are four kinds of errors") };
                return Page::new(Vec::new(), None).gap(pause.reason);
            };
            log::warn("Robot does not list its servers", &[("why", &why)]);
            return Page::new(Vec::new(), None).gap(why);
        }
    };
    let before = usize::try_from(at.page - 1).unwrap_or(usize::MAX).saturating_mul(size);
    let is_last = before.saturating_add(size) >= all.len();
    let part = all.iter().skip(before).take(size).map(|it| dedicated::listed(it, settings)).collect();
    Page::new(part, at.next(is_last))
}

/// The dedicated server with this number, if it has the node's name: the same server may be installed again for another
/// node.
fn dedicated_of(node: &Node, number: u64, settings: &Machines) -> Result<Option<Instance>> {
    if !settings.robot {
        return Err(Error::invalid(format_args!(
            "node {} is the dedicated server {number}, and Robot cannot be asked: set {}: \"true\"",
            node.name, ROBOT.name
        )));
    }
    let Some(found) = robot::find(number)? else { return Ok(None) };
    let name = dedicated::node_name(&found);
    if name != node.name {
        let message = format!(
            "the dedicated server {number} of node {} is called {:?} in Robot now: its node counts as gone. Give it its \
             name back if it is still this node",
            node.name, found.name
        );
        events::warning(Some(&node.name), "PossibleNodeDeletion", &message);
        return Ok(None);
    }
    of_dedicated(node, &found, settings).map(Some)
}

fn of_dedicated(node: &Node, found: &robot::DedicatedServer, settings: &Machines) -> Result<Instance> {
    let state = if robot::is_off(found.number)? { State::Stopped } else { State::Running };
    Ok(dedicated::instance(found, settings, node).state(state))
}

/// The one machine whose kubelet registers as this node.
fn named(node: &Node, settings: &Machines) -> Result<Option<Instance>> {
    let in_cloud = servers::named(&node.name)?;
    let in_robot = match settings.robot {
        true => robot::all()?.into_iter().find(|it| dedicated::node_name(it) == node.name),
        false => None,
    };
    match (in_cloud, in_robot) {
        (Some(in_cloud), Some(in_robot)) => {
            let message = format!(
                "cloud server {} and dedicated server {} are both called {}, and either could be this node: rename one of \
                 them",
                in_cloud.id, in_robot.number, node.name
            );
            events::warning(Some(&node.name), "InstanceLookupFailed", &message);
            Err(Error::Invalid(message))
        }
        (Some(found), None) => cloud(&found, settings).map(Some),
        (None, Some(found)) => of_dedicated(node, &found, settings).map(Some),
        (None, None) => Ok(None),
    }
}
