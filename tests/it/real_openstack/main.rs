//! aerostat against a whole real OpenStack: `make test-openstack`.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use tests::real_openstack::RealOpenstack;

#[tokio::test(flavor = "multi_thread")]
async fn it_starts() {
    let cloud = RealOpenstack::start().await;
    let id = cloud.ground.node(&cloud.cloud, "node-1", 11).await;
    assert!(!id.is_empty());
    std::fs::write("/tmp/oswork/up", format!("{} {}", cloud.cloud.keystone().base_url(), id)).unwrap();
    if std::env::var("STAY").is_ok() {
        tokio::time::sleep(std::time::Duration::from_secs(3000)).await;
    }
}
