//! Differences from the vendor's own controller manager that are meant to be, with their reasons.

use tests::beside::Meant;
use tests::ibm_vendor::MostAsked;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const fn sometimes(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: false }
}

const EVENTS: &str = "each manager tells what it does in its own words: here as Kubernetes' own controllers do";
const SUBNETS: &str = "a subnet has the name that is configured: theirs takes sub-1 for sub-10, as a part of its name";
const HEALTH: &str = "kube-proxy documents /healthz: theirs asks for /, which it answers as well";
const BUSY: &str = "theirs finds its own last change at work, and warns of it";
const IMMUTABLE: &str =
    "what cannot be changed is a Warning, and everything else is still served: theirs fails as a whole";
const LEFTOVER: &str = "a name can be chosen: what has one of this cluster's and no Service is told, and stays";
const TYPO: &str = "a value that is none is refused: theirs makes a private load balancer of it";
const GONE: &str = "a machine that is gone takes its node along: theirs never asks";
const UNCLEAR: &str = "a creation without an answer is looked for, and told as that";
const READ_BACK: &str = "what was made is read until it serves: theirs shows a name that leads nowhere yet";
const FLOATING: &str =
    "an external address is a floating one, which is a list of its own: theirs copies the internal one";
const GROUPS: &str = "the end of a Service looks for a security group of its own: theirs makes none";
const THEFT: &str = "the load balancer of another Service stays: theirs deletes it with the one that names it";

const NAMED: &str = "a chosen name is given to what was made under its own, which proves whose it is: theirs takes over what has the name";

/// The table.
pub(crate) const TABLE: [Meant; 30] = [
    always("*: cloud/*/subnets/*: \"0717-s4\" → nothing", SUBNETS),
    always("lb-local: cloud/*/check/url_path: \"/\" → \"/healthz\"", HEALTH),
    always("*: events/*/CreatingCloudLoadBalancerFailed: \"Warning\" → nothing", EVENTS),
    always("*: events/*/UpdatingCloudLoadBalancerFailed: \"Warning\" → nothing", EVENTS),
    sometimes("*: events/*/ExternalTrafficPolicy: \"Normal\" → nothing", EVENTS),
    sometimes("*: events/*/EnsuringLoadBalancer: nothing → \"Normal\"", EVENTS),
    sometimes("*: events/*/EnsuredLoadBalancer: nothing → \"Normal\"", EVENTS),
    sometimes("*: events/*/UpdatedLoadBalancer: nothing → \"Normal\"", EVENTS),
    sometimes("*: events/*/LoadBalancerPending: nothing → \"Normal\"", EVENTS),
    sometimes("*: events/*/Delet*LoadBalancer: nothing → \"Normal\"", EVENTS),
    always("lb-*-node*-added: events/web/*Failed: \"Warning\" → nothing", BUSY),
    always("lb-ip-type-changed: events/web/*: *", IMMUTABLE),
    always("*: cloud/kube-c1clusterid-0123456789abcdef0123456789abcdef: nothing → *", LEFTOVER),
    always("*: cloud/LB(typo): * → nothing", TYPO),
    always("lb-type-misspelt: events/typo/*: *", TYPO),
    sometimes("nodes: requests/reads: *", FLOATING),
    always("instance-gone-node-not-ready: nodes/node-3: * → null", GONE),
    sometimes("instance-gone-node-not-ready: cloud/*/members/*: \"10.240.2.7:*\" → nothing", GONE),
    always("lb-with-a-name-of-its-own: cloud/shared-name/pools/*/members/*: \"10.240.2.7:*\" → nothing", GONE),
    always("departure: requests/reads: *", GONE),
    sometimes("delete-all: events/*/Delet*LoadBalancer: \"Normal\" → nothing", TYPO),
    sometimes("fault-create-done-answer-lost: events/lost/LoadBalancerCreationUnclear: nothing → \"Warning\"", UNCLEAR),
    always("fault-create-done-answer-lost: events/lost/SyncLoadBalancerFailed: \"Warning\" → nothing", UNCLEAR),
    sometimes("kinds: requests/reads: *", READ_BACK),
    sometimes("kinds: requests/writes: *", NAMED),
    sometimes("theft: requests/writes: *", NAMED),
    sometimes("ends: requests/reads: *", GROUPS),
    sometimes("theft: requests/reads: *", GROUPS),
    sometimes("thief-deleted: events/thief2/*: *", THEFT),
    always("thief-deleted: cloud/shared-name: nothing → *", THEFT),
];

/// The most reads and writes of steps and of chapters in which aerostat may read more than theirs.
pub(crate) const MOST: [MostAsked; 10] = [
    ("lb-create", (6, 1)),
    ("lb-unrelated-annotation", (0, 0)),
    ("lb-two-nodes-added", (15, 2)),
    ("lb-ip-type-changed", (5, 0)),
    ("lb-udp-refused", (0, 0)),
    ("nodes", (20, 0)),
    ("kinds", (38, 6)),
    ("departure", (6, 0)),
    // Each of three is read before and after, and security groups then; two without one are looked for in a list each, beside one of subnets.
    ("ends", (13, 3)),
    ("theft", (12, 2)),
];
