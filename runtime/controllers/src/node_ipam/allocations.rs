//! Which node has which blocks, by the UIDs of nodes. Values only.
//!
//! A node has one block of each cluster CIDR at most, whatever its Node says: what is to be done for it costs as much as
//! that, however large a network its kubelet has made up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ipnet::IpNet;

use crate::node_ipam::cidr_set::{BlockPlace, CidrSet, Exhausted, GivenBlock, overlap};

/// The blocks of all cluster CIDRs, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Allocations {
    sets: Vec<CidrSet>,
    /// Networks that no node gets a part of.
    services: Vec<IpNet>,
    /// By UID.
    nodes: HashMap<String, Allocation>,
    /// The UIDs of the nodes that have a block, by the place of its cluster CIDR and its own.
    owners: HashMap<(usize, u64), Vec<String>>,
    counts: Vec<BlockCount>,
}

/// The blocks of one node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allocation {
    pub(crate) node: String,
    pub(crate) cidrs: Vec<IpNet>,
    pub(crate) state: BlockState,
    /// Its parts of cluster CIDRs, by their places.
    held: Vec<(usize, HeldPart)>,
}

/// A node's part of one cluster CIDR.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HeldPart {
    /// This block.
    Block(u64),
    /// No block: its network is wider than one.
    Wide(IpNet),
}

/// The state of a node's blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BlockState {
    /// Its Node has them.
    Stored,
    /// They are set aside, and no write of them can have happened.
    Reserved,
    /// They are set aside, and a write of them has happened, or may yet happen, or not.
    Doubtful,
}

/// Why a network of a node has no block, or not for it alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum WhyNoBlock {
    /// It lies in no cluster CIDR, of which this is the one at its place.
    Outside(IpNet),
    /// There are fewer cluster CIDRs.
    TooMany,
    /// It is wider than a block with this prefix length of this cluster CIDR.
    Wide(IpNet, u8),
    /// It is, or overlaps, the network of Services.
    Services(IpNet),
    /// It is, or overlaps, what the node with this name has.
    Shared(String),
}

/// Blocks of one cluster CIDR that were taken and given back since the last question about it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct BlockCount {
    pub(crate) taken: u64,
    pub(crate) released: u64,
    /// For each block that was given out, how many taken ones were met before it.
    pub(crate) tries: Vec<u64>,
}

/// The use of the blocks of one cluster CIDR.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cluster: IpNet,
    pub(crate) used: u64,
    pub(crate) size: u64,
    pub(crate) count: BlockCount,
}

impl Allocations {
    /// Nothing is given out, and nothing of `services` ever is.
    pub(crate) fn new(mut sets: Vec<CidrSet>, services: Vec<IpNet>) -> Self {
        // Most service networks lie elsewhere.
        let taken = |set: &mut CidrSet| services.iter().map(|it| set.take_all(it)).sum();
        let counts = sets.iter_mut().map(|set| BlockCount { taken: taken(set), ..BlockCount::default() }).collect();
        Self { sets, services, nodes: HashMap::new(), owners: HashMap::new(), counts }
    }

    /// The blocks of a node.
    pub(crate) fn of(&self, uid: &str) -> Option<&Allocation> {
        self.nodes.get(uid)
    }

