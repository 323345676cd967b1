use std::time::Duration;

use cloud_provider::{
    AccessMode, AttachMode, ClassParameter, CloudVolume, DesiredVolume, InTreeVolumes, KnownVolume, MarkedClaim,
    PendingVolume, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment,
    VolumeExpansion, VolumeGrowth, VolumePage, VolumePlace, VolumeSource, VolumeState,
};

use super::load_balancer_inventory::{mark, uid_of};
use super::{label, load_balancer, nonempty, page};
use crate::bindings::host::aerostat::cloud::types as shared;
use crate::bindings::volumes::exports::aerostat::cloud::volumes as wit;
use crate::untrusted::{is_printable, printable};

/// A CSI driver's name has no more.
const DRIVER_BYTES: usize = 63;
const KEY_BYTES: usize = 253;
const HANDLE_BYTES: usize = 512;
const NAME_BYTES: usize = 256;
const NODE_ID_BYTES: usize = 256;
const VALUE_BYTES: usize = 4 << 10;
const TEXT_BYTES: usize = 1 << 10;
const FILESYSTEM_BYTES: usize = 16;
const BATCH: u32 = 500;
const PAGE: u32 = 1_000;
/// The most keys, parameters or attributes.
const PAIRS: usize = 64;
const PLACES: usize = 16;
const MACHINES: usize = 256;
/// Later would be an outage.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The beginning of keys by which a StorageClass speaks to the program that makes volumes, and to no driver.
const RESERVED: &str = "csi.storage.k8s.io/";
/// In the `extra` of a desired volume: no call of `create` came before.
const FIRST_CREATE: &str = "host.first-create";
/// In the `extra` of a desired volume: no call of `create` before this one has had this memo.
const NEW_MEMO: &str = "host.new-memo";
/// In the `extra` of a description: the volumes of an in-tree plugin.
const IN_TREE: [&str; 3] = ["in-tree.source", "in-tree.plugin", "in-tree.handle"];
/// In the `extra` of a description, perhaps several times: a namespace of the vendor's own controller.
const VENDOR_NAMESPACE: &str = "vendor.namespace";
/// The most namespaces of a vendor, and the most bytes of one.
const NAMESPACES: usize = 4;
const NAMESPACE_BYTES: usize = 63;
/// In the handle of an in-tree plugin: words for what such a volume is called, for the end of that, and for its zone.
const IN_TREE_WORDS: [&str; 3] = ["{volume}", "{name}", "{zone}"];
/// The host's word that a PersistentVolume has the mode `Block`.
const BLOCK: &str = "host.block";

/// The properties of a cloud's volumes, or a sentence on what is wrong with them.
pub(crate) fn description(it: wit::VolumeDescription) -> Result<VolumeDescription, String> {
    let wit::VolumeDescription {
        driver,
        topology_keys,
        publish_keys,
        parameters,
        annotations,
        access_modes,
        block,
        filesystem,
        smallest_bytes,
        step_bytes,
        largest_bytes,
        growth,
        sources,
        one_at_a_time_per_node,
        get_batch_size,
        list_page_size,
        extra,
    } = it;
    if driver.len() > DRIVER_BYTES || !label::is_subdomain(&driver) {
        return Err(format!("the driver {:?} is no DNS name of up to {DRIVER_BYTES} bytes", printable(&driver, 128)));
    }
    for (what, keys) in [("topology-keys", &topology_keys), ("publish-keys", &publish_keys)] {
        check_number(what, keys.len())?;
        if let Some(key) = keys.iter().find(|it| !label::is_key(it)) {
            return Err(format!("of its {what} {:?} is no key", printable(key, 128)));
        }
    }
    if access_modes.is_empty() {
        return Err("access-modes is empty".into());
    }
    let is_word = filesystem.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    if filesystem.len() > FILESYSTEM_BYTES || !is_word {
        return Err(format!("the filesystem {:?} is no word", printable(&filesystem, 64)));
    }
    if step_bytes == 0 || largest_bytes == 0 || largest_bytes % step_bytes != 0 || smallest_bytes > largest_bytes {
        return Err(format!(
            "sizes from {smallest_bytes} to {largest_bytes} in steps of {step_bytes} are none: the largest has to be a multiple of \
             the step, and no less than the smallest"
        ));
    }
    if get_batch_size == 0 || get_batch_size > BATCH {
        return Err(format!("get-batch-size is {get_batch_size}, and has to be 1 to {BATCH}"));
    }
    if list_page_size > PAGE {
        return Err(format!("list-page-size is {list_page_size}, and has to be 0 to {PAGE}"));
    }
    Ok(VolumeDescription {
        driver,
        topology_keys,
        publish_keys,
        parameters: class_parameters("parameters", parameters)?,
        annotations: class_parameters("annotations", annotations)?,
        access_modes: access_modes.into_iter().map(access_mode).collect(),
        block,
        filesystem,
        smallest_bytes,
        step_bytes,
        largest_bytes,
        growth: match growth {
            wit::Growth::Never => VolumeGrowth::Never,
            wit::Growth::Detached => VolumeGrowth::Detached,
            wit::Growth::Online => VolumeGrowth::Online,
        },
        snapshots: sources.contains(&wit::SourceKind::Snapshot),
        clones: sources.contains(&wit::SourceKind::Volume),
        one_at_a_time_per_node,
        get_batch_size,
        list_page_size,
        in_tree: in_tree(&extra)?,
        vendor_namespaces: vendor_namespaces(&extra)?,
    })
}

