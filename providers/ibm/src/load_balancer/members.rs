//! The nodes that take traffic: as many as a pool has room for, evenly over zones. Those that were chosen stay.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{AddressKind, IpFamily, Node, SortedMap, SortedSet};

/// The most members of a pool.
pub(super) const MOST: usize = 50;

/// The label of nodes that are there for traffic from outside.
pub(crate) const EDGE: &str = "dedicated";

fn is_edge(node: &Node) -> bool {
    node.labels.iter().any(|(key, value)| key == EDGE && value == "edge")
}

/// Whether there are nodes for traffic from outside: then they alone take it, unless a Service chooses nodes by a label.
pub(super) fn edges(nodes: &[Node]) -> bool {
    nodes.iter().any(is_edge)
}

/// The addresses of the nodes that take traffic. `chosen` are those that do so now, `quota` the most of each zone, and `is_edge_alone` says whether
/// others than those for traffic from outside take none.
pub(super) fn choose(
    nodes: &[Node],
    zone: Option<&str>,
    is_edge_alone: bool,
    quota: Option<usize>,
    chosen: &SortedSet<String>,
    warnings: &mut Warnings,
) -> Vec<String> {
    let mut zones: SortedMap<&str, Vec<&str>> = SortedMap::new();
    for node in nodes.iter().filter(|it| !is_edge_alone || is_edge(it)) {
        let of_node = node.zone.as_deref().unwrap_or_default();
        if zone.is_some_and(|it| it != of_node) {
            continue;
        }
        if let Some(address) = node.address(AddressKind::InternalIp, IpFamily::Ipv4) {
            zones.get_or_default(of_node).push(address);
        }
    }
    let count = zones.values().map(Vec::len).sum::<usize>();
    let mut rest: Vec<std::vec::IntoIter<&str>> = Vec::new();
    for (_, of_zone) in zones {
        // Those that are chosen come first; beside them the order is that of the nodes.
        let (stay, others): (Vec<&str>, Vec<&str>) = of_zone.into_iter().partition(|it| chosen.contains(*it));
        let all: Vec<&str> = stay.into_iter().chain(others).take(quota.unwrap_or(usize::MAX)).collect();
        rest.push(all.into_iter());
    }
    let mut addresses: Vec<String> = Vec::new();
    while addresses.len() < MOST {
        let before = addresses.len();
        for of_zone in &mut rest {
            if addresses.len() < MOST {
                addresses.extend(of_zone.next().map(str::to_owned));
            }
        }
        if addresses.len() == before {
            break;
        }
    }
    if quota.is_none() && count > MOST {
        let why = format_args!(
            "a pool takes {MOST} members, and {count} nodes could be: they are chosen evenly over the zones"
        );
        warnings.add("NodesSkipped", why);
    }
    addresses
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::Address;
    use aerostat_sdk::testing::Host;

    use super::*;

    fn node(number: usize, zone: &str) -> Node {
        let mut node = Node::named(format!("node-{number:03}"));
        node.zone = Some(zone.to_owned());
        node.addresses = vec![Address::internal_ip(format!("10.0.{}.{}", number / 200, number % 200 + 1))];
        node
    }

    fn chosen(
        nodes: &[Node],
        zone: Option<&str>,
        quota: Option<usize>,
        stay: &SortedSet<String>,
    ) -> (Vec<String>, usize) {
        let mut warnings = Warnings::default();
        let addresses = choose(nodes, zone, edges(nodes), quota, stay, &mut warnings);
        let host = Host::new();
        host.run(|| warnings.emit());
        (addresses, host.events().len())
    }

    #[test]
    fn ibm_031_sixty_nodes_are_fifty_members_and_stay_chosen() {
        let zones = ["a", "b", "c"];
        let mut nodes: Vec<Node> = (0..40).map(|it| node(it, zones[0])).collect();
        nodes.extend((40..50).map(|it| node(it, zones[1])));
        nodes.extend((50..60).map(|it| node(it, zones[2])));
        let (first, events) = chosen(&nodes, None, None, &SortedSet::new());
        assert_eq!((first.len(), events), (50, 1));
        let of = |zone: &str, addresses: &[String]| {
            let is_of = |it: &&Node| it.zone.as_deref() == Some(zone) && addresses.contains(&it.addresses[0].value);
            nodes.iter().filter(is_of).count()
        };
        assert_eq!(zones.map(|it| of(it, &first)), [30, 10, 10], "small zones are there as a whole");
        let stay: SortedSet<String> = first.iter().cloned().collect();
        let mut later = nodes.clone();
        later.reverse();
        later.push(node(60, zones[0]));
        let (again, _) = chosen(&later, None, None, &stay);
        assert_eq!(again.into_iter().collect::<SortedSet<_>>(), stay, "a node more takes no other's place");
        assert_eq!(chosen(&nodes[..50], None, None, &SortedSet::new()).1, 0);
    }

    #[test]
    fn ibm_028_nodes_at_the_edge_alone_take_traffic() {
        let mut nodes = vec![node(1, "a"), node(2, "b"), node(3, "b")];
        let of = |nodes: &[Node], zone| chosen(nodes, zone, None, &SortedSet::new()).0;
        assert_eq!(of(&nodes, None).len(), 3);
        assert_eq!(of(&nodes, Some("b")), ["10.0.0.3", "10.0.0.4"]);
        nodes[1].labels.push((EDGE.to_owned(), "edge".to_owned()));
        nodes[0].labels.push((EDGE.to_owned(), "other".to_owned()));
        assert_eq!(of(&nodes, None), ["10.0.0.3"]);
        assert_eq!(chosen(&[node(1, "a"), node(2, "b"), node(3, "b")], None, Some(1), &SortedSet::new()).0.len(), 2);
    }
}
