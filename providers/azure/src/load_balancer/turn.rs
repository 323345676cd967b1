//! One Service of a batch, and what came of its turn.

use std::time::Duration;

use aerostat_sdk::{Error, Ingress, LoadBalancer, LoadBalancerStatus, Node, Progress, Result};

use super::cloud::BalancerCloud;
use super::ending;
use super::goal::ServiceGoal;
use super::memo::{AzureMemo, MOST};
use super::placement::Placement;
use super::reach::ServiceReach;
use super::writing::{POLL, SharedWrite};

/// A Service of a batch.
pub(crate) struct ServiceTurn<'a> {
    pub(crate) service: &'a LoadBalancer,
    pub(crate) nodes: Vec<&'a Node>,
    pub(crate) goal: ServiceGoal,
    pub(crate) place: Placement,
    pub(crate) memo: AzureMemo,
    /// Addresses and ports that it had before this call.
    pub(crate) reach: ServiceReach,
    /// Whether its addresses are there, and it waits for no other Service's.
    pub(crate) has_addresses: bool,
    wait: Option<(Duration, String)>,
    error: Option<Error>,
    operations: Vec<String>,
    /// Operations for whose ends it waits, and for nothing else.
    ends: Vec<String>,
    /// Whether something may have been written whose name is not the Service's own.
    is_written: bool,
}

impl<'a> ServiceTurn<'a> {
    /// A Service before its turn.
    pub(crate) fn new(
        service: &'a LoadBalancer,
        nodes: Vec<&'a Node>,
        goal: ServiceGoal,
        place: Placement,
        memo: AzureMemo,
        reach: ServiceReach,
    ) -> Self {
        let (wait, error, operations, ends) = (None, None, Vec::new(), Vec::new());
        Self {
            service,
            nodes,
            goal,
            place,
            memo,
            reach,
            has_addresses: true,
            wait,
            error,
            operations,
            ends,
            is_written: false,
        }
    }

    /// Whether its next step may be taken.
    pub(crate) fn goes_on(&self) -> bool {
        self.wait.is_none() && self.error.is_none()
    }

    /// Whether nothing was refused so far.
    pub(crate) fn is_served(&self) -> bool {
        self.error.is_none()
    }

    /// It waits for this. The first reason stays.
    pub(crate) fn wait(&mut self, why: impl Into<String>) {
        self.wait_for(POLL, why.into());
    }

    fn wait_for(&mut self, pause: Duration, why: String) {
        self.wait.get_or_insert((pause, why));
    }

    /// It cannot be served. The first reason stays.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// An operation goes on for it.
    pub(crate) fn begun(&mut self, operation: Option<String>) {
        self.operations.extend(operation);
    }

    /// Hears the outcome of a write that it shares with others.
    pub(crate) fn heard(&mut self, written: &Result<SharedWrite>) {
        self.is_written = true;
        match written {
            Ok(SharedWrite::Done) => {}
            Ok(SharedWrite::Waits(pause, why, operation)) => {
                self.begun(operation.clone());
                self.wait_for(*pause, why.clone());
            }
            Ok(SharedWrite::Ends(operations)) => self.ends.extend(operations.iter().cloned()),
            Err(error) => self.refuse(error.clone()),
        }
    }

    /// Its addresses: those of its frontends, and further ones.
    pub(crate) fn addresses(&self, cloud: &BalancerCloud) -> Vec<String> {
        let own = self.place.frontends.iter().filter_map(|entry| {
            let public = || {
                let public = cloud.public(entry.public.as_deref()?)?;
                crate::api::fields::word(public, "/properties/ipAddress").map(str::to_owned)
            };
            cloud.address(&self.place.balancer, &entry.name).or_else(public)
        });
        let mut all: Vec<String> = own.collect();
        all.extend(self.goal.additional.iter().cloned());
        all
    }

    /// The answer.
    pub(crate) fn answer(self, cloud: &BalancerCloud) -> Result<Progress> {
        let addresses = self.addresses(cloud);
        let has_link = self.goal.link.is_some() || (self.memo.has_link && !self.goes_on());
        let is_done = self.goes_on();
        let mut operations = self.operations;
        operations.extend(self.ends.iter().cloned());
        if self.wait.is_some() {
            operations.extend(self.memo.operations.iter().cloned());
        }
        operations.dedup();
        // The Service shows all that it is to show, and its memo has room for all operations.
        let shown = self.service.current_ingress.iter().map(|it| it.ip.as_deref().unwrap_or_default());
        let is_last = is_done && !self.ends.is_empty() && operations.len() <= MOST && shown.eq(&addresses);
        let asked = is_last.then(|| ending::asked(self.service, &self.nodes));
        let is_moving = self.memo.is_moving && !is_done;
        let is_first = self.memo.is_new && !is_done;
        let balancer = self.place.balancer;
        let memo = AzureMemo { balancer, operations, has_link, is_moving, is_first, asked, is_new: false };
        match (self.error, self.wait) {
            (Some(error), _) if self.memo.is_new && !self.is_written => Err(error),
            (Some(error), _) => Ok(Progress::failed(memo.status(self.service), error)),
            (None, Some((pause, why))) => Ok(Progress::pending(memo.status(self.service), pause, why)),
            (None, None) if !self.ends.is_empty() => {
                Ok(Progress::pending(memo.status(self.service), POLL, ending::WHY))
            }
            (None, None) => {
                let ingress = addresses.into_iter().map(Ingress::ip).collect();
                Ok(Progress::Ready(LoadBalancerStatus { ingress, ..memo.status(self.service) }))
            }
        }
    }
}
