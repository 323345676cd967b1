//! The writes that make a Classic Load Balancer as desired: a function of values.

use aerostat_sdk::{SortedMap, SortedSet};

use super::desired::DesiredClassic;
use super::health;
use crate::api::elb::model::{ClassicAttributes, ClassicHealthCheck, ClassicListener, ClassicLoadBalancer};

/// The policy for ports of instances that are told who the client is, as the vendor's controller names it.
pub(super) const PROXY_POLICY: &str = "k8s-proxyprotocol-enabled";
/// The beginning of the names of policies of TLS; the name of AWS's policy follows.
const SSL_POLICY: &str = "k8s-SSLNegotiationPolicy-";

/// A change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ClassicStep {
    Tag(SortedMap<String, String>),
    /// Adds and takes away.
    Subnets(SortedSet<String>, SortedSet<String>),
    /// Instead of those that it has.
    Groups(Vec<String>),
    AddListeners(Vec<ClassicListener>),
    RemoveListeners(Vec<u16>),
    Certificate(u16, String),
    CreateProxyPolicy,
    /// The policies of a port of the instances, instead of those that it has.
    BackendPolicies(u16, SortedSet<String>),
    /// A policy of this name for a policy of AWS.
    CreateSslPolicy(String, String),
    /// The policies of a listener, instead of those that it has.
    ListenerPolicies(u16, SortedSet<String>),
    HealthCheck(ClassicHealthCheck),
    Attributes(ClassicAttributes),
}

/// Where the load balancer is, beside what the Service asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ClassicPlace {
    pub(super) subnets: SortedSet<String>,
    /// The one by which nodes let it in comes first.
    pub(super) groups: Vec<String>,
}

/// The steps from what there is to what is desired, in the order in which they are carried out. Instances are not among
/// them.
pub(super) fn steps(
    live: &ClassicLoadBalancer,
    attributes: &ClassicAttributes,
    desired: &DesiredClassic,
    place: &ClassicPlace,
) -> Vec<ClassicStep> {
    let mut steps = Vec::new();
    let differ = |one: &SortedSet<String>, other: &SortedSet<String>| one.difference(other).cloned().collect();
    let (attach, detach): (SortedSet<_>, SortedSet<_>) =
        (differ(&place.subnets, &live.subnets), differ(&live.subnets, &place.subnets));
    if !attach.is_empty() || !detach.is_empty() {
        steps.push(ClassicStep::Subnets(attach, detach));
    }
    if live.groups != place.groups.iter().cloned().collect() {
        steps.push(ClassicStep::Groups(place.groups.clone()));
    }
    steps.extend(unproxied(live, desired));
    let new = listeners(live, &desired.listeners, &mut steps);
    steps.extend(proxied(live, desired));
    if let Some(policy) = &desired.ssl_policy {
        listener_policies(live, policy, &desired.listeners, &new, &mut steps);
    }
    if live.health.as_ref().is_none_or(|it| !health::is_same(it, &desired.health)) {
        steps.push(ClassicStep::HealthCheck(desired.health.clone()));
    }
    if !has(attributes, &desired.attributes) {
        steps.push(ClassicStep::Attributes(desired.attributes.clone()));
    }
    steps
}

/// Other ports are added first. A listener cannot change, but for its certificate: it is taken away, and made again.
/// Returns the ports of those that are new then.
fn listeners(live: &ClassicLoadBalancer, desired: &[ClassicListener], steps: &mut Vec<ClassicStep>) -> SortedSet<u16> {
    let (mut add, mut replace, mut certificates) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in desired {
        match live.listeners.get(&wanted.port).map(|it| &it.listener) {
            None => add.push(wanted.clone()),
            Some(is) if is_same(is, wanted) => {}
            Some(is) => match &wanted.certificate {
                Some(arn) if is.certificate.is_some() && is_same_but_certificate(is, wanted) => {
                    certificates.push(ClassicStep::Certificate(wanted.port, arn.clone()));
                }
                _ => replace.push(wanted.clone()),
            },
        }
    }
    let is_wanted = |port: &u16| desired.iter().any(|it| it.port == *port);
    let unwanted = live.listeners.keys().copied().filter(|it| !is_wanted(it));
    let remove: Vec<u16> = unwanted.chain(replace.iter().map(|it| it.port)).collect();
    let new = add.iter().chain(&replace).map(|it| it.port).collect();
    if !add.is_empty() {
        steps.push(ClassicStep::AddListeners(add));
    }
    if !remove.is_empty() {
        steps.push(ClassicStep::RemoveListeners(remove));
    }
    if !replace.is_empty() {
        steps.push(ClassicStep::AddListeners(replace));
    }
    steps.extend(certificates);
    new
}

