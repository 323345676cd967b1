//! The objects of a Service as they are in the cloud.

use aerostat_sdk::{Error, Result, SortedMap, SortedSet};
use serde_json::Value;

use super::goal::{GceGoal, shared_backends};
use super::memo::{GceMemo, GceStage};
use super::names::GceNames;
use super::round::GceRound;
use crate::api::fields::{items, text, word};
use crate::api::objects::{self, GceKind, GceObject};
use crate::machine::MachinePlace;
use crate::settings::ProjectSettings;

/// The two kinds of health checks, each with the letter of the one that Services share.
pub(super) const CHECKS: [(GceKind, char); 2] = [(GceKind::HttpHealthChecks, 'x'), (GceKind::HealthChecks, 'y')];

/// The objects that were read.
#[derive(Clone, Debug, Default)]
pub(super) struct GceLive {
    pub(super) objects: SortedMap<GceObject, Value>,
    /// The instances in the cluster's group of each zone that has one.
    pub(super) members: SortedMap<String, Vec<MachinePlace>>,
    /// Wanted objects that were not read: others say that they are as they should be, or they are read by a later step.
    pub(super) unread: SortedSet<GceObject>,
    /// Firewalls of a network's project that the credential may not read or write.
    pub(super) forbidden: SortedSet<GceObject>,
    /// Addresses with the number that the rule has.
    pub(super) holding: Vec<Value>,
    /// Addresses with the number that the Service asks for; `None` where the rule has it.
    pub(super) requested: Option<Vec<Value>>,
}

