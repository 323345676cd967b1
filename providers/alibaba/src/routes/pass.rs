//! The changes of one call: what stands decides, and each kind of write is one request.

use aerostat_sdk::{Error, Result, RouteChange, RouteOutcome, RouteOwnership, SortedMap, SortedSet};

use crate::api::route_tables::{self as api, EntryAnswer, NewRoute, VpcRoute};
use crate::api::{instances, interfaces};

use super::marks::ownership;
use super::sent::{self, SOON, SentEntry};

/// The codes of an entry whose destination has one already.
const TAKEN: [&str; 2] = ["InvalidCIDRBlock.Duplicate", "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"];
/// Requests with entries in one pass at most: a call has a hundred of all kinds.
const REQUESTS: u32 = 16;

/// The changes of one call to a table.
pub(super) struct TablePass {
    pub(super) region: String,
    pub(super) table: String,
    /// The description of this cluster's routes.
    pub(super) mark: String,
    pub(super) live: Vec<VpcRoute>,
}

/// The write that a change needs.
enum RouteStep<'a> {
    Over(Result<RouteOutcome>),
    Create(&'a str),
    /// The entry that has to go, and whether another one comes in its place.
    Delete(&'a VpcRoute, bool),
}

impl TablePass {
    pub(super) fn run(self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let steps: Vec<RouteStep<'_>> = changes.iter().map(|it| self.step(it)).collect();
        let mut outcomes: SortedMap<&str, Result<RouteOutcome>> = SortedMap::new();
        let mut requests = REQUESTS;
        self.delete(changes, &steps, &mut requests, &mut outcomes);
        self.create(changes, &steps, &mut requests, &mut outcomes);
        let outcome = |(change, step): (&RouteChange, RouteStep<'_>)| match step {
            RouteStep::Over(outcome) => outcome,
            RouteStep::Create(_) | RouteStep::Delete(..) => outcomes
                .get(change.destination.as_str())
                .cloned()
                .unwrap_or_else(|| Err(Error::unavailable("the change was not sent"))),
        };
        changes.iter().zip(steps).map(outcome).collect()
    }

    fn step<'a>(&'a self, change: &'a RouteChange) -> RouteStep<'a> {
        let live = self.live.iter().find(|it| it.destination == change.destination);
        let after = change.after.as_ref().map(|it| it.next_hop.as_str());
        match (live, after) {
            (None, None) => RouteStep::Over(Ok(RouteOutcome::Done)),
            (None, Some(instance)) => RouteStep::Create(instance),
            (Some(live), _) if live.is_changing() => RouteStep::Over(Ok(changing(live))),
            (Some(live), Some(after)) if live.instance() == Some(after) => RouteStep::Over(self.same(live)),
            (Some(live), after) => match self.check_before(live, change) {
                Ok(()) => RouteStep::Delete(live, after.is_some()),
                Err(error) => RouteStep::Over(Err(error)),
            },
        }
    }

    /// The outcome of a route that leads where it should.
    fn same(&self, live: &VpcRoute) -> Result<RouteOutcome> {
        match ownership(live, &self.mark) {
            RouteOwnership::Ours | RouteOwnership::Unmarked => Ok(RouteOutcome::Done),
            RouteOwnership::Foreign => Err(Error::invalid(format_args!(
                "the route to {} has the mark of another cluster ({}), and is not touched",
                live.destination, live.description
            ))),
        }
    }

    /// Refuses a change of another route than it was planned for.
    fn check_before(&self, live: &VpcRoute, change: &RouteChange) -> Result<()> {
        let is_planned = change.before.as_ref().is_some_and(|it| it.next_hop.as_deref() == live.instance());
        if is_planned && ownership(live, &self.mark) != RouteOwnership::Foreign {
            return Ok(());
        }
        let (kind, id) = live.next_hop.clone().unwrap_or_else(|| ("several next hops".to_owned(), String::new()));
        Err(Error::invalid(format_args!(
            "the route to {} leads to {kind} {id} by now, and is not touched: it was to be {}",
            live.destination,
            match &change.before {
                Some(before) => format!("one that leads to {}", before.next_hop.as_deref().unwrap_or("nothing")),
                None => "none".to_owned(),
            }
        )))
    }

    fn delete<'a>(
        &self,
        changes: &'a [RouteChange],
        steps: &[RouteStep<'_>],
        requests: &mut u32,
        outcomes: &mut SortedMap<&'a str, Result<RouteOutcome>>,
    ) {
        let wanted: Vec<_> = changes
            .iter()
            .zip(steps)
            .filter_map(|(change, step)| match step {
                RouteStep::Delete(live, is_followed) => Some((change.destination.as_str(), *live, *is_followed)),
                RouteStep::Over(_) | RouteStep::Create(_) => None,
            })
            .collect();
        let mut send = |part: &[(&'a str, &VpcRoute, bool)]| {
            let routes: Vec<&VpcRoute> = part.iter().map(|(_, live, _)| *live).collect();
            api::delete(&self.region, &self.table, &routes)
        };
        for part in wanted.chunks(api::BATCH) {
            for ((destination, live, is_followed), sent) in sent::each(part, requests, &mut send) {
                let why = match is_followed {
                    true => format!("entry {} goes first, which leads elsewhere", live.id),
                    false => format!("the table lets entry {} go", live.id),
                };
                let outcome = match sent {
                    sent if sent.was_gone() && !is_followed => Ok(RouteOutcome::Done),
                    sent if sent.was_gone() => Ok(RouteOutcome::pending(SOON, why)),
                    // The answer comes before the end: it is done once the table does not show it any more.
                    SentEntry::Answered(EntryAnswer::Taken) => Ok(RouteOutcome::pending(SOON, why)),
                    sent => sent.refusal(destination),
                };
                outcomes.insert(destination, outcome);
            }
        }
    }

    fn create<'a>(
        &self,
        changes: &'a [RouteChange],
        steps: &[RouteStep<'a>],
        requests: &mut u32,
        outcomes: &mut SortedMap<&'a str, Result<RouteOutcome>>,
    ) {
        let wanted: Vec<(&str, &str)> = changes
            .iter()
            .zip(steps)
            .filter_map(|(change, step)| match step {
                RouteStep::Create(instance) => Some((change.destination.as_str(), *instance)),
                RouteStep::Over(_) | RouteStep::Delete(..) => None,
            })
            .collect();
        if wanted.is_empty() {
            return;
        }
        let refused = self.forwarding(&wanted.iter().map(|(_, instance)| *instance).collect());
        let mut ready = Vec::new();
        for (destination, instance) in wanted {
            match &refused {
                Err(error) => _ = outcomes.insert(destination, Err(error.clone())),
                Ok(refused) => match refused.get(instance) {
                    Some(outcome) => _ = outcomes.insert(destination, outcome.clone()),
                    None => ready.push((destination, instance)),
                },
            }
        }
        let mut send = |part: &[(&'a str, &'a str)]| {
            let new = |(destination, instance): &(&'a str, &'a str)| NewRoute {
                destination,
                instance,
                description: &self.mark,
            };
            let routes: Vec<_> = part.iter().map(new).collect();
            api::create(&self.region, &self.table, &routes)
        };
        for part in ready.chunks(api::BATCH) {
            for ((destination, instance), sent) in sent::each(part, requests, &mut send) {
                let outcome = match sent {
                    sent if sent.code().is_some_and(|it| TAKEN.contains(&it)) => self.taken(destination, instance),
                    // A new entry is Pending first: packets do not follow it yet.
                    SentEntry::Answered(EntryAnswer::Taken) => {
                        Ok(RouteOutcome::pending(SOON, "the table takes the new entry over"))
                    }
                    sent => sent.refusal(destination),
                };
                outcomes.insert(destination, outcome);
            }
        }
    }

    /// Lets the primary interfaces of these instances forward packets of pods, before a route leads there. Answers what became of those that
    /// do not.
    fn forwarding(&self, instances: &SortedSet<&str>) -> Result<SortedMap<String, Result<RouteOutcome>>> {
        let ids: Vec<&str> = instances.iter().copied().collect();
        let found = instances::by_ids(&self.region, &ids)?;
        let interface_of: SortedMap<&str, &str> =
            found.iter().filter_map(|it| Some((it.interface.as_deref()?, it.id.as_str()))).collect();
        let mut refused = SortedMap::new();
        for id in &ids {
            if !found.iter().any(|it| it.id == *id && it.interface.is_some()) {
                let why = Error::unavailable(format_args!("instance {id} shows no primary network interface"));
                refused.insert((*id).to_owned(), Err(why));
            }
        }
        let interfaces: Vec<&str> = interface_of.keys().copied().collect();
        if interfaces.is_empty() {
            return Ok(refused);
        }
        for interface in interfaces::checking(&self.region, &interfaces)? {
            let Some(instance) = interface_of.get(interface.as_str()) else { continue };
            match interfaces::forward(&self.region, &interface) {
                Ok(()) => {}
                Err(refusal) if refusal.is_busy() => {
                    let waits = RouteOutcome::pending(SOON, format_args!("{interface} carries out a change"));
                    refused.insert((*instance).to_owned(), Ok(waits));
                }
                Err(refusal) => _ = refused.insert((*instance).to_owned(), Err(refusal.error)),
            }
        }
        Ok(refused)
    }

    /// The outcome of a route whose destination has an entry that was not there a moment ago: another next hop is never done.
    fn taken(&self, destination: &str, instance: &str) -> Result<RouteOutcome> {
        let live = api::all(&self.region, &self.table)?;
        match live.iter().find(|it| it.destination == destination) {
            Some(live) if live.instance() == Some(instance) && live.is_changing() => Ok(changing(live)),
            Some(live) if live.instance() == Some(instance) => self.same(live),
            Some(live) => Err(Error::invalid(format_args!(
                "the route to {destination} leads to {} by now, and is not touched: it was to be none",
                live.next_hop.as_ref().map_or("several next hops", |(_, id)| id)
            ))),
            None => Err(Error::unavailable(format_args!("the route to {destination} is there and is not listed yet"))),
        }
    }
}

fn changing(live: &VpcRoute) -> RouteOutcome {
    RouteOutcome::pending(SOON, format_args!("entry {} is {}", live.id, live.status))
}
