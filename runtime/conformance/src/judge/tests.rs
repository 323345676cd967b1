mod claims;
mod machines;
mod others;
mod routes;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Description, InventoryItem, MarkedOwner, Proof, Setting};
use serde_json::{Value, json};

use super::*;
use crate::protocol::{ArrivedRequest, CloudObject, How};
use crate::transcript::{Forgery, Inventories, KeptListing, Life, Part, RecordedCall, SaidAnswer, Touched, Wrong};
use crate::trouble::{Phase, Trouble};

fn transcript() -> Transcript {
    Transcript {
        description: Arc::new(Description::default()),
        wrong: Vec::new(),
        machines: None,
        lives: None,
        node_change: None,
        thefts: None,
        shared: None,
        forgeries: None,
        inventories: None,
        touched: None,
        versions: None,
        routes: None,
        volumes: None,
        claims: None,
    }
}

fn sentences(judgement: PromiseJudgement) -> Vec<String> {
    match judgement {
        PromiseJudgement::Tried(findings) => findings.into_iter().map(|it| it.sentence).collect(),
        PromiseJudgement::Untried(why) => panic!("not tried: {why}"),
    }
}

fn object(id: &str, body: Value) -> CloudObject {
    CloudObject { kind: "load balancer".to_owned(), id: id.to_owned(), name: String::new(), body }
}

fn read(line: &str) -> ArrivedRequest {
    ArrivedRequest { line: line.to_owned(), writes: false, status: Some(200) }
}

fn write(line: &str) -> ArrivedRequest {
    ArrivedRequest { writes: true, ..read(line) }
}

fn call(said: SaidAnswer, requests: Vec<ArrivedRequest>) -> RecordedCall {
    RecordedCall { function: "ensure", said, requests, events: Vec::new() }
}

fn ready() -> SaidAnswer {
    SaidAnswer::Ready { memo: Some("7".to_owned()), ingress: vec!["192.0.2.7".to_owned()] }
}

fn pending() -> SaidAnswer {
    SaidAnswer::Pending { memo: Some("7".to_owned()), after: Duration::from_secs(1), reason: "it is built".to_owned() }
}

fn error(text: &str, is_final: bool) -> SaidAnswer {
    SaidAnswer::Error(Wrong { is_final, text: text.to_owned() })
}

/// A life in which nothing is wrong, with one object.
fn life(trouble: Option<Trouble>) -> Life {
    let part = |phase, said: SaidAnswer, after: Vec<CloudObject>| Part {
        phase,
        again: Some(call(said.clone(), vec![read("GET /7")])),
        calls: vec![call(said, vec![read("GET /7")])],
        is_given_up: false,
        after,
    };
    let parts = vec![
        part(Phase::Create, ready(), vec![object("7", json!(1))]),
        part(Phase::Change, ready(), vec![object("7", json!(2))]),
        part(Phase::Delete, SaidAnswer::Done, Vec::new()),
    ];
    Life { trouble, uid: "uid".to_owned(), cloud: 0, before: Vec::new(), parts }
}

fn lost() -> Option<Trouble> {
    Some(Trouble { nth: 2, how: How::LostAfter, lists_lag: false, gives_up: false })
}

fn of_lives(lives: Vec<Life>) -> Transcript {
    Transcript { lives: Some(lives), ..transcript() }
}

#[test]
fn a_life_in_which_nothing_is_wrong_breaks_nothing() {
    let whole = of_lives(vec![life(None), life(lost())]);
    for judge in [
        lives::ensure_converges,
        lives::nothing_twice,
        lives::creation_is_announced,
        lives::ready_writes_nothing,
        lives::pending_moves_on,
        lives::waits_are_pending,
        lives::memo_is_kept,
        errors::errors_are_tried_again,
        lives::refusals_are_final,
        lives::delete_converges,
        lives::nothing_left,
        lives::done_only_when_gone,
        lives::gone_is_done,
    ] {
        assert_eq!(judge(&whole), PromiseJudgement::Tried(Vec::new()));
    }
}

#[test]
fn a_life_that_does_not_end_is_told_with_its_last_answer() {
    let mut stuck = life(lost());
    stuck.parts[0].calls = vec![call(pending(), Vec::new()), call(pending(), Vec::new())];
    let told = lives::ensure_converges(&of_lives(vec![life(None), stuck.clone()]));
    let expected = "create: after 2 calls it is not ready, but pending (it is built)";
    assert_eq!(told, PromiseJudgement::Tried(vec![finding("request 2 carried out, and its answer lost", expected)]));
    let told = sentences(lives::pending_moves_on(&of_lives(vec![stuck])));
    assert_eq!(told, ["create: after 2 calls it is still pending (it is built)"]);
    let mut kept = life(None);
    kept.parts[2].calls = vec![call(SaidAnswer::Kept("protected".to_owned()), Vec::new())];
    let told = sentences(lives::delete_converges(&of_lives(vec![kept])));
    assert_eq!(told, ["delete: after 1 calls it is not done, but kept (protected)"]);
}

