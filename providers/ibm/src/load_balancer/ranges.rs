//! The security group of a Service with source ranges: one of its own, with a rule for each range, that goes with the Service.
//!
//! Its name is the one that the Service's load balancer has by itself. Names of security groups are unique in their VPC, and no author of a
//! Service chooses one, so that the name says whose it is. A load balancer has it in the place of the VPC's default group: what any of its
//! groups lets in comes in.

use std::time::Duration;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Creation;
use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, Result};
use serde_json::json;

use super::annotations::SECURITY_GROUPS;
use super::names;
use crate::api::load_balancers::VpcBalancer;
use crate::api::security_groups::{self as api, VpcRule, VpcSecurityGroup};
use crate::api::vpcs;
use crate::settings::IbmAccountSettings;
use crate::settings::balancers::IbmBalancerSettings;

/// Rules that one call writes: it may make a hundred requests.
const RULES_OF_ONE_CALL: usize = 50;

/// When a security group is looked for again that is being deleted.
const SOON: Duration = Duration::from_secs(2);

/// Every client.
const EVERYWHERE: &str = "0.0.0.0/0";

/// Whether a Service says who may come in.
pub(super) fn are_restricted(service: &LoadBalancer) -> bool {
    !service.source_ranges.is_empty() && service.source_ranges.iter().all(|it| it != EVERYWHERE)
}

/// The rules of a Service's group: one lets each range of IPv4 in, and one everything out, to nodes.
fn rules(service: &LoadBalancer, protocol: &str) -> Vec<VpcRule> {
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

impl OwnGroup<'_> {
    /// Whether the Service is to have a group of its own: security groups that it names are in the place of it.
    fn is_wanted(&self) -> Result<bool> {
        let names_groups = Annotations::of(self.service).read(&SECURITY_GROUPS)?.is_some();
        Ok(self.settings.own_groups && are_restricted(self.service) && !names_groups)
    }

    fn name(&self) -> String {
        names::own(self.service, self.account)
    }

    /// The id of the group that a new load balancer has: `None` for one without a group of its own. `Err` while there is none yet, with the
    /// outcome of the request that makes it.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn for_new(&self, protocol: &str) -> Result<std::result::Result<Option<String>, Creation>> {
        if !self.is_wanted()? {
            return Ok(Ok(None));
        }
        let Some(group) = api::named(self.vpc, &self.name())? else {
            return Ok(Err(Creation::Busy(self.make(protocol)?)));
        };
        match self.put_rules_right(&group, protocol)? {
            Some(Change::Done(why) | Change::Busy(why)) => Ok(Err(Creation::Busy(why))),
            None => Ok(Ok(Some(group.id))),
        }
    }

    /// Sends the request that makes the group. Returns what the call waits for: the next one finds it by its name, also if this answer was lost.
    fn make(&self, protocol: &str) -> Result<String> {
        let mut body = json!({
            "name": self.name(), "vpc": { "id": self.vpc }, "rules": rules(self.service, protocol),
        });
        if let Some(group) = &self.settings.resource_group {
            body["resource_group"] = json!({ "id": group });
        }
        let response = api::create(&body).answer()?;
        if !crate::api::is_taken(&response) {
            response.accepted()?;
        }
        Ok(format!("the security group {} is made", self.name()))
    }

    /// Makes the group's rules those that the Service asks for: those that lack come first, so that nobody is shut out meanwhile. `None` if they
    /// are as desired.
    fn put_rules_right(&self, group: &VpcSecurityGroup, protocol: &str) -> Result<Option<Change<String>>> {
        let desired = rules(self.service, protocol);
        let mut seen: Vec<&VpcRule> = Vec::new();
        let mut extra = Vec::new();
        for live in &group.rules {
            match desired.contains(&live.rule) && !seen.contains(&&live.rule) {
                true => seen.push(&live.rule),
                false => extra.push(api::remove_rule(&group.id, &live.id)),
            }
        }
        let lacking = desired.iter().filter(|it| !seen.contains(it)).map(|it| api::add_rule(&group.id, it));
        let writes: Vec<Request> = lacking.chain(extra).take(RULES_OF_ONE_CALL).collect();
        let count = writes.len();
        for write in writes {
            // One that is gone already is as good as deleted.
            if let Change::Busy(why) = write.change_or_gone()? {
                return Ok(Some(Change::Busy(why)));
            }
        }
        Ok((count > 0).then(|| Change::Done(format!("{count} rules of security group {} change", group.name))))
    }

    /// Makes the next change of who may reach a load balancer. `None` if that is as desired, and without the setting.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn guard(&self, live: &VpcBalancer, protocol: &str) -> Result<Option<Change<String>>> {
        if !self.settings.own_groups {
            return Ok(None);
        }
        let name = self.name();
        let own = live.security_groups.iter().find(|it| it.name == name);
        match (self.is_wanted()?, own) {
            (false, None) => Ok(None),
            (false, Some(own)) => {
                // A load balancer is never without a group.
                if live.security_groups.len() == 1 {
                    return self.attach(&self.usual_group()?, live).map(Some);
                }
                self.detach(&own.id, live).map(Some)
            }
            (true, None) => {
                let Some(group) = api::named(self.vpc, &name)? else {
                    return Ok(Some(Change::Done(self.make(protocol)?)));
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
                // Of further ones the VPC's default alone is taken away: the others somebody gave it.
                let usual = self.usual_group()?;
                match live.security_groups.iter().any(|it| it.id == usual) {
                    true => self.detach(&usual, live).map(Some),
                    false => Ok(None),
                }
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

    /// Takes the group of a Service away whose load balancer is gone. It is done once it is not listed any more.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn delete(&self) -> Result<Deletion> {
        if !self.settings.own_groups && !are_restricted(self.service) {
            return Ok(Deletion::Done);
        }
        let Some(group) = api::named(self.vpc, &self.name())? else { return Ok(Deletion::Done) };
        let why = match api::delete(&group.id).change_or_gone()? {
            Change::Done(()) => format!("the cloud deletes security group {}", group.name),
            Change::Busy(why) => why,
        };
        Ok(Deletion::pending(self.service.status(), SOON, why))
    }
}