fn is_same(one: &ClassicListener, other: &ClassicListener) -> bool {
    let certificate = |it: &ClassicListener| it.certificate.as_ref().map(|it| it.to_ascii_lowercase());
    is_same_but_certificate(one, other) && certificate(one) == certificate(other)
}

fn is_same_but_certificate(one: &ClassicListener, other: &ClassicListener) -> bool {
    let parts = |it: &ClassicListener| (it.port, it.protocol, it.instance_port, it.instance_protocol);
    parts(one) == parts(other)
}

/// Takes the policy off ports that no listener is to lead to any more, as long as one does: it would stay there. Other
/// policies are not touched.
fn unproxied(live: &ClassicLoadBalancer, desired: &DesiredClassic) -> Vec<ClassicStep> {
    let is_wanted = |port: &u16| desired.listeners.iter().any(|it| it.instance_port == *port);
    let unwanted = live.backends.iter().filter(|(port, _)| !is_wanted(port));
    unwanted.filter_map(|(port, policies)| backend_policies(*port, policies, false)).collect()
}

/// The policy at the ports that listeners lead to.
fn proxied(live: &ClassicLoadBalancer, desired: &DesiredClassic) -> Vec<ClassicStep> {
    let nothing = SortedSet::new();
    let wanted: SortedSet<u16> = desired.listeners.iter().map(|it| it.instance_port).collect();
    let changed = |port: u16| {
        let policies = live.backends.get(&port).unwrap_or(&nothing);
        backend_policies(port, policies, desired.is_proxied)
    };
    let missing = desired.is_proxied && !live.policies.contains(PROXY_POLICY);
    missing
        .then_some(ClassicStep::CreateProxyPolicy)
        .into_iter()
        .chain(wanted.into_iter().filter_map(changed))
        .collect()
}

fn backend_policies(port: u16, policies: &SortedSet<String>, is_proxied: bool) -> Option<ClassicStep> {
    let mut policies = policies.clone();
    let is_changed = match is_proxied {
        true => policies.insert(PROXY_POLICY.to_owned()),
        false => policies.remove(PROXY_POLICY),
    };
    is_changed.then_some(ClassicStep::BackendPolicies(port, policies))
}

fn listener_policies(
    live: &ClassicLoadBalancer,
    policy: &str,
    desired: &[ClassicListener],
    new: &SortedSet<u16>,
    steps: &mut Vec<ClassicStep>,
) {
    let name = format!("{SSL_POLICY}{policy}");
    let has = |listener: &ClassicListener| {
        !new.contains(&listener.port)
            && live.listeners.get(&listener.port).is_some_and(|it| it.policies.contains(&name))
    };
    let without: Vec<_> = desired.iter().filter(|it| it.protocol.is_tls() && !has(it)).map(|it| it.port).collect();
    if !without.is_empty() && !live.policies.contains(&name) {
        steps.push(ClassicStep::CreateSslPolicy(name.clone(), policy.to_owned()));
    }
    steps.extend(without.into_iter().map(|port| ClassicStep::ListenerPolicies(port, [name.clone()].into())));
}

/// Whether attributes are as desired. What is said of a log or of draining that is off makes no difference.
fn has(live: &ClassicAttributes, desired: &ClassicAttributes) -> bool {
    fn is<T: PartialEq>(live: Option<&T>, desired: Option<&T>) -> bool {
        desired.is_none() || live == desired
    }
    let is_log = live.log_enabled == desired.log_enabled
        && (!desired.log_enabled
            || (is(live.log_interval.as_ref(), desired.log_interval.as_ref())
                && is(live.log_bucket.as_ref(), desired.log_bucket.as_ref())
                && is(live.log_prefix.as_ref(), desired.log_prefix.as_ref())));
    let is_draining = live.draining_enabled == desired.draining_enabled
        && (!desired.draining_enabled || is(live.draining_timeout.as_ref(), desired.draining_timeout.as_ref()));
    let is_idle = is(live.idle_timeout.as_ref(), desired.idle_timeout.as_ref());
    live.cross_zone == desired.cross_zone && is_log && is_draining && is_idle
}
