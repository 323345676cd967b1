//! The changes of one call: routes are read once, and each change takes one step.

use std::time::Duration;

use aerostat_sdk::{Change, Error, Result, RouteChange, RouteOutcome, RouteTarget, SortedMap, cluster, pages};

use crate::api::PAGE;
use crate::api::operations::{self, OperationState};
use crate::api::routes::{self as api, DESCRIPTION, GceRoute, NewGceRoute};
use crate::machine::is_name;
use crate::settings::ProjectSettings;

/// How soon an operation is asked about.
const PAUSE: Duration = Duration::from_secs(2);
/// The beginning of the reason of a change that goes on; names of operations follow.
const WAITING: &str = "waits for operations ";
/// The most characters of the cluster's name in a route's.
const CLUSTER: usize = 26;
/// The priority of routes, as the vendor's controller writes it.
const PRIORITY: u32 = 1_000;

/// The routes that a cluster may have made.
pub(super) struct ClusterRoutes {
    /// The beginning of their names.
    prefix: String,
    /// The beginning of their next hops.
    instances: String,
}

impl ClusterRoutes {
    pub(super) fn of(settings: &ProjectSettings) -> Result<Self> {
        let name: String = cluster()?.name.chars().take(CLUSTER).collect();
        Ok(Self { prefix: format!("{name}-"), instances: format!("projects/{}/zones/", settings.project) })
    }

    /// Whether a cluster with this name may have made it.
    pub(super) fn could_own(&self, route: &GceRoute) -> bool {
        let leads_to_machine = route.instance.as_ref().is_some_and(|it| it.starts_with(&self.instances));
        leads_to_machine && route.description == DESCRIPTION && route.name.starts_with(&self.prefix)
    }
}

/// The changes of one call.
pub(super) struct GceRoutePass {
    settings: ProjectSettings,
    cluster: ClusterRoutes,
    routes: Vec<GceRoute>,
    /// The operations of the changes, as far as a list tells of them.
    operations: SortedMap<String, Result<OperationState>>,
    /// The refusal after which no other write is sent in this call.
    stopped: Option<Error>,
}

impl GceRoutePass {
    pub(super) fn read(changes: &[RouteChange]) -> Result<Self> {
        let settings = ProjectSettings::read()?;
        let cluster = ClusterRoutes::of(&settings)?;
        let routes = pages(None, |cursor: &Option<String>| {
            let page = api::listed(&settings.network_project, &settings.network, cursor.as_deref(), PAGE)?;
            match page.incomplete {
                Some(why) => Err(Error::unavailable(format_args!("the list of routes lacks some: {why}"))),
                None => Ok((page.routes, page.next.map(Some))),
            }
        })?;
        let begun: Vec<&str> = changes.iter().flat_map(begun).collect();
        // One is asked about by itself.
        let operations = if begun.len() > 1 { operations::listed(&begun)? } else { SortedMap::default() };
        Ok(Self { settings, cluster, routes, operations, stopped: None })
    }

    pub(super) fn apply(&mut self, change: &RouteChange) -> Result<RouteOutcome> {
        let hop = change.after.as_ref().map(|it| &*it.next_hop);
        let old = change.before.as_ref().and_then(|it| it.next_hop.as_deref());
        let live: Vec<GceRoute> =
            self.routes.iter().filter(|it| it.destination == change.destination).cloned().collect();
        let leads = |route: &GceRoute, to: Option<&str>| {
            to.is_some() && route.instance.as_deref() == to && self.cluster.could_own(route)
        };
        let is_made = live.iter().any(|it| leads(it, hop));
        let mut removed: Vec<&GceRoute> = live.iter().filter(|it| leads(it, old) && !leads(it, hop)).collect();
        if let (false, [], Some(other)) = (is_made, &removed[..], live.first()) {
            return Err(Error::invalid(format_args!(
                "route {} to {} leads to {} by now, and is not touched",
                other.name,
                change.destination,
                other.instance.as_deref().unwrap_or("something that is no machine")
            )));
        }
        let added = change.after.as_ref().filter(|_| !is_made);
        if removed.is_empty() && added.is_none() {
            return Ok(RouteOutcome::Done);
        }
        if let Some(waiting) = self.still_running(change)? {
            return Ok(waiting);
        }
        // Their deletions may have ended since the routes were listed.
        if change.pending().is_some_and(|it| it.starts_with(WAITING)) {
            let mut left = Vec::new();
            for it in removed {
                if api::find(&it.name)?.is_some() {
                    left.push(it);
                }
            }
            removed = left;
            if removed.is_empty() && added.is_none() {
                return Ok(RouteOutcome::Done);
            }
        }
        self.write(change, &removed, added)
    }

