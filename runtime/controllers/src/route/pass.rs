//! One pass over the routes: what is known is brought up to date, planned for, and done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Error, EventList, Result, RouteChange, RouteOutcome, RouteOwnership, RouteTarget};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::cidr::Cidr;
use crate::cloud_call::{CALL, late};
use crate::error::chain;
use crate::inventory::machine;
use crate::node_fields::is_waiting;
use crate::object;
use crate::route::RouteController;
use crate::route::answers::{self, Answered, FULL_PAUSE, Rests};
use crate::route::brake::{self, Facts};
use crate::route::conditions::{NetworkStatus, NetworkStatuses, statuses};
use crate::route::hops::{self, HopQuestion};
use crate::route::list::list_all;
use crate::route::listed::{KnownRoutes, ListedRoute};
use crate::route::networks::{RoutedNetworks, networks};
use crate::route::plan::{self, DesiredRoute, DestinationChange, PlanSituation, RoutePlan};
use crate::route::state::PassState;
use crate::worker::random;

/// Conditions that are written at once.
const WRITES: usize = 10;
/// Pod networks in one question for next hops.
const QUESTIONS: usize = 500;
/// The most calls at a time, whatever the provider says.
const CALLS: u32 = 16;

/// The nodes that have networks, by name, each as the provider may know it.
type MachinesByName = HashMap<String, cloud_provider::Node>;

impl RouteController {
    /// Makes a pass: with a list, if one is due.
    pub(super) async fn pass(&self, state: &mut PassState) {
        self.metrics.route_syncs.inc();
        // A node that is gone from the one and not yet seen to go by the other would keep its route.
        let (nodes, seen) = self.nodes.between_events(|| self.changes.take());
        let networks = networks(&self.cluster, nodes);
        self.count(&networks, &seen.deleted, state);
        state.seen.changed.extend(seen.changed);
        let is_listed = if state.needs_list(Instant::now()) { self.list(state).await } else { state.routes.is_some() };
        // Without a list nobody knows what is there.
        if is_listed {
            self.reconcile(&networks, state).await;
        }
        self.write_conditions(state).await;
    }

    /// Takes note of networks that came and went since the last pass: so much may be written for them.
    fn count(&self, networks: &RoutedNetworks, deleted: &std::collections::HashSet<String>, state: &mut PassState) {
        let now = Instant::now();
        let mut held: HashMap<String, Vec<Cidr>> = HashMap::new();
        for it in &networks.held {
            held.entry(it.node.metadata.uid.clone().unwrap_or_default()).or_default().push(it.cidr);
        }
        for (uid, cidrs) in &held {
            let before = state.held.get(uid).map_or(&[][..], Vec::as_slice);
            cidrs.iter().filter(|it| !before.contains(it)).for_each(|_| self.requested.add_new(now));
        }
        for (uid, cidrs) in state.held.iter().filter(|(uid, _)| deleted.contains(*uid)) {
            debug!(uid, "a node is gone, and with it its networks");
            self.requested.add_changes(u32::try_from(cidrs.len()).unwrap_or(u32::MAX), now);
            state.seen.gone.extend(cidrs);
        }
        state.held = held;
    }

    /// Lists all routes. Returns whether that went well.
    async fn list(&self, state: &mut PassState) -> bool {
        let began = Instant::now();
        let next = self.next_list(began);
        let mut events = EventList::default();
        let all = list_all(&*self.routes, self.routes.description().page_size, &mut events).await;
        self.reports.of_provider(events.into_vec(), &self.nodes);
        let all = match all {
            Ok(all) => all,
            Err(error) => {
                warn!("error listing routes: {error}");
                state.list_failed(Some(&error), next, Instant::now());
                return false;
            }
        };
        let (routes, unreadable) = ListedRoute::all(all.routes);
        if !unreadable.is_empty() {
            warn!(?unreadable, "the provider lists routes whose destination is no network; they are left alone");
        }
        match &all.incomplete {
            Some(reason) => {
                warn!("the cloud's list of routes may lack some, and nothing is deleted by it: {reason}");
                state.list_failed(None, next, Instant::now());
            }
            None => state.list_succeeded(next),
        }
        debug!(routes = routes.len(), "listed the cloud's routes");
        if state.routes.as_ref().is_some_and(|it| it.routes.len() > routes.len()) {
            state.refusals.clear();
            state.full_until = None;
        }
        state.routes = Some(KnownRoutes { routes, began, incomplete: all.incomplete });
        state.rests.listed();
        true
    }

