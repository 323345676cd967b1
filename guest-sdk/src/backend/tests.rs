//! The promises, with a cloud in memory: late lists, lost answers, protected objects, and Services that name others' load
//! balancers.

mod deletion;
mod second;
mod unremembered;

use std::cell::RefCell;
use std::time::Duration;

use super::*;
use crate::form::Custom;
use crate::key::Key;
use crate::testing::Host;
use crate::{Change, Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, Progress, Result};

const CLAIM: Key<Custom<String>> = Key::new(
    "acme.example/id",
    Custom { allowed: "an id", parse: |it| it.starts_with("lb-").then(|| it.to_owned()) },
    "",
);

/// A cloud, by its answers.
#[derive(Default)]
struct Cloud {
    /// Id, name and whether it serves.
    balancers: RefCell<Vec<(String, String, bool)>>,
    hidden_from_lists: bool,
    creation: Option<Creation>,
    removal: Option<Removal>,
    kept: Option<Result<Change<()>>>,
    needs_tag: bool,
    proof: Option<String>,
    refuses_second: bool,
    refused_creation: Option<Error>,
    refused_update: Option<Error>,
    refused_targets: Option<Error>,
    refused_tag: Option<Error>,
    calls: RefCell<Vec<String>>,
}

struct Call<'a>(&'a Cloud, &'a LoadBalancer);

impl Call<'_> {
    fn call(&self, what: impl Into<String>) {
        self.0.calls.borrow_mut().push(what.into());
    }
}