/// The namespaces of the vendor's own controller, each once.
fn vendor_namespaces(extra: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut namespaces: Vec<String> = Vec::new();
    for (_, namespace) in extra.iter().filter(|(key, _)| key == VENDOR_NAMESPACE) {
        if namespace.len() > NAMESPACE_BYTES || namespace.contains('.') || !label::is_subdomain(namespace) {
            return Err(format!("its {VENDOR_NAMESPACE} {:?} is no name of a namespace", printable(namespace, 128)));
        }
        if !namespaces.contains(namespace) {
            namespaces.push(namespace.clone());
        }
    }
    if namespaces.len() > NAMESPACES {
        return Err(format!("it says {} times {VENDOR_NAMESPACE}, and may {NAMESPACES} times", namespaces.len()));
    }
    Ok(namespaces)
}

/// The volumes of an in-tree plugin that the driver serves, too.
fn in_tree(extra: &[(String, String)]) -> Result<Option<InTreeVolumes>, String> {
    let words = IN_TREE.map(|key| extra.iter().find(|(it, _)| it == key).map(|(_, value)| value.clone()));
    let (source, plugin, handle) = match words {
        [None, None, None] => return Ok(None),
        [Some(source), Some(plugin), Some(handle)] => (source, plugin, handle),
        _ => return Err(format!("it says only some of {}", IN_TREE.join(", "))),
    };
    for (key, value) in IN_TREE.iter().zip([&source, &plugin, &handle]) {
        if value.is_empty() || value.len() > KEY_BYTES || !value.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(format!("its {key} {:?} is no word of up to {KEY_BYTES} bytes", printable(value, 128)));
        }
    }
    let plain = IN_TREE_WORDS.iter().fold(handle.clone(), |text, word| text.replace(word, ""));
    let names_one = handle.contains(IN_TREE_WORDS[0]) || handle.contains(IN_TREE_WORDS[1]);
    if !names_one || plain.contains(['{', '}']) {
        return Err(format!(
            "its {} {handle:?} has to have {{volume}} or {{name}} for the volume, and nothing else in braces but {{zone}}",
            IN_TREE[2]
        ));
    }
    Ok(Some(InTreeVolumes { source, plugin, handle }))
}

fn class_parameters(what: &str, rows: Vec<wit::Parameter>) -> Result<Vec<ClassParameter>, String> {
    check_number(what, rows.len())?;
    let mut checked: Vec<ClassParameter> = Vec::with_capacity(rows.len());
    for wit::Parameter { key, values, required, default, doc } in rows {
        let shown = printable(&key, 128);
        if key.is_empty() || key.len() > KEY_BYTES || !key.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(format!("of its {what} {shown:?} is no key"));
        }
        if key.starts_with(RESERVED) {
            return Err(format!("of its {what} {shown:?} is not the driver's: keys under {RESERVED} are the host's"));
        }
        if checked.iter().any(|it| it.key == key) {
            return Err(format!("of its {what} {shown:?} is there twice"));
        }
        let text = |text: &str| printable(text, TEXT_BYTES);
        let (values, default, doc) = (text(&values), default.as_deref().map(text), text(&doc));
        checked.push(ClassParameter { key, values, required, default, doc });
    }
    Ok(checked)
}

fn check_number(what: &str, number: usize) -> Result<(), String> {
    if number > PAIRS { Err(format!("it has {number} {what}, more than {PAIRS}")) } else { Ok(()) }
}

