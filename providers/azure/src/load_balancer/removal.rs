//! Services that go: rules that let clients in, then their parts of load balancers, then public addresses. What something else uses stays
//! until that is gone.

use std::time::Duration;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Deletion, Error, LoadBalancer, Result};
use serde_json::Value;

use super::addresses::{self, PublicState};
use super::annotations::{INTERNAL, PIP_PREFIX, PIP_PREFIX_IPV6, RESOURCE_GROUP};
use super::balancer::BalancerMembers;
use super::batch::has_parts;
use super::cloud::BalancerCloud;
use super::groups::GroupMember;
use super::memo::AzureMemo;
use super::names::AzureNames;
use super::private_link;
use super::reach::ServiceReach;
use super::scope::CallScope;
use super::tree::parts;
use super::writing::{POLL, SharedWrite, write_balancer, write_group};
use crate::api::fields::text;
use crate::api::writes::is_changing;
use crate::settings::balancers::AzureBalancerSettings;

/// A Service that goes.
struct LeavingService<'a> {
    service: &'a LoadBalancer,
    owner: String,
    memo: AzureMemo,
    reach: ServiceReach,
    wait: Option<(Duration, String)>,
    error: Option<Error>,
}

impl LeavingService<'_> {
    fn goes_on(&self) -> bool {
        self.wait.is_none() && self.error.is_none()
    }

    fn heard(&mut self, written: &Result<SharedWrite>) {
        match written {
            Ok(SharedWrite::Done) => {}
            Ok(SharedWrite::Waits(pause, why, _)) => _ = self.wait.get_or_insert((*pause, why.clone())),
            Ok(SharedWrite::Ends(_)) => _ = self.wait.get_or_insert((POLL, "nodes are leaving it".to_owned())),
            Err(error) => _ = self.error.get_or_insert(error.clone()),
        }
    }

    fn answer(self) -> Result<Deletion> {
        match (self.error, self.wait) {
            (Some(error), _) => Err(error),
            (None, Some((pause, why))) => Ok(Deletion::pending(self.service.status(), pause, why)),
            (None, None) => Ok(Deletion::Done),
        }
    }
}

/// Takes one step towards the absence of each of these Services. One answer for each, in the same order.
pub(crate) fn delete(unwanted: &[LoadBalancer]) -> Vec<Result<Deletion>> {
    match prepared(unwanted) {
        Ok((settings, mut cloud)) => answers(unwanted, &settings, &mut cloud),
        Err(error) => unwanted.iter().map(|_| Err(error.clone())).collect(),
    }
}

fn prepared(unwanted: &[LoadBalancer]) -> Result<(AzureBalancerSettings, BalancerCloud)> {
    let settings = AzureBalancerSettings::read()?;
    let mut scope = CallScope::new(&settings);
    for service in unwanted {
        // Parts are found by their names: with a memo that cannot be read, on any load balancer.
        scope.add(service, &AzureMemo::of(service).unwrap_or_default(), &settings);
        // An annotation that cannot be read was never obeyed.
        scope.groups.extend(Annotations::of(service).read(&RESOURCE_GROUP).ok().flatten());
    }
    let mut cloud = BalancerCloud::read(&settings, &scope)?;
    for service in unwanted {
        if cloud.check_read(&group_of(service, &settings)).is_ok() {
            read_publics(service, &settings, &mut cloud)?;
        }
    }
    Ok((settings, cloud))
}

/// The resource group of a Service's public addresses.
fn group_of(service: &LoadBalancer, settings: &AzureBalancerSettings) -> String {
    let named = Annotations::of(service).read(&RESOURCE_GROUP).ok().flatten();
    named.unwrap_or_else(|| settings.account.group.clone())
}

/// Reads the public addresses that a Service may have made a moment ago: a list may show them late.
fn read_publics(service: &LoadBalancer, settings: &AzureBalancerSettings, cloud: &mut BalancerCloud) -> Result<()> {
    let annotations = Annotations::of(service);
    let group = group_of(service, settings);
    if annotations.read(&INTERNAL).ok().flatten() == Some(true) {
        return Ok(());
    }
    let names = AzureNames::of(service, None);
    let is_dual = service.ip_families.len() > 1;
    let prefix = |row| annotations.read(row).ok().flatten();
    let mut all = vec![names.public(&settings.cluster, prefix(&PIP_PREFIX).as_deref(), false)];
    all.extend(is_dual.then(|| names.public(&settings.cluster, prefix(&PIP_PREFIX_IPV6).as_deref(), true)));
    for name in all {
        addresses::read_public(&settings.public_id(&group, &name), cloud)?;
    }
    Ok(())
}

