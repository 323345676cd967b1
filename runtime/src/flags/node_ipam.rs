//! The flags of node IPAM: which networks nodes get parts of, and how large these are.

use std::net::{Ipv4Addr, Ipv6Addr};

use clap::{ArgAction, Args};
use controllers::node_ipam;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::values;

const HEADING: &str = "Pod networks of nodes";

/// Upstream's prefix lengths of a node's network.
const MASK_V4: u8 = 24;
const MASK_V6: u8 = 64;

/// The source of nodes' pod networks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NodeIpam {
    /// `--cidr-allocator-type=RangeAllocator`: from the cluster CIDRs.
    Range {
        /// `--cluster-cidr`, each with the prefix length of a node's part.
        clusters: Vec<(IpNet, u8)>,
        /// `--service-cluster-ip-range`.
        services: Vec<IpNet>,
    },
    /// `--cidr-allocator-type=CloudAllocator`: from the cloud.
    Cloud {
        /// Where the cloud may give networks: `--cluster-cidr`, or anywhere, each with the shortest prefix of a node's.
        clusters: Vec<(IpNet, u8)>,
        /// `--service-cluster-ip-range`: the family of the first one comes first.
        services: Vec<IpNet>,
    },
}

#[derive(Args, Debug)]
pub(super) struct NodeIpamFlags {
    /// Give each node its pod networks. Only one manager of a cluster may do that: take this flag away from
    /// kube-controller-manager first, or let leader migration hand over
    #[arg(long, help_heading = HEADING, default_value = "false", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = values::boolean,
          value_name = "true|false")]
    allocate_node_cidrs: bool,
    /// Where pod networks come from. RangeAllocator: each node gets the next free part of --cluster-cidr. CloudAllocator: the
    /// network that the cloud has given to its machine
    #[arg(long, help_heading = HEADING, value_name = "TYPE", default_value = "RangeAllocator")]
    cidr_allocator_type: String,
    /// The prefix length of a node's network, in a cluster of one family; 0: 24 for IPv4, 64 for IPv6. A node has as many
    /// pods at most as its network has addresses
    #[arg(long, help_heading = HEADING, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    node_cidr_mask_size: i32,
    /// The same for IPv4 alone: for clusters of both families
    #[arg(long, help_heading = HEADING, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    node_cidr_mask_size_ipv4: i32,
    /// The same for IPv6 alone: at most 16 more than the prefix length of its --cluster-cidr
    #[arg(long, help_heading = HEADING, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    node_cidr_mask_size_ipv6: i32,
    /// The networks of Services, with commas, one of each family: no node gets a part of them
    #[arg(long, help_heading = HEADING, value_name = "CIDR", default_value = "", hide_default_value = true)]
    service_cluster_ip_range: String,
}

/// `None` without `--allocate-node-cidrs`: then the other flags have no effect.
pub(super) fn node_ipam(
    flags: &NodeIpamFlags,
    clusters: &[IpNet],
    warnings: &mut Vec<String>,
    errors: &mut Vec<String>,
) -> Option<NodeIpam> {
    if !flags.allocate_node_cidrs {
        return None;
    }
    let services = services(&flags.service_cluster_ip_range, warnings, errors);
    match flags.cidr_allocator_type.as_str() {
        "RangeAllocator" => {}
        "CloudAllocator" => {
            let clusters = if clusters.is_empty() { anywhere(&services) } else { clusters.to_vec() };
            let masks = masks(flags, &clusters).map_err(|error| errors.push(error)).ok()?;
            return Some(NodeIpam::Cloud { clusters: clusters.into_iter().zip(masks).collect(), services });
        }
        other @ ("IPAMFromCluster" | "IPAMFromCloud") => {
            errors.push(format!(
                "--cidr-allocator-type={other} is known, but not supported: write RangeAllocator or CloudAllocator"
            ));
            return None;
        }
        other => {
            errors.push(format!("invalid CIDR allocator type: {other}; write RangeAllocator or CloudAllocator"));
            return None;
        }
    }
    if clusters.is_empty() {
        errors.push("Controller: Must specify --cluster-cidr if --allocate-node-cidrs is set".to_owned());
        return None;
    }
    let clusters = match masks(flags, clusters) {
        Ok(masks) => clusters.iter().copied().zip(masks).collect::<Vec<_>>(),
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    if clusters.iter().any(|(cluster, mask)| cluster.prefix_len() > *mask) {
        errors.push(
            "Controller: Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal to \
             --node-cidr-mask-size configured for CIDR family"
                .to_owned(),
        );
        return None;
    }
    if let Err(refused) = node_ipam::Options::check(&clusters, &services) {
        errors.push(refused.to_string());
    }
    Some(NodeIpam::Range { clusters, services })
}

/// All addresses of the families of Services; without these, of IPv4, as nodes get it then.
fn anywhere(services: &[IpNet]) -> Vec<IpNet> {
    let v4 = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));
    let v6 = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0));
    let of = |it: &IpNet| if matches!(it, IpNet::V4(_)) { v4 } else { v6 };
    if services.is_empty() { vec![v4] } else { services.iter().map(of).collect() }
}