#[test]
fn a_deletion_before_it_is_ready_leaves_nothing() {
    let mut given_up = life(lost());
    given_up.parts.remove(1);
    given_up.parts[0].calls = vec![call(pending(), Vec::new())];
    given_up.parts[0].is_given_up = true;
    let lives = of_lives(vec![life(None), given_up.clone()]);
    assert_eq!(sentences(lives::ensure_converges(&lives)), [""; 0]);
    assert_eq!(sentences(lives::pending_moves_on(&lives)), [""; 0]);
    given_up.parts[1].after = vec![object("7", json!(1))];
    let lives = of_lives(vec![life(None), given_up]);
    assert_eq!(sentences(lives::nothing_left(&lives)), ["done, and load balancer 7  is left"]);
}

#[test]
fn one_more_than_when_nothing_goes_wrong_is_one_too_many() {
    let mut twice = life(lost());
    twice.parts[0].after.push(object("8", json!(1)));
    let told = sentences(lives::nothing_twice(&of_lives(vec![life(None), twice])));
    assert_eq!(told, ["after create: 2 of load balancer, where 1 is right"]);
    let mut others = life(lost());
    others.before.push(object("8", json!(1)));
    others.parts[0].after.push(object("8", json!(1)));
    others.parts[1].after.push(object("8", json!(1)));
    assert_eq!(sentences(lives::nothing_twice(&of_lives(vec![life(None), others]))), [""; 0], "it was there before");
}

#[test]
fn a_change_that_makes_another_one_is_told() {
    let mut replaced = life(None);
    replaced.parts[1].after = vec![object("8", json!(2))];
    let told = sentences(lives::nothing_twice(&of_lives(vec![replaced])));
    assert_eq!(told, ["a change has replaced load balancer 7"]);
}

#[test]
fn a_leftover_object_is_named() {
    let mut left = life(None);
    left.parts[2].after = vec![object("7", json!(1))];
    assert_eq!(sentences(lives::nothing_left(&of_lives(vec![left]))), ["done, and load balancer 7  is left"]);
}

#[test]
fn a_ready_load_balancer_is_not_written_again() {
    let mut again = life(None);
    again.parts[0].again = Some(call(ready(), vec![read("GET /7"), write("PUT /7")]));
    let told = sentences(lives::ready_writes_nothing(&of_lives(vec![again])));
    assert_eq!(told, ["it was ready after create, and the next ensure sends PUT /7"]);
}

#[test]
fn a_wait_within_a_call_and_one_of_no_time_are_told() {
    let told = |calls: Vec<RecordedCall>| {
        let mut waits = life(None);
        waits.parts[0].calls = calls;
        sentences(lives::waits_are_pending(&of_lives(vec![waits])))
    };
    let asks =
        |times: usize| call(ready(), [vec![write("POST /"), read("GET /8")], vec![read("GET /7"); times]].concat());
    assert_eq!(told(vec![asks(10)]), [""; 0], "a list may have pages");
    assert_eq!(told(vec![asks(11)]), ["create: one call of ensure sends GET /7 11 times in a row"]);
    let at_once = |memo: &str, requests| {
        let (memo, after, reason) = (Some(memo.to_owned()), Duration::ZERO, "it is built".to_owned());
        call(SaidAnswer::Pending { memo, after, reason }, requests)
    };
    let hurry = ["create: ensure has nothing new, and asks to be called at once: pending (it is built)"];
    assert_eq!(told(vec![at_once("7", vec![]), at_once("7", vec![read("GET /7")])]), hurry);
    assert_eq!(told(vec![at_once("6", vec![]), at_once("7", vec![read("GET /7")])]), [""; 0], "the memo is new");
    assert_eq!(told(vec![at_once("7", vec![]), at_once("7", vec![write("PUT /7")])]), [""; 0], "a step was made");
    assert_eq!(told(vec![call(pending(), vec![]), call(pending(), vec![read("GET /7")])]), [""; 0]);
}

#[test]
fn a_memo_that_moves_and_one_of_two_services_are_told() {
    let mut moved = life(None);
    let other = SaidAnswer::Ready { memo: Some("8".to_owned()), ingress: Vec::new() };
    moved.parts[0].again = Some(call(other, Vec::new()));
    let told = sentences(lives::memo_is_kept(&of_lives(vec![moved])));
    assert!(told.len() == 1 && told[0].contains("\"7\"") && told[0].contains("\"8\""), "{told:?}");
    let other = Life { uid: "another".to_owned(), ..life(lost()) };
    let told = sentences(lives::memos_differ(&of_lives(vec![life(None), other])));
    assert_eq!(told, ["two Services have the memo \"7\""]);
}

