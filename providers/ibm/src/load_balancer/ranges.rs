//! The security group of a Service with source ranges: one of its own, with a rule for each range, that goes with the Service.
//!
//! Its name is the one that the Service's load balancer has by itself. Names of security groups are unique in their VPC, and no author of a
//! Service chooses one, so that the name says whose it is. A load balancer has it in the place of the VPC's default group: what any of its
//! groups lets in comes in.

use std::time::Duration;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::{Creation, Found};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, Result};
use serde_json::json;

use super::annotations::SECURITY_GROUPS;
use super::names;
use super::rules::{self, LackingRule};
use crate::api::load_balancers::{VpcBalancer, VpcGroupReference};
use crate::api::security_groups::{self as api, EVERYWHERE, VpcRule, VpcSecurityGroup};
use crate::api::{VpcId, make, vpcs};
use crate::settings::IbmAccountSettings;
use crate::settings::balancers::IbmBalancerSettings;

/// When a security group is looked for again that is being deleted or changed.
pub(super) const SOON: Duration = Duration::from_secs(2);

/// The reason of an event about fields without effect.
pub(super) const IGNORED: &str = "ServiceFieldsIgnored";

/// Whether a Service says who may come in.
pub(super) fn are_restricted(service: &LoadBalancer) -> bool {
    !service.source_ranges.is_empty() && service.source_ranges.iter().all(|it| it != EVERYWHERE)
}

/// The rules of a Service's group: one lets each range of IPv4 in, and one everything out, to nodes.
fn desired_rules(service: &LoadBalancer, protocol: &str) -> Vec<VpcRule> {
    let mut rules: Vec<VpcRule> = Vec::new();
    for range in service.source_ranges.iter().filter(|it| !it.contains(':')) {
        let rule = VpcRule::new("inbound", protocol, range);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules.push(VpcRule::new("outbound", "any", EVERYWHERE));
    rules
}

/// The security group of one Service's own, as far as it has one or is to have one.
pub(super) struct OwnGroup<'a> {
    pub(super) service: &'a LoadBalancer,
    pub(super) account: &'a IbmAccountSettings,
    pub(super) settings: &'a IbmBalancerSettings,
    /// The id of the VPC.
    pub(super) vpc: &'a str,
}

/// The group of a new load balancer.
pub(super) struct NewGroup {
    pub(super) id: String,
    /// Whether no list has shown it yet.
    pub(super) is_made_now: bool,
}

