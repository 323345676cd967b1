//! Deletions: by a memo, by the mark, of protected ones, and of those that may still appear.

use super::*;

#[test]
fn a_deletion_waits_for_what_may_still_appear() {
    let hidden = || Cloud { hidden_from_lists: true, ..Cloud::default() }.with("lb-1", "a1", true);
    let waiting = |memo: &str, now| match hidden().delete(&with_memo(memo), now) {
        Ok(Deletion::Pending(it)) => (it.status.memo.unwrap(), it.wait.milliseconds),
        other => panic!("{other:?}"),
    };
    // The process before this one may have sent it until a moment ago.
    assert_eq!(waiting("creating a1 since 900", 1_000), ("lost a1 since 1000".to_owned(), 15_000));
    assert_eq!(waiting("lost a1 since 1000", 1_030), ("lost a1 since 1000".to_owned(), 15_000));
    assert_eq!(waiting("lost a1 since 1000", 1_055), ("lost a1 since 1000".to_owned(), 5_000));
    assert_eq!(hidden().delete(&with_memo("lost a1 since 1000"), 1_060), Ok(Deletion::Done));
    for memo in ["creating a1 since 1000", "lost a1 since 1000"] {
        let cloud = Cloud { hidden_from_lists: false, ..hidden() };
        assert_eq!(cloud.delete(&with_memo(memo), 1_030), Ok(Deletion::Done));
        assert_eq!(cloud.balancers.take(), []);
    }
}

#[test]
fn a_deletion_with_a_lost_part_waits_for_it_too() {
    let cloud = Cloud::default().with("lb-1", "a1", true);
    let status = Host::new().at(1_000).run(|| lost(&with_memo("lb-1")));
    assert_eq!(status.memo.as_deref(), Some("lost a1 since 1000"));
    let lost = with_memo("lost a1 since 1000");
    assert_eq!(cloud.delete(&lost, 1_001), Ok(Deletion::Done), "it is found by its mark");
    assert!(matches!(cloud.delete(&lost, 1_059), Ok(Deletion::Pending(_))));
    assert_eq!(cloud.delete(&lost, 1_060), Ok(Deletion::Done));
}

#[test]
fn a_deletion_does_not_wait_for_what_was_never_sent() {
    let cloud = Cloud { hidden_from_lists: true, ..Cloud::default() }.with("lb-1", "a1", true);
    assert_eq!(cloud.delete(&announced("creating a1 since 1000"), 1_001), Ok(Deletion::Done));
    assert_eq!(cloud.calls(), ["list"]);
    let listed = Cloud { hidden_from_lists: false, ..cloud };
    assert_eq!(listed.delete(&announced("creating a1 since 1000"), 1_001), Ok(Deletion::Done));
    assert_eq!(listed.balancers.take(), [], "it has the mark, whoever made it");
    let lost = listed.delete(&announced("lost a1 since 1000"), 1_001);
    assert!(matches!(lost, Ok(Deletion::Pending(_))), "what was sent is waited for: {lost:?}");
}

#[test]
fn a_remembered_load_balancer_is_deleted_by_its_id() {
    let cloud = Cloud::default().with("lb-1", "chosen", true).with("lb-2", "other", true);
    assert_eq!(cloud.delete(&with_memo("lb-1"), 1_000), Ok(Deletion::Done));
    assert_eq!(cloud.calls(), ["delete lb-1"]);
    let cloud = Cloud { removal: Some(Removal::Busy("not yet".to_owned())), ..cloud };
    let Ok(Deletion::Pending(pending)) = cloud.delete(&with_memo("lb-1"), 1_000) else { panic!("not pending") };
    assert_eq!((pending.status.memo.as_deref(), pending.wait.milliseconds), (Some("lb-1"), 500));
}

#[test]
fn adv_171_a_protected_one_is_marked_before_it_is_kept() {
    let cloud = || Cloud { removal: Some(Removal::Protected("it is protected".to_owned())), ..Cloud::default() };
    let kept = cloud();
    assert_eq!(kept.delete(&with_memo("lb-1"), 1_000), Ok(Deletion::kept("it is protected")));
    assert_eq!(kept.calls(), ["delete lb-1", "keep lb-1"]);
    let busy = Cloud { kept: Some(Ok(Change::Busy("not yet".to_owned()))), ..cloud() };
    assert!(matches!(busy.delete(&with_memo("lb-1"), 1_000), Ok(Deletion::Pending(it)) if it.wait.reason == "not yet"));
    let refused = Cloud { kept: Some(Err(Error::invalid("no"))), ..cloud() };
    assert_eq!(refused.delete(&with_memo("lb-1"), 1_000), Err(Error::invalid("no")), "the Service keeps its finalizer");
    let foreign = Cloud { removal: Some(Removal::Foreign("it is another's".to_owned())), ..Cloud::default() };
    assert_eq!(foreign.delete(&with_memo("lb-1"), 1_000), Ok(Deletion::kept("it is another's")));
    assert_eq!(foreign.calls(), ["delete lb-1"], "another's gets no mark");
}

#[test]
fn without_a_memo_the_mark_or_a_proof_decides() {
    let cloud = Cloud::default().with("lb-1", "a1", true).with("lb-2", "other", true);
    assert_eq!(cloud.delete(&service(), 1_000), Ok(Deletion::Done));
    assert_eq!(cloud.calls(), ["list", "delete lb-1"]);
    let Ok(Deletion::Pending(proven)) = cloud.delete(&claiming("lb-2"), 1_000) else { panic!("not remembered first") };
    assert_eq!((proven.status.memo.as_deref(), proven.wait.milliseconds), (Some("lb-2"), 0));
    let cloud = Cloud { proof: Some(String::new()), ..cloud };
    let host = Host::new();
    assert_eq!(host.run(|| delete(&Call(&cloud, &claiming("lb-2")))), Ok(Deletion::Done));
    assert_eq!((reasons(&host), cloud.balancers.take().len()), (vec!["LoadBalancerNotDeleted".to_owned()], 1));
    assert_eq!(cloud.delete(&claiming("nonsense"), 1_000), Ok(Deletion::Done));
}

#[test]
fn an_unfinished_deletion_among_several_counts() {
    let cloud = Cloud { removal: Some(Removal::Busy("not yet".to_owned())), ..Cloud::default() };
    let cloud = cloud.with("lb-1", "a1", true).with("lb-2", "a1", true);
    assert!(matches!(cloud.delete(&service(), 1_000), Ok(Deletion::Pending(_))));
    assert_eq!(cloud.calls(), ["list", "delete lb-1", "delete lb-2"]);
}
