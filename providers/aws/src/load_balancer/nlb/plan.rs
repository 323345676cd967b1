//! The steps from what AWS shows to what a Service asks for. Pure.
//!
//! A target group that is missing is made and filled before a listener sends to it, and what is no longer wanted goes last:
//! traffic
//! has a target group at every moment.

use aerostat_sdk::{Error, Result, SortedMap, SortedSet};

use super::desired::{CROSS_ZONE_ENABLED, DesiredGroup, DesiredListener, DesiredNlb, LOGS_ENABLED};
use super::live::{self, Live};
use crate::api::elbv2::Attributes;
use crate::api::elbv2::listeners::Listener as LiveListener;
use crate::api::elbv2::tags::BATCH as TAG_BATCH;
use crate::api::elbv2::target_groups::{BATCH, ChecksChange, TargetGroup, TargetHealth};
use crate::load_balancer::marks::{Marks, Ownership};
use crate::tags::{KEPT, Tags};

/// An instance and its port.
pub(super) type NlbTarget = (String, u16);

/// A target group: one that is there, by its ARN, or one that an earlier step makes, by its name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum TargetGroupRef {
    There(String),
    Made(String),
}

/// One request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NlbStep {
    Tag { arns: Vec<String>, tags: Tags },
    Attributes(Attributes),
    CreateGroup(DesiredGroup),
    ModifyGroup { arn: String, change: ChecksChange },
    GroupAttributes { to: TargetGroupRef, attributes: Attributes },
    Register { to: TargetGroupRef, targets: Vec<NlbTarget> },
    Deregister { arn: String, targets: Vec<NlbTarget> },
    CreateListener { listener: DesiredListener, to: TargetGroupRef },
    ModifyListener { arn: String, change: ListenerChange },
    DeleteListener { arn: String, port: u16 },
    DeleteGroup { arn: String, name: String },
}

/// A change of a listener. A field that is `None` stays.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ListenerChange {
    pub(super) protocol: Option<&'static str>,
    pub(super) policy: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) to: Option<TargetGroupRef>,
}

impl NlbStep {
    /// Whether it takes something away: the host limits how many of these one call may send.
    pub(super) fn removes(&self) -> bool {
        matches!(self, Self::Deregister { .. } | Self::DeleteListener { .. } | Self::DeleteGroup { .. })
    }
}

/// The targets and attributes of a target group that is used.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Used {
    pub(super) targets: SortedSet<NlbTarget>,
    /// Read only if the Service asks for attributes.
    pub(super) attributes: Attributes,
}

/// The target group that there is for a listener: the one that it sends to, or the one with the desired name. `None`,
/// if it has to be made.
///
/// # Errors
///
/// If another's has the name, or one with other properties.
pub(super) fn group<'a>(desired: &DesiredListener, live: &'a Live) -> Result<Option<&'a TargetGroup>> {
    let of_listener = listener(desired, live).and_then(|it| it.target_group.as_deref());
    let is_near = |it: &TargetGroup| it.vpc == live.balancer.vpc;
    let fits = |it: &&live::LiveGroup| it.is_usable() && is_near(&it.shown) && is_same_kind(&it.shown, &desired.group);
    if let Some(arn) = of_listener
        && let Some(found) = live.groups.iter().filter(fits).find(|it| it.shown.arn == arn)
    {
        return Ok(Some(&found.shown));
    }
    let name = &desired.group.name;
    let Some(named) = live.groups.iter().find(|it| it.shown.name == *name) else { return Ok(None) };
    if fits(&named) {
        return Ok(Some(&named.shown));
    }
    let why = match &named.ownership {
        Ownership::Other(why) => why,
        Ownership::Nobody => "nothing says whose it is",
        Ownership::Marked | Ownership::ByName if named.is_elsewhere() => "another load balancer sends to it",
        Ownership::Marked | Ownership::ByName => "it has other properties than its name says",
    };
    // One of an earlier Service of this name is deleted with that Service.
    Err(Error::unavailable(format_args!("target group {name} exists already, and is not touched: {why}")))
}