    /// All UIDs, with the names of their nodes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.nodes.iter().map(|(uid, it)| (uid.as_str(), it.node.as_str()))
    }

    /// The cluster CIDRs.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = IpNet> {
        self.sets.iter().map(CidrSet::cluster)
    }

    /// Sets a block of each cluster CIDR aside for a node: of all of them, or of none.
    ///
    /// The error names the cluster CIDR that has none left.
    pub(crate) fn reserve(&mut self, uid: &str, node: &str) -> Result<Vec<IpNet>, (usize, Exhausted)> {
        let (mut cidrs, mut held) = (Vec::new(), Vec::new());
        for place in 0..self.sets.len() {
            match self.sets[place].next() {
                Ok(GivenBlock { cidr, index, tries }) => {
                    self.counts[place].taken += 1;
                    self.counts[place].tries.push(tries);
                    self.owners.entry((place, index)).or_default().push(uid.to_owned());
                    cidrs.push(cidr);
                    held.push((place, HeldPart::Block(index)));
                }
                Err(exhausted) => {
                    self.give_back(uid, &held);
                    return Err((place, exhausted));
                }
            }
        }
        let allocation = Allocation { node: node.to_owned(), cidrs: cidrs.clone(), state: BlockState::Reserved, held };
        self.nodes.insert(uid.to_owned(), allocation);
        Ok(cidrs)
    }

    /// A node has these networks by its own spec, whatever was set aside for it: their blocks are taken from now on, one
    /// of each cluster CIDR. What a network is not or not alone is said with its place, for the first of which that is so.
    pub(crate) fn store(&mut self, uid: &str, node: &str, cidrs: &[IpNet]) -> Option<(usize, WhyNoBlock)> {
        match self.nodes.get_mut(uid).filter(|it| it.cidrs == cidrs) {
            Some(known) => known.state = BlockState::Stored,
            None => {
                self.release(uid);
                let held = self.hold(uid, cidrs);
                let allocation =
                    Allocation { node: node.to_owned(), cidrs: cidrs.to_vec(), state: BlockState::Stored, held };
                self.nodes.insert(uid.to_owned(), allocation);
            }
        }
        cidrs.iter().enumerate().find_map(|(nth, cidr)| Some((nth, self.why(uid, nth, cidr)?)))
    }

    /// Takes the blocks of a node's networks.
    fn hold(&mut self, uid: &str, cidrs: &[IpNet]) -> Vec<(usize, HeldPart)> {
        let mut held: Vec<(usize, HeldPart)> = Vec::new();
        for cidr in cidrs {
            let Some((place, it)) = self.place(cidr) else { continue };
            // The API server lets a node have one network of each family.
            if held.iter().any(|(other, _)| *other == place) {
                continue;
            }
            match it {
                HeldPart::Block(index) => {
                    self.counts[place].taken += u64::from(self.sets[place].take(index));
                    self.owners.entry((place, index)).or_default().push(uid.to_owned());
                }
                HeldPart::Wide(cidr) => self.sets[place].widen(&cidr),
            }
            held.push((place, it));
        }
        held
    }

    /// The part that a network takes of its cluster CIDR: a node may have its families in another order.
    fn place(&self, cidr: &IpNet) -> Option<(usize, HeldPart)> {
        let mut places = self.sets.iter().map(|it| it.place(cidr)).enumerate();
        places.find_map(|(place, it)| match it {
            BlockPlace::Block(index) => Some((place, HeldPart::Block(index))),
            BlockPlace::Wide => Some((place, HeldPart::Wide(*cidr))),
            BlockPlace::Outside => None,
        })
    }

    fn why(&self, uid: &str, nth: usize, cidr: &IpNet) -> Option<WhyNoBlock> {
        match self.place(cidr) {
            None => Some(self.sets.get(nth).map_or(WhyNoBlock::TooMany, |it| WhyNoBlock::Outside(it.cluster()))),
            Some((place, HeldPart::Wide(_))) => {
                Some(WhyNoBlock::Wide(self.sets[place].cluster(), self.sets[place].mask()))
            }
            Some((place, HeldPart::Block(index))) => {
                let services = self.services.iter().find(|it| overlap(it, cidr)).map(|it| WhyNoBlock::Services(*it));
                services.or_else(|| self.other(uid, (place, index), cidr).map(WhyNoBlock::Shared))
            }
        }
    }

    /// Another node that has a part of a network, all of which lies in one block.
    fn other(&self, uid: &str, block: (usize, u64), cidr: &IpNet) -> Option<String> {
        let others = self.owners.get(&block)?.iter().filter(|it| *it != uid).filter_map(|it| self.nodes.get(it));
        let mut others = others.filter(|it| it.cidrs.iter().any(|own| overlap(own, cidr)));
        others.next().map(|it| it.node.clone())
    }

    /// Says what is known by now. Nothing happens to a node that has gone meanwhile.
    pub(crate) fn set(&mut self, uid: &str, state: BlockState) {
        if let Some(allocation) = self.nodes.get_mut(uid) {
            allocation.state = state;
        }
    }

    /// Gives back what a node has. Twice is once.
    pub(crate) fn release(&mut self, uid: &str) {
        if let Some(Allocation { held, .. }) = self.nodes.remove(uid) {
            self.give_back(uid, &held);
        }
    }

    /// The use of each cluster CIDR. Counts begin again.
    pub(crate) fn usage(&mut self) -> Vec<Usage> {
        let usage = |(set, count): (&CidrSet, &mut BlockCount)| Usage {
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

    /// Blocks of another node, or of Services, stay taken.
    fn give_back(&mut self, uid: &str, held: &[(usize, HeldPart)]) {
        for (place, it) in held {
            let set = &mut self.sets[*place];
            let index = match it {
                HeldPart::Wide(cidr) => {
                    set.narrow(cidr);
                    continue;
                }
                HeldPart::Block(index) => *index,
            };
            if let Entry::Occupied(mut owners) = self.owners.entry((*place, index)) {
                owners.get_mut().retain(|it| it != uid);
                if owners.get().is_empty() {
                    owners.remove();
                    let block = set.block(index);
                    if !self.services.iter().any(|it| overlap(it, &block)) {
                        self.counts[*place].released += u64::from(set.give_back(index));
                    }
                }
            }
        }
    }
}
