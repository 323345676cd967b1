mod counts;

use cloud_provider::LoadBalancerStatus;
use serde_json::{Value, json};

use super::*;
use crate::inventory::machine;
use crate::service::backends::Backends;
use crate::service::desired::{compared_fields, desired};
use crate::service::error::FailureKind;
use crate::service::testing::{ID, SIZE, cluster, node, service, with_load_balancer};

const SECOND: Duration = Duration::from_secs(1);

/// A Service, what is remembered of it, and a clock.
struct Story {
    states: ServiceStates,
    now: Instant,
    backends: Arc<[BackendNode]>,
}

fn story() -> Story {
    Story { states: ServiceStates::default(), now: Instant::now(), backends: backends(&["n1", "n2"]) }
}

fn backends(names: &[&str]) -> Arc<[BackendNode]> {
    let machines = names.iter().map(|it| machine(&node(it, json!({})))).collect();
    Backends::of(machines, &[], &Backends::default()).compared_fields
}

fn compared(service: &Service) -> LoadBalancer {
    compared_fields(desired(service, &cluster()).unwrap())
}

fn sized(size: &str) -> Service {
    service(json!({ "metadata": { "annotations": { SIZE: size } } }))
}

/// The Service in another version, with changes.
fn version(version: &str, mut change: Value) -> Service {
    change["metadata"]["resourceVersion"] = json!(version);
    service(change)
}

impl Story {
    fn of(&mut self, service: &Service) -> &mut ServiceState {
        self.states.of("default/s1", service, self.now)
    }

    fn next_step(&mut self, service: &Service) -> ControlFlow<NextStep, (Cause, AskedNodes)> {
        let (now, backends, desired) = (self.now, self.backends.clone(), compared(service));
        let state = self.of(service);
        let next_step = state.next_step(&desired, &backends, now);
        if next_step.is_continue() {
            state.begin_call(None);
        }
        next_step
    }

    /// The provider has answered, and it was written without a change of the Service.
    fn answered(&mut self, service: &Service, then: AnswerMeaning) -> Option<Cause> {
        let written = Arc::new(service.clone());
        let state = self.of(service);
        state.work.unwritten = Some(Unwritten::new(LoadBalancerStatus::default(), None, then));
        state.end(&written, Some(&compared(service)), Some(compared(service)))
    }
}

fn asks(cause: Cause, new_backends: bool) -> ControlFlow<NextStep, (Cause, AskedNodes)> {
    Continue((cause, if new_backends { AskedNodes::Others } else { AskedNodes::Same }))
}

#[test]
fn a_fulfilled_service_is_not_asked_for_again() {
    let (mut story, service) = (story(), service(json!({})));
    assert_eq!(story.next_step(&service), asks(Cause::Service, true));
    assert_eq!(story.answered(&service, AnswerMeaning::Ready), Some(Cause::Service));
    assert_eq!(story.next_step(&service), Break(NextStep::Done));
    assert_eq!(story.next_step(&sized("2")), asks(Cause::Service, false));
}

#[test]
fn other_nodes_are_a_cause_of_their_own() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    story.backends = backends(&["n1", "n2", "n3"]);
    assert_eq!(story.next_step(&service), asks(Cause::Backends, true));
    assert_eq!(story.answered(&service, AnswerMeaning::Ready), Some(Cause::Backends));
    story.backends = backends(&["n1"]);
    assert_eq!(story.next_step(&sized("2")), asks(Cause::Service, true), "the Service has changed as well");
}

#[test]
fn case_156_the_same_nodes_are_no_cause() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    story.backends = backends(&["n2", "n1"]);
    assert_eq!(story.next_step(&service), Break(NextStep::Done));
}

#[test]
fn an_update_that_failed_is_tried_again_for_the_whole_service() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    story.backends = backends(&["n1"]);
    assert_eq!(story.next_step(&service), asks(Cause::Backends, true));
    assert_eq!(story.next_step(&service), asks(Cause::Service, false));
}

