//! To what the routes of nodes lead, as the provider says. No client, no clock, no log: times are arguments.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::{Error, PodNetwork, Result};
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::error::{BackOff, Pause};

/// The pauses after an answer that is none.
const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(300) };

/// The next hops that are known. An answer is kept until its node changes; an error, until a pause is over.
#[derive(Debug, Default)]
pub(super) struct Hops(HashMap<(String, Cidr), Hop>);

#[derive(Debug)]
struct Hop {
    machine: cloud_provider::Node,
    answer: Result<String>,
    /// When the provider is asked again, after how many errors.
    again: Option<(Instant, u32)>,
}

/// A question about the route of a node, by its UID.
#[derive(Clone, Debug)]
pub(super) struct HopQuestion {
    pub(super) uid: String,
    pub(super) cidr: Cidr,
    pub(super) machine: cloud_provider::Node,
}

impl HopQuestion {
    /// As the provider is asked.
    pub(super) fn network(&self) -> PodNetwork {
        PodNetwork { destination: self.cidr.to_string(), node: self.machine.clone() }
    }
}

impl Hops {
    /// To what a node's route leads; `None` if nobody was asked.
    pub(super) fn get(&self, uid: &str, cidr: &Cidr) -> Option<&Result<String>> {
        self.0.get(&(uid.to_owned(), *cidr)).map(|it| &it.answer)
    }

    /// Those of the questions that have to be asked. What is known of other nodes is forgotten.
    pub(super) fn unanswered(&mut self, questions: Vec<HopQuestion>, now: Instant) -> Vec<HopQuestion> {
        let mut known = std::mem::take(&mut self.0);
        let mut unanswered = Vec::new();
        for question in questions {
            let key = (question.uid.clone(), question.cidr);
            let hop = known.remove(&key);
            let is_due = hop
                .as_ref()
                .is_none_or(|it| it.machine != question.machine || it.again.is_some_and(|(at, _)| at <= now));
            if is_due {
                unanswered.push(question);
            }
            // Until it is answered, the earlier answer stands.
            self.0.extend(hop.map(|hop| (key, hop)));
        }
        unanswered
    }

    /// Takes note of an answer. Returns whether it is an error that was not known.
    pub(super) fn answered(&mut self, question: HopQuestion, answer: Result<String>, now: Instant) -> bool {
        let key = (question.uid, question.cidr);
        let before = self.0.get(&key).filter(|it| it.machine == question.machine);
        let failures = before.and_then(|it| it.again).map_or(0, |(_, failures)| failures);
        let again = answer.as_ref().err().map(|error| {
            let (Pause::Exactly(pause) | Pause::AtLeast(pause)) = BACK_OFF.pause(failures, error);
            (now + pause, failures.saturating_add(1))
        });
        let is_news = answer.is_err() && before.is_none_or(|it| it.answer != answer);
        self.0.insert(key, Hop { machine: question.machine, answer, again });
        is_news
    }

    /// When somebody is asked again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().filter_map(|it| it.again).map(|(at, _)| at).min()
    }

    /// A credential has changed: what was an error is asked again.
    pub(super) fn forget_errors(&mut self) {
        self.0.retain(|_, it| it.answer.is_ok());
    }
}

/// Whether an error says that no route can lead to the node, and not only that nobody knows.
pub(super) fn is_certain(error: &Error) -> bool {
    matches!(error, Error::Invalid(_) | Error::Denied(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(address: &str) -> HopQuestion {
        let zone = Some(address.to_owned());
        let machine = cloud_provider::Node { name: "n1".to_owned(), zone, ..cloud_provider::Node::default() };
        HopQuestion { uid: "u1".to_owned(), cidr: Cidr::parse("10.244.1.0/24").unwrap(), machine }
    }

    #[test]
    fn an_answer_is_kept_until_the_node_changes() {
        let (mut hops, now) = (Hops::default(), Instant::now());
        let cidr = question("a").cidr;
        assert_eq!(hops.unanswered(vec![question("a")], now).len(), 1);
        assert!(!hops.answered(question("a"), Ok("i-1".to_owned()), now));
        assert_eq!(hops.unanswered(vec![question("a")], now + Duration::from_secs(86_400)).len(), 0);
        assert_eq!(hops.unanswered(vec![question("b")], now).len(), 1);
        assert_eq!(hops.get("u1", &cidr), Some(&Ok("i-1".to_owned())), "until there is another");
        assert_eq!(hops.unanswered(Vec::new(), now).len(), 0);
        assert_eq!(hops.get("u1", &cidr), None, "the node is gone");
    }

    #[test]
    fn an_error_is_asked_about_again_and_told_once() {
        let (mut hops, now) = (Hops::default(), Instant::now());
        let (wrong, down) = (Error::Invalid("no address".to_owned()), Error::Unavailable("down".to_owned()));
        assert!(hops.answered(question("a"), Err(wrong.clone()), now));
        assert_eq!(hops.next(), Some(now + Duration::from_secs(300)));
        assert_eq!(hops.unanswered(vec![question("a")], now + Duration::from_secs(299)).len(), 0);
        let later = now + Duration::from_secs(300);
        assert_eq!(hops.unanswered(vec![question("a")], later).len(), 1);
        assert!(!hops.answered(question("a"), Err(wrong.clone()), later), "it is the same");
        assert!(hops.answered(question("b"), Err(wrong), later), "it is about another node now");
        hops.forget_errors();
        assert_eq!(hops.next(), None);
        let pauses: Vec<_> = (0..4)
            .map(|_| {
                hops.answered(question("a"), Err(down.clone()), now);
                hops.next().unwrap() - now
            })
            .collect();
        assert_eq!(pauses, [5, 10, 20, 40].map(Duration::from_secs));
    }
}
