//! The security group that lets in the ranges of a Service, as the vendor's controller makes it.

use aerostat_sdk::Error;

use super::call::NlbCall;
use super::desired::NlbDesired;
use super::step::NlbStop;
use crate::api::fields::{borrowed, counted, tag_list};
use crate::api::network_load_balancers::NlbBalancer;
use crate::api::security_groups::{self as groups, EcsRule};
use crate::load_balancer::marks::TagRelation;

/// The beginning of names.
const NAME: &str = "k8s-nlb-";

impl NlbCall<'_> {
    /// The ids of the Service's groups. Where an empty list decides something, the credential has to have the right to see groups.
    pub(super) fn own_security(&self, decides: bool) -> Result<Vec<String>, NlbStop> {
        let found = groups::tagged(&self.region, self.mark())?;
        if decides && found.is_empty() {
            groups::may_see(&self.region)?;
        }
        let own = found.into_iter().filter(|it| self.relation(&it.tags) == TagRelation::Own);
        Ok(own.map(|it| it.id).collect())
    }

    /// Lets the load balancer be in the groups that say who comes in. Answers those of ours that are not needed, once it has left them: a list
    /// that lagged may have let a second one be made.
    pub(super) fn write_security(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<Vec<String>, NlbStop> {
        let is_in = |it: &String| live.security_groups.contains(it);
        let chosen = || desired.security_groups.iter().flatten();
        let is_limited = live.security_groups.iter().any(|it| !chosen().any(|own| own == it));
        let mut own = self.own_security(is_limited || !desired.ranges.is_empty())?;
        let needed = match (desired.ranges.is_empty(), own.is_empty()) {
            (true, _) => None,
            (false, true) => Some(self.make_security()?),
            (false, false) => Some(own.swap_remove(own.iter().position(is_in).unwrap_or_default())),
        };
        if let Some(id) = &needed {
            self.write_rules(id, desired)?;
        }
        let wanted: Vec<&String> = chosen().chain(&needed).collect();
        let is_unwanted =
            |it: &&String| !wanted.contains(it) && (own.contains(it) || desired.security_groups.is_some());
        let missing: Vec<&str> = wanted.iter().filter(|it| !is_in(it)).map(|it| it.as_str()).collect();
        let unwanted: Vec<&str> = live.security_groups.iter().filter(is_unwanted).map(String::as_str).collect();
        self.change_membership(live, "LoadBalancerJoinSecurityGroup", &missing)?;
        self.change_membership(live, "LoadBalancerLeaveSecurityGroup", &unwanted)?;
        if !missing.is_empty() || !unwanted.is_empty() {
            self.jobs.settle(&self.region)?;
        }
        Ok(own)
    }

    fn change_membership(&self, live: &NlbBalancer, action: &str, ids: &[&str]) -> Result<(), NlbStop> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids = counted("SecurityGroupIds", ids);
        let mut pairs = vec![("LoadBalancerId", &*live.id)];
        pairs.extend(borrowed(&ids));
        self.send(action, &pairs)
    }

    fn make_security(&self) -> Result<String, NlbStop> {
        let (name, token) = (format!("{NAME}{}", self.service.name), self.token("sg")?);
        let tags = self.tags();
        let tags = tag_list(&tags);
        let mut pairs = vec![
            ("ClientToken", &*token),
            ("Description", self.names.security()),
            ("SecurityGroupName", &*name),
            ("SecurityGroupType", "enterprise"),
            ("VpcId", &*self.vpc),
        ];
        pairs.extend(borrowed(&tags));
        match groups::create(&self.region, &pairs)? {
            id if id.is_empty() => Err(Error::unavailable("CreateSecurityGroup: an answer without an id").into()),
            id => Ok(id),
        }
    }

    /// First lets in what is missing, then keeps out what is too many.
    fn write_rules(&self, group: &str, desired: &NlbDesired) -> Result<(), NlbStop> {
        let rule = |range: &str, policy: &str, priority: &str| EcsRule {
            range: range.to_owned(),
            policy: policy.to_owned(),
            priority: priority.to_owned(),
        };
        let mut wanted: Vec<EcsRule> = desired.ranges.iter().map(|it| rule(it, "accept", "1")).collect();
        wanted.push(rule("0.0.0.0/0", "drop", "100"));
        let live = groups::rules(&self.region, group)?;
        let without = |all: &[EcsRule], others: &[EcsRule]| -> Vec<EcsRule> {
            all.iter().filter(|it| !others.contains(it)).cloned().collect()
        };
        let (missing, unwanted) = (without(&wanted, &live), without(&live, &wanted));
        let write =
            |action: &str, rules: &[EcsRule]| groups::change(&self.region, group, action, self.names.security(), rules);
        write("AuthorizeSecurityGroup", &missing)?;
        Ok(write("RevokeSecurityGroup", &unwanted)?)
    }
}