#[test]
fn a_pending_service_waits_and_a_changed_one_does_not() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    let until = story.now + 30 * SECOND;
    assert_eq!(story.answered(&service, AnswerMeaning::Pending(until)), None);
    story.now += 10 * SECOND;
    assert_eq!(story.next_step(&service), Break(NextStep::After(20 * SECOND)));
    story.backends = backends(&["n1"]);
    assert_eq!(
        story.next_step(&service),
        Break(NextStep::After(20 * SECOND)),
        "the next call sees the nodes as they are by then"
    );
    story.now += 20 * SECOND;
    assert_eq!(story.next_step(&service), asks(Cause::Service, false));
    story.answered(&service, AnswerMeaning::Pending(story.now + 30 * SECOND));
    assert_eq!(story.next_step(&sized("2")), asks(Cause::Service, false));
}

#[test]
fn an_update_that_takes_its_time_stays_an_update() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    story.backends = backends(&["n1"]);
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Pending(story.now));
    assert_eq!(story.next_step(&service), asks(Cause::Backends, false));
    assert_eq!(story.answered(&service, AnswerMeaning::Ready), Some(Cause::Backends));
}

#[test]
fn other_backends_requeue_what_they_may_fix() {
    let (mut story, service) = (story(), service(json!({})));
    story.backends = backends(&[]);
    let _ = story.next_step(&service);
    let (one, other) = (backends(&["n1"]), backends(&["n2"]));
    assert!(story.of(&service).lacks(&one), "it failed without any nodes");
    story.backends = one.clone();
    let _ = story.next_step(&service);
    assert!(!story.of(&service).lacks(&other), "it failed with nodes, and backs off");
    story.of(&service).shows("only wrong nodes", FailureKind::InvalidSpec);
    assert!(story.of(&service).lacks(&other), "other nodes may be right");
    assert!(!story.of(&service).lacks(&one));
    story.answered(&service, AnswerMeaning::Pending(story.now + SECOND));
    assert!(!story.of(&service).lacks(&other), "it comes back by itself");
    story.now += SECOND;
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    assert!(story.of(&service).lacks(&other));
    assert!(!story.of(&service).lacks(&one));
}

#[test]
fn the_start_of_work_is_announced_once_for_each_spec() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    assert!(story.of(&service).announces(Instant::now()));
    assert!(!story.of(&service).announces(Instant::now()));
    let _ = story.next_step(&service);
    assert!(!story.of(&service).announces(Instant::now()), "a second try is none");
    let _ = story.next_step(&sized("2"));
    assert!(story.of(&service).announces(Instant::now()));
    story.answered(&sized("2"), AnswerMeaning::Ready);
    story.backends = backends(&["n1"]);
    let _ = story.next_step(&sized("2"));
    assert!(!story.of(&service).announces(Instant::now()), "an update is none");
}

#[test]
fn a_memo_is_new_until_a_call_begins_with_it() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    let status = LoadBalancerStatus { memo: Some("creating".to_owned()), ..LoadBalancerStatus::default() };
    let state = story.of(&service);
    assert!(!state.is_memo_new(None) && !state.is_memo_new(Some("creating")), "another process may have kept it");
    state.keep(status, None, AnswerMeaning::MemoOnly);
    assert!(state.is_memo_new(Some("creating")) && state.is_memo_new(Some("creating")), "a deletion only looks");
    assert!(!state.is_memo_new(Some("lost")));
    assert!(state.begin_call(Some("creating")));
    assert!(!state.is_memo_new(Some("creating")));
}

#[test]
fn the_eleventh_change_has_to_wait() {
    let mut story = story();
    for size in 0..10 {
        let service = sized(&size.to_string());
        assert!(matches!(story.next_step(&service), Continue(_)));
        for _ in 0..5 {
            assert_eq!(story.next_step(&service), asks(Cause::Service, false), "a second try");
        }
        story.answered(&service, AnswerMeaning::Ready);
        story.backends = backends(&[if size % 2 == 0 { "n1" } else { "n2" }]);
        assert_eq!(story.next_step(&service), asks(Cause::Backends, true), "an update");
        story.answered(&service, AnswerMeaning::Ready);
    }
    assert_eq!(story.next_step(&sized("x")), Break(NextStep::After(10 * SECOND)));
    assert_eq!(story.next_step(&sized("9")), Break(NextStep::Done), "what was asked for last is there");
    story.now += 10 * SECOND;
    assert_eq!(story.next_step(&sized("x")), asks(Cause::Service, false));
}

