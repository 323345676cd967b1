//! How much of an object goes into one call of a provider. No client, no clock, no log.
//!
//! The authors of Services, and every kubelet, decide on the content of these objects. A provider that is handed more
//! than any cloud can mean spends its CPU time on it, and the call ends without a result. So a Service over a limit is
//! invalid, and its event says so; a Service that is deleted, and the words of a kubelet, are cut. Nothing that stands
//! in the cloud goes because of a limit.

use cloud_provider::LoadBalancer;

/// Ports of a Service. Of the large clouds' load balancers, Azure's has the most: 1,500 rules.
const PORTS: usize = 1_500;
/// Ranges in `spec.loadBalancerSourceRanges`. Of the large clouds' firewalls, Google's takes the most: 5,000 in a rule.
const SOURCE_RANGES: usize = 5_000;
/// Bytes of the annotations that the provider reads, with their keys. Kubernetes takes 256 KiB of annotations. The longest
/// that a cloud can mean are lists of ports (9 KiB for all that a Service may have) and of address ranges (45 bytes
/// each): this is room for more than a thousand.
const ANNOTATION_BYTES: usize = 64 << 10;
/// The rest of each annotation in a deletion, if all together are too long: any id, name or switch.
const CUT_ANNOTATION_BYTES: usize = 256;
/// Bytes of `spec.loadBalancerIP`, which the API server does not check: the longest DNS name.
const ADDRESS_BYTES: usize = 253;
/// Nodes behind one load balancer. Kubernetes is made for 5,000 nodes; the largest clusters that are sold have three times
/// as many.
const NODES: usize = 15_000;
/// Addresses of a node. Machines have a few per network card; a provider may answer as many for a machine.
const NODE_ADDRESSES: usize = 64;
/// Labels of a node, of which a provider sees those that the operator names. Nodes of the large clouds have about 50.
const NODE_LABELS: usize = 512;

/// The part of a Service that is too large, with the limit and the next step; `None` if none is.
pub(crate) fn objection(desired: &LoadBalancer) -> Option<String> {
    let bytes = annotation_bytes(desired);
    let address = desired.load_balancer_ip.as_ref().map_or(0, String::len);
    let too_much = [
        ("spec.ports has", desired.ports.len(), PORTS, "ports", "split the Service"),
        (
            "spec.loadBalancerSourceRanges has",
            desired.source_ranges.len(),
            SOURCE_RANGES,
            "ranges",
            "put neighbouring ranges together",
        ),
        ("the annotations for the cloud provider have", bytes, ANNOTATION_BYTES, "bytes", "shorten them"),
        ("spec.loadBalancerIP has", address, ADDRESS_BYTES, "bytes", "write an address"),
    ];
    let (what, is, most, unit, next) = too_much.into_iter().find(|(_, is, most, ..)| is > most)?;
    Some(format!("{what} {is} {unit}, and a provider is given {most} at most: {next}. What exists in the cloud stays"))
}

/// The objection to so many nodes behind a load balancer; `None` if it may have them.
pub(crate) fn too_many_nodes(nodes: usize) -> Option<String> {
    (nodes > NODES).then(|| {
        format!(
            "{nodes} nodes take traffic, and a load balancer is given {NODES} at most: label nodes with \
             node.kubernetes.io/exclude-from-external-load-balancers. What exists in the cloud stays"
        )
    })
}

/// As much of a Service as is needed to delete its load balancer, however large the Service is.
///
/// Annotations that are too long together each keep their beginning without white space: a cloud looks at ids and
/// switches in a deletion.
pub(crate) fn trimmed(mut unwanted: LoadBalancer) -> LoadBalancer {
    unwanted.ports.truncate(PORTS);
    unwanted.source_ranges.truncate(SOURCE_RANGES);
    unwanted.load_balancer_ip = unwanted.load_balancer_ip.filter(|it| it.len() <= ADDRESS_BYTES);
    if annotation_bytes(&unwanted) > ANNOTATION_BYTES {
        for (_, value) in &mut unwanted.annotations {
            let value_trimmed = value.trim();
            *value = value_trimmed[..value_trimmed.floor_char_boundary(CUT_ANNOTATION_BYTES)].to_owned();
        }
    }
    unwanted
}

/// As much of a node as a provider is given, and what was left out, with the limit and the next step.
pub(crate) fn trimmed_node(mut machine: cloud_provider::Node) -> (cloud_provider::Node, Option<String>) {
    let (addresses, labels) = (machine.addresses.len(), machine.labels.len());
    // No address and no name is longer.
    machine.addresses.retain(|it| it.value.len() <= ADDRESS_BYTES);
    machine.addresses.truncate(NODE_ADDRESSES);
    machine.labels.truncate(NODE_LABELS);
    let left_out = (addresses - machine.addresses.len(), labels - machine.labels.len());
    let message = (left_out != (0, 0)).then(|| {
        format!(
            "the node has {addresses} addresses and {labels} labels, and a provider is given {NODE_ADDRESSES} addresses of \
             up to {ADDRESS_BYTES} bytes and {NODE_LABELS} labels: {} addresses and {} labels are left out. Look at what \
             writes them: the node's kubelet, or somebody in its place",
            left_out.0, left_out.1,
        )
    });
    (machine, message)
}

fn annotation_bytes(it: &LoadBalancer) -> usize {
    it.annotations.iter().map(|(key, value)| key.len() + value.len()).sum()
}

#[cfg(test)]
mod tests;