/// All steps, in their order.
///
/// # Errors
///
/// As [`group`].
pub(super) fn steps(
    desired: &DesiredNlb,
    live: &Live,
    used: &SortedMap<String, Used>,
    instances: &SortedSet<String>,
    marks: &Marks,
) -> Result<Vec<NlbStep>> {
    let (mut targets, mut steps, mut kept) = (Vec::new(), Vec::new(), SortedSet::new());
    for wanted in &desired.listeners {
        let there = group(wanted, live)?;
        let known = there.and_then(|it| used.get(&it.arn)).cloned().unwrap_or_default();
        if let Some(it) = there {
            kept.insert(it.arn.as_str());
            targets.extend(target_steps(&it.arn, &known.targets, instances, wanted.group.port));
        }
        steps.extend(group_steps(&wanted.group, there, &known, &desired.group_attributes, instances));
        let to = there.map_or_else(
            || TargetGroupRef::Made(wanted.group.name.clone()),
            |it| TargetGroupRef::There(it.arn.clone()),
        );
        steps.extend(listener_step(wanted, listener(wanted, live), to));
    }
    let is_wanted = |it: &&LiveListener| desired.listeners.iter().any(|wanted| wanted.port == it.port);
    let unwanted = live.listeners.iter().filter(|it| !is_wanted(it));
    steps.extend(unwanted.map(|it| NlbStep::DeleteListener { arn: it.arn.clone(), port: it.port }));
    let is_left_over = |it: &&live::LiveGroup| is_deletable(it) && !kept.contains(&*it.shown.arn);
    let left_over = live.groups.iter().filter(is_left_over);
    let delete = |it: &live::LiveGroup| NlbStep::DeleteGroup { arn: it.shown.arn.clone(), name: it.shown.name.clone() };
    steps.extend(left_over.map(delete));
    let attributes = changed_attributes(&desired.attributes, &live.attributes);
    if !attributes.is_empty() {
        steps.push(NlbStep::Attributes(attributes));
    }
    // Whatever is refused of the rest, targets follow the nodes.
    let tags = tag_steps(live, marks, !targets.is_empty() || !steps.is_empty());
    Ok(targets.into_iter().chain(tags).chain(steps).collect())
}

/// The steps by which the targets of a group follow the nodes: what is missing is registered before anything goes.
pub(super) fn target_steps(
    arn: &str,
    live: &SortedSet<NlbTarget>,
    instances: &SortedSet<String>,
    port: u16,
) -> impl Iterator<Item = NlbStep> {
    let wanted = targets(instances, port);
    let to = TargetGroupRef::There(arn.to_owned());
    let register = move |targets: Vec<NlbTarget>| NlbStep::Register { to: to.clone(), targets };
    let arn = arn.to_owned();
    let deregister = move |targets: Vec<NlbTarget>| NlbStep::Deregister { arn: arn.clone(), targets };
    let missing = batches(wanted.difference(live)).into_iter().map(register);
    missing.chain(batches(live.difference(&wanted)).into_iter().map(deregister))
}

fn targets(instances: &SortedSet<String>, port: u16) -> SortedSet<NlbTarget> {
    instances.iter().map(|it| (it.clone(), port)).collect()
}

/// As many in each as one request takes.
fn batches<'a>(targets: impl Iterator<Item = &'a NlbTarget>) -> Vec<Vec<NlbTarget>> {
    targets.cloned().collect::<Vec<_>>().chunks(BATCH).map(<[_]>::to_vec).collect()
}

/// Whether a group that is not used may be deleted while the Service lives: what only the vendor's tags mark, and no
/// load balancer sends to, may have been kept by somebody.
fn is_deletable(it: &live::LiveGroup) -> bool {
    match it.ownership {
        Ownership::Marked => !it.is_elsewhere(),
        Ownership::ByName => it.is_attached,
        Ownership::Other(_) | Ownership::Nobody => false,
    }
}

/// Tags that are missing, each set of them for all that lack it. What the vendor's controller made gets them with the
/// next write that is needed anyway, and one is needed where it was kept.
fn tag_steps(live: &Live, marks: &Marks, writes: bool) -> Vec<NlbStep> {
    let mut lacking: SortedMap<Tags, Vec<String>> = SortedMap::new();
    let balancer = (&live.balancer.arn, &live.ownership);
    let groups = live.groups.iter().filter(|it| it.is_usable()).map(|it| (&it.shown.arn, &it.ownership));
    for (arn, ownership) in [balancer].into_iter().chain(groups) {
        let tags = marks.missing(live.tags_of(arn));
        if !tags.is_empty() && (writes || *ownership != Ownership::ByName || tags.contains_key(KEPT)) {
            lacking.get_or_default(tags).push(arn.clone());
        }
    }
    let batches = |(tags, arns): (Tags, Vec<String>)| -> Vec<NlbStep> {
        arns.chunks(TAG_BATCH).map(|arns| NlbStep::Tag { arns: arns.to_vec(), tags: tags.clone() }).collect()
    };
    lacking.into_iter().flat_map(batches).collect()
}