#[test]
fn adv_105_a_node_that_comes_and_goes_has_ten_updates_at_once() {
    let (mut story, service) = (story(), sized("1"));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    let flip = |story: &mut Story, nth: usize| {
        story.backends = backends(if nth.is_multiple_of(2) { &["n1"] } else { &["n1", "n2"] });
        let next_step = story.next_step(&service);
        if matches!(next_step, Continue(_)) {
            story.answered(&service, AnswerMeaning::Ready);
        }
        next_step
    };
    for nth in 0..10 {
        assert_eq!(flip(&mut story, nth), asks(Cause::Backends, true));
    }
    assert_eq!(flip(&mut story, 10), Break(NextStep::After(10 * SECOND)));
    assert_eq!(flip(&mut story, 11), Break(NextStep::Done), "as it was asked for last");
    story.now += 10 * SECOND;
    assert_eq!(flip(&mut story, 12), asks(Cause::Backends, true));
    assert_eq!(story.next_step(&sized("2")), asks(Cause::Service, false), "its author is not held up");
}

#[test]
fn adv_105_flips_do_not_hurry_what_the_cloud_refuses() {
    let (mut story, service) = (story(), sized("1"));
    let _ = story.next_step(&service);
    let mut asked = 0;
    for nth in 0..100 {
        story.of(&service).shows("HTTP 422", FailureKind::InvalidSpec);
        story.backends = backends(if nth % 2 == 0 { &["n1"] } else { &["n1", "n2"] });
        asked += usize::from(matches!(story.next_step(&service), Continue(_)));
    }
    // What is as it was asked about last is a second try, with pauses of its own.
    assert!(asked <= 10 + 50, "{asked}");
}

#[test]
fn our_own_write_is_no_change() {
    let (mut story, before) = (story(), service(json!({})));
    let _ = story.next_step(&before);
    let mut change = with_load_balancer();
    change["metadata"]["annotations"] = json!({ ID: "lb-1" });
    let after = version("8", change);
    let (desired_before, desired_after) = (compared(&before), compared(&after));
    assert_ne!(desired_before, desired_after, "the provider reads what it writes");
    let state = story.of(&before);
    state.work.memo = Some("lb-1".to_owned());
    state.work.unwritten = Some(Unwritten::new(LoadBalancerStatus::default(), None, AnswerMeaning::Ready));
    state.end(&Arc::new(after.clone()), Some(&desired_before), Some(desired_after.clone()));
    assert_eq!(state.effect(&before, Some(&desired_before), false), EventEffect::None, "the watch is late");
    assert_eq!(state.effect(&after, Some(&desired_after), false), EventEffect::None, "the watch has seen our write");
    assert_eq!(story.next_step(&after), Break(NextStep::Done));
}

#[test]
fn a_change_during_a_call_is_still_a_change() {
    let (mut story, before) = (story(), service(json!({})));
    let _ = story.next_step(&before);
    let meanwhile = sized("2");
    let desired_meanwhile = compared(&meanwhile);
    let state = story.of(&before);
    state.work.unwritten = Some(Unwritten::new(LoadBalancerStatus::default(), None, AnswerMeaning::Ready));
    state.end(&Arc::new(meanwhile.clone()), Some(&desired_meanwhile), Some(desired_meanwhile.clone()));
    assert_eq!(state.effect(&meanwhile, Some(&desired_meanwhile), false), EventEffect::Add);
    assert_eq!(story.next_step(&meanwhile), asks(Cause::Service, false));
}