/// Upstream's `setNodeCIDRMaskSizes`: the prefix length of a node's part of each cluster CIDR, in their order.
fn masks(flags: &NodeIpamFlags, clusters: &[IpNet]) -> Result<Vec<u8>, String> {
    let is_v6 = |it: &IpNet| matches!(it, IpNet::V6(_));
    let (any, v4, v6) = (flags.node_cidr_mask_size, flags.node_cidr_mask_size_ipv4, flags.node_cidr_mask_size_ipv6);
    for (name, size, longest) in
        [("node-cidr-mask-size", any, 128), ("node-cidr-mask-size-ipv4", v4, 32), ("node-cidr-mask-size-ipv6", v6, 128)]
    {
        if !(0..=longest).contains(&size) {
            return Err(format!("--{name}={size} is no prefix length: write a number from 1 to {longest}"));
        }
    }
    let refusal = match (clusters, any, v4, v6) {
        ([_, _, ..], 1.., _, _) => "usage of --node-cidr-mask-size is not allowed with dual-stack clusters",
        ([_], 1.., 1.., _) | ([_], 1.., _, 1..) => {
            "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if --node-cidr-mask-size is \
             set. For dual-stack clusters please unset it and use IPFamily specific flags"
        }
        ([only], _, 1.., _) if is_v6(only) => {
            "usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster"
        }
        ([only], _, _, 1..) if !is_v6(only) => {
            "usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster"
        }
        _ => "",
    };
    if !refusal.is_empty() {
        return Err(refusal.to_owned());
    }
    let size = |cluster: &IpNet| {
        let (own, default) = if is_v6(cluster) { (v6, MASK_V6) } else { (v4, MASK_V4) };
        let chosen = [any, own].into_iter().find(|it| *it > 0).and_then(|it| u8::try_from(it).ok());
        let size = chosen.unwrap_or(default);
        match size <= cluster.max_prefix_len() {
            true => Ok(size),
            false => {
                Err(format!("--node-cidr-mask-size={size} is no prefix length of IPv4: write a number from 1 to 32"))
            }
        }
    };
    clusters.iter().map(size).collect()
}

/// `--service-cluster-ip-range`, whether or not networks are given out: no load balancer and no node has an address in it.
/// A range that cannot be read is left out.
pub(super) fn service_networks(flags: &NodeIpamFlags) -> Vec<IpNet> {
    let parts = flags.service_cluster_ip_range.split(',');
    parts.filter_map(|it| it.trim().parse::<IpNet>().ok()).map(|it| it.trunc()).collect()
}

/// As upstream's `processCIDRs`: one, or one of each family.
pub(super) fn cluster_cidrs(text: &str, errors: &mut Vec<String>) -> Vec<IpNet> {
    let mut cidrs: Vec<IpNet> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match part.parse::<IpNet>() {
            Ok(cidr) => cidrs.push(cidr.trunc()),
            Err(_) => errors.push(format!("--cluster-cidr {part:?} is no network: write 10.244.0.0/16, say")),
        }
    }
    let is_v4 = |it: &IpNet| matches!(it, IpNet::V4(_));
    let families = cidrs.iter().filter(|it| is_v4(it)).count();
    if families > 1 || cidrs.len() - families > 1 {
        errors.push(format!("--cluster-cidr {text:?} names several networks of one family: write one of each at most"));
    }
    cidrs
}

