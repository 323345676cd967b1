//! The simulated cloud that all contenders have.

use std::time::Duration;

use anyhow::Result;
use tests::clouds::digitalocean::{Behaviour, Droplet, LIMITS, Options, Simulator};

/// How late a simulated cloud is.
pub(crate) const LATENCY: Duration = Duration::from_millis(50);

/// A simulated DigitalOcean with a droplet for each node. Its answers are not checked: that would be measured too.
pub(crate) async fn simulator(nodes: usize) -> Result<Simulator> {
    start(nodes, Options::default()).await
}

/// One that allows what the real cloud allows.
pub(crate) async fn limited(nodes: usize) -> Result<Simulator> {
    start(nodes, Options { limits: Some(LIMITS), ..Options::default() }).await
}

/// One with load balancers of such a kind.
pub(crate) async fn with_load_balancers(nodes: usize, load_balancers: Behaviour) -> Result<Simulator> {
    start(nodes, Options { load_balancers, ..Options::default() }).await
}

async fn start(nodes: usize, options: Options) -> Result<Simulator> {
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, ..options }).await?;
    for number in 0..nodes {
        let [_, _, high, low] = u32::try_from(number)?.to_be_bytes();
        let droplet = Droplet::new(1_000_000 + number as u64, &name(number))
            .private_v4([[10, 114, high, low].into()])
            .public_v4([[203, 0, high, low].into()]);
        cloud.droplets().insert(droplet);
    }
    Ok(cloud)
}

/// The name of a node, and of its droplet.
pub(crate) fn name(number: usize) -> String {
    format!("node-{number:04}")
}