impl Backend for Call<'_> {
    type Live = (String, String, bool);

    const CLAIM: Option<&'static Key<Custom<String>>> = Some(&CLAIM);

    fn service(&self) -> &LoadBalancer {
        self.1
    }

    fn is_id(&self, text: &str) -> bool {
        text.starts_with("lb-")
    }

    fn pauses(&self) -> Pauses {
        Pauses { poll: Duration::from_secs(15), create_again: Duration::from_secs(60) }
    }

    fn list(&self) -> Result<Vec<Found>> {
        self.call("list");
        let all = self.0.balancers.borrow();
        Ok(all.iter().filter(|_| !self.0.hidden_from_lists).map(|it| self.found(it)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<Self::Live>> {
        self.call(format!("find {id}"));
        Ok(self.0.balancers.borrow().iter().find(|(it, ..)| it == id && it != "lb-denied").cloned())
    }

    fn found(&self, (id, name, _): &Self::Live) -> Found {
        Found::new(id, name, *name == self.1.name).annotation(CLAIM.name, id)
    }

    fn refuses_second(&self) -> bool {
        self.0.refuses_second
    }

    fn create(&self, _: &[Found]) -> Result<Creation> {
        self.call("create");
        self.0.refused_creation.clone().map_or(Ok(()), Err)?;
        let made = ("lb-1".to_owned(), self.1.name.clone(), false);
        let begun = Creation::Begun(self.found(&made));
        self.0.balancers.borrow_mut().push(made);
        Ok(self.0.creation.clone().unwrap_or(begun))
    }

    fn update(&self, (id, _, serves): &Self::Live) -> Result<Update> {
        self.call(format!("update {id}"));
        self.0.refused_update.clone().map_or(Ok(()), Err)?;
        Ok(if *serves { Update::Done(vec![Ingress::ip("192.0.2.1")]) } else { Update::Building })
    }

    fn follow_nodes(&self, (id, ..): &Self::Live) -> Result<Change<()>> {
        self.call(format!("follow nodes {id}"));
        self.0.refused_targets.clone().map_or(Ok(Change::Done(())), Err)
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        self.call(format!("delete {id}"));
        self.0.balancers.borrow_mut().retain(|(it, ..)| it != id);
        Ok(self.0.removal.clone().unwrap_or(Removal::Gone))
    }

    fn keep(&self, id: &str) -> Result<Change<()>> {
        self.call(format!("keep {id}"));
        self.0.kept.clone().unwrap_or(Ok(Change::Done(())))
    }

    fn proof(&self, _: &Self::Live) -> Result<Result<(), String>> {
        Ok(self.0.proof.clone().map_or(Ok(()), Err))
    }

    fn needs_tag(&self, _: &Self::Live) -> bool {
        self.0.needs_tag
    }

    fn tag(&self, id: &str) -> Result<()> {
        self.call(format!("tag {id}"));
        self.0.refused_tag.clone().map_or(Ok(()), Err)
    }
}

impl Cloud {
    fn with(self, id: &str, name: &str, serves: bool) -> Self {
        self.balancers.borrow_mut().push((id.to_owned(), name.to_owned(), serves));
        self
    }

    /// One `ensure` at `now`: the memo, the pause in milliseconds, and the events.
    fn pending(&self, service: &LoadBalancer, now: u64) -> (String, u32, Vec<String>) {
        let host = Host::new().at(now);
        match host.run(|| ensure(&Call(self, service))) {
            Ok(Progress::Pending(it)) => (it.status.memo.unwrap(), it.wait.milliseconds, reasons(&host)),
            other => panic!("{other:?}"),
        }
    }

    fn ensure(&self, service: &LoadBalancer) -> Result<Progress> {
        Host::new().at(1_000).run(|| ensure(&Call(self, service)))
    }

    fn delete(&self, service: &LoadBalancer, now: u64) -> Result<Deletion> {
        Host::new().at(now).run(|| delete(&Call(self, service)))
    }

    fn calls(&self) -> Vec<String> {
        self.calls.take()
    }
}

fn reasons(host: &Host) -> Vec<String> {
    host.events().into_iter().map(|it| it.reason).collect()
}

fn service() -> LoadBalancer {
    LoadBalancer::of("default", "web", "1")
}

fn with_memo(memo: &str) -> LoadBalancer {
    LoadBalancer { memo: Some(memo.to_owned()), ..service() }
}

/// Announced, and the next call is the first that has the announcement.
fn announced(memo: &str) -> LoadBalancer {
    LoadBalancer { extra: vec![("host.new-memo".into(), "true".into())], ..with_memo(memo) }
}

/// Announced by a process that is gone.
fn creating(since: u64) -> LoadBalancer {
    with_memo(&format!("creating a1 since {since}"))
}

fn claiming(id: &str) -> LoadBalancer {
    service().with_annotation(CLAIM.name, id)
}

#[test]
fn a_creation_is_announced_before_it_is_sent() {
    let cloud = Cloud::default();
    let first = cloud.pending(&service(), 1_000);
    assert_eq!(first, ("creating a1 since 1000".to_owned(), 0, Vec::new()));
    assert_eq!(cloud.calls(), [""; 0]);
    let created = cloud.pending(&announced(&first.0), 1_060);
    assert_eq!((created.0, created.1), ("lb-1".to_owned(), 15_000));
    assert_eq!(cloud.calls(), ["list", "create"]);
}

#[test]
fn a_creation_of_a_dead_process_is_waited_out_and_not_repeated() {
    let cloud = Cloud { hidden_from_lists: true, ..Cloud::default() };
    let waiting = cloud.pending(&creating(1_000), 1_005);
    assert_eq!(waiting, ("lost a1 since 1005".to_owned(), 15_000, Vec::new()));
    assert_eq!(cloud.pending(&with_memo(&waiting.0), 1_064).0, waiting.0);
    assert_eq!(cloud.calls(), ["list", "list"], "nothing is sent while the list may lag");
    assert_eq!(cloud.pending(&with_memo(&waiting.0), 1_065).0, "creating a1 since 1065", "it was never sent");
    assert_eq!(cloud.pending(&announced("creating a1 since 1065"), 1_065).0, "lb-1");
    let sent = Cloud::default().with("lb-7", "a1", true);
    assert_eq!(sent.pending(&creating(1_000), 1_005).0, "lb-7", "it was sent, and is listed");
}

#[test]
fn a_creation_that_has_to_wait_is_announced_again() {
    let busy = Creation::Busy("the network is being changed".to_owned());
    let cloud = Cloud { creation: Some(busy), hidden_from_lists: true, ..Cloud::default() };
    for (now, memo) in [(1_000, "creating a1 since 1001"), (1_061, "creating a1 since 1061")] {
        let waiting = cloud.pending(&announced("creating a1 since 1000"), now);
        assert_eq!(waiting, (memo.to_owned(), 500, Vec::new()), "the next call is the first that has it");
    }
}

#[test]
fn a_creation_without_an_answer_is_looked_for() {
    let unclear = Creation::Unclear("the answer was lost".to_owned());
    let cloud = Cloud { creation: Some(unclear), hidden_from_lists: true, ..Cloud::default() };
    let lost = cloud.pending(&announced("creating a1 since 1000"), 1_000);
    assert_eq!(lost, ("lost a1 since 1000".to_owned(), 15_000, vec!["LoadBalancerCreationUnclear".to_owned()]));
    assert_eq!(cloud.pending(&with_memo(&lost.0), 1_050).1, 10_000);
    assert_eq!(
        cloud.pending(&with_memo(&lost.0), 1_060).0,
        "creating a1 since 1060",
        "it has been absent for long enough"
    );
    let cloud = Cloud { hidden_from_lists: false, ..cloud };
    assert_eq!(cloud.pending(&with_memo(&lost.0), 1_050), ("lb-1".to_owned(), 0, Vec::new()));
    assert_eq!(cloud.calls().iter().filter(|it| *it == "create").count(), 1);
}

#[test]
fn a_name_that_nothing_listed_has_is_looked_for_then_told() {
    let taken = Creation::Taken("409: not_unique".to_owned());
    let cloud = Cloud { creation: Some(taken), hidden_from_lists: true, ..Cloud::default() };
    let lost = cloud.pending(&announced("creating a1 since 1000"), 1_000);
    assert_eq!(lost, ("lost a1 taken 1000".to_owned(), 15_000, Vec::new()), "nothing is told yet");
    assert_eq!(cloud.pending(&with_memo(&lost.0), 1_059), ("lost a1 taken 1000".to_owned(), 1_000, Vec::new()));
    let again = cloud.pending(&with_memo(&lost.0), 1_060).0;
    assert_eq!(again, "creating a1 taken 1060");
    let Ok(Progress::Failed(failed)) = Host::new().at(1_060).run(|| ensure(&Call(&cloud, &announced(&again)))) else {
        panic!("it is told")
    };
    assert!(failed.error.why().contains("is shown by no list") && failed.error.why().contains("409"), "{failed:?}");
    assert_eq!(failed.status.memo.as_deref(), Some("lost a1 taken 1060"), "it is looked for again all the same");
    let listed = Cloud { hidden_from_lists: false, ..cloud };
    assert_eq!(listed.pending(&with_memo(&again), 1_061).0, "lb-1", "it was the Service's own");
}

#[test]
fn adv_157_a_refused_creation_is_announced_no_more() {
    let throttled = Error::retry_after(Duration::from_secs(1), "429");
    for refused in [Error::invalid("size"), Error::denied("quota"), Error::unavailable("not sent"), throttled] {
        let cloud = Cloud { refused_creation: Some(refused.clone()), ..Cloud::default() };
        let Ok(Progress::Failed(failed)) = cloud.ensure(&announced("creating a1 since 1000")) else {
            panic!("not failed")
        };
        assert_eq!((failed.status.memo, failed.error), (None, refused));
        assert_eq!(cloud.calls(), ["list", "create"]);
        assert_eq!(cloud.delete(&service(), 1_001), Ok(Deletion::Done), "at once");
        // An earlier call may have sent it, and its process may have died.
        assert!(matches!(cloud.delete(&creating(1_000), 1_001), Ok(Deletion::Pending(_))));
    }
}

#[test]
fn a_clock_that_was_set_back_makes_no_wait_longer() {
    assert_eq!(Cloud::default().pending(&with_memo("lost a1 since 5000"), 1_000).1, 15_000);
}

#[test]
fn a_load_balancer_with_the_mark_is_never_made_twice() {
    for service in [announced("creating a1 since 1000"), creating(1_000), with_memo("lost a1 since 900")] {
        let cloud = Cloud::default().with("lb-7", "a1", true);
        assert_eq!(cloud.pending(&service, 1_000).0, "lb-7");
        assert_eq!(cloud.calls(), ["list"], "nothing is written before the id is kept");
    }
}

#[test]
fn a_memo_of_another_provider_is_refused() {
    for memo in ["", "7", "creating", "creating a2 since 7", "lost a1 since never", "tag 7", "lb-1 lb-2"] {
        let cloud = Cloud::default();
        assert!(matches!(cloud.ensure(&with_memo(memo)), Err(Error::Invalid(_))), "{memo}");
        assert!(matches!(cloud.delete(&with_memo(memo), 1_000), Err(Error::Invalid(_))), "{memo}");
        assert_eq!(cloud.calls(), [""; 0]);
    }
}

#[test]
fn a_remembered_load_balancer_is_updated() {
    let cloud = Cloud::default().with("lb-1", "chosen", false);
    let building = cloud.pending(&with_memo("lb-1"), 1_000);
    assert_eq!(building, ("lb-1".to_owned(), 15_500, Vec::new()), "a little later than the first time");
    let cloud = Cloud::default().with("lb-1", "chosen", true);
    let ready = LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]).memo("lb-1").annotation(CLAIM.name, "lb-1");
    assert_eq!(cloud.ensure(&with_memo("lb-1")), Ok(Progress::Ready(ready)));
    assert_eq!(cloud.calls(), ["find lb-1", "update lb-1"]);
}

