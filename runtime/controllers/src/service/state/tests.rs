mod counts;

use cloud_provider::LoadBalancerStatus;
use serde_json::{Value, json};

use super::*;
use crate::inventory::machine;
use crate::service::backends::Hosts;
use crate::service::desired::wish;
use crate::service::testing::{ID, SIZE, cluster, node, service, with_load_balancer};

const SECOND: Duration = Duration::from_secs(1);

/// A Service, what is remembered of it, and a clock.
struct Story {
    memory: Memory,
    now: Instant,
    hosts: Arc<[Host]>,
}

fn story() -> Story {
    Story { memory: Memory::default(), now: Instant::now(), hosts: hosts(&["n1", "n2"]) }
}

fn hosts(names: &[&str]) -> Arc<[Host]> {
    let machines = names.iter().map(|it| machine(&node(it, json!({})))).collect();
    Hosts::of(machines, &Hosts::default()).essence
}

fn wished(service: &Service) -> LoadBalancer {
    essence(wish(service, &cluster()).unwrap())
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
    fn entry(&mut self, service: &Service) -> &mut Entry {
        self.memory.entry("default/s1", service, self.now)
    }

    fn turn(&mut self, service: &Service) -> Turn {
        let (now, hosts, wish) = (self.now, self.hosts.clone(), wished(service));
        self.entry(service).turn(&wish, &hosts, now)
    }

    /// The provider has answered, and it was written without a change of the Service.
    fn answered(&mut self, service: &Service, then: Then) -> Option<Cause> {
        let written = Arc::new(service.clone());
        let entry = self.entry(service);
        entry.unwritten = Some(Unwritten { standing: LoadBalancerStatus::default(), carried: None, then });
        entry.end(&written, Some(&wished(service)), Some(wished(service)))
    }
}

fn asks(cause: Cause, new_hosts: bool) -> Turn {
    Turn::Ask { cause, new_hosts }
}

#[test]
fn what_is_fulfilled_is_not_asked_for_again() {
    let (mut story, service) = (story(), service(json!({})));
    assert_eq!(story.turn(&service), asks(Cause::Service, true));
    assert_eq!(story.answered(&service, Then::Served), Some(Cause::Service));
    assert_eq!(story.turn(&service), Turn::Rest);
    assert_eq!(story.turn(&sized("2")), asks(Cause::Service, false));
}

#[test]
fn other_nodes_are_a_cause_of_their_own() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    story.answered(&service, Then::Served);
    story.hosts = hosts(&["n1", "n2", "n3"]);
    assert_eq!(story.turn(&service), asks(Cause::Hosts, true));
    assert_eq!(story.answered(&service, Then::Served), Some(Cause::Hosts));
    story.hosts = hosts(&["n1"]);
    assert_eq!(story.turn(&sized("2")), asks(Cause::Service, true), "the Service has changed as well");
}

#[test]
fn case_156_the_same_nodes_are_no_cause() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    story.answered(&service, Then::Served);
    story.hosts = hosts(&["n2", "n1"]);
    assert_eq!(story.turn(&service), Turn::Rest);
}

#[test]
fn an_update_that_failed_is_tried_again_for_the_whole_service() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    story.answered(&service, Then::Served);
    story.hosts = hosts(&["n1"]);
    assert_eq!(story.turn(&service), asks(Cause::Hosts, true));
    assert_eq!(story.turn(&service), asks(Cause::Service, false));
}

#[test]
fn what_is_pending_waits_whatever_wakes_it_and_a_change_does_not() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    let until = story.now + 30 * SECOND;
    assert_eq!(story.answered(&service, Then::Pending(until)), None);
    story.now += 10 * SECOND;
    assert_eq!(story.turn(&service), Turn::Wait(20 * SECOND));
    story.hosts = hosts(&["n1"]);
    assert_eq!(story.turn(&service), Turn::Wait(20 * SECOND), "the next call sees the nodes as they are by then");
    story.now += 20 * SECOND;
    assert_eq!(story.turn(&service), asks(Cause::Service, false));
    story.answered(&service, Then::Pending(story.now + 30 * SECOND));
    assert_eq!(story.turn(&sized("2")), asks(Cause::Service, false));
}

#[test]
fn an_update_that_takes_its_time_stays_an_update() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    story.answered(&service, Then::Served);
    story.hosts = hosts(&["n1"]);
    story.turn(&service);
    story.answered(&service, Then::Pending(story.now));
    assert_eq!(story.turn(&service), asks(Cause::Hosts, false));
    assert_eq!(story.answered(&service, Then::Served), Some(Cause::Hosts));
}

