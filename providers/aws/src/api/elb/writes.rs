//! Changes of a Classic Load Balancer that is there.

use aerostat_sdk::{SortedMap, SortedSet};

use super::model::{ClassicAttributes, ClassicHealthCheck, ClassicListener};
use crate::api::{AwsRefusal, ELB, RequestForm};

/// The most instances of one request: a form has no more than 1,000 values.
const BATCH: usize = 500;

type WriteResult = Result<(), AwsRefusal>;

fn on(action: &str, name: &str) -> RequestForm {
    ELB.action(action).with("LoadBalancerName", name)
}

fn send(form: RequestForm) -> WriteResult {
    ELB.call(form).map(drop)
}

/// Adds tags, or writes over their values.
pub(crate) fn tag(name: &str, tags: &SortedMap<String, String>) -> WriteResult {
    send(with_tags(ELB.action("AddTags").list("LoadBalancerNames.member", [name]), tags))
}

/// Adds subnets, each in a zone of its own.
pub(crate) fn attach_subnets(name: &str, subnets: &SortedSet<String>) -> WriteResult {
    send(on("AttachLoadBalancerToSubnets", name).list("Subnets.member", subnets))
}

/// Takes subnets away. One at least has to stay.
pub(crate) fn detach_subnets(name: &str, subnets: &SortedSet<String>) -> WriteResult {
    send(on("DetachLoadBalancerFromSubnets", name).list("Subnets.member", subnets))
}

/// Gives it these security groups instead of those that it has.
pub(crate) fn set_groups(name: &str, groups: &[String]) -> WriteResult {
    send(on("ApplySecurityGroupsToLoadBalancer", name).list("SecurityGroups.member", groups))
}

/// Adds listeners at ports that have none.
pub(crate) fn add_listeners(name: &str, listeners: &[ClassicListener]) -> WriteResult {
    send(with_listeners(on("CreateLoadBalancerListeners", name), listeners))
}

/// Takes the listeners at these ports away.
pub(crate) fn remove_listeners(name: &str, ports: &[u16]) -> WriteResult {
    send(on("DeleteLoadBalancerListeners", name).list("LoadBalancerPorts.member", ports))
}

/// Gives a listener of TLS another certificate.
pub(crate) fn set_certificate(name: &str, port: u16, certificate: &str) -> WriteResult {
    let form = on("SetLoadBalancerListenerSSLCertificate", name).with("LoadBalancerPort", port);
    send(form.with("SSLCertificateId", certificate))
}

/// Makes a policy with one attribute. One that is there stays.
pub(crate) fn create_policy(name: &str, policy: &str, kind: &str, (attribute, value): (&str, &str)) -> WriteResult {
    let form = on("CreateLoadBalancerPolicy", name).with("PolicyName", policy).with("PolicyTypeName", kind);
    let form = form.with("PolicyAttributes.member.1.AttributeName", attribute);
    match send(form.with("PolicyAttributes.member.1.AttributeValue", value)) {
        Err(refusal) if refusal.code == "DuplicatePolicyName" => Ok(()),
        sent => sent,
    }
}

/// Gives a port of the instances these policies instead of those that it has.
pub(crate) fn set_backend_policies(name: &str, instance_port: u16, policies: &SortedSet<String>) -> WriteResult {
    let form = on("SetLoadBalancerPoliciesForBackendServer", name).with("InstancePort", instance_port);
    send(policy_names(form, policies))
}

/// Gives a listener these policies instead of those that it has.
pub(crate) fn set_listener_policies(name: &str, port: u16, policies: &SortedSet<String>) -> WriteResult {
    send(policy_names(on("SetLoadBalancerPoliciesOfListener", name).with("LoadBalancerPort", port), policies))
}

/// An empty list is the name of the list with nothing.
fn policy_names(form: RequestForm, policies: &SortedSet<String>) -> RequestForm {
    match policies.is_empty() {
        true => form.with("PolicyNames", ""),
        false => form.list("PolicyNames.member", policies),
    }
}

/// Says how instances are checked.
pub(crate) fn set_health_check(name: &str, check: &ClassicHealthCheck) -> WriteResult {
    let form = on("ConfigureHealthCheck", name).with("HealthCheck.Target", &check.target);
    let form = form.with("HealthCheck.Interval", check.interval).with("HealthCheck.Timeout", check.timeout);
    let form = form.with("HealthCheck.UnhealthyThreshold", check.unhealthy);
    send(form.with("HealthCheck.HealthyThreshold", check.healthy))
}

/// Writes these attributes. What is `None` is left to AWS.
pub(crate) fn set_attributes(name: &str, it: &ClassicAttributes) -> WriteResult {
    const LOG: &str = "LoadBalancerAttributes.AccessLog";
    const DRAINING: &str = "LoadBalancerAttributes.ConnectionDraining";
    let form = on("ModifyLoadBalancerAttributes", name)
        .with("LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled", it.cross_zone)
        .with(format!("{LOG}.Enabled"), it.log_enabled)
        .with_some(&format!("{LOG}.EmitInterval"), it.log_interval)
        .with_some(&format!("{LOG}.S3BucketName"), it.log_bucket.as_ref())
        .with_some(&format!("{LOG}.S3BucketPrefix"), it.log_prefix.as_ref())
        .with(format!("{DRAINING}.Enabled"), it.draining_enabled)
        .with_some(&format!("{DRAINING}.Timeout"), it.draining_timeout)
        .with_some("LoadBalancerAttributes.ConnectionSettings.IdleTimeout", it.idle_timeout);
    send(form)
}

/// Adds instances.
pub(crate) fn register(name: &str, instances: &SortedSet<String>) -> WriteResult {
    with_instances("RegisterInstancesWithLoadBalancer", name, instances)
}

/// Takes instances away.
pub(crate) fn deregister(name: &str, instances: &SortedSet<String>) -> WriteResult {
    with_instances("DeregisterInstancesFromLoadBalancer", name, instances)
}

fn with_instances(action: &str, name: &str, instances: &SortedSet<String>) -> WriteResult {
    let instances: Vec<_> = instances.iter().collect();
    instances.chunks(BATCH).try_for_each(|batch| {
        let numbered = batch.iter().zip(1_u32..);
        send(numbered.fold(on(action, name), |form, (id, number)| {
            form.with(format!("Instances.member.{number}.InstanceId"), id)
        }))
    })
}

pub(super) fn with_listeners(form: RequestForm, listeners: &[ClassicListener]) -> RequestForm {
    listeners.iter().zip(1_u32..).fold(form, |form, (it, number)| {
        let listener = format!("Listeners.member.{number}");
        form.with(format!("{listener}.Protocol"), it.protocol.as_str())
            .with(format!("{listener}.LoadBalancerPort"), it.port)
            .with(format!("{listener}.InstanceProtocol"), it.instance_protocol.as_str())
            .with(format!("{listener}.InstancePort"), it.instance_port)
            .with_some(&format!("{listener}.SSLCertificateId"), it.certificate.as_ref())
    })
}

pub(super) fn with_tags(form: RequestForm, tags: &SortedMap<String, String>) -> RequestForm {
    tags.iter().zip(1_u32..).fold(form, |form, ((key, value), number)| {
        form.with(format!("Tags.member.{number}.Key"), key).with(format!("Tags.member.{number}.Value"), value)
    })
}
