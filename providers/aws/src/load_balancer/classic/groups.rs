//! The security groups of a Classic Load Balancer: those that an annotation or the operator says, or one of its own.

use aerostat_sdk::{Change, Error, Result, SortedSet, events};

use super::super::allowed;
use super::super::annotations::{EXTRA_SECURITY_GROUPS, SECURITY_GROUPS};
use super::super::call::ServiceCall;
use super::super::marks::Ownership;
use super::super::security_groups::nodes::{self, ClassicSource, VendorsRule};
use super::super::security_groups::{IngressRule, own};
use super::health;
use crate::api::ec2::security_groups::{self as api, SecurityGroup};
use crate::api::elb::load_balancers;
use crate::api::elb::model::ClassicLoadBalancer;
use crate::tags::CLUSTER_UID;

/// The security groups that the Service asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct AskedGroups {
    /// Those that somebody else made, the most important first; empty for one of its own.
    pub(super) given: Vec<String>,
    /// Beside these.
    extra: Vec<String>,
}

impl AskedGroups {
    /// The security groups that annotations and settings name.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation and its value.
    pub(super) fn of(call: &ServiceCall<'_>) -> Result<Self> {
        Ok(Self { given: given(call)?, extra: call.annotations.read(&EXTRA_SECURITY_GROUPS)?.unwrap_or_default() })
    }

    /// All groups, where `own` is that of its own. Each once.
    pub(super) fn all(&self, own: Option<&SecurityGroup>) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for id in own.map(|it| &it.id).into_iter().chain(&self.given).chain(&self.extra) {
            if !all.contains(id) {
                all.push(id.clone());
            }
        }
        all
    }
}

/// Those that somebody else made instead of one of its own, the most important first. The first is let into the nodes' groups.
///
/// # Errors
///
/// `invalid`, naming the annotation and its value.
pub(super) fn given(call: &ServiceCall<'_>) -> Result<Vec<String>> {
    let annotated = call.annotations.read(&SECURITY_GROUPS)?.unwrap_or_default();
    Ok(match annotated.is_empty() {
        true => call.settings.classic_group.iter().cloned().collect(),
        false => annotated,
    })
}

/// Whether a rule for everything that this group sends can be the vendor's for this load balancer. The vendor's controller lets in
/// the first group: that is its own, if it has one, or it is alone beside those that annotation `extra-security-groups` names, or the
/// annotation `security-groups` still says all. What authors may not name is not theirs to take from the nodes either.
pub(super) fn is_vendors(
    call: &ServiceCall<'_>,
    live: &ClassicLoadBalancer,
    own: Option<&SecurityGroup>,
    group: &str,
) -> bool {
    let Ok(AskedGroups { given, extra }) = AskedGroups::of(call) else { return false };
    let settings = &call.settings;
    let is_allowed = settings.classic_group.as_deref() == Some(group) || settings.allowed_groups.has(group);
    let has_own = own.is_some_and(|it| live.groups.contains(&it.id));
    let (these, others): (Vec<&String>, _) =
        live.groups.iter().filter(|it| !extra.contains(it)).partition(|it| *it == group);
    let is_first = given.first().is_some_and(|it| it == group);
    is_allowed && !has_own && !these.is_empty() && others.iter().all(|it: &&String| is_first && given.contains(it))
}

/// The name of a group of its own, as the vendor's controller writes it. It holds the Service's UID.
fn name(call: &ServiceCall<'_>) -> String {
    format!("k8s-elb-{}", call.service.name)
}

/// The group of its own, if there is one that is proven to be the Service's.
///
/// # Errors
///
/// `invalid`, if another's has its name.
fn find(call: &ServiceCall<'_>) -> Result<Option<SecurityGroup>> {
    let Some(group) = own::find(&call.settings.cluster, &name(call))? else { return Ok(None) };
    let whose = match call.marks.ownership(&group.tags) {
        Ownership::Marked | Ownership::ByName => return Ok(Some(group)),
        // The vendor's controller writes no other mark on it: the name has to do.
        Ownership::Nobody if group.is_tagged(&call.settings.cluster) => return Ok(Some(group)),
        Ownership::Nobody => "it does not have the cluster's tag".to_owned(),
        Ownership::Other(whose) => whose,
    };
    Err(Error::invalid(format_args!(
        "security group {} has the name {} and is not proven to be this Service's: {whose}",
        group.id, group.name
    )))
}

