//! The load balancer of a Service: a Classic one, or a Network one, by its class.

use std::time::Duration;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Found;
use aerostat_sdk::form::Text;
use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result};

use crate::load_balancer::annotations::{renamed, vendor};
use crate::load_balancer::marks::left_by_the_vendor;
use crate::load_balancer::reused::bare;
use crate::provider::Alibaba;
use crate::settings::balancers::has_networks;
use crate::{kinds, load_balancer, network};

aerostat_sdk::table! {
    /// Those that say which controller serves a Service, and with which kind of load balancer.
    pub(crate) const TABLE;
    CLASS: Text = ("service.beta.kubernetes.io/class", Text("any text"),
        "The Service is left to another controller, unless its class is alibabacloud.com/nlb.");
    TUNNEL: Text = (vendor!("tunnel-type"), Text("any text, or none"), "The same.");
    KIND: Text = (vendor!("type"), Text("nlb, or anything else"),
        "nlb is a Network Load Balancer without the class alibabacloud.com/nlb. With anything else the Service is left to another controller.");
}

/// The load balancer that a Service asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AskedKind {
    Classic,
    Network,
    /// None here: this annotation leaves the Service to another controller.
    Elsewhere(&'static str),
}

impl LoadBalancers for Alibaba {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let desired = &renamed(desired);
        let (asked, live) = (asked(desired), live(desired));
        match (asked, live) {
            (AskedKind::Elsewhere(_), None) => Ok(Progress::NotManaged),
            (AskedKind::Elsewhere(key), Some(live)) => Err(Error::invalid(format_args!(
                "the Service has load balancer {live}, and annotation {key} leaves it to another controller. Nothing is deleted or changed: \
                 take the annotation away, or make another Service"
            ))),
            (_, Some(live)) if is_network(desired) != (asked == AskedKind::Network) => {
                Err(Error::invalid(format_args!(
                    "the Service has load balancer {live}, and loadBalancerClass or annotation {} asks for the other kind. Nothing is \
                     deleted: set it as it was, or make another Service",
                    KIND.name
                )))
            }
            (AskedKind::Network, _) => network::ensure(desired, kinds::ensure_network),
            (AskedKind::Classic, _) => load_balancer::ensure(desired, kinds::ensure_classic),
        }
    }

    /// The load balancer that there is decides, and not what the class says by now: it goes with the type of the Service. Where nothing is
    /// known to be there, both kinds are looked for, the Classic one first: a Network one may not be there to ask about.
    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let unwanted = &renamed(unwanted);
        let deletion = match live(unwanted) {
            Some(_) if is_network(unwanted) => network::delete(unwanted, kinds::delete_network)?,
            Some(_) => load_balancer::delete(unwanted, kinds::delete_classic)?,
            None if asked(unwanted) == AskedKind::Network => network::delete(unwanted, kinds::delete_network)?,
            None => match load_balancer::delete(unwanted, kinds::delete_classic)? {
                // An error there keeps the finalizer: nothing but the operator's word says that none can be there.
                Deletion::Done if has_networks()? => network::delete(unwanted, kinds::delete_network)?,
                other => other,
            },
        };
        // The vendor's finalizers go with what is over.
        if matches!(deletion, Deletion::Pending(_)) {
            return Ok(deletion);
        }
        let inherited = match inherited(unwanted, network::FINALIZER, network::named)? {
            None => inherited(unwanted, load_balancer::FINALIZER, load_balancer::named)?,
            found => found,
        };
        Ok(inherited.unwrap_or(deletion))
    }
}

/// The deletion of another load balancer than the memo's that the vendor's controller has left for the Service, if its finalizer says that there may
/// be one: lists may still show the memo's.
///
/// # Errors
///
/// `invalid`, naming one that is not proven to be the Service's.
fn inherited(
    unwanted: &LoadBalancer,
    finalizer: &str,
    named: fn(&LoadBalancer) -> Result<Vec<Found>>,
) -> Result<Option<Deletion>> {
    if !unwanted.finalizers().any(|it| it == finalizer) {
        return Ok(None);
    }
    for it in named(unwanted)? {
        if !it.is_marked {
            return Err(left_by_the_vendor(&it.title(), finalizer));
        }
        if live(unwanted).map(bare) != Some(&*it.id) {
            let because = format!("{} is this Service's too, and deleted next", it.title());
            return Ok(Some(Deletion::pending(unwanted.status().memo(it.id), Duration::ZERO, because)));
        }
    }
    Ok(None)
}

