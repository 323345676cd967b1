//! Routes of the cluster's network: each leads to the address that a server has in it.
//!
//! The network carries out one change at a time: what comes after one that still runs is pending.

mod net;

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{
    Change, Error, IpFamily, Node, PodNetwork, Position, Result, Route, RouteChange, RouteDescription, RouteOutcome,
    RouteOwnership, RoutePage, RouteState, Routes, cluster, events,
};

use self::net::Net;
use crate::api::actions::{self, Status};
use crate::api::networks::{self, Network, Route as Live};
use crate::api::servers;
use crate::machine::Machine;
use crate::provider::Hetzner;
use crate::server::PRIVATE;
use crate::settings::{Machines, NETWORK, ROBOT};

/// Changes of one call: each is a request, and one that asks what became of it.
const BATCH: u32 = 10;
/// How long a change of a network takes.
const PAUSE: Duration = Duration::from_secs(1);

impl Routes for Hetzner {
    fn describe() -> Result<RouteDescription> {
        Ok(RouteDescription::new([IpFamily::Ipv4]).batch_size(BATCH))
    }

    fn next_hop(network: &PodNetwork) -> Result<String> {
        let mut hops = Self::next_hops(std::slice::from_ref(network));
        hops.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    /// Asks only about servers whose addresses the host does not know any more.
    fn next_hops(networks: &[PodNetwork]) -> Vec<Result<String>> {
        let setting = match setting() {
            Ok(it) => it,
            Err(error) => return networks.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut unknown = Addresses::default();
        networks.iter().map(|it| hop(it, &setting, &mut unknown)).collect()
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let at = Position::parse(cursor, &["routes"], limit.max(1))?;
        let network = networks::get(&setting()?)?;
        let gateways = gateways(network.id)?;
        let pod_cidrs = pod_cidrs()?;
        let size = usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
        let before = usize::try_from(at.page - 1).unwrap_or(usize::MAX).saturating_mul(size);
        let is_last = before.saturating_add(size) >= network.routes.len();
        let part = network.routes.iter().skip(before).take(size);
        Ok(RoutePage::new(part.map(|it| shown(it, &gateways, &pod_cidrs)).collect(), at.next(is_last)))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let mut pass = Pass::default();
        changes.iter().map(|it| pass.apply(it)).collect()
    }
}

/// The cluster's network, as the operator names it.
fn setting() -> Result<crate::settings::Network> {
    let machines = Machines::read()?;
    if machines.robot {
        return Err(Error::invalid(format_args!(
            "setting {}: \"true\" excludes routes: no route of a network leads to a dedicated server. Start without \
             --configure-cloud-routes",
            ROBOT.name
        )));
    }
    machines.network.ok_or_else(|| {
        Error::invalid(format_args!("routes need setting {}: the network that they are written into", NETWORK.name))
    })
}

/// The pod networks of the cluster; none, if it does not say them.
fn pod_cidrs() -> Result<Vec<Net>> {
    Ok(cluster()?.pod_cidrs.iter().filter_map(|it| Net::parse(it)).collect())
}

/// The addresses that servers have in a network, and whose they are.
fn gateways(network: u64) -> Result<BTreeMap<String, u64>> {
    let servers = servers::all()?;
    Ok(servers.iter().filter_map(|it| Some((it.private_ip(network)?.to_owned(), it.id))).collect())
}

/// A route as the host knows it. Nothing marks one: whatever leads into the cluster's pod networks could have been made here, and so could
/// what leads to a server.
fn shown(route: &Live, gateways: &BTreeMap<String, u64>, pod_cidrs: &[Net]) -> Route {
    let has_server = gateways.contains_key(&route.gateway);
    let is_inside = Net::parse(&route.destination)
        .is_some_and(|it| pod_cidrs.is_empty() || pod_cidrs.iter().any(|cidr| cidr.contains(&it)));
    let ownership = if is_inside || has_server { RouteOwnership::Unmarked } else { RouteOwnership::Foreign };
    let state = if has_server { RouteState::Active } else { RouteState::Blackhole };
    Route::new(&route.destination, &route.gateway).ownership(ownership).state(state)
}

/// The addresses of all servers, once they have been asked for.
#[derive(Default)]
struct Addresses(Option<Result<(u64, BTreeMap<u64, String>)>>);

impl Addresses {
    fn of(&mut self, server: u64, setting: &crate::settings::Network) -> Result<Option<String>> {
        let read = || {
            let network = networks::id(setting)?;
            let of_servers = gateways(network)?.into_iter().map(|(ip, id)| (id, ip)).collect();
            Ok((network, of_servers))
        };
        let (_, addresses) = self.0.get_or_insert_with(read).as_ref().map_err(Clone::clone)?;
        Ok(addresses.get(&server).cloned())
    }
}

fn hop(network: &PodNetwork, setting: &crate::settings::Network, unknown: &mut Addresses) -> Result<String> {
    let PodNetwork { destination, node } = network;
    if Net::parse(destination).is_none() {
        return Err(ipv4_only(destination));
    }
    let known = node.extra.iter().find(|(key, _)| key == PRIVATE).map(|(_, ip)| ip.clone());
    let ip = match known {
        Some(ip) => Some(ip).filter(|it| !it.is_empty()),
        None => unknown.of(server(node)?, setting)?,
    };
    ip.ok_or_else(|| {
        Error::invalid(format_args!(
            "the server of node {} is not attached to network {setting}, so that no route leads to it: attach it",
            node.name
        ))
    })
}

fn server(node: &Node) -> Result<u64> {
    let id = node.provider_id.as_deref().map(Machine::parse).transpose()?;
    match id {
        Some(Machine::Cloud(id)) => Ok(id),
        Some(Machine::Robot(_)) => {
            Err(Error::invalid(format_args!("node {} is a dedicated server: no route leads to it", node.name)))
        }
        None => Err(Error::invalid(format_args!("node {} has no provider id yet", node.name))),
    }
}

fn ipv4_only(destination: &str) -> Error {
    Error::invalid(format_args!("routes of the cloud's networks are IPv4: {destination} is not"))
}

/// The changes of one call.
#[derive(Default)]
struct Pass {
    network: Option<Result<Network>>,
    /// Why nothing more can be written in this call.
    busy: Option<String>,
    /// What the cloud said when there was no room.
    full: Option<Error>,
}

impl Pass {
    fn apply(&mut self, change: &RouteChange) -> Result<RouteOutcome> {
        let net = Net::parse(&change.destination).ok_or_else(|| ipv4_only(&change.destination))?;
        let network = self.network()?;
        let live = network.routes.iter().find(|it| Net::parse(&it.destination) == Some(net)).cloned();
        let before = change.before.as_ref().and_then(|it| it.next_hop.as_deref());
        match (live, &change.after) {
            (None, None) => Ok(RouteOutcome::Done),
            (Some(live), Some(after)) if live.gateway == after.next_hop => Ok(RouteOutcome::Done),
            (Some(live), after) if before == Some(&*live.gateway) => match (self.delete(&network, &live)?, after) {
                (RouteOutcome::Done, Some(after)) => {
                    self.add(&network, &change.destination, &after.next_hop, &after.node)
                }
                (outcome, _) => Ok(outcome),
            },
            (Some(live), _) => Err(Error::invalid(format_args!(
                "the route to {} leads to {} by now, and is not touched: it was to be one that leads to {}",
                live.destination,
                live.gateway,
                before.unwrap_or("nothing")
            ))),
            (None, Some(after)) => self.add(&network, &change.destination, &after.next_hop, &after.node),
        }
    }

    /// The network as it is, read once in a call.
    fn network(&mut self) -> Result<Network> {
        let read = || networks::get(&setting()?);
        self.network.get_or_insert_with(read).clone()
    }

    fn add(&mut self, network: &Network, destination: &str, gateway: &str, node: &Node) -> Result<RouteOutcome> {
        if let Some(full) = &self.full {
            return Err(full.clone());
        }
        let pod_cidrs = pod_cidrs()?;
        let is_outside = |net: Net| !pod_cidrs.is_empty() && !pod_cidrs.iter().any(|it| it.contains(&net));
        if self.busy.is_none() && Net::parse(destination).is_some_and(is_outside) {
            let message =
                format!("pod network {destination} of node {} is outside --cluster-cidr: correct the flag", node.name);
            events::warning(Some(&node.name), "ClusterCIDRMisconfigured", &message);
        }
        let added = self.write(
            "add_route",
            network,
            &Live { destination: destination.to_owned(), gateway: gateway.to_owned() },
        );
        if let Err(networks::Refused::Full(error)) = &added {
            self.full = Some(error.clone());
        }
        added.map_err(networks::Refused::into_error)
    }

    fn delete(&mut self, network: &Network, route: &Live) -> Result<RouteOutcome> {
        self.write("delete_route", network, route).map_err(networks::Refused::into_error)
    }

    /// Sends one change, unless an earlier one still runs, and asks once what became of it.
    fn write(&mut self, action: &str, network: &Network, route: &Live) -> Result<RouteOutcome, networks::Refused> {
        if let Some(why) = &self.busy {
            return Ok(RouteOutcome::pending(PAUSE, why));
        }
        let begun = match networks::act(network.id, action, route)? {
            Change::Done(action) => action,
            Change::Busy(why) => return Ok(self.wait(why)),
        };
        let ended = match begun.status {
            Status::Running => actions::all(&[begun.id])?.into_iter().next().unwrap_or(begun),
            Status::Success | Status::Error => begun,
        };
        match ended.status {
            Status::Success => Ok(RouteOutcome::Done),
            Status::Error => {
                Err(Error::unavailable(format_args!("route to {}: {}", route.destination, ended.failure())).into())
            }
            Status::Running => {
                Ok(self.wait(format!("the cloud carries out {} of network {}", ended.command, network.id)))
            }
        }
    }

    fn wait(&mut self, why: String) -> RouteOutcome {
        let outcome = RouteOutcome::pending(PAUSE, &why);
        self.busy = Some(why);
        outcome
    }
}

#[cfg(test)]
mod tests;