#[test]
fn a_missing_load_balancer_that_is_listed_is_not_replaced() {
    let cloud = Cloud::default().with("lb-denied", "chosen", true);
    assert!(matches!(cloud.ensure(&with_memo("lb-denied")), Err(Error::Unavailable(_))));
    let missing = Cloud::default().pending(&with_memo("lb-9"), 1_000);
    assert_eq!(missing, ("creating a1 since 1000".to_owned(), 0, vec!["LoadBalancerNotFound".to_owned()]));
}

#[test]
fn a_claimed_load_balancer_is_adopted_only_with_proof() {
    let cloud = Cloud { proof: Some("it is not yours".to_owned()), ..Cloud::default() }.with("lb-7", "other", true);
    let why = "annotation acme.example/id names load balancer lb-7 (other), which cannot be proven to be this Service's: it \
               is not yours";
    assert_eq!(cloud.ensure(&claiming("lb-7")), Err(Error::invalid(why)));
    let cloud = Cloud { proof: None, ..cloud };
    assert_eq!(cloud.pending(&claiming("lb-7"), 1_000), ("lb-7".to_owned(), 0, Vec::new()));
    assert_eq!(cloud.calls(), ["find lb-7", "find lb-7"], "nothing is written before the id is kept");
}

#[test]
fn an_adopted_load_balancer_is_tagged_once() {
    let cloud = Cloud { needs_tag: true, ..Cloud::default() }.with("lb-7", "other", true);
    let adopted = cloud.pending(&claiming("lb-7"), 1_000);
    assert_eq!(adopted.0, "tag lb-7");
    assert_eq!(cloud.pending(&with_memo(&adopted.0), 1_000).0, "lb-7");
    assert_eq!(cloud.calls(), ["find lb-7", "tag lb-7"]);
}

