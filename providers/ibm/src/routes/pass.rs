//! The changes of one call: the table as it is decides, entry by entry.

use std::time::Duration;

use aerostat_sdk::http::Response;
use aerostat_sdk::{
    Change, Error, Node, Result, RouteChange, RouteOutcome, RouteOwnership, RouteTarget, SortedMap, SortedSet,
};

use super::marks::{name, ownership};
use crate::api::routes::{self as api, VpcTable, VpcTableEntry};
use crate::api::{self as vpc, instances};
use crate::machine::IbmMachineId;
use crate::settings::IbmAccountSettings;
use crate::settings::routes::IbmRouteSettings;

/// When a table is read again that carries out a change.
const SOON: Duration = Duration::from_secs(2);

/// The changes of one call to a table.
pub(super) struct IbmRoutePass {
    settings: IbmRouteSettings,
    table: VpcTable,
    /// The beginning of the names of this cluster's entries.
    mark: String,
    live: Vec<VpcTableEntry>,
    /// The cloud's refusal when there was no room for another entry.
    full: Option<Error>,
    /// The refusal of a table that carries out another change: nothing more is asked of it in this call.
    busy: Option<String>,
    /// The results for nodes whose machines were let forward packets, by name and address: a machine that is changing is asked once in a call.
    forwarding: SortedMap<(String, String), Result<Change<()>>>,
}

