//! The plan for each destination. No client, no clock, no log.
//!
//! A change is about one destination: what is there, and what shall be. So a deletion can never come after the creation
//! that it makes room for.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use cloud_provider::{Result, Route, RouteOwnership, RouteState};
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::route::brake::Brake;
use crate::route::listed::{KnownRoutes, ListedRoute};
use crate::route::networks::is_inside;

/// A pod network that shall have a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct DesiredRoute<'a> {
    /// The node's name.
    pub(super) node: &'a str,
    /// The node's UID.
    pub(super) uid: &'a str,
    pub(super) cidr: Cidr,
    /// To what the route shall lead; `None` while nobody knows.
    pub(super) hop: Option<&'a Result<String>>,
}

/// Changes of nodes that the watch has shown since it began.
#[derive(Debug, Default)]
pub(super) struct SeenChanges {
    /// Networks of nodes whose deletion was seen.
    pub(super) gone: BTreeSet<Cidr>,
    /// UIDs of nodes that came or changed.
    pub(super) changed: HashSet<String>,
}

/// The situation from which a plan is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanSituation<'a> {
    /// `--cluster-cidr`.
    pub(super) cluster: &'a [Cidr],
    /// The oldest node's networks first.
    pub(super) desired: &'a [DesiredRoute<'a>],
    /// The routes that are there.
    pub(super) known: &'a KnownRoutes,
    /// The period between two lists.
    pub(super) period: Duration,
    pub(super) now: Instant,
    pub(super) seen: &'a SeenChanges,
    pub(super) brake: Brake<'a>,
    /// Destinations whose change towards this next hop has to wait.
    pub(super) resting: &'a BTreeMap<Cidr, Option<String>>,
    /// Whether new routes wait, because the cloud has no room for any.
    pub(super) is_full: bool,
    /// Whether all changes wait, because the cloud takes one at a time and works on one.
    pub(super) is_busy: bool,
}

/// The changes to make, and those that are withheld.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct RoutePlan {
    pub(super) changes: Vec<DestinationChange>,
    /// Routes that are not deleted or moved because too many would be.
    pub(super) withheld: Vec<ListedRoute>,
    /// Nodes whose network has a route that is somebody else's.
    pub(super) conflicts: Vec<(String, ListedRoute)>,
    /// Routes that are there, as desired, by name of the node.
    pub(super) kept: BTreeSet<(String, Cidr)>,
    /// Destinations at which the cloud is busy.
    pub(super) changing: BTreeSet<Cidr>,
    /// New routes that wait until the cloud has room.
    pub(super) without_room: BTreeSet<(String, Cidr)>,
}

/// The change of one destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DestinationChange {
    pub(super) cidr: Cidr,
    pub(super) before: Option<Route>,
    pub(super) after: Option<DesiredTarget>,
    /// Whether it counts against the brake.
    pub(super) is_braked: bool,
}

/// To what a route shall lead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DesiredTarget {
    pub(super) node: String,
    pub(super) hop: String,
}

impl PlanSituation<'_> {
    /// Whether all routes are known, by a list that is young enough to delete by.
    fn is_complete(&self) -> bool {
        self.known.is_complete(self.period, self.now)
    }
}

impl DestinationChange {
    /// Whether it makes a route where none is.
    pub(super) fn is_creation(&self) -> bool {
        self.before.is_none() && self.after.is_some()
    }

    /// The next hop that it is to lead to.
    pub(super) fn hop(&self) -> Option<&String> {
        self.after.as_ref().map(|it| &it.hop)
    }
}

/// The plan for now: releases first, then moves, then new routes, the oldest node's first.
pub(super) fn plan(it: &PlanSituation<'_>) -> RoutePlan {
    let mut routes: BTreeMap<Cidr, Vec<&ListedRoute>> = BTreeMap::new();
    for listed in &it.known.routes {
        routes.entry(listed.cidr).or_default().push(listed);
    }
    let (mut plan, mut wanted) = (RoutePlan::default(), Vec::new());
    for desired in it.desired {
        let there = routes.remove(&desired.cidr).unwrap_or_default();
        wanted.extend(of_desired(it, desired, &there, &mut plan));
    }
    for (cidr, there) in routes.into_iter().filter(|(cidr, _)| is_inside(it.cluster, cidr)) {
        wanted.extend(of_unwanted(it, cidr, &there, &mut plan));
    }
    wanted.sort_by_key(|change| match change {
        DestinationChange { after: None, .. } => 0,
        DestinationChange { before: Some(_), .. } => 1,
        DestinationChange { .. } => 2,
    });
    let mut allowance = it.brake.allowance;
    for change in wanted {
        if it.resting.get(&change.cidr).is_some_and(|rests| rests.as_ref() == change.hop()) {
            continue;
        }
        if change.is_creation() && it.is_full {
            plan.without_room.extend(change.after.map(|it| (it.node, change.cidr)));
            continue;
        }
        if change.is_braked && !it.brake.counted.contains(&change.cidr) {
            let Some(left) = allowance.checked_sub(1) else {
                let route = change.before.into_iter();
                plan.withheld.extend(route.map(|route| ListedRoute { cidr: change.cidr, route, is_guess: false }));
                continue;
            };
            allowance = left;
        }
        if !it.is_busy {
            plan.changes.push(change);
        }
    }
    plan
}

