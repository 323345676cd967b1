//! Differences from the vendor's own controller manager that are meant to be, with their reasons.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const MARK: &str = "tags name the cluster and the Service by their UIDs: a name proves nothing";
const EARLY: &str = "values are judged before an address is made: theirs holds one for nobody";

/// The table.
pub const TABLE: [Meant; 3] = [
    always("*: cloud/set/*/publicIPAddresses/kubernetes-LB(*)/tags/aerostat-owner: nothing → *", MARK),
    always("*: cloud/set/*/loadBalancers/*/tags: nothing → {\"aerostat-cluster\":*", MARK),
    always("vm/options/refused: cloud/set/*/publicIPAddresses/kubernetes-LB(r-*: * → nothing", EARLY),
];
