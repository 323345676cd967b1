//! Evidence of the cloud itself about the instances behind nodes: the words of a kubelet on its Node prove nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Address, Freshness, Instance};
use tokio::time::Instant;

use crate::freshness::{AskedAfter as _, LastAnswered};
use crate::node_fields::provider_id;
use crate::nodes::addresses::{one, remove};

/// How many times in a row the cloud has to miss an instance before its node counts as one without.
const MISSES: u32 = 2;
/// The least time between two of them: longer than one answer of the cloud may serve two questions.
const APART: Duration = Duration::from_secs(3);

/// One node's instance, as the cloud named it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Confirmed {
    /// The instance's addresses. Empty if the cloud names none.
    pub addresses: Vec<Address>,
    /// The instance's zone.
    pub zone: Option<String>,
    /// The instance's region.
    pub region: Option<String>,
    /// The provider's own pairs, which come back to it with the node.
    pub extra: Vec<(String, String)>,
}

/// The sum of all answers of the cloud about one node's instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Evidence {
    /// No answer has shown anything yet.
    #[default]
    Unknown,
    /// The cloud has named the instance.
    Confirmed(Arc<Confirmed>),
    /// The cloud has no such instance, or it is not this node's. The text is a sentence about the node.
    Refused(Arc<str>),
}

