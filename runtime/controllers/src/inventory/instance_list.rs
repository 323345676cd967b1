//! The machines that one list holds, and which of them stands behind a node.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Instance};
use tokio::time::Instant;

use crate::error::{self, Pause, back_off};
use crate::last_list::CloudList;

/// The longest time for which a failed list is not tried again, unless the cloud asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most zones that are told apart: more than any cloud has.
const ZONES: usize = 256;

/// The machines that one list holds.
#[derive(Debug)]
pub(crate) struct InstanceList {
    instances: Vec<Instance>,
    /// When it was begun: what it holds was so then or later.
    pub(crate) began: Instant,
    /// How many pages it had, each a call.
    pub(super) pages: usize,
    /// Where machines may be missing.
    gaps: Gaps,
    /// Positions in `instances`, sorted by provider id and by name: eight bytes for each machine, and no text twice.
    by_provider_id: Vec<usize>,
    by_name: Vec<usize>,
    /// Positions in `instances` by provider ids of nodes that are other spellings of the machines'.
    spelled: HashMap<String, Vec<usize>>,
}

/// Where machines may be missing in a list, and why.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Gaps {
    /// Why any may be missing.
    anywhere: Option<String>,
    /// Why those of a zone may be missing.
    zones: BTreeMap<String, String>,
}

/// The entry of a list for a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Match<'a> {
    /// This machine stands behind it.
    One(&'a Instance),
    /// No machine of the list does.
    Nothing,
    /// Several machines could.
    Several(&'a Instance, &'a Instance),
}

impl CloudList for InstanceList {
    const NAME: &'static str = "machines";

    fn began(&self) -> Instant {
        self.began
    }

    fn pause(failures: u32, error: &Error) -> Duration {
        match error::pause(failures, error) {
            Pause::Exactly(pause) => pause,
            Pause::AtLeast(_) => back_off(failures).min(LONGEST_PAUSE),
        }
    }
}

impl InstanceList {
    pub(crate) fn new(instances: Vec<Instance>, gaps: Gaps, began: Instant, pages: usize) -> Self {
        let mut by_provider_id: Vec<_> =
            (0..instances.len()).filter(|nth| instances[*nth].provider_id.is_some()).collect();
        // Stable, so that machines with one provider id or name stay in the cloud's order.
        by_provider_id.sort_by(|a, b| instances[*a].provider_id.cmp(&instances[*b].provider_id));
        let mut by_name: Vec<_> = (0..instances.len()).collect();
        by_name.sort_by(|a, b| instances[*a].name.cmp(&instances[*b].name));
        Self { instances, began, pages, gaps, by_provider_id, by_name, spelled: HashMap::new() }
    }