fn access_mode(it: wit::AccessMode) -> AccessMode {
    match it {
        wit::AccessMode::OneNode => AccessMode::OneNode,
        wit::AccessMode::OnePod => AccessMode::OnePod,
        wit::AccessMode::ManyNodesRead => AccessMode::ManyNodesRead,
        wit::AccessMode::ManyNodesWrite => AccessMode::ManyNodesWrite,
    }
}

fn access_mode_to_wit(it: AccessMode) -> wit::AccessMode {
    match it {
        AccessMode::OneNode => wit::AccessMode::OneNode,
        AccessMode::OnePod => wit::AccessMode::OnePod,
        AccessMode::ManyNodesRead => wit::AccessMode::ManyNodesRead,
        AccessMode::ManyNodesWrite => wit::AccessMode::ManyNodesWrite,
    }
}

/// A volume that a claim asks for as a guest is told of it: parameters and annotations that it describes, and no others.
pub(crate) fn desired(it: &DesiredVolume, is_first: bool, described: &VolumeDescription) -> wit::DesiredVolume {
    let DesiredVolume {
        name,
        owner,
        memo,
        memo_is_new,
        bytes,
        access_modes,
        filesystem,
        parameters,
        places,
        source,
        annotations,
    } = it.clone();
    let words = [(FIRST_CREATE, is_first), (NEW_MEMO, memo_is_new)].into_iter().filter(|(_, is_said)| *is_said);
    let known = |pairs: Vec<(String, String)>, rows: &[ClassParameter]| {
        pairs.into_iter().filter(|(key, _)| rows.iter().any(|it| it.key == *key)).collect()
    };
    let cloud_provider::ClaimOwner { cluster, namespace, name: claim, uid } = owner;
    wit::DesiredVolume {
        name,
        owner: wit::Owner { cluster, namespace, name: claim, uid },
        memo,
        bytes,
        access_modes: access_modes.into_iter().map(access_mode_to_wit).collect(),
        filesystem,
        parameters: known(parameters, &described.parameters),
        accessible_topologies: places.into_iter().map(|segments| wit::TopologySegments { segments }).collect(),
        source: match source {
            None => wit::Source::Empty,
            Some(VolumeSource::Snapshot(handle)) => wit::Source::Snapshot(handle),
            Some(VolumeSource::Volume(handle)) => wit::Source::Volume(handle),
        },
        annotations: known(annotations, &described.annotations),
        extra: words.map(|(word, _)| (word.to_owned(), "true".to_owned())).collect(),
    }
}

/// A volume that Kubernetes has as a guest is told of it.
pub(crate) fn known(it: &KnownVolume) -> wit::KnownVolume {
    let KnownVolume { handle, name, attributes, memo, is_block } = it.clone();
    let block = (BLOCK.to_owned(), "true".to_owned());
    wit::KnownVolume { handle, name, attributes, memo, extra: is_block.then_some(block).into_iter().collect() }
}

/// How a volume is attached, as a guest is told of it.
pub(crate) fn mode(it: &AttachMode) -> wit::AttachMode {
    let AttachMode { read_only, block, access_modes } = it;
    let access_modes = access_modes.iter().copied().map(access_mode_to_wit).collect();
    wit::AttachMode { read_only: *read_only, block: *block, access_modes }
}

/// Where a `create` stands, or a sentence on what is wrong with the answer. A volume that is ready has to be the one that was asked
/// for.
pub(crate) fn creation(
    it: wit::Creation,
    desired: &DesiredVolume,
    cluster_uid: Option<&str>,
    described: &VolumeDescription,
) -> Result<VolumeCreation, String> {
    Ok(match it {
        wit::Creation::Ready(it) => {
            let volume = volume(it, described)?;
            check_created(&volume, desired, cluster_uid)?;
            VolumeCreation::Ready(Box::new(volume))
        }
        wit::Creation::Pending(it) => VolumeCreation::Pending(pending(it)?),
        wit::Creation::NoRoom(why) => VolumeCreation::NoRoom(page::reason(&why)),
    })
}

