//! The owner of a memo and of a hostname: no two Services have the same load balancer. No client, no clock, no log.

use std::sync::Arc;

use cloud_provider::{Error, LoadBalancer};
use k8s_openapi::api::core::v1::Service;

use crate::service::services::key;
use crate::service::state::ServiceStates;
use crate::service::status;

/// An older Service with the same memo. Two can have it only if somebody has copied the status of one of them.
pub(super) fn older_claimant(service: &Service, memo: &str, all: &[Arc<Service>]) -> Option<String> {
    let mut same = all.iter().filter(|it| status::memo(it) == Some(memo));
    same.find(|it| is_older(it, service)).map(|it| key(it))
}

/// Whether a Service is an older one than another. Of two of one age one is the older all the same.
pub(super) fn is_older(one: &Service, other: &Service) -> bool {
    let age = |service: &Service| {
        let created = service.metadata.creation_timestamp.as_ref().map(|it| it.0);
        (created, service.metadata.uid.clone())
    };
    one.metadata.uid != other.metadata.uid && age(one) < age(other)
}

/// Leaves hostnames out of what a provider is told of where a Service is reached, if the status of one of these others shows them, too: a
/// provider that knows a load balancer by its hostname would take it for both Services'. Returns the hostname, and the other Service.
///
/// Clouds let Services share an IP address on purpose, and so addresses stay. So does a hostname that an annotation of the Service names, which
/// its author has chosen, and all of a Service that has an annotation in which the provider notes whose a load balancer is: there several may
/// share one.
pub(super) fn leave_out_shared<'a>(
    desired: &mut LoadBalancer,
    provider_writes: &[String],
    others: impl Iterator<Item = &'a Arc<Service>>,
) -> Option<(String, String)> {
    let is_noted = desired.annotations.iter().any(|(key, _)| provider_writes.contains(key));
    if is_noted || desired.current_ingress.iter().all(|it| it.hostname.is_none()) {
        return None;
    }
    let mut first = None;
    for other in others {
        let shown = status::current(other);
        desired.current_ingress.retain(|ingress| {
            let Some(hostname) = &ingress.hostname else { return true };
            let is_chosen = desired.annotations.iter().any(|(_, value)| value == hostname);
            let is_shared = !is_chosen && shown.iter().any(|other| other.hostname.as_ref() == Some(hostname));
            if is_shared && first.is_none() {
                first = Some((hostname.clone(), key(other)));
            }
            !is_shared
        });
    }
    first
}

/// Another Service than the one with this UID that has a memo, or is about to have it.
pub(super) fn holder(uid: &str, memo: &str, states: &ServiceStates, all: &[Arc<Service>]) -> Option<String> {
    let mut remembered = states.iter().filter(|(_, it)| it.uid != uid && it.work.memo.as_deref() == Some(memo));
    // Of a Service that is remembered, the kept state is newer than the watch.
    let is_remembered = |key: &str| {
        let known = all.iter().find(|it| self::key(it) == key);
        known.zip(states.peek(key)).is_some_and(|(known, it)| known.metadata.uid.as_deref() == Some(it.uid.as_str()))
    };
    let mut watched = watched(uid, memo, all).filter(|it| !is_remembered(it));
    remembered.next().map(|(key, _)| key.to_owned()).or_else(|| watched.next())
}

/// The Services that the watch knows with a memo, but for the one with this UID.
pub(super) fn watched<'a>(uid: &'a str, memo: &'a str, all: &'a [Arc<Service>]) -> impl Iterator<Item = String> + 'a {
    let others = all.iter().filter(move |it| it.metadata.uid.as_deref() != Some(uid));
    others.filter(move |it| status::memo(it) == Some(memo)).map(|it| key(it))
}

/// Why a Service cannot have a memo.
pub(super) fn taken(service: &str, memo: &str, holder: &str) -> Error {
    Error::Invalid(format!(
        "the load balancer that is remembered as {memo:?} is Service {holder}'s, and cannot be Service {service}'s too: \
         it is not touched"
    ))
}

#[cfg(test)]
mod tests {
    use cloud_provider::Ingress;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::service::testing::{ID, SIZE, service, with_load_balancer};

    /// A Service with the memo `lb-1`.
    fn with_memo(name: &str, created: &str) -> Arc<Service> {
        let mut change = with_load_balancer();
        change["metadata"] = json!({ "name": name, "uid": format!("uid of {name}"), "creationTimestamp": created });
        Arc::new(service(change))
    }

    fn without_memo(name: &str) -> Arc<Service> {
        Arc::new(service(json!({ "metadata": { "name": name, "uid": format!("uid of {name}") } })))
    }

