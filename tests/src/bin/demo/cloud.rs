//! The simulated cloud: what is in it, and how it changes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use ::tests::clouds::digitalocean::{
    Behaviour, Creation, Droplet, LoadBalancer, LoadBalancerStatus, Options, Simulator,
};
use anyhow::Result;

/// How late each answer is.
pub(crate) const LATENCY: Duration = Duration::from_millis(50);
/// How long a load balancer is being built. At DigitalOcean it takes a minute or two.
pub(crate) const BUILDING: Duration = Duration::from_secs(5);
/// How many machines there are.
pub(crate) const MACHINES: u8 = 3;

/// The cloud, with one droplet for each node that is going to join.
pub(crate) async fn start() -> Result<Simulator> {
    let load_balancers = Behaviour { creation: Creation::Takes(BUILDING), ..Behaviour::default() };
    let cloud = Simulator::start(Options { latency: LATENCY, load_balancers, ..Options::default() }).await?;
    for number in 1..=MACHINES {
        cloud.droplets().insert(
            Droplet::new(droplet(number), &node(number))
                .size("s-2vcpu-4gb")
                .region("fra1")
                .private_v4([Ipv4Addr::new(10, 114, 0, number)])
                .public_v4([Ipv4Addr::new(203, 0, 113, number)]),
        );
    }
    Ok(cloud)
}

/// The name of a machine and of its node.
pub(crate) fn node(number: u8) -> String {
    format!("worker-{number}")
}

/// The id of a machine.
pub(crate) fn droplet(number: u8) -> u64 {
    1000 + u64::from(number)
}

/// Describes what has changed about load balancers in the cloud.
#[derive(Default)]
pub(crate) struct LoadBalancers {
    known: BTreeMap<String, String>,
}

impl LoadBalancers {
    /// What has changed since they were last shown.
    pub(crate) fn describe(&mut self, cloud: &Simulator) -> Vec<String> {
        let now: BTreeMap<_, _> =
            cloud.load_balancers().all().into_iter().map(|it| (it.id.clone(), state(&it))).collect();
        let changed = now.iter().filter(|(id, state)| self.known.get(*id) != Some(state));
        let mut lines: Vec<_> = changed.map(|(id, state)| format!("load balancer {} {state}", short(id))).collect();
        let gone = self.known.keys().filter(|id| !now.contains_key(*id));
        lines.extend(gone.map(|id| format!("load balancer {} is gone", short(id))));
        self.known = now;
        lines
    }
}

fn state(load_balancer: &LoadBalancer) -> String {
    let attributes = &load_balancer.attributes;
    let rules = attributes.forwarding_rules.iter().map(|it| format!("{} to {}", it.entry_port, it.target_port));
    let targets = attributes.droplet_ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let serves = format!("{}; droplets {targets}", rules.collect::<Vec<_>>().join(", "));
    match (load_balancer.status, load_balancer.ip) {
        (LoadBalancerStatus::New, _) => "is new: being built".to_owned(),
        (LoadBalancerStatus::Active, Some(ip)) => format!("is active at {ip}: {serves}"),
        (LoadBalancerStatus::Active, None) => format!("is active: {serves}"),
        (LoadBalancerStatus::Errored, _) => "is errored".to_owned(),
    }
}

/// A text with the ids in it cut short, as people do.
pub(crate) fn short(text: &str) -> String {
    let cut = |part: &str| match part.split_once('-') {
        Some((head, _)) if part.len() == 36 && head.len() == 8 => format!("{head}…"),
        _ => part.to_owned(),
    };
    text.split('/').map(cut).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn only_ids_are_cut() {
        assert_eq!(
            short("/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6/droplets"),
            "/v2/load_balancers/4de7ac8b…/droplets"
        );
        assert_eq!(short("/v2/load_balancers"), "/v2/load_balancers");
    }
}