    /// Whether no machine can be missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.gaps == Gaps::default()
    }

    /// Why a machine of this zone may be missing; `None` if it cannot. A machine whose zone is not known may be in any.
    pub(crate) fn gap(&self, zone: Option<&str>) -> Option<&str> {
        self.gaps.of(zone)
    }

    /// Whether one of the machines has this provider id, byte for byte.
    pub(super) fn has(&self, provider_id: &str) -> bool {
        self.identified(provider_id).next().is_some()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.instances.len()
    }

    /// The machines' provider ids.
    pub(super) fn provider_ids(&self) -> impl Iterator<Item = &str> {
        self.by_provider_id.iter().filter_map(|it| self.instances[*it].provider_id.as_deref())
    }

    /// Knows that these provider ids of nodes are other spellings: each with the word that it shares with a machine's.
    pub(super) fn spell<'a>(
        &mut self,
        nodes: impl IntoIterator<Item = (&'a str, Arc<str>)>,
        machines: &HashMap<String, Arc<str>>,
    ) {
        let mut by_word: HashMap<&str, Vec<usize>> = HashMap::new();
        for place in &self.by_provider_id {
            let id = self.instances[*place].provider_id.as_ref();
            if let Some(word) = id.and_then(|it| machines.get(it)) {
                by_word.entry(word).or_default().push(*place);
            }
        }
        let spelled = nodes.into_iter().filter_map(|(id, word)| Some((id.to_owned(), by_word.get(&*word)?.clone())));
        self.spelled = spelled.collect();
    }

    /// The machine behind a node: the one with its provider id; for a node without one, the one with its name, and
    /// then the one that has its name among its addresses.
    pub(super) fn find(&self, node: &cloud_provider::Node) -> Match<'_> {
        let Some(provider_id) = &node.provider_id else {
            return match one(self.named(&node.name)) {
                // Few nodes come this far, so there is no index of addresses.
                Match::Nothing => {
                    one(self.instances.iter().filter(|it| it.addresses.iter().any(|it| it.value == node.name)))
                }
                found => found,
            };
        };
        match one(self.identified(provider_id)) {
            // A machine with another provider id is another machine, whatever its name is.
            Match::Nothing => one(self.named(&node.name).filter(|it| it.provider_id.is_none())),
            found => found,
        }
    }

    /// Whether one of the machines has this provider id, or, in a cloud without provider ids, this name.
    pub(crate) fn knows(&self, provider_id: &str, name: &str) -> bool {
        self.identified(provider_id).next().is_some() || self.named(name).any(|it| it.provider_id.is_none())
    }

    /// Those with this provider id, and those with another spelling of it.
    fn identified(&self, provider_id: &str) -> impl Iterator<Item = &Instance> {
        let spelled = self.spelled.get(provider_id).into_iter().flatten().map(|it| &self.instances[*it]);
        self.equal(&self.by_provider_id, move |it| it.provider_id.as_deref().unwrap_or_default().cmp(provider_id))
            .chain(spelled)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Instance> {
        self.equal(&self.by_name, move |it| it.name.as_str().cmp(name))
    }

    /// Those of the sorted `positions` that compare as equal.
    fn equal<'a>(
        &'a self,
        positions: &'a [usize],
        compare: impl Fn(&Instance) -> Ordering,
    ) -> impl Iterator<Item = &'a Instance> {
        let of = |nth: &usize| &self.instances[*nth];
        let start = positions.partition_point(|it| compare(of(it)) == Ordering::Less);
        let length = positions[start..].partition_point(|it| compare(of(it)) == Ordering::Equal);
        positions[start..start + length].iter().map(of)
    }
}

impl Gaps {
    /// Any machine may be missing, for this reason: the first one stays.
    pub(super) fn anywhere(&mut self, because: String) {
        self.anywhere.get_or_insert(because);
    }

    /// Any machine may be missing, for this reason and no other.
    pub(super) fn cut(&mut self, because: String) {
        self.anywhere = Some(because);
    }

    /// Machines of this zone may be missing, for this reason: the first one stays.
    pub(super) fn zone(&mut self, zone: String, because: &str) {
        if self.zones.len() >= ZONES && !self.zones.contains_key(&zone) {
            return self.anywhere(format!("machines of more than {ZONES} zones may be missing"));
        }
        let text = format!("zone {zone}: {because}");
        self.zones.entry(zone).or_insert(text);
    }

    fn of(&self, zone: Option<&str>) -> Option<&str> {
        let in_zone = || match zone {
            Some(zone) => self.zones.get(zone),
            None => self.zones.values().next(),
        };
        self.anywhere.as_ref().or_else(in_zone).map(String::as_str)
    }
}

