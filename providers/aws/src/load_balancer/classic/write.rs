//! Carries steps out.

use aerostat_sdk::{Error, Node, Result, SortedSet, events};

use super::steps::{ClassicStep, PROXY_POLICY};
use crate::api::AwsRefusal;
use crate::api::ec2::{FILTER_VALUES, instances};
use crate::api::elb::model::ClassicLoadBalancer;
use crate::api::elb::writes;
use crate::instance::exists;
use crate::load_balancer::targets;

/// Carries out one step on the load balancer of this name.
pub(super) fn carry_out(name: &str, step: &ClassicStep) -> Result<()> {
    let written = match step {
        ClassicStep::Tag(tags) => writes::tag(name, tags),
        ClassicStep::Subnets(attach, detach) => return subnets(name, attach, detach),
        ClassicStep::Groups(groups) => writes::set_groups(name, groups),
        ClassicStep::AddListeners(listeners) => writes::add_listeners(name, listeners),
        ClassicStep::RemoveListeners(ports) => writes::remove_listeners(name, ports),
        ClassicStep::Certificate(port, arn) => writes::set_certificate(name, *port, arn),
        ClassicStep::CreateProxyPolicy => {
            writes::create_policy(name, PROXY_POLICY, "ProxyProtocolPolicyType", ("ProxyProtocol", "true"))
        }
        ClassicStep::BackendPolicies(port, policies) => match writes::set_backend_policies(name, *port, policies) {
            // Of a port that no listener leads to any more.
            Err(refusal) if policies.is_empty() && refusal.code == "InvalidConfigurationRequest" => Ok(()),
            written => written,
        },
        ClassicStep::CreateSslPolicy(policy, reference) => {
            let attribute = ("Reference-Security-Policy", reference.as_str());
            writes::create_policy(name, policy, "SSLNegotiationPolicyType", attribute)
        }
        ClassicStep::ListenerPolicies(port, policies) => writes::set_listener_policies(name, *port, policies),
        ClassicStep::HealthCheck(check) => writes::set_health_check(name, check),
        ClassicStep::Attributes(attributes) => writes::set_attributes(name, attributes),
    };
    written.map_err(Error::from)
}

/// Subnets that are added come first. In a zone that has a subnet already, that one has to go before.
fn subnets(name: &str, attach: &SortedSet<String>, detach: &SortedSet<String>) -> Result<()> {
    let add = || if attach.is_empty() { Ok(()) } else { writes::attach_subnets(name, attach) };
    let remove = || if detach.is_empty() { Ok(()) } else { writes::detach_subnets(name, detach) };
    match add() {
        Err(refusal) if refusal.code == "InvalidConfigurationRequest" && !detach.is_empty() => {
            remove()?;
            Ok(add()?)
        }
        added => {
            added?;
            Ok(remove()?)
        }
    }
}

/// Lets its instances follow the nodes: what is missing comes first, so that one at least serves all the time. Messages name
/// instances by `nodes`.
pub(super) fn instances(live: &ClassicLoadBalancer, desired: &SortedSet<String>, nodes: &[Node]) -> Result<()> {
    let name = &live.name;
    let (add, remove) = (desired - &live.instances, &live.instances - desired);
    if !add.is_empty() {
        register(name, &add, nodes)?;
    }
    if !remove.is_empty() {
        deregister(name, &remove)?;
    }
    Ok(())
}

/// AWS refuses all of them for one that is gone. Then those are left out, with a warning, until their nodes are gone, too: each
/// call tries them again, because a list of EC2 may be late.
fn register(name: &str, add: &SortedSet<String>, nodes: &[Node]) -> Result<()> {
    let refusal = match writes::register(name, add) {
        Err(refusal) if is_unknown(&refusal) => refusal,
        written => return Ok(written?),
    };
    let there = there(add)?;
    let gone: Vec<&str> = add.difference(&there).map(String::as_str).collect();
    if gone.is_empty() {
        return Err(refusal.error);
    }
    let message = format!("no traffic is sent to instances that are gone: {}", targets::named(nodes, &gone));
    events::warning(None, "NodesSkipped", &message);
    if there.is_empty() { Ok(()) } else { Ok(writes::register(name, &there)?) }
}

/// The same. Those that are gone go by themselves.
fn deregister(name: &str, remove: &SortedSet<String>) -> Result<()> {
    match writes::deregister(name, remove) {
        Err(refusal) if is_unknown(&refusal) => {
            let there = there(remove)?;
            if there.is_empty() || there == *remove { Ok(()) } else { Ok(writes::deregister(name, &there)?) }
        }
        written => Ok(written?),
    }
}

/// Those of these instances that EC2 still has.
fn there(ids: &SortedSet<String>) -> Result<SortedSet<String>> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut found = SortedSet::new();
    for ids in ids.chunks(FILTER_VALUES) {
        found.extend(instances::by_ids(ids)?.into_iter().filter(exists).map(|it| it.id));
    }
    Ok(found)
}

fn is_unknown(refusal: &AwsRefusal) -> bool {
    matches!(&*refusal.code, "InvalidInstance" | "InvalidInstanceID.NotFound")
}