/// As [`find`], where one that is not proven to be the Service's is left alone.
pub(super) fn find_own(call: &ServiceCall<'_>) -> Result<Option<SecurityGroup>> {
    match find(call) {
        Err(Error::Invalid(why)) => {
            events::warning(None, "SecurityGroupNotDeleted", &format!("{why}. It stays"));
            Ok(None)
        }
        found => found,
    }
}

/// The group of its own with these rules: found, or made.
pub(super) fn ensure(call: &ServiceCall<'_>, rules: &[IngressRule]) -> Result<Change<SecurityGroup>> {
    let group = match find(call)? {
        Some(group) => group,
        None => {
            let (owner, balancer) = (&call.service.owner, &call.service.name);
            let description =
                format!("Security group for Kubernetes ELB {balancer} ({}/{})", owner.namespace, owner.name);
            match own::create(&call.settings.cluster, &name(call), &description, &call.marks.tags())? {
                Change::Done(group) => group,
                Change::Busy(why) => return Ok(Change::Busy(why)),
            }
        }
    };
    if own::needs_writing(&group, rules) {
        let missing = call.marks.missing_marks(&group.tags);
        if !missing.is_empty() {
            api::tag(&group.id, &missing)?;
        }
        own::sync(&group, rules)?;
    }
    Ok(Change::Done(group))
}

/// Deletes the group of its own once nothing needs it any more.
pub(super) fn delete(call: &ServiceCall<'_>, group: &SecurityGroup) -> Result<Change<()>> {
    if !call.settings.keep_node_groups {
        let cluster = &call.settings.cluster;
        nodes::refuse(cluster, ClassicSource::Own(&group.id), VendorsRule::Unknown, || Ok(false))?;
    }
    own::delete(&group.id)
}

/// Lets what has this group into the nodes: the one of its own, if it has one, or one that is given to it. A rule at port `kept`
/// stays: it is checked, and is not asked for any more.
pub(super) fn admit(
    call: &ServiceCall<'_>,
    group: &str,
    is_own: bool,
    vendors: VendorsRule,
    kept: Option<u16>,
) -> Result<()> {
    if call.settings.keep_node_groups {
        return Ok(());
    }
    let ports = ports(call, kept);
    let from = if is_own { ClassicSource::Own(group) } else { given_source(call, group, &ports, kept) };
    nodes::admit(&call.settings.cluster, from, vendors, &call.service.nodes, || needs_vendors_rule(call, group))
}

/// Lets what has a group that somebody else made into no node. Answers whether a rule is kept that another load balancer needs.
pub(super) fn refuse(call: &ServiceCall<'_>, group: &str, vendors: VendorsRule) -> Result<bool> {
    if call.settings.keep_node_groups {
        return Ok(false);
    }
    let ports = SortedSet::new();
    let from = given_source(call, group, &ports, None);
    nodes::refuse(&call.settings.cluster, from, vendors, || needs_vendors_rule(call, group))
}

fn given_source<'a>(
    call: &'a ServiceCall<'_>,
    group: &'a str,
    ports: &'a SortedSet<u16>,
    kept: Option<u16>,
) -> ClassicSource<'a> {
    match call.settings.classic_group.as_deref() == Some(group) {
        true => ClassicSource::Operators(group),
        false => ClassicSource::Authors { id: group, balancer: &call.service.name, ports, kept },
    }
}

/// The ports of nodes that the load balancer sends to: node ports, and the one that is checked, which an author may not have opened
/// everywhere.
fn ports(call: &ServiceCall<'_>, live: Option<u16>) -> SortedSet<u16> {
    let node_ports: SortedSet<u16> = call.service.ports.iter().filter_map(|it| it.node_port).collect();
    let asked = node_ports.first().and_then(|first| health::port(call, *first).ok());
    let checked = asked.into_iter().chain(live).filter(|it| allowed::is_health_port(call, *it));
    node_ports.iter().copied().chain(checked).collect()
}

/// Whether another Classic Load Balancer with this group may need a rule that lets in everything the group sends: one with the
/// operator's group, or one that the vendor's controller made and nobody has marked since.
fn needs_vendors_rule(call: &ServiceCall<'_>, group: &str) -> Result<bool> {
    let all = load_balancers::all()?;
    let others = all.iter().filter(|it| it.name != call.service.name && it.groups.contains(group));
    let names: Vec<&str> = others.map(|it| &*it.name).collect();
    if names.is_empty() || call.settings.classic_group.as_deref() == Some(group) {
        return Ok(!names.is_empty());
    }
    let tags = load_balancers::tags(&names)?;
    Ok(names.iter().any(|it| tags.get(*it).is_none_or(|it| !it.contains_key(CLUSTER_UID))))
}