#[test]
fn an_error_that_passes_is_not_final() {
    let with = |said| {
        let mut failed = life(lost());
        failed.parts[0].calls.insert(0, call(said, Vec::new()));
        sentences(errors::errors_are_tried_again(&of_lives(vec![life(None), failed])))
    };
    assert_eq!(with(error("500", false)), [""; 0]);
    assert_eq!(with(error("500", true)), ["create: it passes, and is told as one that does not: 500"]);
}

#[test]
fn a_refusal_that_would_be_tried_for_ever_is_told() {
    let with = |how, status, is_final| {
        let mut refused = life(Some(Trouble { nth: 1, how, lists_lag: false, gives_up: false }));
        let sent = ArrivedRequest { status: Some(status), ..write("POST /") };
        let said = SaidAnswer::Failed { memo: None, wrong: Wrong { is_final, text: "no".to_owned() } };
        refused.parts[0].calls.insert(0, call(said, vec![sent]));
        let lives = of_lives(vec![life(None), refused]);
        [sentences(lives::refusals_are_final(&lives)).len(), sentences(errors::errors_are_tried_again(&lives)).len()]
    };
    assert_eq!([with(How::Refused, 422, false), with(How::Refused, 422, true)], [[1, 0], [0, 0]]);
    assert_eq!([with(How::Failed, 500, false), with(How::Failed, 500, true)], [[0, 0], [0, 1]]);
}

#[test]
fn a_mark_that_an_author_has_written_is_named() {
    let tags = |all: &[(&str, &str)]| all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let with = |made: &[(&str, &str)]| {
        let forgery = Forgery {
            title: "a forger".to_owned(),
            honest: tags(&[("cluster", "c"), ("service", "own")]),
            victim: tags(&[("cluster", "c"), ("service", "other"), ("team", "blue")]),
            made: vec![("load balancer 7".to_owned(), tags(made))],
        };
        sentences(thefts::marks_are_not_forged(&Transcript { forgeries: Some(vec![forgery]), ..transcript() }))
    };
    assert_eq!(with(&[("cluster", "c"), ("service", "own"), ("team", "blue")]), [""; 0]);
    assert_eq!(with(&[("service", "other")]), ["load balancer 7 has the other's mark service=other"]);
}

#[test]
fn a_deletion_that_only_the_host_refuses_is_told() {
    let mut swallowed = life(lost());
    let text = "DELETE /7 was answered with 500, and the provider answers that the load balancer is gone: that is not believed";
    swallowed.parts[2].calls.insert(0, call(error(text, false), Vec::new()));
    let told = sentences(lives::done_only_when_gone(&of_lives(vec![swallowed])));
    assert!(told.len() == 1 && told[0].contains("which only the host prevents"), "{told:?}");
    let mut gone = life(None);
    gone.parts[2].again = Some(call(error("not found", false), Vec::new()));
    let told = sentences(lives::gone_is_done(&of_lives(vec![gone])));
    assert_eq!(told, ["it was gone, and the next delete answers an error (not found)"]);
}

#[test]
fn a_write_without_a_memo_is_told_by_the_hosts_warnings() {
    let with = |event: &str| {
        let mut told = life(None);
        let first = RecordedCall { events: vec![event.to_owned()], ..call(pending(), vec![write("POST /")]) };
        told.parts[0].calls.insert(0, first);
        sentences(lives::creation_is_announced(&of_lives(vec![told]))).len()
    };
    assert_eq!([with("MemoMissing"), with("LoadBalancerCreationUnclear")], [1, 0]);
}

#[test]
fn somebodys_change_is_looked_for_where_it_was_made() {
    let with = |after: Option<Value>| {
        let original = object("7", json!({ "labels": {}, "ports": [80] }));
        let before = object("7", json!({ "labels": { "a/b": "c" }, "ports": [80] }));
        let touched = Touched { original, before, after: after.map(|it| object("7", it)) };
        sentences(touched::rest_stays(&Transcript { touched: Some(vec![touched]), ..transcript() }))
    };
    assert_eq!(with(Some(json!({ "labels": { "a/b": "c" }, "ports": [80, 443] }))), [""; 0]);
    let told = with(Some(json!({ "labels": {}, "ports": [80, 443] })));
    assert_eq!(told, ["load balancer 7: /labels/a~1b is not as somebody has set it"]);
    assert_eq!(with(None), ["load balancer 7 is gone after a change"]);
}

#[test]
fn a_setting_that_would_hold_a_secret_is_told_by_its_name() {
    let setting = |name: &str| Setting { name: name.to_owned(), ..Setting::default() };
    let names = ["apiToken", "client-secret", "db.password", "tokenLifetime", "secretsPath", "region"];
    let description = Arc::new(Description { settings: names.map(setting).to_vec(), ..Description::default() });
    let told = sentences(description::settings_hold_no_secret(&Transcript { description, ..transcript() }));
    let named: Vec<_> = told.iter().map(|it| it.split(' ').nth(2).unwrap()).collect();
    assert_eq!(named, ["apiToken", "client-secret", "db.password"]);
}

