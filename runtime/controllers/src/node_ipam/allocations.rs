//! Which node has which blocks, by the UIDs of nodes. Values only.

use std::collections::HashMap;

use ipnet::IpNet;

use crate::node_ipam::cidr_set::{CidrSet, Exhausted, Next, OutOfRange, overlap};

/// The blocks of all cluster CIDRs, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Allocations {
    sets: Vec<CidrSet>,
    /// Networks that no node gets a part of.
    services: Vec<IpNet>,
    /// By UID.
    nodes: HashMap<String, Allocation>,
    counts: Vec<Count>,
}

/// What one node has: its nth network is of the nth cluster CIDR.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allocation {
    pub(crate) node: String,
    pub(crate) cidrs: Vec<IpNet>,
    pub(crate) state: State,
}

/// What is known of a node's blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// Its Node has them.
    Stored,
    /// They are set aside, and no write of them can have happened.
    Reserved,
    /// They are set aside, and a write of them has happened, or may yet happen, or not.
    Doubtful,
}

/// What came of taking the networks that a node has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Stored {
    /// The first that belongs to no cluster CIDR, and its place.
    pub(crate) outside: Option<(usize, OutOfRange)>,
    /// Another node that has them too.
    pub(crate) shared: Option<String>,
}

/// Blocks of one cluster CIDR that were taken and given back since the last question about it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Count {
    pub(crate) taken: u64,
    pub(crate) released: u64,
    /// For each block that was given out, how many taken ones were met before it.
    pub(crate) tries: Vec<u64>,
}

/// What the blocks of one cluster CIDR are at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cluster: IpNet,
    pub(crate) used: u64,
    pub(crate) size: u64,
    pub(crate) count: Count,
}

impl Allocations {
    /// Nothing is given out, and nothing of `services` ever is.
    pub(crate) fn new(sets: Vec<CidrSet>, services: Vec<IpNet>) -> Self {
        let counts = vec![Count::default(); sets.len()];
        let mut allocations = Self { sets, services, nodes: HashMap::new(), counts };
        for index in 0..allocations.sets.len() {
            for service in allocations.services.clone() {
                // Most service networks lie elsewhere.
                let _ = allocations.occupy(index, &service);
            }
        }
        allocations
    }

    /// What a node has.
    pub(crate) fn of(&self, uid: &str) -> Option<&Allocation> {
        self.nodes.get(uid)
    }

    /// All UIDs, with the names of their nodes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.nodes.iter().map(|(uid, it)| (uid.as_str(), it.node.as_str()))
    }

    /// Whether there is an nth cluster CIDR.
    pub(crate) fn has(&self, index: usize) -> bool {
        index < self.sets.len()
    }

    /// Sets a block of each cluster CIDR aside for a node: of all of them, or of none.
    ///
    /// The error names the cluster CIDR that has none left.
    pub(crate) fn reserve(&mut self, uid: &str, node: &str) -> Result<Vec<IpNet>, (usize, Exhausted)> {
        let mut cidrs = Vec::new();
        for index in 0..self.sets.len() {
            match self.sets[index].next() {
                Ok(Next { cidr, tries }) => {
                    self.counts[index].taken += 1;
                    self.counts[index].tries.push(tries);
                    cidrs.push(cidr);
                }
                Err(exhausted) => {
                    self.give_back(&cidrs);
                    return Err((index, exhausted));
                }
            }
        }
        let allocation = Allocation { node: node.to_owned(), cidrs: cidrs.clone(), state: State::Reserved };
        self.nodes.insert(uid.to_owned(), allocation);
        Ok(cidrs)
    }

    /// A node has these networks by its own spec, whatever was set aside for it: they are taken from now on.
    pub(crate) fn store(&mut self, uid: &str, node: &str, cidrs: &[IpNet]) -> Stored {
        let is_new = self.nodes.get(uid).is_none_or(|it| it.cidrs != cidrs);
        if is_new {
            self.release(uid);
        }
        let (mut outside, before) = (None, self.used());
        for (index, cidr) in cidrs.iter().enumerate().take(self.sets.len()) {
            if let Err(error) = self.occupy(index, cidr) {
                outside.get_or_insert((index, error));
            }
        }
        // Whoever takes nothing that was free shares it.
        let shared = if is_new && self.used() == before { self.other(cidrs).map(str::to_owned) } else { None };
        let allocation = Allocation { node: node.to_owned(), cidrs: cidrs.to_vec(), state: State::Stored };
        self.nodes.insert(uid.to_owned(), allocation);
        Stored { outside, shared }
    }

    /// A node that has one of these networks.
    fn other(&self, cidrs: &[IpNet]) -> Option<&str> {
        let has_one = |it: &Allocation| it.cidrs.iter().any(|own| cidrs.iter().any(|it| overlap(own, it)));
        self.nodes.values().find(|it| has_one(it)).map(|it| it.node.as_str())
    }

    fn used(&self) -> u64 {
        self.sets.iter().map(CidrSet::used).sum()
    }

    /// Says what is known by now. Nothing happens to a node that has gone meanwhile.
    pub(crate) fn set(&mut self, uid: &str, state: State) {
        if let Some(allocation) = self.nodes.get_mut(uid) {
            allocation.state = state;
        }
    }

    /// Gives back what a node has. Twice is once.
    pub(crate) fn release(&mut self, uid: &str) {
        if let Some(Allocation { cidrs, .. }) = self.nodes.remove(uid) {
            self.give_back(&cidrs);
        }
    }

    /// What each cluster CIDR is at. What is counted begins again.
    pub(crate) fn usage(&mut self) -> Vec<Usage> {
        let usage = |(set, count): (&CidrSet, &mut Count)| Usage {
            cluster: set.cluster(),
            used: set.used(),
            size: set.size(),
            count: std::mem::take(count),
        };
        self.sets.iter().zip(&mut self.counts).map(usage).collect()
    }

    /// A cluster CIDR of which nothing is left.
    pub(crate) fn full(&self) -> Option<IpNet> {
        self.sets.iter().find(|it| it.used() == it.size()).map(CidrSet::cluster)
    }

    fn occupy(&mut self, index: usize, cidr: &IpNet) -> Result<(), OutOfRange> {
        self.counts[index].taken += self.sets[index].occupy(cidr)?;
        Ok(())
    }

    /// What another node has, or Services, stays taken.
    fn give_back(&mut self, cidrs: &[IpNet]) {
        let Self { sets, services, nodes, counts } = self;
        for ((set, count), cidr) in sets.iter_mut().zip(counts).zip(cidrs) {
            let is_needed = |block: &IpNet| {
                let mut others = services.iter().chain(nodes.values().flat_map(|it| &it.cidrs));
                others.any(|it| overlap(it, block))
            };
            // What lies outside was never taken.
            count.released += set.release(cidr, is_needed).unwrap_or(0);
        }
    }
}
