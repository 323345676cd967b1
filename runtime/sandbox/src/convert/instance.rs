use std::net::IpAddr;

use cloud_provider::{Address, AddressKind, Description, Gap, Instance, Node, Page, State};

use super::{cidr, label, nonempty, page};
use crate::bindings::host::aerostat::cloud::types as wit;
use crate::bindings::instances::exports::aerostat::cloud::instances::{
    Gap as WitGap, Instance as WitInstance, Page as WitPage, State as WitState,
};
use crate::untrusted::printable;

const NAME_BYTES: usize = 253;
const PROVIDER_ID_BYTES: usize = 1 << 10;
const ADDRESSES: usize = 64;
const LABELS: usize = 64;
const POD_CIDRS: usize = 16;
const GAPS: usize = 64;
/// The bytes of all keys and values together.
const EXTRA_BYTES: usize = 1 << 10;
/// The beginning of keys that only the host adds to a node's `extra`.
const HOST: &str = "host.";

/// A node as a guest is told of it: of its labels only those that `node_labels` names.
pub(crate) fn node(it: &Node, node_labels: &[String]) -> wit::Node {
    wit::Node {
        name: it.name.clone(),
        uid: it.uid.clone(),
        provider_id: it.provider_id.clone(),
        addresses: it
            .addresses
            .iter()
            .map(|it| wit::Address { kind: to_wit(it.kind), value: it.value.clone() })
            .collect(),
        zone: it.zone.clone(),
        region: it.region.clone(),
        labels: it.labels.iter().filter(|(key, _)| node_labels.contains(key)).cloned().collect(),
        extra: it.extra.clone(),
    }
}

/// A machine as a provider describes it, or a sentence on what is wrong with it.
pub(crate) fn instance(it: WitInstance, description: &Description) -> Result<Instance, String> {
    let name = printable(&it.name, 64);
    checked(it, description).map_err(|because| format!("machine {name:?}: {because}"))
}

/// One page of at most `limit` machines, or a sentence on what is wrong with it.
///
/// A machine that is unusable is left out, and makes the page incomplete: one strange machine in an account must not
/// hide all others.
pub(crate) fn page(it: WitPage, cursor: Option<&str>, limit: u32, description: &Description) -> Result<Page, String> {
    let WitPage { instances: machines, next, gaps } = it;
    if gaps.len() > GAPS {
        return Err(format!("a page has {} gaps, more than {GAPS}", gaps.len()));
    }
    if machines.len() > limit as usize {
        return Err(format!("a page has {} machines, and {limit} were asked for", machines.len()));
    }
    let next = page::next(next, cursor)?;
    let mut gaps = gaps.into_iter().map(gap).collect::<Result<Vec<_>, _>>()?;
    let (instances, unusable) = page::usable(machines, "machines", |it| instance(it, description));
    if let Some(reason) = unusable {
        gaps.push(Gap { zone: None, reason });
    }
    Ok(Page { instances, next, gaps })
}

fn gap(it: WitGap) -> Result<Gap, String> {
    let WitGap { zone, reason } = it;
    Ok(Gap { zone: label_value("gap's zone", zone)?, reason: page::reason(&reason) })
}

fn checked(it: WitInstance, description: &Description) -> Result<Instance, String> {
    let WitInstance { name, provider_id: id, state, machine_type, zone, region, addresses, labels, pod_cidrs, extra } =
        it;
    if name.len() > NAME_BYTES || name.chars().any(char::is_control) {
        return Err(format!("its name is longer than {NAME_BYTES} bytes, or has control characters"));
    }
    if addresses.len() > ADDRESSES {
        return Err(format!("it has {} addresses, more than {ADDRESSES}", addresses.len()));
    }
    if labels.len() > LABELS {
        return Err(format!("it has {} labels, more than {LABELS}", labels.len()));
    }
    if pod_cidrs.len() > POD_CIDRS {
        return Err(format!("it has {} pod networks, more than {POD_CIDRS}", pod_cidrs.len()));
    }
    for (key, value) in &labels {
        if !label::is_key(key) || !label::is_value(value) {
            let (key, value) = (printable(key, 128), printable(value, 128));
            return Err(format!("{key:?}={value:?} is no label"));
        }
    }
    Ok(Instance {
        // A name with an escape in it is the name of no node. The machine still is there, and found by its provider id.
        name: printable(&name, NAME_BYTES),
        provider_id: nonempty(id).map(|it| provider_id(it, description)).transpose()?,
        state: match state {
            WitState::Running => State::Running,
            WitState::Stopped => State::Stopped,
        },
        machine_type: label_value("machine type", machine_type)?,
        zone: label_value("zone", zone)?,
        region: label_value("region", region)?,
        addresses: addresses.into_iter().map(address).collect::<Result<_, _>>()?,
        labels,
        pod_cidrs: pod_cidrs.into_iter().map(|it| cidr("pod network", it)).collect::<Result<_, _>>()?,
        extra: self::extra(extra)?,
    })
}