    /// The answer for a change whose operations go on. One that failed is told; about one that is lost, the routes say enough.
    fn still_running(&self, change: &RouteChange) -> Result<Option<RouteOutcome>> {
        let mut running = Vec::new();
        for name in begun(change) {
            let listed = self.operations.get(name).cloned();
            if let OperationState::Running(name) = listed.unwrap_or_else(|| operations::of_network(name))? {
                running.push(name);
            }
        }
        Ok(waiting(&running))
    }

    /// Sends the writes of one change side by side. A route whose name the new one needs goes first.
    fn write(
        &mut self,
        change: &RouteChange,
        removed: &[&GceRoute],
        added: Option<&RouteTarget>,
    ) -> Result<RouteOutcome> {
        if let Some(stopped) = &self.stopped {
            return Err(stopped.clone());
        }
        let name = added.map(|it| self.name_of(it)).transpose()?;
        let mut begun = Vec::new();
        for it in removed {
            let operation = self.sent(api::delete(&it.name))?;
            begun.push(operation);
        }
        match (added, name) {
            (Some(_), Some(name)) if removed.iter().any(|it| it.name == name) => {
                return Ok(waiting(&running(begun))
                    .unwrap_or_else(|| RouteOutcome::pending(PAUSE, "the old route goes first")));
            }
            (Some(target), Some(name)) => begun.push(self.create(change, target, &name)?),
            _ => {}
        }
        Ok(waiting(&running(begun)).unwrap_or(RouteOutcome::Done))
    }

    fn create(&mut self, change: &RouteChange, target: &RouteTarget, name: &str) -> Result<OperationState> {
        let ProjectSettings { network_project, network, .. } = &self.settings;
        let route = NewGceRoute {
            description: DESCRIPTION,
            dest_range: &change.destination,
            name,
            network: &format!("projects/{network_project}/global/networks/{network}"),
            next_hop_instance: &target.next_hop,
            priority: PRIORITY,
        };
        let created = api::create(&route);
        match self.sent(created)? {
            Change::Done(operation) => Ok(operation),
            // Made by a call whose answer was lost, or by somebody else.
            Change::Busy(why) => match api::find(name)? {
                Some(it) if it.destination == change.destination && it.instance.as_ref() == Some(&target.next_hop) => {
                    Ok(OperationState::Done)
                }
                Some(it) => Err(Error::invalid(format_args!(
                    "{why}: route {name} leads to {}, and is not touched. Delete it, if nobody needs it",
                    it.destination
                ))),
                None => Err(Error::unavailable(why)),
            },
        }
    }

    /// The name of a node's route, as the vendor's controller makes it.
    fn name_of(&self, target: &RouteTarget) -> Result<String> {
        let node = &target.node;
        let uid = node.uid.as_ref().ok_or_else(|| Error::invalid(format_args!("node {} has no UID", node.name)))?;
        let name = format!("{}{uid}", self.cluster.prefix);
        match is_name(&name) {
            true => Ok(name),
            false => Err(Error::invalid(format_args!(
                "no route can be called {name:?}: give the cluster a name of lower-case letters, digits and dashes"
            ))),
        }
    }

    /// Remembers a refusal that every other write of this call would get, too: too many requests, or too many routes.
    fn sent<T>(&mut self, sent: Result<T>) -> Result<T> {
        let stops = |it: &Error| matches!(it, Error::RetryAfter(_)) || it.is_quota();
        sent.inspect_err(|error| self.stopped = Some(error.clone()).filter(stops))
    }
}

/// The names of the operations that a change waits for.
fn begun(change: &RouteChange) -> impl Iterator<Item = &str> {
    let names = change.pending().and_then(|it| it.strip_prefix(WAITING)).into_iter().flat_map(|it| it.split(", "));
    names.filter(|it| is_name(it))
}

fn running(begun: Vec<OperationState>) -> Vec<String> {
    let name = |it| if let OperationState::Running(name) = it { Some(name) } else { None };
    begun.into_iter().filter_map(name).collect()
}

fn waiting(running: &[String]) -> Option<RouteOutcome> {
    (!running.is_empty()).then(|| RouteOutcome::pending(PAUSE, format_args!("{WAITING}{}", running.join(", "))))
}