    /// Brings routes about as they should be, from what is known.
    async fn reconcile(&self, networks: &RoutedNetworks, state: &mut PassState) {
        let machines = self.machines(networks);
        let refused_hops = self.ask_next_hops(networks, &machines, state).await;
        let nodes: HashMap<_, _> = networks.held.iter().map(|it| (it.node.name_any(), it.node.clone())).collect();
        let cidrs: BTreeSet<_> = networks.held.iter().map(|it| it.cidr).collect();
        state.forget_others(&cidrs);
        let (mut plan, mut facts) = self.plan(networks, state);
        // What was made since the last list may be called otherwise than is remembered.
        if answers::rests_on_a_guess(&plan.changes, state.routes.as_ref().map_or(&[], |it| &it.routes)) {
            if !state.may_list(Instant::now()) || !self.list(state).await {
                return;
            }
            (plan, facts) = self.plan(networks, state);
        }
        self.report(&plan, facts, networks, &nodes, state);
        let now = Instant::now();
        for cidr in plan.changes.iter().filter(|it| it.is_braked).map(|it| it.cidr) {
            state.count.take(cidr, facts.routes, now);
        }
        let long = state.rests.changing(&plan.changing, now);
        if !long.is_empty() {
            self.reports.long_changing(&long);
        }
        let answers = self.apply(&plan, &machines, &nodes, &state.rests).await;
        self.settle(&answers, &plan, state);
        let mut statuses = NetworkStatuses { routed: plan.kept, failed: refused_hops };
        statuses.failed.extend(plan.conflicts.into_iter().map(|(node, it)| (node, it.cidr)));
        statuses.failed.extend(networks.refused.iter().map(|it| (it.node.name_any(), it.cidr)));
        statuses.failed.extend(plan.without_room);
        for (change, answer) in &answers {
            let Some(target) = &change.after else { continue };
            let key = (target.node.clone(), change.cidr);
            match answer {
                Ok(RouteOutcome::Done) => drop(statuses.routed.insert(key)),
                Ok(RouteOutcome::Pending { .. }) | Err(Error::RetryAfter { .. }) => {}
                Err(_) => drop(statuses.failed.insert(key)),
            }
        }
        self.note_statuses(networks, &statuses, state);
    }

    /// The nodes that are initialised, each as the provider may know it: with the cloud's addresses, where it has told
    /// them.
    fn machines(&self, networks: &RoutedNetworks) -> MachinesByName {
        let initialised = networks.held.iter().map(|it| &it.node).filter(|it| !is_waiting(it));
        let known = |node: &Arc<KubeNode>| {
            let mut machine = machine(node);
            if let Some(confirmed) = self.nodes.confirmed(node) {
                if !confirmed.addresses.is_empty() {
                    machine.addresses.clone_from(&confirmed.addresses);
                }
                machine.extra.clone_from(&confirmed.extra);
            }
            (machine.name.clone(), machine)
        };
        initialised.map(known).collect()
    }

