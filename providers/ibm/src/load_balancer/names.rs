//! Names, as the vendor's controller makes them, so that each finds what the other made.

use aerostat_sdk::{LoadBalancer, Port, Protocol};

use crate::settings::IbmAccountSettings;

/// The longest name of a load balancer.
const NAME_CHARACTERS: usize = 63;

/// The digits of a UID.
const UID_DIGITS: usize = 32;
/// Those that the longest id of a cluster leaves of them.
const LEAST_DIGITS: usize = 16;

/// The beginning of the names of this cluster's load balancers.
fn beginning(settings: &IbmAccountSettings) -> String {
    format!("kube-{}-", settings.cluster)
}

/// The name that a Service's load balancer has unless its author chose another.
pub(crate) fn own(service: &LoadBalancer, settings: &IbmAccountSettings) -> String {
    let name = format!("{}{}", beginning(settings), service.owner.uid.replace('-', ""));
    name.chars().take(NAME_CHARACTERS).collect()
}

/// The end of a name that a load balancer of this cluster has by itself: its Service's UID without dashes, or what the cut leaves of it. `None` for
/// other names, as those in a cluster whose id begins like this one's.
pub(crate) fn uid_in<'n>(name: &'n str, settings: &IbmAccountSettings) -> Option<&'n str> {
    name.strip_prefix(&beginning(settings)).filter(|it| is_uid_of(it, name))
}

/// Whether it is a name that Aerostat gives for a Service, in this cluster or in another: `kube-`, an id, and a UID.
pub(super) fn is_given(name: &str) -> bool {
    let end = name.strip_prefix("kube-").and_then(|it| it.rsplit_once('-'));
    end.is_some_and(|(_, it)| is_uid_of(it, name))
}

/// Whether this end of a name is a UID without dashes, of which a name of full length may have lost some digits.
fn is_uid_of(end: &str, name: &str) -> bool {
    let is_cut = name.len() == NAME_CHARACTERS && (LEAST_DIGITS..UID_DIGITS).contains(&end.len());
    (end.len() == UID_DIGITS || is_cut) && end.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Whether it is a name of the kind that load balancers of Services have by themselves, in this cluster or in another: no author may choose one.
pub(super) fn is_of_a_service(name: &str) -> bool {
    name.starts_with("kube-")
}

/// The name of a port's pool: `tcp-80-30080`.
pub(super) fn pool(port: &Port, node_port: u16) -> String {
    let protocol = if port.protocol == Protocol::Udp { "udp" } else { "tcp" };
    format!("{protocol}-{}-{node_port}", port.port)
}

/// The protocol and the port of a pool with such a name; `None` for a pool that somebody else made.
pub(super) fn port_of(pool: &str) -> Option<(&str, u16)> {
    let mut parts = pool.split('-');
    let (Some(protocol @ ("tcp" | "udp")), Some(port), Some(node_port), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    node_port.parse::<u16>().ok()?;
    Some((protocol, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(id: &str) -> IbmAccountSettings {
        let text = |it: &str| it.to_owned();
        IbmAccountSettings { account: text("acc"), cluster: text(id), region: text("us-south"), vpc: None }
    }

    #[test]
    fn names_are_one_clusters_by_all_of_its_id() {
        let uid = "0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11";
        let longest = "c".repeat(41);
        let service = LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let cut = own(&service, &cluster(&longest));
        for (id, name, expected) in [
            ("c1", &*format!("kube-c1-{uid}"), Some(uid)),
            ("c1", &format!("kube-c1-x-{uid}"), None),
            ("c1-x", &format!("kube-c1-x-{uid}"), Some(uid)),
            ("c1", "kube-c1-by-hand", None),
            ("c1", &format!("kube-c1-{}", &uid[..31]), None),
            (&longest, &cut, Some(&uid[..16])),
        ] {
            assert_eq!(uid_in(name, &cluster(id)), expected, "{id}: {name}");
            assert_eq!(is_given(name), expected.is_some() || name.contains("c1-x"), "{name}");
        }
        assert!(!is_given("kube-bvlntf2d0fe4l9hnres0") && !is_given("kube-r006-4727d842-f94f-4a2d-824a-9bc9b02c523b"));
    }
}
