//! Nodes whose servers cannot be told: by the real binary.

use tests::vendor::{OpenStack, Vendor as _};
use tests::{kubelet, operator};

use crate::ground::Ground;

#[tokio::test]
async fn openstack_013_twins_are_told_and_do_not_join() {
    let ground = Ground::start().await;
    for id in [3, 4] {
        OpenStack::add_machine(ground.cloud.account(), id, "twin");
    }
    kubelet::join(&ground.cluster.admin, "twin").await.unwrap();
    let ids = [3, 4].map(tests::vendor::openstack::server);
    operator::event(&ground.cluster, "twin", &[&ids[0], &ids[1]]).await;
    operator::assert_waits(&ground.cluster, "twin").await;
    ground.stop().await;
}
