use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::{LoadBalancer, Node};

use super::instance;
use super::load_balancer::{self, AnnotationKeys};
use crate::bindings::load_balancer_batches as wit;

const BATCH: u32 = 500;
const CONCURRENCY: u32 = 16;
const GATHER: Duration = Duration::from_secs(10);

/// The properties of batches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BatchLimits {
    /// Load balancers in one call.
    pub(crate) size: usize,
    /// Calls at a time.
    pub(crate) concurrency: u32,
    /// How long further ones are waited for.
    pub(crate) gather: Duration,
}

impl BatchLimits {
    /// Load balancers in all calls that run at a time.
    pub(crate) fn all(&self) -> u32 {
        u32::try_from(self.size).unwrap_or(u32::MAX).saturating_mul(self.concurrency)
    }
}

/// The properties of batches, or a sentence on what is wrong with them.
pub(crate) fn description(it: wit::BatchDescription) -> Result<BatchLimits, String> {
    let wit::BatchDescription {
        batch_size,
        concurrency,
        gather_milliseconds,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    for (name, number, most) in [("batch-size", batch_size, BATCH), ("concurrency", concurrency, CONCURRENCY)] {
        if number == 0 || number > most {
            return Err(format!("{name} is {number}, and has to be 1 to {most}"));
        }
    }
    let gather = Duration::from_millis(gather_milliseconds.into());
    if gather > GATHER {
        return Err(format!("gather-milliseconds is {gather_milliseconds}, and may be {}", GATHER.as_millis()));
    }
    Ok(BatchLimits { size: batch_size as usize, concurrency, gather })
}

/// The load balancers of a batch as a guest is told of them, and the nodes of all of them, each once.
pub(crate) fn desired(
    batch: &[&LoadBalancer],
    node_labels: &[String],
    keys: &AnnotationKeys<'_>,
) -> (Vec<wit::BatchItem>, Vec<wit::Node>) {
    let (mut nodes, mut places): (Vec<&Node>, HashMap<&str, Vec<u32>>) = Default::default();
    let items = batch.iter().map(|&load_balancer| {
        let own = load_balancer.nodes.iter().map(|node| {
            // Two Services may have been asked for with one node as it was, and as it is.
            let known = places.entry(&node.name).or_default();
            if let Some(place) = known.iter().find(|place| nodes[**place as usize] == node) {
                return *place;
            }
            let place = u32::try_from(nodes.len()).expect("there are less than 2^32 nodes");
            known.push(place);
            nodes.push(node);
            place
        });
        let own = own.collect();
        let alone = LoadBalancer { nodes: Vec::new(), ..load_balancer.clone() };
        wit::BatchItem { load_balancer: load_balancer::desired(&alone, node_labels, keys), nodes: own }
    });
    let items = items.collect();
    (items, nodes.into_iter().map(|it| instance::node(it, node_labels)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(batch_size: u32, concurrency: u32, gather_milliseconds: u32) -> Result<BatchLimits, String> {
        description(wit::BatchDescription { batch_size, concurrency, gather_milliseconds, extra: Vec::new() })
    }

    #[test]
    fn batches_have_bounds() {
        assert_eq!(described(500, 16, 10_000).map(|it| it.all()), Ok(8_000));
        for (wrong, word) in [
            (described(0, 1, 0), "batch-size"),
            (described(501, 1, 0), "batch-size"),
            (described(1, 0, 0), "concurrency"),
            (described(1, 17, 0), "concurrency"),
            (described(1, 1, 10_001), "gather-milliseconds"),
        ] {
            assert!(wrong.unwrap_err().starts_with(word));
        }
    }

    #[test]
    fn nodes_of_a_batch_stand_in_it_once() {
        let node =
            |name: &str, zone: &str| Node { name: name.to_owned(), zone: Some(zone.to_owned()), ..Node::default() };
        let of = |nodes: &[Node]| LoadBalancer { nodes: nodes.to_vec(), ..LoadBalancer::default() };
        let (a, b, moved) = (node("a", "1"), node("b", "1"), node("b", "2"));
        let batch = [of(&[a.clone(), b.clone()]), of(&[b]), of(&[]), of(&[a, moved])];
        let keys = AnnotationKeys { read: &[], described: &[], allowed: &[] };
        let (items, nodes) = desired(&batch.iter().collect::<Vec<_>>(), &[], &keys);
        assert_eq!(
            items.iter().map(|it| it.nodes.clone()).collect::<Vec<_>>(),
            [vec![0, 1], vec![1], vec![], vec![0, 2]]
        );
        assert!(items.iter().all(|it| it.load_balancer.nodes.is_empty()));
        let zones: Vec<_> = nodes.iter().map(|it| it.zone.as_deref().unwrap()).collect();
        assert_eq!(zones, ["1", "1", "2"]);
    }
}
