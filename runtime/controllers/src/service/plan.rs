//! What becomes of a Service: nothing, its load balancer, or the end of it. No client, no clock, no log.

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::Service;

use crate::service::status::{is_finalized, memo};
use crate::service::wish::{Cluster, Invalid, unwanted, wish};

/// What is to be done about a Service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Plan {
    /// Nothing: it wants no load balancer, and has none of ours.
    Ignore,
    /// Its load balancer has to go.
    Delete(LoadBalancer),
    /// It wants this load balancer. Which nodes take traffic is not said here.
    Ensure(LoadBalancer),
}

/// What is to be done about a Service, if one of our calls `may` have given it a load balancer in this process's life.
pub(super) fn plan(service: &Service, may_stand: bool, cluster: &Cluster) -> Result<Plan, Invalid> {
    if is_wanted(service) && !is_deleted(service) {
        return wish(service, cluster).map(Plan::Ensure);
    }
    if needs_cleanup(service) || may_stand || memo(service).is_some() {
        return Ok(Plan::Delete(unwanted(service, cluster)));
    }
    Ok(Plan::Ignore)
}

/// Whether a Service wants a load balancer, and no other controller was named for it. An empty class is a class.
pub(super) fn is_wanted(service: &Service) -> bool {
    is_load_balancer(service) && service.spec.as_ref().is_some_and(|it| it.load_balancer_class.is_none())
}

/// Whether a Service has our finalizer, and should not have it any more.
fn needs_cleanup(service: &Service) -> bool {
    is_finalized(service) && (is_deleted(service) || !is_load_balancer(service))
}

fn is_deleted(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_some()
}

fn is_load_balancer(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|it| it.type_.as_deref() == Some("LoadBalancer"))
}
