//! Index over all nodes together: those that wait, and those with one provider id.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;

use crate::node_object::KubeNode;
use cloud_provider::Instance;
use kube::ResourceExt;
use tokio::time::Instant;

use crate::node_fields::{is_waiting, provider_id};
use crate::nodes::addresses::one;

/// The moments of so many nodes that came last are kept.
const LATEST: usize = 2;

/// Nodes that wait to be initialised, and the holders of each provider id.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By name.
    waiting: HashMap<String, WaitingNode>,
    /// How many of them came at each moment.
    came: BTreeMap<Instant, usize>,
    /// When the last [`LATEST`] nodes came that waited, the newest at the end.
    latest: VecDeque<Instant>,
    /// Names by provider id, sorted: several if several nodes say that they are the same instance. Of several spellings
    /// of one instance's id, all names stand under one.
    claimants: HashMap<String, Vec<String>>,
    /// Provider id by name.
    held: HashMap<String, String>,
    /// The spelling under which the names of a provider id's nodes stand in `claimants`, if it is another.
    spellings: HashMap<String, String>,
}

/// A node that waits to be initialised.
#[derive(Clone, Debug)]
struct WaitingNode {
    uid: Option<String>,
    /// When this process saw first that it waits: its machine exists from then on at the latest.
    since: Instant,
    /// Whether it has had a turn.
    had_turn: bool,
}

/// A turn of a node that waits to be initialised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Turn {
    /// Since when it waits: when this process saw it first.
    pub(crate) came: Instant,
    /// Whether it has had none before.
    pub(crate) is_first: bool,
}

/// Whether an instance is a node's, if other nodes may have its provider id too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum OwnershipVerdict {
    /// It is this node's, and not that of these others with its provider id.
    Its(Vec<String>),
    /// It is this other node's.
    Anothers(String),
    /// Nothing that the cloud says proves whose it is: the node's, or that of one of these others.
    Nobodys(Vec<String>),
}