    /// Asks to what the routes of nodes lead that have changed. Returns the networks to which none can lead.
    async fn ask_next_hops(
        &self,
        networks: &RoutedNetworks,
        machines: &MachinesByName,
        state: &mut PassState,
    ) -> BTreeSet<(String, Cidr)> {
        let question = |held: &crate::route::networks::HeldNetwork| {
            let machine = machines.get(&held.node.name_any())?.clone();
            Some(HopQuestion { uid: held.node.metadata.uid.clone().unwrap_or_default(), cidr: held.cidr, machine })
        };
        let questions = networks.held.iter().filter_map(question).collect();
        let unanswered = state.hops.unanswered(questions, Instant::now());
        for questions in unanswered.chunks(QUESTIONS) {
            let begin = Instant::now();
            let asked: Vec<_> = questions.iter().map(HopQuestion::network).collect();
            let answers = match tokio::time::timeout(CALL, self.routes.next_hops(&asked)).await {
                Ok(reply) => {
                    self.reports.of_provider(reply.events, &self.nodes);
                    reply.answer
                }
                Err(_) => vec![Err(late()); asked.len()],
            };
            for (question, answer) in questions.iter().cloned().zip(as_many(answers, asked.len())) {
                let (name, cidr) = (question.machine.name.clone(), question.cidr);
                let error = answer.as_ref().err().filter(|it| hops::is_certain(it)).cloned();
                if state.hops.answered(question, answer, Instant::now())
                    && let (Some(error), Some(node)) = (error, self.nodes.get(&name))
                {
                    self.reports.failed_to_create(&node, &cidr, begin.elapsed(), &error);
                }
            }
        }
        let wrong = |held: &&crate::route::networks::HeldNetwork| {
            let hop = state.hops.get(held.node.metadata.uid.as_deref().unwrap_or_default(), &held.cidr);
            hop.is_some_and(|it| it.as_ref().is_err_and(hops::is_certain))
        };
        self.warn_of_shared_hops(networks, state);
        networks.held.iter().filter(wrong).map(|it| (it.node.name_any(), it.cidr)).collect()
    }

    /// An address that is used again makes two nodes with one next hop: for a while that is no error.
    fn warn_of_shared_hops(&self, networks: &RoutedNetworks, state: &PassState) {
        let mut nodes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for it in &networks.held {
            let uid = it.node.metadata.uid.as_deref().unwrap_or_default();
            if let Some(Ok(hop)) = state.hops.get(uid, &it.cidr) {
                nodes.entry(hop).or_default().insert(it.node.name_any());
            }
        }
        for (hop, nodes) in nodes.iter().filter(|(_, nodes)| nodes.len() > 1) {
            warn!(hop, ?nodes, "routes of several nodes lead to one next hop");
        }
    }

    fn plan(&self, networks: &RoutedNetworks, state: &mut PassState) -> (RoutePlan, Facts) {
        let now = Instant::now();
        state.planned = Some(now);
        let known =
            state.routes.clone().unwrap_or_else(|| KnownRoutes { routes: Vec::new(), began: now, incomplete: None });
        let names: Vec<_> = networks.held.iter().map(|it| it.node.name_any()).collect();
        let desired: Vec<_> = networks
            .held
            .iter()
            .zip(&names)
            .map(|(it, node)| {
                let uid = it.node.metadata.uid.as_deref().unwrap_or_default();
                DesiredRoute { node, uid, cidr: it.cidr, hop: state.hops.get(uid, &it.cidr) }
            })
            .collect();
        let is_approved = self.requested.within(self.options.budget.window, now).is_approved;
        let facts = Facts {
            nodes: self.nodes.all().len(),
            routes: plan::ours(&self.cluster, &known.routes),
            warm_up: self.warm_until().saturating_duration_since(now),
            is_approved,
        };
        let plan = plan::plan(&PlanSituation {
            cluster: &self.cluster,
            desired: &desired,
            known: &known,
            period: self.list_period(),
            now,
            seen: &state.seen,
            brake: state.count.brake(facts, &self.options.budget, now),
            resting: &state.rests.resting(now),
            is_full: state.full_until.is_some_and(|it| it > now),
            is_busy: self.routes.description().concurrency == 1 && state.rests.is_busy(now),
        });
        (plan, facts)
    }

