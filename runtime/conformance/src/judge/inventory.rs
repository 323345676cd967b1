//! Judges of the list of all load balancers.

use cloud_provider::{InventoryItem, Proof};

use crate::breach::Breach;
use crate::transcript::{Inventories, KeptListing, SaidAnswer, Transcript, WholeInventory};

use super::{NO_INVENTORY, PromiseJudgement, finding};

pub(crate) fn shows_ours(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |seen| {
        let lists = [("at rest", &seen.at_rest[0]), ("after a change", &seen.changed)];
        let broken = lists.into_iter().filter_map(|(when, list)| {
            let sentence = match list {
                Err(why) => format!("the list fails: {why}"),
                Ok(items) => {
                    let own: Vec<_> = items.iter().filter(|item| is_of(item, seen)).collect();
                    match own.first() {
                        None => "nothing of the Service's is in it".to_owned(),
                        Some(item) if is_unique(item) && item.owner.cluster_uid.as_ref() != Some(&seen.cluster) => {
                            format!("{} has no mark of this cluster: {:?}", item.cloud_object, item.owner)
                        }
                        Some(_) => return None,
                    }
                }
            };
            Some(finding(format!("the list {when}"), sentence))
        });
        broken.collect()
    })
}

pub(crate) fn shows_ours_alone(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |seen| {
        let foreign = items(&seen.at_rest[0])
            .filter(|item| is_unique(item) && item.owner.cluster_uid.as_ref() != Some(&seen.cluster));
        let foreign =
            foreign.map(|item| finding("the list", format!("{} is none of this cluster's", item.cloud_object)));
        let elsewhere = items(&seen.elsewhere).filter(|item| is_unique(item) && is_of(item, seen));
        let elsewhere =
            elsewhere.map(|item| finding("the list of another cluster", format!("{} is in it", item.cloud_object)));
        let gone = items(&seen.gone).filter(|item| is_of(item, seen));
        let gone =
            gone.map(|item| finding("the list after the deletion", format!("{} is still in it", item.cloud_object)));
        foreign.chain(elsewhere).chain(gone).collect()
    })
}

pub(crate) fn kept_is_no_orphan(transcript: &Transcript) -> PromiseJudgement {
    let Some(seen) = &transcript.inventories else { return PromiseJudgement::Untried(NO_INVENTORY) };
    let untried = "this cloud cannot protect a load balancer from its deletion";
    PromiseJudgement::of(seen.kept.as_ref(), untried, |KeptListing { uid, said, lists }| {
        let said = (!matches!(said, Some(SaidAnswer::Kept(_)))).then(|| {
            finding("a deletion of what is protected", format!("it is answered with {said:?}, and not with kept"))
        });
        let orphans =
            ["while it is protected", "when it is not any more"].into_iter().zip(lists).filter_map(|(when, list)| {
                // One that says so is enough for all that the Service has.
                let own: Vec<_> = items(list).filter(|it| it.owner.uid.as_ref() == Some(uid)).collect();
                let orphan = own.iter().all(|it| it.kept.is_none()).then(|| own.first())??;
                Some(finding(format!("the list {when}"), format!("{} is not called kept", orphan.cloud_object)))
            });
        said.into_iter().chain(orphans).collect()
    })
}

pub(crate) fn revision_tells_changes(transcript: &Transcript) -> PromiseJudgement {
    let Some(it) = &transcript.inventories else { return PromiseJudgement::Untried(NO_INVENTORY) };
    let [first, second] = it.at_rest.each_ref().map(|list| revisions(list, it));
    if first.iter().all(Option::is_none) {
        return PromiseJudgement::Untried("the list has no revisions");
    }
    let moved =
        (first != second).then(|| finding("two lists at rest", format!("revisions {first:?} became {second:?}")));
    let changed = revisions(&it.changed, it);
    let stuck = (changed == first).then(|| finding("a node more", format!("the revisions {first:?} stayed")));
    PromiseJudgement::Tried(moved.into_iter().chain(stuck).collect())
}

fn judged(transcript: &Transcript, judge: impl FnOnce(&Inventories) -> Vec<Breach>) -> PromiseJudgement {
    PromiseJudgement::of(transcript.inventories.as_ref(), NO_INVENTORY, judge)
}

fn items(list: &WholeInventory) -> impl Iterator<Item = &InventoryItem> {
    list.iter().flatten()
}

/// Whether it was made for the Service: by its mark, or by its memo where the cloud cannot show marks.
fn is_of(item: &InventoryItem, seen: &Inventories) -> bool {
    let by_memo = !is_unique(item) && item.memo.is_some() && item.memo == seen.memo;
    item.owner.uid.as_ref() == Some(&seen.uid) || by_memo
}

/// Whether its mark can be relied on: one by a name is only ever told of.
fn is_unique(item: &InventoryItem) -> bool {
    item.proof == Proof::Unique
}

/// Sorted by the names of their objects: the cloud's order may differ from list to list.
fn revisions(list: &WholeInventory, seen: &Inventories) -> Vec<Option<String>> {
    let mut own: Vec<_> = items(list).filter(|it| is_of(it, seen)).collect();
    own.sort_by(|one, other| one.cloud_object.cmp(&other.cloud_object));
    own.into_iter().map(|it| it.revision.clone()).collect()
}
