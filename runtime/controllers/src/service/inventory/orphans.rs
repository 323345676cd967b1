//! What is in the cloud for Services that do not exist: what is told of it, and what may be deleted. No client, no clock, no
//! log; times are arguments.

use std::collections::{HashMap, HashSet};

use cloud_provider::{InventoryItem, InventoryState, MarkedOwner, Proof};
use tokio::time::Instant;

use crate::freshness::{AnyTime, ORPHAN};
use crate::service::inventory::Options;
use crate::service::inventory::snapshot::Snapshot;

/// An orphan is told of after this part of the time after which it may be deleted.
const TOLD: u32 = 6;

/// Who may have a load balancer: all Services, of whatever type, and those that are still remembered.
#[derive(Debug, Default)]
pub(crate) struct Living {
    pub(crate) uids: HashSet<String>,
    pub(crate) memos: HashSet<String>,
}

/// The orphans of the complete lists so far.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    known: HashMap<String, Orphan>,
    kept: HashSet<String>,
    deleted: Option<Instant>,
}

#[derive(Debug)]
struct Orphan {
    item: InventoryItem,
    /// Whether another item has its memo.
    is_ambiguous: bool,
    /// When a list first showed it as one. Each complete list since then has.
    since: Instant,
    is_told: bool,
}

impl Orphans {
    /// Takes note of a list. What is kept is no orphan, nor is what else was made for the same Service. Returns what is to be
    /// told of now, each once: orphans, and what no Service has and is kept.
    pub(crate) fn look(&mut self, list: &Snapshot, living: &Living, options: Options) -> Vec<InventoryItem> {
        // A cluster without any Service may be one that is not read right.
        if list.incomplete.is_some() || living.uids.is_empty() {
            return Vec::new();
        }
        let keepers: HashSet<_> =
            list.items().iter().filter(|it| it.kept.is_some()).filter_map(|it| whose(&it.owner)).collect();
        let (mut known, mut kept) = (HashMap::new(), HashSet::new());
        let mut news = Vec::new();
        for item in list.items().iter().filter(|it| is_nobodys(it, living)) {
            if item.kept.is_some() {
                if !self.kept.contains(&key(item)) {
                    news.push(item.clone());
                }
                kept.insert(key(item));
                continue;
            }
            if whose(&item.owner).is_some_and(|it| keepers.contains(&it)) {
                continue;
            }
            let before = self.known.get(&key(item));
            let since = before.map_or(list.began, |it| it.since);
            let was_told = before.is_some_and(|it| it.is_told);
            let is_told = was_told || list.began.saturating_duration_since(since) >= options.orphan_age / TOLD;
            if is_told && !was_told {
                news.push(item.clone());
            }
            let is_ambiguous = item.memo.as_deref().is_some_and(|it| list.is_ambiguous(it));
            known.insert(key(item), Orphan { item: item.clone(), is_ambiguous, since, is_told });
        }
        (self.known, self.kept) = (known, kept);
        news
    }

    /// How many nobody has that are kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// How many there are with this proof, of those that were told of.
    pub(crate) fn count(&self, proof: Proof) -> usize {
        self.known.values().filter(|it| it.is_told && it.item.proof == proof).count()
    }

    /// The oldest one that may be deleted now, as far as the lists up to this one tell.
    pub(crate) fn due(&self, list: &Snapshot, options: Options, now: Instant) -> Option<&InventoryItem> {
        let listed = list.began;
        if list.incomplete.is_some() || !ORPHAN.since(AnyTime).allows(listed, now) {
            return None;
        }
        if self.deleted.is_some_and(|it| listed.saturating_duration_since(it) < options.orphan_pause) {
            return None;
        }
        let old = self.known.values().filter(|known| {
            known.is_told
                && !known.is_ambiguous
                && known.item.proof == Proof::Unique
                && known.item.owner.uid.is_some()
                && known.item.owner.cluster_uid.is_some()
                && known.item.memo.is_some()
                && known.item.state != InventoryState::Changing
                && listed.saturating_duration_since(known.since) >= options.orphan_age
        });
        old.min_by_key(|it| it.since).map(|it| &it.item)
    }

    /// One is about to be deleted. Should it still be listed, it has to become one again.
    pub(crate) fn delete(&mut self, item: &InventoryItem, now: Instant) {
        self.deleted = Some(now);
        self.known.remove(&key(item));
    }
}

/// Whether nobody is there for whom it was made.
fn is_nobodys(item: &InventoryItem, living: &Living) -> bool {
    if item.memo.as_ref().is_some_and(|it| living.memos.contains(it)) {
        return false;
    }
    match &item.owner.uid {
        Some(uid) => !living.uids.contains(uid),
        // It says for nobody: whoever has it has its memo.
        None => item.memo.is_some(),
    }
}