#[test]
fn another_claim_than_the_remembered_id_is_ignored() {
    let cloud = Cloud::default().with("lb-1", "chosen", true);
    let host = Host::new();
    let service = LoadBalancer { memo: Some("lb-1".to_owned()), ..claiming("lb-7") };
    assert!(matches!(host.run(|| ensure(&Call(&cloud, &service))), Ok(Progress::Ready(_))));
    assert_eq!(reasons(&host), ["LoadBalancerIdIgnored"]);
}

#[test]
fn after_a_refused_creation_a_claim_is_adopted() {
    let cloud = Cloud::default().with("lb-7", "other", true);
    let late = LoadBalancer { memo: Some("lost a1 since 900".to_owned()), ..claiming("lb-7") };
    assert_eq!(cloud.pending(&late, 1_000).0, "lb-7");
    let early = LoadBalancer { memo: Some("creating a1 since 990".to_owned()), ..announced("") };
    let early = LoadBalancer { annotations: claiming("lb-7").annotations, ..early };
    assert_eq!(cloud.pending(&early, 1_000).0, "lb-1", "what was announced a moment ago comes first");
}

#[test]
fn a_creation_that_is_done_at_once_waits_for_no_poll() {
    let made = |creation: Creation| {
        let cloud = Cloud { creation: Some(creation), ..Cloud::default() };
        let (memo, pause, _) = cloud.pending(&announced("creating a1 since 1000"), 1_000);
        (memo, pause)
    };
    let begun = || Creation::Begun(Found::new("lb-1", "a1", true));
    assert_eq!(made(begun()), ("lb-1".to_owned(), 15_000));
    assert_eq!(made(begun().at_once()), ("lb-1".to_owned(), 0));
    assert_eq!(Creation::Busy("so".to_owned()).at_once(), Creation::Busy("so".to_owned()));
}

