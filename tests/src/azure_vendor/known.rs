//! Differences from the vendor's own controller manager that are meant to be, with their reasons.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const fn sometimes(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: false }
}

const MARK: &str = "tags name the cluster and the Service by their UIDs: a name proves nothing";
const EARLY: &str = "values are judged before an address is made: theirs holds one for nobody";
const EARLIER: &str = "a Service of a step that was not recorded had this rule";
const LATE: &str = "the label of an earlier Service is taken off before the step, and the word of it comes late";
const COMPLAINT: &str = "machines that are in none of the named sets are members all the same, and nobody complains";
const MEMBERS: &str = "all nodes are in a pool: those without a pod fail its health probe. Theirs waits for endpoints";
const AFRESH: &str =
    "each call reads by name what Services share, and keeps nothing: theirs writes over what it read minutes ago";

/// The table.
pub const TABLE: [Meant; 11] = [
    always("*: cloud/set/*/publicIPAddresses/kubernetes-LB(*)/tags/aerostat-owner: nothing → *", MARK),
    always("*: cloud/set/*/loadBalancers/*/tags: nothing → {\"aerostat-cluster\":*", MARK),
    always("vm/options/refused: cloud/set/*/publicIPAddresses/kubernetes-LB(r-*: * → nothing", EARLY),
    always(
        "vm/internal/delete: cloud/unset/*: *k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77\" → nothing",
        EARLIER,
    ),
    sometimes("vm/options/named-pip: events/dns: nothing → *", LATE),
    always("several/multi/first: events/m1/FailedToFindLoadBalancerForNode: * → nothing", COMPLAINT),
    always("several/multi/local: cloud/set/*/backendAddressPools/default-m4/properties/*: nothing → *", MEMBERS),
    sometimes("several: requests/writes: *", MEMBERS),
    sometimes("several: requests/reads: *", AFRESH),
    sometimes("scale-set external: requests/reads: *", AFRESH),
    sometimes("node-ip external: requests/reads: *", AFRESH),
];
