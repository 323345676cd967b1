//! A cloud that locks a load balancer for a second at each change, and a Service that needs several changes: each comes soon
//! after the one before is done.

use std::time::{Duration, Instant};

use tests::clouds::hetzner::{Taking, Target};
use tests::vendor::{Behaviour, Hetzner, Vendor as _};
use tests::wait;

use crate::setup::{CloudRig, addresses, service};

/// How long an action of the cloud takes.
const ACTION: Duration = Duration::from_secs(1);
/// How long a change may take. With a pause of `pollInterval` after each step both take more than 20 s.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many requests it may cost.
const REQUESTS: usize = 60;

#[tokio::test]
async fn several_changes_at_hetzner_take_as_long_as_its_locks() {
    let rig = CloudRig::<Hetzner>::with(Behaviour::default()).await.settings(&[("pollInterval", "5s")]);
    rig.cloud.behave(|it| it.actions = Taking::Time(ACTION));
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    let is_reached_at = async |ip: &str| addresses(&rig.services().get("web").await.unwrap()).iter().any(|it| it == ip);
    rig.is_changed("private-ipv4", "10.0.100.7", async || is_reached_at("10.0.100.7").await).await;
    rig.is_changed("use-private-ip", "true", async || {
        let live = rig.cloud.load_balancers().all().remove(0);
        [1, 2].iter().all(|id| live.targets.contains(&Target::Server { id: *id, use_private_ip: true }))
    })
    .await;
    // Out of the network it loses these targets, too.
    rig.is_changed("private-ipv4", "10.0.100.8", async || is_reached_at("10.0.100.8").await).await;
    process.stop().await;
}

impl CloudRig<Hetzner> {
    /// Sets an annotation of the vendor, and waits until that has come true.
    async fn is_changed(&self, name: &str, value: &str, is_true: impl AsyncFn() -> bool) {
        let (before, began) = (self.cloud.requests().len(), Instant::now());
        self.annotate("web", &format!("{}{name}", Hetzner::PREFIX), Some(value)).await;
        wait::until(&format!("{name} is {value}"), async || is_true().await.then_some(())).await;
        let (took, requests) = (began.elapsed(), self.cloud.requests().split_off(before));
        let shown = requests.iter().map(|it| format!("\n  {it}")).collect::<String>();
        assert!(took < PATIENCE && requests.len() < REQUESTS, "{took:?}, {} requests{shown}", requests.len());
    }
}