fn check_created(volume: &CloudVolume, desired: &DesiredVolume, cluster_uid: Option<&str>) -> Result<(), String> {
    let CloudVolume { handle, name, bytes, state, places, owner, source, .. } = volume;
    if *name != desired.name {
        return Err(format!(
            "it says that volume {handle} is ready, which is called {name:?} and not {:?}",
            desired.name
        ));
    }
    let is_other = |mark: &Option<String>, own: &str| mark.as_ref().is_some_and(|it| it != own);
    if is_other(&owner.uid, &desired.owner.uid) || cluster_uid.is_some_and(|own| is_other(&owner.cluster_uid, own)) {
        return Err(format!("it says that volume {handle} is ready, which has the mark of another claim or cluster"));
    }
    if *bytes < desired.bytes {
        return Err(format!("volume {handle} has {bytes} bytes, fewer than the {} that were asked for", desired.bytes));
    }
    if *state != VolumeState::Ready {
        return Err(format!("it says that volume {handle} is ready, and that it is not"));
    }
    if *source != desired.source && source.is_some() {
        return Err(format!("volume {handle} began with something else than was asked for"));
    }
    let is_within = |place: &VolumePlace, of: &VolumePlace| place.iter().all(|it| of.contains(it));
    let outside = places.iter().find(|it| !desired.places.iter().any(|of| is_within(it, of)));
    match outside.filter(|_| !desired.places.is_empty()) {
        Some(place) => Err(format!("volume {handle} is in {place:?}, and none of its places was that")),
        None => Ok(()),
    }
}

/// Where a `delete` stands, or a sentence on what is wrong with the answer.
pub(crate) fn deletion(it: wit::Deletion) -> Result<VolumeDeletion, String> {
    Ok(match it {
        wit::Deletion::Done => VolumeDeletion::Done,
        wit::Deletion::Pending(it) => VolumeDeletion::Pending(pending(it)?),
        wit::Deletion::InUse(nodes) => VolumeDeletion::InUse(machines(nodes)?),
    })
}

/// Where an `attach` stands, or a sentence on what is wrong with the answer.
pub(crate) fn attachment(it: wit::Attachment, described: &VolumeDescription) -> Result<VolumeAttachment, String> {
    Ok(match it {
        wit::Attachment::Ready(context) => {
            let context = pairs("publish context", context)?;
            if let Some((key, _)) = context.iter().find(|(key, _)| !described.publish_keys.contains(key)) {
                return Err(format!("its publish context has the key {key:?}, which it does not describe"));
            }
            VolumeAttachment::Ready(context)
        }
        wit::Attachment::Pending(it) => VolumeAttachment::Pending(pending(it)?),
        wit::Attachment::Occupied(node) => VolumeAttachment::Occupied(line("node id", node, NODE_ID_BYTES)?),
        wit::Attachment::Full(why) => VolumeAttachment::Full(page::reason(&why)),
    })
}

/// Where a `detach` stands, or a sentence on what is wrong with the answer.
pub(crate) fn detachment(it: wit::Detachment) -> Result<VolumeDetachment, String> {
    Ok(match it {
        wit::Detachment::Done => VolumeDetachment::Done,
        wit::Detachment::Pending(it) => VolumeDetachment::Pending(pending(it)?),
    })
}

/// Where an `expand` to so many bytes stands, or a sentence on what is wrong with the answer.
pub(crate) fn expansion(it: wit::Expansion, asked: u64) -> Result<VolumeExpansion, String> {
    Ok(match it {
        wit::Expansion::Ready(wit::ExpandedVolume { bytes, node_must_grow }) => {
            if bytes < asked {
                return Err(format!("the volume has {bytes} bytes, fewer than the {asked} that were asked for"));
            }
            VolumeExpansion::Ready { bytes, node_must_grow }
        }
        wit::Expansion::Pending(it) => VolumeExpansion::Pending(pending(it)?),
        wit::Expansion::InUse(nodes) => VolumeExpansion::InUse(machines(nodes)?),
    })
}

fn pending(it: wit::PendingStatus) -> Result<PendingVolume, String> {
    let wit::PendingStatus { memo, wait: shared::Pause { milliseconds, reason } } = it;
    Ok(PendingVolume {
        memo: load_balancer::memo(memo)?,
        after: Duration::from_millis(milliseconds.into()).min(LONGEST_WAIT),
        reason: page::reason(&reason),
    })
}

/// The volume that was asked for by this handle, or a sentence on what is wrong with the answer.
pub(crate) fn found(it: wit::Volume, handle: &str, described: &VolumeDescription) -> Result<CloudVolume, String> {
    let volume = volume(it, described)?;
    if volume.handle != handle {
        return Err(format!(
            "it was asked for volume {}, and answers volume {}",
            printable(handle, 128),
            volume.handle
        ));
    }
    Ok(volume)
}

