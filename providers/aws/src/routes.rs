//! Routes of the cluster's route table: each leads to the instance of a node.
//!
//! EC2 changes a table at once and replaces a route in one step, so that nothing is pending and no moment is without a route.

use std::net::Ipv4Addr;
use std::rc::Rc;

use aerostat_sdk::{
    Error, IpFamily, PodNetwork, Position, Result, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership,
    RoutePage, RouteState, Routes, SortedSet, settings,
};

use crate::api::AwsRefusal;
use crate::api::ec2::route_tables::{self as api, Ec2Route, RouteTable};
use crate::machine::AwsMachine;
use crate::provider::Aws;
use crate::settings::{ClusterMarks, ROUTE_TABLE};

/// Changes of one call: two requests each, and a call may make a hundred.
const BATCH: u32 = 40;
/// Calls at a time.
const CONCURRENCY: u32 = 4;
/// Routes of a page: a table has at most so many.
const PAGE: u32 = 1_000;

impl Routes for Aws {
    fn describe() -> Result<RouteDescription> {
        let description = RouteDescription::new([IpFamily::Ipv4]).batch_size(BATCH);
        Ok(description.concurrency(CONCURRENCY).page_size(PAGE))
    }

    /// The node's instance, by its id. Nobody is asked.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        RouteNet::parse(destination)?;
        match node.provider_id.as_deref().map(AwsMachine::parse).transpose()? {
            Some(AwsMachine::Instance(id)) => Ok(id.to_owned()),
            Some(AwsMachine::Fargate(_)) => {
                Err(Error::invalid(format_args!("node {} is a pod of Fargate: no route leads to it", node.name)))
            }
            None => Err(Error::invalid(format_args!("node {} has no provider id yet", node.name))),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let limit = limit.max(1);
        let at = Position::parse(cursor, &["routes"], limit)?;
        let table = table()?;
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let before = usize::try_from(at.page - 1).unwrap_or(usize::MAX).saturating_mul(size);
        let is_last = before.saturating_add(size) >= table.routes.len();
        let part = table.routes.iter().skip(before).take(size);
        Ok(RoutePage::new(part.map(shown).collect(), at.next(is_last)))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let mut pass = RoutePass::default();
        changes.iter().map(|it| pass.apply(it)).collect()
    }
}

/// The cluster's route table.
///
/// # Errors
///
/// `invalid`, if it is not the only one.
fn table() -> Result<RouteTable> {
    let cluster = ClusterMarks::read()?;
    if let Some(id) = settings::read(&ROUTE_TABLE)? {
        let found = api::find(&id)?;
        return found.ok_or_else(|| {
            Error::invalid(format_args!("there is no route table {id}: correct setting {}", ROUTE_TABLE.name))
        });
    }
    let mut found = api::tagged(&cluster)?;
    match (found.pop(), found.len()) {
        (Some(table), 0) => Ok(table),
        (None, _) => Err(Error::invalid(format_args!(
            "no route table in {} has the tag {}: tag the one for pods, or set {}",
            cluster.vpc,
            cluster.tag(),
            ROUTE_TABLE.name
        ))),
        (Some(last), _) => {
            let mut ids: Vec<_> = found.into_iter().chain([last]).map(|it| it.id).collect();
            ids.sort();
            Err(Error::invalid(format_args!(
                "several route tables in {} have the tag {}: {}. Take it off all but one, or set {}",
                cluster.vpc,
                cluster.tag(),
                ids.join(", "),
                ROUTE_TABLE.name
            )))
        }
    }
}

/// A route as the host knows it. Nothing marks one: whatever somebody has made to an instance could have been made here.
fn shown(route: &Ec2Route) -> Route {
    let state = if route.is_blackhole { RouteState::Blackhole } else { RouteState::Active };
    let ownership = if could_be_ours(route) { RouteOwnership::Unmarked } else { RouteOwnership::Foreign };
    let shown = Route::new(&*route.destination, "").state(state).ownership(ownership);
    Route { next_hop: route.instance.clone(), ..shown }
}

/// Whether it is of the kind that is made here. Once its instance is gone, a route leads to what was the instance's interface.
fn could_be_ours(route: &Ec2Route) -> bool {
    let leads_to_machine = route.instance.is_some() || (route.is_blackhole && route.interface.is_some());
    route.is_made && !route.has_other_target && leads_to_machine
}

/// The changes of one call.
#[derive(Default)]
struct RoutePass {
    table: Option<Result<Rc<RouteTable>>>,
    /// EC2's refusal when there was no room for another route.
    full: Option<Error>,
    /// Instances that forward packets since this call.
    forwarding: SortedSet<String>,
}

