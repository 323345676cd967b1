//! Deletions that find a load balancer by its mark, and are not over at once.

use super::*;

/// A cloud whose lists show a load balancer no more once its deletion has begun.
fn slow() -> Cloud {
    Cloud { removal: Some(Removal::Busy("not yet".to_owned())), ..Cloud::default() }.with("lb-1", "a1", true)
}

/// The memo with which a deletion waits.
fn waits(cloud: &Cloud, service: &LoadBalancer) -> Option<String> {
    match cloud.delete(service, 1_000) {
        Ok(Deletion::Pending(it)) => it.status.memo,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deletion_without_a_memo_remembers_the_id() {
    for unremembered in [service(), announced("creating a1 since 1000")] {
        let cloud = slow().with("lb-2", "other", true);
        let memo = waits(&cloud, &unremembered).unwrap();
        assert_eq!((memo.as_str(), cloud.calls()), ("lb-1", vec!["list".to_owned(), "delete lb-1".to_owned()]));
        let cloud = Cloud { removal: None, ..cloud };
        assert_eq!(cloud.delete(&with_memo(&memo), 1_001), Ok(Deletion::Done));
        assert_eq!(cloud.calls(), ["delete lb-1"], "its parts are left, and no list shows it");
    }
    let not_kept = || Some(Ok(Change::Busy("not yet".to_owned())));
    let protected = Cloud { removal: Some(Removal::Protected(String::new())), kept: not_kept(), ..slow() };
    assert_eq!(waits(&protected, &service()).as_deref(), Some("lb-1"));
}

#[test]
fn a_deletion_of_several_remembers_none_of_them() {
    let cloud = slow().with("lb-2", "a1", true);
    assert_eq!(waits(&cloud, &service()), None, "each has to be listed again");
}

#[test]
fn a_deletion_that_waits_for_another_part_keeps_its_memo() {
    for memo in ["lost a1 since 990", "creating a1 since 990"] {
        assert_eq!(waits(&slow(), &with_memo(memo)).as_deref(), Some(memo), "that part may still appear");
    }
}
