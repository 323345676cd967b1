//! The part of the cloud that a call is about: it reads no more.

use aerostat_sdk::{LoadBalancer, SortedSet};

use super::memo::AzureMemo;
use crate::id::same;
use crate::settings::balancers::AzureBalancerSettings;

/// The objects that a call reads.
#[derive(Clone, Debug)]
pub(crate) struct CallScope {
    /// The load balancers on which its Services are, may be, or are to be.
    pub(crate) balancers: SortedSet<String>,
    /// The resource groups of their public addresses, and the cluster's.
    pub(crate) groups: SortedSet<String>,
    /// The addresses that they show.
    pub(crate) addresses: SortedSet<String>,
}

impl CallScope {
    /// Nothing but the cluster's group.
    pub(crate) fn new(settings: &AzureBalancerSettings) -> Self {
        let groups = SortedSet::from([settings.account.group.clone()]);
        Self { balancers: SortedSet::new(), groups, addresses: SortedSet::new() }
    }

    /// Adds a Service with this memo, which is on the load balancer that its memo names. Where the memo does not say that, it may be on
    /// any.
    pub(crate) fn add(&mut self, service: &LoadBalancer, memo: &AzureMemo, settings: &AzureBalancerSettings) {
        let all = settings.all_balancer_names();
        let is_on = |name: &String| !memo.is_new && !memo.is_moving && same(name, &memo.balancer);
        match all.iter().find(|it| is_on(it)) {
            Some(one) => _ = self.balancers.insert(one.clone()),
            None => self.balancers.extend(all),
        }
        self.addresses.extend(service.current_ingress.iter().filter_map(|it| it.ip.clone()));
    }
}
