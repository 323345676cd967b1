//! Differences from the vendor's own controller manager that are meant to be, with their reasons.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const fn sometimes(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: false }
}

const MARK: &str = "tags and descriptions name the cluster and the Service by their UIDs: a name proves nothing";
const FINALIZER: &str = "Kubernetes' own finalizer holds a Service, not the vendor's";
const LABELS: &str = "what was served stands in the status: theirs writes it on labels, and comes back because of them";
const RECORDED: &str = "the recorder made that interface again after the step in which theirs let it forward";
const EVENTS: &str = "each manager tells what it does in its own words: here as Kubernetes' own controllers do";
const LOCAL: &str =
    "all nodes are in a group, behind a check of their health port: theirs holds the nodes with pods, and weighs them";
const CHECK: &str =
    "the check of Local was written over that of annotations that are gone, and goes back to the cloud's own";
const READY: &str = "a node that is not ready stays in its groups, as Kubernetes has it: its check decides";
const IMMUTABLE: &str =
    "what cannot be changed is a Warning, and everything else is still served: theirs fails as a whole";
const UNCLEAR: &str = "a creation without an answer is looked for, and told as that";
const FAILED: &str = "a job that failed is told and done again: theirs takes it for done, without saying so";
const THROTTLED: &str =
    "an account that is throttled is told: theirs is silent about it where it tries again by itself";
const INTERFACE: &str = "an interface goes with its machine: the recorder's stays";
const PENDING: &str =
    "a new entry is read until it is Available, and a node that nobody knows is looked for in the list";
const ACCOUNT: &str = "a process asks once whose the account is";

/// The table.
pub const TABLE: [Meant; 39] = [
    always("*: cloud/*/tags/aerostat.dev/*: nothing → *", MARK),
    always("*: cloud/routes/*/Description: nothing → *", MARK),
    always("*: services/*/finalizers/*: \"service.k8s.alibaba/*\" → nothing", FINALIZER),
    always("*: services/*/finalizers/*: nothing → \"service.kubernetes.io/load-balancer-cleanup\"", FINALIZER),
    always("*: services/*/labels/service.*: * → nothing", LABELS),
    always("*: cloud/source_dest_check/eni-1: true → false", RECORDED),
    always("*: events/*Changed: \"Normal\" → nothing", EVENTS),
    always("*: events/CleanLoadBalancer: \"Normal\" → nothing", EVENTS),
    sometimes("*: events/EnsuringLoadBalancer: nothing → \"Normal\"", EVENTS),
    always("*: events/EnsuredLoadBalancer: nothing → \"Normal\"", EVENTS),
    sometimes("*: events/UpdatedLoadBalancer: nothing → \"Normal\"", EVENTS),
    always("*: events/Delet*LoadBalancer: nothing → \"Normal\"", EVENTS),
    always("clb-local: cloud/classic/web/groups/*/i-bp1:*: \"ecs weight 1 *\" → \"ecs weight 100 *\"", LOCAL),
    always("clb-local: cloud/classic/web/groups/*/i-bp2:*: nothing → \"ecs weight 100 *\"", LOCAL),
    always("clb-local: cloud/classic/web/groups/*/i-bp3:*: nothing → \"ecs weight 100 *\"", LOCAL),
    always("clb-local: cloud/classic/web/listeners/*/HealthCheckURI: \"/ok\" → \"/healthz\"", LOCAL),
    always("clb-local: cloud/classic/web/listeners/*/HealthCheckConnectPort: nothing → \"3*\"", LOCAL),
    always("clb-node-*: cloud/classic/web/listeners/*/HealthCheckURI: \"/ok\" → \"/healthz\"", CHECK),
    always("clb-node-*: cloud/classic/web/listeners/*/HealthCheckType: \"http\" → \"tcp\"", CHECK),
    always("clb-node-*: cloud/classic/web/listeners/*/HealthCheckConnectPort: nothing → \"-520\"", CHECK),
    always("clb-*endpoints*: cloud/classic/web/listeners/*/HealthCheckURI: \"/ok\" → \"/healthz\"", CHECK),
    always("clb-*endpoints*: cloud/classic/web/listeners/*/HealthCheckType: \"http\" → \"tcp\"", CHECK),
    always("clb-*endpoints*: cloud/classic/web/listeners/*/HealthCheckConnectPort: nothing → \"-520\"", CHECK),
    always("clb-port-removed: cloud/classic/web/listeners/*/HealthCheckURI: \"/ok\" → \"/healthz\"", CHECK),
    always("clb-port-removed: cloud/classic/web/listeners/*/HealthCheckType: \"http\" → \"tcp\"", CHECK),
    always("clb-port-removed: cloud/classic/web/listeners/*/HealthCheckConnectPort: nothing → \"-520\"", CHECK),
    always("clb-node-not-ready: cloud/classic/web/groups/*/i-bp2:*: nothing → \"ecs weight 100 *\"", READY),
    always("clb-address-type-changed: events/LoadBalancerImmutable: nothing → \"Warning\"", IMMUTABLE),
    always("clb-address-type-changed: events/SyncLoadBalancerFailed: \"Warning\" → nothing", IMMUTABLE),
    always("fault-create-done-answer-lost: events/LoadBalancerCreationUnclear: nothing → \"Warning\"", UNCLEAR),
    always("fault-create-done-answer-lost: events/SyncLoadBalancerFailed: \"Warning\" → nothing", UNCLEAR),
    always("fault-throttled-nlb: events/SyncLoadBalancerFailed: nothing → \"Warning\"", THROTTLED),
    sometimes("fault-throttled-*: events/LoadBalancerPending: nothing → *", THROTTLED),
    always("fault-job-failed: events/SyncLoadBalancerFailed: nothing → \"Warning\"", FAILED),
    sometimes("fault-job-failed: events/LoadBalancerPending: nothing → *", FAILED),
    always("pass-after-instance-gone: cloud/source_dest_check/eni-3: false → nothing", INTERFACE),
    sometimes("nodes: requests/reads: *", PENDING),
    sometimes("pass: requests/reads: *", ACCOUNT),
    sometimes("departures: requests/reads: *", PENDING),
];

/// The most reads and writes of the chapters in which aerostat may read more than theirs.
pub const MOST: [(&str, (usize, usize)); 3] = [("nodes", (20, 5)), ("pass", (4, 0)), ("departures", (20, 5))];
