//! The blocks of one cluster CIDR, one for each node: which are taken, and which is next. Values only.

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
    /// One bit for each block, set once it is taken.
    taken: Vec<u64>,
    /// How many are taken.
    used: u64,
    /// Where the search for the next block begins.
    candidate: u64,
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

/// A network has nothing to do with the cluster CIDR.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("cidr {cidr} is out the range of cluster cidr {cluster}")]
pub(crate) struct OutOfRange {
    /// The network.
    pub(crate) cidr: IpNet,
    /// The cluster CIDR.
    pub(crate) cluster: IpNet,
}

/// A block that was given out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Next {
    /// The block.
    pub(crate) cidr: IpNet,
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
        let words = usize::try_from((1_u64 << bits).div_ceil(64)).unwrap_or(usize::MAX);
        Ok(Self { cluster, mask, taken: vec![0; words], used: 0, candidate: 0 })
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

    /// Takes the next free block. The search goes on where the last one ended, and begins again at the end: a block that
    /// was given back is not given out again before all others were.
    pub(crate) fn next(&mut self) -> Result<Next, Exhausted> {
        if self.used == self.size() {
            return Err(Exhausted);
        }
        for tries in 0..self.size() {
            let index = (self.candidate + tries) % self.size();
            if !self.is_taken(index) {
                self.take(index);
                self.candidate = (index + 1) % self.size();
                return Ok(Next { cidr: self.block(index), tries });
            }
        }
        Err(Exhausted)
    }

    /// Takes all blocks that a network touches. Returns how many were free.
    pub(crate) fn occupy(&mut self, cidr: &IpNet) -> Result<u64, OutOfRange> {
        let (first, last) = self.range(cidr)?;
        Ok((first..=last).map(|it| u64::from(self.take(it))).sum())
    }

    /// Gives all blocks back that a network touches, but those for which `is_needed` says so. Returns how many were
    /// taken.
    pub(crate) fn release(&mut self, cidr: &IpNet, is_needed: impl Fn(&IpNet) -> bool) -> Result<u64, OutOfRange> {
        let (first, last) = self.range(cidr)?;
        let mut released = 0;
        for index in first..=last {
            if self.is_taken(index) && !is_needed(&self.block(index)) {
                self.taken[word(index)] &= !bit(index);
                self.used -= 1;
                released += 1;
            }
        }
        Ok(released)
    }

    /// The first and the last block that a network touches.
    fn range(&self, cidr: &IpNet) -> Result<(u64, u64), OutOfRange> {
        if !overlap(&self.cluster, cidr) {
            return Err(OutOfRange { cidr: *cidr, cluster: self.cluster });
        }
        if cidr.prefix_len() <= self.cluster.prefix_len() {
            return Ok((0, self.size() - 1));
        }
        Ok((self.index(first(cidr)), self.index(last(cidr))))
    }

    /// The block that an address of the cluster CIDR lies in.
    fn index(&self, address: u128) -> u64 {
        let index = (address - first(&self.cluster)) >> (self.cluster.max_prefix_len() - self.mask);
        u64::try_from(index).unwrap_or(u64::MAX)
    }

    fn block(&self, index: u64) -> IpNet {
        let bits = u32::from(self.cluster.max_prefix_len() - self.mask);
        // All of an IPv6 address cannot be shifted out: then there is one block.
        let address = first(&self.cluster) | u128::from(index).checked_shl(bits).unwrap_or(0);
        network(address, self.mask, is_v6(&self.cluster)).unwrap_or(self.cluster)
    }

    fn is_taken(&self, index: u64) -> bool {
        self.taken[word(index)] & bit(index) != 0
    }

    /// Returns whether it was free.
    fn take(&mut self, index: u64) -> bool {
        let is_free = !self.is_taken(index);
        self.taken[word(index)] |= bit(index);
        self.used += u64::from(is_free);
        is_free
    }
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
