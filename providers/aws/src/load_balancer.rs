//! A load balancer for a Service: a Network Load Balancer or a Classic one, as an annotation says.
//!
//! Its name holds the Service's UID, so that a call whose answer was lost is found again by the next one. The memo says
//! which one it is: the ARN of a Network Load Balancer, the name of a Classic one.

mod allowed;
mod annotations;
mod call;
mod classic;
mod marks;
mod nlb;
mod preflight;
mod security_groups;
mod subnets;
mod targets;

pub(crate) use self::annotations::TABLE;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result};

use self::annotations::{LoadBalancerKind, TYPE};
use self::call::ServiceCall;
use crate::provider::Aws;

impl LoadBalancers for Aws {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let asked = asked(desired)?;
        if asked == LoadBalancerKind::External {
            return Ok(Progress::NotManaged);
        }
        if let Some(live) = live(desired)?.filter(|it| *it != asked) {
            return Err(changed(live));
        }
        let call = ServiceCall::of(desired)?;
        if asked == LoadBalancerKind::Network { nlb::ensure(&call) } else { classic::ensure(&call) }
    }

    /// The load balancer that there is decides, and not what the annotation says by now. Where nothing is known to
    /// be there, both kinds
    /// are looked for: the annotation may have changed before the first status was kept.
    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let (asked, live) = (asked(unwanted)?, live(unwanted)?);
        if asked == LoadBalancerKind::External && live.is_none() {
            return Ok(Deletion::Done);
        }
        let call = ServiceCall::of(unwanted)?;
        match live {
            Some(LoadBalancerKind::Network) => nlb::delete(&call),
            Some(_) => classic::delete(&call),
            None => match nlb::delete(&call)? {
                Deletion::Done => classic::delete(&call),
                other => Ok(other),
            },
        }
    }
}

/// The kind that the annotation asks for.
fn asked(service: &LoadBalancer) -> Result<LoadBalancerKind> {
    Ok(Annotations::of(service).read(&TYPE)?.unwrap_or(LoadBalancerKind::Classic))
}

/// The kind of the load balancer that the Service has, as its status says: by the memo, or, of one that an earlier
/// controller made, by its name. `None`, if the status says neither.
fn live(service: &LoadBalancer) -> Result<Option<LoadBalancerKind>> {
    let Some(memo) = &service.memo else {
        return Ok(service.current_ingress.iter().find_map(|it| of_hostname(it.hostname.as_deref()?)));
    };
    let own = |it: &str| it == service.name;
    if own(memo) {
        return Ok(Some(LoadBalancerKind::Classic));
    }
    match nlb::name_in(memo) {
        Some(name) if own(name) => Ok(Some(LoadBalancerKind::Network)),
        _ => Err(Error::invalid(format_args!(
            "the memo {memo:?} in the Service's status is not the ARN or the name of load balancer {}",
            service.name
        ))),
    }
}

/// The kind of a load balancer with this DNS name: `….us-east-1.elb.amazonaws.com` is Classic,
/// `….elb.us-east-1.amazonaws.com` is a Network Load Balancer.
fn of_hostname(hostname: &str) -> Option<LoadBalancerKind> {
    if hostname.contains(".elb.amazonaws.") {
        Some(LoadBalancerKind::Classic)
    } else if hostname.contains(".elb.") && hostname.contains(".amazonaws.") {
        Some(LoadBalancerKind::Network)
    } else {
        None
    }
}

fn changed(live: LoadBalancerKind) -> Error {
    let (is, takes) = match live {
        LoadBalancerKind::Network => ("Network", "set it to nlb again"),
        LoadBalancerKind::Classic | LoadBalancerKind::External => ("Classic", "take it off again"),
    };
    Error::invalid(format_args!(
        "annotation {}: cannot change type: the Service has a {is} Load Balancer. Nothing is deleted; {takes}, or make \
         another Service",
        TYPE.name
    ))
}

#[cfg(test)]
mod tests;