/// The load balancer that a Service asks for, as the vendor's controller has it.
fn asked(service: &LoadBalancer) -> AskedKind {
    let annotations = Annotations::of(service);
    match (service.load_balancer_class.as_deref(), annotations.text(KIND.name)) {
        (Some(network::CLASS), _) | (None, Some("nlb")) => AskedKind::Network,
        (_, Some(_)) => AskedKind::Elsewhere(KIND.name),
        _ if annotations.has(TUNNEL.name) => AskedKind::Elsewhere(TUNNEL.name),
        _ if annotations.text(CLASS.name).is_some() => AskedKind::Elsewhere(CLASS.name),
        _ => AskedKind::Classic,
    }
}

/// The load balancer that the Service has, as its memo says: its id, or its name where it is being made.
fn live(service: &LoadBalancer) -> Option<&str> {
    let id = service.memo.as_deref()?.split(' ').next()?;
    let is_id = [network::ID, load_balancer::ID].iter().any(|it| id.starts_with(it));
    Some(if is_id { id } else { &service.name })
}

/// Whether its memo is that of a Network Load Balancer. A creation that is not settled may have made one of its kind alone.
fn is_network(service: &LoadBalancer) -> bool {
    let memo = service.memo.as_deref().unwrap_or_default();
    [network::ID, network::BEGUN].iter().any(|it| memo.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(class: Option<&str>, annotations: &[(&str, &str)]) -> LoadBalancer {
        let service = LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let service = LoadBalancer { load_balancer_class: class.map(str::to_owned), ..service };
        annotations.iter().fold(service, |service, (key, value)| service.with_annotation(*key, *value))
    }

    #[test]
    fn classes_and_annotations_say_which_controller_serves() {
        use AskedKind::{Classic, Elsewhere, Network};
        let nlb = Some(network::CLASS);
        for (class, annotations, expected) in [
            (None, &[][..], Classic),
            (None, &[(CLASS.name, "")], Classic),
            (None, &[(CLASS.name, "nginx")], Elsewhere(CLASS.name)),
            (None, &[(TUNNEL.name, "")], Elsewhere(TUNNEL.name)),
            (None, &[(KIND.name, "nlb")], Network),
            (None, &[(KIND.name, "nlb"), (CLASS.name, "nginx")], Network),
            (None, &[(KIND.name, "gwlb")], Elsewhere(KIND.name)),
            (nlb, &[(CLASS.name, "nginx"), (TUNNEL.name, "x"), (KIND.name, "gwlb")], Network),
            (Some("example.com/own"), &[(KIND.name, "nlb")], Elsewhere(KIND.name)),
            (Some("example.com/own"), &[], Classic),
        ] {
            assert_eq!(asked(&service(class, annotations)), expected, "{class:?} {annotations:?}");
        }
    }

    #[test]
    fn a_service_of_another_controller_is_left_alone() {
        let host = crate::tests::settings();
        let other = service(None, &[(CLASS.name, "nginx")]);
        assert_eq!(host.run(|| Alibaba::ensure(&other)), Ok(Progress::NotManaged));
        for (memo, annotation, words) in [
            ("lb-1", (CLASS.name, "nginx"), "another controller"),
            ("nlb-1 CreateListener:a", (TUNNEL.name, ""), "another controller"),
            ("lb-1", (KIND.name, "nlb"), "the other kind"),
        ] {
            let served = LoadBalancer { memo: Some(memo.to_owned()), ..service(None, &[annotation]) };
            let told = host.run(|| Alibaba::ensure(&served));
            let is_told = |why: &str| why.contains(words) && why.contains(annotation.0) && why.contains("lb-1");
            assert!(matches!(&told, Err(Error::Invalid(why)) if is_told(why)), "{memo}: {told:?}");
        }
        assert!(host.requests().is_empty());
    }

    #[test]
    fn older_annotations_say_which_controller_serves_too() {
        let host = crate::tests::settings();
        let older = |name: &str| format!("service.beta.kubernetes.io/alicloud-loadbalancer-{name}");
        let elsewhere = service(None, &[(&*older("tunnel-type"), "")]);
        assert_eq!(host.run(|| Alibaba::ensure(&elsewhere)), Ok(Progress::NotManaged));
        let network = service(None, &[(&*older("type"), "nlb")]);
        let told = host.run(|| Alibaba::ensure(&network));
        assert!(matches!(&told, Err(Error::Invalid(why)) if why.contains("zone-maps")), "{told:?}");
        let newer = service(None, &[(&*older("type"), "nlb"), (KIND.name, "gwlb")]);
        assert_eq!(host.run(|| Alibaba::ensure(&newer)), Ok(Progress::NotManaged));
        assert!(host.requests().is_empty());
    }
}
