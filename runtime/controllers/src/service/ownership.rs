//! Whose a memo is: no two Services have the same load balancer. No client, no clock, no log.

use std::sync::Arc;

use cloud_provider::Error;
use k8s_openapi::api::core::v1::Service;

use crate::service::services::key;
use crate::service::state::ServiceStates;
use crate::service::status;

/// An older Service with the same memo. Two can have it only if somebody has copied the status of one of them.
pub(super) fn older_claimant(service: &Service, memo: &str, all: &[Arc<Service>]) -> Option<String> {
    let age = |service: &Service| {
        let created = service.metadata.creation_timestamp.as_ref().map(|it| it.0);
        (created, service.metadata.uid.clone())
    };
    let mut same = all.iter().filter(|it| status::memo(it) == Some(memo));
    same.find(|it| it.metadata.uid != service.metadata.uid && age(it) < age(service)).map(|it| key(it))
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
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::service::testing::{service, with_load_balancer};

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
