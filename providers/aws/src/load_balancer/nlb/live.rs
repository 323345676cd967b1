//! A Network Load Balancer and what belongs to it, as AWS shows them.

use aerostat_sdk::{Error, Result, SortedMap};

use super::names;
use crate::api::elbv2::listeners::{self, Listener};
use crate::api::elbv2::load_balancers::{self, AnyLoadBalancer};
use crate::api::elbv2::target_groups::{self, TargetGroup};
use crate::api::elbv2::{Attributes, tags};
use crate::load_balancer::call::ServiceCall;
use crate::load_balancer::marks::Ownership;
use crate::tags::{SERVICE_NAME, Tags};

/// A load balancer as AWS shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Live {
    pub(super) balancer: AnyLoadBalancer,
    pub(super) ownership: Ownership,
    pub(super) listeners: Vec<Listener>,
    pub(super) groups: Vec<LiveGroup>,
    pub(super) attributes: Attributes,
    /// The tags of the load balancer and of each group, by ARN.
    pub(super) tags: SortedMap<String, Tags>,
}

/// A target group, and whose it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct LiveGroup {
    pub(super) shown: TargetGroup,
    pub(super) ownership: Ownership,
    /// Whether this load balancer sends to it.
    pub(super) is_attached: bool,
}

impl LiveGroup {
    /// Whether another load balancer sends to it.
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.is_attached && !self.shown.balancers.is_empty()
    }

    /// Whether the Service's traffic may be sent there: its tags say so, or they say nothing and its load balancer does
    /// it.
    pub(super) fn is_usable(&self) -> bool {
        (self.ownership.is_ours() || (self.ownership == Ownership::Nobody && self.is_attached)) && !self.is_elsewhere()
    }
}

impl Live {
    /// Reads what belongs to a load balancer: the target groups that it sends to, those that nothing sends to and whose
    /// names begin as the Service's, which are found also if a call was lost after they were made or taken out of use,
    /// and those with these names.
    ///
    /// # Errors
    ///
    /// Whatever AWS answered.
    pub(super) fn read(call: &ServiceCall<'_>, balancer: AnyLoadBalancer, names: &[&str]) -> Result<Self> {
        let listeners = listeners::of(&balancer.arn)?;
        let prefix = names::prefix(&call.service.owner);
        let mut shown = target_groups::all()?;
        // What others send to is nobody's concern here, unless it has a name that is wanted.
        shown.retain(|group| {
            let is_free = group.balancers.is_empty() && group.name.starts_with(&prefix);
            is_free || group.balancers.contains(&balancer.arn) || names.contains(&&*group.name)
        });
        let arns: Vec<&str> = [&*balancer.arn].into_iter().chain(shown.iter().map(|it| &*it.arn)).collect();
        let tags = tags::of(&arns)?;
        let attributes = load_balancers::attributes(&balancer.arn)?;
        let ownership = call.marks.ownership(tags_of(&tags, &balancer.arn));
        let group = |shown: TargetGroup| LiveGroup {
            ownership: call.marks.ownership(tags_of(&tags, &shown.arn)),
            is_attached: shown.balancers.contains(&balancer.arn),
            shown,
        };
        let groups = shown.into_iter().map(group).collect();
        Ok(Self { ownership, listeners, groups, attributes, tags, balancer })
    }

    /// Refuses a load balancer that cannot be proven to be the Service's.
    ///
    /// # Errors
    ///
    /// `invalid`, saying why.
    pub(super) fn refuse_others(&self, call: &ServiceCall<'_>) -> Result<()> {
        proof(call, &self.balancer, &self.ownership).map_err(Error::Invalid)
    }

    /// The tags of a thing.
    pub(super) fn tags_of(&self, arn: &str) -> &Tags {
        tags_of(&self.tags, arn)
    }
}

/// Whether a load balancer with the Service's name is the Service's: its tags say so, or they say nothing and the memo
/// does, which only a controller can have written. `Err` says why not.
pub(super) fn proof(call: &ServiceCall<'_>, balancer: &AnyLoadBalancer, ownership: &Ownership) -> Result<(), String> {
    let AnyLoadBalancer { name, arn, kind, .. } = balancer;
    let why = match ownership {
        _ if kind != "network" => format!("it is of type {kind:?}"),
        Ownership::Marked | Ownership::ByName => return Ok(()),
        Ownership::Nobody if call.service.memo.as_ref() == Some(arn) => return Ok(()),
        Ownership::Nobody => format!("it has no tag {SERVICE_NAME}"),
        Ownership::Other(why) => why.clone(),
    };
    Err(format!(
        "load balancer {name} exists already, and cannot be proven to be this Service's: {why}. It is not touched"
    ))
}

fn tags_of<'a>(tags: &'a SortedMap<String, Tags>, arn: &str) -> &'a Tags {
    static NONE: Tags = Tags::new();
    tags.get(arn).unwrap_or(&NONE)
}
