//! Target groups: which instances get a listener's traffic, and how they are checked.

use aerostat_sdk::SortedSet;

use super::{Attributes, ListPage, PAGE, TagsByKey, with_pairs};
use crate::api::{AwsRefusal, ELBV2, Element, RequestForm};

/// The most targets of one request.
pub(crate) const BATCH: usize = 100;

/// A target group.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct TargetGroup {
    pub(crate) arn: String,
    pub(crate) name: String,
    /// `TCP`, `UDP`, `TLS`.
    pub(crate) protocol: String,
    pub(crate) port: u16,
    /// `instance`, `ip`, `lambda`, `alb`.
    pub(crate) target_type: String,
    /// `ipv4` or `ipv6`.
    pub(crate) address_type: String,
    pub(crate) vpc: String,
    pub(crate) health: TargetHealth,
    /// The ARNs of the load balancers that send to it.
    pub(crate) balancers: Vec<String>,
}

/// How targets are checked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct TargetHealth {
    /// `TCP`, `HTTP`, `HTTPS`.
    pub(crate) protocol: String,
    /// A port, or `traffic-port`.
    pub(crate) port: String,
    /// The path of checks by HTTP.
    pub(crate) path: Option<String>,
    /// From one check to the next, in seconds.
    pub(crate) interval: u32,
    /// After how many seconds a check is bad. `None` leaves it to AWS.
    pub(crate) timeout: Option<u32>,
    /// How many good checks take a target in.
    pub(crate) healthy: u32,
    /// How many bad checks take it out.
    pub(crate) unhealthy: u32,
}

/// The fields of a target group of instances that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetGroupCreation<'a> {
    pub(crate) name: &'a str,
    /// `TCP`, `UDP`, `TLS`.
    pub(crate) protocol: &'static str,
    pub(crate) port: u16,
    pub(crate) vpc: &'a str,
    /// Whether instances are reached by their IPv6 addresses.
    pub(crate) is_ipv6: bool,
    pub(crate) health: &'a TargetHealth,
    pub(crate) tags: &'a TagsByKey,
}

/// A change of a target group's checks. A field that is `None` stays.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ChecksChange {
    pub(crate) port: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) timeout: Option<u32>,
    pub(crate) healthy: Option<u32>,
    pub(crate) unhealthy: Option<u32>,
}

const LIST: &str = "TargetGroups";

/// A page of all target groups of the account in the region.
pub(crate) fn page(marker: Option<&str>) -> Result<ListPage<TargetGroup>, AwsRefusal> {
    super::page(ELBV2.action("DescribeTargetGroups").with("PageSize", PAGE), LIST, marker, read)
}

/// All target groups of the account in the region.
pub(crate) fn all() -> Result<Vec<TargetGroup>, AwsRefusal> {
    super::all(&ELBV2.action("DescribeTargetGroups").with("PageSize", PAGE), LIST, read)
}

/// The target group with this name, also if lists do not show it yet.
pub(crate) fn named(name: &str) -> Result<Vec<TargetGroup>, AwsRefusal> {
    match super::all(&ELBV2.action("DescribeTargetGroups").with("Names.member.1", name), LIST, read) {
        Err(refusal) if refusal.code == "TargetGroupNotFound" => Ok(Vec::new()),
        answer => answer,
    }
}

/// Makes a target group of instances. Where there is one of this name with the same settings, AWS answers with it.
pub(crate) fn create(it: TargetGroupCreation<'_>) -> Result<TargetGroup, AwsRefusal> {
    let health = it.health;
    let form = ELBV2
        .action("CreateTargetGroup")
        .with("Name", it.name)
        .with("Protocol", it.protocol)
        .with("Port", it.port)
        .with("VpcId", it.vpc)
        .with("TargetType", "instance")
        // Left out, it is ipv4.
        .with_some("IpAddressType", it.is_ipv6.then_some("ipv6"))
        .with("HealthCheckProtocol", &health.protocol)
        .with("HealthCheckPort", &health.port)
        .with_some("HealthCheckPath", health.path.as_ref())
        .with("HealthCheckIntervalSeconds", health.interval)
        .with_some("HealthCheckTimeoutSeconds", health.timeout)
        .with("HealthyThresholdCount", health.healthy)
        .with("UnhealthyThresholdCount", health.unhealthy);
    super::made(with_pairs(form, "Tags", it.tags), LIST, read)
}