impl RoutePass {
    fn apply(&mut self, change: &RouteChange) -> Result<RouteOutcome> {
        let net = RouteNet::parse(&change.destination)?;
        let table = self.table.get_or_insert_with(|| table().map(Rc::new)).clone()?;
        let live = table.routes.iter().find(|it| RouteNet::parse(&it.destination).ok() == Some(net));
        match (live, &change.after) {
            (None, None) => Ok(RouteOutcome::Done),
            (Some(live), Some(after)) if is_route_to(live, &after.next_hop) => Ok(RouteOutcome::Done),
            (None, Some(after)) => self.create(&table.id, change, &after.next_hop),
            (Some(live), after) => {
                check_before(live, change)?;
                match after {
                    Some(after) => self.replace(&table.id, live, &after.next_hop),
                    None => delete(&table.id, live),
                }
            }
        }
    }

    fn create(&mut self, table: &str, change: &RouteChange, instance: &str) -> Result<RouteOutcome> {
        if let Some(full) = &self.full {
            return Err(full.clone());
        }
        self.forward(instance)?;
        match api::create(table, &change.destination, instance) {
            Ok(()) => Ok(RouteOutcome::Done),
            Err(refusal) if refusal.code == "RouteAlreadyExists" => taken(change, instance, refusal),
            Err(refusal) if refusal.code == "RouteLimitExceeded" => {
                // To the host, a table that is full is `invalid`: it asks again once a route goes.
                let full = Error::invalid(format_args!("route table {table} takes no more routes: {}", refusal.why()));
                self.full = Some(full.clone());
                Err(full)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn replace(&mut self, table: &str, live: &Ec2Route, instance: &str) -> Result<RouteOutcome> {
        self.forward(instance)?;
        api::replace(table, &live.destination, instance)?;
        Ok(RouteOutcome::Done)
    }

    /// Lets an instance forward packets, before a route leads to it.
    fn forward(&mut self, instance: &str) -> Result<()> {
        if !self.forwarding.contains(instance) {
            api::forward(instance)?;
            self.forwarding.insert(instance.to_owned());
        }
        Ok(())
    }
}

fn is_route_to(live: &Ec2Route, instance: &str) -> bool {
    could_be_ours(live) && !live.is_blackhole && live.instance.as_deref() == Some(instance)
}

/// Refuses a change of another route than it was planned for. One whose instance has ended since it was listed is the same route: EC2
/// keeps it, and shows no instance any more.
fn check_before(live: &Ec2Route, change: &RouteChange) -> Result<()> {
    let has_ended = live.is_blackhole && live.instance.is_none();
    let as_planned = change.before.as_ref().is_some_and(|it| has_ended || it.next_hop == live.instance);
    if as_planned && could_be_ours(live) {
        return Ok(());
    }
    let leads_to = live.instance.as_deref().or(live.interface.as_deref()).unwrap_or("something that is no machine");
    Err(Error::invalid(format_args!(
        "the route to {} leads to {leads_to} by now, and is not touched: it was to be {}",
        live.destination,
        match &change.before {
            Some(before) => format!("one that leads to {}", before.next_hop.as_deref().unwrap_or("nothing")),
            None => "none".to_owned(),
        }
    )))
}

/// The outcome of a route that is there although it was not a moment ago: reads the table once more.
fn taken(change: &RouteChange, instance: &str, refusal: AwsRefusal) -> Result<RouteOutcome> {
    let net = RouteNet::parse(&change.destination)?;
    let table = table()?;
    let live = table.routes.iter().find(|it| RouteNet::parse(&it.destination).ok() == Some(net));
    match live {
        Some(live) if is_route_to(live, instance) => Ok(RouteOutcome::Done),
        Some(live) => check_before(live, change).and(Err(refusal.into())),
        None => Err(Error::unavailable(format_args!("the route to {net} is there and is not listed yet"))),
    }
}

fn delete(table: &str, live: &Ec2Route) -> Result<RouteOutcome> {
    match api::delete(table, &live.destination) {
        Ok(()) => Ok(RouteOutcome::Done),
        Err(refusal) if refusal.code == "InvalidRoute.NotFound" => Ok(RouteOutcome::Done),
        Err(refusal) => Err(refusal.into()),
    }
}

/// An IPv4 network, without host bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct RouteNet {
    address: Ipv4Addr,
    bits: u8,
}

impl RouteNet {
    /// # Errors
    ///
    /// `invalid` for anything but an IPv4 network.
    fn parse(text: &str) -> Result<Self> {
        let parsed = || {
            let (address, bits) = text.split_once('/')?;
            let (address, bits): (Ipv4Addr, u8) = (address.parse().ok()?, bits.parse().ok()?);
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits.into())?).unwrap_or(0);
            Some(Self { address: Ipv4Addr::from_bits(address.to_bits() & mask), bits })
        };
        parsed().ok_or_else(|| Error::invalid(format_args!("routes of AWS's tables are IPv4 here: {text} is not")))
    }
}

impl std::fmt::Display for RouteNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests;
