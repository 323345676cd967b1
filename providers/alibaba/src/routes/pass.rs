//! The changes of one call: what stands decides, and each kind of write is one request.

use aerostat_sdk::{Error, Result, RouteChange, RouteOutcome, RouteOwnership, SortedMap, SortedSet};

use crate::api::interfaces;
use crate::api::route_tables::{self as api, EntryAnswer, NewRoute, VpcRoute};

use super::forwarding;
use super::marks::ownership;
use super::sent::{self, SOON, SentEntry};
use super::turn::{self, EntryTurn};

/// The codes of an entry whose destination has one already.
const TAKEN: [&str; 2] = ["InvalidCIDRBlock.Duplicate", "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"];
/// Requests of all kinds in one call: the most that the host lets through.
const CALL: usize = 100;
/// Those with entries.
const REQUESTS: u32 = 16;
/// So many entries that were sent are enough to read the table for, while others wait: as many as a page shows. A table that grows would be
/// read page after page otherwise, and more often the longer it is.
const SENT: usize = api::PAGE as usize;
/// More new entries than this are sent without a look at the table: a list has shown the host that nothing stands there, and the API refuses
/// an entry where one does.
const MANY: usize = crate::api::PAGE as usize;
/// When changes come back where each entry of the next request waits for its interface, in milliseconds: letting these forward gives the table
/// its time.
const FORWARDING: u32 = 1_000;

/// The changes of one call to a table.
pub(super) struct TablePass {
    pub(super) region: String,
    pub(super) vpc: String,
    pub(super) table: String,
    /// The description of this cluster's routes.
    pub(super) mark: String,
    pub(super) look: TableLook,
    /// The entries of the table, if it was read.
    pub(super) live: Option<Vec<VpcRoute>>,
}

/// The look at a table with which a call begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TableLook {
    /// The table is read first.
    First,
    /// The table is not read: what is done is known from earlier calls, and entries of which nothing is known wait.
    Spared,
    /// The table is not read, and entries of which nothing is known are sent like those that wait for their turn.
    Unknowing,
}

/// The look that these changes need: none for entries that wait for their turn, or that were sent, while a request is full of others, and none
/// for many new ones.
pub(super) fn look(changes: &[RouteChange], table: &str) -> TableLook {
    let (mut waiting, mut refused, mut sent, mut unknown) = (0, 0, 0, 0);
    for change in changes {
        match turn::of(change, table) {
            EntryTurn::Waits(_) => waiting += 1,
            EntryTurn::Refused(_) => refused += 1,
            EntryTurn::Sent => sent += 1,
            EntryTurn::Unknown if change.before.is_some() => return TableLook::First,
            EntryTurn::Unknown => unknown += 1,
        }
    }
    // Others may be refused for long, and those that were sent stand meanwhile.
    let is_enough = sent >= SENT || (sent > 0 && (waiting == 0 || refused > 0));
    match unknown {
        _ if is_enough => TableLook::First,
        0 => TableLook::Spared,
        _ if waiting >= api::BATCH => TableLook::Spared,
        _ if unknown > MANY => TableLook::Unknowing,
        _ => TableLook::First,
    }
}

