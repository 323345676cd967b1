use cloud_provider::{InventoryDescription, InventoryItem, InventoryPage, InventoryState, MarkedOwner, Proof};

use super::{load_balancer, nonempty, page};
use crate::bindings::load_balancer_inventory::exports::aerostat::cloud::load_balancer_inventory as wit;
use crate::untrusted::{is_printable, printable};

/// In an item's `extra`: that it is kept, and why.
const KEPT: &str = "kept";
/// In an item's `extra`: its outline.
const OUTLINE: &str = "outline";
const REVISION_BYTES: usize = 64;
const MARK_BYTES: usize = 253;
const OBJECT_BYTES: usize = 256;
/// As long as a UUID. Kubernetes makes no others, and a UID is opaque.
const UID_BYTES: usize = 36;

/// The list's properties.
pub(crate) fn description(it: wit::InventoryDescription) -> InventoryDescription {
    let wit::InventoryDescription {
        page_size,
        revisions,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    InventoryDescription { page_size: page_size.max(1), revisions }
}

/// One page of at most `limit` items, or a sentence on what is wrong with it. An item that is unusable is left out, and
/// makes the page incomplete.
pub(crate) fn page(it: wit::Page, cursor: Option<&str>, limit: u32) -> Result<InventoryPage, String> {
    let wit::Page { items, next, incomplete } = it;
    if items.len() > limit as usize {
        return Err(format!("a page has {} items, and {limit} were asked for", items.len()));
    }
    let next = page::next(next, cursor)?;
    let (items, unusable) = page::usable(items, "items", item);
    let incomplete = incomplete.map(|it| page::reason(&it));
    Ok(InventoryPage { items, next, incomplete: incomplete.or(unusable) })
}

fn item(it: wit::Item) -> Result<InventoryItem, String> {
    let wit::Item { owner, proof, cloud_object, memo, state, revision, ingress, created, extra } = it;
    let wit::MarkedOwner { cluster_uid, uid, namespace, name } = owner;
    let cloud_object = nonempty(Some(printable(&cloud_object, OBJECT_BYTES))).unwrap_or_else(|| "an object".into());
    // Nothing else of it is known to this host.
    let said = |key: &str| extra.iter().find(|(it, _)| it == key).map(|(_, text)| text.clone());
    let checked = || {
        Ok(InventoryItem {
            owner: MarkedOwner {
                cluster_uid: uid_of("cluster UID", cluster_uid)?,
                uid: uid_of("owner's UID", uid)?,
                namespace: mark("owner's namespace", namespace)?,
                name: mark("owner's name", name)?,
            },
            proof: match proof {
                wit::Proof::Unique => Proof::Unique,
                wit::Proof::ByName => Proof::ByName,
            },
            cloud_object: cloud_object.clone(),
            memo: load_balancer::memo(memo)?,
            state: match state {
                wit::State::Ready => InventoryState::Ready,
                wit::State::Changing => InventoryState::Changing,
                wit::State::Failed(because) => InventoryState::Failed(page::reason(&because)),
            },
            revision: visible("revision", revision)?,
            outline: visible("outline", said(OUTLINE))?,
            ingress: load_balancer::places(ingress)?,
            created,
            kept: said(KEPT).map(|why| page::reason(&why)),
        })
    };
    checked().map_err(|because: String| format!("{cloud_object}: {because}"))
}

/// A text that is only compared, or a sentence on what is wrong with it.
fn visible(what: &str, text: Option<String>) -> Result<Option<String>, String> {
    match nonempty(text) {
        Some(it) if it.len() > REVISION_BYTES || !it.bytes().all(|it| it.is_ascii_graphic()) => {
            let it = printable(&it, REVISION_BYTES);
            Err(format!("its {what} {it:?} is not up to {REVISION_BYTES} visible ASCII characters"))
        }
        it => Ok(it),
    }
}

/// A UID in Kubernetes' form: 8, 4, 4, 4 and 12 hexadecimal digits in lower case.
pub(super) fn uid_of(what: &str, text: Option<String>) -> Result<Option<String>, String> {
    let is_uid = |uid: &str| {
        uid.len() == UID_BYTES
            && uid.bytes().enumerate().all(|(index, it)| match index {
                8 | 13 | 18 | 23 => it == b'-',
                _ => it.is_ascii_digit() || (b'a'..=b'f').contains(&it),
            })
    };
    match nonempty(text) {
        Some(it) if !is_uid(&it) => Err(format!("its {what} {:?} does not look like a UID", printable(&it, 64))),
        it => Ok(it),
    }
}

/// The name of an owner, or a sentence on what is wrong with it.
pub(super) fn mark(what: &str, text: Option<String>) -> Result<Option<String>, String> {
    match nonempty(text) {
        Some(it) if it.len() > MARK_BYTES || !is_printable(&it) => {
            Err(format!("its {what} {:?} is not printable text of up to {MARK_BYTES} bytes", printable(&it, 64)))
        }
        it => Ok(it),
    }
}