fn answers(
    unwanted: &[LoadBalancer],
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
) -> Vec<Result<Deletion>> {
    let mut all = Vec::new();
    for service in unwanted {
        let owner = format!("{}/{}", service.owner.namespace, service.owner.name);
        let reach = ServiceReach::of(service, &owner, None, settings, cloud);
        // Parts are found by their names: a memo that cannot be read keeps nothing.
        let memo = AzureMemo::of(service).unwrap_or_default();
        // Where addresses cannot be read, there may be one: but not of a Service for which nothing was ever made.
        let was_made = service.memo.is_some() || !service.current_ingress.is_empty();
        let error = cloud.check_read(&group_of(service, settings)).err().filter(|_| was_made);
        all.push(LeavingService { service, owner, memo, reach, wait: None, error });
    }
    leave_group(&mut all, settings, cloud);
    leave_links(&mut all, settings, cloud);
    leave_balancers(&mut all, settings, cloud);
    leave_publics(&mut all, settings, cloud);
    all.into_iter().map(LeavingService::answer).collect()
}

fn leave_group(all: &mut [LeavingService<'_>], settings: &AzureBalancerSettings, cloud: &mut BalancerCloud) {
    let mut members = Vec::new();
    for it in all.iter() {
        let ServiceReach { former, node_ports, others } = it.reach.clone();
        members.push(GroupMember { former, node_ports, others, ..GroupMember::default() });
    }
    let written = write_group(settings, cloud, &members);
    all.iter_mut().for_each(|it| it.heard(&written));
}

fn leave_links(all: &mut [LeavingService<'_>], settings: &AzureBalancerSettings, cloud: &BalancerCloud) {
    for it in all.iter_mut().filter(|it| it.error.is_none()) {
        let internal = settings.balancer_names(true);
        let is_internal = internal.iter().any(|name| has_parts(cloud, name, &it.service.name));
        if it.memo.has_link || (it.service.memo.is_none() && is_internal) {
            let left = private_link::remove(it.service, settings);
            it.heard(&left.map(|why| why.map_or(SharedWrite::Done, SharedWrite::waits)));
        }
    }
}

/// Takes parts out of load balancers also while the security group is being changed: they are different objects.
fn leave_balancers(all: &mut [LeavingService<'_>], settings: &AzureBalancerSettings, cloud: &mut BalancerCloud) {
    for name in settings.all_balancer_names() {
        let meant: Vec<usize> = (0..all.len())
            .filter(|at| all[*at].error.is_none() && has_parts(cloud, &name, &all[*at].service.name))
            .collect();
        // A write of an earlier call may go on.
        let changing = cloud.balancer(&name).filter(|it| is_changing(it));
        for it in all.iter_mut().filter(|it| changing.is_some() && it.memo.balancer.eq_ignore_ascii_case(&name)) {
            it.heard(&Ok(SharedWrite::waits(format!("load balancer {name} is being changed"))));
        }
        if meant.is_empty() && !is_empty(cloud, &name) {
            continue;
        }
        let leaving = meant.iter().map(|at| {
            let service = all[*at].service;
            (service.name.as_str(), format!("{}-{}", service.owner.namespace, service.owner.name))
        });
        let members = BalancerMembers { present: Vec::new(), leaving: leaving.collect() };
        let written = write_balancer(settings, cloud, &name, &members);
        match meant.is_empty() {
            // It is being deleted since an earlier call.
            true => all.iter_mut().for_each(|it| it.heard(&written)),
            false => meant.into_iter().for_each(|at| all[at].heard(&written)),
        }
    }
}

/// Whether a load balancer has no frontend left: its deletion goes on, or was lost.
fn is_empty(cloud: &BalancerCloud, name: &str) -> bool {
    cloud.balancer(name).is_some_and(|it| parts(it, "frontendIPConfigurations").is_empty())
}

fn leave_publics(all: &mut [LeavingService<'_>], settings: &AzureBalancerSettings, cloud: &mut BalancerCloud) {
    for it in all.iter_mut().filter(|it| it.error.is_none()) {
        let base = &it.service.name;
        let unneeded: Vec<Value> =
            addresses::unneeded(base, &it.owner, &[], settings, cloud).into_iter().cloned().collect();
        for public in unneeded {
            if cloud.is_used(text(&public, "/id")) && !it.goes_on() {
                continue;
            }
            let released = addresses::release(&it.owner, &public, settings, cloud);
            it.heard(&released.map(|state| match state {
                PublicState::Ready => SharedWrite::Done,
                PublicState::Waits(why, operation) => SharedWrite::Waits(POLL, why, operation),
            }));
        }
    }
}
