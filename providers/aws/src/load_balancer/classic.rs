//! Classic Load Balancers: found by their names, which hold the Service's UID, so that none is made twice.

mod desired;
mod groups;
mod health;
mod steps;
mod write;

use std::time::Duration;

use aerostat_sdk::events::{self, Warnings};
use aerostat_sdk::{Change, Deletion, Error, Ingress, Progress, Result};

use self::desired::DesiredClassic;
use self::groups::AskedGroups;
use self::steps::{ClassicPlace, ClassicStep};
use super::annotations::LoadBalancerKind;
use super::call::ServiceCall;
use super::marks::Ownership;
use super::security_groups::nodes::VendorsRule;
use super::{preflight, subnets, targets};
use crate::api::ec2::security_groups::SecurityGroup;
use crate::api::elb::load_balancers::{self as api, ClassicCreation};
use crate::api::elb::model::ClassicLoadBalancer;
use crate::tags::{CLUSTER_UID, SERVICE_UID, Tags};

/// Until AWS shows what it was told to make.
const POLL: Duration = Duration::from_secs(5);
/// Until the next steps are carried out, where there are more than [`STEPS`].
const NEXT: Duration = Duration::from_secs(1);
/// The most steps of a call, which may send 100 requests: a port has up to three of its own.
const STEPS: usize = 50;
/// The most security groups of a load balancer, unless the account has another quota.
const MOST_GROUPS: usize = 5;
/// Until a security group is free of a load balancer that was deleted.
const RELEASE: Duration = Duration::from_secs(10);

/// A load balancer with the Service's name.
struct FoundClassic {
    live: ClassicLoadBalancer,
    tags: Tags,
    /// Whether it is the Service's, or why not.
    proof: Result<(), String>,
}

/// The fate of the rule by which the vendor's controller lets a load balancer with these tags into nodes. Only as long as the
/// vendor's tags stand alone there is it known whose the rule is: it goes with what is written first, and before the marks come.
/// `is_vendors` says whether the rule for the group in question can be the vendor's at all.
fn vendors_rule(call: &ServiceCall<'_>, tags: &Tags, is_written: bool, is_vendors: bool) -> VendorsRule {
    match call.marks.ownership(tags) {
        Ownership::ByName if !is_written => VendorsRule::Stays,
        Ownership::ByName if is_vendors => VendorsRule::Goes,
        _ => VendorsRule::Unknown,
    }
}

/// Takes one step towards the desired state: all of them, unless AWS does not show yet what it was told to make.
///
/// A refusal keeps nobody from following the nodes, which come and go nevertheless.
pub(super) fn ensure(call: &ServiceCall<'_>) -> Result<Progress> {
    match reconcile(call) {
        Err(refused) if refused.is_refusal() && call.is_known() => match follow_nodes(call) {
            // It may be refused for the same reason: the first refusal says it.
            Err(again) if !again.is_refusal() => Err(again),
            Ok(()) | Err(_) => Err(refused),
        },
        done => done,
    }
}

/// Changes nothing but the instances of a load balancer that is the Service's, and the way to them.
fn follow_nodes(call: &ServiceCall<'_>) -> Result<()> {
    let Some(FoundClassic { live, tags, proof: Ok(()) }) = find(call)? else { return Ok(()) };
    // An annotation that is not allowed names no group: then the way is as it was.
    if let Ok(given) = groups::given(call) {
        let own = if given.is_empty() { groups::find_own(call)? } else { None };
        let group = own.as_ref().map(|it| &it.id).or(given.first());
        if let Some(id) = group.filter(|it| live.groups.contains(*it)) {
            let checked = live.health.as_ref().and_then(health::live_port);
            groups::admit(call, id, own.is_some(), vendors_rule(call, &tags, false, false), checked)?;
        }
    }
    let nodes = &call.service.nodes;
    write::instances(&live, &targets::instances(nodes, &mut Warnings::default()), nodes)
}

