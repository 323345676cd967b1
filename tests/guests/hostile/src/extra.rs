//! Words that go from an instance through the host to its node, and the host's words about the cluster.

use aerostat_sdk::{Node, cluster};

use crate::{Answer, honest, report};

/// `None` if the node's name is no crime of this module.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    let honest = || honest(&node.name);
    Some(match node.name.as_str() {
        "see-extra" => report(format!("{:?}", node.extra)),
        "see-cluster" => report(format!("{:?}", cluster().map(|it| (it.name, it.uid, it.pod_cidrs)))),
        "see-config-maps" => report(format!("{:?}", cluster().map(|it| it.extra))),
        "extra" => Ok(Some(honest().extra("nic", "1").extra("group", "2"))),
        "long-extra" => Ok(Some(honest().extra("nic", "x".repeat(1_022)))),
        "hosts-extra" => Ok(Some(honest().extra("host.local-endpoints", "7"))),
        _ => return None,
    })
}
