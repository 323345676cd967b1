//! What this controller writes on a Service, and reads from it again. No client, no clock, no log.

use cloud_provider::{Ingress, IpMode, Standing};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Keeps a Service until its load balancer is gone.
pub(super) const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The condition whose message is the provider's memo: a Service's authors may not write the status.
pub(super) const MEMO: &str = "aerostat.dev/memo";
/// The reason of that condition.
const KEPT: &str = "Kept";

/// Whether the Service has our finalizer.
pub(super) fn is_finalized(service: &Service) -> bool {
    service.metadata.finalizers.iter().flatten().any(|it| it == FINALIZER)
}

/// What the provider asked to keep.
pub(super) fn memo(service: &Service) -> Option<&str> {
    let conditions = service.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|it| it.type_ == MEMO).map(|it| it.message.as_str()).filter(|it| !it.is_empty())
}

/// Where the Service's status says that it is reached.
pub(super) fn current(service: &Service) -> Vec<Ingress> {
    let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
    let ingress = |it: &LoadBalancerIngress| Ingress {
        ip: text(&it.ip),
        hostname: text(&it.hostname),
        ip_mode: it.ip_mode.as_deref().and_then(IpMode::parse),
    };
    let current = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_deref());
    let current = current.unwrap_or_default().iter().map(ingress);
    current.filter(|it| it.ip.is_some() || it.hostname.is_some()).collect()
}

/// The Service with our finalizer.
pub(super) fn finalized(service: &Service) -> Service {
    let mut desired = service.clone();
    if !is_finalized(service) {
        desired.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
    }
    desired
}

/// The Service with what its provider asked to keep and to show. Where it is reached stays as it is.
pub(super) fn kept(service: &Service, standing: &Standing, now: Timestamp) -> Service {
    let mut desired = service.clone();
    for (key, value) in &standing.annotations {
        desired.metadata.annotations.get_or_insert_default().insert(key.clone(), value.clone());
    }
    remember(&mut desired, standing.memo.as_deref(), now);
    desired
}

/// The Service, reached at its load balancer.
pub(super) fn served(service: &Service, standing: &Standing, now: Timestamp) -> Service {
    let mut desired = kept(service, standing, now);
    let ingress: Vec<_> = standing.ingress.iter().map(ingress).collect();
    let status = desired.status.get_or_insert_default();
    status.load_balancer = Some(LoadBalancerStatus { ingress: Some(ingress).filter(|it| !it.is_empty()) });
    desired
}

/// The Service without a load balancer, as far as we have written that it has one.
pub(super) fn released(service: &Service) -> Service {
    let mut desired = service.clone();
    if let Some(finalizers) = &mut desired.metadata.finalizers {
        finalizers.retain(|it| it != FINALIZER);
    }
    if let Some(status) = &mut desired.status {
        status.load_balancer = status.load_balancer.as_ref().map(|_| LoadBalancerStatus::default());
    }
    forget(&mut desired);
    desired
}

/// As the API server will show it: it fills in how traffic comes from an address.
fn ingress(ingress: &Ingress) -> LoadBalancerIngress {
    let mode = ingress.ip_mode.or(ingress.ip.as_ref().map(|_| IpMode::Vip));
    LoadBalancerIngress {
        ip: ingress.ip.clone(),
        hostname: ingress.hostname.clone(),
        ip_mode: mode.map(|it| it.as_str().to_owned()),
        ports: None,
    }
}

fn remember(service: &mut Service, memo: Option<&str>, now: Timestamp) {
    let Some(memo) = memo else { return forget(service) };
    let conditions = service.status.get_or_insert_default().conditions.get_or_insert_default();
    match conditions.iter_mut().find(|it| it.type_ == MEMO) {
        Some(condition) if condition.message == memo => {}
        Some(condition) => memo.clone_into(&mut condition.message),
        None => conditions.push(Condition {
            type_: MEMO.to_owned(),
            status: "True".to_owned(),
            reason: KEPT.to_owned(),
            message: memo.to_owned(),
            last_transition_time: Time(now),
            observed_generation: None,
        }),
    }
}

fn forget(service: &mut Service) {
    let Some(status) = &mut service.status else { return };
    let Some(conditions) = &mut status.conditions else { return };
    conditions.retain(|it| it.type_ != MEMO);
    if conditions.is_empty() {
        status.conditions = None;
    }
}
