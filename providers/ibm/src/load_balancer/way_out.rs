//! The way out from nodes to their own load balancer, where the nodes' security group lets nothing out by itself: a rule of that group for each
//! address of the load balancer and each port.
//!
//! The group is the cluster's, and has other rules: those of a Service are known by their names, which begin with its UID. A rule of somebody
//! else that lets the same out is as good.

use std::fmt::Arguments;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, Result, SortedSet};

use super::annotations::{IP_TYPE, OUTBOUND};
use super::ranges::SOON;
use super::rules::{self, LackingRule};
use crate::api::load_balancers::VpcBalancer;
use crate::api::security_groups::{self as api, LiveVpcRule, NamedVpcRule, VpcRule, VpcSecurityGroup};
use crate::settings::balancers::OUTBOUND_GROUP;

/// The way out to one Service's load balancer.
pub(super) struct WayOut<'a> {
    pub(super) service: &'a LoadBalancer,
    /// The id of the nodes' security group; `None` without the setting.
    pub(super) group: Option<&'a str>,
}

impl WayOut<'_> {
    /// The ports that nodes are to reach, each once. Nobody is asked.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, for a port that the Service does not have, without public addresses, and without the setting.
    pub(super) fn ports(&self) -> Result<SortedSet<u16>> {
        let annotations = Annotations::of(self.service);
        let Some(ports) = annotations.read(&OUTBOUND)? else { return Ok(SortedSet::new()) };
        let ports: SortedSet<u16> = ports.into_iter().collect();
        let refused = |why: Arguments<'_>| Err(Error::invalid(format_args!("annotation {}: {why}", OUTBOUND.name)));
        if self.group.is_none() {
            return refused(format_args!(
                "it needs setting {}, the id of the nodes' security group",
                OUTBOUND_GROUP.name
            ));
        }
        if !annotations.get(&IP_TYPE)? {
            return refused(format_args!("a private load balancer has no public addresses"));
        }
        let unknown = ports.iter().copied().find(|port| self.service.ports.iter().all(|it| it.port != *port));
        match unknown {
            Some(port) => refused(format_args!("{port} is no port of the Service")),
            None => Ok(ports),
        }
    }

    /// Makes the next rules that lack, and takes away those of addresses and ports of before. `None` if they are as desired.
    ///
    /// # Errors
    ///
    /// As [`Self::ports`], and `invalid` if there is no such group; whatever the cloud answered.
    pub(super) fn open(&self, live: &VpcBalancer, protocol: &str) -> Result<Option<Change<String>>> {
        let ports = self.ports()?;
        let Some(id) = self.group else { return Ok(None) };
        let Some(group) = api::find(id)? else {
            return match ports.is_empty() {
                true => Ok(None),
                false => Err(Error::invalid(format_args!(
                    "setting {}: there is no security group {id}",
                    OUTBOUND_GROUP.name
                ))),
            };
        };
        let rule = |address: &str, port: u16| NamedVpcRule {
            name: format!("{}{port}-{}", self.mark(), address.replace('.', "-")),
            rule: VpcRule::to_port(protocol, address, port),
        };
        let desired: Vec<NamedVpcRule> = live
            .public_addresses()
            .flat_map(|address| ports.iter().map(move |port| (address, *port)))
            .map(|(address, port)| rule(address, port))
            .collect();
        self.put_right(&group, &desired)
    }

    /// Takes the Service's rules out of the nodes' group.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn delete(&self) -> Result<Deletion> {
        let Some(group) = self.group.map_or(Ok(None), api::find)? else { return Ok(Deletion::Done) };
        self.delete_from(&[group])
    }

    /// Takes the Service's rules out of these groups: one that was the nodes' by the setting of before has some, too.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    pub(super) fn delete_from(&self, groups: &[VpcSecurityGroup]) -> Result<Deletion> {
        for group in groups {
            if let Some(Change::Done(why) | Change::Busy(why)) = self.put_right(group, &[])? {
                return Ok(Deletion::pending(self.service.status(), SOON, why));
            }
        }
        Ok(Deletion::Done)
    }

    /// The beginning of the names of the Service's rules.
    fn mark(&self) -> String {
        format!("kube-{}-", self.service.owner.uid.replace('-', ""))
    }

    /// A rule that is to be made and whose name another one has takes its place: so it is where the Service's protocol changes, and where
    /// somebody has changed one of ours.
    fn put_right(&self, group: &VpcSecurityGroup, desired: &[NamedVpcRule]) -> Result<Option<Change<String>>> {
        let mark = self.mark();
        let is_there = |it: &&NamedVpcRule| group.rules.iter().any(|live| live.is(&it.rule));
        let lacking: Vec<&NamedVpcRule> = desired.iter().filter(|it| !is_there(it)).collect();
        let is_replaced = |live: &LiveVpcRule| lacking.iter().any(|it| it.name == live.name);
        let is_wanted = |live: &LiveVpcRule| desired.iter().any(|it| live.is(&it.rule));
        let is_extra = |live: &&LiveVpcRule| live.name.starts_with(&mark) && !is_wanted(live) && !is_replaced(live);
        let remove = |live: &LiveVpcRule| api::remove_rule(&group.id, &live.id);
        let adding = lacking.iter().map(|rule| LackingRule {
            instead_of: group.rules.iter().find(|live| live.name == rule.name).map(remove),
            add: api::add_rule(&group.id, rule),
        });
        rules::write(group, adding, group.rules.iter().filter(is_extra).map(remove))
    }
}
