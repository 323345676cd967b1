//! The load balancer of a Service: a Classic one, or a Network one, by its class.

use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result};

use crate::provider::Alibaba;
use crate::{load_balancer, network};

impl LoadBalancers for Alibaba {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let is_network = desired.load_balancer_class.as_deref() == Some(network::CLASS);
        if let Some(live) = live(desired).filter(|it| it.starts_with(network::ID) != is_network) {
            return Err(Error::invalid(format_args!(
                "the Service has load balancer {live}, and loadBalancerClass asks for the other kind. Nothing is deleted: set the class as \
                 it was, or make another Service"
            )));
        }
        if is_network { network::ensure(desired) } else { load_balancer::ensure(desired) }
    }

    /// The load balancer that there is decides, and not what the class says by now: it goes with the type of the Service. Where nothing is
    /// known to be there, both kinds are looked for.
    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let is_network = unwanted.load_balancer_class.as_deref() == Some(network::CLASS);
        let deletion = match live(unwanted).map(|it| it.starts_with(network::ID)) {
            Some(true) => network::delete(unwanted)?,
            Some(false) => load_balancer::delete(unwanted)?,
            None if is_network => network::delete(unwanted)?,
            None => match network::delete(unwanted)? {
                Deletion::Done => load_balancer::delete(unwanted)?,
                other => other,
            },
        };
        // The vendor's finalizers go with what is done.
        if deletion == Deletion::Done {
            network::check_inherited(unwanted)?;
            load_balancer::check_inherited(unwanted)?;
        }
        Ok(deletion)
    }
}

/// The id of the load balancer that the Service has, as its memo says.
fn live(service: &LoadBalancer) -> Option<&str> {
    let id = service.memo.as_deref()?.split(' ').next()?;
    [network::ID, load_balancer::ID].iter().any(|it| id.starts_with(it)).then_some(id)
}