/// Up to two networks. As upstream, what cannot be read is left out with a warning.
fn services(text: &str, warnings: &mut Vec<String>, errors: &mut Vec<String>) -> Vec<IpNet> {
    let mut services: Vec<IpNet> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match part.parse::<IpNet>() {
            Ok(cidr) => services.push(cidr.trunc()),
            Err(_) => warnings.push(format!(
                "Unsuccessful parsing of service CIDR {part}: nodes may get a part of it; write 10.96.0.0/12, say"
            )),
        }
    }
    match services[..] {
        [] | [_] | [IpNet::V4(_), IpNet::V6(_)] | [IpNet::V6(_), IpNet::V4(_)] => {}
        [_, _] => {
            errors.push("serviceCIDR and secondaryServiceCIDR are not dualstack (from different IPfamiles)".to_owned())
        }
        _ => errors.push(format!("--service-cluster-ip-range {text:?} has more than two networks")),
    }
    services
}

#[cfg(test)]
mod tests {
    use super::super::{FlagsError, RunSettings};
    use super::*;

    fn parse(flags: &[&str]) -> Result<RunSettings, FlagsError> {
        let always = ["aerostat", "--cloud-config=/cloud.yaml", "--allocate-node-cidrs"];
        RunSettings::parse(always.iter().chain(flags))
    }

    fn ranges(flags: &[&str]) -> Vec<(String, u8)> {
        let settings = parse(flags).unwrap_or_else(|error| panic!("{flags:?} was refused: {error}"));
        let Some(NodeIpam::Range { clusters, .. }) = settings.node_ipam else { panic!("{:?}", settings.node_ipam) };
        clusters.into_iter().map(|(cluster, mask)| (cluster.to_string(), mask)).collect()
    }

    fn refused(flags: &[&str]) -> String {
        match parse(flags) {
            Ok(settings) => panic!("{flags:?} was accepted: {:?}", settings.node_ipam),
            Err(error) => error.to_string(),
        }
    }

    fn range(cluster: &str, mask: u8) -> (String, u8) {
        (cluster.to_owned(), mask)
    }

    const BOTH: &str = "--cluster-cidr=10.0.0.0/16,fd00::/56";
    const V4: &str = "--cluster-cidr=10.0.0.0/16";
    const V6: &str = "--cluster-cidr=fd00::/56";

    #[test]
    fn case_201_without_its_flag_nothing_is_allocated() {
        let settings = RunSettings::parse([
            "aerostat",
            "--cloud-config=/c",
            "--cidr-allocator-type=No",
            "--node-cidr-mask-size=9",
        ]);
        assert_eq!(settings.unwrap().node_ipam, None);
        assert!(refused(&[V4, "--cidr-allocator-type=No"]).starts_with("invalid CIDR allocator type: No"));
        assert!(refused(&[V4, "--cidr-allocator-type=IPAMFromCloud"]).contains("not supported"));
        assert_eq!(refused(&[]), "Controller: Must specify --cluster-cidr if --allocate-node-cidrs is set");
        let cloud = parse(&["--cidr-allocator-type=CloudAllocator"]).unwrap().node_ipam;
        let clusters = vec![("0.0.0.0/0".parse().unwrap(), 24)];
        assert_eq!(cloud, Some(NodeIpam::Cloud { clusters, services: Vec::new() }), "it needs no cluster CIDR");
    }

    #[test]
    fn adv_152_the_cloud_gives_networks_within_the_cluster_cidr() {
        let of = |flags: &[&str]| {
            let all = ["--cidr-allocator-type=CloudAllocator"].iter().chain(flags).copied().collect::<Vec<_>>();
            match parse(&all).unwrap().node_ipam {
                Some(NodeIpam::Cloud { clusters, .. }) => {
                    clusters.iter().map(|(it, mask)| format!("{it} {mask}")).collect::<Vec<_>>().join(", ")
                }
                other => panic!("{other:?}"),
            }
        };
        let services = "--service-cluster-ip-range=fd01::/112,10.96.0.0/16";
        assert_eq!(of(&[BOTH]), "10.0.0.0/16 24, fd00::/56 64");
        assert_eq!(of(&[V4, "--node-cidr-mask-size=22"]), "10.0.0.0/16 22");
        assert_eq!(of(&[services]), "::/0 64, 0.0.0.0/0 24");
        assert_eq!(of(&[services, "--node-cidr-mask-size-ipv4=20"]), "::/0 64, 0.0.0.0/0 20");
        let contradiction = ["--cidr-allocator-type=CloudAllocator", BOTH, "--node-cidr-mask-size=26"];
        assert_eq!(refused(&contradiction), "usage of --node-cidr-mask-size is not allowed with dual-stack clusters");
    }