/// The write that a change needs.
enum RouteStep<'a> {
    Over(Result<RouteOutcome>),
    Create(&'a str),
    /// The entry that has to go, and whether another one comes in its place.
    Delete(&'a VpcRoute, bool),
}

/// An entry that has to go.
#[derive(Clone, Copy)]
struct OldEntry<'a, 'l> {
    destination: &'a str,
    live: &'l VpcRoute,
    /// Whether another one comes in its place.
    is_followed: bool,
    /// How often it was refused with its whole request.
    refused: u32,
}

/// An entry that is to be made.
#[derive(Clone, Copy)]
struct NewEntry<'a, 'k> {
    destination: &'a str,
    instance: &'a str,
    /// The interface of its instance, while that drops packets of pods.
    checking: Option<&'k str>,
    /// How often it was refused with its whole request.
    refused: u32,
}

impl TablePass {
    pub(super) fn run(self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let steps: Vec<RouteStep<'_>> = changes.iter().map(|it| self.step(it)).collect();
        let mut outcomes: SortedMap<&str, Result<RouteOutcome>> = SortedMap::new();
        let mut requests = REQUESTS;
        self.delete(changes, &steps, &mut requests, &mut outcomes);
        let is_forwarding = self.create(changes, &steps, &mut requests, &mut outcomes);
        let outcome = |(change, step): (&RouteChange, RouteStep<'_>)| match step {
            RouteStep::Over(outcome) => outcome,
            RouteStep::Create(_) | RouteStep::Delete(..) => outcomes
                .get(change.destination.as_str())
                .cloned()
                .unwrap_or_else(|| Err(Error::unavailable("the change was not sent"))),
        };
        let mut all: Vec<_> = changes.iter().zip(steps).map(outcome).collect();
        for it in &mut all {
            if let (true, Ok(RouteOutcome::Pending(pause))) = (is_forwarding, it) {
                pause.milliseconds = FORWARDING;
            }
        }
        all
    }

    fn step<'a>(&'a self, change: &'a RouteChange) -> RouteStep<'a> {
        let after = change.after.as_ref().map(|it| it.next_hop.as_str());
        let Some(live) = &self.live else {
            return match (turn::of(change, &self.table), after) {
                (EntryTurn::Waits(_) | EntryTurn::Refused(_), Some(instance)) => RouteStep::Create(instance),
                (EntryTurn::Sent, _) => RouteStep::Over(Ok(turn::sent(&self.table))),
                (EntryTurn::Unknown, Some(instance)) if self.look == TableLook::Unknowing => {
                    RouteStep::Create(instance)
                }
                _ => RouteStep::Over(SentEntry::Unsent.refusal(&change.destination)),
            };
        };
        let live = live.iter().find(|it| it.destination == change.destination);
        match (live, after) {
            (None, None) => RouteStep::Over(Ok(RouteOutcome::Done)),
            (None, Some(instance)) => RouteStep::Create(instance),
            (Some(live), after) if live.is_changing() => RouteStep::Over(Ok(self.changing(live, after))),
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
        let wanted: Vec<OldEntry<'a, '_>> = changes
            .iter()
            .zip(steps)
            .filter_map(|(change, step)| match *step {
                RouteStep::Delete(live, is_followed) => {
                    let refused = turn::refused_deletions(change, &self.table);
                    Some(OldEntry { destination: change.destination.as_str(), live, is_followed, refused })
                }
                RouteStep::Over(_) | RouteStep::Create(_) => None,
            })
            .collect();
        let (mut ready, mut waiting) = (Vec::new(), Vec::new());
        for entry in turn::in_turn(&wanted, |it| it.refused) {
            let entries = if ready.len() < turn::together(entry.refused) { &mut ready } else { &mut waiting };
            entries.push(entry);
        }
        let mut send = |part: &[OldEntry<'a, '_>]| {
            let routes: Vec<&VpcRoute> = part.iter().map(|it| it.live).collect();
            api::delete(&self.region, &self.table, &routes)
        };
        let mut is_any_taken = false;
        for (&OldEntry { destination, live, is_followed, refused }, sent) in sent::each(&ready, requests, &mut send) {
            let why = if is_followed { " first, which leads elsewhere" } else { "" };
            let goes = || turn::waits(&self.table, format_args!("lets entry {} go{why}", live.id));
            let outcome = match sent {
                sent if sent.was_gone() && !is_followed => Ok(RouteOutcome::Done),
                sent if sent.was_gone() => Ok(goes()),
                // The answer comes before the end: it is done once the table does not show it any more.
                SentEntry::Answered(EntryAnswer::Taken) => {
                    is_any_taken = true;
                    Ok(goes())
                }
                SentEntry::Refused(refusal) if refusal.is_busy() => match refused < turn::MOST {
                    true => Ok(turn::deleted_later(&self.table, refused + 1)),
                    // Nothing else was in its last request.
                    false => Err(refusal.error),
                },
                sent => sent.refusal(destination),
            };
            outcomes.insert(destination, outcome);
        }
        for it in waiting {
            let refused = turn::refused_by_now(it.refused, is_any_taken);
            outcomes.insert(it.destination, Ok(turn::deleted_later(&self.table, refused)));
        }
    }

    /// Makes entries. Answers whether the next request is full of those that wait for an interface which still drops packets of pods.
    fn create<'a>(
        &self,
        changes: &'a [RouteChange],
        steps: &[RouteStep<'a>],
        requests: &mut u32,
        outcomes: &mut SortedMap<&'a str, Result<RouteOutcome>>,
    ) -> bool {
        let mut wanted: Vec<NewEntry<'a, '_>> = Vec::new();
        let mut unknown: Vec<&'a str> = Vec::new();
        for (change, step) in changes.iter().zip(steps) {
            let RouteStep::Create(instance) = *step else { continue };
            let destination = change.destination.as_str();
            if *requests == 0 {
                outcomes.insert(destination, turn::unsent(change, &self.table));
                continue;
            }
            let (checking, refused) = match turn::of(change, &self.table) {
                EntryTurn::Waits(interface) => (interface, 0),
                EntryTurn::Refused(times) => (None, times),
                // One that was sent and is not there is looked at again.
                EntryTurn::Sent | EntryTurn::Unknown => {
                    unknown.push(instance);
                    (None, 0)
                }
            };
            wanted.push(NewEntry { destination, instance, checking, refused });
        }
        let known = forwarding::of(&self.region, &self.vpc, &unknown);
        let most = self.most_forwards(known.as_ref().map_or(0, SortedMap::len));
        let (mut ready, mut waiting) = (Vec::new(), Vec::new());
        let (mut forwarding, mut attempts) = (SortedSet::new(), 0);
        for mut entry in turn::in_turn(&wanted, |it| it.refused) {
            let NewEntry { destination, instance, .. } = entry;
            if unknown.contains(&instance) {
                let looked = known.as_ref().map(|it| it.get(instance));
                let without = || {
                    Error::unavailable(format_args!(
                        "the primary network interface of {instance} is not shown, and may drop packets of pods: no route leads there yet. If \
                         the instance is not new, the credential needs ecs:DescribeNetworkInterfaces"
                    ))
                };
                match looked.map_err(Error::clone).and_then(|it| it.ok_or_else(without)) {
                    Ok(checking) => entry.checking = checking.as_deref(),
                    Err(error) => {
                        outcomes.insert(destination, Err(error));
                        continue;
                    }
                }
            }
            if ready.len() >= turn::together(entry.refused) || attempts == most {
                waiting.push(entry);
                continue;
            }
            // Its interface lets packets of pods through before a route leads there.
            if let Some(interface) = entry.checking.filter(|it| !forwarding.contains(it)) {
                attempts += 1;
                if let Err(outcome) = self.forward(interface) {
                    outcomes.insert(destination, outcome);
                    continue;
                }
                forwarding.insert(interface);
            }
            ready.push(entry);
        }
        let mut send = |part: &[NewEntry<'a, '_>]| {
            let new = |entry: &NewEntry<'a, '_>| NewRoute {
                destination: entry.destination,
                instance: entry.instance,
                description: &self.mark,
            };
            let routes: Vec<_> = part.iter().map(new).collect();
            api::create(&self.region, &self.table, &routes)
        };
        let mut live: Option<Result<Vec<VpcRoute>>> = None;
        let mut is_any_taken = false;
        for (&NewEntry { destination, instance, refused, .. }, sent) in sent::each(&ready, requests, &mut send) {
            let outcome = match sent {
                sent if sent.code().is_some_and(|it| TAKEN.contains(&it)) => {
                    let live = live.get_or_insert_with(|| api::all(&self.region, &self.table));
                    live.as_ref().map_err(Error::clone).and_then(|it| self.taken(it, destination, instance))
                }
                SentEntry::Answered(EntryAnswer::Taken) => {
                    is_any_taken = true;
                    Ok(turn::sent(&self.table))
                }
                SentEntry::Refused(refusal) if refusal.is_busy() => match refused < turn::MOST {
                    true => Ok(turn::later(&self.table, None, refused + 1)),
                    // Nothing else was in its last request.
                    false => Err(refusal.error),
                },
                sent => sent.refusal(destination),
            };
            outcomes.insert(destination, outcome);
        }
        let is_forwarding = waiting.get(..api::BATCH).is_some_and(|it| it.iter().all(|it| it.checking.is_some()));
        for it in waiting {
            let refused = turn::refused_by_now(it.refused, is_any_taken);
            outcomes.insert(it.destination, Ok(turn::later(&self.table, it.checking, refused)));
        }
        is_forwarding
    }

    /// The most interfaces that are written in this call, which has requests for entries and reads, too: so many interfaces were read.
    fn most_forwards(&self, interfaces: usize) -> usize {
        let pages = |count: usize| count / api::PAGE as usize + 1;
        // Entries are read once more if one of them is in the way. Beside these are the tables, and instances by their ids.
        let reads = 2 * pages(self.live.as_ref().map_or(0, Vec::len)) + pages(interfaces) + 4;
        (CALL - REQUESTS as usize).saturating_sub(reads).clamp(1, api::BATCH)
    }

    /// Lets an interface forward packets of pods. The error is the outcome of the route that waits for it.
    fn forward(&self, interface: &str) -> Result<(), Result<RouteOutcome>> {
        interfaces::forward(&self.region, interface).map_err(|refusal| match refusal.is_busy() {
            true => Ok(RouteOutcome::pending(SOON, format_args!("{interface} carries out a change"))),
            false => Err(refusal.error),
        })
    }

    /// The outcome of a route whose destination has an entry that was not there a moment ago: another next hop is never done.
    fn taken(&self, live: &[VpcRoute], destination: &str, instance: &str) -> Result<RouteOutcome> {
        match live.iter().find(|it| it.destination == destination) {
            Some(live) if live.instance() == Some(instance) && live.is_changing() => {
                Ok(self.changing(live, Some(instance)))
            }
            Some(live) if live.instance() == Some(instance) => self.same(live),
            Some(live) => Err(Error::invalid(format_args!(
                "the route to {destination} leads to {} by now, and is not touched: it was to be none",
                live.next_hop.as_ref().map_or("several next hops", |(_, id)| id)
            ))),
            None => Err(Error::unavailable(format_args!("the route to {destination} is there and is not listed yet"))),
        }
    }

    /// The outcome of a change at whose destination the cloud is at work. A new entry that leads where it should was sent.
    fn changing(&self, live: &VpcRoute, after: Option<&str>) -> RouteOutcome {
        if live.status == "Pending" && after.is_some() && live.instance() == after {
            return turn::sent(&self.table);
        }
        turn::waits(&self.table, format_args!("has entry {}, which is {}", live.id, live.status))
    }
}
