//! Everything that exists in an account, and when.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::simulator::{CloudClock, End, Settles};

use super::behaviour::Behaviour;
use super::errors::{Refused, busy};
use super::job_list::AcsJobs;
use super::route_writer::RouteWriter;
use super::table::Table;

/// Everything that exists. Changes whose time has come end at the next request.
pub struct World {
    /// How the APIs behave.
    pub behaviour: Behaviour,
    /// Machines.
    pub instances: Table,
    /// Their network interfaces.
    pub interfaces: Table,
    /// Disks.
    pub disks: Table,
    /// Security groups.
    pub security: Table,
    /// Networks.
    pub vpcs: Table,
    /// Parts of networks.
    pub switches: Table,
    /// Route tables.
    pub route_tables: Table,
    /// Entries of route tables.
    pub routes: Table,
    /// Classic Load Balancers.
    pub balancers: Table,
    /// Their listeners.
    pub listeners: Table,
    /// Their groups of machines.
    pub groups: Table,
    /// Certificates of their listeners for further domains.
    pub domains: Table,
    /// Lists of access.
    pub access: Table,
    /// Network Load Balancers.
    pub network_balancers: Table,
    /// Their listeners.
    pub network_listeners: Table,
    /// Their groups of machines.
    pub network_groups: Table,
    /// The number of the account.
    pub(super) owner: u64,
    pub(super) jobs: AcsJobs<World>,
    /// Changes of route tables that go on.
    pub(super) routing: Vec<RouteWriter>,
    /// Classic Load Balancers that carry out a change.
    configuring: BTreeMap<String, End>,
    /// The ids of what was made with a token, by action and token.
    tokens: BTreeMap<(String, String), String>,
    count: u64,
    clock: CloudClock,
}

impl Settles for World {
    fn settle(&mut self) {
        let now = self.time();
        self.configuring.retain(|_, end| !end.is_due(now));
        self.end_routing(now);
        for (change, succeeded) in self.jobs.end_due(now) {
            change(self, succeeded);
        }
    }
}

impl World {
    /// An account with a network and nothing in it.
    pub(super) fn new(behaviour: Behaviour, owner: u64) -> World {
        let mut world = World {
            behaviour,
            instances: Table::default(),
            interfaces: Table::default(),
            disks: Table::default(),
            security: Table::default(),
            vpcs: Table::default(),
            switches: Table::default(),
            route_tables: Table::default(),
            routes: Table::default(),
            balancers: Table::default(),
            listeners: Table::default(),
            groups: Table::default(),
            domains: Table::default(),
            access: Table::default(),
            network_balancers: Table::default(),
            network_listeners: Table::default(),
            network_groups: Table::default(),
            owner,
            jobs: AcsJobs::default(),
            routing: Vec::new(),
            configuring: BTreeMap::new(),
            tokens: BTreeMap::new(),
            count: 0,
            clock: CloudClock::default(),
        };
        world.build_plain();
        world
    }

    /// The time of the cloud.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        self.clock.now()
    }

    /// Lets time pass for the cloud.
    pub fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        self.settle();
    }

    /// A new id.
    pub(super) fn next(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{:04}", self.count)
    }

    /// A number that no other call has got.
    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The objects of a table that are so, and that a list shows by now.
    pub(super) fn listed(&self, table: impl Fn(&World) -> &Table, is: impl Fn(&Value) -> bool) -> Vec<Value> {
        let listed = table(self).listed(self.time(), self.behaviour.lists_late_by);
        listed.filter(|(_, it)| is(it)).map(|(_, it)| it.clone()).collect()
    }

    /// The id that an earlier request with this token has got.
    pub(super) fn made_with(&self, action: &str, token: &str) -> Option<&str> {
        self.tokens.get(&(action.to_owned(), token.to_owned())).map(String::as_str)
    }

    /// Remembers a request with a token.
    pub(super) fn remember(&mut self, action: &str, token: &str, id: &str) {
        if !token.is_empty() {
            self.tokens.insert((action.to_owned(), token.to_owned()), id.to_owned());
        }
    }

    /// Begins a change of a Classic Load Balancer: it takes no other one until that is over.
    pub(super) fn configure(&mut self, balancer: &str) {
        let end = self.behaviour.configuring.begun(self.time());
        self.configuring.insert(balancer.to_owned(), end);
    }

    /// Refuses a change of a Classic Load Balancer that carries out an earlier one.
    pub(super) fn is_configurable(&self, balancer: &str, code: &str) -> Result<(), Refused> {
        if self.configuring.contains_key(balancer) { Err(busy(code, balancer)) } else { Ok(()) }
    }

    /// Counts that a load balancer, or what is in it, was read.
    pub(super) fn count_read(&mut self, id: &str) {
        if let Some(end) = self.configuring.get_mut(id) {
            end.count_read();
        }
        self.jobs.count_read(id);
    }

    /// Whether nothing goes on in the account.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.configuring.is_empty() && self.jobs.are_over() && self.routing.is_empty()
    }
}