fn one<'a>(mut candidates: impl Iterator<Item = &'a Instance>) -> Match<'a> {
    match (candidates.next(), candidates.next()) {
        (None, _) => Match::Nothing,
        (Some(one), None) => Match::One(one),
        (Some(one), Some(other)) => Match::Several(one, other),
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Address, AddressKind, State};

    use super::*;

    fn instance(name: &str, provider_id: Option<&str>, addresses: &[&str]) -> Instance {
        let address = |it: &&str| Address { kind: AddressKind::InternalDns, value: (*it).to_owned() };
        Instance {
            name: name.to_owned(),
            provider_id: provider_id.map(str::to_owned),
            state: State::Running,
            machine_type: None,
            zone: None,
            region: None,
            addresses: addresses.iter().map(address).collect(),
            labels: Vec::new(),
            ..Instance::default()
        }
    }

    /// Which machine is found for a node: its index, or both.
    #[track_caller]
    fn check(node: (&str, Option<&str>), machines: &[Instance], expected: &[usize]) {
        let list = InstanceList::new(machines.to_vec(), Gaps::default(), Instant::now(), 1);
        let node = cloud_provider::Node {
            name: node.0.to_owned(),
            provider_id: node.1.map(str::to_owned),
            ..cloud_provider::Node::default()
        };
        let found: Vec<_> = match list.find(&node) {
            Match::Nothing => Vec::new(),
            Match::One(one) => vec![one.clone()],
            Match::Several(one, other) => vec![one.clone(), other.clone()],
        };
        let expected: Vec<_> = expected.iter().map(|nth| machines[*nth].clone()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_node_with_a_provider_id_is_its_machine_and_no_other() {
        let machines = [instance("n1", Some("x://2"), &[]), instance("renamed", Some("x://1"), &["n1"])];
        check(("n1", Some("x://1")), &machines, &[1]);
        check(("n1", Some("x://3")), &machines, &[]);
    }

    #[test]
    fn a_cloud_without_provider_ids_is_matched_by_name() {
        check(("n1", Some("x://1")), &[instance("n1", None, &[])], &[0]);
    }

    #[test]
    fn without_a_provider_id_name_and_then_address_match() {
        let machines = [instance("a", Some("x://1"), &["n1", "n1"]), instance("n1", Some("x://2"), &[])];
        check(("n1", None), &machines, &[1]);
        check(("n1", None), &machines[..1], &[0]);
        check(("n2", None), &machines, &[]);
    }

    #[test]
    fn a_gap_of_one_zone_leaves_other_zones_complete() {
        let mut gaps = Gaps::default();
        assert_eq!((gaps.of(None), gaps.of(Some("a"))), (None, None));
        gaps.zone("b".to_owned(), "it did not answer");
        let because = Some("zone b: it did not answer");
        assert_eq!((gaps.of(Some("a")), gaps.of(Some("b")), gaps.of(None)), (None, because, because));
        gaps.anywhere("a warning".to_owned());
        assert_eq!((gaps.of(Some("a")), gaps.of(None)), (Some("a warning"), Some("a warning")));
        let mut many = Gaps::default();
        (0..=ZONES).for_each(|it| many.zone(it.to_string(), "silent"));
        assert!(many.of(Some("other")).is_some(), "more zones than are told apart");
    }

    #[test]
    fn another_spelling_of_a_provider_id_finds_its_machine() {
        let machines = [instance("a", Some("x://1"), &[]), instance("b", Some("x://2"), &[])];
        let mut list = InstanceList::new(machines.to_vec(), Gaps::default(), Instant::now(), 1);
        let word = |it: &str| Arc::from(it);
        let words = [("x://1".to_owned(), word("1")), ("x://2".to_owned(), word("2"))].into();
        list.spell([("X://2", word("2")), ("X://3", word("3"))], &words);
        let node =
            |id: &str| cloud_provider::Node { provider_id: Some(id.to_owned()), ..cloud_provider::Node::default() };
        assert_eq!(list.find(&node("X://2")), Match::One(&machines[1]));
        assert_eq!(list.find(&node("X://3")), Match::Nothing);
        assert!(list.knows("X://2", "") && !list.has("X://1"));
    }

    #[test]
    fn two_machines_for_one_node_are_both_named() {
        let twins = [instance("n1", Some("x://1"), &[]), instance("n1", Some("x://2"), &[])];
        check(("n1", None), &twins, &[0, 1]);
        let neighbours = [instance("a", Some("x://1"), &["n1"]), instance("b", Some("x://2"), &["n1"])];
        check(("n1", None), &neighbours, &[0, 1]);
        let same = [instance("a", Some("x://1"), &[]), instance("b", Some("x://1"), &[])];
        check(("n1", Some("x://1")), &same, &[0, 1]);
    }
}
