//! Which addresses a node gets: the cloud's, sorted and cut by the node IP that its kubelet was given.

use std::net::{IpAddr, Ipv4Addr};

use cloud_provider::{Address, AddressKind};

/// Why the annotation `alpha.kubernetes.io/provided-node-ip` cannot be followed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// It is not a list of addresses.
    #[error("failed to parse node IP {value:?}: {reason}")]
    Unreadable {
        /// The annotation's value.
        value: String,
        /// The reason why it cannot be read.
        reason: String,
    },
    /// The cloud does not know the address.
    #[error("failed to get node address from cloud provider that matches ip: {0}")]
    Unknown(IpAddr),
}

/// The cloud's addresses as the annotation wants them: first those that it names, in its order, then the others whose
/// kind it does not name, in the cloud's order.
pub(super) fn preferred(provided: &str, addresses: &[Address]) -> Result<Vec<Address>, Error> {
    let mut preferred = Vec::new();
    let mut kinds = Vec::new();
    for node_ip in parse(provided)? {
        let found = addresses.iter().filter(|it| parse_ip(&it.value).is_some_and(|it| it == node_ip));
        let before = preferred.len();
        for address in found {
            preferred.push(address.clone());
            kinds.push(address.kind);
        }
        if preferred.len() == before {
            return Err(Error::Unknown(node_ip));
        }
    }
    preferred.extend(addresses.iter().filter(|it| !kinds.contains(&it.kind)).cloned());
    Ok(preferred)
}

/// The cloud's addresses and, if it names no host name, those that the node has already.
pub(super) fn with_hostnames(mut addresses: Vec<Address>, existing: &[Address]) -> Vec<Address> {
    if addresses.iter().all(|it| it.kind != AddressKind::Hostname) {
        addresses.extend(existing.iter().filter(|it| it.kind == AddressKind::Hostname).cloned());
    }
    addresses
}

/// One address, or two of different families.
fn parse(provided: &str) -> Result<Vec<IpAddr>, Error> {
    let unreadable = |reason: String| Error::Unreadable { value: provided.to_owned(), reason };
    let mut ips = Vec::new();
    for part in provided.split(',') {
        ips.push(parse_ip(part).ok_or_else(|| unreadable(format!("could not parse {part:?}")))?);
    }
    match *ips {
        [_] => Ok(ips),
        [first, second] if first.is_ipv4() != second.is_ipv4() => {
            if first.is_unspecified() || second.is_unspecified() {
                return Err(unreadable("dual-stack node IP cannot include '0.0.0.0' or '::'".to_owned()));
            }
            Ok(ips)
        }
        _ => Err(unreadable("must contain either a single IP or a dual-stack pair of IPs".to_owned())),
    }
}

/// An address as upstream reads it: leading zeros do not make a number octal, and an IPv4 address may be written as IPv6.
fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().or_else(|| parse_padded(text)).map(|it| it.to_canonical())
}

/// An IPv4 address with leading zeros.
fn parse_padded(text: &str) -> Option<IpAddr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next().filter(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))?;
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets).into())
}

#[cfg(test)]
mod tests {
    use measured_work::Line;

    use super::*;
    use crate::cluster_facts::believed_pod_network;

    /// `Int 10.0.0.1, Ext 1.2.3.4`; kinds: Int, Ext, IntDNS, ExtDNS, H.
    fn addresses(text: &str) -> Vec<Address> {
        let address = |text: &str| {
            let (kind, value) = text.split_once(' ').unwrap();
            let kind = match kind {
                "Int" => AddressKind::InternalIp,
                "Ext" => AddressKind::ExternalIp,
                "IntDNS" => AddressKind::InternalDns,
                "ExtDNS" => AddressKind::ExternalDns,
                "H" => AddressKind::Hostname,
                other => panic!("{other}"),
            };
            Address { kind, value: value.to_owned() }
        };
        text.split(", ").filter(|it| !it.is_empty()).map(address).collect()
    }

    #[track_caller]
    fn check(provided: &str, cloud: &str, expected: &str) {
        assert_eq!(preferred(provided, &addresses(cloud)), Ok(addresses(expected)));
    }

    #[track_caller]
    fn check_error(provided: &str, cloud: &str, expected: &str) {
        assert_eq!(preferred(provided, &addresses(cloud)).unwrap_err().to_string(), expected);
    }

    #[test]
    fn adv_158_a_kubelets_addresses_cost_no_more_than_their_bytes() {
        let pieces: [&[u8]; 8] = [b"10.0.0.1", b",", b"::", b"0", b".", b"::ffff:10.0.0.1", b"fd00::1,", b"a"];
        let clouds = addresses("Int 10.0.0.1, Ext 1.2.3.4, Int fd00::1");
        measured_work::fuzz("a kubelet's addresses", Line { nanoseconds: 1_000, memory: 64 }, &pieces, |text| {
            let text = String::from_utf8_lossy(text);
            drop(preferred(&text, &clouds));
            _ = believed_pod_network(&text);
        });
    }

    #[test]
    fn case_022_the_node_ip_comes_first() {
        check("10.0.0.1", "Ext 132.143.154.163, Int 10.0.0.1", "Int 10.0.0.1, Ext 132.143.154.163");
    }