fn reconcile(call: &ServiceCall<'_>) -> Result<Progress> {
    preflight::check(call, LoadBalancerKind::Classic)?;
    let mut warnings = Warnings::default();
    let (desired, asked) = (DesiredClassic::of(call, &mut warnings)?, AskedGroups::of(call)?);
    let found = find(call)?;
    if let Some(FoundClassic { proof: Err(why), .. }) = &found {
        let name = &call.service.name;
        return Err(Error::invalid(format_args!("load balancer {name} is not proven to be this Service's: {why}")));
    }
    // A scheme cannot change, and subnets have to suit it.
    let is_internal = found.as_ref().map_or(desired.is_internal, |it| it.live.is_internal);
    let has = found.as_ref().map(|it| it.live.subnets.clone()).unwrap_or_default();
    let subnets = subnets::of(call, is_internal, &has)?.into_iter().map(|it| it.id).collect();
    let own = match asked.given.is_empty() {
        false => None,
        true => match groups::ensure(call, &desired.rules)? {
            Change::Done(group) => Some(group),
            Change::Busy(why) => return Ok(Progress::pending(call.service.status(), POLL, why)),
        },
    };
    let place = ClassicPlace { subnets, groups: asked.all(own.as_ref()) };
    let found = match found {
        Some(found) => Some(found),
        None => match create(call, &desired, &place, own.as_ref())? {
            Change::Done(()) => find(call)?,
            Change::Busy(why) => return Ok(Progress::pending(call.service.status(), POLL, why)),
        },
    };
    match found {
        Some(found) => {
            let progress = update(call, &found, &desired, &place, own.as_ref(), &mut warnings)?;
            warnings.emit();
            Ok(progress)
        }
        None => {
            let status = call.service.status().memo(&*call.service.name);
            Ok(Progress::pending(
                status,
                POLL,
                format_args!("AWS does not list load balancer {} yet", call.service.name),
            ))
        }
    }
}

/// Takes one step towards its absence. Its security group goes last, and is found by its name also when the load
/// balancer is gone.
pub(super) fn delete(call: &ServiceCall<'_>) -> Result<Deletion> {
    // An annotation that is not allowed names no group.
    let given = groups::given(call).ok().and_then(|it| it.into_iter().next());
    let found = find(call)?;
    if let Some(FoundClassic { live, proof: Err(why), .. }) = &found {
        let message = format!(
            "load balancer {} is not deleted: it is not proven to be this Service's: {why}. If it is, delete it in AWS: until \
             then it costs money",
            live.name
        );
        events::warning(None, "LoadBalancerNotDeleted", &message);
        return Ok(Deletion::Done);
    }
    let own = groups::find_own(call)?;
    let mut vendors = VendorsRule::Unknown;
    if let Some(FoundClassic { live, tags, .. }) = found {
        // Once the load balancer is gone, nothing says who made the rule.
        let is_vendors = given.as_ref().is_some_and(|it| groups::is_vendors(call, &live, own.as_ref(), it));
        vendors = vendors_rule(call, &tags, true, is_vendors);
        if let (Some(group), VendorsRule::Goes) = (&given, vendors) {
            groups::refuse(call, group, vendors)?;
        }
        api::delete(&live.name)?;
    }
    // Of two that go at a time the later one sees that nobody has the group any more.
    if let Some(group) = given {
        groups::refuse(call, &group, vendors)?;
    }
    let Some(group) = own else { return Ok(Deletion::Done) };
    Ok(match groups::delete(call, &group)? {
        Change::Done(()) => Deletion::Done,
        Change::Busy(why) => Deletion::pending(call.service.status(), RELEASE, why),
    })
}

/// The load balancer with the Service's name, if there is one. The memo is the same name: it was proven before it was
/// kept.
fn find(call: &ServiceCall<'_>) -> Result<Option<FoundClassic>> {
    let name = &*call.service.name;
    // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
    let listed = if call.service.is_listed() { api::find_listed(name)? } else { None };
    let (live, tags) = match listed {
        Some(found) => found,
        None => match api::find(name)? {
            Some(live) => (live, api::tags(&[name])?.remove(name).unwrap_or_default()),
            None => return Ok(None),
        },
    };
    let proof = match call.marks.ownership(&tags) {
        Ownership::Marked | Ownership::ByName => Ok(()),
        Ownership::Nobody if call.service.memo.is_some() => Ok(()),
        Ownership::Nobody => Err("it has none of the tags that say so".to_owned()),
        Ownership::Other(why) => Err(why),
    };
    Ok(Some(FoundClassic { live, tags, proof }))
}

