//! Volumes of claims, each beside what would be right.

use super::{read, sentences, transcript, write};
use crate::judge::claims;
use crate::protocol::How;
use crate::transcript::claims::{
    ClaimLife, ClaimPart, ClaimPhase, ClaimStory, RecordedClaims, RecordedVolumeCall, SaidOfVolume, SeenVolume,
};
use crate::transcript::{Transcript, Wrong};

const HERE: &str = "96";

fn call(said: SaidOfVolume) -> RecordedVolumeCall {
    RecordedVolumeCall { said, requests: vec![read("GET /volumes/1")] }
}

fn over() -> SaidOfVolume {
    SaidOfVolume::Over(vec![("handle".to_owned(), "1".to_owned())])
}

fn taken() -> RecordedVolumeCall {
    call(SaidOfVolume::Taken(vec![HERE.to_owned()]))
}

fn seen(attached_to: &[&str]) -> Option<SeenVolume> {
    let attached_to = attached_to.iter().map(|it| (*it).to_owned()).collect();
    Some(SeenVolume { bytes: 12 << 30, attached_to, is_changing: false })
}

/// A life as it should be, in which nothing goes wrong.
fn story(life: ClaimLife) -> ClaimStory {
    let part = |phase: &ClaimPhase| ClaimPart {
        phase: *phase,
        calls: vec![call(SaidOfVolume::Pending("it is made".to_owned())), call(over())],
        again: Some(call(over())),
        seen: Ok(match phase {
            ClaimPhase::Create | ClaimPhase::Detach | ClaimPhase::Begin => seen(&[]),
            ClaimPhase::Attach | ClaimPhase::Expand => seen(&[HERE]),
            ClaimPhase::Delete | ClaimPhase::Abandon => None,
        }),
        named: Some(usize::from(!matches!(phase, ClaimPhase::Delete | ClaimPhase::Abandon))),
    };
    let parts = life.phases().iter().map(part).collect();
    let smaller = Some(call(over()));
    ClaimStory { life, trouble: None, parts, elsewhere: Some(taken()), used: Some(taken()), smaller }
}

/// Everything that judges say of two stories, the second of which differs so.
fn of(change: impl FnOnce(&mut ClaimStory)) -> Vec<String> {
    of_life(ClaimLife::GrowsAttached, change)
}

fn of_life(life: ClaimLife, change: impl FnOnce(&mut ClaimStory)) -> Vec<String> {
    let mut other = ClaimStory { trouble: Some((ClaimPhase::Attach, 2, How::LostAfter)), ..story(life) };
    change(&mut other);
    let played = RecordedClaims { stories: vec![story(life), other], here: HERE.to_owned() };
    let transcript = Transcript { claims: Some(played), ..transcript() };
    let all = [
        claims::volume_steps_converge,
        claims::volume_is_made_once,
        claims::settled_volume_is_not_written,
        claims::attached_volume_is_not_moved,
        claims::used_volume_is_not_deleted,
        claims::volume_is_where_it_says,
        claims::volume_grows_and_never_shrinks,
    ];
    all.iter().flat_map(|judge| sentences(judge(&transcript))).collect()
}

#[test]
fn volumes_that_are_made_attached_and_deleted_break_nothing() {
    use ClaimLife::{Abandoned, Fixed, GrowsAttached, GrowsDetached, Repeated};
    for life in [Fixed, GrowsAttached, GrowsDetached, Abandoned, Repeated] {
        assert_eq!(of_life(life, |_| ()), [""; 0], "{life:?}");
    }
}

#[test]
fn volumes_that_come_to_no_end_are_found() {
    let waiting = call(SaidOfVolume::Pending("it is made".to_owned()));
    let open = of(|it| (it.parts[1].calls, it.parts[1].again) = (vec![waiting], None));
    assert_eq!(open, ["attach does not come to an end, but to pending: it is made"]);
    let error = SaidOfVolume::Error(Wrong { is_final: true, text: "no".to_owned() });
    let failed = of(|it| (it.parts[3].calls, it.parts[3].again) = (vec![call(error)], None));
    assert_eq!(failed, ["detach does not come to an end, but to an error: no"]);
}

