//! The Services whose load balancers were made a moment ago: while they ask for the same, a provider need not compare what it has made.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use sha256::Digest;
use tokio::time::Instant;

use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as wit;

/// The word of a status: the call has made the load balancer as it was asked for.
const CREATED: &str = "created";

/// The longest creation that is remembered.
const REMEMBERED: Duration = Duration::from_hours(1);

/// The questions with which load balancers were created that are not ready yet, by the Service's UID.
#[derive(Default)]
pub(super) struct CreatedBalancers(Mutex<HashMap<String, CreatedBalancer>>);

struct CreatedBalancer {
    memo: Option<String>,
    asked: Digest,
    at: Instant,
}

impl CreatedBalancer {
    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= REMEMBERED
    }
}

/// A short name for all that a guest is asked for a Service, but for its memo. The order of the fields counts, and so it is compared within a
/// process alone.
pub(super) fn digest(asked: &mut wit::LoadBalancer) -> Digest {
    let memo = asked.memo.take();
    let digest = Digest::of(format!("{asked:?}").as_bytes());
    asked.memo = memo;
    digest
}

impl CreatedBalancers {
    /// Whether a Service's load balancer was created for this question, and is not ready yet. It is forgotten if it was not.
    pub(super) fn is_as_created(&self, uid: &str, asked: &mut wit::LoadBalancer, now: Instant) -> bool {
        let mut created = self.0.lock();
        let Some(before) = created.get(uid) else { return false };
        let is_as_created = before.memo == asked.memo && !before.is_old(now) && before.asked == digest(asked);
        if !is_as_created {
            created.remove(uid);
        }
        is_as_created
    }

    /// A call about a Service has ended with this answer. `asked` is there where it was the first one with its memo, which announced a creation.
    pub(super) fn ended(&self, uid: &str, asked: Option<Digest>, answer: Option<&wit::Progress>, now: Instant) {
        let mut created = self.0.lock();
        created.retain(|_, it| !it.is_old(now));
        let Some(wit::Progress::Pending(wit::PendingStatus { status, .. })) = answer else {
            // A failure leaves it as it is.
            if matches!(answer, Some(wit::Progress::Ready(_) | wit::Progress::NotManaged)) {
                created.remove(uid);
            }
            return;
        };
        let is_created = status.extra.iter().any(|(key, value)| key == CREATED && value == "true");
        if let Some(asked) = asked.filter(|_| is_created && status.memo.is_some()) {
            created.insert(uid.to_owned(), CreatedBalancer { memo: status.memo.clone(), asked, at: now });
        }
    }

    /// The provider's version begins to serve.
    pub(super) fn forget_all(&self) {
        self.0.lock().clear();
    }

    /// A Service's load balancer is to go.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::load_balancers::aerostat::cloud::types::{Node, Pause};

    fn asked(memo: &str, node: &str) -> wit::LoadBalancer {
        let node = Node {
            name: node.to_owned(),
            uid: None,
            provider_id: None,
            addresses: Vec::new(),
            zone: None,
            region: None,
            labels: Vec::new(),
            extra: Vec::new(),
        };
        let owner = wit::Owner { cluster: "c".into(), namespace: "default".into(), name: "s".into(), uid: "u".into() };
        wit::LoadBalancer {
            name: "a1".into(),
            owner,
            memo: Some(memo.to_owned()),
            current_ingress: Vec::new(),
            load_balancer_class: None,
            ports: Vec::new(),
            nodes: vec![node],
            annotations: Vec::new(),
            source_ranges: Vec::new(),
            ip_families: Vec::new(),
            load_balancer_ip: None,
            external_traffic_policy: wit::ExternalTrafficPolicy::Cluster,
            client_ip_affinity_seconds: None,
            extra: Vec::new(),
        }
    }

    fn status(memo: &str, words: &[&str]) -> wit::LoadBalancerStatus {
        let extra = words.iter().map(|it| ((*it).to_owned(), "true".to_owned())).collect();
        wit::LoadBalancerStatus { ingress: Vec::new(), memo: Some(memo.to_owned()), annotations: Vec::new(), extra }
    }

    fn pending(memo: &str, words: &[&str]) -> wit::Progress {
        let wait = Pause { milliseconds: 500, reason: "the cloud builds it".to_owned() };
        wit::Progress::Pending(wit::PendingStatus { status: status(memo, words), wait })
    }

    /// Creates one for node `a`, whose call has answered so.
    fn created(is_first: bool, answer: &wit::Progress) -> CreatedBalancers {
        let created = CreatedBalancers::default();
        let asked = is_first.then(|| digest(&mut asked("creating", "a")));
        created.ended("u", asked, Some(answer), Instant::now());
        created
    }

    #[test]
    fn a_created_balancer_is_known_while_the_same_is_asked() {
        let created = created(true, &pending("lb-1", &[CREATED]));
        let is_known = |memo: &str, node: &str| created.is_as_created("u", &mut asked(memo, node), Instant::now());
        assert!(is_known("lb-1", "a"));
        created.ended("u", None, Some(&pending("lb-1", &[])), Instant::now());
        created.ended("u", None, None, Instant::now());
        assert!(is_known("lb-1", "a"), "while it is built, and after a failure");
        assert!(!created.is_as_created("other", &mut asked("lb-1", "a"), Instant::now()));
        assert!(!is_known("lb-1", "b"));
        assert!(!is_known("lb-1", "a"), "the call between has asked for another node");
    }

    #[test]
    fn other_answers_make_nothing_known() {
        let ready = wit::Progress::Ready(status("lb-1", &[CREATED]));
        for (is_first, answer) in
            [(false, pending("lb-1", &[CREATED])), (true, pending("lb-1", &["other"])), (true, ready.clone())]
        {
            let created = created(is_first, &answer);
            assert!(!created.is_as_created("u", &mut asked("lb-1", "a"), Instant::now()), "{answer:?}");
        }
        let begun = || created(true, &pending("lb-1", &[CREATED]));
        let is_known = |it: &CreatedBalancers, memo: &str| it.is_as_created("u", &mut asked(memo, "a"), Instant::now());
        assert!(!is_known(&begun(), "lb-2"), "somebody has written another memo");
        let over = begun();
        over.ended("u", None, Some(&ready), Instant::now());
        assert!(!is_known(&over, "lb-1"), "from then on it is compared");
        let gone = begun();
        gone.forget("u");
        assert!(!is_known(&gone, "lb-1"));
        let replaced = begun();
        replaced.forget_all();
        assert!(!is_known(&replaced, "lb-1"), "another version has served since");
        let old = begun();
        assert!(!old.is_as_created("u", &mut asked("lb-1", "a"), Instant::now() + REMEMBERED));
    }
}
