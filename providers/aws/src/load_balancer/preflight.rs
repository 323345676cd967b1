//! Services that neither kind of load balancer can serve, or that one of them cannot: refused before anything is asked
//! or written.

use aerostat_sdk::{Error, IpFamily, Protocol, Result};

use super::allowed;
use super::annotations::{
    ADDITIONAL_TAGS, ELASTIC_IPS, EXTRA_SECURITY_GROUPS, GROUP_ATTRIBUTES, INTERNAL, LOG_BUCKET, LOG_ENABLED,
    LoadBalancerKind, PRIVATE_IPS, SOURCE_RANGES, pairs,
};
use super::call::ServiceCall;

/// The attribute of a target group that lets nodes see the client's address.
const PRESERVE_CLIENT_IP: &str = "preserve_client_ip.enabled";
/// The attribute of a target group by which nodes are told the client's address, by version 2 of the PROXY protocol.
const PROXY_PROTOCOL: &str = "proxy_protocol_v2.enabled";

const EVERYWHERE: &str = "0.0.0.0/0";
const EVERYWHERE_IPV6: &str = "::/0";

/// Refuses what a load balancer of this kind cannot do.
///
/// # Errors
///
/// `invalid`, with what the Service asks for.
pub(super) fn check(call: &ServiceCall<'_>, kind: LoadBalancerKind) -> Result<()> {
    let service = call.service;
    if service.client_ip_affinity_seconds.is_some() {
        return Err(Error::invalid("unsupported load balancer affinity: ClientIP"));
    }
    let Some(first) = service.ports.first() else {
        return Err(Error::invalid("requested load balancer with no ports"));
    };
    if service.ports.iter().any(|it| it.protocol != first.protocol) {
        return Err(Error::invalid(
            "mixed protocol is not supported for LoadBalancer: make a Service for each protocol",
        ));
    }
    match kind {
        LoadBalancerKind::Network => service.allow_protocols(&[Protocol::Tcp, Protocol::Udp])?,
        LoadBalancerKind::Classic | LoadBalancerKind::External => service.allow_protocols(&[Protocol::Tcp])?,
    }
    if service.load_balancer_ip.is_some() {
        return Err(Error::invalid("LoadBalancerIP cannot be specified for AWS ELB"));
    }
    if kind == LoadBalancerKind::Network && call.annotations.has(EXTRA_SECURITY_GROUPS.name) {
        let key = EXTRA_SECURITY_GROUPS.name;
        return Err(Error::invalid(format_args!(
            "BYO extra security group annotation {key:?} is not supported by NLB"
        )));
    }
    if kind == LoadBalancerKind::Classic && call.annotations.has(GROUP_ATTRIBUTES.name) {
        let key = GROUP_ATTRIBUTES.name;
        return Err(Error::invalid(format_args!("annotation {key}: it is only supported for NLB")));
    }
    allowed::check(call, kind)?;
    log(call, kind)?;
    tags(call)?;
    source_ranges(call, &[])?;
    group_attributes(call).map(drop)
}

/// Refuses a log of access without a bucket. AWS would do so only once there is a load balancer: "The value of
/// 'access_logs.s3.bucket' cannot be empty". A Classic one that there is may have a bucket, which is not taken off.
fn log(call: &ServiceCall<'_>, kind: LoadBalancerKind) -> Result<()> {
    let has_bucket =
        call.annotations.text(LOG_BUCKET.name).is_some() || (kind == LoadBalancerKind::Classic && call.is_known());
    if has_bucket || !call.annotations.get(&LOG_ENABLED)? {
        return Ok(());
    }
    let (key, bucket) = (LOG_ENABLED.name, LOG_BUCKET.name);
    Err(Error::invalid(format_args!(
        "annotation {key}: \"true\" takes a bucket of S3 to log into: name one with annotation {bucket}"
    )))
}