/// The change of a destination that a node has.
fn of_desired(
    it: &PlanSituation<'_>,
    desired: &DesiredRoute<'_>,
    there: &[&ListedRoute],
    plan: &mut RoutePlan,
) -> Option<DestinationChange> {
    let DesiredRoute { node, uid, cidr, hop } = *desired;
    if let Some(foreign) = there.iter().find(|it| it.route.ownership == RouteOwnership::Foreign) {
        plan.conflicts.push((node.to_owned(), (*foreign).clone()));
        return None;
    }
    let Some(Ok(hop)) = hop else { return None };
    let after = Some(DesiredTarget { node: node.to_owned(), hop: hop.clone() });
    let change = |before: Option<&ListedRoute>, is_braked| {
        Some(DestinationChange { cidr, before: before.map(|it| it.route.clone()), after: after.clone(), is_braked })
    };
    // One that works stands for all others with the same next hop.
    let leads_right = |it: &&&ListedRoute| it.route.next_hop.as_ref() == Some(hop);
    let is_active = |it: &&&ListedRoute| it.route.state == RouteState::Active;
    let right = there.iter().filter(leads_right);
    if let Some(right) = right.clone().find(is_active) {
        plan.kept.insert((node.to_owned(), cidr));
        return surplus(it, cidr, right, there, plan);
    }
    if there.iter().any(|it| it.route.state == RouteState::Changing) {
        plan.changing.insert(cidr);
        return None;
    }
    let broken = right.copied().next().or_else(|| there.iter().find(|it| !is_active(it)).copied());
    match (broken, there.first()) {
        (None, None) => change(None, false),
        (Some(broken), _) => change(Some(broken), false),
        // A provider that spells next hops differently would move every route.
        (None, Some(other)) if it.is_complete() => change(Some(other), !it.seen.changed.contains(uid)),
        (None, Some(_)) => None,
    }
}

/// Among several routes with one destination those that are not as desired go, one after the other.
fn surplus(
    it: &PlanSituation<'_>,
    cidr: Cidr,
    right: &ListedRoute,
    there: &[&ListedRoute],
    plan: &mut RoutePlan,
) -> Option<DestinationChange> {
    let mut others = there.iter().filter(|other| !std::ptr::eq(**other, right));
    let other = others.find(|it| it.route.state != RouteState::Changing);
    if there.len() > 1 && other.is_none() {
        plan.changing.insert(cidr);
    }
    let other = other.filter(|_| it.is_complete())?;
    Some(DestinationChange { cidr, before: Some(other.route.clone()), after: None, is_braked: true })
}

/// The change of a destination in the cluster's networks that no node has.
fn of_unwanted(
    it: &PlanSituation<'_>,
    cidr: Cidr,
    there: &[&ListedRoute],
    plan: &mut RoutePlan,
) -> Option<DestinationChange> {
    let ours = || there.iter().filter(|it| it.route.ownership != RouteOwnership::Foreign);
    let Some(unwanted) = ours().find(|it| it.route.state != RouteState::Changing) else {
        if ours().next().is_some() {
            plan.changing.insert(cidr);
        }
        return None;
    };
    if !it.is_complete() {
        return None;
    }
    let is_braked = !it.seen.gone.contains(&cidr);
    Some(DestinationChange { cidr, before: Some(unwanted.route.clone()), after: None, is_braked })
}

/// The routes that count for the brake's share: those that could be deleted.
pub(super) fn ours(cluster: &[Cidr], listed: &[ListedRoute]) -> usize {
    let is_ours = |it: &&ListedRoute| it.route.ownership != RouteOwnership::Foreign && is_inside(cluster, &it.cidr);
    listed.iter().filter(is_ours).count()
}

/// Changes in calls of at most so many. `size` 0 counts as 1.
pub(super) fn batches(changes: Vec<DestinationChange>, size: u32) -> Vec<Vec<DestinationChange>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
    let mut batches = Vec::new();
    let mut rest = changes.into_iter().peekable();
    while rest.peek().is_some() {
        batches.push(rest.by_ref().take(size).collect());
    }
    batches
}

#[cfg(test)]
pub(crate) mod tests;
