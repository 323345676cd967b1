//! Load balancers of somebody's own that a Service names: the proof that its parts may be there, and their memos. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, Ingress, LoadBalancer};

use super::annotations::ID;
use super::marks::{CLUSTER_UID, SERVICE_UID, VENDOR_CLUSTER, VENDOR_NAME};
use crate::settings::balancers::ADOPT_BY_ID;

/// The words behind the id of one in a memo: it stays when the Service goes.
const REUSED: &str = "/reused";

/// The memo of one that is somebody's own.
pub(crate) fn memo(id: &str) -> String {
    format!("{id}{REUSED}")
}

/// The bare id in a memo.
pub(crate) fn bare(memo: &str) -> &str {
    memo.strip_suffix(REUSED).unwrap_or(memo)
}

/// Whether the memo of a Service says that this load balancer is somebody's own; `None`, if it does not name it.
pub(crate) fn is_known(service: &LoadBalancer, id: &str) -> Option<bool> {
    let memo = service.memo.as_deref()?;
    (bare(memo) == id).then_some(memo != id)
}

/// The tag that says that a load balancer is a cluster's: the vendor's on that of an API server, too.
pub(crate) fn mark(tags: &[(String, String)]) -> Option<&str> {
    let is_mark = |key: &str| [CLUSTER_UID, SERVICE_UID, VENDOR_NAME, VENDOR_CLUSTER].contains(&key);
    tags.iter().map(|(key, _)| key.as_str()).find(|it| is_mark(it))
}

/// Whether the parts of a Service may be in a load balancer that its annotation names, with these tags and this address or name. The Service's
/// author writes the annotation: it proves nothing. A status that shows the address was written by a controller, and setting adoptById by the
/// operator. `Err` says what to do.
pub(crate) fn proof(
    service: &LoadBalancer,
    tags: &[(String, String)],
    address: &str,
    adopts_by_id: bool,
) -> Result<(), String> {
    if let Some(mark) = mark(tags) {
        return Err(format!("it has the tag {mark}, which marks a cluster's own. It is not touched: name another one"));
    }
    let shown = &service.current_ingress;
    let shows = |it: &Ingress| [&it.ip, &it.hostname].iter().any(|it| it.as_deref() == Some(address));
    if !address.is_empty() && shown.iter().any(shows) {
        return Ok(());
    }
    if !shown.is_empty() {
        return Err(format!(
            "the Service's status shows another address than {address}. It is not touched: take the annotation away, or make another Service"
        ));
    }
    if adopts_by_id {
        return Ok(());
    }
    Err(format!(
        "its address {address} is not in the Service's status. It is not touched. To let the Service have its parts in it, let the operator set \
         {}: \"true\" under provider.settings; to get a load balancer of its own, take the annotation away",
        ADOPT_BY_ID.name
    ))
}

/// Refuses to go on without a load balancer that the annotation names.
///
/// # Errors
///
/// `invalid`, naming the annotation.
pub(crate) fn check_there(service: &LoadBalancer, id: &str) -> Result<(), Error> {
    match Annotations::of(service).text(ID.name) == Some(id) {
        true => Err(Error::invalid(format_args!(
            "annotation {}: there is no load balancer {id} of this kind: name one that is there, or take the annotation away",
            ID.name
        ))),
        false => Ok(()),
    }
}

/// Refuses to make one for a Service that names another's.
///
/// # Errors
///
/// `invalid`, naming the annotation.
pub(crate) fn check_none(service: &LoadBalancer) -> Result<(), Error> {
    Annotations::of(service).text(ID.name).map_or(Ok(()), |id| {
        Err(Error::invalid(format_args!(
            "annotation {}: the Service had another load balancer than {id}, which is gone: take the annotation away, or make another Service",
            ID.name
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> LoadBalancer {
        LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11")
    }

    #[test]
    fn memos_tell_load_balancers_of_ones_own() {
        let of = |memo: Option<&str>| {
            let service = LoadBalancer { memo: memo.map(str::to_owned), ..service() };
            is_known(&service, "lb-1")
        };
        assert_eq!([of(None), of(Some("lb-2")), of(Some("creating a since 1"))], [None; 3]);
        assert_eq!([of(Some("lb-1")), of(Some(&memo("lb-1")))], [Some(false), Some(true)]);
        assert_eq!([bare("lb-1"), bare(&memo("lb-1"))], ["lb-1"; 2]);
    }

    #[test]
    fn an_annotation_alone_proves_nothing() {
        let shows = |address: &str| LoadBalancer { current_ingress: vec![Ingress::ip(address)], ..service() };
        for (service, adopts_by_id, refusal) in [
            (service(), false, Some("adoptById")),
            (service(), true, None),
            (shows("203.0.113.1"), false, None),
            (shows("203.0.113.1"), true, None),
            (shows("203.0.113.9"), false, Some("another address")),
            (shows("203.0.113.9"), true, Some("another address")),
        ] {
            let told = proof(&service, &[], "203.0.113.1", adopts_by_id);
            assert_eq!(told.is_ok(), refusal.is_none(), "{told:?}");
            assert!(told.err().is_none_or(|why| why.contains(refusal.unwrap())));
        }
        let named = LoadBalancer { current_ingress: vec![Ingress::hostname("nlb-1.example")], ..service() };
        assert_eq!(proof(&named, &[], "nlb-1.example", false), Ok(()));
        assert!(proof(&named, &[], "", true).is_err(), "one without an address is shown by no status");
    }

    #[test]
    fn what_a_cluster_has_marked_is_refused() {
        for key in [CLUSTER_UID, SERVICE_UID, VENDOR_NAME, VENDOR_CLUSTER] {
            let tags = [("team".to_owned(), "web".to_owned()), (key.to_owned(), "x".to_owned())];
            let shows = LoadBalancer { current_ingress: vec![Ingress::ip("203.0.113.1")], ..service() };
            let told = proof(&shows, &tags, "203.0.113.1", true);
            assert!(matches!(&told, Err(why) if why.contains(key)), "{told:?}");
        }
    }
}
