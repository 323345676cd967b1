//! Security groups and Classic Load Balancers as EC2 and ELB show them, in XML.

use aerostat_sdk::SortedSet;

use crate::api::ec2::security_groups::{IpPermission, Peer, SecurityGroup};
use crate::api::elb::model::{ClassicAttributes, ClassicHealthCheck, ClassicLoadBalancer, LiveListener};

pub(super) fn text(name: &str, value: impl ToString) -> String {
    format!("<{name}>{}</{name}>", value.to_string())
}

pub(super) fn members(name: &str, items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: String = items.into_iter().map(|it| text("member", it.to_string())).collect();
    text(name, items)
}

pub(super) fn group(it: &SecurityGroup) -> String {
    let permission = |permission: &IpPermission| {
        let (list, field, peer) = match &permission.key.peer {
            Peer::Ipv4(range) => ("ipRanges", "cidrIp", range),
            Peer::Ipv6(range) => ("ipv6Ranges", "cidrIpv6", range),
            Peer::Group(id) => ("groups", "groupId", id),
            Peer::PrefixList(id) => ("prefixListIds", "prefixListId", id),
        };
        let ports = |name, port: Option<i32>| port.map(|it| text(name, it)).unwrap_or_default();
        let peer = text(list, text("item", text(field, peer) + &text("description", &permission.description)));
        let ports = ports("fromPort", permission.key.from) + &ports("toPort", permission.key.to);
        text("item", text("ipProtocol", &permission.key.protocol) + &ports + &peer)
    };
    let permissions: String = it.permissions.iter().map(permission).collect();
    let tag = |(key, value): (&String, &String)| text("item", text("key", key) + &text("value", value));
    let tags: String = it.tags.iter().map(tag).collect();
    let names = text("groupId", &it.id) + &text("groupName", &it.name);
    text("item", names + &text("ipPermissions", permissions) + &text("tagSet", tags))
}

pub(super) fn balancer(it: &ClassicLoadBalancer) -> String {
    let listener = |listener: &LiveListener| {
        let of = &listener.listener;
        let certificate = of.certificate.as_ref().map(|it| text("SSLCertificateId", it)).unwrap_or_default();
        let protocol = of.protocol.as_str().to_uppercase();
        let ports = text("LoadBalancerPort", of.port) + &text("InstancePort", of.instance_port);
        let protocols =
            text("Protocol", protocol) + &text("InstanceProtocol", of.instance_protocol.as_str().to_uppercase());
        text("Listener", ports + &protocols + &certificate) + &members("PolicyNames", &listener.policies)
    };
    let backend =
        |(port, policies): (&u16, &SortedSet<String>)| text("InstancePort", port) + &members("PolicyNames", policies);
    let health = it.health.clone().unwrap_or_else(|| ClassicHealthCheck {
        target: format!("TCP:{}", it.listeners.values().next().unwrap().listener.instance_port),
        interval: 30,
        timeout: 5,
        unhealthy: 2,
        healthy: 10,
    });
    let health = text("Target", health.target)
        + &text("Interval", health.interval)
        + &text("Timeout", health.timeout)
        + &text("UnhealthyThreshold", health.unhealthy)
        + &text("HealthyThreshold", health.healthy);
    let scheme = if it.is_internal { "internal" } else { "internet-facing" };
    [
        text("LoadBalancerName", &it.name),
        text("DNSName", it.dns_name.as_deref().unwrap_or_default()),
        text("Scheme", scheme),
        members("ListenerDescriptions", it.listeners.values().map(listener)),
        members("BackendServerDescriptions", it.backends.iter().map(backend)),
        text("Policies", members("OtherPolicies", &it.policies)),
        members("Subnets", &it.subnets),
        members("SecurityGroups", &it.groups),
        members("Instances", it.instances.iter().map(|id| text("InstanceId", id))),
        text("HealthCheck", health),
    ]
    .concat()
}

pub(super) fn attributes(it: &ClassicAttributes) -> String {
    let some = |name, value: Option<String>| value.map(|it| text(name, it)).unwrap_or_default();
    let log = text("Enabled", it.log_enabled)
        + &some("EmitInterval", it.log_interval.map(|it| it.to_string()))
        + &some("S3BucketName", it.log_bucket.clone())
        + &some("S3BucketPrefix", it.log_prefix.clone());
    let draining =
        text("Enabled", it.draining_enabled) + &some("Timeout", it.draining_timeout.map(|it| it.to_string()));
    text("CrossZoneLoadBalancing", text("Enabled", it.cross_zone))
        + &text("AccessLog", log)
        + &text("ConnectionDraining", draining)
        + &text("ConnectionSettings", some("IdleTimeout", it.idle_timeout.map(|it| it.to_string())))
}
