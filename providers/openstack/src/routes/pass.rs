//! The changes of one call, in as few requests as will do: pairs of machines that lose a network, entries that go, entries that come, and
//! pairs of machines that get one.

use std::time::Duration;

use aerostat_sdk::{Change, Error, Result, RouteChange, RouteOutcome, SortedMap, log};

use super::pairs;
use super::place::RouterPlace;
use super::plan::{EntryPlan, plan};
use crate::api::ports;
use crate::api::routers::{self, ExtraRoute, NeutronRouter, RouteVerb, RoutesWritten};
use crate::net::NetworkRange;

/// How soon what has changed meanwhile is read again.
const PAUSE: Duration = Duration::from_millis(100);

/// The changes of one call.
pub(super) struct EntryPass {
    router: NeutronRouter,
    place: RouterPlace,
    plans: Vec<Option<EntryPlan>>,
    /// One for each change; `None` as long as it goes on.
    outcomes: Vec<Option<Result<RouteOutcome>>>,
    /// Whether this Neutron takes all routes of a router, or none.
    takes_whole: bool,
    /// Neutron's refusal when there was no room for another route.
    full: Option<Error>,
}

impl EntryPass {
    pub(super) fn new(changes: &[RouteChange], router: NeutronRouter, place: RouterPlace) -> Self {
        let checked = |change: &RouteChange| {
            let plan = plan(change, &router.routes)?;
            plan.hop.iter().try_for_each(|hop| place.check(&router, hop))?;
            Ok(plan)
        };
        let (mut plans, mut outcomes) = (Vec::new(), Vec::new());
        for planned in changes.iter().map(checked) {
            let (plan, outcome) = match planned {
                Ok(plan) => (Some(plan), None),
                Err(error) => (None, Some(Err(error))),
            };
            plans.push(plan);
            outcomes.push(outcome);
        }
        Self { router, place, plans, outcomes, takes_whole: false, full: None }
    }

    /// Makes the changes; one answer for each.
    pub(super) fn run(mut self) -> Vec<Result<RouteOutcome>> {
        self.take_pairs();
        let removing = self.open(|it| !it.removed.is_empty());
        self.write(RouteVerb::Remove, &removing);
        let adding = self.open(|it| it.added.is_some());
        self.write(RouteVerb::Add, &adding);
        self.give_pairs();
        let elsewhere = self.open(|it| it.is_unfinished);
        let why = "a route to it leads elsewhere: it is changed once it was listed";
        self.end(&elsewhere, &Ok(RouteOutcome::pending(PAUSE, why)));
        self.outcomes.into_iter().map(|it| it.unwrap_or(Ok(RouteOutcome::Done))).collect()
    }

    /// The positions of changes that go on, and for which this is so.
    fn open(&self, is_so: impl Fn(&EntryPlan) -> bool) -> Vec<usize> {
        let is_open = |at: &usize| self.outcomes[*at].is_none() && self.plans[*at].as_ref().is_some_and(&is_so);
        (0..self.plans.len()).filter(is_open).collect()
    }

    fn plan_of(&self, at: usize) -> impl Iterator<Item = &EntryPlan> {
        self.plans[at].iter()
    }

    fn end(&mut self, which: &[usize], outcome: &Result<RouteOutcome>) {
        which.iter().for_each(|at| self.outcomes[*at] = Some(outcome.clone()));
    }

    /// The positions of ports, and the changes that each is about.
    fn by_port(&self, which: &[usize], hops: impl Fn(&EntryPlan) -> Vec<String>) -> SortedMap<usize, Vec<usize>> {
        let mut by_port: SortedMap<usize, Vec<usize>> = SortedMap::new();
        for at in which {
            let hops = self.plan_of(*at).flat_map(&hops);
            hops.filter_map(|hop| self.place.position(&hop)).for_each(|port| by_port.get_or_default(port).push(*at));
        }
        by_port
    }

    /// Takes networks off the ports of machines that lose them. Where that is not possible, the entry stays as it is, too.
    fn take_pairs(&mut self) {
        let losing = self.open(|it| !it.removed.is_empty() || it.unpaired.is_some());
        let hops = |it: &EntryPlan| it.removed.iter().map(|it| it.nexthop.clone()).chain(it.unpaired.clone()).collect();
        let by_port = self.by_port(&losing, hops);
        for (port, which) in by_port {
            let ranges: Vec<NetworkRange> = which.iter().flat_map(|at| self.plan_of(*at)).map(|it| it.range).collect();
            let Some(kept) = pairs::without(&self.place.ports[port], &ranges) else { continue };
            match ports::allow(&self.place.ports[port], &kept) {
                Ok(Change::Done(changed)) => self.place.ports[port] = changed,
                Ok(Change::Busy(why)) => self.end(&which, &Ok(RouteOutcome::pending(PAUSE, why))),
                Err(error) => self.end(&which, &Err(error)),
            }
        }
    }

