//! Differences from OpenStack's own controller manager that are meant to be, with their reasons.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const MARK: &str = "whose it is: names and tags that people choose prove nothing";
const LOCAL: &str = "without a monitor, nodes without a pod get their share of traffic for local pods, and lose it";
const REFUSED: &str =
    "a refused value is told; theirs takes the default, so that a Service that asked for internal is public";
const THEFT: &str =
    "another cluster's load balancer is refused, and not touched; theirs renames it, and deletes it later";
const EXTERNAL: &str =
    "which of several external networks Neutron lists first is chance: the operator says which is meant";
const AFFINITY: &str = "session affinity that is taken away stays with theirs: here it goes, by one write";
const HANDS: &str =
    "changes by hand are set back: weights, names, pools that are left over, a load balancer that was deleted";
const PERSONS: &str = "a listener that a person has added stays, also without a tag";
const TOUCH: &str =
    "annotations of others are no reason to ask anything: the story touches one that says the default, too";
const LARGE: &str = "a creation that Octavia takes for too large: here members follow, so that the Service is served";
const HTTP: &str = "a listener between HTTP and TCP is replaced; theirs fails for ever";
const NUMBERS: &str = "a monitor keeps the number of its listener and pool: another name is no reason to write";
const RECORDED: &str = "the recording has what one of the two asked for, and calls a load balancer by a number";

const ANNOUNCED: &str = "a deletion is announced before the cloud is asked: theirs says nothing where it finds nothing";
const SILENT: &str = "an event says what theirs does or leaves without a word";
const PARTLESS: &str = "a Service that was refused has no part in the load balancer: an event says that it stays";
const JOINING: &str = "a node that has no provider id yet fails nothing here";
const RETRIED: &str =
    "what ended in error is made again after a pause, as theirs is: the recorder stopped at the first failure";

/// A person may be faster than the one who sets things back.
const fn sometimes(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: false }
}

/// The table.
pub const TABLE: [Meant; 41] = [
    always("*: cloud/loadbalancers/*/tags/*: nothing → \"aerostat:*", MARK),
    always("local-default/create: cloud/*/healthmonitor: nothing → *", LOCAL),
    always("local-default/create: cloud/*/monitor_port: nothing → 32102", LOCAL),
    always("numbers/create: *", REFUSED),
    always("theft/*: *", THEFT),
    always("theft-untagged/*: *", THEFT),
    always("autodetect-a1/create: *", EXTERNAL),
    always("affinity/none: cloud/*/session_persistence: *", AFFINITY),
    always("affinity: requests/writes: *", AFFINITY),
    always("drift/*: cloud/*/pools_without_listener: *", HANDS),
    sometimes("drift/*: cloud/*/weight: 0 → 1", HANDS),
    always("drift/listener * added*: cloud/*/listeners/listener_0_*", HANDS),
    always("drift/floating IP deleted: cloud/*/listeners/listener_0_*", HANDS),
    always("drift/listener * added*: cloud/*/listeners/mine: *", HANDS),
    always("drift/floating IP deleted: cloud/*/listeners/mine: *", HANDS),
    always("drift/*: cloud/*/listeners/person*: *", PERSONS),
    always("drift/load balancer deleted: *", HANDS),
    always("drift/delete: cloud/floatingips: *", HANDS),
    sometimes("drift: requests/writes: *", HANDS),
    always("drift/*: services/drift/annotations/*timeout-client-data: *", TOUCH),
    always("many-nodes/create big: *", LARGE),
    always("many-nodes: requests/*: *", LARGE),
    always("forwarded-for/off: *", HTTP),
    sometimes("forwarded-for: requests/*: *", HTTP),
    sometimes("forwarded-for/delete: events/EnsuredLoadBalancer: nothing → *", HTTP),
    always("serial-s1/port-removed: cloud/*/healthmonitor/name: *", NUMBERS),
    always("pending/waits is served: *", RECORDED),
    always("pending: requests/writes: *", RECORDED),
    always("*/delete*: events/DeletingLoadBalancer: nothing → *", ANNOUNCED),
    always("address-new/changed: events/LoadBalancerImmutable: nothing → *", SILENT),
    always("selector/nobody: events/UnAvailableLoadBalancer: nothing → *", SILENT),
    always("no-node-ports/create: events/LoadBalancerPortWithoutNodePort: nothing → *", SILENT),
    always("share/delete *: events/*: *", PARTLESS),
    always("timeouts/method-unknown: events/*: *", REFUSED),
    always("groups-off/node-5 *: events/*: * → nothing", JOINING),
    sometimes("created-in-error/create: events/LoadBalancerNotFound: nothing → *", SILENT),
    sometimes("created-in-error/create: cloud/loadbalancers: *", RETRIED),
    sometimes("created-in-error/delete: events/SyncLoadBalancerFailed: nothing → *", RETRIED),
    sometimes("created-in-error/delete: events/LoadBalancerNotFound: nothing → *", SILENT),
    sometimes("created-in-error: requests/*: *", RETRIED),
    sometimes("*: events/LoadBalancerPending: nothing → *", SILENT),
];

const MACHINES: &str =
    "a machine that is suspended or shelved is off: its volumes are let go, as the specification asks";
const PAIRS: &str = "a right of a port without a route is taken away; theirs leaves it when a node leaves";

const HAND: &str = "a route that a person leads to a node without a network is no reason for a condition on that node";

const BACKEND: &str = "an event says that a node takes no traffic any more: theirs says nothing";
const WATCHED: &str =
    "the recorder looked at the join until 30 of 32 pools were done, and one Service of twenty was not";

/// The table of the parts that are no stories of one Service.
pub const PARTS: [Meant; 8] = [
    always("*: cloud/*/tags/*: nothing → \"aerostat:*", MARK),
    sometimes("machines/node-6 is suspended: node/taints*: *", MACHINES),
    sometimes("machines/node-6 is shelved: node/taints*: *", MACHINES),
    sometimes("machines/*: events/NotABackend: nothing → *", BACKEND),
    sometimes("routes/*: network/allowed_address_pairs/<port node-2>: *", PAIRS),
    sometimes("routes/next hop of node-2's route changed by hand: nodes/node-4/*: * → null", HAND),
    always("node-change/join node-5: events/basic/UpdatedLoadBalancer: *", WATCHED),
    always("node-change: requests/writes: *", WATCHED),
];