#[test]
fn other_nodes_bring_forward_what_they_may_heal() {
    let (mut story, service) = (story(), service(json!({})));
    story.hosts = hosts(&[]);
    story.turn(&service);
    let (one, other) = (hosts(&["n1"]), hosts(&["n2"]));
    assert!(story.entry(&service).lacks(&one), "it failed without any nodes");
    story.hosts = one.clone();
    story.turn(&service);
    assert!(!story.entry(&service).lacks(&other), "it failed with nodes, and backs off");
    story.entry(&service).shows("only wrong nodes", Obstacle::Wish);
    assert!(story.entry(&service).lacks(&other), "other nodes may be right");
    assert!(!story.entry(&service).lacks(&one));
    story.answered(&service, Then::Pending(story.now + SECOND));
    assert!(!story.entry(&service).lacks(&other), "it comes back by itself");
    story.answered(&service, Then::Served);
    assert!(story.entry(&service).lacks(&other));
    assert!(!story.entry(&service).lacks(&one));
}

#[test]
fn a_beginning_is_told_once_for_each_wish() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    assert!(story.entry(&service).tells());
    assert!(!story.entry(&service).tells());
    story.turn(&service);
    assert!(!story.entry(&service).tells(), "a second try is none");
    story.turn(&sized("2"));
    assert!(story.entry(&service).tells());
    story.answered(&sized("2"), Then::Served);
    story.hosts = hosts(&["n1"]);
    story.turn(&sized("2"));
    assert!(!story.entry(&service).tells(), "an update is none");
}

#[test]
fn the_eleventh_change_has_to_wait_and_tries_and_updates_do_not_count() {
    let mut story = story();
    for size in 0..10 {
        let service = sized(&size.to_string());
        assert!(matches!(story.turn(&service), Turn::Ask { .. }));
        for _ in 0..5 {
            assert_eq!(story.turn(&service), asks(Cause::Service, false), "a second try");
        }
        story.answered(&service, Then::Served);
        story.hosts = hosts(&[if size % 2 == 0 { "n1" } else { "n2" }]);
        assert_eq!(story.turn(&service), asks(Cause::Hosts, true), "an update");
        story.answered(&service, Then::Served);
    }
    assert_eq!(story.turn(&sized("x")), Turn::Wait(10 * SECOND));
    assert_eq!(story.turn(&sized("9")), Turn::Rest, "what was asked for last is there");
    story.now += 10 * SECOND;
    assert_eq!(story.turn(&sized("x")), asks(Cause::Service, false));
}

#[test]
fn adv_105_a_node_that_comes_and_goes_has_ten_updates_at_once() {
    let (mut story, service) = (story(), sized("1"));
    story.turn(&service);
    story.answered(&service, Then::Served);
    let flip = |story: &mut Story, nth: usize| {
        story.hosts = hosts(if nth.is_multiple_of(2) { &["n1"] } else { &["n1", "n2"] });
        let turn = story.turn(&service);
        if matches!(turn, Turn::Ask { .. }) {
            story.answered(&service, Then::Served);
        }
        turn
    };
    for nth in 0..10 {
        assert_eq!(flip(&mut story, nth), asks(Cause::Hosts, true));
    }
    assert_eq!(flip(&mut story, 10), Turn::Wait(10 * SECOND));
    assert_eq!(flip(&mut story, 11), Turn::Rest, "as it was asked for last");
    story.now += 10 * SECOND;
    assert_eq!(flip(&mut story, 12), asks(Cause::Hosts, true));
    assert_eq!(story.turn(&sized("2")), asks(Cause::Service, false), "its author is not held up");
}

#[test]
fn adv_105_flips_do_not_hurry_what_the_cloud_refuses() {
    let (mut story, service) = (story(), sized("1"));
    story.turn(&service);
    let mut asked = 0;
    for nth in 0..100 {
        story.entry(&service).shows("HTTP 422", Obstacle::Wish);
        story.hosts = hosts(if nth % 2 == 0 { &["n1"] } else { &["n1", "n2"] });
        asked += usize::from(matches!(story.turn(&service), Turn::Ask { .. }));
    }
    // What is as it was asked about last is a second try, with pauses of its own.
    assert!(asked <= 10 + 50, "{asked}");
}