#[test]
fn a_promise_that_was_not_played_is_not_called_kept() {
    for promise in crate::promise::PROMISES {
        let judgement = (promise.judge)(&transcript());
        let is_always_tried = ["settings-hold-no-secret", "requests-are-the-vendors"].contains(&promise.name);
        assert_eq!(matches!(judgement, PromiseJudgement::Tried(_)), is_always_tried, "{}", promise.name);
    }
}

fn item(cluster: &str, uid: &str, revision: &str) -> InventoryItem {
    let owner =
        MarkedOwner { cluster_uid: Some(cluster.to_owned()), uid: Some(uid.to_owned()), ..MarkedOwner::default() };
    InventoryItem { revision: Some(revision.to_owned()), ..InventoryItem::new("load balancer 7", owner, Proof::Unique) }
}

fn inventories() -> Inventories {
    let list = |revision| Ok(vec![item("own", "uid", revision)]);
    Inventories {
        cluster: "own".to_owned(),
        uid: "uid".to_owned(),
        memo: Some("7".to_owned()),
        at_rest: [list("1"), list("1")],
        changed: list("2"),
        elsewhere: Ok(Vec::new()),
        gone: Ok(Vec::new()),
        kept: None,
    }
}

fn found(judge: fn(&Transcript) -> PromiseJudgement, change: impl FnOnce(&mut Inventories)) -> usize {
    let mut inventories = inventories();
    change(&mut inventories);
    sentences(judge(&Transcript { inventories: Some(inventories), ..transcript() })).len()
}

#[test]
fn an_inventory_shows_what_is_ours_and_nothing_else() {
    let (ours, alone) = (inventory::shows_ours as fn(&Transcript) -> PromiseJudgement, inventory::shows_ours_alone);
    assert_eq!([found(ours, |_| ()), found(alone, |_| ())], [0, 0]);
    assert_eq!(found(ours, |it| it.at_rest[0] = Ok(Vec::new())), 1);
    assert_eq!(found(ours, |it| it.changed = Err("500".to_owned())), 1);
    assert_eq!(found(ours, |it| it.changed = Ok(vec![item("other", "uid", "2")])), 1);
    assert_eq!(found(alone, |it| it.elsewhere = Ok(vec![item("own", "uid", "1")])), 1);
    assert_eq!(found(alone, |it| it.gone = Ok(vec![item("own", "uid", "1")])), 1);
    assert_eq!(found(alone, |it| it.at_rest[0] = Ok(vec![item("other", "another", "1")])), 1);
}

#[test]
fn an_item_that_only_its_name_proves_is_known_by_its_memo() {
    let unmarked = || InventoryItem {
        memo: Some("7".to_owned()),
        ..InventoryItem::new("load balancer 7", MarkedOwner::default(), Proof::ByName)
    };
    let all = |seen: &mut Inventories| {
        seen.at_rest[0] = Ok(vec![unmarked()]);
        seen.changed = Ok(vec![unmarked()]);
        seen.elsewhere = Ok(vec![unmarked()]);
    };
    assert_eq!([found(inventory::shows_ours, all), found(inventory::shows_ours_alone, all)], [0, 0]);
    assert_eq!(found(inventory::shows_ours_alone, |it| it.gone = Ok(vec![unmarked()])), 1);
}

#[test]
fn a_protected_load_balancer_is_kept_and_listed_so() {
    let kept = || InventoryItem { kept: Some("protected".to_owned()), ..item("own", "kept", "1") };
    let with = |said, lists| {
        found(inventory::kept_is_no_orphan, |seen| {
            seen.kept = Some(KeptListing { uid: "kept".to_owned(), said: Some(said), lists });
        })
    };
    let said = || SaidAnswer::Kept("protected".to_owned());
    assert_eq!(with(said(), [Ok(vec![kept(), item("own", "other", "1")]), Ok(Vec::new())]), 0);
    assert_eq!(with(said(), [Ok(vec![kept()]), Ok(vec![item("own", "kept", "1")])]), 1);
    assert_eq!(with(SaidAnswer::Done, [Ok(vec![kept()]), Ok(vec![kept()])]), 1);
}

#[test]
fn a_revision_moves_with_changes_alone() {
    let judge = inventory::revision_tells_changes;
    assert_eq!(found(judge, |_| ()), 0);
    assert_eq!(found(judge, |it| it.at_rest[1] = Ok(vec![item("own", "uid", "9")])), 1);
    assert_eq!(found(judge, |it| it.changed = Ok(vec![item("own", "uid", "1")])), 1);
}