    /// Lets the ports of machines take packets of their networks. Where that is not possible, an entry that was made in this call is taken
    /// back: packets would go to a port that drops them.
    fn give_pairs(&mut self) {
        let getting = self.open(|it| it.hop.is_some());
        let mut unpaired = Vec::new();
        for (port, which) in self.by_port(&getting, |it| it.hop.iter().cloned().collect()) {
            let shown = &self.place.ports[port];
            let lacks = |at: &&usize| self.plan_of(**at).any(|it| pairs::lacks(shown, it.range));
            let which: Vec<usize> = which.iter().filter(lacks).copied().collect();
            if which.is_empty() {
                continue;
            }
            let plans = which.iter().flat_map(|at| self.plan_of(*at));
            let pairs = pairs::with(shown, plans.map(|it| it.destination.as_str()));
            match ports::allow(shown, &pairs) {
                Ok(Change::Done(changed)) => self.place.ports[port] = changed,
                Ok(Change::Busy(why)) => self.end(&which, &Ok(RouteOutcome::pending(PAUSE, why))),
                Err(error) => {
                    self.end(&which, &Err(error));
                    unpaired.extend(which);
                }
            }
        }
        self.take_back(&unpaired);
    }

    fn take_back(&mut self, which: &[usize]) {
        let made: Vec<ExtraRoute> =
            which.iter().flat_map(|at| self.plan_of(*at)).filter_map(|it| it.added.clone()).collect();
        if made.is_empty() {
            return;
        }
        match self.send(RouteVerb::Remove, &made) {
            Ok(RoutesWritten::Done(router)) => self.router = router,
            Ok(_) => log::warn("routes to ports that drop their packets stay", &[("why", "the router has changed")]),
            Err(error) => log::warn("routes to ports that drop their packets stay", &[("why", error.why())]),
        }
    }

    /// The entries of these changes that come or go.
    fn entries(&self, verb: RouteVerb, which: &[usize]) -> Vec<ExtraRoute> {
        let plans = which.iter().flat_map(|at| self.plan_of(*at));
        match verb {
            RouteVerb::Add => plans.filter_map(|it| it.added.clone()).collect(),
            RouteVerb::Remove => plans.flat_map(|it| it.removed.clone()).collect(),
        }
    }

    /// Writes the entries of these changes: all at once, and one by one if Neutron refuses them together.
    fn write(&mut self, verb: RouteVerb, which: &[usize]) {
        if which.is_empty() {
            return;
        }
        if let Some(full) = self.full.clone().filter(|_| verb == RouteVerb::Add) {
            return self.end(which, &Err(full));
        }
        let entries = self.entries(verb, which);
        match self.send(verb, &entries) {
            Ok(RoutesWritten::Done(router)) => self.router = router,
            Ok(RoutesWritten::Changed(why)) => self.end(which, &Ok(RouteOutcome::pending(PAUSE, why))),
            Ok(RoutesWritten::Full(_) | RoutesWritten::Bad(_)) if which.len() > 1 => {
                which.iter().for_each(|at| self.write(verb, &[*at]));
            }
            Ok(RoutesWritten::Full(error)) => {
                self.full = Some(error.clone());
                self.end(which, &Err(error));
            }
            Ok(RoutesWritten::Bad(error)) | Err(error) => self.end(which, &Err(error)),
        }
    }

    /// Sends one write. A Neutron that cannot add and remove routes gets the whole list, if it is still as it was read.
    fn send(&mut self, verb: RouteVerb, entries: &[ExtraRoute]) -> Result<RoutesWritten> {
        if !self.takes_whole {
            match routers::change(&self.router, verb, entries)? {
                Some(written) => return Ok(written),
                None => self.takes_whole = true,
            }
        }
        let kept = self.router.routes.iter().filter(|it| !entries.contains(it)).cloned();
        let whole: Vec<ExtraRoute> = match verb {
            RouteVerb::Add => kept.chain(entries.iter().cloned()).collect(),
            RouteVerb::Remove => kept.collect(),
        };
        routers::replace(&self.router, &whole)
    }
}