    #[test]
    fn adv_150_the_services_networks_are_known_without_allocation() {
        let range = "--service-cluster-ip-range=10.96.0.1/16, fd01::/112,nonsense";
        let settings = RunSettings::parse(["aerostat", "--cloud-config=/c", range]).unwrap();
        assert_eq!(settings.service_networks, ["10.96.0.0/16", "fd01::/112"].map(|it| it.parse().unwrap()));
    }

    #[test]
    fn case_202_masks_have_defaults_and_an_order() {
        assert_eq!(ranges(&[V4]), [range("10.0.0.0/16", 24)]);
        assert_eq!(ranges(&[V6]), [range("fd00::/56", 64)]);
        assert_eq!(ranges(&[BOTH]), [range("10.0.0.0/16", 24), range("fd00::/56", 64)]);
        let masks = ["--node-cidr-mask-size-ipv4=25", "--node-cidr-mask-size-ipv6=72"];
        assert_eq!(ranges(&[BOTH, masks[0], masks[1]]), [range("10.0.0.0/16", 25), range("fd00::/56", 72)]);
        let v6_first = "--cluster-cidr=fd00::/56,10.0.0.0/16";
        assert_eq!(ranges(&[v6_first, masks[0], masks[1]]), [range("fd00::/56", 72), range("10.0.0.0/16", 25)]);
        assert_eq!(ranges(&[V4, "--node-cidr-mask-size=26"]), [range("10.0.0.0/16", 26)]);
        assert_eq!(ranges(&[V4, masks[0]]), [range("10.0.0.0/16", 25)]);
    }

    #[test]
    fn case_202_masks_that_contradict_each_other_are_errors() {
        let (any, v4, v6) =
            ("--node-cidr-mask-size=26", "--node-cidr-mask-size-ipv4=26", "--node-cidr-mask-size-ipv6=72");
        let dual = "usage of --node-cidr-mask-size is not allowed with dual-stack clusters";
        assert_eq!(refused(&[BOTH, any]), dual);
        for own in [v4, v6] {
            let kinds = refused(&[V4, any, own]);
            assert!(
                kinds.starts_with("usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not"),
                "{kinds}"
            );
        }
        assert_eq!(
            refused(&[V4, v6]),
            "usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster"
        );
        assert_eq!(
            refused(&[V6, v4]),
            "usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster"
        );
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_an_unparsable_cluster_cidr() {
        assert!(refused(&["--cluster-cidr=10.0.0.0"]).starts_with("--cluster-cidr \"10.0.0.0\" is no network"));
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_three_cluster_cidrs() {
        assert!(refused(&["--cluster-cidr=10.0.0.0/16,fd00::/56,10.1.0.0/16"]).contains("one of each at most"));
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_two_cluster_cidrs_of_one_family() {
        assert!(refused(&["--cluster-cidr=10.0.0.0/16,10.1.0.0/16"]).contains("one of each at most"));
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_a_node_mask_shorter_than_the_clusters() {
        let sentence = refused(&["--cluster-cidr=10.0.0.0/26"]);
        assert!(
            sentence.starts_with("Controller: Invalid --cluster-cidr, mask size of cluster CIDR must be"),
            "{sentence}"
        );
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_a_node_mask_that_is_too_long() {
        let sentence = refused(&["--cluster-cidr=fd00::/48", "--node-cidr-mask-size=65"]);
        assert!(sentence.starts_with("New CIDR set failed; the node CIDR size is too big"), "{sentence}");
        assert!(refused(&[V4, "--node-cidr-mask-size=33"]).contains("is no prefix length of IPv4"));
        assert!(refused(&[V4, "--node-cidr-mask-size-ipv4=-1"]).contains("is no prefix length"));
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_a_service_range_over_the_whole_cluster() {
        let sentence = refused(&[V4, "--service-cluster-ip-range=10.0.0.0/8"]);
        assert!(sentence.contains("leaves nothing of --cluster-cidr 10.0.0.0/16 for nodes"), "{sentence}");
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_two_service_ranges_of_one_family() {
        assert_eq!(
            refused(&[V4, "--service-cluster-ip-range=10.96.0.0/16,10.97.0.0/16"]),
            "serviceCIDR and secondaryServiceCIDR are not dualstack (from different IPfamiles)"
        );
    }

    /// Cases: bad-networks
    #[test]
    fn bad_input_an_unparsable_service_range_is_a_warning() {
        let warnings = parse(&[V4, "--service-cluster-ip-range=nonsense"]).unwrap().warnings;
        assert!(warnings[0].starts_with("Unsuccessful parsing of service CIDR nonsense"), "{warnings:?}");
    }
}
