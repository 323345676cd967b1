//! Load balancers of Services. Each is under a name that holds the Service's UID: a PUT whose answer was lost makes nothing twice.

use std::time::Duration;

use aerostat_sdk::{
    Change, Deletion, Description, Effect, Endpoint, Ingress, LoadBalancer, LoadBalancerStatus,
};
use aerostat_sdk::{LoadBalancers, Method, Progress, Result};
use serde::Deserialize;

use crate::NewCloud;
use crate::api::{API, Spec};

/// How long the cloud is at work on a change.
const SOON: Duration = Duration::from_millis(500);

/// The requests of this file, for an operator to allow.
pub(crate) fn permissions(endpoint: Endpoint) -> Endpoint {
    endpoint
        .allow([Method::Get], ["/balancers/*"], [])
        .allow([Method::Put], ["/balancers/*"], [])
        .allow_as(Effect::Detach, [Method::Put], ["/balancers/*/spec"], [])
        .allow([Method::Delete], ["/balancers/*"], [])
}

pub(crate) fn settings(described: Description) -> Description {
    described
}

impl LoadBalancers for NewCloud {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let name = desired.name.as_str();
        let spec = Spec::of(desired)?;
        let status = LoadBalancerStatus {
            memo: Some(name.to_owned()),
            ..desired.status()
        };
        let written = match API.get(["balancers", name]).find::<Balancer>()? {
            Some(Balancer { spec: current, ip }) if current == spec => {
                return Ok(match ip {
                    Some(ip) => {
                        Progress::Ready(LoadBalancerStatus::new([Ingress::ip(ip)]).memo(name))
                    }
                    None => Progress::pending(
                        status,
                        Duration::from_secs(5),
                        "the cloud builds the load balancer",
                    ),
                });
            }
            Some(_) => API.put(["balancers", name, "spec"]).json(&spec).change()?,
            None => API.put(["balancers", name]).json(&spec).change()?,
        };
        let why = match written {
            Change::Done(_) => "the cloud has the load balancer's ports and machines".to_owned(),
            Change::Busy(why) => why,
        };
        Ok(Progress::pending(status, SOON, why))
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        Ok(
            match API.delete(["balancers", &unwanted.name]).change_or_gone()? {
                Change::Done(()) => Deletion::Done,
                Change::Busy(why) => Deletion::pending(unwanted.status(), SOON, why),
            },
        )
    }
}

/// A load balancer, as the cloud shows it.
#[derive(Deserialize)]
struct Balancer {
    ip: Option<String>,
    spec: Spec,
}
