//! Network Load Balancers.
//!
//! A load balancer is found by its name, which holds the Service's UID, and its target groups by their names and tags:
//! a call that was lost after any request is gone on with by the next one, and nothing is made twice.

mod delete;
mod desired;
mod groups;
mod live;
mod names;
mod plan;
mod write;

pub(super) use self::delete::delete;
pub(super) use self::names::name_in;

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Change, Error, Ingress, LoadBalancerStatus, Progress, Result, SortedMap, SortedSet};

use self::desired::DesiredNlb;
use self::live::Live;
use self::plan::Used;
use self::write::{Wait, Writer};
use super::annotations::{ELASTIC_IPS, LoadBalancerKind, PRIVATE_IPS};
use super::call::ServiceCall;
use super::{allowed, preflight, subnets, targets};
use crate::api::ec2::subnets as subnets_api;
use crate::api::elbv2::load_balancers::{self as api, AnyLoadBalancer, LoadBalancerCreation, SubnetMapping};
use crate::api::elbv2::target_groups;
use crate::tags::Tags;

/// The most requests of one call, with what is left for security groups and nodes. The host stops a call at 100.
const MOST_REQUESTS: usize = 70;
/// The most reads of target groups in one call.
const MOST_READS: usize = 64;

/// Takes one step towards the desired state.
pub(super) fn ensure(call: &ServiceCall<'_>) -> Result<Progress> {
    let desired = match preflight::check(call, LoadBalancerKind::Network).and_then(|()| DesiredNlb::of(call)) {
        Ok(desired) => desired,
        Err(refusal) => return Err(refused(call, refusal)),
    };
    let balancer = match find(call)? {
        Some(balancer) => balancer,
        None => match create(call, &desired)? {
            Change::Done(made) => made,
            Change::Busy(why) => return Ok(pending(call.service.status(), Wait::busy(why))),
        },
    };
    let names: Vec<&str> = desired.listeners.iter().map(|it| &*it.group.name).collect();
    let live = Live::read(call, balancer, &names)?;
    live.refuse_others(call)?;
    // From here on it is the Service's: whatever fails now, it is remembered.
    let status = call.service.status().memo(&*live.balancer.arn);
    update(call, &desired, &live).or_else(|error| Ok(Progress::failed(status, error)))
}

/// The load balancer with the Service's name, whoever's it is.
fn find(call: &ServiceCall<'_>) -> Result<Option<AnyLoadBalancer>> {
    let name = &*call.service.name;
    // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
    let listed = if call.service.is_listed() { api::find_listed(name)? } else { None };
    Ok(listed.map_or_else(|| api::named(name), |it| Ok(Some(it)))?)
}

/// A Service that cannot be served any more is served as it was: its targets follow the nodes. The call ends with the
/// refusal, or what came between.
fn refused(call: &ServiceCall<'_>, refusal: Error) -> Error {
    let follow = || -> Result<()> {
        // One that another controller has made has no memo yet. Whose it is, its tags say.
        let is_remembered = |it: &AnyLoadBalancer| call.service.memo.as_ref().is_none_or(|memo| *memo == it.arn);
        let remembered = api::named(&call.service.name)?.filter(is_remembered);
        let Some(balancer) = remembered else { return Ok(()) };
        let live = Live::read(call, balancer, &[])?;
        live.refuse_others(call)?;
        follow_nodes(call, &live)
    };
    if !call.is_known() {
        return refusal;
    }
    follow().err().unwrap_or(refusal)
}

/// Lets the targets of all groups follow the nodes, and changes nothing else.
fn follow_nodes(call: &ServiceCall<'_>, live: &Live) -> Result<()> {
    let mut warnings = Warnings::default();
    let instances = targets::instances(&call.service.nodes, &mut warnings);
    let attached = live.groups.iter().filter(|it| it.is_attached && it.is_usable()).take(MOST_READS);
    let (mut steps, mut reads) = (Vec::new(), 0);
    for group in attached {
        reads += 1;
        let targets = target_groups::targets(&group.shown.arn)?;
        steps.extend(plan::target_steps(&group.shown.arn, &targets, &instances, group.shown.port));
    }
    writer(call, &live.balancer, &call.marks.tags(), reads).carry_out(&steps, &mut warnings).map(drop)
}

fn writer<'a>(call: &'a ServiceCall<'_>, balancer: &'a AnyLoadBalancer, tags: &'a Tags, reads: usize) -> Writer<'a> {
    let most = MOST_REQUESTS.saturating_sub(reads);
    Writer { balancer: &balancer.arn, vpc: &call.settings.cluster.vpc, nodes: &call.service.nodes, tags, most }
}