#[test]
fn what_we_write_ourselves_is_no_change() {
    let (mut story, before) = (story(), service(json!({})));
    story.turn(&before);
    let mut change = with_load_balancer();
    change["metadata"]["annotations"] = json!({ ID: "lb-1" });
    let after = version("8", change);
    let (wished_before, wished_after) = (wished(&before), wished(&after));
    assert_ne!(wished_before, wished_after, "the provider reads what it writes");
    let entry = story.entry(&before);
    entry.memo = Some("lb-1".to_owned());
    entry.unwritten = Some(Unwritten { standing: LoadBalancerStatus::default(), carried: None, then: Then::Served });
    entry.end(&Arc::new(after.clone()), Some(&wished_before), Some(wished_after.clone()));
    assert_eq!(entry.news(&before, Some(&wished_before), false), News::None, "the watch is late");
    assert_eq!(entry.news(&after, Some(&wished_after), false), News::None, "the watch has seen our write");
    assert_eq!(story.turn(&after), Turn::Rest);
}

#[test]
fn what_changed_during_a_call_is_still_a_change() {
    let (mut story, before) = (story(), service(json!({})));
    story.turn(&before);
    let meanwhile = sized("2");
    let wished_meanwhile = wished(&meanwhile);
    let entry = story.entry(&before);
    entry.unwritten = Some(Unwritten { standing: LoadBalancerStatus::default(), carried: None, then: Then::Served });
    entry.end(&Arc::new(meanwhile.clone()), Some(&wished_meanwhile), Some(wished_meanwhile.clone()));
    assert_eq!(entry.news(&meanwhile, Some(&wished_meanwhile), false), News::Different);
    assert_eq!(story.turn(&meanwhile), asks(Cause::Service, false));
}

#[test]
fn the_watch_may_lag_behind_what_we_wrote() {
    let (mut story, old) = (story(), Arc::new(version("9", json!({}))));
    let written = Arc::new(version("10", with_load_balancer()));
    let entry = story.entry(&old);
    entry.memo = Some("lb-1".to_owned());
    entry.wish = Some(wished(&old));
    entry.wrote(&written);
    assert!(Arc::ptr_eq(&entry.newest(old.clone()), &written), "9 is older than 10");
    assert_eq!(entry.news(&old, Some(&wished(&old)), false), News::None);
    assert!(Arc::ptr_eq(&entry.newest(old.clone()), &written));
    let newer = Arc::new(version("11", with_load_balancer()));
    assert!(Arc::ptr_eq(&entry.newest(newer.clone()), &newer));
    assert_eq!(entry.news(&newer, Some(&wished(&newer)), false), News::None);
    assert!(entry.written.is_none(), "the watch has caught up");
}

#[test]
fn a_memo_that_somebody_else_writes_or_removes_is_news() {
    let (mut story, service) = (story(), service(with_load_balancer()));
    story.turn(&service);
    story.answered(&service, Then::Served);
    let wish = wished(&service);
    let entry = story.entry(&service);
    assert_eq!(entry.news(&service, Some(&wish), false), News::None);
    let without = version("8", json!({}));
    assert_eq!(entry.news(&without, Some(&wish), false), News::Different);
    entry.unwritten = Some(Unwritten { standing: LoadBalancerStatus::default(), carried: None, then: Then::Restored });
    assert_eq!(entry.news(&without, Some(&wish), false), News::Same, "it is about to be written, after a pause");
}

#[test]
fn a_wait_is_told_while_it_lasts_and_begins_anew_with_a_change() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    let (start, later) = (story.now, story.now + 120 * SECOND);
    story.entry(&service).wait("it is being built", start);
    story.answered(&service, Then::Pending(later));
    let (told, longest) = story.memory.long_waits(later);
    assert_eq!((told.len(), longest), (1, 120 * SECOND));
    assert_eq!(told[0].0.name.as_deref(), Some("s1"));
    story.turn(&sized("2"));
    assert_eq!(story.memory.long_waits(later).1, Duration::ZERO, "another value is worked on");
    story.entry(&service).wait("it is being changed", later);
    story.answered(&sized("2"), Then::Served);
    assert_eq!(story.memory.long_waits(later + SECOND).1, Duration::ZERO);
}

#[test]
fn unknown_annotations_are_news_once_for_each_set() {
    let (mut story, service) = (story(), service(json!({})));
    let entry = story.entry(&service);
    let news = [&[][..], &["a"], &["a"], &["a", "b"], &["a", "b"], &[], &["a"]].map(|it| entry.are_news(it));
    assert_eq!(news, [false, true, false, true, false, false, true]);
}

