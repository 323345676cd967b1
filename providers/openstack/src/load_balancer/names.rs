//! Names and descriptions, letter by letter those of OpenStack's own controller: by them load balancers are found, taken over and given back.

use aerostat_sdk::{Error, Owner, Result};

/// The beginning of the names of load balancers, and of the tags that name their Services.
pub(crate) const PREFIX: &str = "kube_service_";
/// The beginning of descriptions of floating IPs.
const FLOATING_IP: &str = "Floating IP for Kubernetes external service ";
/// The longest name that Octavia takes.
const LONGEST: usize = 255;

/// A part of a load balancer that has a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NamedPart {
    Listener,
    Pool,
    Monitor,
}

/// The name of a Service's load balancer, which is also its tag: "kube_service_prod_default_web".
pub(crate) fn load_balancer(cluster: &str, namespace: &str, name: &str) -> String {
    cut(format!("{PREFIX}{cluster}_{namespace}_{name}"))
}

/// The name of a Service's load balancer in the cluster that its owner names.
pub(crate) fn of(owner: &Owner) -> String {
    load_balancer(&owner.cluster, &owner.namespace, &owner.name)
}

/// The name of a part of a load balancer: "listener_0_kube_service_prod_default_web". `index` is its port's place in the Service.
pub(crate) fn part(part: NamedPart, index: usize, load_balancer: &str) -> String {
    cut(format!("{}{index}_{load_balancer}", part.prefix()))
}

/// Whether `name` is that of a part of this load balancer, with any number: a part keeps its number when ports before it go.
pub(crate) fn is_part(part: NamedPart, name: &str, load_balancer: &str) -> bool {
    let number = name.strip_prefix(part.prefix()).and_then(|it| it.split_once('_')).map(|(number, _)| number);
    number.and_then(|it| it.parse().ok()).is_some_and(|index| name == self::part(part, index, load_balancer))
}

impl NamedPart {
    fn prefix(self) -> &'static str {
        match self {
            Self::Listener => "listener_",
            Self::Pool => "pool_",
            Self::Monitor => "monitor_",
        }
    }
}

/// The cluster that the name or tag of a load balancer is of; `None` if it is no such name. Namespaces and Services have no "_" in their names,
/// clusters may.
pub(crate) fn cluster_of(name: &str) -> Option<&str> {
    let (rest, _) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
    rest.rsplit_once('_').map(|(cluster, _)| cluster)
}

/// Whether a name or tag is of this cluster. One that was cut has lost its end, but not its cluster.
pub(crate) fn is_of_cluster(name: &str, cluster: &str) -> bool {
    let was_cut = || name.len() >= LONGEST && name.starts_with(&format!("{PREFIX}{cluster}_"));
    cluster_of(name) == Some(cluster) || was_cut()
}

/// Whether it is the name that load balancers had in earlier versions: "a" and a UID without dashes, 32 characters.
pub(crate) fn is_legacy(name: &str) -> bool {
    name.len() == 32
        && name.starts_with('a')
        && name.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
}

/// The description of a Service's load balancer.
pub(crate) fn description(owner: &Owner) -> String {
    let Owner { cluster, namespace, name, .. } = owner;
    format!("Kubernetes external service {namespace}/{name} from cluster {cluster}")
}

/// The description of a Service's floating IP.
pub(crate) fn floating_ip(owner: &Owner) -> String {
    let Owner { cluster, namespace, name, .. } = owner;
    format!("{FLOATING_IP}{namespace}/{name} from cluster {cluster}")
}

/// Whether a description is that of a floating IP which a controller of one of these clusters has made.
pub(crate) fn is_floating_ip_of(description: &str, clusters: &[&str]) -> bool {
    let cluster =
        description.strip_prefix(FLOATING_IP).and_then(|it| it.split_once(" from cluster ")).map(|(_, it)| it);
    cluster.is_some_and(|it| clusters.contains(&it))
}

/// The name of a Service's security group.
pub(crate) fn security_group(owner: &Owner) -> String {
    let Owner { namespace, name, uid, .. } = owner;
    cut(format!("lb-sg-{uid}-{namespace}-{name}"))
}