/// Makes the load balancer. If the answer is lost, the next call finds it by its name.
fn create(call: &ServiceCall<'_>, desired: &DesiredNlb) -> Result<Change<AnyLoadBalancer>> {
    // The status may tell of one that is gone.
    let allocations = allowed::elastic_ips(call)?;
    let addresses = call.annotations.read(&PRIVATE_IPS)?;
    preflight::addresses(call, desired.is_internal)?;
    let subnets = subnets::of(call, desired.is_internal, &SortedSet::new())?;
    let ids: Vec<&str> = subnets.iter().map(|it| &*it.id).collect();
    let mappings = mappings(&ids, allocations.as_deref(), addresses.as_deref())?;
    let mut warnings = Warnings::default();
    let is_dual_stack = is_dual_stack(call, &subnets, &mut warnings);
    let is_udp = desired.listeners.iter().any(|it| it.protocol == "UDP");
    let groups = match groups::wanted(call, None)? {
        Change::Done(groups) => groups,
        Change::Busy(why) => return Ok(Change::Busy(why)),
    };
    let made = api::create(LoadBalancerCreation {
        name: &call.service.name,
        is_internal: desired.is_internal,
        is_dual_stack,
        has_ipv6_source_nat: is_dual_stack && is_udp,
        subnets: &mappings,
        groups: groups.as_ref().map_or(&[], |it| &it.ids),
        tags: &call.marks.tags(),
    });
    warnings.emit();
    match made {
        Ok(made) => Ok(Change::Done(made)),
        Err(refusal) if refusal.code == "DuplicateLoadBalancerName" => Ok(Change::Busy(format!(
            "load balancer {} was made a moment ago, and AWS does not list it yet",
            call.service.name
        ))),
        Err(refusal) => Err(refusal.error),
    }
}

/// In which subnet it has which address.
///
/// # Errors
///
/// `invalid`, if there are not as many addresses as subnets.
fn mappings(
    subnets: &[&str],
    allocations: Option<&[String]>,
    addresses: Option<&[String]>,
) -> Result<Vec<SubnetMapping>> {
    let lists =
        [(ELASTIC_IPS.name, "EIP AllocationIDs", allocations), (PRIVATE_IPS.name, "Private IPv4Addresses", addresses)];
    for (key, what, list) in lists {
        if let Some(list) = list
            && list.len() != subnets.len()
        {
            return Err(Error::invalid(format_args!(
                "annotation {key}: error creating load balancer: Must have same number of {what} ({}) and SubnetIDs \
                 ({}: {})",
                list.len(),
                subnets.len(),
                subnets.join(", ")
            )));
        }
    }
    let of = |list: Option<&[String]>, number: usize| list.and_then(|it| it.get(number)).cloned();
    let mapping = |(number, subnet): (usize, &&str)| SubnetMapping {
        subnet: (*subnet).to_owned(),
        allocation: of(allocations, number),
        private_ipv4: of(addresses, number),
    };
    Ok(subnets.iter().enumerate().map(mapping).collect())
}

/// Whether it gets IPv6 addresses too: the Service wants them, and all its subnets have some.
fn is_dual_stack(call: &ServiceCall<'_>, subnets: &[subnets_api::Subnet], warnings: &mut Warnings) -> bool {
    if !desired::wants_ipv6(call.service) {
        return false;
    }
    let without: Vec<&str> = subnets.iter().filter(|it| it.ipv6.is_empty()).map(|it| &*it.id).collect();
    if !without.is_empty() {
        let why = format!("no IPv6 addresses: subnet {} has no IPv6 network", without.join(", "));
        warnings.add("LoadBalancerWithoutIPv6", why);
    }
    without.is_empty()
}