impl GceLive {
    /// Everything that there may be, and what is wanted.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn read(goal: &GceGoal, memo: &GceMemo, round: &GceRound) -> Result<Self> {
        let settings = &goal.settings.project;
        let mut live = Self::default();
        if memo.stage == GceStage::Making && live.read_part(goal, round)? {
            live.read_requested(goal)?;
            return Ok(live);
        }
        let mut wanted = wanted(goal);
        if memo.stage.is_open() {
            wanted.extend(own(&goal.names));
            wanted.extend(shared(&goal.names, &unwanted_letters(goal, memo)));
        }
        // Before anything is cleaned up, what is not there has to be gone.
        live.read_all(settings, wanted, |object| match memo.stage.is_open() {
            true => round.find(settings, object),
            false => round.find_listed(settings, object),
        })?;
        live.read_members(goal, round)?;
        if let Some(ip) = live.ip(goal).filter(|_| memo.stage.is_open()) {
            live.holding = objects::addresses(settings, &ip)?;
        }
        live.read_requested(goal)?;
        Ok(live)
    }

    /// Objects that the next step of a making needs, and whether that is a part alone: before there is a rule, its target, and what that names
    /// only as long as there is none; beside a rule, the firewalls for its address, until they are there.
    fn read_part(&mut self, goal: &GceGoal, round: &GceRound) -> Result<bool> {
        let settings = &goal.settings.project;
        let find = |it: &GceObject| round.find_listed(settings, it);
        self.read_all(settings, [goal.rule()], find)?;
        if !self.has(&goal.rule()) {
            self.read_all(settings, [goal.target()], find)?;
            if self.has(&goal.target()) {
                self.unread.insert(goal.check());
                self.unread.insert(goal.check_firewall());
            } else {
                self.read_all(settings, [goal.check(), goal.check_firewall()], find)?;
                self.read_members(goal, round)?;
            }
            return Ok(true);
        }
        let firewalls = address_firewalls(goal);
        self.read_all(settings, firewalls.clone(), find)?;
        let is_part = firewalls.iter().any(|it| !self.has(it) && !self.forbidden.contains(it));
        if is_part {
            let others = wanted(goal).into_iter().filter(|it| *it != goal.rule() && !firewalls.contains(it));
            self.unread.extend(others);
        }
        Ok(is_part)
    }

    fn read_members(&mut self, goal: &GceGoal, round: &GceRound) -> Result<()> {
        let zones: SortedSet<String> = if goal.is_internal { self.zones(goal) } else { SortedSet::default() };
        for zone in zones.iter() {
            let group = GceObject::group(zone, &goal.names.group());
            if let Some(members) = round.members(&goal.settings.project, &group)? {
                self.members.insert(zone.clone(), members);
            }
        }
        Ok(())
    }

    fn read_requested(&mut self, goal: &GceGoal) -> Result<()> {
        let shown = self.ip(goal);
        if let Some(ip) = goal.ip.as_ref().filter(|it| shown.as_ref() != Some(it)) {
            self.requested = Some(objects::addresses(&goal.settings.project, ip)?);
        }
        Ok(())
    }

    /// All that is a Service's own, to be deleted.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn read_unwanted(
        names: &GceNames,
        settings: &ProjectSettings,
        memo: &GceMemo,
        round: &GceRound,
    ) -> Result<Self> {
        let mut live = Self::default();
        live.read_all(settings, own_of(names, memo), |it| round.find(settings, it))?;
        Ok(live)
    }

    /// The objects of these letters that Services share, and the firewalls beside them.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(super) fn read_shared(
        &mut self,
        names: &GceNames,
        settings: &ProjectSettings,
        letters: &str,
        round: &GceRound,
    ) -> Result<()> {
        self.read_all(settings, shared(names, letters), |it| round.find(settings, it))
    }

    fn read_all(
        &mut self,
        settings: &ProjectSettings,
        wanted: impl IntoIterator<Item = GceObject>,
        find: impl Fn(&GceObject) -> Result<Option<Value>>,
    ) -> Result<()> {
        let wanted: SortedSet<GceObject> = wanted.into_iter().collect();
        for object in wanted {
            // Some were read before.
            if self.has(&object) || self.forbidden.contains(&object) {
                continue;
            }
            match find(&object) {
                Ok(Some(shown)) => _ = self.objects.insert(object, shown),
                Ok(None) => {}
                Err(Error::Denied(_)) if is_of_other_project(&object, settings) => _ = self.forbidden.insert(object),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, object: &GceObject) -> Option<&Value> {
        self.objects.get(object)
    }

    pub(super) fn has(&self, object: &GceObject) -> bool {
        self.objects.get(object).is_some()
    }

    /// The address of the rule.
    pub(super) fn ip(&self, goal: &GceGoal) -> Option<String> {
        word(self.get(&goal.rule())?, "IPAddress")
    }

    /// Zones with nodes, and those that the backend service has.
    fn zones(&self, goal: &GceGoal) -> SortedSet<String> {
        let backends = self.get(&goal.target()).map(|it| items(it, "backends")).unwrap_or_default();
        let group = |backend: &Value| {
            let reference = text(backend, "group");
            let zone = reference.rsplit('/').nth(2)?.to_owned();
            reference.ends_with(&*goal.names.group()).then_some(zone)
        };
        backends.iter().filter_map(group).chain(goal.zones()).collect()
    }
}

/// Whether it is a firewall of a network that has a project of its own.
pub(super) fn is_of_other_project(object: &GceObject, settings: &ProjectSettings) -> bool {
    object.kind == GceKind::Firewalls && settings.network_project != settings.project
}

/// All that the load balancer consists of, but for instance groups.
fn wanted(goal: &GceGoal) -> Vec<GceObject> {
    let mut wanted = vec![goal.rule(), goal.target(), goal.check(), goal.check_firewall()];
    wanted.extend(address_firewalls(goal));
    wanted
}

/// The firewalls that need the rule's address.
fn address_firewalls(goal: &GceGoal) -> Vec<GceObject> {
    let mut firewalls = vec![goal.names.firewall()];
    firewalls.extend(goal.has_deny_firewall().then(|| goal.names.deny_firewall()));
    firewalls.extend((!goal.is_internal && goal.is_local).then(|| goal.check_firewall()));
    firewalls
}

/// Objects with the Service's name in theirs, in the order in which they are deleted.
pub(super) fn own(names: &GceNames) -> Vec<GceObject> {
    let mut own = vec![
        names.own(GceKind::ForwardingRules),
        names.own(GceKind::Addresses),
        names.own(GceKind::TargetPools),
        names.own(GceKind::BackendServices),
        names.firewall(),
        names.deny_firewall(),
        names.former_firewall(),
    ];
    for (kind, _) in CHECKS {
        own.extend([names.own(kind), names.check_firewall(kind, false)]);
    }
    own
}

/// The Service's objects of which there may be one: those of its letters, unless there may be more than they say.
fn own_of(names: &GceNames, memo: &GceMemo) -> Vec<GceObject> {
    let has = |letter: char| memo.letters.contains(letter);
    if memo.stage.is_open() && (memo.stage != GceStage::Tried || has('e') || has('i')) {
        return own(names);
    }
    let mut own = vec![names.own(GceKind::ForwardingRules)];
    let targets = [('e', GceKind::TargetPools), ('i', GceKind::BackendServices)];
    for ((kind, _), (letter, target)) in CHECKS.into_iter().zip(targets) {
        if has(letter) {
            own.extend([names.own(target), names.firewall()]);
            own.extend(has('d').then(|| names.deny_firewall()));
            own.extend(has('l').then(|| [names.own(kind), names.check_firewall(kind, false)]).into_iter().flatten());
        }
    }
    own
}

/// Objects that Services share, of those with these letters, and the firewalls beside them. Instance groups are not among them.
fn shared(names: &GceNames, letters: &str) -> Vec<GceObject> {
    let mut shared = shared_backends(names, letters);
    for (kind, letter) in CHECKS {
        if letters.contains(letter) {
            shared.extend([names.shared_check(kind), names.check_firewall(kind, true)]);
        }
    }
    shared
}

/// The letters of what Services share and this one needs no more.
pub(super) fn unwanted_letters(goal: &GceGoal, memo: &GceMemo) -> String {
    let wanted = goal.letters();
    memo.letters.chars().filter(|it| "xyg1234".contains(*it) && !wanted.contains(*it)).collect()
}
