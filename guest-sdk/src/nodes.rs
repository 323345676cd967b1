//! The nodes that a provider is asked about, or that take a load balancer's traffic.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::events::Warnings;
use crate::{AddressKind, IpFamily, Node};

/// The most nodes that one message names.
const NAMED: usize = 10;

impl Node {
    /// Its first address of this kind that is an IP address of this family.
    ///
    /// ```
    /// use aerostat_sdk::{Address, AddressKind, IpFamily, Node};
    ///
    /// let mut node = Node::named("worker-1");
    /// node.addresses = vec![Address::hostname("worker-1"), Address::internal_ip("fd00::7"), Address::internal_ip("10.0.0.7")];
    /// assert_eq!(node.address(AddressKind::InternalIp, IpFamily::Ipv4), Some("10.0.0.7"));
    /// assert_eq!(node.address(AddressKind::ExternalIp, IpFamily::Ipv4), None);
    /// ```
    #[must_use]
    pub fn address(&self, kind: AddressKind, family: IpFamily) -> Option<&str> {
        let is_of_family = |ip: &IpAddr| match family {
            IpFamily::Ipv4 => ip.is_ipv4(),
            IpFamily::Ipv6 => ip.is_ipv6(),
        };
        let mut addresses = self.addresses.iter().filter(|it| it.kind == kind);
        addresses.find(|it| it.value.parse().is_ok_and(|it| is_of_family(&it))).map(|it| it.value.as_str())
    }

    /// A node of this name, of which nothing else is known: for a vendor's own tests.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            uid: None,
            provider_id: None,
            addresses: Vec::new(),
            zone: None,
            region: None,
            labels: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The same node with a provider id.
    #[must_use]
    pub fn with_provider_id(mut self, provider_id: impl Into<String>) -> Self {
        self.provider_id = Some(provider_id.into());
        self
    }

    /// The same node in a region.
    #[must_use]
    pub fn in_region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }
}

/// Those of `nodes` that are in `region`, with a warning about the others: many clouds take targets of a load balancer's own
/// region only. Nodes without a region stay. Where no node is in it, all stay, and the cloud refuses them.
pub fn in_region<'a>(nodes: &'a [Node], region: &str, warnings: &mut Warnings) -> Cow<'a, [Node]> {
    let is_elsewhere = |it: &Node| it.region.as_deref().is_some_and(|it| it != region);
    let elsewhere: Vec<_> = nodes.iter().filter(|it| is_elsewhere(it)).map(|it| &*it.name).collect();
    if elsewhere.is_empty() || elsewhere.len() == nodes.len() {
        return Cow::Borrowed(nodes);
    }
    let names = named(&elsewhere);
    warnings.add(
        "NodesSkipped",
        format_args!("a load balancer in {region} does not reach nodes of other regions: {names}"),
    );
    nodes.iter().filter(|it| !is_elsewhere(it)).cloned().collect()
}

/// The names of nodes for a message: ten of them, and how many more there are.
#[must_use]
pub fn named(nodes: &[&str]) -> String {
    let shown = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match nodes.len().checked_sub(NAMED) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_other_regions_are_left_out() {
        let nodes = [Node::named("a").in_region("north"), Node::named("b").in_region("south"), Node::named("c")];
        let names = |region| {
            let mut warnings = Warnings::default();
            let left: Vec<_> = in_region(&nodes, region, &mut warnings).iter().map(|it| it.name.clone()).collect();
            (left.join(" "), warnings != Warnings::default())
        };
        assert_eq!(names("north"), ("a c".to_owned(), true));
        assert_eq!(names("west"), ("c".to_owned(), true));
        let nodes = &nodes[1..2];
        assert_eq!(in_region(nodes, "north", &mut Warnings::default()), nodes, "the cloud refuses them");
    }

    #[test]
    fn a_message_names_ten_nodes() {
        assert_eq!(named(&["a", "b"]), "a, b");
        assert_eq!(named(&["a"; 10]), ["a"; 10].join(", "));
        assert_eq!(named(&["a"; 12]), format!("{} and 2 more", ["a"; 10].join(", ")));
    }
}
