//! The next step towards a load balancer: a pure function of what is wanted and what is there.

use aerostat_sdk::{Error, Result};
use serde_json::{Value, json};

use super::bodies::{self, FIRST_INSTANCES};
use super::compare::differs;
use super::goal::{GceGoal, shared_backends};
use super::live::{CHECKS, GceLive, own, unwanted_letters};
use super::memo::{GceMemo, GceStage};
use super::names::{GceNames, SERVICE_LABEL, owner_in};
use crate::api::fields::{from_project, items, text, word};
use crate::api::objects::{GceKind, GceObject};
use crate::api::writes::{GceVerb, GceWrite};
use crate::machine::MachinePlace;

/// Instances that one call of a target pool's verb takes.
const INSTANCES: usize = 1_000;

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GceStep {
    /// Everything is as wanted, and reached at this address.
    Ready(String),
    /// These writes, side by side.
    Write(Vec<GceWrite>),
    /// Everything has to be read before anything is made again.
    Open(&'static str),
    /// Everything is as wanted. What Services share, and this one needs no more, is deleted if nothing uses it.
    Try(Vec<GceObject>),
    /// Another controller serves the Service.
    Elsewhere,
}

/// A step, as far as it is planned.
struct GcePlan<'a> {
    goal: &'a GceGoal,
    live: &'a GceLive,
    labels: &'a Value,
    is_open: bool,
    writes: Vec<GceWrite>,
}

/// The next step.
///
/// # Errors
///
/// `invalid` for what is another's, and for an address that the Service cannot have.
pub(super) fn plan(goal: &GceGoal, live: &GceLive, memo: &GceMemo, labels: &Value) -> Result<GceStep> {
    let rule = live.get(&goal.rule());
    let is_new_kind = |it: &&Value| it["loadBalancingScheme"] != "INTERNAL" && word(it, "backendService").is_some();
    if rule.filter(is_new_kind).is_some() {
        return Ok(GceStep::Elsewhere);
    }
    for object in own(&goal.names) {
        if let Some(why) = live.get(&object).and_then(|it| goal.names.not_ours(&object, it)) {
            return Err(Error::invalid(why));
        }
    }
    check_requested(goal, live)?;
    let is_open = memo.stage.is_open();
    let mut plan = GcePlan { goal, live, labels, is_open, writes: Vec::new() };
    plan.check();
    if goal.is_internal {
        plan.groups();
    }
    let remade = rule.is_some_and(|it| plan.has_to_go(it));
    let kept = rule.filter(|_| !remade);
    if remade && !is_open {
        return Ok(GceStep::Open("its forwarding rule has to be made again"));
    }
    let letters = goal.letters();
    if !is_open && memo.letters != letters {
        return Ok(GceStep::Open("it is about to be made of other parts"));
    }
    match (rule, kept) {
        (_, Some(rule)) => plan.keep(rule),
        (Some(rule), None) => plan.remove(rule),
        (None, None) => plan.make(),
    }
    let Some(ip) = kept.and_then(|it| word(it, "IPAddress")).filter(|_| plan.writes.is_empty()) else {
        return Ok(match (plan.writes.is_empty(), kept) {
            (false, _) => GceStep::Write(plan.writes),
            (true, Some(_)) => GceStep::Write(Vec::new()),
            (true, None) => return Err(Error::unavailable("the load balancer's parts cannot be made yet")),
        });
    };
    plan.clean(memo);
    let unwanted = unwanted_letters(goal, memo);
    let unused = tried(&goal.names, live, &unwanted);
    let has_to_try = match memo.stage {
        GceStage::Open => !unwanted.is_empty(),
        // A check whose deletion was accepted is shown, or was made again.
        GceStage::Tried => !unused.is_empty(),
        GceStage::New | GceStage::Making | GceStage::Settled => false,
    };
    Ok(match plan.writes.is_empty() {
        false => GceStep::Write(plan.writes),
        true if has_to_try => GceStep::Try(unused),
        true => GceStep::Ready(ip),
    })
}