/// The listener that there is for a port. A Service has each port once, since all have one protocol.
fn listener<'a>(desired: &DesiredListener, live: &'a Live) -> Option<&'a LiveListener> {
    live.listeners.iter().find(|it| it.port == desired.port)
}

/// Whether a target group is what cannot be changed of it.
fn is_same_kind(live: &TargetGroup, desired: &DesiredGroup) -> bool {
    live.protocol == desired.protocol
        && live.port == desired.port
        && live.target_type == "instance"
        && (live.address_type == "ipv6") == desired.is_ipv6
        && live.health.protocol.eq_ignore_ascii_case(&desired.health.protocol)
        && live.health.interval == desired.health.interval
}

fn group_steps(
    desired: &DesiredGroup,
    there: Option<&TargetGroup>,
    known: &Used,
    attributes: &Attributes,
    instances: &SortedSet<String>,
) -> Vec<NlbStep> {
    let to =
        there.map_or_else(|| TargetGroupRef::Made(desired.name.clone()), |it| TargetGroupRef::There(it.arn.clone()));
    let mut steps = Vec::new();
    match there {
        None => steps.push(NlbStep::CreateGroup(desired.clone())),
        Some(it) => {
            let change = health_change(&it.health, &desired.health);
            if change != ChecksChange::default() {
                steps.push(NlbStep::ModifyGroup { arn: it.arn.clone(), change });
            }
        }
    }
    let attributes = changed_attributes(attributes, &known.attributes);
    if !attributes.is_empty() {
        steps.push(NlbStep::GroupAttributes { to: to.clone(), attributes });
    }
    if there.is_none() {
        let all = targets(instances, desired.port);
        steps.extend(batches(all.iter()).into_iter().map(|targets| NlbStep::Register { to: to.clone(), targets }));
    }
    steps
}

fn health_change(live: &TargetHealth, desired: &TargetHealth) -> ChecksChange {
    let different = |live: &String, desired: &String| (live != desired).then(|| desired.clone());
    let thresholds = (live.healthy, live.unhealthy) != (desired.healthy, desired.unhealthy);
    ChecksChange {
        port: different(&live.port, &desired.port),
        path: desired.path.as_ref().filter(|it| live.path.as_ref() != Some(it)).cloned(),
        timeout: desired.timeout.filter(|it| live.timeout != Some(*it)),
        healthy: thresholds.then_some(desired.healthy),
        unhealthy: thresholds.then_some(desired.unhealthy),
    }
}

/// The attributes of `desired` that differ. One that AWS does not show is off, or empty.
fn changed_attributes(desired: &Attributes, live: &Attributes) -> Attributes {
    let is_same = |key: &str, value: &str| match live.get(key) {
        Some(it) => it == value,
        None => value.is_empty() || (value == "false" && [CROSS_ZONE_ENABLED, LOGS_ENABLED].contains(&key)),
    };
    let differing = desired.iter().filter(|(key, value)| !is_same(key, value));
    differing.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn listener_step(desired: &DesiredListener, there: Option<&LiveListener>, to: TargetGroupRef) -> Option<NlbStep> {
    let Some(live) = there else { return Some(NlbStep::CreateListener { listener: desired.clone(), to }) };
    let is_other = live.protocol != desired.protocol;
    let certificate = desired.certificate.as_ref();
    let change = ListenerChange {
        protocol: is_other.then_some(desired.protocol),
        policy: desired.policy.as_ref().filter(|it| is_other || live.policy.as_ref() != Some(it)).cloned(),
        certificate: certificate.filter(|it| is_other || live.certificates.first() != Some(it)).cloned(),
        to: (!is_to(live, &to)).then_some(to),
    };
    (change != ListenerChange::default()).then(|| NlbStep::ModifyListener { arn: live.arn.clone(), change })
}

fn is_to(live: &LiveListener, to: &TargetGroupRef) -> bool {
    matches!((&live.target_group, to), (Some(live), TargetGroupRef::There(arn)) if live == arn)
}

#[cfg(test)]
mod tests;