#[test]
fn volumes_that_are_made_twice_are_found() {
    assert_eq!(of(|it| it.parts[0].named = Some(2)), ["after create the list has 2 volumes of its name"]);
    let second = SaidOfVolume::Over(vec![("handle".to_owned(), "2".to_owned())]);
    let twice = of(|it| it.parts[0].again = Some(call(second)));
    assert!(twice[0].contains("asked for once more"), "{twice:?}");
    assert_eq!(twice[1..], ["it was over after create, and the same call again answers that it is over"]);
    let repeated = of_life(ClaimLife::Repeated, |it| it.parts[1].named = Some(2));
    assert_eq!(
        repeated,
        ["after create the list has 2 volumes of its name"],
        "nothing was remembered of the first call"
    );
}

#[test]
fn volumes_that_are_written_again_are_found() {
    let written = RecordedVolumeCall { said: over(), requests: vec![write("POST /volumes/1/actions/attach")] };
    let again = of(|it| it.parts[1].again = Some(written));
    assert_eq!(again, ["it was over after attach, and the same call again sends POST /volumes/1/actions/attach"]);
}

#[test]
fn volumes_that_are_moved_or_deleted_in_use_are_found() {
    let moved = of(|it| it.elsewhere = Some(call(over())));
    assert_eq!(moved, ["attached to another machine, too, it answers that it is over, and not that it is at 96"]);
    let other = SaidOfVolume::Taken(vec!["97".to_owned()]);
    let deleted = of(|it| it.used = Some(call(other)));
    assert_eq!(
        deleted,
        ["deleted while it is attached, it answers that it is attached to 97, and not that it is at 96"]
    );
    let sent = RecordedVolumeCall { requests: vec![write("POST /volumes/1/actions/detach")], ..taken() };
    let detached = of(|it| it.used = Some(sent));
    assert_eq!(detached, ["deleted while it is attached, it sends POST /volumes/1/actions/detach"]);
}

#[test]
fn volumes_that_are_elsewhere_than_told_are_found() {
    let found = |phase: usize, seen: Option<SeenVolume>| of(|it| it.parts[phase].seen = Ok(seen));
    let phases = ClaimLife::GrowsAttached.phases();
    for (phase, wrong) in [(0, None), (1, seen(&[])), (2, None), (3, seen(&[HERE])), (3, None), (4, seen(&[]))] {
        let sentences = found(phase, wrong.clone());
        let expected = format!("after {}, get answers {wrong:?}", phases[phase].as_str());
        assert_eq!(sentences, [expected]);
    }
    let left = of(|it| it.parts[4].named = Some(1));
    assert_eq!(left, ["after delete the list still has 1 of its name"], "another one, which nobody knows");
    let at_work = SeenVolume { bytes: 12 << 30, attached_to: Vec::new(), is_changing: true };
    assert_eq!(found(2, Some(at_work.clone())).len(), 1, "it may grow on");
    assert_eq!(found(3, Some(at_work)).len(), 1, "it may come back");
}

#[test]
fn volumes_that_are_abandoned_and_still_there_are_found() {
    let abandoned = |change: fn(&mut ClaimStory)| of_life(ClaimLife::Abandoned, change);
    assert_eq!(abandoned(|it| it.parts[1].named = Some(1)), ["after abandon the list still has 1 of its name"]);
    assert_eq!(abandoned(|it| it.parts[1].seen = Ok(seen(&[]))).len(), 1);
    let unbegun = abandoned(|story| {
        story.parts[0].calls.truncate(1);
        story.parts[0].again = None;
    });
    assert_eq!(unbegun, [""; 0], "whatever the first call came to");
    let unended = abandoned(|story| {
        story.parts[1].calls.pop();
        story.parts[1].again = None;
    });
    assert_eq!(unended, ["abandon does not come to an end, but to pending: it is made"]);
}

#[test]
fn volumes_that_shrink_or_do_not_grow_are_found() {
    let small = || Ok(Some(SeenVolume { bytes: 10 << 30, attached_to: Vec::new(), is_changing: false }));
    let shrunk = of(|it| it.parts[3].seen = small());
    assert_eq!(shrunk, ["after detach it has 10737418240 bytes, and not 12884901888"]);
    let sent = RecordedVolumeCall { said: over(), requests: vec![write("POST /volumes/1/actions/resize")] };
    let shrinks = of(|it| it.smaller = Some(sent));
    assert_eq!(shrinks, ["asked for fewer bytes than it has, it sends POST /volumes/1/actions/resize"]);
    let pending = of(|it| it.smaller = Some(call(SaidOfVolume::Pending("it shrinks".to_owned()))));
    assert_eq!(pending, ["asked for fewer bytes than it has, it answers pending: it shrinks"]);
}
