//! A node is drained: one Pod at a time goes, and the Lease is handed over.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, EvictParams};
use tests::pod::{Installation, Site};

use crate::joining::pods_are_ready;
use crate::seen::{leader, name, place, pods, until};

/// Much less than the Lease lasts where nobody gives it back: 15 s.
const HAND_OVER: Duration = Duration::from_secs(10);

/// Drains the leader's node. The leader gives the Lease back, and the other one takes it.
pub(crate) async fn drain(site: &Site, installation: &Installation<'_>) {
    let (node, before) = until(site, "somebody leads", async || leader(site).await).await;
    let there = pods(site).await;
    let gone = there.iter().find(|it| place(it) == node).map(name).unwrap();
    let other = there.iter().find(|it| place(it) != node).map(name).unwrap();

    let began = Instant::now();
    std::thread::scope(|scope| {
        let drained =
            scope.spawn(|| installation.kubectl(&["drain", &node, "--delete-emptydir-data", "--timeout=80s"]));
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let after =
                    until(site, "the other one leads", async || leader(site).await.filter(|it| it.1 != before)).await;
                let took = began.elapsed();
                eprintln!("           {} leads {:.1} s after the drain began", after.0, took.as_secs_f64());
                assert!(after.0 != node, "{after:?}");
                assert!(took < HAND_OVER, "{took:?}: the Lease was not given back");
                // The budget: while one is away, the other one stays.
                let refused = evict(site, &other).await.unwrap_err();
                assert!(matches!(&refused, kube::Error::Api(it) if it.code == 429), "{refused:?}");
            });
        });
        let said = drained.join().unwrap().unwrap();
        assert!(said.contains(&format!("pod/{gone} evicted")) && said.contains("drained"), "{said}");
    });

    // Every taint is tolerated, that of a drained node, too: this is where there is room for the port.
    let there = pods_are_ready(site, 2).await;
    let back = there.iter().find(|it| place(it) == node).map(name);
    assert!(back.is_some_and(|it| it != gone), "{there:#?}");
    installation.kubectl(&["uncordon", &node]).unwrap();
}

async fn evict(site: &Site, pod: &str) -> kube::Result<()> {
    let pods: Api<Pod> = Api::namespaced(site.admin.clone(), "kube-system");
    pods.evict(pod, &EvictParams::default()).await.map(drop)
}
