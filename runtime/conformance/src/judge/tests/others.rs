//! Judges of what belongs to others, and to others too.

use crate::transcript::{SharedStory, Theft, VersionStory};

use super::*;

#[test]
fn an_object_that_a_thief_changed_or_deleted_is_named() {
    let before = vec![object("7", json!(1)), object("8", json!(1))];
    let with = |held: Vec<CloudObject>, after: Vec<CloudObject>| {
        let theft = Theft { title: "a thief".to_owned(), before: before.clone(), held, after, may_share: false };
        sentences(thefts::others_are_untouched(&Transcript { thefts: Some(vec![theft]), ..transcript() }))
    };
    assert_eq!(with(before.clone(), before.clone()), [""; 0]);
    let own = [before.clone(), vec![object("9", json!(1))]].concat();
    assert_eq!(with(own, before.clone()), [""; 0], "the thief may have one of its own");
    let changed = vec![object("7", json!(2)), object("8", json!(1))];
    assert_eq!(with(changed, before.clone()), ["its ensure has changed load balancer 7 "]);
    let changed = vec![object("7", json!(2)), object("8", json!(1))];
    let part = Theft {
        title: "a part".to_owned(),
        before: before.clone(),
        held: changed,
        after: before.clone(),
        may_share: true,
    };
    let told = |theft: Theft| {
        sentences(thefts::others_are_untouched(&Transcript { thefts: Some(vec![theft]), ..transcript() }))
    };
    assert_eq!(told(part.clone()), [""; 0], "a part in what is nobody's");
    assert_eq!(told(Theft { held: Vec::new(), ..part })[0], "its ensure has deleted load balancer 7 ");
    assert_eq!(with(before.clone(), vec![object("7", json!(1))]), ["its delete has deleted load balancer 8 "]);
    let mut life = life(lost());
    life.before = vec![object("8", json!(1))];
    let both = Transcript { thefts: Some(Vec::new()), ..of_lives(vec![life]) };
    assert_eq!(sentences(thefts::others_are_untouched(&both)), ["create has deleted load balancer 8 "]);
}

/// A story in which nothing is wrong: the second of two Services goes.
fn shared() -> SharedStory {
    let said = |memo: &str| SaidAnswer::Ready { memo: Some(memo.to_owned()), ingress: Vec::new() };
    let listener = CloudObject { kind: "listener".to_owned(), ..object("1", json!(8080)) };
    SharedStory {
        title: "a story".to_owned(),
        said: [Some(said("7")), Some(said("7/uid"))],
        before: Vec::new(),
        alone: vec![object("7", json!(1))],
        both: vec![object("7", json!(2)), listener],
        left: vec![object("7", json!(1))],
        again: call(said("7"), vec![read("GET /7")]),
        first_stays: true,
        after: Vec::new(),
    }
}

#[test]
fn one_end_that_others_feel_is_named() {
    let with = |change: &dyn Fn(&mut SharedStory)| {
        let mut story = shared();
        change(&mut story);
        let transcript = Transcript { shared: Some(vec![story]), ..transcript() };
        sentences(shares::one_end_leaves_the_others(&transcript)).pop().unwrap_or_default()
    };
    assert_eq!(with(&|_| ()), "");
    for (change, words) in [
        (&(|it: &mut SharedStory| it.said[1] = None) as &dyn Fn(&mut SharedStory), "do not get one load balancer"),
        (&|it| it.said[1] = it.said[0].clone(), "both Services have the memo \"7\""),
        (&|it| it.both.push(object("8", json!(1))), "a load balancer of its own"),
        (&|it| it.left[0].body = json!(3), "the end of the second has changed load balancer 7"),
        (&|it| it.left = it.both.clone(), "the end of the second has changed load balancer 7"),
        (&|it| it.left.push(CloudObject { kind: "pool".to_owned(), ..object("2", json!(1)) }), "its pool 2  is left"),
        (&|it| (it.left, it.first_stays) = (Vec::new(), false), "has deleted the load balancer of both"),
        (&|it| it.again.requests.push(write("PUT /7")), "whose next ensure sends PUT /7"),
        (&|it| it.again.said = pending(), "the other is not ready, but Pending"),
        (&|it| it.after = it.alone.clone(), "both are gone, and load balancer 7  is left"),
    ] {
        assert!(with(change).contains(words), "{words}: {}", with(change));
    }
}

#[test]
fn a_version_that_does_not_go_on_is_named() {
    let (one, two) = (vec![object("7", json!(1))], vec![object("7", json!(2))]);
    let story = VersionStory {
        title: "a story".to_owned(),
        before: Vec::new(),
        created: Some(ready()),
        made: one.clone(),
        changed: Some(ready()),
        grown: two,
        deleted: Some(SaidAnswer::Done),
        after: Vec::new(),
    };
    let told = |story: VersionStory| {
        sentences(versions::versions_go_on(&Transcript { versions: Some(vec![story]), ..of_lives(vec![life(None)]) }))
    };
    let twice = [one.clone(), vec![object("8", json!(1))]].concat();
    assert_eq!(told(story.clone()), [""; 0]);
    for (wrong, sentence) in [
        (VersionStory { created: Some(pending()), ..story.clone() }, "it is not ready, but pending (it is built)"),
        (VersionStory { made: twice.clone(), ..story.clone() }, "after create: 2 of load balancer, where 1 is right"),
        (VersionStory { made: Vec::new(), ..story.clone() }, "after create: 0 of load balancer, where 1 is right"),
        (
            VersionStory { changed: None, ..story.clone() },
            "the one that began changes it: it is not ready, but nothing",
        ),
        (VersionStory { grown: twice, ..story.clone() }, "after change: 2 of load balancer, where 1 is right"),
        (
            VersionStory { deleted: Some(error("busy", false)), ..story.clone() },
            "its deletion is not done, but an error (busy)",
        ),
        (VersionStory { after: one, ..story }, "done, and load balancer 7  is left"),
    ] {
        assert_eq!(told(wrong), [sentence]);
    }
    assert!(matches!(versions::versions_go_on(&transcript()), PromiseJudgement::Untried(_)));
}