/// Refuses tags that load balancing does not take (API_Tag), where EC2 does: a security group would be made in vain. Of what
/// there is, tags alone are refused.
fn tags(call: &ServiceCall<'_>) -> Result<()> {
    if call.is_known() {
        return Ok(());
    }
    let is_allowed = |it: char| it.is_alphanumeric() || it.is_whitespace() || "_.:/=+-@".contains(it);
    let fits = |text: &str, most: usize| text.chars().count() <= most && text.chars().all(is_allowed);
    let key = ADDITIONAL_TAGS.name;
    for (name, value) in call.annotations.text(key).map(pairs).unwrap_or_default() {
        if !fits(&name, 128) || !fits(&value, 256) || name.starts_with("aws:") {
            return Err(Error::invalid(format_args!(
                "annotation {key}: {name:?} with the value {value:?} is no tag of a load balancer: take letters, digits, \
                 spaces and _ . : / = + - @ alone, at most 128 for a key, which does not begin with aws:, and 256 for a value"
            )));
        }
    }
    Ok(())
}

/// Refuses addresses that do not suit the scheme of a Network Load Balancer that is to be made: an elastic IP is "for an
/// internet-facing load balancer", a private address "for an internal load balancer" (API_SubnetMapping).
///
/// # Errors
///
/// `invalid`, naming both annotations.
pub(super) fn addresses(call: &ServiceCall<'_>, is_internal: bool) -> Result<()> {
    let (key, kind) = if is_internal { (ELASTIC_IPS.name, "internet-facing") } else { (PRIVATE_IPS.name, "internal") };
    match call.annotations.text(key) {
        None => Ok(()),
        Some(value) => Err(Error::invalid(format_args!(
            "annotation {key}: {value:?} is for an {kind} load balancer: take it off, or set annotation {} to {}",
            INTERNAL.name, !is_internal
        ))),
    }
}

/// The attributes of target groups that the Service asks for.
///
/// # Errors
///
/// `invalid` for one that is not known, or cannot have its value.
pub(super) fn group_attributes(call: &ServiceCall<'_>) -> Result<Vec<(String, String)>> {
    let key = GROUP_ATTRIBUTES.name;
    let asked = call.annotations.text(key).map(pairs).unwrap_or_default();
    for (name, value) in &asked {
        if ![PRESERVE_CLIENT_IP, PROXY_PROTOCOL].contains(&name.as_str()) {
            return Err(Error::invalid(format_args!(
                "annotation {key}: the attribute {name:?} is not supported: {PRESERVE_CLIENT_IP} and \
                 {PROXY_PROTOCOL} are"
            )));
        }
        if !["true", "false"].contains(&value.as_str()) {
            return Err(Error::invalid(format_args!("annotation {key}: {name}: {value:?} is not true or false")));
        }
        let is_udp = call.service.ports.iter().any(|it| it.protocol == Protocol::Udp);
        if name == PRESERVE_CLIENT_IP && value == "false" && is_udp {
            return Err(Error::invalid(format_args!(
                "annotation {key}: client IP preservation can't be disabled for UDP ports"
            )));
        }
    }
    Ok(asked)
}

/// From where clients may come: as the Service says, its annotation says, or everywhere, in these families.
///
/// # Errors
///
/// `invalid` for an annotation that is no list of networks.
pub(super) fn source_ranges(call: &ServiceCall<'_>, families: &[IpFamily]) -> Result<Vec<String>> {
    if !call.service.source_ranges.is_empty() {
        return Ok(call.service.source_ranges.clone());
    }
    if let Some(ranges) = call.annotations.read(&SOURCE_RANGES)? {
        return Ok(ranges);
    }
    let everywhere = |family: &IpFamily| match family {
        IpFamily::Ipv4 => EVERYWHERE.to_owned(),
        IpFamily::Ipv6 => EVERYWHERE_IPV6.to_owned(),
    };
    Ok(families.iter().map(everywhere).collect())
}