#[test]
fn the_watch_may_lag_behind_what_we_wrote() {
    let (mut story, old) = (story(), Arc::new(version("9", json!({}))));
    let written = Arc::new(version("10", with_load_balancer()));
    let state = story.of(&old);
    let _ = state.next_step(&compared(&old), &Arc::default(), Instant::now());
    state.work.memo = Some("lb-1".to_owned());
    state.wrote(&written);
    assert!(Arc::ptr_eq(&state.newest(old.clone()), &written), "9 is older than 10");
    assert_eq!(state.effect(&old, Some(&compared(&old)), false), EventEffect::None);
    assert!(Arc::ptr_eq(&state.newest(old.clone()), &written));
    let newer = Arc::new(version("11", with_load_balancer()));
    assert!(Arc::ptr_eq(&state.newest(newer.clone()), &newer));
    assert_eq!(state.effect(&newer, Some(&compared(&newer)), false), EventEffect::None);
    assert!(state.observed.written.is_none(), "the watch has caught up");
}

#[test]
fn a_memo_that_somebody_else_writes_or_removes_is_a_change() {
    let (mut story, service) = (story(), service(with_load_balancer()));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    let desired = compared(&service);
    let state = story.of(&service);
    assert_eq!(state.effect(&service, Some(&desired), false), EventEffect::None);
    let without = version("8", json!({}));
    assert_eq!(state.effect(&without, Some(&desired), false), EventEffect::Add);
    state.work.unwritten = Some(Unwritten::new(LoadBalancerStatus::default(), None, AnswerMeaning::MemoOnly));
    assert_eq!(
        state.effect(&without, Some(&desired), false),
        EventEffect::AddIfIdle,
        "it is about to be written, after a pause"
    );
}

#[test]
fn a_wait_is_recorded_and_restarts_with_a_change() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    let (start, later) = (story.now, story.now + 120 * SECOND);
    story.of(&service).wait("it is being built", start);
    story.answered(&service, AnswerMeaning::Pending(later));
    let (is_announced, longest) = story.states.long_pending(later);
    assert_eq!((is_announced.len(), longest), (1, 120 * SECOND));
    assert_eq!(is_announced[0].0.name.as_deref(), Some("s1"));
    let _ = story.next_step(&sized("2"));
    assert_eq!(story.states.long_pending(later).1, Duration::ZERO, "another value is worked on");
    story.of(&service).wait("it is being changed", later);
    story.answered(&sized("2"), AnswerMeaning::Ready);
    assert_eq!(story.states.long_pending(later + SECOND).1, Duration::ZERO);
}

#[test]
fn unknown_annotations_are_new_once_for_each_set() {
    let (mut story, service) = (story(), service(json!({})));
    let state = story.of(&service);
    let effect = [&[][..], &["a"], &["a"], &["a", "b"], &["a", "b"], &[], &["a"]].map(|it| state.are_new(it));
    assert_eq!(effect, [false, true, false, true, false, false, true]);
}

#[test]
fn an_outdated_answer_gives_its_memo_alone() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    let (desired, other, until) = (compared(&service), compared(&sized("2")), story.now + SECOND);
    let annotations = vec![(ID.to_owned(), "lb-1".to_owned())];
    let status = LoadBalancerStatus { memo: Some("lb-1".to_owned()), annotations, ..LoadBalancerStatus::default() };
    let state = story.of(&service);
    for (then, [same, changed, unwanted]) in [
        (AnswerMeaning::Ready, [true, false, false]),
        (AnswerMeaning::Pending(until), [true, false, false]),
        (AnswerMeaning::Deleting(until), [false, false, true]),
        (AnswerMeaning::MemoOnly, [true, true, true]),
    ] {
        let mut unwritten = Unwritten::new(status.clone(), None, then);
        let answered = [Some(&desired), Some(&other), None].map(|it| unwritten.answers(Some(&desired), it));
        assert_eq!(answered, [same, changed, unwanted], "{then:?}");
        state.work.unwritten = Some(unwritten.clone());
        state.drop_outdated_answer(Some(&other));
        assert_eq!(state.work.unwritten.as_ref().unwrap().then == then, changed, "{then:?}");
        unwritten.keep_only_memo();
        state.work.unwritten = Some(unwritten);
        let kept = state.work.unwritten.as_ref().unwrap();
        assert_eq!((kept.then, kept.status.annotations.len()), (AnswerMeaning::MemoOnly, 0));
        assert_eq!(kept.status.memo.as_deref(), Some("lb-1"));
    }
}