/// The description of a Service's security group.
pub(crate) fn group_description(owner: &Owner) -> String {
    let Owner { cluster, namespace, name, .. } = owner;
    format!("Security Group for {namespace}/{name} Service LoadBalancer in cluster {cluster}")
}

/// Refuses a cluster's name that makes another cluster's load balancers look like this one's.
///
/// # Errors
///
/// `invalid`, if the name is empty.
pub(crate) fn check_cluster(cluster: &str) -> Result<()> {
    if cluster.is_empty() {
        return Err(Error::invalid("--cluster-name is empty: load balancers have it in their names"));
    }
    Ok(())
}

fn cut(mut name: String) -> String {
    if name.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|it| name.is_char_boundary(*it)).unwrap_or_default();
        name.truncate(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(cluster: &str) -> Owner {
        let text = |it: &str| it.to_owned();
        Owner { cluster: text(cluster), namespace: text("default"), name: text("basic"), uid: text("0e2f6f1c") }
    }

    /// Names as the recordings of OpenStack's own controller have them.
    #[test]
    fn names_are_those_of_openstacks_own_controller() {
        let owner = owner("prod");
        let name = of(&owner);
        assert_eq!(name, "kube_service_prod_default_basic");
        assert_eq!(part(NamedPart::Listener, 1, &name), "listener_1_kube_service_prod_default_basic");
        assert_eq!(part(NamedPart::Pool, 0, &name), "pool_0_kube_service_prod_default_basic");
        assert_eq!(part(NamedPart::Monitor, 2, &name), "monitor_2_kube_service_prod_default_basic");
        assert_eq!(description(&owner), "Kubernetes external service default/basic from cluster prod");
        assert_eq!(floating_ip(&owner), "Floating IP for Kubernetes external service default/basic from cluster prod");
        assert_eq!(security_group(&owner), "lb-sg-0e2f6f1c-default-basic");
        assert_eq!(group_description(&owner), "Security Group for default/basic Service LoadBalancer in cluster prod");
    }

    #[test]
    fn a_part_is_known_whatever_its_number() {
        let name = of(&owner("prod"));
        for (text, is) in [
            ("listener_0_kube_service_prod_default_basic", true),
            ("listener_17_kube_service_prod_default_basic", true),
            ("listener_x_kube_service_prod_default_basic", false),
            ("listener_0_kube_service_prod_default_other", false),
            ("pool_0_kube_service_prod_default_basic", false),
            ("web", false),
        ] {
            assert_eq!(is_part(NamedPart::Listener, text, &name), is, "{text}");
        }
        let long = load_balancer("prod", "default", &"n".repeat(300));
        assert_eq!(long.len(), 255);
        assert!(is_part(NamedPart::Pool, &part(NamedPart::Pool, 3, &long), &long));
    }

    #[test]
    fn a_name_tells_its_cluster() {
        assert_eq!(cluster_of("kube_service_prod_default_web"), Some("prod"));
        assert_eq!(cluster_of("kube_service_my_prod_default_web"), Some("my_prod"));
        for other in ["web", "kube_service_", "kube_service_web", "kube_service_prod_web"] {
            assert_eq!(cluster_of(other), None, "{other}");
        }
        assert!(!is_of_cluster("kube_service_my_prod_default_web", "my"), "no beginning of a name is enough");
        let cut = load_balancer("prod", "default", &"n".repeat(300));
        assert!(is_of_cluster(&cut, "prod") && !is_of_cluster(&cut, "pro"));
    }

    #[test]
    fn a_floating_ip_tells_whose_it_is() {
        let description = floating_ip(&owner("prod"));
        assert!(is_floating_ip_of(&description, &["stage", "prod"]));
        assert!(!is_floating_ip_of(&description, &["stage"]) && !is_floating_ip_of("of a person", &["prod"]));
    }

    #[test]
    fn a_legacy_name_holds_a_uid() {
        assert!(is_legacy("a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"));
        assert!(
            !is_legacy("a0e2f6f1c")
                && !is_legacy("b0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1")
                && !is_legacy("appserverappserverappserverappse")
        );
    }
}