/// Changes how targets are checked.
pub(crate) fn modify(arn: &str, it: &ChecksChange) -> Result<(), AwsRefusal> {
    let form = ELBV2
        .action("ModifyTargetGroup")
        .with("TargetGroupArn", arn)
        .with_some("HealthCheckPort", it.port.as_ref())
        .with_some("HealthCheckPath", it.path.as_ref())
        .with_some("HealthCheckTimeoutSeconds", it.timeout)
        .with_some("HealthyThresholdCount", it.healthy)
        .with_some("UnhealthyThresholdCount", it.unhealthy);
    ELBV2.call(form).map(drop)
}

/// Deletes a target group. One that is not there is deleted.
pub(crate) fn delete(arn: &str) -> Result<(), AwsRefusal> {
    match ELBV2.call(ELBV2.action("DeleteTargetGroup").with("TargetGroupArn", arn)) {
        Err(refusal) if refusal.code == "TargetGroupNotFound" => Ok(()),
        answer => answer.map(drop),
    }
}

/// The attributes of a target group.
pub(crate) fn attributes(arn: &str) -> Result<Attributes, AwsRefusal> {
    super::attributes(ELBV2.action("DescribeTargetGroupAttributes").with("TargetGroupArn", arn))
}

/// Changes attributes of a target group, and no others.
pub(crate) fn modify_attributes(arn: &str, attributes: &Attributes) -> Result<(), AwsRefusal> {
    let form = ELBV2.action("ModifyTargetGroupAttributes").with("TargetGroupArn", arn);
    ELBV2.call(with_pairs(form, "Attributes", attributes)).map(drop)
}

/// The instances that are registered, without those that are on their way out: id and port.
pub(crate) fn targets(arn: &str) -> Result<SortedSet<(String, u16)>, AwsRefusal> {
    let mut found = SortedSet::new();
    let form = ELBV2.action("DescribeTargetHealth").with("TargetGroupArn", arn);
    ELBV2.each(form, &["DescribeTargetHealthResult", "TargetHealthDescriptions", "member"], |item| {
        let target = |name| item.text(&["Target", name]);
        if item.text(&["TargetHealth", "State"]) == Some("draining") {
            return;
        }
        if let Some(id) = target("Id") {
            found.insert((id.to_owned(), target("Port").and_then(|it| it.parse().ok()).unwrap_or_default()));
        }
    })?;
    Ok(found)
}

/// Registers targets, at most [`BATCH`].
pub(crate) fn register(arn: &str, targets: &[(String, u16)]) -> Result<(), AwsRefusal> {
    ELBV2.call(with_targets("RegisterTargets", arn, targets)).map(drop)
}

/// Takes targets out, at most [`BATCH`].
pub(crate) fn deregister(arn: &str, targets: &[(String, u16)]) -> Result<(), AwsRefusal> {
    ELBV2.call(with_targets("DeregisterTargets", arn, targets)).map(drop)
}

fn with_targets(action: &str, arn: &str, targets: &[(String, u16)]) -> RequestForm {
    let form = ELBV2.action(action).with("TargetGroupArn", arn);
    targets.iter().zip(1..).fold(form, |form, ((id, port), number): (_, usize)| {
        form.with(format!("Targets.member.{number}.Id"), id).with(format!("Targets.member.{number}.Port"), port)
    })
}

fn read(it: &Element) -> TargetGroup {
    let (text, number) = (|name| super::text(it, name), |name| super::number(it, name));
    TargetGroup {
        arn: text("TargetGroupArn"),
        name: text("TargetGroupName"),
        protocol: text("Protocol"),
        port: super::number(it, "Port").unwrap_or_default(),
        target_type: text("TargetType"),
        address_type: text("IpAddressType"),
        vpc: text("VpcId"),
        health: TargetHealth {
            protocol: text("HealthCheckProtocol"),
            port: text("HealthCheckPort"),
            path: it.text(&["HealthCheckPath"]).map(str::to_owned),
            interval: number("HealthCheckIntervalSeconds").unwrap_or_default(),
            timeout: number("HealthCheckTimeoutSeconds"),
            healthy: number("HealthyThresholdCount").unwrap_or_default(),
            unhealthy: number("UnhealthyThresholdCount").unwrap_or_default(),
        },
        balancers: it.texts("LoadBalancerArns"),
    }
}