    fn report(
        &self,
        plan: &RoutePlan,
        facts: Facts,
        networks: &RoutedNetworks,
        nodes: &HashMap<String, Arc<KubeNode>>,
        state: &mut PassState,
    ) {
        networks.refused.iter().for_each(|it| self.reports.refused(it));
        for (node, foreign) in &plan.conflicts {
            nodes.get(node).into_iter().for_each(|it| self.reports.conflict(it, foreign));
        }
        state.withheld = (!plan.withheld.is_empty()).then(Instant::now);
        if !plan.withheld.is_empty() {
            let message = brake::message(&plan.withheld, facts, &self.options.budget);
            self.reports.withheld(plan.withheld.len(), &message);
        }
    }

    /// Has the changes made, as many calls at a time as the cloud takes.
    async fn apply(
        &self,
        plan: &RoutePlan,
        machines: &MachinesByName,
        nodes: &HashMap<String, Arc<KubeNode>>,
        rests: &Rests,
    ) -> Vec<Answered> {
        let description = self.routes.description();
        let batches = plan::batches(plan.changes.clone(), description.batch_size);
        let concurrency = description.concurrency.clamp(1, CALLS) as usize;
        let batches = batches.into_iter().map(|it| self.apply_batch(it, machines, nodes, rests));
        stream::iter(batches).buffered(concurrency).collect::<Vec<_>>().await.into_iter().flatten().collect()
    }

    async fn apply_batch(
        &self,
        changes: Vec<DestinationChange>,
        machines: &MachinesByName,
        nodes: &HashMap<String, Arc<KubeNode>>,
        rests: &Rests,
    ) -> Vec<Answered> {
        if *self.ending.borrow() {
            return Vec::new();
        }
        let begin = Instant::now();
        let asked: Vec<_> = changes.iter().map(|it| asked(it, machines, rests)).collect();
        let answers = match tokio::time::timeout(CALL, self.routes.apply(&asked)).await {
            Ok(reply) => {
                self.reports.of_provider(reply.events, &self.nodes);
                reply.answer
            }
            Err(_) => vec![Err(late()); asked.len()],
        };
        let answered: Vec<_> = changes.into_iter().zip(as_many(answers, asked.len())).collect();
        for (change, answer) in &answered {
            self.tell(change, answer, begin.elapsed(), nodes);
        }
        answered
    }

    /// Says what came of a change.
    fn tell(
        &self,
        change: &DestinationChange,
        answer: &Result<RouteOutcome>,
        took: Duration,
        nodes: &HashMap<String, Arc<KubeNode>>,
    ) {
        let (destination, name) = (change.cidr, change.after.as_ref().map(|it| it.node.as_str()));
        match (answer, name) {
            (Ok(RouteOutcome::Done), Some(node)) => info!(%destination, node, "the route is there, after {took:?}"),
            (Ok(RouteOutcome::Done), None) => info!(%destination, "the route is gone, after {took:?}"),
            (Ok(RouteOutcome::Pending { after, reason }), node) => {
                debug!(%destination, node, ?after, "the cloud is busy with the route: {reason}");
            }
            // Nothing failed: the cloud is asked again then.
            (Err(Error::RetryAfter { after, reason }), node) => {
                info!(%destination, node, ?after, "the route has to wait: {reason}");
            }
            (Err(error), Some(name)) => {
                warn!(%destination, node = name, "cannot create the route: {error}");
                if let Some(node) = nodes.get(name) {
                    self.reports.failed_to_create(node, &destination, took, error);
                }
            }
            (Err(error), None) => warn!(%destination, "cannot delete the route: {error}"),
        }
    }

    /// Draws the conclusions from answers.
    fn settle(&self, answers: &[Answered], plan: &RoutePlan, state: &mut PassState) {
        let now = Instant::now();
        if !answers.is_empty() {
            self.changes.worked();
            state.rests.answered(answers, now, random);
        }
        for (change, _) in answers.iter().filter(|it| it.1 == Ok(RouteOutcome::Done)) {
            state.count.settle(&change.cidr);
        }
        if let Some(known) = &mut state.routes {
            known.routes = answers::corrected(std::mem::take(&mut known.routes), answers);
        }
        if answers::makes_room(answers) || state.full_until.is_some_and(|it| it <= now) {
            state.full_until = None;
        }
        if let Some(text) = state.refusals.answered(answers) {
            state.full_until = Some(now + FULL_PAUSE);
            let routes = state.routes.as_ref().map_or(0, |it| it.routes.len());
            let waiting = state.refusals.count() + plan.without_room.len();
            self.reports.table_full(routes, waiting, text);
        }
    }

