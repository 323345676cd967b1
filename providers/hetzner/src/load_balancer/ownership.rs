//! The owner of a load balancer. Annotations prove nothing: the author of a Service writes them.

use aerostat_sdk::backend::Found;
use aerostat_sdk::{Error, LoadBalancer, Result, cluster};

use crate::api::load_balancers::{CLUSTER, KEPT, LoadBalancer as Live, OWN_SERVICE, SERVICE};
use crate::api::{Labels, WithLabels};

/// The relation of a load balancer to one Service, by the marks on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OwnerByMarks {
    /// It is this Service's, by our marks.
    Marked,
    /// It is this Service's, by the vendor's mark alone: its own controller has built it.
    Vendor,
    /// It has no mark.
    Nobody,
    /// It is another Service's, or another cluster's.
    Other,
}

/// The owner of a load balancer with these labels, as the Service with this UID sees it.
///
/// # Errors
///
/// While describing, when the cluster is not known.
pub(crate) fn owner(labels: &Labels, service: &str) -> Result<OwnerByMarks> {
    let label = |key| labels.get(key).map(String::as_str).filter(|it| !it.is_empty());
    let is_other_cluster = match label(CLUSTER) {
        Some(it) => it != cluster()?.uid,
        None => false,
    };
    let marks = [label(SERVICE), label(OWN_SERVICE)];
    let is_other_service = marks.iter().flatten().any(|it| *it != service);
    Ok(match marks {
        _ if is_other_cluster || is_other_service => OwnerByMarks::Other,
        [None, None] => OwnerByMarks::Nobody,
        [Some(_), Some(_)] if label(CLUSTER).is_some() => OwnerByMarks::Marked,
        [..] => OwnerByMarks::Vendor,
    })
}

/// The labels of a load balancer once it has our marks: the vendor's too, so that its controller would find it. What a Service
/// has is not kept.
///
/// # Errors
///
/// As [`owner`].
pub(super) fn marked(labels: &Labels, service: &LoadBalancer) -> Result<Labels> {
    let mark = service.owner.mark()?;
    let own = [(SERVICE, &mark.service), (OWN_SERVICE, &mark.service), (CLUSTER, &mark.cluster)];
    let mut labels = labels.clone();
    labels.remove(KEPT);
    labels.extend(own.map(|(key, value)| (key.to_owned(), value.clone())));
    Ok(labels)
}

/// The fields of a load balancer that every cloud shows.
pub(super) fn found(it: &WithLabels, service: &LoadBalancer) -> Result<Found> {
    let is_marked = matches!(owner(&it.labels, &service.owner.uid)?, OwnerByMarks::Marked | OwnerByMarks::Vendor);
    Ok(Found::new(it.id.to_string(), &it.name, is_marked))
}

/// Refuses to touch what the marks say is another's.
///
/// # Errors
///
/// `invalid`, naming the mark.
pub(super) fn refuse_others(live: &Live, service: &LoadBalancer) -> Result<()> {
    match owner(&live.labels, &service.owner.uid)? {
        OwnerByMarks::Marked | OwnerByMarks::Vendor | OwnerByMarks::Nobody => Ok(()),
        OwnerByMarks::Other => Err(Error::invalid(others(live))),
    }
}

/// For a person: why a load balancer is not touched.
pub(super) fn others(live: &Live) -> String {
    let marks = [SERVICE, OWN_SERVICE, CLUSTER];
    let marks: Vec<_> = marks.iter().filter_map(|it| Some(format!("{it}={}", live.label(it)?))).collect();
    format!(
        "{} is marked for another Service or cluster ({}): it is not touched. Correct its labels if it is this Service's",
        live.title(),
        marks.join(", ")
    )
}

/// Whether a load balancer whose name the Service asks for is the Service's: by its marks, by the default name, which holds the
/// Service's UID, by an address that the Service's status shows, or because the operator says that the name is enough.
/// `Err` says what to do.
///
/// # Errors
///
/// As [`owner`].
pub(super) fn proof(live: &Live, service: &LoadBalancer, by_name: bool) -> Result<Result<(), String>> {
    match owner(&live.labels, &service.owner.uid)? {
        OwnerByMarks::Marked | OwnerByMarks::Vendor => return Ok(Ok(())),
        OwnerByMarks::Other => return Ok(Err(others(live))),
        OwnerByMarks::Nobody => {}
    }
    let public = [&live.public_net.ipv4.ip, &live.public_net.ipv6.ip];
    let private = live.private_net.iter().map(|it| &it.ip);
    let is_shown = public.into_iter().chain(private).flatten().any(|it| service.shows_address(it));
    if by_name || is_shown || live.name == service.name {
        return Ok(Ok(()));
    }
    Ok(Err(format!(
        "{} has the name that this Service asks for, and nothing proves that it is this Service's: none of its addresses is in \
         the Service's status. It is not touched. To adopt it, give it the label {SERVICE}={} in the cloud, or let the \
         operator set {}: \"true\" under provider.settings; to get another one, choose another name",
        live.title(),
        service.owner.uid,
        crate::settings::ADOPT_BY_NAME.name
    )))
}
