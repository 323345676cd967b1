//! Routes of the cluster's network: each leads to the address that a server has in it.
//!
//! The network carries out one change at a time. So one is sent, and all others are pending; the next call reads the network
//! once, which shows whether it is done, and sends the next. Only if it is not, its action is asked about: the reason with
//! which the change was pending names it.

mod net;

use std::rc::Rc;
use std::time::Duration;

use aerostat_sdk::{
    Change, Error, IpFamily, Node, PodNetwork, Position, Result, Route, RouteChange, RouteDescription, RouteOutcome,
    RouteOwnership, RoutePage, RouteState, RouteTarget, Routes, SortedMap, cluster, events,
};

use self::net::Net;
use crate::api::actions::{self, Action, ActionStatus};
use crate::api::networks::{self, Network, Route as Live};
use crate::api::servers;
use crate::machine::Machine;
use crate::provider::Hetzner;
use crate::server::PRIVATE;
use crate::settings::{Machines, NETWORK, ROBOT};

/// Changes of one call: a network takes about as many routes.
const BATCH: u32 = 100;
/// Writes of one call, if the network is so quick. A call may make 100 requests.
const WRITES: u32 = 40;
/// How soon a change of a network may have ended.
const PAUSE: Duration = Duration::from_millis(200);
/// The beginning of the reason of a change whose action runs: its id comes next.
const RUNS: &str = "action ";
const ADD: &str = "add_route";
const DELETE: &str = "delete_route";

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
        let mut unknown = ServerAddresses::default();
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
fn setting() -> Result<crate::settings::NetworkSetting> {
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
fn gateways(network: u64) -> Result<SortedMap<String, u64>> {
    let servers = servers::all()?;
    Ok(servers.iter().filter_map(|it| Some((it.private_ip(network)?.to_owned(), it.id))).collect())
}

/// A route as the host knows it. Nothing marks one: whatever leads into the cluster's pod networks could have been made here, and so could
/// what leads to a server.
fn shown(route: &Live, gateways: &SortedMap<String, u64>, pod_cidrs: &[Net]) -> Route {
    let has_server = gateways.contains_key(&route.gateway);
    let is_inside = Net::parse(&route.destination)
        .is_some_and(|it| pod_cidrs.is_empty() || pod_cidrs.iter().any(|cidr| cidr.contains(&it)));
    let ownership = if is_inside || has_server { RouteOwnership::Unmarked } else { RouteOwnership::Foreign };
    let state = if has_server { RouteState::Active } else { RouteState::Blackhole };
    Route::new(&route.destination, &route.gateway).ownership(ownership).state(state)
}

/// The addresses of all servers, once they have been asked for.
#[derive(Default)]
struct ServerAddresses(Option<Result<(u64, SortedMap<u64, String>)>>);

impl ServerAddresses {
    fn of(&mut self, server: u64, setting: &crate::settings::NetworkSetting) -> Result<Option<String>> {
        let read = || {
            let network = networks::id(setting)?;
            let of_servers = gateways(network)?.into_iter().map(|(ip, id)| (id, ip)).collect();
            Ok((network, of_servers))
        };
        let (_, addresses) = self.0.get_or_insert_with(read).as_ref().map_err(Clone::clone)?;
        Ok(addresses.get(&server).cloned())
    }
}

fn hop(
    network: &PodNetwork,
    setting: &crate::settings::NetworkSetting,
    unknown: &mut ServerAddresses,
) -> Result<String> {
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
    network: Option<Result<Rc<Network>>>,
    /// Why nothing more can be written in this call.
    busy: Option<String>,
    /// The cloud's refusal when there was no room.
    full: Option<Error>,
    writes: u32,
}

impl Pass {
    fn apply(&mut self, change: &RouteChange) -> Result<RouteOutcome> {
        let net = Net::parse(&change.destination).ok_or_else(|| ipv4_only(&change.destination))?;
        let network = self.network()?;
        let live = network.routes.iter().find(|it| Net::parse(&it.destination) == Some(net));
        let is_desired = match (live, &change.after) {
            (None, None) => true,
            (Some(live), Some(after)) => live.gateway == after.next_hop,
            _ => false,
        };
        if is_desired {
            return Ok(RouteOutcome::Done);
        }
        match self.begun(&network, change)? {
            // The network may have been read before it ended.
            Some(Ended::Added) if change.after.is_some() => Ok(RouteOutcome::Done),
            Some(Ended::Deleted) => self.add(&network, change),
            Some(Ended::Added) | None => self.change(&network, live, change),
        }
    }

    /// The network as it is, read once in a call.
    fn network(&mut self) -> Result<Rc<Network>> {
        let read = || networks::get(&setting()?).map(Rc::new);
        self.network.get_or_insert_with(read).clone()
    }

    /// The end of the action that an earlier call began for a change that is not as desired; `None` if that is not
    /// known, or it has not ended.
    fn begun(&mut self, network: &Network, change: &RouteChange) -> Result<Option<Ended>> {
        let Some(id) = change.pending().and_then(action_of).filter(|_| self.busy.is_none()) else { return Ok(None) };
        let Some(action) = actions::all(&[id])?.into_iter().next() else { return Ok(None) };
        match (action.status, &*action.command) {
            (ActionStatus::Running, _) => {
                self.busy = Some(one_at_a_time(network));
                Ok(None)
            }
            (ActionStatus::Error, _) => Err(failed(change, &action)),
            (ActionStatus::Success, DELETE) => Ok(Some(Ended::Deleted)),
            (ActionStatus::Success, _) => Ok(Some(Ended::Added)),
        }
    }

    /// Makes a change, or its first half, where the network has something else.
    fn change(&mut self, network: &Network, live: Option<&Live>, change: &RouteChange) -> Result<RouteOutcome> {
        let Some(live) = live else { return self.add(network, change) };
        let before = change.before.as_ref().and_then(|it| it.next_hop.as_deref());
        if before != Some(&*live.gateway) {
            return Err(Error::invalid(format_args!(
                "the route to {} leads to {} by now, and is not touched: it was to be one that leads to {}",
                live.destination,
                live.gateway,
                before.unwrap_or("nothing")
            )));
        }
        match self.write(DELETE, network, live, change).map_err(networks::RefusedChange::into_error)? {
            RouteOutcome::Done => self.add(network, change),
            pending => Ok(pending),
        }
    }

    /// Adds the route of a change where none is; without one, that is all.
    fn add(&mut self, network: &Network, change: &RouteChange) -> Result<RouteOutcome> {
        let Some(RouteTarget { next_hop, node }) = &change.after else { return Ok(RouteOutcome::Done) };
        if let Some(full) = &self.full {
            return Err(full.clone());
        }
        let (pod_cidrs, net) = (pod_cidrs()?, Net::parse(&change.destination));
        let is_inside = net.is_none_or(|net| pod_cidrs.is_empty() || pod_cidrs.iter().any(|it| it.contains(&net)));
        if self.busy.is_none() && !is_inside {
            let destination = &change.destination;
            let message =
                format!("pod network {destination} of node {} is outside --cluster-cidr: correct the flag", node.name);
            events::warning(Some(&node.name), "ClusterCIDRMisconfigured", &message);
        }
        let route = Live { destination: change.destination.clone(), gateway: next_hop.clone() };
        let added = self.write(ADD, network, &route, change);
        if let Err(networks::RefusedChange::Full(error)) = &added {
            self.full = Some(error.clone());
        }
        added.map_err(networks::RefusedChange::into_error)
    }

    /// Sends one write, unless another one still runs. What becomes of it is seen the next time.
    fn write(
        &mut self,
        command: &str,
        network: &Network,
        route: &Live,
        change: &RouteChange,
    ) -> Result<RouteOutcome, networks::RefusedChange> {
        if self.busy.is_none() && self.writes == WRITES {
            self.busy = Some(format!("{WRITES} requests of one call have changed network {}", network.id));
        }
        if let Some(why) = &self.busy {
            // The text of the change that has begun what runs is its own.
            let own = change.pending().filter(|it| action_of(it).is_some());
            return Ok(RouteOutcome::pending(PAUSE, own.unwrap_or(why)));
        }
        self.writes += 1;
        let action = match networks::act(network.id, command, route)? {
            Change::Done(action) => action,
            Change::Busy(why) => {
                let why = format!("network {} is being changed: {why}", network.id);
                self.busy = Some(why.clone());
                return Ok(RouteOutcome::pending(PAUSE, why));
            }
        };
        match action.status {
            ActionStatus::Success => Ok(RouteOutcome::Done),
            ActionStatus::Error => Err(failed(change, &action).into()),
            ActionStatus::Running => {
                self.busy = Some(one_at_a_time(network));
                Ok(RouteOutcome::pending(PAUSE, action_runs(&action)))
            }
        }
    }
}

/// The end of an action.
enum Ended {
    Added,
    Deleted,
}

/// Why a change waits that has begun nothing.
fn one_at_a_time(network: &Network) -> String {
    format!("network {} carries out one change at a time", network.id)
}

/// Says that an action runs, so that [`action_of`] finds it.
fn action_runs(action: &Action) -> String {
    format!("{RUNS}{} ({}) has not ended", action.id, action.command)
}

/// The id of the action that runs, by what [`action_runs`] said.
fn action_of(reason: &str) -> Option<u64> {
    reason.strip_prefix(RUNS)?.split(' ').next()?.parse().ok()
}

fn failed(change: &RouteChange, action: &Action) -> Error {
    Error::unavailable(format_args!("route to {}: {}", change.destination, action.failure()))
}

#[cfg(test)]
mod tests;
