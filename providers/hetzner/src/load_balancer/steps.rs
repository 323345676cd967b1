//! The writes that make a load balancer as desired, in an order in which it serves all the time. Pure.

use super::compare::is_same;
use super::desired::{Attachment, Desired};
use super::targets::{MachineTargets, TargetChanges};
use crate::algorithm::Algorithm;
use crate::api::Labels;
use crate::api::load_balancers::{KEPT, LoadBalancer as Live, Service, To};

/// One request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// Its name and all of its labels.
    Describe {
        name: String,
        labels: Labels,
    },
    /// The name that one of its addresses leads back to.
    Rdns {
        ip: String,
        name: String,
    },
    Algorithm(Algorithm),
    Kind(String),
    Detach(u64),
    Attach(Attachment),
    EnablePublic,
    DisablePublic,
    RemoveService(u16),
    UpdateService(Service),
    AddService(Service),
    RemoveTarget(To),
    AddTarget {
        to: To,
        use_private_ip: bool,
    },
}

impl Step {
    /// Whether it may change where the load balancer is reached.
    pub(super) fn changes_addresses(&self) -> bool {
        matches!(self, Self::Detach(_) | Self::Attach(_) | Self::EnablePublic | Self::DisablePublic)
    }

    /// Whether it takes something away, as its effect in the description says: the host counts these.
    pub(super) fn removes(&self) -> bool {
        match self {
            Self::Describe { .. }
            | Self::Detach(_)
            | Self::DisablePublic
            | Self::RemoveService(_)
            | Self::RemoveTarget(_) => true,
            Self::Rdns { .. }
            | Self::Algorithm(_)
            | Self::Kind(_)
            | Self::Attach(_)
            | Self::EnablePublic
            | Self::UpdateService(_)
            | Self::AddService(_)
            | Self::AddTarget { .. } => false,
        }
    }
}

/// All steps. `labels` are those that it has once it is marked; they come with the first write that is needed anyway, and one is
/// needed where it was kept.
pub(super) fn steps(live: &Live, desired: &Desired, labels: &Labels) -> Vec<Step> {
    let mut steps = Vec::new();
    for (address, name) in [&live.public_net.ipv4, &live.public_net.ipv6].into_iter().zip(&desired.rdns) {
        if let (Some(ip), Some(name)) = (&address.ip, name.as_ref().filter(|it| address.dns_ptr.as_ref() != Some(it))) {
            steps.push(Step::Rdns { ip: ip.clone(), name: name.clone() });
        }
    }
    steps.extend(desired.algorithm.filter(|it| *it != live.algorithm.kind).map(Step::Algorithm));
    steps.extend(desired.kind.clone().filter(|it| *it != live.kind.name).map(Step::Kind));
    steps.extend(network(live, desired.network.as_ref()));
    if desired.public == Some(true) && !live.public_net.enabled {
        steps.push(Step::EnablePublic);
    }
    steps.extend(services(live, desired));
    steps.extend(targets(live, &desired.targets));
    // Only once no target is reached by its public address.
    if desired.public == Some(false) && live.public_net.enabled {
        steps.push(Step::DisablePublic);
    }
    let is_written = !steps.is_empty() || live.labels.contains_key(KEPT);
    if desired.name != live.name || (is_written && *labels != live.labels) {
        steps.insert(0, Step::Describe { name: desired.name.clone(), labels: labels.clone() });
    }
    steps
}

/// Out of all other networks and into the cluster's, with the address that is asked for. Without a network of the cluster, it
/// stays where it is.
fn network(live: &Live, desired: Option<&Attachment>) -> Vec<Step> {
    let Some(desired) = desired else { return Vec::new() };
    let is_right = |network: u64, ip: Option<&String>| {
        network == desired.network && desired.ip.as_ref().is_none_or(|it| ip.is_none_or(|ip| it == ip))
    };
    let wrong = live.private_net.iter().filter(|it| !is_right(it.network, it.ip.as_ref()));
    let mut steps: Vec<_> = wrong.map(|it| Step::Detach(it.network)).collect();
    if !live.private_net.iter().any(|it| is_right(it.network, it.ip.as_ref())) {
        steps.push(Step::Attach(desired.clone()));
    }
    steps
}

/// Ports that are too many go first: a type has room for a few.
fn services(live: &Live, desired: &Desired) -> Vec<Step> {
    let extra = live.services.iter().map(|it| it.listen_port).filter(|it| !desired.services.contains_key(it));
    let mut steps: Vec<_> = extra.map(Step::RemoveService).collect();
    for service in desired.services.values() {
        match live.services.iter().find(|it| it.listen_port == service.listen_port) {
            None => steps.push(Step::AddService(service.clone())),
            Some(it) if !is_same(it, service) => steps.push(Step::UpdateService(service.clone())),
            Some(_) => {}
        }
    }
    steps
}

/// Targets that are missing come first, as far as there is room, so that at least one serves all the time.
pub(super) fn targets(live: &Live, desired: &MachineTargets) -> Vec<Step> {
    let TargetChanges { mut add, remove, replace } = TargetChanges::between(live, desired);
    let room = live.kind.max_targets.saturating_sub(live.targets.len());
    let late = if add.len() > room { add.split_off(room) } else { Vec::new() };
    let add_one = |to: To| Step::AddTarget { use_private_ip: desired.is_private(&to), to };
    let mut steps: Vec<_> = add.into_iter().map(add_one).collect();
    steps.extend(remove.into_iter().map(Step::RemoveTarget));
    steps.extend(late.into_iter().map(add_one));
    steps.extend(replace.into_iter().flat_map(|it| [Step::RemoveTarget(it.clone()), add_one(it)]));
    steps
}
