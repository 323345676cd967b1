//! All texts of what a provider says, wherever they stand.
//!
//! The records are written out in full, without `..`: a new field in `wit/` does not compile until it is decided whether
//! it holds text.

use cloud_provider::Event;

use crate::bindings::host::aerostat::cloud::types as shared;
use crate::bindings::instances::exports::aerostat::cloud::instances as machines;
use crate::bindings::load_balancer_inventory::exports::aerostat::cloud::load_balancer_inventory as inventory;
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as balancers;
use crate::bindings::persistent_volumes::exports::aerostat::cloud::persistent_volumes as volumes;
use crate::bindings::routes::exports::aerostat::cloud::routes;
use crate::bindings::volumes::exports::aerostat::cloud::volumes as disks;

/// A value that holds texts.
pub(crate) trait Texts {
    /// Shows every text to `visit`, in the order of the fields.
    fn each(&self, visit: &mut dyn FnMut(&str));
}

/// All texts, each with a space behind it. The space is part of no token and of no escape: what is found in all of them
/// is in one of them.
pub(crate) fn joined(texts: &impl Texts) -> String {
    let mut joined = String::new();
    texts.each(&mut |text| {
        joined.push_str(text);
        joined.push(' ');
    });
    joined
}

impl Texts for String {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        visit(self);
    }
}

impl<T: Texts> Texts for Option<T> {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        self.iter().for_each(|it| it.each(visit));
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        self.iter().for_each(|it| it.each(visit));
    }
}

impl<T: Texts, U: Texts> Texts for (T, U) {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        self.0.each(visit);
        self.1.each(visit);
    }
}

impl<T: Texts, E: Texts> Texts for Result<T, E> {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Ok(it) => it.each(visit),
            Err(it) => it.each(visit),
        }
    }
}

/// Implements [`Texts`] for records: the fields with texts, and behind `without` all others.
macro_rules! texts {
    ($($record:path { $($text:ident),+ $(; without $($other:ident),+)? })+) => { $(
        impl $crate::convert::texts::Texts for $record {
            fn each(&self, visit: &mut dyn FnMut(&str)) {
                let Self { $($text,)+ $($($other: _,)+)? } = self;
                $($text.each(visit);)+
            }
        }
    )+ };
}
#[cfg(test)]
pub(crate) use texts;

texts! {
    shared::Pause { reason; without milliseconds }
    shared::Address { value; without kind }
    machines::Page { instances, next, gaps }
    machines::Gap { zone, reason }
    machines::Instance {
        name, provider_id, machine_type, zone, region, addresses, labels, pod_cidrs, extra; without state
    }
    balancers::PendingStatus { status, wait }
    balancers::FailedStatus { status, error }
    balancers::LoadBalancerStatus { ingress, memo, annotations, extra }
    shared::Ingress { ip, hostname, extra; without ip_mode }
    routes::Page { routes, next, incomplete }
    routes::Route { destination, next_hop, state, id, extra; without ownership }
    inventory::Page { items, next, incomplete }
    inventory::Item {
        owner, cloud_object, memo, state, revision, ingress, extra; without proof, created
    }
    inventory::MarkedOwner { cluster_uid, uid, namespace, name }
    volumes::Topology { region, zones, labels, accessible_topologies, extra }
    volumes::TopologySegments { segments }
    disks::PendingStatus { memo, wait }
    disks::Volume {
        handle, name, state, accessible_topologies, attributes, attached_to, owner, source, extra; without bytes
    }
    disks::MarkedOwner { cluster_uid, uid, namespace, name }
    disks::TopologySegments { segments }
    disks::Page { volumes, next, incomplete }
    Event { about, reason, message; without kind }
}

impl Texts for shared::Error {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Invalid(text) | Self::Denied(text) | Self::Unavailable(text) => text.each(visit),
            Self::RetryAfter(pause) => pause.each(visit),
        }
    }
}

impl Texts for balancers::Progress {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Ready(status) => status.each(visit),
            Self::Pending(pending) => pending.each(visit),
            Self::Failed(failed) => failed.each(visit),
            Self::NotManaged => {}
        }
    }
}

impl Texts for balancers::Deletion {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Done => {}
            Self::Pending(pending) => pending.each(visit),
            Self::Kept(reason) => reason.each(visit),
        }
    }
}

impl Texts for disks::Creation {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Ready(volume) => volume.each(visit),
            Self::Pending(pending) => pending.each(visit),
            Self::NoRoom(reason) => reason.each(visit),
        }
    }
}

impl Texts for disks::Deletion {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Done => {}
            Self::Pending(pending) => pending.each(visit),
            Self::InUse(nodes) => nodes.each(visit),
        }
    }
}

impl Texts for disks::Attachment {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Ready(context) => context.each(visit),
            Self::Pending(pending) => pending.each(visit),
            Self::Occupied(text) | Self::Full(text) => text.each(visit),
        }
    }
}

impl Texts for disks::Detachment {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Done => {}
            Self::Pending(pending) => pending.each(visit),
        }
    }
}

impl Texts for disks::Expansion {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Ready(_) => {}
            Self::Pending(pending) => pending.each(visit),
            Self::InUse(nodes) => nodes.each(visit),
        }
    }
}

impl Texts for disks::Source {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Empty => {}
            Self::Snapshot(handle) | Self::Volume(handle) => handle.each(visit),
        }
    }
}

impl Texts for disks::State {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Failed(reason) => reason.each(visit),
            Self::Ready | Self::Changing => {}
        }
    }
}

impl Texts for routes::State {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Failed(reason) => reason.each(visit),
            Self::Active | Self::Changing | Self::Blackhole | Self::Partial => {}
        }
    }
}

impl Texts for routes::Outcome {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Pending(pause) => pause.each(visit),
            Self::Done => {}
        }
    }
}

impl Texts for inventory::State {
    fn each(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Failed(reason) => reason.each(visit),
            Self::Ready | Self::Changing => {}
        }
    }
}
