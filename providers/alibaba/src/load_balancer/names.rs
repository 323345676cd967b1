//! Names and descriptions, as the vendor's controller makes them, so that each finds what the other made. Pure.

use aerostat_sdk::Owner;

/// The longest name of a group, and description of a machine in it.
const NAME_CHARACTERS: usize = 80;

/// The beginning of names that a cluster gives.
pub(super) const OTHERS: &str = "k8s/";

/// The names of what a Service's load balancer is made of.
#[derive(Clone, Debug)]
pub(super) struct PartNames {
    /// `/web/default/c1`: behind the port.
    long: String,
    /// The same where that is too long.
    short: String,
}

impl PartNames {
    /// The names for a Service in the cluster with this id.
    pub(super) fn new(owner: &Owner, cluster: &str) -> Self {
        let Owner { namespace, name, uid, .. } = owner;
        Self { long: format!("/{name}/{namespace}/{cluster}"), short: format!("/{uid}/{cluster}") }
    }

    /// The name of the group with this node port, and the description of the machines in it.
    pub(super) fn group(&self, node_port: u16) -> String {
        let name = format!("k8s/{node_port}{}", self.long);
        if name.len() <= NAME_CHARACTERS { name } else { format!("k8s/{node_port}{}", self.short) }
    }

    /// The description of the listener of this port.
    pub(super) fn listener(&self, port: u16) -> String {
        format!("k8s/{port}{}", self.long)
    }

    /// Whether a name or a description is one of these, for any port.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(OTHERS) else { return false };
        [&self.long, &self.short]
            .iter()
            .any(|it| rest.strip_suffix(it.as_str()).is_some_and(|port| port.parse::<u16>().is_ok()))
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::LoadBalancer;

    use super::*;

    #[test]
    fn names_fit_and_tell_whose_they_are() {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let names = |namespace: &str, name: &str| PartNames::new(&LoadBalancer::of(namespace, name, uid).owner, "c1");
        let web = names("default", "web");
        assert_eq!(web.group(30_080), "k8s/30080/web/default/c1");
        assert_eq!(web.listener(80), "k8s/80/web/default/c1");
        assert!(web.is_ours("k8s/30081/web/default/c1"));
        for other in [
            "k8s/30080/web/default/c2",
            "k8s/30080/web/other/c1",
            "k8s/x/web/default/c1",
            "web",
            "k8s/1/a/web/default/c1",
        ] {
            assert!(!web.is_ours(other), "{other}");
        }
        let long = names(&"n".repeat(63), &"s".repeat(63));
        let group = long.group(65_535);
        assert_eq!(group, format!("k8s/65535/{uid}/c1"));
        assert!(long.is_ours(&group) && !web.is_ours(&long.listener(1)));
        let widest = PartNames::new(&LoadBalancer::of("n".repeat(63), "s", uid).owner, &"c".repeat(33));
        assert_eq!(widest.group(65_535).len(), NAME_CHARACTERS);
    }
}