/// The Service that a mark names: by its UID, or else by its names.
fn whose(owner: &MarkedOwner) -> Option<(&str, &str)> {
    let names = || Some((owner.namespace.as_deref()?, owner.name.as_deref()?));
    owner.uid.as_deref().map(|it| ("", it)).or_else(names)
}

fn key(item: &InventoryItem) -> String {
    format!("{} {}", item.cloud_object, item.memo.as_deref().unwrap_or_default())
}

/// Whose it was, for a person.
pub(crate) fn owner(item: &InventoryItem) -> String {
    let owner = &item.owner;
    match (&owner.namespace, &owner.name, &owner.uid) {
        (Some(namespace), Some(name), Some(uid)) => format!("Service {namespace}/{name} with the UID {uid}"),
        (_, _, Some(uid)) => format!("a Service with the UID {uid}"),
        (Some(namespace), Some(name), None) => format!("Service {namespace}/{name}"),
        (_, _, None) => "a Service that its mark does not name".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::service::inventory::snapshot::tests::{incomplete, item, snapshot};

    const HOUR: Duration = Duration::from_secs(3600);
    const OPTIONS: Options = Options {
        resync_period: Duration::from_secs(300),
        delete_orphans: true,
        orphan_age: HOUR,
        orphan_pause: Duration::from_secs(600),
    };

    fn orphan(memo: &str) -> InventoryItem {
        let owner = MarkedOwner {
            cluster_uid: Some("cluster".to_owned()),
            uid: Some(format!("uid of {memo}")),
            ..MarkedOwner::default()
        };
        InventoryItem { owner, ..item(memo, None) }
    }

    fn living(uids: &[&str], memos: &[&str]) -> Living {
        let set = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
        Living { uids: set(uids), memos: set(memos) }
    }

    /// The one that may be deleted by a complete list that began just now.
    fn due_at(orphans: &Orphans, now: Instant) -> Option<&InventoryItem> {
        orphans.due(&snapshot(Vec::new(), now), OPTIONS, now)
    }

    /// Whether an orphan of an hour goes by a list that began at `asked`.
    pub(crate) fn deletes(asked: Instant, now: Instant) -> bool {
        let (mut orphans, living) = (Orphans::default(), living(&["uid of another"], &[]));
        orphans.look(&snapshot(vec![orphan("a")], asked), &living, OPTIONS);
        let list = snapshot(vec![orphan("a")], asked + HOUR);
        orphans.look(&list, &living, OPTIONS);
        let cut = incomplete(vec![orphan("a")], "cut", list.began);
        assert_eq!(orphans.due(&cut, OPTIONS, now + HOUR), None, "it may lack what names a Service");
        orphans.due(&list, OPTIONS, now + HOUR).is_some()
    }

    /// What may be deleted after two lists that are so far apart.
    fn due(items: Vec<InventoryItem>, apart: Duration) -> Option<String> {
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let living = living(&["uid of another"], &[]);
        orphans.look(&snapshot(items.clone(), start), &living, OPTIONS);
        orphans.look(&snapshot(items, start + apart), &living, OPTIONS);
        due_at(&orphans, start + apart).and_then(|it| it.memo.clone())
    }

    #[test]
    fn an_orphan_is_told_of_once_and_counted() {
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let living = living(&["uid of b"], &["c"]);
        let items =
            || vec![orphan("a"), orphan("b"), orphan("c"), InventoryItem { proof: Proof::ByName, ..item("d", None) }];
        let mut told = |after: u64| {
            let told = orphans.look(&snapshot(items(), start + Duration::from_secs(after)), &living, OPTIONS);
            told.into_iter().filter_map(|it| it.memo).collect::<Vec<_>>()
        };
        assert_eq!((told(0), told(599), told(600), told(900)), (vec![], vec![], vec!["a".into(), "d".into()], vec![]));
        assert_eq!((orphans.count(Proof::Unique), orphans.count(Proof::ByName)), (1, 1));
    }

    #[test]
    fn an_orphan_may_be_deleted_after_an_hour() {
        assert_eq!(due(vec![orphan("a")], HOUR), Some("a".to_owned()));
        assert_eq!(due(vec![orphan("a")], HOUR - Duration::from_secs(1)), None);
    }

    #[test]
    fn an_orphan_without_proof_is_never_deleted() {
        let without = |change: fn(&mut InventoryItem)| {
            let mut item = orphan("a");
            change(&mut item);
            due(vec![item], 10 * HOUR)
        };
        assert_eq!(without(|it| it.proof = Proof::ByName), None);
        assert_eq!(without(|it| it.owner.uid = None), None);
        assert_eq!(without(|it| it.owner.cluster_uid = None), None);
        assert_eq!(without(|it| it.memo = None), None);
        assert_eq!(without(|it| it.state = InventoryState::Changing), None);
        let twin = InventoryItem { cloud_object: "another".to_owned(), ..orphan("a") };
        assert_eq!(due(vec![orphan("a"), twin], 10 * HOUR), None, "two have one memo");
    }

    #[test]
    fn adv_171_a_kept_load_balancer_and_its_parts_are_no_orphans() {
        let kept = |memo: &str| InventoryItem { kept: Some("it is protected".to_owned()), ..orphan(memo) };
        let part = InventoryItem { owner: orphan("a").owner, ..orphan("part of a") };
        let named = |memo: &str, name: &str| {
            let owner =
                MarkedOwner { namespace: Some("default".into()), name: Some(name.into()), ..MarkedOwner::default() };
            InventoryItem { owner, proof: Proof::ByName, ..item(memo, None) }
        };
        let kept_by_name = InventoryItem { kept: Some("it is protected".to_owned()), ..named("n", "web") };
        let items = vec![part, kept("a"), kept("of another"), kept_by_name, named("part of n", "web"), orphan("b")];
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let living = living(&["uid of of another"], &[]);
        let mut look = |hours: u32| {
            let list = snapshot(items.clone(), start + HOUR * hours);
            let news = orphans.look(&list, &living, OPTIONS);
            let (kept, found): (Vec<_>, Vec<_>) = news.into_iter().partition(|it| it.kept.is_some());
            let memos = |items: Vec<InventoryItem>| items.into_iter().filter_map(|it| it.memo).collect::<Vec<_>>();
            let due = orphans.due(&list, OPTIONS, list.began).and_then(|it| it.memo.clone());
            (memos(found), memos(kept), orphans.kept(), due)
        };
        assert_eq!(look(0), (vec![], vec!["a".into(), "n".into()], 2, None), "and a Service has what is of another");
        assert_eq!(look(1), (vec!["b".into()], vec![], 2, Some("b".into())));
        // It is kept no more: what it is from now on, it has to be for as long as any other.
        let taken = vec![orphan("a")];
        orphans.look(&snapshot(taken.clone(), start + HOUR * 2), &living, OPTIONS);
        assert_eq!((due_at(&orphans, start + HOUR * 2), orphans.kept()), (None, 0));
        orphans.look(&snapshot(taken, start + HOUR * 3), &living, OPTIONS);
        assert!(due_at(&orphans, start + HOUR * 3).is_some());
    }

    #[test]
    fn an_orphan_must_have_been_one_in_each_complete_list() {
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let none = living(&["uid of another"], &[]);
        let alive = living(&["uid of another", "uid of a"], &[]);
        let mut look = |hours: u32, items: Vec<InventoryItem>, living: &Living| {
            orphans.look(&snapshot(items, start + HOUR * hours), living, OPTIONS);
            due_at(&orphans, start + HOUR * hours).is_some()
        };
        assert!(!look(0, vec![orphan("a")], &none));
        assert!(!look(1, vec![], &none), "it is gone");
        assert!(!look(2, vec![orphan("a")], &none), "and here again");
        assert!(!look(3, vec![orphan("a")], &alive), "its Service is back");
        assert!(!look(4, vec![orphan("a")], &none));
        assert!(look(5, vec![orphan("a")], &none));
    }

    #[test]
    fn nothing_is_an_orphan_of_no_services_or_an_incomplete_list() {
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let (some, none) = (living(&["uid of another"], &[]), Living::default());
        for hours in 0..5 {
            let at = start + HOUR * hours;
            orphans.look(&snapshot(vec![orphan("a")], at), &none, OPTIONS);
            orphans.look(&incomplete(vec![orphan("a")], "cut", at), &some, OPTIONS);
            assert_eq!((due_at(&orphans, at), orphans.count(Proof::Unique)), (None, 0));
        }
    }

    #[test]
    fn one_orphan_goes_in_ten_minutes() {
        let (mut orphans, start) = (Orphans::default(), Instant::now());
        let living = living(&["uid of another"], &[]);
        let minute = |it: u32| start + Duration::from_secs(60) * it;
        let items = vec![orphan("a"), orphan("b")];
        orphans.look(&snapshot(items.clone(), start), &living, OPTIONS);
        orphans.look(&snapshot(items.clone(), minute(60)), &living, OPTIONS);
        let first = due_at(&orphans, minute(60)).unwrap().clone();
        orphans.delete(&first, minute(60));
        orphans.look(&snapshot(items.clone(), minute(69)), &living, OPTIONS);
        assert_eq!(due_at(&orphans, minute(69)), None);
        orphans.look(&snapshot(items, minute(70)), &living, OPTIONS);
        let second = due_at(&orphans, minute(70)).unwrap();
        assert_ne!(first.memo, second.memo, "what is still listed has to become one again");
    }

    #[test]
    fn an_orphan_is_called_by_what_its_mark_says() {
        assert_eq!(owner(&orphan("a")), "a Service with the UID uid of a");
        assert_eq!(owner(&item("a", None)), "a Service that its mark does not name");
    }
}
