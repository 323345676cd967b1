//! Differences from Google's own controller manager that are meant to be, with their reasons.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const MARK: &str = "labels of forwarding rules name cluster and Service: a description proves nothing";
const FINALIZER: &str = "aerostat has one finalizer, and takes theirs off with it";
const DESTINATION: &str =
    "the firewall of shared checks has no destination: theirs names the first Service's address for ever";

const NAMES: &str = "a node has its names, too: theirs has them of the machine alone on which it runs";
const IDENTITY: &str =
    "project and network are read at the start: nothing is concluded from the answers of others with their names";

const READ: &str = "what is deleted is read before: an object with the Service's name may be somebody else's by now";

/// The project of the tests gives each machine an external address, that of the recordings the first alone.
const MACHINES: Meant = Meant {
    pattern: "nodes/join: nodes/node-2/addresses/*: nothing → \"ExternalIP *",
    reason: "the second machine has an external address here",
    always: false,
};

/// How Google's provider package, which is older, is meant to differ from the manager that was recorded.
pub const PACKAGE: [Meant; 4] = [
    MACHINES,
    Meant {
        pattern: "nodes: requests/reads: *",
        reason: "the second node joins without a provider id here, and is looked for in each zone",
        always: false,
    },
    Meant {
        pattern: "external: requests/reads: *",
        reason: "it asks for refused Services again and again for as long as the step is looked at",
        always: false,
    },
    always(
        "external/*: services/*/finalizers/*: \"gke.networking.io/l4-netlb-v1\" → nothing",
        "it has no finalizer of its own on external Services",
    ),
];

/// The table.
pub const TABLE: [Meant; 8] = [
    MACHINES,
    Meant { pattern: "nodes/join: nodes/*/addresses/*: nothing → \"InternalDNS *", reason: NAMES, always: false },
    Meant { pattern: "nodes/join: nodes/*/addresses/*: nothing → \"Hostname *", reason: NAMES, always: false },
    Meant { pattern: "nodes: requests/reads: *", reason: IDENTITY, always: false },
    always("*: cloud/set/*/forwardingRules/*/labels: nothing → *", MARK),
    always("*: services/*/finalizers/*: \"gke.networking.io/l4-*lb-v1\" → nothing", FINALIZER),
    always("external/create: cloud/set/*-node-http-hc/destinationRanges: *", DESTINATION),
    Meant { pattern: "internal: requests/reads: *", reason: READ, always: false },
];