impl Index {
    /// The index of these nodes, after `before`: who waited then and still does has waited since then.
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a KubeNode>, before: &Self, now: Instant) -> Self {
        let Self { waiting, came, latest, spellings, .. } = before;
        let (waiting, came, latest) = (waiting.clone(), came.clone(), latest.clone());
        let mut index = Self { waiting, came, latest, spellings: spellings.clone(), ..Self::default() };
        let mut names = HashSet::new();
        for node in nodes {
            names.insert(node.name_any());
            index.apply(node, now);
        }
        let gone: Vec<_> = index.waiting.keys().filter(|it| !names.contains(*it)).cloned().collect();
        gone.iter().for_each(|it| index.end_wait(it));
        let held: HashSet<_> = index.held.values().collect();
        index.spellings.retain(|provider_id, _| held.contains(provider_id));
        index
    }

    /// Takes note of a node. Returns the names of nodes that have, without it now, the provider id that it had before.
    pub(super) fn apply(&mut self, node: &KubeNode, now: Instant) -> Vec<String> {
        let name = node.name_any();
        let mut left = Vec::new();
        if let Some(provider_id) = provider_id(node)
            && self.held.get(&name).is_none_or(|it| it != provider_id)
        {
            left = self.forget(&name);
            self.insert(provider_id, &name);
        }
        if is_waiting(node) {
            let uid = &node.metadata.uid;
            if self.waiting.get(&name).is_none_or(|it| it.uid != *uid) {
                self.end_wait(&name);
                self.waiting.insert(name, WaitingNode { uid: uid.clone(), since: now, had_turn: false });
                *self.came.entry(now).or_default() += 1;
                self.latest.push_back(now);
                if self.latest.len() > LATEST {
                    self.latest.pop_front();
                }
            }
        } else {
            self.end_wait(&name);
        }
        left
    }

    fn end_wait(&mut self, name: &str) {
        let Some(WaitingNode { since, .. }) = self.waiting.remove(name) else { return };
        if let Entry::Occupied(mut count) = self.came.entry(since) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Forgets a node. Returns the names of nodes that have its provider id now without it.
    pub(super) fn delete(&mut self, name: &str) -> Vec<String> {
        self.end_wait(name);
        self.forget(name)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many of those that wait came after this moment.
    pub(super) fn waiting_since(&self, moment: Instant) -> usize {
        self.came.range((Bound::Excluded(moment), Bound::Unbounded)).map(|(_, count)| count).sum()
    }

    pub(super) fn waiting_names(&self) -> impl Iterator<Item = &str> {
        self.waiting.keys().map(String::as_str)
    }

    /// A turn of this node. One that is not known to wait has just come.
    pub(super) fn turn(&mut self, node: &KubeNode, now: Instant) -> Turn {
        let waiting = node.metadata.name.as_deref().and_then(|it| self.waiting.get_mut(it));
        match waiting.filter(|it| it.uid == node.metadata.uid) {
            Some(it) => Turn { came: it.since, is_first: !std::mem::replace(&mut it.had_turn, true) },
            None => Turn { came: now, is_first: true },
        }
    }

    /// When a node came last that waited.
    pub(super) fn last_came(&self) -> Option<Instant> {
        self.latest.back().copied()
    }

    /// How many nodes came after this moment, those that wait no longer among them: [`LATEST`] at most.
    pub(super) fn came_since(&self, moment: Instant) -> usize {
        self.latest.iter().filter(|it| **it > moment).count()
    }

    /// The only node with this provider id.
    #[cfg(test)]
    pub(super) fn holder(&self, provider_id: &str) -> Option<&str> {
        match self.claimants(provider_id) {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The nodes with this provider id, in any spelling that is known.
    pub(super) fn claimants(&self, provider_id: &str) -> &[String] {
        self.claimants.get(self.common(provider_id)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Knows from now on that a node's provider id is another spelling of this instance's.
    pub(super) fn spell(&mut self, provider_id: &str, instance: &str) {
        let (before, common) = (self.common(provider_id).to_owned(), self.common(instance).to_owned());
        if before == common {
            return;
        }
        // All that stood together goes on to do so.
        for name in self.claimants.remove(&before).unwrap_or_default() {
            if let Some(held) = self.held.get(&name).filter(|it| **it != common) {
                self.spellings.insert(held.clone(), common.clone());
            }
            self.add_claimant(&common, &name);
        }
    }

    /// The spelling under which the names of nodes with this provider id stand.
    fn common<'a>(&'a self, provider_id: &'a str) -> &'a str {
        self.spellings.get(provider_id).map_or(provider_id, String::as_str)
    }

    /// Whether this instance, which has the provider id, is the node's with this name.
    pub(super) fn verdict(&self, provider_id: &str, name: &str, instance: &Instance) -> OwnershipVerdict {
        let others = || self.claimants(provider_id).iter().filter(|it| *it != name);
        // Whoever has the instance's name and waits is about to ask for it too, and must not come too late.
        let waits = self.waiting.get_key_value(&instance.name).map(|(it, _)| it);
        let waits = waits.filter(|it| *it != name && others().all(|other| other != *it));
        match proven(instance, others().chain(waits).map(String::as_str).chain([name])) {
            Some(proven) if proven == name => OwnershipVerdict::Its(others().cloned().collect()),
            Some(proven) => OwnershipVerdict::Anothers(proven.to_owned()),
            None => OwnershipVerdict::Nobodys(others().cloned().collect()),
        }
    }

    /// Sets a provider id aside for a node that is about to get it. Returns whether the instance is this node's.
    pub(super) fn claim(&mut self, provider_id: &str, name: &str, instance: &Instance) -> bool {
        let its = matches!(self.verdict(provider_id, name, instance), OwnershipVerdict::Its(_));
        if its {
            self.forget(name);
            self.insert(provider_id, name);
        }
        its
    }

    pub(super) fn release(&mut self, provider_id: &str, name: &str) {
        if self.held.get(name).is_some_and(|it| it == provider_id) {
            self.forget(name);
        }
    }

    fn insert(&mut self, provider_id: &str, name: &str) {
        let common = self.common(provider_id).to_owned();
        self.add_claimant(&common, name);
        self.held.insert(name.to_owned(), provider_id.to_owned());
    }

    fn add_claimant(&mut self, common: &str, name: &str) {
        let names = self.claimants.entry(common.to_owned()).or_insert_with(one);
        if let Err(place) = names.binary_search_by(|it| it.as_str().cmp(name)) {
            names.insert(place, name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) -> Vec<String> {
        let Some(provider_id) = self.held.remove(name) else { return Vec::new() };
        let common = self.common(&provider_id).to_owned();
        let Some(names) = self.claimants.get_mut(&common) else { return Vec::new() };
        names.retain(|it| it != name);
        let left = names.clone();
        if left.is_empty() {
            self.claimants.remove(&common);
        }
        if !left.iter().any(|it| self.held.get(it) == Some(&provider_id)) {
            self.spellings.remove(&provider_id);
        }
        left
    }
}

/// Which of these nodes the instance is: the only one, or the only one that its name in the cloud proves, or else one of
/// its addresses there. What nodes say of themselves proves nothing.
fn proven<'a>(instance: &Instance, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if names.clone().count() == 1 {
        return names.clone().next();
    }
    let by_name = |it: &&str| *it == instance.name;
    let by_address = |it: &&str| instance.addresses.iter().any(|address| address.value == **it);
    let only = |mut them: Vec<&'a str>| if them.len() == 1 { them.pop() } else { None };
    only(names.clone().filter(by_name).collect()).or_else(|| only(names.filter(by_address).collect()))
}

#[cfg(test)]
mod tests {
    use crate::node_object::NodeSpec;
    use cloud_provider::{Address, AddressKind, State};
    use k8s_openapi::api::core::v1::Taint;

    use super::*;

    fn node(name: &str, provider_id: Option<&str>, tainted: bool) -> KubeNode {
        let taint = Taint { key: crate::node_fields::UNINITIALIZED.into(), ..Taint::default() };
        let spec = NodeSpec {
            provider_id: provider_id.map(Into::into),
            taints: tainted.then(|| vec![taint]),
            ..NodeSpec::default()
        };
        let mut node = KubeNode { spec: Some(spec), ..KubeNode::default() };
        node.metadata.name = Some(name.into());
        node
    }

    /// The instance `x://1`, as the cloud answers it.
    fn instance(name: &str, addresses: &[&str]) -> Instance {
        let address = |it: &&str| Address { kind: AddressKind::InternalDns, value: (*it).to_owned() };
        Instance {
            name: name.into(),
            provider_id: Some("x://1".into()),
            state: State::Running,
            machine_type: None,
            zone: None,
            region: None,
            addresses: addresses.iter().map(address).collect(),
            labels: Vec::new(),
            ..Instance::default()
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|it| (*it).to_owned()).collect()
    }

    fn of<'a>(nodes: impl IntoIterator<Item = &'a KubeNode>) -> Index {
        Index::of(nodes, &Index::default(), Instant::now())
    }

    #[test]
    fn a_node_waits_since_it_was_first_seen() {
        let start = Instant::now();
        let second = |it: u64| start + std::time::Duration::from_secs(it);
        let with_uid = |uid: &str| {
            let mut node = node("a", None, true);
            node.metadata.uid = Some(uid.into());
            node
        };
        let (first, again) = (with_uid("1"), with_uid("2"));
        let index = Index::of([&first], &Index::default(), start);
        let mut index = Index::of([&first], &index, second(1));
        index.apply(&first, second(2));
        assert_eq!(index.turn(&first, second(2)), Turn { came: start, is_first: true });
        assert_eq!(index.turn(&first, second(3)), Turn { came: start, is_first: false });
        assert_eq!(index.last_came(), Some(start));
        assert_eq!([0, 1].map(|it| index.waiting_since(second(it))), [0, 0]);
        index.apply(&again, second(3));
        assert_eq!([0, 2, 3].map(|it| index.waiting_since(second(it))), [1, 1, 0]);
        assert_eq!(index.turn(&first, second(4)), Turn { came: second(4), is_first: true }, "it is another node");
        assert_eq!(index.turn(&again, second(4)), Turn { came: second(3), is_first: true });
        assert_eq!(index.last_came(), Some(second(3)));
        index.delete("a");
        assert_eq!([0, 2, 3].map(|it| index.came_since(second(it))), [1, 1, 0], "it came, though it waits no longer");
        let none = Index::of([], &index, second(4));
        assert_eq!((none.waiting(), none.waiting_since(start), none.came.len()), (0, 0, 0));
    }

    #[test]
    fn tainted_nodes_wait_until_they_are_not_or_are_gone() {
        let mut index = of(&[node("a", None, true), node("b", None, true), node("c", Some("x://c"), false)]);
        assert_eq!(index.waiting(), 2);
        index.apply(&node("a", Some("x://a"), false), Instant::now());
        assert_eq!(index.waiting(), 1);
        index.delete("b");
        assert_eq!(index.waiting(), 0);
    }

    #[test]
    fn spellings_of_one_id_have_their_claimants_together() {
        let ids = [("a", "x://1"), ("b", "X://1"), ("c", "x://2"), ("d", "X://1/")];
        let mut index = of(&ids.map(|(name, id)| node(name, Some(id), false)));
        index.spell("X://9", "x://9");
        assert_eq!(index.spellings.len(), 0, "no node has it");
        index.spell("X://1", "x://1");
        index.spell("X://1/", "X://1");
        for id in ["x://1", "X://1", "X://1/"] {
            assert_eq!(index.claimants(id), ["a", "b", "d"], "{id}");
        }
        let instance = instance("b", &[]);
        assert_eq!(index.verdict("x://1", "a", &instance), OwnershipVerdict::Anothers("b".into()));
        assert_eq!(index.verdict("X://1", "b", &instance), OwnershipVerdict::Its(names(&["a", "d"])));
        let mut again = Index::of(
            &ids[1..].iter().map(|(name, id)| node(name, Some(id), false)).collect::<Vec<_>>(),
            &index,
            Instant::now(),
        );
        assert_eq!(again.claimants("x://1"), ["b", "d"], "what is known stays known");
        assert_eq!(again.delete("b"), ["d"], "it is alone now");
        assert!(again.delete("d").is_empty());
        assert_eq!((again.spellings.len(), again.claimants("x://1")), (0, [].as_slice()));
    }

    #[test]
    fn a_provider_id_has_one_holder() {
        let mut index = of(&[node("a", Some("x://1"), false)]);
        let named_a = instance("a", &[]);
        assert_eq!(index.holder("x://1"), Some("a"));
        assert!(!index.claim("x://1", "b", &named_a));
        assert!(index.claim("x://1", "a", &named_a));
        assert!(index.delete("a").is_empty());
        assert_eq!(index.holder("x://1"), None);
        assert!(index.claim("x://1", "b", &named_a), "nobody else is there");
        index.release("x://1", "a");
        assert_eq!(index.holder("x://1"), Some("b"), "a claim is released by its holder alone");
        index.release("x://1", "b");
        assert_eq!(index.holder("x://1"), None);
    }

    #[test]
    fn adv_111_one_of_two_nodes_is_proven_by_the_clouds_own_words() {
        let both = [node("a", Some("x://1"), false), node("b", Some("x://1"), false)];
        for nodes in [&both, &{
            let [a, b] = both.clone();
            [b, a]
        }] {
            let index = of(nodes);
            assert_eq!(index.holder("x://1"), None, "neither order makes one of them the holder");
            for (instance, a, b) in [
                (instance("b", &[]), OwnershipVerdict::Anothers("b".into()), OwnershipVerdict::Its(names(&["a"]))),
                (instance("a", &["b"]), OwnershipVerdict::Its(names(&["b"])), OwnershipVerdict::Anothers("a".into())),
                (instance("web", &["b"]), OwnershipVerdict::Anothers("b".into()), OwnershipVerdict::Its(names(&["a"]))),
                (
                    instance("web", &["a", "b"]),
                    OwnershipVerdict::Nobodys(names(&["b"])),
                    OwnershipVerdict::Nobodys(names(&["a"])),
                ),
                (
                    instance("web", &[]),
                    OwnershipVerdict::Nobodys(names(&["b"])),
                    OwnershipVerdict::Nobodys(names(&["a"])),
                ),
            ] {
                assert_eq!(index.verdict("x://1", "a", &instance), a, "{instance:?}");
                assert_eq!(index.verdict("x://1", "b", &instance), b, "{instance:?}");
            }
        }
    }

    #[test]
    fn adv_111_a_joining_node_takes_its_instance_back() {
        let mut index = of(&[node("a", Some("x://1"), false), node("b", None, true)]);
        assert!(!index.claim("x://1", "b", &instance("web", &[])), "nothing proves it");
        assert!(index.claim("x://1", "b", &instance("b", &[])));
        assert_eq!(index.claimants("x://1"), ["a", "b"]);
        index.release("x://1", "b");
        assert_eq!(index.holder("x://1"), Some("a"));
    }

    #[test]
    fn adv_111_an_instance_waits_for_the_node_of_its_name() {
        let mut index = of(&[node("a", None, true), node("b", None, true)]);
        assert!(!index.claim("x://1", "a", &instance("b", &["a"])), "node b waits, and is about to ask for it");
        assert!(index.claim("x://1", "b", &instance("b", &["a"])));
        index.delete("b");
        assert!(index.claim("x://1", "a", &instance("b", &["a"])), "no node has its name any more");
    }

    #[test]
    fn a_provider_id_that_is_given_up_goes_to_the_others() {
        let mut index = of(&["a", "b"].map(|it| node(it, Some("x://1"), false)));
        assert_eq!(index.apply(&node("a", Some("x://2"), false), Instant::now()), ["b"]);
        assert_eq!(index.holder("x://1"), Some("b"));
        index.apply(&node("a", Some("x://1"), false), Instant::now());
        assert_eq!(index.delete("b"), ["a"]);
        assert_eq!(index.holder("x://1"), Some("a"));
    }
}
