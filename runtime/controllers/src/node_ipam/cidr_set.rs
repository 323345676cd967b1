//! The blocks of one cluster CIDR, one for each node: which are taken, and which is next. Values only.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ipnet::IpNet;

/// The most blocks of an IPv6 cluster CIDR, as a power of two: upstream's.
const MOST_V6: u8 = 16;
/// The most blocks of an IPv4 cluster CIDR, as a power of two. Upstream has no limit, and would take half a gigabyte.
const MOST_V4: u8 = 24;

/// A cluster CIDR, cut into blocks of one size.
#[derive(Clone, Debug)]
pub(crate) struct CidrSet {
    cluster: IpNet,
    /// The prefix length of a block.
    mask: u8,
    /// One bit for each block, set once it is taken. Bits behind the last block are set.
    taken: Vec<u64>,
    /// How many are taken.
    used: u64,
    /// Where the search for the next block begins.
    candidate: u64,
    /// Networks of several blocks, but not of all, that nodes have, and how many nodes have each.
    wide: HashMap<IpNet, usize>,
}

/// Why a cluster CIDR cannot be cut.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum CidrSetError {
    /// There would be too many blocks.
    #[error(
        "New CIDR set failed; the node CIDR size is too big: {cluster} would have 2^{bits} parts of /{mask}, and 2^{most} \
         is the most; give --node-cidr-mask-size a smaller number, or --cluster-cidr a longer prefix"
    )]
    TooBig {
        /// The cluster CIDR.
        cluster: IpNet,
        /// The prefix length of a block.
        mask: u8,
        /// How many blocks, as a power of two.
        bits: u8,
        /// How many there may be.
        most: u8,
    },
    /// A block would be larger than the whole, or there is no such prefix length.
    #[error("a node's part of {cluster} cannot be a /{mask}")]
    Mask {
        /// The cluster CIDR.
        cluster: IpNet,
        /// The prefix length of a block.
        mask: u8,
    },
}

/// Every block is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range")]
pub(crate) struct Exhausted;

/// Where a network lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BlockPlace {
    /// It is this block, or a part of it.
    Block(u64),
    /// It is wider than a block.
    Wide,
    /// It has nothing to do with the cluster CIDR.
    Outside,
}

/// A block that was given out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct GivenBlock {
    /// The block.
    pub(crate) cidr: IpNet,
    /// Its place in the cluster CIDR, from 0 on.
    pub(crate) index: u64,
    /// How many taken blocks were met before it.
    pub(crate) tries: u64,
}

impl CidrSet {
    /// All of `cluster`, in blocks with the prefix length `mask`; none is taken.
    pub(crate) fn new(cluster: IpNet, mask: u8) -> Result<Self, CidrSetError> {
        let cluster = cluster.trunc();
        if mask < cluster.prefix_len() || mask > cluster.max_prefix_len() {
            return Err(CidrSetError::Mask { cluster, mask });
        }
        let bits = mask - cluster.prefix_len();
        let most = if is_v6(&cluster) { MOST_V6 } else { MOST_V4 };
        if bits > most {
            return Err(CidrSetError::TooBig { cluster, mask, bits, most });
        }
        let size = 1_u64 << bits;
        let mut taken = vec![0; usize::try_from(size.div_ceil(64)).unwrap_or(usize::MAX)];
        if size < 64 {
            taken[0] = !0 << size;
        }
        Ok(Self { cluster, mask, taken, used: 0, candidate: 0, wide: HashMap::new() })
    }

    /// The cluster CIDR.
    pub(crate) fn cluster(&self) -> IpNet {
        self.cluster
    }

    /// How many blocks there are.
    pub(crate) fn size(&self) -> u64 {
        1 << (self.mask - self.cluster.prefix_len())
    }

    /// How many blocks are taken.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The prefix length of a block.
    pub(crate) fn mask(&self) -> u8 {
        self.mask
    }

    /// Takes the next free block. The search goes on where the last one ended, and begins again at the end: a block that
    /// was given back is not given out again before all others were. Blocks inside of a network that [`Self::widen`]
    /// named come last, or never: [`is_kept`].
    pub(crate) fn next(&mut self) -> Result<GivenBlock, Exhausted> {
        let is_kept = |it: &IpNet| is_kept(&self.cluster, it);
        let index = self.free_and_not_in(|_| true).or_else(|| self.free_and_not_in(is_kept)).ok_or(Exhausted)?;
        let tries = (index + self.size() - self.candidate) % self.size();
        self.take(index);
        self.candidate = (index + 1) % self.size();
        Ok(GivenBlock { cidr: self.block(index), index, tries })
    }

    /// Where a network lies. It is in one block, or in none.
    pub(crate) fn place(&self, cidr: &IpNet) -> BlockPlace {
        match overlap(&self.cluster, cidr) {
            false => BlockPlace::Outside,
            true if cidr.prefix_len() < self.mask => BlockPlace::Wide,
            true => BlockPlace::Block(self.index(first(cidr))),
        }
    }

    /// Takes a block. Returns whether it was free.
    pub(crate) fn take(&mut self, index: u64) -> bool {
        let is_free = !self.is_taken(index);
        self.taken[word(index)] |= bit(index);
        self.used += u64::from(is_free);
        is_free
    }

    /// Gives a block back. Returns whether it was taken.
    pub(crate) fn give_back(&mut self, index: u64) -> bool {
        let is_taken = self.is_taken(index);
        self.taken[word(index)] &= !bit(index);
        self.used -= u64::from(is_taken);
        is_taken
    }