/// An answer of the cloud about one node's instance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstanceAnswer<'a> {
    /// This is it.
    Named(&'a Instance),
    /// Neither a complete list nor a question about it alone has found it.
    Missing,
    /// It is another node's, or nobody knows whose: the sentence says so.
    NotItsOwn(&'a str),
    /// The answer, or the provider id, is wrong: the sentence says how.
    Invalid(&'a str),
}

/// The memory of the answers about one node's instance.
#[derive(Clone, Debug)]
pub(crate) struct InstanceRecord {
    provider_id: String,
    pub(crate) evidence: Evidence,
    /// Where the instance was when the cloud named it last, whatever was answered since.
    pub(super) zone: Option<String>,
    /// When the cloud has missed it, if that was the last answer, and how many times in a row.
    pub(crate) missed: Option<(Instant, u32)>,
    /// When the last answer came.
    pub(crate) at: Instant,
    /// When the newest of the questions began that were answered.
    pub(crate) asked: Instant,
}

/// The answers about the instances of the cluster's nodes.
#[derive(Debug, Default)]
pub(super) struct ConfirmedInstances {
    /// Each in a place of its own, so that free places of the map are small.
    by_node: HashMap<String, Box<InstanceRecord>>,
    /// The nodes whose instances the cloud has named with an address.
    by_address: HashMap<IpAddr, Vec<String>>,
}

impl Evidence {
    /// The addresses with which the cloud has named the instance.
    fn ips(&self) -> impl Iterator<Item = IpAddr> {
        let addresses = match self {
            Self::Confirmed(confirmed) => confirmed.addresses.as_slice(),
            Self::Unknown | Self::Refused(_) => &[],
        };
        addresses.iter().filter_map(|it| Some(it.value.parse::<IpAddr>().ok()?.to_canonical()))
    }
}

impl InstanceRecord {
    fn new(provider_id: &str, asked: Instant, now: Instant) -> Self {
        Self {
            provider_id: provider_id.to_owned(),
            evidence: Evidence::Unknown,
            zone: None,
            missed: None,
            at: now,
            asked,
        }
    }

    /// Takes note of an answer to a question that began at `asked`. Returns whether it shows something else than was
    /// known. An answer to an older question than one that was answered already shows nothing.
    fn record_answer(&mut self, answer: InstanceAnswer<'_>, asked: Instant, now: Instant) -> bool {
        if !LastAnswered(self.asked).bound(Freshness::ANY).allows(asked, now) {
            return false;
        }
        self.asked = asked;
        self.at = now;
        let missed = std::mem::take(&mut self.missed);
        let evidence = match answer {
            InstanceAnswer::Named(instance) => {
                let Instance { addresses, zone, region, extra, .. } = instance;
                if let Evidence::Confirmed(it) = &self.evidence
                    && (&it.addresses, &it.zone, &it.region, &it.extra) == (addresses, zone, region, extra)
                {
                    return false;
                }
                self.zone.clone_from(zone);
                Evidence::Confirmed(Arc::new(Confirmed {
                    addresses: addresses.clone(),
                    zone: zone.clone(),
                    region: region.clone(),
                    extra: extra.clone(),
                }))
            }
            InstanceAnswer::Missing => {
                let (last, times) = match missed {
                    Some((last, times)) if now.saturating_duration_since(last) < APART => (last, times),
                    Some((_, times)) => (now, times.saturating_add(1)),
                    None => (now, 1),
                };
                self.missed = Some((last, times));
                if times < MISSES {
                    return false;
                }
                Evidence::Refused("the cloud has no instance with its provider id".into())
            }
            InstanceAnswer::NotItsOwn(why) => Evidence::Refused(why.into()),
            // A wrong answer takes nothing back that a right one has shown.
            InstanceAnswer::Invalid(_) if matches!(self.evidence, Evidence::Confirmed(_)) => return false,
            InstanceAnswer::Invalid(why) => Evidence::Refused(why.into()),
        };
        let is_other = self.evidence != evidence;
        self.evidence = evidence;
        is_other
    }
}

impl ConfirmedInstances {
    /// The record of the node's instance: of the one with its present provider id.
    pub(super) fn of(&self, node: &KubeNode) -> Option<&InstanceRecord> {
        let record = self.by_node.get(node.metadata.name.as_deref()?)?;
        (provider_id(node) == Some(record.provider_id.as_str())).then_some(&**record)
    }

    pub(super) fn record_answer(
        &mut self,
        node: &str,
        provider_id: &str,
        answer: InstanceAnswer<'_>,
        asked: Instant,
        now: Instant,
    ) -> bool {
        let record = match self.by_node.get_mut(node) {
            Some(record) => record,
            None => {
                let new = || Box::new(InstanceRecord::new(provider_id, asked, now));
                self.by_node.entry(node.to_owned()).or_insert_with(new)
            }
        };
        let before = record.evidence.clone();
        if record.provider_id != provider_id {
            **record = InstanceRecord::new(provider_id, asked, now);
        }
        let is_other = record.record_answer(answer, asked, now);
        let after = record.evidence.clone();
        if before != after {
            self.readdress(node, &before, &after);
        }
        is_other
    }

    /// A node whose instance the cloud has named with this address, whatever the Node says itself.
    pub(super) fn at(&self, ip: IpAddr) -> Option<&str> {
        self.by_address.get(&ip)?.first().map(String::as_str)
    }

    fn readdress(&mut self, node: &str, before: &Evidence, after: &Evidence) {
        before.ips().for_each(|it| remove(&mut self.by_address, &it, node));
        for ip in after.ips() {
            let nodes = self.by_address.entry(ip).or_insert_with(one);
            if !nodes.iter().any(|it| it == node) {
                nodes.push(node.to_owned());
            }
        }
    }

    /// Forgets what speaks against a node. Returns whether anything did.
    pub(super) fn doubt(&mut self, node: &str) -> bool {
        let is_refused = self.by_node.get(node).is_some_and(|it| matches!(it.evidence, Evidence::Refused(_)));
        is_refused && self.by_node.remove(node).is_some()
    }

    pub(super) fn forget(&mut self, node: &str) {
        if let Some(record) = self.by_node.remove(node) {
            self.readdress(node, &record.evidence, &Evidence::Unknown);
        }
    }

    pub(super) fn retain(&mut self, is_node: impl Fn(&str) -> bool) {
        let gone: Vec<_> = self.by_node.keys().filter(|it| !is_node(it)).cloned().collect();
        gone.iter().for_each(|it| self.forget(it));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::node_object::NodeSpec;
    use cloud_provider::{AddressKind, State};
    use kube::runtime::watcher::Event;

    use super::*;
    use crate::nodes::Nodes;

    fn instance(address: &str) -> Instance {
        Instance {
            name: "n1".into(),
            provider_id: Some("fake://1".into()),
            state: State::Running,
            machine_type: None,
            zone: None,
            region: Some("r1".into()),
            addresses: vec![Address { kind: AddressKind::InternalIp, value: address.into() }],
            labels: Vec::new(),
            ..Instance::default()
        }
    }

    fn node(name: &str, provider_id: Option<&str>) -> KubeNode {
        let spec = NodeSpec { provider_id: provider_id.map(Into::into), ..NodeSpec::default() };
        let mut node = KubeNode { spec: Some(spec), ..KubeNode::default() };
        node.metadata.name = Some(name.into());
        node
    }

    /// Answers in a row, each four seconds after the one before, come to this: `?`, `confirmed` or `refused`.
    #[track_caller]
    fn check(answers: &[InstanceAnswer<'_>], expected: &[&str]) {
        let mut now = Instant::now();
        let mut record = InstanceRecord::new("fake://1", now, now);
        let mut seen = Vec::new();
        for answer in answers {
            now += Duration::from_secs(4);
            record.record_answer(*answer, now, now);
            seen.push(match &record.evidence {
                Evidence::Unknown => "?",
                Evidence::Confirmed(_) => "confirmed",
                Evidence::Refused(_) => "refused",
            });
        }
        assert_eq!(seen, expected);
    }

    #[test]
    fn answers_of_the_cloud_in_a_row_give_one_verdict() {
        let it = instance("10.0.0.1");
        let named = InstanceAnswer::Named(&it);
        let (missing, other, invalid) =
            (InstanceAnswer::Missing, InstanceAnswer::NotItsOwn("no"), InstanceAnswer::Invalid("no"));
        check(&[named], &["confirmed"]);
        check(&[missing, missing], &["?", "refused"]);
        check(&[named, missing, missing], &["confirmed", "confirmed", "refused"]);
        check(&[named, missing, named, missing], &["confirmed"; 4]);
        check(&[missing, missing, named], &["?", "refused", "confirmed"]);
        check(&[named, other, named], &["confirmed", "refused", "confirmed"]);
        check(&[named, invalid], &["confirmed", "confirmed"]);
        check(&[invalid, named], &["refused", "confirmed"]);
    }

    /// Whether an instance is refused that two questions miss of which the first began at `asked`, where an answer to one
    /// that began at `last` has come before.
    pub(crate) fn refuses(asked: Instant, last: Instant, now: Instant) -> bool {
        let mut record = InstanceRecord::new("fake://1", last, last);
        record.record_answer(InstanceAnswer::Missing, asked, now);
        record.record_answer(InstanceAnswer::Missing, asked + APART, now + APART);
        matches!(record.evidence, Evidence::Refused(_))
    }

    #[test]
    fn two_misses_at_one_time_are_one() {
        let now = Instant::now();
        let mut record = InstanceRecord::new("fake://1", now, now);
        for _ in 0..5 {
            record.record_answer(InstanceAnswer::Missing, now, now);
        }
        assert_eq!(record.evidence, Evidence::Unknown);
        record.record_answer(InstanceAnswer::Missing, now + APART, now + APART);
        assert!(matches!(record.evidence, Evidence::Refused(_)));
    }

    #[test]
    fn an_answer_to_an_older_question_shows_nothing() {
        let start = Instant::now();
        let second = |it: u64| start + Duration::from_secs(it);
        let mut record = InstanceRecord::new("fake://1", start, start);
        let (booting, booted) = (instance("10.0.0.1"), instance("10.0.0.2"));
        assert!(record.record_answer(InstanceAnswer::Named(&booted), second(2), second(3)));
        assert!(!record.record_answer(InstanceAnswer::Named(&booting), second(1), second(4)));
        assert!(!record.record_answer(InstanceAnswer::NotItsOwn("no"), second(1), second(4)));
        assert!(!record.record_answer(InstanceAnswer::Named(&booted), second(2), second(5)), "the same question");
        assert!(record.record_answer(InstanceAnswer::Named(&booting), second(5), second(6)));
    }

    #[test]
    fn an_answer_about_another_provider_id_does_not_count() {
        let nodes = Nodes::of([node("n1", Some("fake://2"))]);
        nodes.record_answer("n1", "fake://1", InstanceAnswer::Named(&instance("10.0.0.1")), Instant::now());
        assert_eq!(nodes.confirmed(&node("n1", Some("fake://2"))), None);
        assert_eq!(nodes.confirmed(&node("n1", None)), None);
        assert!(nodes.confirmed(&node("n1", Some("fake://1"))).is_some(), "as when it is about to be written");
    }

    #[test]
    fn adv_150_an_address_is_the_nodes_whose_machine_has_it() {
        let nodes = Nodes::of([node("n1", Some("fake://1")), node("n2", None)]);
        let at = |ip: &str| nodes.confirmed_at(ip.parse().unwrap());
        let say =
            |node: &str, id: &str, answer: InstanceAnswer<'_>| nodes.record_answer(node, id, answer, Instant::now());
        say("n1", "fake://1", InstanceAnswer::Named(&instance("10.0.0.1")));
        // It is about to get its provider id, and says of no address that it has it.
        say("n2", "fake://2", InstanceAnswer::Named(&instance("::ffff:10.0.0.2")));
        assert_eq!((at("10.0.0.1"), at("10.0.0.2")), (Some("n1".to_owned()), Some("n2".to_owned())));
        say("n1", "fake://1", InstanceAnswer::Named(&instance("10.0.0.2")));
        assert_eq!((at("10.0.0.1"), at("10.0.0.2")), (None, Some("n2".to_owned())));
        say("n2", "fake://2", InstanceAnswer::NotItsOwn("no"));
        assert_eq!(at("10.0.0.2"), Some("n1".to_owned()));
        nodes.forget_instance("n1");
        assert_eq!((at("10.0.0.2"), nodes.confirmed_instances().by_address.len()), (None, 0), "nothing is left");
    }

    #[test]
    fn only_what_is_new_is_notified() {
        let nodes = Nodes::of([node("n1", Some("fake://1"))]);
        let calls = Arc::new(parking_lot::Mutex::new(0));
        let count = calls.clone();
        nodes.listen_for_evidence(move |_| *count.lock() += 1);
        for (address, expected) in [("10.0.0.1", 1), ("10.0.0.1", 1), ("10.0.0.2", 2)] {
            nodes.record_answer("n1", "fake://1", InstanceAnswer::Named(&instance(address)), Instant::now());
            assert_eq!(*calls.lock(), expected, "{address}");
        }
    }

    #[test]
    fn nothing_is_remembered_of_nodes_that_are_not_there() {
        let (nodes, mut writer) = Nodes::new();
        let it = instance("10.0.0.1");
        let remembered = || nodes.confirmed_instances().by_node.len();
        nodes.record_answer("n1", "fake://1", InstanceAnswer::Named(&it), Instant::now());
        assert_eq!(remembered(), 0);
        let events = |them: Vec<Event<KubeNode>>| them.into_iter();
        let known = node("n1", Some("fake://1"));
        events(vec![Event::Init, Event::InitApply(known.clone()), Event::InitDone])
            .for_each(|it| nodes.apply(it, &mut writer));
        nodes.record_answer("n1", "fake://1", InstanceAnswer::Named(&it), Instant::now());
        assert_eq!(remembered(), 1);
        nodes.apply(Event::Delete(known.clone()), &mut writer);
        assert_eq!(remembered(), 0);
        nodes.apply(Event::Apply(known), &mut writer);
        nodes.record_answer("n1", "fake://1", InstanceAnswer::Named(&it), Instant::now());
        events(vec![Event::Init, Event::InitDone]).for_each(|it| nodes.apply(it, &mut writer));
        assert_eq!(remembered(), 0);
    }
}
