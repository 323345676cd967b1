//! A cloud that refuses a second load balancer of one name: none is looked for before one is created.

use super::*;

#[test]
fn a_cloud_that_refuses_a_second_one_is_asked_only_then() {
    let of = |refused: Option<Error>| Cloud { refuses_second: true, refused_creation: refused, ..Cloud::default() };
    let announced = announced("creating a1 since 1000");
    let first = of(None);
    assert_eq!((first.pending(&announced, 1_000).0.as_str(), first.calls()), ("lb-1", vec!["create".to_owned()]));
    let second = of(Some(Error::invalid("the name is taken"))).with("lb-7", "a1", true);
    assert_eq!(second.pending(&announced, 1_000), ("lb-7".to_owned(), 0, Vec::new()));
    assert_eq!(second.calls(), ["create", "list"]);
    for lost in [Creation::Unclear("no answer".to_owned()), Creation::Busy("another change".to_owned())] {
        let cloud = Cloud { creation: Some(lost), ..of(None) };
        assert_eq!(cloud.pending(&announced, 1_000), ("lb-1".to_owned(), 0, Vec::new()), "it is there all the same");
        assert_eq!(cloud.calls(), ["create", "list"]);
    }
    let refused = of(Some(Error::denied("quota")));
    assert!(matches!(refused.ensure(&announced), Ok(Progress::Failed(it)) if it.status.memo.is_none()));
    assert_eq!(refused.calls(), ["create", "list"]);
    let throttled = of(Some(Error::retry_after(Duration::from_secs(1), "429"))).with("lb-7", "a1", true);
    assert!(matches!(throttled.ensure(&announced), Ok(Progress::Failed(_))));
    assert_eq!(throttled.calls(), ["create"], "the cloud asked for a pause");
    let earlier = of(None).with("lb-7", "a1", true);
    assert_eq!(
        (earlier.pending(&creating(1_000), 1_005).0.as_str(), earlier.calls()),
        ("lb-7", vec!["list".to_owned()])
    );
}