impl OwnGroup<'_> {
    /// Whether the Service, whose load balancer is `live` if it has one, is to have a group of its own: security groups that it names when the
    /// load balancer is made are in the place of it, and later they count no more.
    ///
    /// # Errors
    ///
    /// `invalid`, for an annotation that is no list of groups.
    pub(super) fn is_wanted(&self, live: Option<&VpcBalancer>) -> Result<bool> {
        if !self.settings.own_groups || !are_restricted(self.service) {
            return Ok(false);
        }
        let names_groups = Annotations::of(self.service).read(&SECURITY_GROUPS)?.is_some();
        Ok(!names_groups || live.is_some_and(|it| self.of_balancer(it).is_some()))
    }

    /// The group, if the load balancer has it.
    fn of_balancer<'l>(&self, live: &'l VpcBalancer) -> Option<&'l VpcGroupReference> {
        let name = self.name();
        live.security_groups.iter().find(|it| it.name == name)
    }

    fn name(&self) -> String {
        names::own(self.service, self.account)
    }

    /// The group that a new load balancer has: `None` for one without a group of its own. `Err` while it cannot be made yet, with the outcome of
    /// the request that makes the group: where that is unclear, the load balancer's creation is, and a deletion waits for both.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn for_new(&self, protocol: &str) -> Result<std::result::Result<Option<NewGroup>, Creation>> {
        if !self.is_wanted(None)? {
            return Ok(Ok(None));
        }
        let Some(group) = api::named(self.vpc, &self.name())? else {
            return Ok(match self.make(protocol)? {
                Creation::Begun(made) => Ok(Some(NewGroup { id: made.id, is_made_now: true })),
                other => Err(other),
            });
        };
        match self.put_rules_right(&group, protocol)? {
            Some(Change::Done(why) | Change::Busy(why)) => Ok(Err(Creation::Busy(why))),
            None => Ok(Ok(Some(NewGroup { id: group.id, is_made_now: false }))),
        }
    }

    /// Sends the request that makes the group, which no list shows.
    fn make(&self, protocol: &str) -> Result<Creation> {
        let name = self.name();
        let mut body =
            json!({ "name": name, "vpc": { "id": self.vpc }, "rules": desired_rules(self.service, protocol) });
        if let Some(group) = self.settings.resource_group(&self.account.account)? {
            body["resource_group"] = json!({ "id": group });
        }
        let created = make(api::create(&body), |response| Ok(Found::new(response.json::<VpcId>()?.id, &name, true)))?;
        let may_be = |why| format!("the security group {name} may be there: {why}");
        Ok(match created {
            Creation::Unclear(why) => Creation::Unclear(may_be(why)),
            Creation::Taken(why) => Creation::Taken(may_be(why)),
            other => other,
        })
    }

    /// Makes the group's rules those that the Service asks for. `None` if they are as desired.
    fn put_rules_right(&self, group: &VpcSecurityGroup, protocol: &str) -> Result<Option<Change<String>>> {
        let desired = desired_rules(self.service, protocol);
        let mut seen: Vec<&VpcRule> = Vec::new();
        let mut extra = Vec::new();
        for live in &group.rules {
            match desired.iter().find(|it| live.is(it) && !seen.contains(it)) {
                Some(rule) => seen.push(rule),
                None => extra.push(api::remove_rule(&group.id, &live.id)),
            }
        }
        let lacking =
            desired.iter().filter(|it| !seen.contains(it)).map(|it| LackingRule::new(api::add_rule(&group.id, it)));
        rules::write(group, lacking, extra.into_iter())
    }

    /// Makes the next change of who may reach a load balancer. `None` if that is as desired. A group that is there without the setting, or
    /// without ranges, goes.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; `unavailable`, where it is not clear whether there is the group.
    pub(super) fn guard(
        &self,
        live: &VpcBalancer,
        protocol: &str,
        warnings: &mut Warnings,
    ) -> Result<Option<Change<String>>> {
        match (self.is_wanted(Some(live))?, self.of_balancer(live)) {
            (false, None) => Ok(None),
            (false, Some(own)) => {
                // A load balancer is never without a group.
                if live.security_groups.len() == 1 {
                    return self.attach(&self.usual_group()?, live).map(Some);
                }
                self.detach(&own.id, live).map(Some)
            }
            (true, None) => {
                let Some(group) = api::named(self.vpc, &self.name())? else {
                    return match self.make(protocol)? {
                        Creation::Begun(made) | Creation::Made(made) => self.attach(&made.id, live).map(Some),
                        Creation::Busy(why) => Ok(Some(Change::Busy(why))),
                        Creation::Taken(why) | Creation::Unclear(why) => Err(Error::Unavailable(why)),
                    };
                };
                match self.put_rules_right(&group, protocol)? {
                    Some(change) => Ok(Some(change)),
                    None => self.attach(&group.id, live).map(Some),
                }
            }
            (true, Some(own)) => {
                let group = api::find(&own.id)?.ok_or_else(|| {
                    Error::unavailable(format_args!(
                        "{} has security group {}, which is not there",
                        live.title(),
                        own.id
                    ))
                })?;
                if let Some(change) = self.put_rules_right(&group, protocol)? {
                    return Ok(Some(change));
                }
                if live.security_groups.len() == 1 {
                    return Ok(None);
                }
                // The VPC's default alone is taken away: other groups somebody gave it.
                let usual = self.usual_group()?;
                if live.security_groups.iter().any(|it| it.id == usual) {
                    return self.detach(&usual, live).map(Some);
                }
                let others = live.security_groups.iter().filter(|it| it.id != own.id);
                let others: Vec<String> = others.map(|it| format!("{} ({})", it.id, it.name)).collect();
                warnings.add(
                    IGNORED,
                    format_args!(
                        "loadBalancerSourceRanges do not bind: {} has security group {} beside its own, and what any of them lets in \
                         comes in: take it away in the cloud",
                        live.title(),
                        others.join(", ")
                    ),
                );
                Ok(None)
            }
        }
    }

    fn attach(&self, group: &str, live: &VpcBalancer) -> Result<Change<String>> {
        Ok(api::attach(group, &live.id).change()?.map(|_| format!("it gets security group {group}")))
    }

    fn detach(&self, group: &str, live: &VpcBalancer) -> Result<Change<String>> {
        Ok(api::detach(group, &live.id).change_or_gone()?.map(|()| format!("it loses security group {group}")))
    }

    /// The id of the security group that the VPC gives to what has no other.
    fn usual_group(&self) -> Result<String> {
        let found = vpcs::find(self.vpc)?.and_then(|it| it.default_security_group);
        let group = found
            .ok_or_else(|| Error::unavailable(format_args!("VPC {} shows no default security group", self.vpc)))?;
        Ok(group.id)
    }

    /// Takes the group of a Service away whose load balancer is gone. It is done once it is not among these, the groups of the
    /// VPC, any more.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn delete(&self, groups: &[VpcSecurityGroup]) -> Result<Deletion> {
        let name = self.name();
        let Some(group) = groups.iter().find(|it| it.name == name) else { return Ok(Deletion::Done) };
        let why = match api::delete(&group.id).change_or_gone()? {
            Change::Done(()) => format!("the cloud deletes security group {}", group.name),
            Change::Busy(why) => why,
        };
        Ok(Deletion::pending(self.service.status(), SOON, why))
    }
}