#[test]
fn an_answer_says_whether_something_was_created() {
    use crate::http;
    use crate::testing::{Failure, Outcome, answer};

    let send = |outcome: fn() -> Outcome| {
        let host = Host::new().answers(move |_| outcome());
        host.run(|| http::post("api", ["a"]).create(|id: String| Found::new(id, "a", true)))
    };
    assert_eq!(send(|| answer(202, "\"lb-1\"")), Ok(Creation::Begun(Found::new("lb-1", "a", true))));
    for unclear in [
        || answer(500, ""),
        || answer(408, ""),
        || answer(499, ""),
        || answer(202, "<html>"),
        || Err(Failure::Interrupted("time-out".to_owned())),
    ] {
        assert!(matches!(send(unclear), Ok(Creation::Unclear(_))));
    }
    assert!(matches!(send(|| answer(422, "")), Err(Error::Invalid(_))));
    assert!(matches!(send(|| Err(Failure::Unreachable("refused".to_owned()))), Err(Error::Unavailable(_))));
}

#[test]
fn targets_follow_the_nodes_when_an_update_is_refused() {
    let refused = Error::invalid("size");
    let ensured = |update: Error, targets: Option<Error>| {
        let cloud = Cloud { refused_update: Some(update), refused_targets: targets, ..Cloud::default() };
        let cloud = cloud.with("lb-1", &service().name, true);
        (cloud.ensure(&with_memo("lb-1")), cloud.calls().len())
    };
    assert_eq!(ensured(refused.clone(), None), (Err(refused.clone()), 3));
    assert_eq!(ensured(refused.clone(), Some(Error::denied("targets"))), (Err(refused.clone()), 3));
    let late = Error::unavailable("targets");
    assert_eq!(ensured(refused, Some(late.clone())), (Err(late.clone()), 3));
    let quota = Error::quota("certificates");
    assert_eq!(ensured(quota.clone(), None), (Err(quota), 3), "nodes follow whatever the quota");
    assert_eq!(ensured(late.clone(), None), (Err(late), 2), "what may pass by itself is tried again as a whole");
}

#[test]
fn a_tag_that_is_refused_is_a_warning() {
    let tagged = |refused| {
        let cloud = Cloud { refused_tag: Some(refused), ..Cloud::default() };
        let host = Host::new();
        (host.run(|| tag(&Call(&cloud, &service()), "lb-1")), reasons(&host))
    };
    assert_eq!(tagged(Error::denied("no")), (Ok(()), vec!["LoadBalancerNotTagged".to_owned()]));
    assert_eq!(tagged(Error::unavailable("no")), (Err(Error::unavailable("no")), Vec::new()));
}

#[test]
fn a_name_that_another_has_is_refused() {
    let listed = [Found::new("lb-1", "web", false)];
    assert_eq!(refuse_taken_name(&listed, &CLAIM, "web", Some("lb-1")), Ok(()));
    assert_eq!(refuse_taken_name(&listed, &CLAIM, "shop", None), Ok(()));
    let why = "annotation acme.example/id: \"web\" is the name of load balancer lb-1, which is not this Service's: choose \
               another";
    assert_eq!(refuse_taken_name(&listed, &CLAIM, "web", Some("lb-2")), Err(Error::invalid(why)));
}