    /// Takes all blocks that a network touches. Returns how many were free.
    pub(crate) fn take_all(&mut self, cidr: &IpNet) -> u64 {
        let indexes = match self.place(cidr) {
            BlockPlace::Outside => return 0,
            BlockPlace::Block(index) => index..=index,
            BlockPlace::Wide if cidr.prefix_len() <= self.cluster.prefix_len() => 0..=self.size() - 1,
            BlockPlace::Wide => self.index(first(cidr))..=self.index(last(cidr)),
        };
        indexes.map(|it| u64::from(self.take(it))).sum()
    }

    /// A node has a network that is wider than a block: it takes none, and what lies in it is given out after all else, or
    /// never: [`is_kept`].
    pub(crate) fn widen(&mut self, cidr: &IpNet) {
        // Where all is avoided, nothing is.
        if cidr.prefix_len() > self.cluster.prefix_len() {
            *self.wide.entry(*cidr).or_default() += 1;
        }
    }

    /// A node has no such network any more.
    pub(crate) fn narrow(&mut self, cidr: &IpNet) {
        if let Entry::Occupied(mut nodes) = self.wide.entry(*cidr) {
            *nodes.get_mut() -= 1;
            if *nodes.get() == 0 {
                nodes.remove();
            }
        }
    }

    /// The first free block from this one on, and then from the beginning.
    fn free(&self, from: u64) -> Option<u64> {
        let (words, behind) = (self.taken.len(), !0 << (from % 64));
        (0..=words).find_map(|nth| {
            let at = (word(from) + nth) % words;
            let asked = match nth {
                0 => behind,
                _ if nth == words => !behind,
                _ => !0,
            };
            let free = !self.taken[at] & asked;
            (free != 0).then(|| at as u64 * 64 + u64::from(free.trailing_zeros()))
        })
    }

    /// The next free block that lies in none of these wide networks: each is passed twice at most.
    fn free_and_not_in(&self, is_one: impl Fn(&IpNet) -> bool) -> Option<u64> {
        let mut from = self.candidate;
        for _ in 0..=2 * self.wide.len() {
            let index = self.free(from)?;
            match self.wide_around(index, &is_one) {
                None => return Some(index),
                Some(wide) => from = (self.index(last(&wide)) + 1) % self.size(),
            }
        }
        None
    }

    /// The widest of these wide networks that a block lies in.
    fn wide_around(&self, index: u64, is_one: impl Fn(&IpNet) -> bool) -> Option<IpNet> {
        if self.wide.is_empty() {
            return None;
        }
        let wider = std::iter::successors(self.block(index).supernet(), IpNet::supernet);
        wider
            .take_while(|it| it.prefix_len() > self.cluster.prefix_len())
            .filter(|it| self.wide.contains_key(it) && is_one(it))
            .last()
    }

    /// The block that an address of the cluster CIDR lies in.
    fn index(&self, address: u128) -> u64 {
        let index = (address - first(&self.cluster)) >> (self.cluster.max_prefix_len() - self.mask);
        u64::try_from(index).unwrap_or(u64::MAX)
    }

    /// The block at a place.
    pub(crate) fn block(&self, index: u64) -> IpNet {
        let bits = u32::from(self.cluster.max_prefix_len() - self.mask);
        // All of an IPv6 address cannot be shifted out: then there is one block.
        let address = first(&self.cluster) | u128::from(index).checked_shl(bits).unwrap_or(0);
        network(address, self.mask, is_v6(&self.cluster)).unwrap_or(self.cluster)
    }

    fn is_taken(&self, index: u64) -> bool {
        self.taken[word(index)] & bit(index) != 0
    }
}

/// Whether no other node ever gets a part of a network that is wider than a block. Nodes have such networks after a change of
/// `--node-cidr-mask-size`, and a kubelet may make one up: it keeps at most an eighth of the cluster CIDR from others.
pub(crate) fn is_kept(cluster: &IpNet, wide: &IpNet) -> bool {
    wide.prefix_len() >= cluster.prefix_len().saturating_add(3)
}

/// Whether two networks have an address in common.
pub(crate) fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Whether a network is one of IPv6 addresses.
pub(crate) fn is_v6(net: &IpNet) -> bool {
    matches!(net, IpNet::V6(_))
}

fn word(index: u64) -> usize {
    usize::try_from(index / 64).unwrap_or(usize::MAX)
}

fn bit(index: u64) -> u64 {
    1 << (index % 64)
}

fn first(net: &IpNet) -> u128 {
    match net {
        IpNet::V4(net) => u128::from(u32::from(net.network())),
        IpNet::V6(net) => u128::from(net.network()),
    }
}

fn last(net: &IpNet) -> u128 {
    match net {
        IpNet::V4(net) => u128::from(u32::from(net.broadcast())),
        IpNet::V6(net) => u128::from(net.broadcast()),
    }
}

fn network(address: u128, prefix: u8, is_v6: bool) -> Option<IpNet> {
    let address = if is_v6 {
        std::net::IpAddr::from(std::net::Ipv6Addr::from(address))
    } else {
        std::net::IpAddr::from(std::net::Ipv4Addr::from(u32::try_from(address).ok()?))
    };
    IpNet::new(address, prefix).ok()
}

#[cfg(test)]
mod tests;