    /// Takes note of the conditions that nodes should have.
    fn note_statuses(&self, networks: &RoutedNetworks, known: &NetworkStatuses, state: &mut PassState) {
        let mut nodes: BTreeMap<String, Vec<Cidr>> = BTreeMap::new();
        let held = networks.held.iter().map(|it| (&it.node, it.cidr));
        for (node, cidr) in held.chain(networks.refused.iter().map(|it| (&it.node, it.cidr))) {
            nodes.entry(node.name_any()).or_default().push(cidr);
        }
        for (node, status) in statuses(&nodes, known) {
            state.unwritten.insert(node.to_owned(), status);
        }
        // What was seen of a node has been followed once its routes are there.
        for it in networks.held.iter().filter(|it| known.routed.contains(&(it.node.name_any(), it.cidr))) {
            state.seen.changed.remove(it.node.metadata.uid.as_deref().unwrap_or_default());
        }
        let uids: BTreeSet<_> = networks.held.iter().filter_map(|it| it.node.metadata.uid.as_ref()).collect();
        state.seen.changed.retain(|uid| uids.contains(uid));
    }

    /// Writes the conditions that are not as they should be.
    async fn write_conditions(&self, state: &mut PassState) {
        let wanted = std::mem::take(&mut state.unwritten);
        state.written.retain(|node, _| self.nodes.get(node).is_some());
        let patches = wanted.into_iter().filter_map(|(name, status)| {
            let node = self.nodes.get(&name)?;
            // The watch may not show yet what was written.
            let version = node.resource_version();
            if state.written.get(&name).is_some_and(|it| *it == (version.clone(), status)) {
                return None;
            }
            let patch = status.patch(&node, Timestamp::now())?;
            Some((name, status, version, patch))
        });
        let patches: Vec<_> = patches.collect();
        let write = |(name, status, version, patch): (String, NetworkStatus, Option<String>, serde_json::Value)| async move {
            let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
            let written = object::answer(self.api.patch_status(&name, &params, &patch)).await;
            (name, status, version, written.map(drop))
        };
        let mut written = stream::iter(patches).map(write).buffer_unordered(WRITES);
        let mut failed = BTreeMap::new();
        while let Some((name, status, version, answer)) = written.next().await {
            match answer {
                Ok(()) => drop(state.written.insert(name, (version, status))),
                Err(error) if error.is_gone() || error.is_conflict() => debug!(node = name, "the node is gone"),
                Err(error) => {
                    warn!(node = name, "cannot write the condition of node {name}: {}", chain(&error));
                    failed.insert(name, status);
                }
            }
        }
        drop(written);
        state.unwritten.extend(failed);
        state.rewrite_at(Instant::now());
    }
}

/// A change as the provider is told.
fn asked(change: &DestinationChange, machines: &MachinesByName, rests: &Rests) -> RouteChange {
    let is_foreign = change.before.as_ref().is_some_and(|it| it.ownership == RouteOwnership::Foreign);
    debug_assert!(!is_foreign, "nobody else's route is ever changed: {change:?}");
    RouteChange {
        destination: change.cidr.to_string(),
        before: change.before.clone(),
        after: change.after.as_ref().map(|target| RouteTarget {
            next_hop: target.hop.clone(),
            node: machines.get(&target.node).cloned().unwrap_or_default(),
        }),
        pending: rests.reason(change).cloned(),
    }
}

/// As many answers as questions: what is missing is unknown.
fn as_many<T>(mut answers: Vec<Result<T>>, questions: usize) -> Vec<Result<T>> {
    if answers.len() != questions {
        let text = format!("the provider gave {} answers to {questions} questions", answers.len());
        answers.clear();
        answers.resize_with(questions, || Err(Error::Unavailable(text.clone())));
    }
    answers
}