    #[test]
    fn case_062_addresses_in_order_stay() {
        check("10.1.1.1", "Int 10.1.1.1, H h", "Int 10.1.1.1, H h");
    }

    #[test]
    fn case_064_a_node_ip_of_two_kinds_cuts_both() {
        check(
            "55.55.55.55",
            "Int 44.44.44.44, Ext 44.44.44.44, Int 55.55.55.55, Ext 55.55.55.55, H h",
            "Int 55.55.55.55, Ext 55.55.55.55, H h",
        );
    }

    #[test]
    fn case_065_other_kinds_stay_whole() {
        let all = "Int 10.1.1.1, Ext 55.55.55.55, IntDNS d1, ExtDNS d2, H h";
        check("10.1.1.1", all, all);
    }

    #[test]
    fn case_066_the_kind_of_the_node_ip_is_cut_to_it() {
        check(
            "10.1.1.1",
            "Int 10.1.1.1, Int 10.2.2.2, Int 10.3.3.3, Ext 55.55.55.55, H h",
            "Int 10.1.1.1, Ext 55.55.55.55, H h",
        );
    }

    #[test]
    fn case_068_the_clouds_spelling_is_kept() {
        check(
            "2600:1f14:1d4:d101::ba3d",
            "Int 10.1.1.1, Int 2600:1f14:1d4:d101:0:0:0:ba3d, H h",
            "Int 2600:1f14:1d4:d101:0:0:0:ba3d, H h",
        );
    }

    #[test]
    fn case_069_both_addresses_of_a_pair_must_be_known() {
        check_error(
            "10.1.1.1,fc01:1234::5678",
            "Int 10.1.1.1, H h",
            "failed to get node address from cloud provider that matches ip: fc01:1234::5678",
        );
    }

    #[test]
    fn case_070_a_pair_comes_in_the_annotations_order() {
        check(
            "10.1.1.1,fc01:1234::5678",
            "Int fc01:1234::5678, Int 10.1.1.1, H h",
            "Int 10.1.1.1, Int fc01:1234::5678, H h",
        );
    }

    #[test]
    fn case_072_a_pair_cuts_its_kind() {
        check(
            "10.1.1.1,fc01:1234::5678",
            "Int 10.1.1.1, Ext 55.55.55.55, Int fc01:1234::1234, Int fc01:1234::5678, H h",
            "Int 10.1.1.1, Int fc01:1234::5678, Ext 55.55.55.55, H h",
        );
    }

    #[test]
    fn case_073_a_pair_may_begin_with_ipv6() {
        check(
            "fc01:1234::5678,10.1.1.1",
            "Int 10.1.1.1, Ext 55.55.55.55, Int fc01:1234::5678, Ext 2001:db1::1, H h",
            "Int fc01:1234::5678, Int 10.1.1.1, Ext 55.55.55.55, Ext 2001:db1::1, H h",
        );
    }

    #[test]
    fn case_074_a_pair_of_two_kinds_cuts_both() {
        check(
            "55.55.55.55,fc01:1234::5678",
            "Int 10.1.1.1, Ext 55.55.55.55, Int fc01:1234::5678, Ext 2001:db1::1, H h",
            "Ext 55.55.55.55, Int fc01:1234::5678, H h",
        );
    }

    #[test]
    fn case_024_a_text_that_is_no_list_of_addresses_is_an_error() {
        let unreadable = |value: &str, reason: &str| {
            check_error(value, "Int 10.0.0.1", &format!("failed to parse node IP {value:?}: {reason}"));
        };
        let count = "must contain either a single IP or a dual-stack pair of IPs";
        let unspecified = "dual-stack node IP cannot include '0.0.0.0' or '::'";
        unreadable("10.0.0.1x", r#"could not parse "10.0.0.1x""#);
        unreadable("", r#"could not parse """#);
        unreadable("10.0.0.1, fd00::3", r#"could not parse " fd00::3""#);
        unreadable("10.0.0.1,", r#"could not parse """#);
        unreadable("10.0.0.1,10.0.0.1", count);
        unreadable("10.0.0.1,fd00::9,fd00::10", count);
        unreadable("10.0.0.1,::", unspecified);
        unreadable("0.0.0.0,fd00::8", unspecified);
    }

    #[test]
    fn leading_zeros_and_ipv4_in_ipv6_are_read_as_upstream_does() {
        for provided in ["010.001.001.001", "::ffff:10.1.1.1"] {
            check(provided, "Int 10.1.1.1, Int 10.2.2.2, H h", "Int 10.1.1.1, H h");
        }
        for wrong in ["10.1.1", "10.1.1.1.1", "10.1.1.256", "10.1.1.-1", "10.1..1"] {
            assert_eq!(parse_ip(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn case_030_own_host_names_stay_where_the_cloud_has_none() {
        let existing = addresses("Int 10.0.0.9, H kubelet-1, H kubelet-2");
        let kept = with_hostnames(addresses("Int 10.0.0.1"), &existing);
        assert_eq!(kept, addresses("Int 10.0.0.1, H kubelet-1, H kubelet-2"));
        let clouds = with_hostnames(addresses("Int 10.0.0.1, H cloud"), &existing);
        assert_eq!(clouds, addresses("Int 10.0.0.1, H cloud"));
    }
}