    const FIRST: &str = "2026-01-01T00:00:00Z";
    const LATER: &str = "2026-01-02T00:00:00Z";

    /// Cases: theft-by-memo
    #[test]
    fn theft_by_a_copied_status_is_refused_to_the_younger_service() {
        let (owner, thief) = (with_memo("owner", FIRST), with_memo("thief", LATER));
        let all = [thief.clone(), without_memo("other"), owner.clone()];
        assert_eq!(older_claimant(&thief, "lb-1", &all).as_deref(), Some("default/owner"));
        assert_eq!(older_claimant(&owner, "lb-1", &all), None);
        let twin = with_memo("twin", FIRST);
        let all = [owner.clone(), twin.clone()];
        let refused = [&owner, &twin].map(|it| older_claimant(it, "lb-1", &all).is_some());
        assert_eq!(refused, [false, true], "of two of one age, one is the older all the same");
    }

    /// A Service whose status shows a hostname.
    fn reached_at(name: &str, created: &str, hostname: &str) -> Arc<Service> {
        let metadata = json!({ "name": name, "uid": format!("uid of {name}"), "creationTimestamp": created });
        let ingress = json!([{ "hostname": hostname }]);
        Arc::new(service(json!({ "metadata": metadata, "status": { "loadBalancer": { "ingress": ingress } } })))
    }

    /// A load balancer that is reached at a hostname, and beside it at an address.
    fn told(annotations: &[(&str, &str)]) -> LoadBalancer {
        let at = |hostname: Option<&str>, ip: Option<&str>| Ingress {
            ip: ip.map(str::to_owned),
            hostname: hostname.map(str::to_owned),
            ip_mode: None,
        };
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        LoadBalancer {
            current_ingress: vec![at(Some("lb-1.example"), None), at(None, Some("192.0.2.1"))],
            annotations: annotations.collect(),
            ..LoadBalancer::default()
        }
    }

    #[test]
    fn a_shared_hostname_is_not_told_to_a_provider() {
        let other = reached_at("other", FIRST, "lb-1.example");
        let left = |annotations: &[(&str, &str)], others: &[&Arc<Service>]| {
            let mut desired = told(annotations);
            let found = leave_out_shared(&mut desired, &[ID.to_owned()], others.iter().copied());
            (desired.current_ingress.len(), found)
        };
        let found = Some(("lb-1.example".to_owned(), "default/other".to_owned()));
        assert_eq!(left(&[], &[&other]), (1, found.clone()), "the address stays, which clouds share");
        assert_eq!(left(&[(SIZE, "2")], &[&other]), (1, found));
        assert_eq!(left(&[], &[&reached_at("other", FIRST, "lb-2.example")]), (2, None));
        assert_eq!(left(&[], &[]), (2, None));
        assert_eq!(left(&[(SIZE, "lb-1.example")], &[&other]), (2, None), "its author has chosen it");
        assert_eq!(left(&[(ID, "lb-1")], &[&other]), (2, None), "the provider has noted whose it is");
    }

    #[test]
    fn one_of_two_services_is_the_older() {
        let (owner, thief) = (without_memo("owner"), without_memo("thief"));
        assert_eq!(
            [is_older(&owner, &thief), is_older(&thief, &owner), is_older(&owner, &owner)],
            [true, false, false]
        );
        let (first, later) = (with_memo("z", FIRST), with_memo("a", LATER));
        assert_eq!([is_older(&first, &later), is_older(&later, &first)], [true, false]);
    }

    #[test]
    fn a_memo_is_its_first_holders() {
        let all = [with_memo("holder", FIRST), without_memo("other")];
        let states = ServiceStates::default();
        assert_eq!(holder("uid of other", "lb-1", &states, &all).as_deref(), Some("default/holder"));
        assert_eq!(holder("uid of other", "lb-2", &states, &all), None);
        assert_eq!(holder("uid of holder", "lb-1", &states, &all), None, "its own");
    }

    #[test]
    fn the_kept_state_is_newer_than_the_watch() {
        let all = [with_memo("holder", FIRST), without_memo("other")];
        let mut states = ServiceStates::default();
        states.of("default/holder", &all[0], Instant::now()).work.memo = Some("lb-2".to_owned());
        assert_eq!(holder("uid of other", "lb-1", &states, &all), None, "it has another by now");
        assert_eq!(holder("uid of other", "lb-2", &states, &all).as_deref(), Some("default/holder"));
        let earlier = service(json!({ "metadata": { "name": "holder", "uid": "an earlier one" } }));
        states.of("default/holder", &earlier, Instant::now()).work.memo = None;
        assert_eq!(holder("uid of other", "lb-1", &states, &all).as_deref(), Some("default/holder"));
    }
}