fn create(
    call: &ServiceCall<'_>,
    desired: &DesiredClassic,
    place: &ClassicPlace,
    own: Option<&SecurityGroup>,
) -> Result<Change<()>> {
    let name = &call.service.name;
    let creation = ClassicCreation {
        name,
        is_internal: desired.is_internal,
        listeners: &desired.listeners,
        subnets: &place.subnets,
        groups: &place.groups,
        tags: &call.marks.tags(),
    };
    match api::create(creation) {
        Err(refusal) if refusal.code == "InvalidSecurityGroup" && own.is_some() => {
            Ok(Change::Busy("its security group was made a moment ago, and cannot be used yet".to_owned()))
        }
        created => {
            if created == Ok(Change::Done(())) && call.service.memo.is_some() {
                let message = format!("load balancer {name} of this Service does not exist any more: another is built");
                events::warning(None, "LoadBalancerNotFound", &message);
            }
            Ok(created?)
        }
    }
}

/// Writes what differs, and leaves to others what is theirs.
fn update(
    call: &ServiceCall<'_>,
    FoundClassic { live, tags, .. }: &FoundClassic,
    desired: &DesiredClassic,
    place: &ClassicPlace,
    own: Option<&SecurityGroup>,
    warnings: &mut Warnings,
) -> Result<Progress> {
    let name = &call.service.name;
    let mut steps = steps::steps(live, &api::attributes(name)?, desired, place);
    let missing = call.marks.missing(tags);
    // What an earlier controller made is as good without our marks: they come with what has to be written anyway.
    let is_asked_for = missing.keys().any(|it| ![CLUSTER_UID, SERVICE_UID].contains(&&**it));
    let is_written = is_asked_for || !steps.is_empty() || live.instances != desired.instances;
    if is_written && !missing.is_empty() {
        steps.insert(0, ClassicStep::Tag(missing));
    }
    // That of its own goes, if others have been given to it.
    let left_over = match own {
        Some(_) => None,
        None => groups::find_own(call)?.filter(|it| !place.groups.contains(&it.id)),
    };
    let vendors = |group: &str| {
        let is_vendors = groups::is_vendors(call, live, own.or(left_over.as_ref()), group);
        vendors_rule(call, tags, is_written, is_vendors)
    };
    if let Some(group) = place.groups.first() {
        groups::admit(call, group, own.is_some(), vendors(group), None)?;
    }
    let is_leaving = |id: &&String| !place.groups.contains(id) && left_over.as_ref().is_none_or(|it| it.id != **id);
    part_from(call, live, place, &live.groups.iter().filter(is_leaving).collect::<Vec<_>>(), vendors)?;
    let left = steps.split_off(steps.len().min(STEPS));
    steps.iter().try_for_each(|step| write::carry_out(name, step))?;
    write::instances(live, &desired.instances, &call.service.nodes)?;
    if live.is_internal != desired.is_internal {
        let word = |is_internal| if is_internal { "internal" } else { "internet-facing" };
        warnings.immutable("its scheme", word(live.is_internal), word(desired.is_internal));
    }
    let mut status = call.service.status().memo(&**name);
    if !left.is_empty() {
        let why = format_args!("{} changes of load balancer {name} are left", left.len());
        return Ok(Progress::pending(status, NEXT, why));
    }
    let Some(hostname) = &live.dns_name else {
        return Ok(Progress::pending(status, POLL, format_args!("load balancer {name} has no name in DNS yet")));
    };
    status.ingress = vec![Ingress::hostname(hostname)];
    let deleted = left_over.map_or(Ok(Change::Done(())), |group| groups::delete(call, &group));
    match deleted? {
        Change::Done(()) => Ok(Progress::Ready(status)),
        Change::Busy(why) => Ok(Progress::pending(status, RELEASE, why)),
    }
}

/// Lets groups that somebody else made lead to no node any more, as long as the load balancer has them: a call that
/// ends in between is gone on with. It gets the other groups before, so that the nodes let it in all the time.
fn part_from(
    call: &ServiceCall<'_>,
    live: &ClassicLoadBalancer,
    place: &ClassicPlace,
    leaving: &[&String],
    vendors: impl Fn(&str) -> VendorsRule,
) -> Result<()> {
    if leaving.is_empty() || call.settings.keep_node_groups {
        return Ok(());
    }
    let both: Vec<String> = place.groups.iter().chain(leaving.iter().copied()).cloned().collect();
    let is_new = place.groups.iter().any(|it| !live.groups.contains(it));
    if is_new && both.len() <= MOST_GROUPS {
        write::carry_out(&live.name, &ClassicStep::Groups(both))?;
    }
    leaving.iter().try_for_each(|group| groups::refuse(call, group, vendors(group)).map(drop))
}

#[cfg(test)]
mod tests;