fn provider_id(id: String, description: &Description) -> Result<String, String> {
    let printed = printable(&id, 128);
    if !description.owns(&id) {
        let prefixes = description.provider_id_prefixes.join(", ");
        return Err(format!("its provider id {printed:?} does not begin as the provider's ids do ({prefixes})"));
    }
    if id.len() > PROVIDER_ID_BYTES || !id.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(format!("its provider id {printed:?} is not up to {PROVIDER_ID_BYTES} visible ASCII characters"));
    }
    Ok(id)
}

/// It goes back to the provider with the node, and nowhere else. It is sorted: another order is no change.
fn extra(mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let bytes = pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if bytes > EXTRA_BYTES {
        return Err(format!("its extra has {bytes} bytes, more than {EXTRA_BYTES}"));
    }
    if let Some((key, _)) = pairs.iter().find(|(key, _)| key.starts_with(HOST)) {
        return Err(format!(
            "its extra has the key {:?}; those that begin with {HOST:?} are the host's",
            printable(key, 64)
        ));
    }
    pairs.sort();
    Ok(pairs)
}

/// The word for all spellings of a machine's provider id, or a sentence on what is wrong with it.
pub(crate) fn canonical_id(text: String) -> Result<String, String> {
    if text.is_empty() || text.len() > PROVIDER_ID_BYTES || !text.bytes().all(|it| it.is_ascii_graphic()) {
        let text = printable(&text, 128);
        return Err(format!("the canonical id {text:?} is not 1 to {PROVIDER_ID_BYTES} visible ASCII characters"));
    }
    Ok(text)
}

/// These become values of node labels, where Kubernetes would refuse anything else, and with it the whole node.
pub(super) fn label_value(what: &str, text: Option<String>) -> Result<Option<String>, String> {
    let text = nonempty(text);
    match &text {
        Some(it) if !label::is_value(it) => {
            Err(format!("its {what} {:?} cannot be the value of a label", printable(it, 128)))
        }
        _ => Ok(text),
    }
}

fn address(it: wit::Address) -> Result<Address, String> {
    let wit::Address { kind, value } = it;
    let kind = from_wit(kind);
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= NAME_BYTES
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
    };
    let is_fine = match kind {
        AddressKind::InternalIp | AddressKind::ExternalIp => value.parse::<IpAddr>().is_ok(),
        AddressKind::Hostname | AddressKind::InternalDns | AddressKind::ExternalDns => is_name(&value),
    };
    if is_fine {
        Ok(Address { kind, value })
    } else {
        Err(format!("its address {:?} is no {}", printable(&value, 128), kind.as_str()))
    }
}

fn to_wit(kind: AddressKind) -> wit::AddressKind {
    match kind {
        AddressKind::Hostname => wit::AddressKind::Hostname,
        AddressKind::InternalIp => wit::AddressKind::InternalIp,
        AddressKind::ExternalIp => wit::AddressKind::ExternalIp,
        AddressKind::InternalDns => wit::AddressKind::InternalDns,
        AddressKind::ExternalDns => wit::AddressKind::ExternalDns,
    }
}

fn from_wit(kind: wit::AddressKind) -> AddressKind {
    match kind {
        wit::AddressKind::Hostname => AddressKind::Hostname,
        wit::AddressKind::InternalIp => AddressKind::InternalIp,
        wit::AddressKind::ExternalIp => AddressKind::ExternalIp,
        wit::AddressKind::InternalDns => AddressKind::InternalDns,
        wit::AddressKind::ExternalDns => AddressKind::ExternalDns,
    }
}
