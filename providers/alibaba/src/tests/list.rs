//! Lists of instances.

use aerostat_sdk::{Error, Instances, Page};

use super::*;
use crate::Alibaba;

#[test]
fn alibaba_001_a_list_of_250_nodes_takes_three_pages() {
    let host = Machines::of(0..250).host();
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let Page { instances, next, gaps, .. } = host.run(|| Alibaba::list(cursor.as_deref(), 1000)).unwrap();
        assert!(gaps.is_empty());
        ids.push(instances.len());
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, [100, 100, 50]);
    let expected = [
        "POST ecs /?RegionId=cn-hangzhou&VpcId=vpc-1&MaxResults=100",
        "POST ecs /?RegionId=cn-hangzhou&VpcId=vpc-1&MaxResults=100&NextToken=100",
        "POST ecs /?RegionId=cn-hangzhou&VpcId=vpc-1&MaxResults=100&NextToken=200",
    ];
    assert_eq!(host.requests(), expected);
}

#[test]
fn machines_of_another_vpc_are_not_listed_and_exist() {
    let mut machines = Machines::of([1, 2]);
    machines.instances[1]["VpcAttributes"]["VpcId"] = json!("vpc-2");
    let host = machines.host();
    assert_eq!(host.run(|| Alibaba::list(None, 100)).unwrap().instances.len(), 1);
    let node = aerostat_sdk::Node::named("node-2").with_provider_id("cn-hangzhou.i-bp2");
    assert!(host.run(|| Alibaba::get(&node)).unwrap().is_some());
}

#[test]
fn an_empty_vpc_is_listed_once_the_right_is_known() {
    let host = Machines::default().host();
    assert!(host.run(|| Alibaba::list(None, 100)).unwrap().instances.is_empty());
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn an_answer_without_a_list_is_no_empty_list() {
    for body in ["{}", r#"{ "Instances": null }"#, r#"{ "Instances": { "Instance": [{}] } }"#, "<html>", ""] {
        let host = settings().answers(move |_| answer(200, body));
        assert!(matches!(host.run(|| Alibaba::list(None, 100)), Err(Error::Unavailable(_))), "{body}");
    }
}
