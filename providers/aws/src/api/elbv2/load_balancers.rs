//! Network Load Balancers themselves.

use aerostat_sdk::SortedSet;

use super::{Attributes, ListPage, PAGE, TagsByKey, with_pairs};
use crate::api::{AwsRefusal, ELBV2, Element};

/// A load balancer of any kind that this version of the API shows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct AnyLoadBalancer {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) dns_name: String,
    /// `network`, `application`, `gateway`.
    pub(crate) kind: String,
    /// `internet-facing` or `internal`.
    pub(crate) scheme: String,
    /// `ipv4` or `dualstack`.
    pub(crate) address_type: String,
    /// `provisioning`, `active`, `active_impaired`, `failed`.
    pub(crate) state: String,
    /// Why it is in that state, if AWS says so.
    pub(crate) reason: String,
    pub(crate) vpc: String,
    pub(crate) subnets: SortedSet<String>,
    pub(crate) groups: SortedSet<String>,
}

/// In which subnet a load balancer has which address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct SubnetMapping {
    pub(crate) subnet: String,
    /// An elastic IP.
    pub(crate) allocation: Option<String>,
    pub(crate) private_ipv4: Option<String>,
}

/// The fields of a load balancer that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadBalancerCreation<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_internal: bool,
    pub(crate) is_dual_stack: bool,
    /// Whether clients of IPv6 may come by UDP to nodes of IPv4: a load balancer with both families needs it for UDP.
    pub(crate) has_ipv6_source_nat: bool,
    /// At least one.
    pub(crate) subnets: &'a [SubnetMapping],
    /// None: then it can never get any.
    pub(crate) groups: &'a [String],
    pub(crate) tags: &'a TagsByKey,
}

const LIST: &str = "LoadBalancers";

/// The load balancer with this name, of whatever kind; `None`, if there is none.
pub(crate) fn named(name: &str) -> Result<Option<AnyLoadBalancer>, AwsRefusal> {
    match super::all(&ELBV2.action("DescribeLoadBalancers").list("Names.member", [name]), LIST, read) {
        Ok(found) => Ok(found.into_iter().find(|it| it.name == name)),
        Err(refusal) if refusal.code == "LoadBalancerNotFound" => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// The load balancer with this name, by the requests of a whole list.
pub(crate) fn find_listed(name: &str) -> Result<Option<AnyLoadBalancer>, AwsRefusal> {
    Ok(all()?.into_iter().find(|it| it.name == name))
}

/// A page of all load balancers of the account in the region.
pub(crate) fn page(marker: Option<&str>) -> Result<ListPage<AnyLoadBalancer>, AwsRefusal> {
    super::page(ELBV2.action("DescribeLoadBalancers").with("PageSize", PAGE), LIST, marker, read)
}

/// All load balancers of the account in the region.
pub(crate) fn all() -> Result<Vec<AnyLoadBalancer>, AwsRefusal> {
    super::all(&ELBV2.action("DescribeLoadBalancers").with("PageSize", PAGE), LIST, read)
}

/// Makes a Network Load Balancer. Where there is one of this name with the same settings, AWS answers with it.
pub(crate) fn create(it: LoadBalancerCreation<'_>) -> Result<AnyLoadBalancer, AwsRefusal> {
    let form = ELBV2.action("CreateLoadBalancer").with("Name", it.name).with("Type", "network");
    // Left out, it is internet-facing, and of IPv4.
    let form = form.with_some("Scheme", it.is_internal.then_some("internal"));
    let form = form.with_some("IpAddressType", it.is_dual_stack.then_some("dualstack"));
    let form = form.with_some("EnablePrefixForIpv6SourceNat", it.has_ipv6_source_nat.then_some("on"));
    let form = it.subnets.iter().zip(1..).fold(form, |form, (it, number): (_, usize)| {
        let mapping = format!("SubnetMappings.member.{number}");
        form.with(format!("{mapping}.SubnetId"), &it.subnet)
            .with_some(&format!("{mapping}.AllocationId"), it.allocation.as_ref())
            .with_some(&format!("{mapping}.PrivateIPv4Address"), it.private_ipv4.as_ref())
    });
    let form = form.list("SecurityGroups.member", it.groups);
    super::made(with_pairs(form, "Tags", it.tags), LIST, read)
}

/// Deletes a load balancer with its listeners. One that is not there is deleted.
pub(crate) fn delete(arn: &str) -> Result<(), AwsRefusal> {
    match ELBV2.call(ELBV2.action("DeleteLoadBalancer").with("LoadBalancerArn", arn)) {
        Err(refusal) if refusal.code == "LoadBalancerNotFound" => Ok(()),
        answer => answer.map(drop),
    }
}

/// The attributes of a load balancer.
pub(crate) fn attributes(arn: &str) -> Result<Attributes, AwsRefusal> {
    super::attributes(ELBV2.action("DescribeLoadBalancerAttributes").with("LoadBalancerArn", arn))
}

/// Changes attributes of a load balancer, and no others.
pub(crate) fn modify(arn: &str, attributes: &Attributes) -> Result<(), AwsRefusal> {
    let form = ELBV2.action("ModifyLoadBalancerAttributes").with("LoadBalancerArn", arn);
    ELBV2.call(with_pairs(form, "Attributes", attributes)).map(drop)
}

/// Gives a load balancer these security groups instead of those that it has.
pub(crate) fn set_groups(arn: &str, groups: &[String]) -> Result<(), AwsRefusal> {
    let form = ELBV2.action("SetSecurityGroups").with("LoadBalancerArn", arn);
    ELBV2.call(form.list("SecurityGroups.member", groups)).map(drop)
}

/// Gives a load balancer IPv4 addresses alone, or IPv6 addresses too.
pub(crate) fn set_address_type(arn: &str, is_dual_stack: bool) -> Result<(), AwsRefusal> {
    let kind = if is_dual_stack { "dualstack" } else { "ipv4" };
    ELBV2.call(ELBV2.action("SetIpAddressType").with("LoadBalancerArn", arn).with("IpAddressType", kind)).map(drop)
}

fn read(it: &Element) -> AnyLoadBalancer {
    let text = |name| super::text(it, name);
    let zones = it.items("AvailabilityZones").filter_map(|it| it.text(&["SubnetId"]));
    AnyLoadBalancer {
        arn: text("LoadBalancerArn"),
        name: text("LoadBalancerName"),
        dns_name: text("DNSName"),
        kind: text("Type"),
        scheme: text("Scheme"),
        address_type: text("IpAddressType"),
        state: it.text(&["State", "Code"]).unwrap_or_default().to_owned(),
        reason: it.text(&["State", "Reason"]).unwrap_or_default().to_owned(),
        vpc: text("VpcId"),
        subnets: zones.map(str::to_owned).collect(),
        groups: it.texts("SecurityGroups").into_iter().collect(),
    }
}