/// The shared objects of these letters, as far as it is there: backend services first, since they name the others. Instance
/// groups are looked for by name.
pub(super) fn tried(names: &GceNames, live: &GceLive, letters: &str) -> Vec<GceObject> {
    let mut backends = shared_backends(names, letters);
    backends.retain(|it| live.has(it));
    if !backends.is_empty() {
        return backends;
    }
    let checks = CHECKS.into_iter().filter(|(_, letter)| letters.contains(*letter));
    checks.map(|(kind, _)| names.shared_check(kind)).filter(|it| live.has(it)).collect()
}

/// The letters of the shared health checks among these objects.
pub(super) fn check_letters(names: &GceNames, objects: &[GceObject]) -> String {
    let checks = CHECKS.into_iter().filter(|(kind, _)| objects.contains(&names.shared_check(*kind)));
    checks.map(|(_, letter)| letter).collect()
}

/// The memo of a try that found a use: checks of these letters that are still there stay.
pub(super) fn without_used(memo: GceMemo, names: &GceNames, live: &GceLive, letters: &str) -> GceMemo {
    match memo.stage {
        GceStage::Tried => memo.without(&check_letters(names, &tried(names, live, letters))),
        _ => memo,
    }
}

/// Whether these are backend services that Services share.
pub(super) fn are_backends(unused: &[GceObject]) -> bool {
    unused.iter().any(|it| it.kind == GceKind::BackendServices)
}

/// Firewalls of shared health checks that are gone, of those with these letters.
pub(super) fn idle_firewalls(names: &GceNames, live: &GceLive, letters: &str) -> Vec<GceObject> {
    let gone =
        CHECKS.into_iter().filter(|(kind, letter)| letters.contains(*letter) && !live.has(&names.shared_check(*kind)));
    gone.map(|(kind, _)| names.check_firewall(kind, true)).filter(|it| live.has(it)).collect()
}

/// Refuses an address that the Service asks for and cannot have.
fn check_requested(goal: &GceGoal, live: &GceLive) -> Result<()> {
    let (Some(ip), Some(found)) = (&goal.ip, &live.requested) else { return Ok(()) };
    let Some(address) = found.first() else {
        return match goal.is_internal {
            true => Ok(()),
            false => Err(Error::invalid(format_args!(
                "requested ip {ip:?} is neither static nor assigned to the LB: reserve it in the region, or leave \
                 spec.loadBalancerIP out"
            ))),
        };
    };
    let name = text(address, "name");
    let tier = text(address, "networkTier");
    if !goal.is_internal && !tier.is_empty() && tier != goal.tier() {
        return Err(Error::invalid(format_args!(
            "requested ip {ip:?} is address {name} of tier {tier}, and the Service asks for tier {}",
            goal.tier()
        )));
    }
    let rule = goal.rule().reference(&goal.settings.project);
    let mut uses = items(address, "users").iter().filter_map(Value::as_str).map(from_project);
    let other = uses.find(|it| *it != rule);
    let label = word(&address["labels"], SERVICE_LABEL).filter(|_| name != goal.names.balancer);
    let owner = owner_in(address).filter(|it| *it != goal.names.service);
    match other.or(owner).or(label) {
        Some(other) => Err(Error::invalid(format_args!(
            "requested ip {ip:?} is address {name}, which {other} has: choose another"
        ))),
        None => Ok(()),
    }
}

