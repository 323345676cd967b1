//! The pod networks of a story, and to what routes to them lead.

use cloud_provider::{Node, PodNetwork, Route, RouteChange, RouteOwnership, RouteTarget, Routes};

use crate::play::stage::wrong;
use crate::trouble::Phase;

/// How many routes a story has.
pub(super) const ROUTES: usize = 3;

/// To what routes lead: one more than a story has routes.
pub(super) struct RouteTargets(Vec<RouteTarget>);

impl RouteTargets {
    /// To what a route to each of these nodes leads, and why none can lead to a node.
    pub(super) async fn of(routes: &dyn Routes, nodes: &[Node]) -> (Self, Vec<String>) {
        let nodes: Vec<Node> = nodes.iter().take(ROUTES + 1).cloned().map(with_uid).collect();
        let network = |(at, node): (usize, &Node)| PodNetwork { destination: destination(at), node: node.clone() };
        let networks: Vec<_> = nodes.iter().enumerate().map(network).collect();
        let hops = routes.next_hops(&networks).await.answer;
        let (mut targets, mut unreached) = (Vec::new(), Vec::new());
        for (node, hop) in nodes.into_iter().zip(hops) {
            match hop {
                Ok(next_hop) => targets.push(RouteTarget { next_hop, node }),
                Err(error) => unreached.push(format!("node {}: {}", node.name, wrong(&error).text)),
            }
        }
        (Self(targets), unreached)
    }

    /// The target with this number.
    pub(super) fn get(&self, at: usize) -> Option<RouteTarget> {
        self.0.get(at).cloned()
    }

    /// The changes of a phase, beside the routes that are there.
    pub(super) fn changes(&self, phase: Phase, there: &[Route]) -> Vec<RouteChange> {
        let own = |at: usize| {
            let is_own = |it: &&Route| it.destination == destination(at) && it.ownership != RouteOwnership::Foreign;
            there.iter().find(is_own).cloned()
        };
        let change = |at: usize, target: usize| RouteChange { before: own(at), ..planned(at, self.get(target)) };
        match phase {
            Phase::Create => (0..ROUTES).map(|at| change(at, at)).collect(),
            // The first pod network moves to a node of its own.
            Phase::Change => vec![change(0, ROUTES)],
            Phase::Delete => (0..ROUTES).map(|at| RouteChange { after: None, ..change(at, at) }).collect(),
        }
    }
}

/// A change of the pod network with this number, planned as if nothing were there.
pub(super) fn planned(number: usize, after: Option<RouteTarget>) -> RouteChange {
    RouteChange { destination: destination(number), before: None, after, pending: None }
}

/// The pod network with this number.
pub(super) fn destination(number: usize) -> String {
    format!("10.244.{}.0/24", number + 1)
}

/// The node as Kubernetes has it: with a UID, by which some clouds name its route.
fn with_uid(node: Node) -> Node {
    let number = node.name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    Node { uid: Some(format!("{number:08x}-0000-4000-8000-000000000000")), ..node }
}
