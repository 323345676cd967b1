//! Several load balancers in one call.

use std::time::Duration;

use crate::bindings::load_balancer_batches::exports::aerostat::cloud::load_balancer_batches::Guest;
use crate::{BatchDescription, BatchItem, Deletion, Error, LoadBalancer, LoadBalancers, Node, Progress, Result};

/// The capability of a cloud in which load balancers share objects, or are read or written together.
///
/// The host calls these in place of [`LoadBalancers`], whose promises hold for each of a batch. What a provider does for one it
/// does with [`LoadBalancerBatches::ensure_alone`] and [`LoadBalancerBatches::delete_alone`].
pub trait LoadBalancerBatches: LoadBalancers {
    /// The description of batches. Asked at load. No HTTP.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for settings that cannot work.
    fn describe() -> Result<BatchDescription>;

    /// Takes one step with each of these; one answer for each, in the same order. `nodes` are those of all of them, and
    /// [`BatchItem::nodes_of`] has those of one. One that cannot be served does not hold up the others.
    fn ensure_batch(desired: &[BatchItem], nodes: &[Node]) -> Vec<Result<Progress>>;

    /// Takes one step towards the absence of each of these; one answer for each, in the same order.
    fn delete_batch(unwanted: &[LoadBalancer]) -> Vec<Result<Deletion>>;

    /// A batch of one, as [`LoadBalancers::ensure`].
    ///
    /// # Errors
    ///
    /// Whatever the batch answered.
    fn ensure_alone(desired: &LoadBalancer) -> Result<Progress> {
        let (item, nodes) = BatchItem::alone(desired.clone());
        Self::ensure_batch(&[item], &nodes).pop().unwrap_or_else(|| Err(unanswered()))
    }

    /// A batch of one, as [`LoadBalancers::delete`].
    ///
    /// # Errors
    ///
    /// Whatever the batch answered.
    fn delete_alone(unwanted: &LoadBalancer) -> Result<Deletion> {
        Self::delete_batch(std::slice::from_ref(unwanted)).pop().unwrap_or_else(|| Err(unanswered()))
    }
}

fn unanswered() -> Error {
    Error::Unavailable("the provider answers a batch of one with nothing".to_owned())
}

impl<T: LoadBalancerBatches> Guest for T {
    fn describe() -> Result<BatchDescription> {
        <T as LoadBalancerBatches>::describe()
    }

    fn ensure(desired: Vec<BatchItem>, nodes: Vec<Node>) -> Vec<Result<Progress>> {
        T::ensure_batch(&desired, &nodes)
    }

    fn delete(unwanted: Vec<LoadBalancer>) -> Vec<Result<Deletion>> {
        T::delete_batch(&unwanted)
    }
}

impl BatchItem {
    /// One load balancer, and its nodes as those of a batch.
    #[must_use]
    pub fn alone(mut load_balancer: LoadBalancer) -> (Self, Vec<Node>) {
        let nodes = std::mem::take(&mut load_balancer.nodes);
        let places = (0..).zip(&nodes).map(|(place, _)| place).collect();
        (Self { load_balancer, nodes: places }, nodes)
    }

    /// Its own of all nodes of the batch.
    pub fn nodes_of<'a>(&'a self, nodes: &'a [Node]) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter_map(|it| nodes.get(usize::try_from(*it).ok()?))
    }
}

impl BatchDescription {
    /// Batches of at most so many load balancers, one call at a time, for which the host does not wait.
    #[must_use]
    pub fn new(batch_size: u32) -> Self {
        Self { batch_size, concurrency: 1, gather_milliseconds: 0, extra: Vec::new() }
    }

    /// How long the host waits for further ones before it calls.
    #[must_use]
    pub fn gather(mut self, time: Duration) -> Self {
        self.gather_milliseconds = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        self
    }

    /// How many calls run at a time.
    #[must_use]
    pub fn concurrency(mut self, calls: u32) -> Self {
        self.concurrency = calls;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        Node {
            name: name.to_owned(),
            uid: None,
            provider_id: None,
            addresses: Vec::new(),
            zone: None,
            region: None,
            labels: Vec::new(),
            extra: Vec::new(),
        }
    }

    #[test]
    fn one_load_balancer_is_a_batch_with_its_nodes() {
        let desired = LoadBalancer::of("default", "web", "u-1").with_node(node("a")).with_node(node("b"));
        let (item, nodes) = BatchItem::alone(desired);
        assert!(item.load_balancer.nodes.is_empty());
        assert_eq!(item.nodes, [0, 1]);
        let item = BatchItem { nodes: vec![1, 7], ..item };
        assert_eq!(item.nodes_of(&nodes).map(|it| &*it.name).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_description_says_how_long_the_host_waits() {
        let description = BatchDescription::new(100).gather(Duration::from_secs(2)).concurrency(2);
        assert_eq!((description.batch_size, description.concurrency, description.gather_milliseconds), (100, 2, 2_000));
    }
}