/// Lets a load balancer that is the Service's be as the Service asks for.
fn update(call: &ServiceCall<'_>, desired: &DesiredNlb, live: &Live) -> Result<Progress> {
    let balancer = &live.balancer;
    let mut warnings = Warnings::default();
    let has = if desired.is_internal { "internal" } else { "internet-facing" };
    if balancer.scheme != has {
        warnings.immutable("scheme", &balancer.scheme, has);
    }
    let subnets = if call.settings.keep_node_groups && !desired::wants_ipv6(call.service) {
        Vec::new()
    } else {
        subnets_of(balancer)?
    };
    let mut is_dual_stack = is_dual_stack(call, &subnets, &mut warnings);
    let is_udp = desired.listeners.iter().any(|it| it.protocol == "UDP");
    if is_dual_stack && is_udp && balancer.address_type != "dualstack" {
        // It would need a prefix for source NAT, which is given with its subnets.
        warnings.immutable("address type of UDP", &balancer.address_type, "dualstack");
        is_dual_stack = false;
    }
    if let Some(wait) = write(call, desired, live, is_dual_stack, &mut warnings)? {
        warnings.emit();
        return Ok(pending(call.service.status().memo(&*balancer.arn), wait));
    }
    if !call.settings.keep_node_groups {
        groups::admit(call, desired, &groups::ranges(call, is_dual_stack)?, &subnets)?;
    }
    warnings.emit();
    let status = status(balancer);
    Ok(match &*balancer.state {
        "failed" => {
            let why = format!("load balancer {} has failed: {}", balancer.name, balancer.reason);
            Progress::failed(status, Error::Unavailable(why))
        }
        _ if balancer.dns_name.is_empty() => pending(status, Wait::busy("it has no DNS name yet")),
        _ => Progress::Ready(status),
    })
}

/// Writes what differs of the listeners and target groups, and then of the load balancer.
fn write(
    call: &ServiceCall<'_>,
    desired: &DesiredNlb,
    live: &Live,
    is_dual_stack: bool,
    warnings: &mut Warnings,
) -> Result<Option<Wait>> {
    let balancer = &live.balancer;
    let instances = targets::instances(&call.service.nodes, warnings);
    let (used, reads) = used(desired, live).or_else(|error| follow_nodes(call, live).and(Err(error)))?;
    let steps = plan::steps(desired, live, &used, &instances, &call.marks)?;
    match writer(call, balancer, &call.marks.tags(), reads).carry_out(&steps, warnings)? {
        None => Ok(Wait::of(write_balancer(call, desired, balancer, is_dual_stack)?)),
        wait => Ok(wait),
    }
}

/// Writes what differs of the load balancer's addresses and security groups.
fn write_balancer(
    call: &ServiceCall<'_>,
    desired: &DesiredNlb,
    balancer: &AnyLoadBalancer,
    is_dual_stack: bool,
) -> Result<Change<()>> {
    if (balancer.address_type == "dualstack") != is_dual_stack {
        api::set_address_type(&balancer.arn, is_dual_stack)?;
    }
    groups::wanted(call, Some(&balancer.groups))?.and_then(|wanted| {
        let Some(wanted) = wanted else { return Ok(Change::Done(())) };
        let ranges = groups::ranges(call, is_dual_stack)?;
        groups::write(call, &wanted, desired, &ranges, (&balancer.arn, &balancer.groups))
    })
}

/// The targets and attributes of the target groups that are used, and how many requests that took.
fn used(desired: &DesiredNlb, live: &Live) -> Result<(SortedMap<String, Used>, usize)> {
    let has_attributes = !desired.group_attributes.is_empty();
    let there = desired.listeners.iter().map(|it| plan::group(it, live));
    let there: SortedSet<String> =
        there.filter_map(Result::transpose).map(|it| Ok(it?.arn.clone())).collect::<Result<_>>()?;
    let reads = there.len() * if has_attributes { 2 } else { 1 };
    if reads > MOST_READS {
        let ports = there.len();
        return Err(Error::invalid(format_args!(
            "{ports} ports are more than one call can compare: use several Services"
        )));
    }
    let mut used = SortedMap::new();
    for arn in there {
        let targets = target_groups::targets(&arn)?;
        let attributes = if has_attributes { target_groups::attributes(&arn)? } else { SortedMap::new() };
        used.insert(arn, Used { targets, attributes });
    }
    Ok((used, reads))
}

/// The subnets that it is in.
fn subnets_of(balancer: &AnyLoadBalancer) -> Result<Vec<subnets_api::Subnet>> {
    let found = subnets_api::by_ids(&balancer.subnets)?;
    match balancer.subnets.iter().find(|id| !found.iter().any(|it| it.id == **id)) {
        Some(id) => {
            Err(Error::unavailable(format_args!("EC2 does not show subnet {id}, which the load balancer is in")))
        }
        None => Ok(found),
    }
}

fn pending(status: LoadBalancerStatus, Wait { pause, reason }: Wait) -> Progress {
    Progress::pending(status, pause, reason)
}

fn status(balancer: &AnyLoadBalancer) -> LoadBalancerStatus {
    let hostname = Some(&*balancer.dns_name).filter(|it| !it.is_empty()).map(Ingress::hostname);
    LoadBalancerStatus::new(hostname).memo(&*balancer.arn)
}

#[cfg(test)]
mod tests;
