//! Another version of a provider takes the place of the one that serves.

use cloud_provider::{Deletion, Error, LoadBalancer, Progress, Result};
use egress::{Method, PathPattern, Rule};
use prometheus::Registry;
use sandbox::{CallLimits, Candidate, Digest, LoadError, Module, ProbeError, Provider, Swapped};
use tests::versioned::{Cloud, version};
use tokio::task::JoinSet;

use crate::setup::{Guest, endpoint, node, service};

/// A provider in its version 1.0.0, which may do everything in this cloud, with these limits.
async fn loaded_with(cloud: &Cloud, limits: CallLimits) -> Provider {
    let mut guest = Guest::of(version("version=1.0.0")).limits(limits);
    let mut api = endpoint("api", cloud.address());
    api.allow = vec![Rule::new([Method::Get, Method::Post, Method::Delete], [PathPattern::parse("/**").unwrap()])];
    // The cloud changes behind the provider's back.
    api.limits.reuse = std::time::Duration::ZERO;
    guest.endpoints.push(api);
    guest.try_load(&Registry::new()).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn loaded(cloud: &Cloud) -> Provider {
    loaded_with(cloud, CallLimits::default()).await
}

/// Another version, with these words.
async fn candidate(provider: &Provider, words: &str) -> Candidate {
    let bytes = version(words);
    candidate_of(provider, bytes).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn candidate_of(provider: &Provider, bytes: Vec<u8>) -> Result<Candidate, LoadError> {
    let digest = Digest::of(&bytes);
    provider.load_candidate(Module::new("the candidate", bytes, digest).unwrap()).await
}

/// Lets a version serve that nobody has asked for its account.
fn swap(provider: &Provider, candidate: &Candidate) -> Candidate {
    provider.swap(candidate, None).former
}

fn version_of(provider: &Provider) -> String {
    provider.cloud().description.now().version.clone()
}

/// A Service that has got as far as this memo.
fn with_memo(memo: &str) -> LoadBalancer {
    LoadBalancer { memo: Some(memo.to_owned()), ..service("web") }
}

/// The memo of an answer, and whether the load balancer is ready.
fn memo(answer: Result<Progress>) -> (String, bool) {
    match answer {
        Ok(Progress::Pending(it)) => (it.status.memo.unwrap(), false),
        Ok(Progress::Ready(it)) => (it.memo.unwrap(), true),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_ends_with_the_version_it_began_with() {
    let cloud = Cloud::start().await;
    (1..=2).for_each(|it| cloud.add_machine(&format!("worker-{it}")));
    let provider = loaded(&cloud).await;
    let instances = provider.cloud().instances.unwrap();
    cloud.hold("GET /machines/worker-1");
    let mut asking = JoinSet::new();
    asking.spawn({
        let instances = instances.clone();
        async move { instances.get(&[node("worker-1")]).await.answer }
    });
    cloud.held().await;
    cloud.becomes_new();
    let fragile = candidate(&provider, "version=1.1.0 fragile").await;
    assert_eq!(version_of(&provider), "1.0.0", "it does not serve yet");
    let former = swap(&provider, &fragile);
    assert_eq!(version_of(&provider), "1.1.0");
    let answer = instances.get(&[node("worker-2")]).await.answer.remove(0);
    assert!(matches!(&answer, Err(Error::Crashed { reason, .. }) if reason.contains("crashed")), "{answer:?}");
    drop((fragile, former));
    cloud.release();
    let answer = asking.join_next().await.unwrap().unwrap().remove(0);
    assert_eq!(answer.unwrap().unwrap().name, "worker-1", "the version before is not cut off");
}

#[tokio::test]
async fn a_list_ends_with_the_version_it_began_with() {
    let cloud = Cloud::start().await;
    (1..=3).for_each(|it| cloud.add_machine(&format!("worker-{it}")));
    let provider = loaded(&cloud).await;
    let instances = provider.cloud().instances.unwrap();
    let first = instances.list(None, 1).await.answer.unwrap();
    cloud.becomes_new();
    let fragile = candidate(&provider, "version=1.1.0 fragile").await;
    drop(swap(&provider, &fragile));
    assert!(instances.list(None, 1).await.answer.is_err(), "a new list is read by the new version");
    let second = instances.list(first.next, 1).await.answer.unwrap();
    assert_eq!(second.instances[0].name, "worker-2");
    let third = instances.list(second.next, 1).await.answer.unwrap();
    assert_eq!((&*third.instances[0].name, third.next), ("worker-3", None));
    for strange in ["\u{1f}", "\u{1f}7\u{1f}1", "\u{1f}x\u{1f}1", "\u{1f}18446744073709551616\u{1f}1"] {
        let answer = instances.list(Some(strange.to_owned()), 1).await.answer;
        assert!(matches!(&answer, Err(Error::Unavailable(text)) if text.contains("begins again")), "{answer:?}");
    }
}

#[tokio::test]
async fn memos_cross_versions_both_ways() {
    let cloud = Cloud::start().await;
    let provider = loaded(&cloud).await;
    let load_balancers = provider.cloud().load_balancers.unwrap();
    let old = memo(load_balancers.ensure(&service("web")).await.answer);
    assert_eq!(old, ("id=lb-1".to_owned(), false));
    let sizes = candidate(&provider, "version=1.1.0 sizes").await;
    let former = swap(&provider, &sizes);
    let new = memo(load_balancers.ensure(&with_memo(&old.0)).await.answer);
    assert_eq!(new, ("id=lb-1 size=small".to_owned(), false), "it goes on where the old one was");
    drop(swap(&provider, &former));
    assert_eq!(version_of(&provider), "1.0.0");
    cloud.finish_balancers();
    let again = memo(load_balancers.ensure(&with_memo(&new.0)).await.answer);
    assert_eq!(again, ("id=lb-1 size=small".to_owned(), true), "what it does not know stays");
    assert_eq!((cloud.made(), cloud.balancers().len()), (1, 1), "it was made once");
    assert_eq!(load_balancers.delete(&with_memo(&again.0)).await.answer, Ok(Deletion::Done));
    assert_eq!(cloud.balancers(), [""; 0]);
}

#[tokio::test]
async fn two_versions_share_the_places_of_calls() {
    let cloud = Cloud::start().await;
    cloud.add_machine("worker-1");
    let provider = loaded_with(&cloud, CallLimits { concurrency: 1, ..CallLimits::default() }).await;
    let other = candidate(&provider, "version=1.1.0").await;
    let instances = provider.cloud().instances.unwrap();
    cloud.hold("GET /machines/worker-1");
    let mut held = JoinSet::new();
    held.spawn({
        let instances = instances.clone();
        async move { instances.get(&[node("worker-1")]).await.answer }
    });
    cloud.held().await;
    let _former = swap(&provider, &other);
    let mut waiting = std::pin::pin!(instances.list(None, 10));
    assert!(futures::poll!(&mut waiting).is_pending());
    let requests = cloud.requests().len();
    tokio::task::yield_now().await;
    assert!(futures::poll!(&mut waiting).is_pending());
    assert_eq!(cloud.requests().len(), requests, "the only place is taken by the version before");
    cloud.release();
    assert!(held.join_next().await.unwrap().unwrap().remove(0).is_ok());
    assert_eq!(waiting.await.answer.unwrap().instances.len(), 1);
}

#[tokio::test]
async fn a_quarantine_is_that_of_the_version_that_serves() {
    let cloud = Cloud::start().await;
    let provider = loaded(&cloud).await;
    let identity = provider.cloud().identity;
    let quarantine = provider.quarantine();
    let fragile = candidate(&provider, "version=1.1.0 fragile").await;
    let former = swap(&provider, &fragile);
    cloud.becomes_new();
    for _ in 0..5 {
        assert!(identity.identity().await.is_err());
    }
    assert!(quarantine.borrow().as_ref().is_some_and(|it| it.contains("identity crashed")));
    let fragile = swap(&provider, &former);
    assert_eq!(*quarantine.borrow(), None, "the version before has not crashed");
    assert_eq!(identity.identity().await, Ok(Some("a".to_owned())));
    let sound = candidate(&provider, "version=1.2.0").await;
    let _former = swap(&provider, &sound);
    assert_eq!((identity.identity().await, quarantine.borrow().clone()), (Ok(Some("a".to_owned())), None));
    drop(swap(&provider, &fragile));
    assert!(quarantine.borrow().is_some(), "it is where it was");
}

#[tokio::test]
async fn a_candidate_names_its_account_before_it_serves() {
    let cloud = Cloud::start().await;
    let provider = loaded(&cloud).await;
    let versions = provider.cloud().identity.versions();
    let seen = *versions.borrow();
    let (good, bad) = (candidate(&provider, "version=1.1.0").await, candidate(&provider, "fragile").await);
    assert_eq!(good.identity().await, Ok(Some("a".to_owned())));
    let Swapped { approved, .. } = provider.swap(&good, Some(seen));
    assert_eq!((approved, *versions.borrow()), (Some(seen + 1), seen + 1), "whoever waits for the account is told");
    assert_eq!(provider.swap(&good, Some(seen)).approved, None, "it was seen under another version");
    cloud.becomes_new();
    let crashed = bad.identity().await;
    assert!(matches!(&crashed, Err(ProbeError::Unusable(text)) if text.contains("identity crashed")), "{crashed:?}");
    drop(cloud);
    let unanswered = good.identity().await;
    assert!(matches!(unanswered, Err(ProbeError::Unanswered(_))), "the cloud is away: {unanswered:?}");
}

#[tokio::test]
async fn since_when_a_version_serves_is_known() {
    let cloud = Cloud::start().await;
    let provider = loaded(&cloud).await;
    let identity = provider.cloud().identity;
    let other = candidate(&provider, "version=1.1.0").await;
    assert_eq!(identity.replaced(), None, "it has served from the start");
    let before = tokio::time::Instant::now();
    let former = swap(&provider, &other);
    let swapped = identity.replaced().unwrap();
    assert!((before..=tokio::time::Instant::now()).contains(&swapped), "{swapped:?}");
    drop(swap(&provider, &former));
    assert!(identity.replaced().unwrap() >= swapped, "it counts from when the version before came back");
}

#[tokio::test]
async fn new_capabilities_wait_for_the_next_start() {
    let cloud = Cloud::start().await;
    let mut guest = Guest::of(tests::component::only_provider());
    guest.endpoints.push(endpoint("api", cloud.address()));
    let provider = guest.try_load(&Registry::new()).await.unwrap();
    let in_use = provider.cloud();
    let more = candidate(&provider, "version=1.1.0").await;
    let former = swap(&provider, &more);
    assert_eq!(in_use.description.now().name, "versioned");
    assert_eq!(provider.capabilities(), ["instances", "load-balancers"]);
    assert_eq!(provider.capabilities_in_use(), [""; 0]);
    assert!(in_use.instances.is_none() && provider.cloud().instances.is_none(), "nothing was started for it");
    assert_eq!(in_use.identity.identity().await, Ok(Some("a".to_owned())), "what is in use is the new version's");
    drop(swap(&provider, &former));
    assert_eq!((provider.capabilities(), in_use.identity.identity().await), (Vec::new(), Ok(None)));
}

#[tokio::test]
async fn a_candidate_without_a_capability_is_refused() {
    let cloud = Cloud::start().await;
    let provider = loaded(&cloud).await;
    let refused = candidate_of(&provider, tests::component::only_provider()).await.err().unwrap().to_string();
    assert!(refused.contains("the candidate does not export aerostat:cloud/instances"), "{refused}");
    assert!(refused.contains("restart to run without"), "{refused}");
}
