//! A Service of ten ports over 110 nodes: Octavia takes no request of more than 114,688 bytes, and theirs has no other way.

use std::time::Duration;

use serde_json::json;
use tests::clouds::openstack::Kind;
use tests::wait;

use crate::ground::Ground;

/// How long all members may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of a request's body, with room below Octavia's limit.
const LARGEST: usize = 100_000;
const NODES: u64 = 110;

#[tokio::test(flavor = "multi_thread")]
async fn openstack_023_ten_ports_of_110_nodes_are_all_there() {
    let ground = Ground::with(|_| {}, |setup, _| setup).await;
    ground.join(&(1..=NODES).collect::<Vec<_>>()).await;
    let begun = ground.cloud.requests().len();
    ground.create_with("big", &json!({}), &(8_000..8_010).collect::<Vec<_>>()).await;
    let are_there = async || {
        let members = ground.cloud.account().all(Kind::Member);
        let mut by_pool = std::collections::BTreeMap::<_, usize>::new();
        members.iter().for_each(|it| *by_pool.entry(it["_pool"].to_string()).or_default() += 1);
        (by_pool.len() == 10 && by_pool.values().all(|it| *it == 110)).then_some(())
    };
    assert!(wait::within(PATIENCE, are_there).await.is_some(), "{:#?}", ground.writes_since(begun));
    ground.address("big").await;
    let requests = ground.cloud.requests_from(begun);
    let largest = requests.iter().map(|it| it.body.len()).max().unwrap();
    assert!(largest <= LARGEST, "{largest} bytes");
    let writes = ground.writes_since(begun);
    let refused: Vec<_> = writes.iter().filter(|it| !it.contains(" 20")).collect();
    assert!(refused.is_empty(), "{refused:?}");
    println!("{} writes, {} requests, {largest} bytes at most: {writes:#?}", writes.len(), requests.len());
    assert_eq!(ground.warnings("big").await, [""; 0]);
    ground.stop().await;
}