#[test]
fn of_an_answer_that_is_outdated_only_the_memo_is_kept() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    let (wish, other, until) = (wished(&service), wished(&sized("2")), story.now + SECOND);
    let annotations = vec![(ID.to_owned(), "lb-1".to_owned())];
    let standing = LoadBalancerStatus { memo: Some("lb-1".to_owned()), annotations, ..LoadBalancerStatus::default() };
    let entry = story.entry(&service);
    for (then, [same, changed, unwanted]) in [
        (Then::Served, [true, false, false]),
        (Then::Pending(until), [true, false, false]),
        (Then::Deleting(until), [false, false, true]),
        (Then::Restored, [true, true, true]),
    ] {
        entry.unwritten = Some(Unwritten { standing: standing.clone(), carried: None, then });
        let answered = [Some(&wish), Some(&other), None].map(|it| entry.is_answered(it));
        assert_eq!(answered, [same, changed, unwanted], "{then:?}");
        entry.keep_only_memo();
        let kept = entry.unwritten.as_ref().unwrap();
        assert_eq!((kept.then, kept.standing.annotations.len()), (Then::Restored, 0));
        assert_eq!(kept.standing.memo.as_deref(), Some("lb-1"));
    }
}

#[test]
fn a_deletion_begins_once_and_ends_everything() {
    let (mut story, service) = (story(), service(with_load_balancer()));
    story.turn(&service);
    story.answered(&service, Then::Served);
    let (now, wish) = (story.now, wished(&service));
    let entry = story.entry(&service);
    assert_eq!(entry.news(&service, None, true), News::Unwanted);
    assert_eq!(entry.vanished(), News::Unwanted);
    assert!(entry.begin_deletion(&wish, now));
    assert!(!entry.begin_deletion(&wish, now));
    entry.follow(Then::Deleting(now + 5 * SECOND));
    assert_eq!(entry.deleting(now), Some(5 * SECOND));
    assert_eq!(entry.deleting(now + 5 * SECOND), None);
    assert_eq!(entry.news(&service, None, true), News::Same);
    assert_eq!(entry.vanished(), News::Different, "the deletion keeps its own pause");
    assert_eq!(entry.news(&service, Some(&wish), false), News::Different, "it is wanted again");
    entry.end_deletion();
    assert_eq!((entry.may_stand, entry.memo.as_deref(), entry.wish.as_ref()), (false, None, None));
    assert_eq!(entry.news(&service, None, false), News::Over);
}

#[test]
fn case_136_another_service_with_the_same_name_is_another_service() {
    let (mut story, old) = (story(), service(json!({})));
    story.turn(&old);
    let new = service(json!({ "metadata": { "uid": "another" } }));
    assert_eq!(story.entry(&old).news(&new, Some(&wished(&new)), false), News::Unwanted);
    assert_eq!(story.entry(&new).wish, None);
    assert_eq!(story.turn(&new), asks(Cause::Service, true));
}

#[test]
fn what_waits_for_a_person_is_shown_once_and_anything_else_each_time() {
    let (mut story, service) = (story(), service(json!({})));
    story.turn(&service);
    let entry = story.entry(&service);
    assert!(entry.shows("bad", Obstacle::Right));
    assert!(!entry.shows("bad", Obstacle::Right));
    assert!(entry.shows("worse", Obstacle::Right));
    assert!(entry.shows("down", Obstacle::Time));
    assert!(entry.shows("down", Obstacle::Time));
    story.turn(&sized("2"));
    let entry = story.entry(&service);
    assert!(entry.shows("worse", Obstacle::Right), "another wish");
}

#[test]
fn what_was_refused_is_tried_again_with_other_credentials() {
    let (mut story, service) = (story(), service(json!({})));
    story.entry(&service).begin(1);
    assert!(story.memory.allowed(2).is_empty(), "it was not refused");
    story.entry(&service).shows("no", Obstacle::Right);
    assert!(story.memory.allowed(1).is_empty(), "they are the same");
    assert_eq!(story.memory.allowed(2), ["default/s1"]);
    assert!(story.memory.allowed(2).is_empty(), "once");
    story.entry(&service).begin(2);
    assert!(story.memory.allowed(3).is_empty(), "nobody knows yet");
}
