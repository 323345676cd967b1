//! Load balancers of somebody's own that a Service names: the proof that its parts may be there, their memos, and what has no effect there. Pure.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, Ingress, LoadBalancer};

use super::annotations::{self as rows, ID};
use super::marks::{CLUSTER_UID, SERVICE_UID, VENDOR_CLUSTER, VENDOR_NAME};
use super::unserved;
use crate::settings::balancers::ADOPT_BY_ID;

/// The words behind the id of one in a memo: it stays when the Service goes.
const REUSED: &str = "/reused";

/// Why one with an address of the internet is refused.
pub(crate) const INTERNET: &str = "it has an address of the internet, and setting disablePublicSLB is true";

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

/// The groups of somebody's own that ports send to: the numbers of ports, and ids. `ports` has their numbers and node ports.
///
/// # Errors
///
/// `invalid`, if the load balancer is the Service's own, or a group would take two node ports.
pub(crate) fn given_groups(
    annotations: Annotations<'_>,
    is_reused: bool,
    ports: &[(u16, u16)],
) -> Result<Vec<(String, u16)>, Error> {
    let given = annotations.read(&rows::GROUPS)?.unwrap_or_default();
    let takes_two = |id: &str| {
        let named = |number: u16| given.iter().any(|(it, port)| it == id && *port == number);
        let mut node_ports = ports.iter().filter(|(number, _)| named(*number)).map(|(_, node_port)| *node_port);
        let first = node_ports.next();
        node_ports.any(|it| Some(it) != first)
    };
    let refusal = |id: &str, number: u16| {
        if !is_reused {
            return Some(format!("it counts in the load balancer of annotation {} alone: take it away", rows::ID.name));
        }
        if ports.iter().all(|(it, _)| *it != number) {
            return Some(format!("port {number} is none of the Service"));
        }
        takes_two(id).then(|| format!("group {id} cannot take two node ports"))
    };
    let why = given.iter().find_map(|(id, number)| refusal(id, *number));
    match why {
        Some(why) => Err(Error::invalid(format_args!("annotation {}: {why}", rows::GROUPS.name))),
        None => Ok(given),
    }
}

/// The weight of each of so many machines: its part of a weight for all of them, or its own.
pub(crate) fn part(all: Option<u32>, own: u32, count: usize) -> u32 {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    all.map_or(own, |all| if all == 0 { 0 } else { (all / count).max(1) })
}

/// The annotations that have no effect where the load balancer is the Service's own, or, if it `is_reused`, somebody's own.
pub(crate) fn ignored_of_owner(
    service: &LoadBalancer,
    is_reused: bool,
    listens: bool,
    attributes: &[&str],
) -> Vec<String> {
    let annotations = Annotations::of(service);
    if !is_reused {
        return unserved::without_effect(annotations, &[rows::OVERRIDES.name, rows::ALL_WEIGHT.name]);
    }
    let mut ignored = unserved::without_effect(annotations, attributes);
    if annotations.text(rows::GROUPS.name).is_none() && annotations.text(rows::ALL_WEIGHT.name).is_some() {
        ignored.push(format!("annotation {}: annotation {} names no group", rows::ALL_WEIGHT.name, rows::GROUPS.name));
    }
    if !listens && !service.source_ranges.is_empty() {
        ignored.push("loadBalancerSourceRanges: somebody else says who comes in".to_owned());
    }
    ignored
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
    fn marks_of_any_cluster_are_refused() {
        for key in [CLUSTER_UID, SERVICE_UID, VENDOR_NAME, VENDOR_CLUSTER] {
            let tags = [("team".to_owned(), "web".to_owned()), (key.to_owned(), "x".to_owned())];
            let shows = LoadBalancer { current_ingress: vec![Ingress::ip("203.0.113.1")], ..service() };
            let told = proof(&shows, &tags, "203.0.113.1", true);
            assert!(matches!(&told, Err(why) if why.contains(key)), "{told:?}");
        }
    }
}
