//! Pod networks of a node: given out, written, and given back. No client, no clock, no log.

use crate::node_object::KubeNode;
use ipnet::IpNet;
use kube::ResourceExt;

use crate::node_ipam::allocations::{Allocations, BlockState};
use crate::node_ipam::cidr_set::Exhausted;
use crate::node_ipam::foreign::Foreign;

/// The next step for a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Decision {
    /// Nothing.
    Nothing,
    /// It gets these networks, one of each cluster CIDR.
    Write(Vec<IpNet>),
    /// It is not known whether a write of these networks happened: the node is read, from the API server itself.
    Read(Vec<IpNet>),
}

/// How a write ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WriteOutcome {
    /// It happened.
    Yes,
    /// It did not happen, and never will.
    No,
    /// It happened, or may yet happen, or not: its answer is lost.
    Perhaps,
}

/// Why a node's networks cannot be dealt with.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// Its Node has what was not given out in this cluster.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// There is none left for it.
    #[error("failed to allocate cidr from cluster cidr at idx:{index}: {source}")]
    Exhausted {
        /// Which cluster CIDR, from 0 on.
        index: usize,
        /// Why.
        source: Exhausted,
    },
}

/// The next step for a node as the watch knows it. Networks that it has are taken from now on.
pub(crate) fn decide(node: &KubeNode, allocations: &mut Allocations) -> Result<Decision, Error> {
    let uid = uid(node);
    if has_networks(node) {
        store(node, allocations)?;
        return Ok(Decision::Nothing);
    }
    let is_leaving = node.metadata.deletion_timestamp.is_some();
    match allocations.of(uid).map(|it| (it.state, it.cidrs.clone())) {
        // The watch will show it.
        Some((BlockState::Stored, _)) => Ok(Decision::Nothing),
        Some((BlockState::Doubtful, cidrs)) => Ok(Decision::Read(cidrs)),
        Some((BlockState::Reserved, _)) if is_leaving => {
            allocations.release(uid);
            Ok(Decision::Nothing)
        }
        Some((BlockState::Reserved, cidrs)) => Ok(Decision::Write(cidrs)),
        None if is_leaving => Ok(Decision::Nothing),
        None => match allocations.reserve(uid, &node.name_any()) {
            Ok(cidrs) => Ok(Decision::Write(cidrs)),
            Err((index, source)) => Err(Error::Exhausted { index, source }),
        },
    }
}

/// The result of a write. `No` gives the blocks back, unless an earlier write of them may have happened.
///
/// Returns whether the node has to be read.
pub(crate) fn settle(allocations: &mut Allocations, uid: &str, written: WriteOutcome) -> bool {
    match written {
        WriteOutcome::Yes => allocations.set(uid, BlockState::Stored),
        WriteOutcome::Perhaps => {
            allocations.set(uid, BlockState::Doubtful);
            return true;
        }
        WriteOutcome::No if allocations.of(uid).is_some_and(|it| it.state == BlockState::Doubtful) => return true,
        WriteOutcome::No => allocations.release(uid),
    }
    false
}

/// The next step now that the API server itself has shown the node with this name, or that there is none. Its answer
/// settles for good: pod networks are written once, and a node that is gone is written no more.
pub(crate) fn reread(allocations: &mut Allocations, uid: &str, live: Option<&KubeNode>) -> Result<Decision, Error> {
    let Some(node) = live.filter(|it| self::uid(it) == uid) else {
        allocations.release(uid);
        return Ok(Decision::Nothing);
    };
    if has_networks(node) {
        store(node, allocations)?;
        return Ok(Decision::Nothing);
    }
    // The same blocks again, so that it does not matter which of the writes happens.
    Ok(allocations.of(uid).map_or(Decision::Nothing, |it| Decision::Write(it.cidrs.clone())))
}

/// Takes what a node has.
pub(crate) fn store(node: &KubeNode, allocations: &mut Allocations) -> Result<(), Foreign> {
    let foreign = |nth, network: &str, why| Foreign { node: node.name_any(), network: network.to_owned(), nth, why };
    let (mut cidrs, mut unreadable) = (Vec::new(), None);
    for (nth, cidr) in networks(node).enumerate() {
        match parse(cidr) {
            Some(cidr) => cidrs.push(cidr),
            None => {
                unreadable = Some(foreign(nth, cidr, None));
                break;
            }
        }
    }
    let why = allocations.store(uid(node), &node.name_any(), &cidrs);
    let said = why.map(|(nth, why)| foreign(nth, &cidrs[nth].to_string(), Some(why)));
    said.or(unreadable).map_or(Ok(()), Err)
}

/// Whether a node has pod networks.
pub(crate) fn has_networks(node: &KubeNode) -> bool {
    networks(node).next().is_some()
}

/// The networks of a node, as they are written there.
pub(crate) fn networks(node: &KubeNode) -> impl Iterator<Item = &str> {
    let spec = node.spec.as_ref();
    let all = spec.and_then(|it| it.pod_cidrs.as_deref()).unwrap_or_default();
    let only = spec.and_then(|it| it.pod_cidr.as_deref()).filter(|it| all.is_empty() && !it.is_empty());
    all.iter().map(String::as_str).chain(only)
}

/// A network, without bits behind its prefix.
pub(crate) fn parse(text: &str) -> Option<IpNet> {
    text.parse::<IpNet>().ok().map(|it| it.trunc())
}

/// The UID, which tells a node from another one of its name.
pub(crate) fn uid(node: &KubeNode) -> &str {
    node.metadata.uid.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests;