#[test]
fn a_deletion_begins_once_and_ends_everything() {
    let (mut story, service) = (story(), service(with_load_balancer()));
    let _ = story.next_step(&service);
    story.answered(&service, AnswerMeaning::Ready);
    let (now, desired) = (story.now, compared(&service));
    let state = story.of(&service);
    assert_eq!(state.effect(&service, None, true), EventEffect::AddDespitePause);
    assert_eq!(state.vanished(), EventEffect::AddDespitePause);
    assert!(state.begin_deletion(&desired, now));
    assert!(!state.begin_deletion(&desired, now));
    state.follow(AnswerMeaning::Deleting(now + 5 * SECOND));
    assert_eq!(state.deleting(now), Some(5 * SECOND));
    assert_eq!(state.deleting_until(), Some(now + 5 * SECOND));
    let later = AnswerMeaning::Deleting(now + 7 * SECOND);
    state.work.unwritten = Some(Unwritten::new(LoadBalancerStatus::default(), None, later));
    assert_eq!(
        state.deleting_until(),
        Some(now + 7 * SECOND),
        "as the last answer says, although it is still to be written"
    );
    state.work.unwritten = None;
    assert_eq!(state.deleting(now + 5 * SECOND), None);
    assert_eq!(state.effect(&service, None, true), EventEffect::AddIfIdle);
    assert_eq!(state.vanished(), EventEffect::Add, "the deletion keeps its own pause");
    assert_eq!(state.effect(&service, Some(&desired), false), EventEffect::Add, "it is wanted again");
    state.end_deletion(None);
    assert_eq!((state.may_exist(), state.work.memo.as_deref(), state.desired()), (false, None, None));
    assert_eq!(state.deleting_until(), None);
    assert_eq!(state.effect(&service, None, false), EventEffect::Forget);
}

#[test]
fn case_136_another_uid_is_another_service() {
    let (mut story, old) = (story(), service(json!({})));
    let _ = story.next_step(&old);
    let new = service(json!({ "metadata": { "uid": "another" } }));
    assert_eq!(story.of(&old).effect(&new, Some(&compared(&new)), false), EventEffect::AddDespitePause);
    assert_eq!(story.of(&new).desired(), None);
    assert_eq!(story.next_step(&new), asks(Cause::Service, true));
}

#[test]
fn an_error_for_a_person_is_shown_once() {
    let (mut story, service) = (story(), service(json!({})));
    let _ = story.next_step(&service);
    let state = story.of(&service);
    assert!(state.shows("bad", FailureKind::Denied));
    assert!(!state.shows("bad", FailureKind::Denied));
    assert!(state.shows("worse", FailureKind::Denied));
    assert!(state.shows("down", FailureKind::Transient));
    assert!(state.shows("down", FailureKind::Transient));
    let _ = story.next_step(&sized("2"));
    let state = story.of(&service);
    assert!(state.shows("worse", FailureKind::Denied), "another spec");
}

#[test]
fn a_refused_service_is_tried_again_with_other_credentials() {
    let (mut story, service) = (story(), service(json!({})));
    story.of(&service).start_work(1);
    assert!(story.states.allowed(2).is_empty(), "it was not refused");
    story.of(&service).shows("no", FailureKind::Denied);
    assert!(story.states.allowed(1).is_empty(), "they are the same");
    assert_eq!(story.states.allowed(2), ["default/s1"]);
    assert!(story.states.allowed(2).is_empty(), "once");
    story.of(&service).start_work(2);
    assert!(story.states.allowed(3).is_empty(), "nobody knows yet");
}