impl GcePlan<'_> {
    fn write(&mut self, object: GceObject, verb: GceVerb, body: Value) {
        self.writes.push(GceWrite::new(object, verb, body));
    }

    fn delete(&mut self, object: GceObject) {
        self.writes.push(GceWrite::delete(object));
    }

    /// The health check; and the firewall beside it, if it needs no address.
    fn check(&mut self) {
        let object = self.goal.check();
        if self.live.unread.contains(&object) {
            return;
        }
        let shown = self.live.get(&object);
        let body = bodies::check(self.goal, shown);
        match shown {
            None => self.write(object, GceVerb::Insert, body),
            Some(shown) if differs(&body, shown) => self.write(object, GceVerb::Put, body),
            Some(_) => {}
        }
        if self.goal.is_internal || !self.goal.is_local {
            self.firewall(self.goal.check_firewall(), bodies::check_firewall(self.goal, None));
        }
    }

    fn firewall(&mut self, object: GceObject, body: Value) {
        match self.live.get(&object) {
            _ if self.live.forbidden.contains(&object) => {}
            None => self.write(object, GceVerb::Insert, body),
            Some(shown) if differs(&body, shown) => self.write(object, GceVerb::Patch, body),
            Some(_) => {}
        }
    }

    /// The cluster's instance group in each zone, with all nodes of the zone and no others.
    fn groups(&mut self) {
        // The backend service that names the groups was made after them.
        if self.live.unread.contains(&self.goal.check()) {
            return;
        }
        let name = self.goal.names.group();
        for zone in self.goal.zones() {
            if self.live.members.get(&zone).is_none() {
                self.write(GceObject::group(&zone, &name), GceVerb::Insert, json!({ "name": name }));
            }
        }
        for (zone, members) in &self.live.members {
            let group = GceObject::group(zone, &name);
            let here: Vec<_> = self.goal.nodes.iter().filter(|it| it.zone == *zone).collect();
            let missing: Vec<_> = here.iter().copied().filter(|it| !members.contains(it)).collect();
            let former: Vec<_> = members.iter().filter(|it| !here.contains(it)).collect();
            for part in missing.chunks(INSTANCES) {
                let body = bodies::instances(self.goal, part.iter().copied());
                self.write(group.clone(), GceVerb::Call("addInstances"), body);
            }
            for part in former.chunks(INSTANCES) {
                let body = bodies::instances(self.goal, part.iter().copied());
                self.write(group.clone(), GceVerb::Call("removeInstances"), body);
            }
        }
    }

    /// Whether the rule has to be made again: most of it, and of what it leads to, cannot be changed.
    fn has_to_go(&self, rule: &Value) -> bool {
        let asks_for_other = self.goal.ip.as_ref().is_some_and(|it| rule["IPAddress"] != **it);
        let is_external = rule["loadBalancingScheme"] != "INTERNAL";
        asks_for_other
            || is_external == self.goal.is_internal
            || bodies::rule_differs(self.goal, rule)
            || self.target_has_to_go()
    }

    /// Whether the target pool or the Service's backend service has to be made again, or may change only without a rule.
    fn target_has_to_go(&self) -> bool {
        let Some(target) = self.live.get(&self.goal.target()) else { return false };
        match self.goal.is_internal {
            false => text(target, "sessionAffinity") != self.goal.affinity(),
            true => text(target, "protocol") != self.goal.protocol(),
        }
    }

    /// Whether the rule's address can stay with the Service.
    fn keeps_address(&self, rule: &Value) -> bool {
        let is_internal = rule["loadBalancingScheme"] == "INTERNAL";
        let is_same_tier = self.goal.is_internal || text(rule, "networkTier") == self.goal.tier();
        let is_wanted = self.goal.ip.as_ref().is_none_or(|it| rule["IPAddress"] == **it);
        let subnet = self.goal.subnet.as_ref();
        let is_same_subnet = subnet.is_none_or(|it| from_project(&text(rule, "subnetwork")) == *it);
        let is_same_place = !self.goal.is_internal || is_same_subnet;
        is_internal == self.goal.is_internal && is_same_tier && is_wanted && is_same_place
    }

    /// The rule goes, and before it its address is held.
    fn remove(&mut self, rule: &Value) {
        let object = self.goal.address();
        let held = self.live.get(&object);
        match word(rule, "IPAddress").filter(|_| self.keeps_address(rule)) {
            Some(ip) if self.live.holding.is_empty() => match held {
                Some(_) => self.delete(object),
                None => {
                    let body = bodies::address(self.goal, &ip, &bodies::labels_beside(rule, self.labels));
                    self.write(object, GceVerb::Insert, body);
                }
            },
            _ => self.delete(self.goal.rule()),
        }
    }

    /// There is no rule: what it leads to is made, and then the rule.
    fn make(&mut self) {
        let object = self.goal.target();
        let held = self.live.get(&self.goal.address());
        if held.is_some_and(|it| !self.can_use(it)) {
            self.delete(self.goal.address());
        }
        let other = if self.goal.is_internal { GceKind::TargetPools } else { GceKind::BackendServices };
        let other = self.goal.names.own(other);
        if self.live.has(&other) {
            self.delete(other);
        }
        match self.live.get(&object) {
            Some(_) if self.target_has_to_go() && !self.goal.is_internal => self.delete(object),
            Some(target) => {
                let before = self.writes.len();
                self.follow(target);
                let is_ready = self.writes[before..].iter().all(|it| it.object != object);
                if is_ready {
                    self.make_rule(held);
                }
            }
            None => self.make_target(object),
        }
    }

    /// A target pool or backend service, once there is all that it names.
    fn make_target(&mut self, object: GceObject) {
        if !self.live.has(&self.goal.check()) {
            return;
        }
        if !self.goal.is_internal {
            return self.write(object, GceVerb::Insert, bodies::pool(self.goal));
        }
        if self.goal.zones().iter().all(|it| self.live.members.get(it).is_some()) {
            self.write(object, GceVerb::Insert, bodies::backend(self.goal));
        }
    }

    /// The rule, with the address that the Service asks for or that is held.
    fn make_rule(&mut self, held: Option<&Value>) {
        let labels = held.map_or_else(|| self.labels.clone(), |it| bodies::labels_beside(it, self.labels));
        let held = held.filter(|it| self.can_use(it)).and_then(|it| word(it, "address"));
        let ip = self.goal.ip.clone().or(held);
        let body = bodies::rule(self.goal, ip.as_deref(), &labels);
        self.write(self.goal.rule(), GceVerb::Insert, body);
    }

    /// Whether the address that is held can be the new rule's.
    fn can_use(&self, address: &Value) -> bool {
        let is_internal = text(address, "addressType") == "INTERNAL";
        let subnet = self.goal.subnet.as_ref();
        let is_here = match self.goal.is_internal {
            true => subnet.is_none_or(|it| from_project(&text(address, "subnetwork")) == *it),
            false => text(address, "networkTier") == self.goal.tier(),
        };
        let is_wanted = self.goal.ip.as_ref().is_none_or(|it| address["address"] == **it);
        is_internal == self.goal.is_internal && is_here && is_wanted
    }

    /// The rule stays: what it leads to follows the nodes, and firewalls follow its address.
    fn keep(&mut self, rule: &Value) {
        let (goal, live) = (self.goal, self.live);
        if goal.is_internal && (rule["allowGlobalAccess"] == true) != goal.has_global_access {
            self.write(goal.rule(), GceVerb::Patch, json!({ "allowGlobalAccess": goal.has_global_access }));
        }
        match live.get(&goal.target()) {
            _ if live.unread.contains(&goal.target()) => {}
            Some(target) => self.follow(target),
            None => self.make_target(goal.target()),
        }
        let Some(ip) = word(rule, "IPAddress") else { return };
        self.firewall(goal.names.firewall(), bodies::firewall(goal, &ip));
        if goal.has_deny_firewall() {
            self.firewall(goal.names.deny_firewall(), bodies::deny_firewall(goal, &ip));
        }
        if !goal.is_internal && goal.is_local {
            self.firewall(goal.check_firewall(), bodies::check_firewall(goal, Some(&ip)));
        }
        if live.has(&goal.address()) {
            self.delete(goal.address());
        }
    }

    /// The target pool's instances and check, or the backend service's groups, check and affinity.
    fn follow(&mut self, target: &Value) {
        if self.goal.is_internal { self.follow_backend(target) } else { self.follow_pool(target) }
    }

    fn follow_backend(&mut self, shown: &Value) {
        let wanted = bodies::backend(self.goal);
        let can_be_named =
            self.live.has(&self.goal.check()) && self.goal.zones().iter().all(|it| self.live.members.get(it).is_some());
        if !can_be_named || !differs(&wanted, shown) {
            return;
        }
        // Fields that people have set beside it stay.
        let mut body = shown.clone();
        for (field, value) in wanted.as_object().into_iter().flatten() {
            body[&**field] = value.clone();
        }
        if let Some(fields) = body.as_object_mut() {
            for output in ["kind", "id", "creationTimestamp", "selfLink", "region"] {
                fields.remove(output);
            }
        }
        self.write(self.goal.target(), GceVerb::Put, body);
    }

    fn follow_pool(&mut self, shown: &Value) {
        let (goal, pool) = (self.goal, self.goal.target());
        let instances = items(shown, "instances").iter().filter_map(Value::as_str);
        let instances: Vec<MachinePlace> = instances.filter_map(MachinePlace::of_url).collect();
        let missing: Vec<_> = goal.nodes.iter().filter(|it| !instances.contains(it)).collect();
        let former: Vec<_> = instances.iter().filter(|it| !goal.nodes.contains(it)).collect();
        for part in missing.chunks(INSTANCES) {
            let body = bodies::instances(goal, part.iter().copied());
            self.write(pool.clone(), GceVerb::Call("addInstance"), body);
        }
        for part in former.chunks(INSTANCES) {
            let body = bodies::instances(goal, part.iter().copied());
            self.write(pool.clone(), GceVerb::Call("removeInstance"), body);
        }
        let wanted = goal.check().reference(&goal.settings.project);
        let checks: Vec<String> =
            items(shown, "healthChecks").iter().filter_map(Value::as_str).map(from_project).collect();
        let others: Vec<Value> =
            checks.iter().filter(|it| **it != wanted).map(|it| json!({ "healthCheck": it })).collect();
        // A pool has one check: the old one goes first.
        if !others.is_empty() {
            self.write(pool, GceVerb::Call("removeHealthCheck"), json!({ "healthChecks": others }));
        } else if checks.is_empty() && self.live.has(&goal.check()) {
            let body = json!({ "healthChecks": [{ "healthCheck": wanted }] });
            self.write(pool, GceVerb::Call("addHealthCheck"), body);
        }
    }

    /// Everything is as wanted: the Service's other objects go, first what names others.
    fn clean(&mut self, memo: &GceMemo) {
        if !self.is_open {
            return;
        }
        let goal = self.goal;
        let mut wanted = vec![goal.rule(), goal.target(), goal.check(), goal.check_firewall(), goal.names.firewall()];
        wanted.extend(goal.has_deny_firewall().then(|| goal.names.deny_firewall()));
        let left: Vec<_> =
            own(&goal.names).into_iter().filter(|it| self.live.has(it) && !wanted.contains(it)).collect();
        let names_others = |it: &GceObject| matches!(it.kind, GceKind::TargetPools | GceKind::BackendServices);
        match left.iter().any(names_others) {
            true => left.into_iter().filter(names_others).for_each(|it| self.delete(it)),
            false => left.into_iter().for_each(|it| self.delete(it)),
        }
        if memo.stage == GceStage::Tried {
            let idle = idle_firewalls(&goal.names, self.live, &unwanted_letters(goal, memo));
            idle.into_iter().for_each(|it| self.delete(it));
        }
    }
}

/// Instances beyond those with which a target pool is made are added by the next step.
const _: () = assert!(FIRST_INSTANCES <= INSTANCES);