/// One page of at most `limit` volumes, or a sentence on what is wrong with it. A volume that is unusable is left out, and
/// makes the page incomplete.
pub(crate) fn page(
    it: wit::Page,
    cursor: Option<&str>,
    limit: u32,
    described: &VolumeDescription,
) -> Result<VolumePage, String> {
    let wit::Page { volumes, next, incomplete } = it;
    if volumes.len() > limit as usize {
        return Err(format!("a page has {} volumes, and {limit} were asked for", volumes.len()));
    }
    let next = page::next(next, cursor)?;
    let (volumes, unusable) = page::usable(volumes, "volumes", |it| volume(it, described));
    let incomplete = incomplete.map(|it| page::reason(&it));
    Ok(VolumePage { volumes, next, incomplete: incomplete.or(unusable) })
}

fn volume(it: wit::Volume, described: &VolumeDescription) -> Result<CloudVolume, String> {
    let wit::Volume {
        handle,
        name,
        bytes,
        state,
        accessible_topologies: places,
        attributes,
        attached_to,
        owner,
        source,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    let shown = printable(&handle, 64);
    let checked = || {
        if handle.is_empty() || handle.len() > HANDLE_BYTES || !handle.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(format!("its handle is not 1 to {HANDLE_BYTES} visible ASCII characters"));
        }
        if places.len() > PLACES {
            return Err(format!("it is in {} places, more than {PLACES}", places.len()));
        }
        let wit::MarkedOwner { cluster_uid, uid, namespace, name: claim } = owner;
        Ok(CloudVolume {
            handle,
            name: printable(&name, NAME_BYTES),
            bytes,
            state: match state {
                wit::State::Ready => VolumeState::Ready,
                wit::State::Changing => VolumeState::Changing,
                wit::State::Failed(because) => VolumeState::Failed(page::reason(&because)),
            },
            places: places.into_iter().map(|it| place(it, described)).collect::<Result<_, _>>()?,
            attributes: pairs("attributes", attributes)?,
            attached_to: machines(attached_to)?,
            owner: MarkedClaim {
                cluster_uid: uid_of("cluster UID", cluster_uid)?,
                uid: uid_of("owner's UID", uid)?,
                namespace: mark("owner's namespace", namespace)?,
                name: mark("owner's name", claim)?,
            },
            source: match source {
                wit::Source::Empty => None,
                wit::Source::Snapshot(it) => Some(VolumeSource::Snapshot(line("snapshot", it, HANDLE_BYTES)?)),
                wit::Source::Volume(it) => Some(VolumeSource::Volume(line("source", it, HANDLE_BYTES)?)),
            },
        })
    };
    checked().map_err(|because: String| format!("volume {shown:?}: {because}"))
}

fn place(it: wit::TopologySegments, described: &VolumeDescription) -> Result<VolumePlace, String> {
    let wit::TopologySegments { mut segments } = it;
    segments.sort_unstable();
    if segments.is_empty() || segments.windows(2).any(|it| it[0].0 == it[1].0) {
        return Err("one of its places has no key, or one twice".into());
    }
    match segments.iter().find(|(key, value)| !described.topology_keys.contains(key) || !label::is_value(value)) {
        Some((key, value)) => {
            let (key, value) = (printable(key, 128), printable(value, 128));
            Err(format!("its place {key:?}={value:?} is none in the topology keys that it describes"))
        }
        None => Ok(segments),
    }
}

/// Keys and values that are written into the cluster: they cannot be escaped.
fn pairs(what: &str, mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    check_number(what, pairs.len())?;
    pairs.sort_unstable();
    let is_odd =
        |(key, value): &&(String, String)| !label::is_key(key) || value.len() > VALUE_BYTES || !is_printable(value);
    if let Some((key, _)) = pairs.iter().find(is_odd) {
        let key = printable(key, 128);
        return Err(format!("its {what} {key:?} is no key with printable text of up to {VALUE_BYTES} bytes"));
    }
    match pairs.windows(2).find(|it| it[0].0 == it[1].0) {
        Some(twice) => Err(format!("its {what} {:?} is there twice", twice[0].0)),
        None => Ok(pairs),
    }
}

fn machines(nodes: Vec<String>) -> Result<Vec<String>, String> {
    if nodes.len() > MACHINES {
        return Err(format!("it is attached to {} machines, more than {MACHINES}", nodes.len()));
    }
    nodes.into_iter().map(|it| line("node id", it, NODE_ID_BYTES)).collect()
}

fn line(what: &str, text: String, most: usize) -> Result<String, String> {
    match nonempty(Some(text)) {
        Some(it) if it.len() <= most && is_printable(&it) => Ok(it),
        other => {
            let text = printable(&other.unwrap_or_default(), 64);
            Err(format!("its {what} {text:?} is not one line of 1 to {most} bytes"))
        }
    }
}

#[cfg(test)]
mod tests;