/// A write that a destination needs.
enum EntryWrite<'a> {
    /// An entry for this zone.
    Create(&'a str),
    /// Another next hop for this entry.
    Lead(&'a VpcTableEntry),
    Delete(&'a VpcTableEntry),
}

impl IbmRoutePass {
    pub(super) fn new(settings: IbmRouteSettings, table: VpcTable, mark: String, live: Vec<VpcTableEntry>) -> Self {
        Self { settings, table, mark, live, full: None, busy: None, forwarding: SortedMap::new() }
    }

    pub(super) fn apply(&mut self, change: &RouteChange) -> Result<RouteOutcome> {
        let there: Vec<VpcTableEntry> =
            self.live.iter().filter(|it| it.destination == change.destination).cloned().collect();
        let (foreign, own): (Vec<&VpcTableEntry>, Vec<&VpcTableEntry>) =
            there.iter().partition(|it| ownership(it, &self.mark) == RouteOwnership::Foreign);
        check(change, &own, &foreign)?;
        if let Some(busy) = own.iter().find(|it| it.is_changing()) {
            return Ok(RouteOutcome::pending(SOON, format_args!("the cloud changes entry {}", busy.name)));
        }
        let zones = self.settings.zones.clone();
        let (writes, hop) = match &change.after {
            None => (own.into_iter().map(EntryWrite::Delete).collect(), ""),
            Some(target) => (writes(&own, &zones, &target.next_hop), &*target.next_hop),
        };
        if !writes.is_empty()
            && let Some(why) = &self.busy
        {
            return Ok(RouteOutcome::pending(SOON, why));
        }
        if let Some(RouteTarget { next_hop, node }) = &change.after
            && writes.iter().any(|it| !matches!(it, EntryWrite::Delete(_)))
            && let Change::Busy(why) = self.forward(node, next_hop)?
        {
            return Ok(RouteOutcome::pending(SOON, why));
        }
        self.send(change, writes, hop)
    }

    /// Sends these writes, one after the other, until the table takes no more. A deletion is done once the table does not show the entry any
    /// more: the next call reads it.
    fn send(&mut self, change: &RouteChange, writes: Vec<EntryWrite<'_>>, hop: &str) -> Result<RouteOutcome> {
        let mut waits = None;
        for write in writes {
            let sent = match write {
                EntryWrite::Create(zone) => self.create(&change.destination, zone, hop)?,
                EntryWrite::Lead(entry) => self.table.lead(&entry.id, hop).change()?.and_then(|it| led(&it))?,
                EntryWrite::Delete(entry) => self
                    .table
                    .delete(&entry.id)
                    .change_or_gone()?
                    .map(|()| Some(format!("the cloud deletes entry {}", entry.name))),
            };
            match sent {
                Change::Done(None) => {}
                Change::Done(why) => waits = why,
                Change::Busy(why) => {
                    self.busy = Some(why.clone());
                    return Ok(RouteOutcome::pending(SOON, why));
                }
            }
        }
        Ok(match waits {
            Some(why) => RouteOutcome::pending(SOON, why),
            None => RouteOutcome::Done,
        })
    }

    /// Makes an entry. `None` once it is there; else the reason to wait for it.
    fn create(&mut self, destination: &str, zone: &str, hop: &str) -> Result<Change<Option<String>>> {
        if let Some(full) = &self.full {
            return Err(full.clone());
        }
        let name = name(&self.mark, destination, zone);
        if let Some(other) = self.live.iter().find(|it| it.name == name && it.destination != destination) {
            return Err(Error::invalid(format_args!(
                "the route to {destination} has no entry in zone {zone}: its name {name} is that of the entry to {}, which is not touched",
                other.destination
            )));
        }
        let response = self.table.create(&name, destination, zone, hop).answer()?;
        if vpc::is_taken(&response) {
            // Another writer has made an entry meanwhile, or one is not gone yet: the table decides, as the next call reads it.
            return Ok(Change::Done(Some(response.complaint())));
        }
        if response.status() == 409 {
            return Ok(Change::Busy(response.complaint()));
        }
        if vpc::code(&response).contains("quota") {
            // To the host, a table that is full is `invalid`: it asks again once a route goes.
            let full = Error::invalid(format_args!(
                "routing table {} takes no more entries: {}",
                self.table.id,
                response.complaint()
            ));
            self.full = Some(full.clone());
            return Err(full);
        }
        led(&response.accepted()?)
    }

    /// Lets the machine of a node forward packets of pods, before a route leads there.
    fn forward(&mut self, node: &Node, hop: &str) -> Result<Change<()>> {
        let key = (node.name.clone(), hop.to_owned());
        if let Some(known) = self.forwarding.get(&key) {
            return known.clone();
        }
        let done = forward(node, hop, &self.settings.vpc);
        self.forwarding.insert(key, done.clone());
        done
    }
}

/// The addresses that entries lead to, as one text.
pub(super) fn hops(entries: &[&VpcTableEntry]) -> String {
    let all: SortedSet<&str> = entries.iter().filter_map(|it| it.hop()).collect();
    all.iter().copied().collect::<Vec<_>>().join(",")
}

/// Refuses a change of another route than it was planned for. Between what was and what shall be, a destination may have entries of both.
fn check(change: &RouteChange, own: &[&VpcTableEntry], foreign: &[&VpcTableEntry]) -> Result<()> {
    let destination = &change.destination;
    if let Some(other) = foreign.first()
        && (change.after.is_some() || own.is_empty())
    {
        return Err(Error::invalid(format_args!(
            "the route {} to {destination} {}, and is not touched: it is somebody else's",
            other.name,
            other.does()
        )));
    }
    let before = change.before.iter().filter_map(|it| it.next_hop.as_deref()).flat_map(|it| it.split(','));
    let planned: Vec<&str> = before.chain(change.after.iter().map(|it| it.next_hop.as_str())).collect();
    let Some(other) = own.iter().find(|it| it.hop().is_none_or(|hop| !planned.contains(&hop))) else { return Ok(()) };
    Err(Error::invalid(format_args!(
        "the route {} to {destination} {} by now, and is not touched: it was to be {}",
        other.name,
        other.does(),
        match &change.before {
            Some(before) => format!("one that leads to {}", before.next_hop.as_deref().unwrap_or("nothing")),
            None => "none".to_owned(),
        }
    )))
}

/// The writes after which each zone has one entry that leads to `hop`.
fn writes<'a>(own: &[&'a VpcTableEntry], zones: &'a [String], hop: &str) -> Vec<EntryWrite<'a>> {
    let mut writes = Vec::new();
    let mut served: SortedSet<&str> = SortedSet::new();
    let is_right = |it: &VpcTableEntry| it.hop() == Some(hop) && it.failure().is_none();
    let (right, wrong): (Vec<&VpcTableEntry>, Vec<&VpcTableEntry>) = own.iter().copied().partition(|it| is_right(it));
    served.extend(right.iter().map(|it| it.zone.name.as_str()));
    for entry in wrong {
        // One that has failed is made again: a change of it would be one of nothing.
        let is_new = entry.failure().is_none() && served.insert(&entry.zone.name);
        writes.push(if is_new { EntryWrite::Lead(entry) } else { EntryWrite::Delete(entry) });
    }
    writes.extend(zones.iter().filter(|it| !served.contains(it.as_str())).map(|it| EntryWrite::Create(it)));
    writes
}

/// The outcome of an entry, by the answer to the request that made or changed it: `None` once it is there, else the reason to wait for it.
fn led(response: &Response) -> Result<Change<Option<String>>> {
    let entry: VpcTableEntry = response.json()?;
    match entry.failure() {
        Some(why) => Err(Error::unavailable(why)),
        None => Ok(Change::Done(entry.is_changing().then(|| format!("the cloud makes entry {}", entry.name)))),
    }
}

/// Lets the machine of a node forward packets, if the address is its own: a node's status says what its kubelet wrote.
fn forward(node: &Node, hop: &str, vpc: &str) -> Result<Change<()>> {
    let settings = IbmAccountSettings::read()?;
    let found = match node.provider_id.as_deref().map(|it| IbmMachineId::parse(it, &settings)).transpose()? {
        Some(IbmMachineId::Instance(id)) => instances::find(&id)?,
        Some(IbmMachineId::Named(name)) => instances::named(vpc, &name)?.pop(),
        Some(IbmMachineId::Worker(_)) | None => None,
    };
    let found = found.filter(|it| it.vpc.id == vpc).ok_or_else(|| {
        Error::invalid(format_args!("node {} has no instance in VPC {vpc}, and no route leads to it", node.name))
    })?;
    if found.address() != Some(hop) {
        return Err(Error::invalid(format_args!(
            "{hop} is not the address of instance {}, which is node {}'s, and no route leads to it",
            found.id, node.name
        )));
    }
    api::forward(&found)
}
