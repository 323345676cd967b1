//! Load balancers of a provider that takes several in one call: each gets its own answer, whatever becomes of the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cloud_provider::{Cloud, Deletion, Error, LoadBalancer, LoadBalancers, Node, Progress, Reply, Result};
use egress::{Effect, Method, PathPattern, Rule};
use futures::future::join_all;
use prometheus::Registry;
use sandbox::CallLimits;
use tests::capture::{Capture, Step};

use crate::setup::{Guest, endpoint};

const CALLS: &str = "aerostat_provider_calls_total";

/// A provider that is loaded, and the counts of its calls.
struct Batches {
    cloud: Cloud,
    registry: Registry,
}

async fn load(guest: Guest) -> Batches {
    let registry = Registry::new();
    let provider = guest.try_load(&registry).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(provider.capabilities(), ["load-balancers", "load-balancer-batches"]);
    Batches { cloud: provider.cloud(), registry }
}

fn batched() -> Guest {
    Guest::of(std::fs::read(tests::guests::BATCHED).unwrap())
}

impl Batches {
    fn load_balancers(&self) -> Arc<dyn LoadBalancers> {
        self.cloud.load_balancers.clone().unwrap()
    }

    async fn ensure(&self, services: &[LoadBalancer]) -> Vec<Reply<Result<Progress>>> {
        let all = self.load_balancers();
        join_all(services.iter().map(|it| all.ensure(it))).await
    }

    async fn delete(&self, services: &[LoadBalancer]) -> Vec<Result<Deletion>> {
        let all = self.load_balancers();
        join_all(services.iter().map(|it| all.delete(it))).await.into_iter().map(|it| it.answer).collect()
    }

    /// How many calls of a function ended so.
    fn calls(&self, function: &str, outcome: &str) -> u64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == CALLS).unwrap();
        let function = format!("load-balancer-batches.{function}");
        let is = |metric: &prometheus::proto::Metric, name: &str, value: &str| {
            metric.get_label().iter().any(|it| it.name() == name && it.value() == value)
        };
        let found = family.get_metric().iter().filter(|it| is(it, "function", &function) && is(it, "outcome", outcome));
        found.map(|it| it.get_counter().get_value() as u64).sum()
    }
}

/// So many Services, with this name and a number.
fn services(name: &str, count: usize) -> Vec<LoadBalancer> {
    let numbered = |number: usize| {
        let uid = format!("0e2f6f1c-9a5e-4a8e-8f0b-{number:012}");
        LoadBalancer {
            name: format!("a{number:031}"),
            ..tests::fixtures::load_balancer(&format!("{name}-{number}"), &uid)
        }
    };
    (0..count).map(numbered).collect()
}

/// The memo of a load balancer that is ready.
fn memo(reply: &Reply<Result<Progress>>) -> String {
    match &reply.answer {
        Ok(Progress::Ready(status)) => status.memo.clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn twenty_services_are_one_call() {
    let batches = load(batched().setting("gather", "10000")).await;
    let mut services = services("web", 20);
    let node = |name: &str| Node { name: name.to_owned(), ..Node::default() };
    let nodes = ["a", "b", "c"].map(node);
    for (number, service) in services.iter_mut().enumerate() {
        service.nodes = nodes[number % 3..].to_vec();
        service.memo_is_new = number == 0;
    }
    let start = Instant::now();
    let replies = batches.ensure(&services).await;
    assert!(start.elapsed() < Duration::from_secs(9), "a full batch waits for nobody");
    for (number, (service, reply)) in services.iter().zip(&replies).enumerate() {
        let nodes = ["a b c", "b c", "c"][number % 3];
        let extra = if number == 0 { "host.new-memo" } else { "" };
        assert_eq!(memo(reply), format!("{} of 20 nodes 0 {nodes} extra {extra}", service.owner.uid));
    }
    assert_eq!(batches.calls("ensure", "ok"), 1);
    let described = batches.cloud.description.now();
    assert_eq!((described.load_balancer_batches, described.load_balancers_are_one), (Some(20), true));
    // Other nodes: one call again.
    batches.ensure(&services).await;
    assert_eq!(batches.calls("ensure", "ok"), 2);
}

#[tokio::test]
async fn a_service_that_is_asked_about_in_turn_waits_for_no_other() {
    let batches = load(batched().setting("gather", "10000").asked_in_turn()).await;
    let start = Instant::now();
    let replies = batches.ensure(&services("web", 1)).await;
    assert!(memo(&replies[0]).contains(" of 1 "), "{replies:?}");
    assert!(start.elapsed() < Duration::from_secs(9), "nobody comes beside it");
}

#[tokio::test]
async fn services_that_come_while_a_call_runs_are_the_next_one() {
    let batches = load(batched().setting("gather", "0")).await;
    let all = [services("nap", 1), services("web", 9).split_off(1)].concat();
    let replies = batches.ensure(&all).await;
    assert!(memo(&replies[0]).contains(" of 1 ") || memo(&replies[0]).contains(" of 9 "));
    assert!(batches.calls("ensure", "ok") <= 2);
}

#[tokio::test]
async fn an_invalid_one_and_a_foreign_one_cost_no_other() {
    let batches = load(batched()).await;
    let all = [services("web", 3), services("invalid", 4).split_off(3), services("elsewhere", 5).split_off(4)].concat();
    let replies = batches.ensure(&all).await;
    for reply in &replies[..3] {
        assert!(memo(reply).contains(" of 5 "));
    }
    assert_eq!(replies[3].answer, Err(Error::Invalid("no such size".to_owned())));
    assert_eq!(replies[4].answer, Ok(Progress::NotManaged));
    assert_eq!(batches.calls("ensure", "guest-error"), 1);
}

#[tokio::test]
async fn a_trap_is_found_in_halves_and_costs_no_other() {
    let batches = load(batched()).await;
    let mut all = services("web", 16);
    all[5].owner.name = "panic".to_owned();
    let replies = batches.ensure(&all).await;
    for (number, reply) in replies.iter().enumerate() {
        match &reply.answer {
            Err(Error::Crashed { reason, .. }) if number == 5 => {
                assert!(reason.contains("Only Service default/panic is set aside"), "{reason}");
            }
            _ => assert!(number != 5 && memo(reply).contains("of"), "{number}"),
        }
    }
    // 16, 8, 4, 2 and 1 crash; 8, 4, 2 and 1 return.
    assert_eq!((batches.calls("ensure", "trap"), batches.calls("ensure", "ok")), (5, 4));
    // It is known, and left out.
    let again = batches.ensure(&all).await;
    assert!(matches!(&again[5].answer, Err(Error::Crashed { .. })));
    assert!(memo(&again[0]).contains(" of 15 "));
    assert_eq!((batches.calls("ensure", "trap"), batches.calls("ensure", "ok")), (5, 5));
    // What is to go does not wait for what failed to come.
    all[5].owner.name = "web".to_owned();
    assert_eq!(batches.delete(&all).await, vec![Ok(Deletion::Done); 16]);
}

#[tokio::test]
async fn an_answer_list_of_another_length_is_refused() {
    let batches = load(batched()).await;
    let all = [services("web", 2), services("short", 3).split_off(2)].concat();
    let because =
        "provider batched: load-balancer-batches.ensure gave an unusable answer: 2 answers for 3 load balancers";
    for reply in batches.ensure(&all).await {
        assert_eq!(reply.answer, Err(Error::Unavailable(because.to_owned())));
    }
}

#[tokio::test]
async fn a_batch_over_its_time_is_an_error_and_the_next_is_smaller() {
    let limits = CallLimits { wall: Duration::from_millis(100), ..CallLimits::default() };
    let batches = load(batched().limits(limits)).await;
    let all = [services("web", 7), services("sleep", 8).split_off(7)].concat();
    let start = Instant::now();
    for reply in batches.ensure(&all).await {
        let Err(Error::Unavailable(text)) = &reply.answer else { panic!("{:?}", reply.answer) };
        assert!(text.contains("was stopped after 500ms (provider.limits.wall)"), "{text}");
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(batches.calls("ensure", "timeout"), 1, "a cloud that is late is asked no more at once");
    let replies = batches.ensure(&services("web", 8)).await;
    assert!(replies.iter().all(|it| memo(it).contains(" of 4 ")));
    let replies = batches.ensure(&services("web", 8)).await;
    assert!(replies.iter().all(|it| memo(it).contains(" of 8 ")), "they have returned in time, and grow again");
}

#[tokio::test]
async fn deletions_are_batches_of_their_own() {
    let batches = load(batched()).await;
    let (kept, web) = (services("count", 3), services("web", 6).split_off(3));
    let (deleted, ensured) = tokio::join!(batches.delete(&kept), batches.ensure(&web));
    assert_eq!(deleted, vec![Ok(Deletion::Kept("one of 3".to_owned())); 3]);
    assert!(ensured.iter().all(|it| memo(it).contains(" of 3 ")));
    assert_eq!((batches.calls("delete", "ok"), batches.calls("ensure", "ok")), (1, 1));
}

#[tokio::test]
async fn an_event_reaches_the_service_that_it_names() {
    let batches = load(batched()).await;
    let all = [services("web", 2), services("tell", 3).split_off(2)].concat();
    let replies = batches.ensure(&all).await;
    let told: Vec<Vec<_>> = replies.iter().map(|it| it.events.iter().map(|it| &*it.message).collect()).collect();
    assert_eq!(told, [vec![], vec![], vec!["this one"]]);
    let alone = batches.ensure(&services("tell", 1)).await;
    assert_eq!(alone[0].events.iter().map(|it| &*it.message).collect::<Vec<_>>(), ["this one", "nobody"]);
}

/// A cloud that answers by what a path ends with: `…7` not at all, all else with success.
async fn cloud() -> Capture {
    Capture::http(|request| {
        let target = request.text().split(' ').nth(1).unwrap_or_default().to_owned();
        match target.ends_with('7') {
            true => vec![Step::Close],
            false => Step::ok("{}"),
        }
    })
    .await
}

async fn at(cloud: &Capture) -> Batches {
    let mut api = endpoint("api", cloud.address());
    api.allow = vec![Rule::new([Method::Put, Method::Delete], [PathPattern::parse("/load-balancers/*").unwrap()])];
    let mut guest = batched().setting("cloud", "true");
    guest.endpoints.push(api);
    load(guest).await
}

#[tokio::test]
async fn adv_156_a_lost_deletion_is_held_against_its_own_service() {
    let cloud = cloud().await;
    let batches = at(&cloud).await;
    let all = services("web", 9);
    let answers = batches.delete(&all).await;
    for (number, answer) in answers.iter().enumerate() {
        match number {
            7 => {
                let Err(Error::Unavailable(text)) = answer else { panic!("{answer:?}") };
                assert!(text.contains("that is not believed") && text.contains(&all[7].name), "{text}");
            }
            _ => assert_eq!(*answer, Ok(Deletion::Done), "{number}"),
        }
    }
    assert_eq!(batches.calls("delete", "ok"), 1);
}

#[tokio::test]
async fn limits_of_a_call_are_as_many_times_as_there_are() {
    let cloud = cloud().await;
    // One call about one may take one thing away.
    let limits = CallLimits { deletes_per_delete: 1, ..CallLimits::default() };
    let mut guest = batched().limits(limits).setting("cloud", "true").setting("batch", "45");
    let mut api = endpoint("api", cloud.address());
    let rule = Rule::new([Method::Delete], [PathPattern::parse("/load-balancers/*").unwrap()]);
    api.allow = vec![Rule { effect: Some(Effect::Detach), ..rule }];
    guest.endpoints.push(api);
    let batches = load(guest).await;
    let all: Vec<_> = services("web", 50).into_iter().filter(|it| !it.name.ends_with('7')).collect();
    assert_eq!(batches.delete(&all).await, vec![Ok(Deletion::Done); 45]);
    assert_eq!(batches.calls("delete", "ok"), 1, "45 detachments");
}

#[tokio::test]
async fn batches_that_cannot_be_are_refused_at_load() {
    for (setting, value, part) in [
        ("batch", "0", "batch-size is 0, and has to be 1 to 500"),
        ("batch", "501", "batch-size is 501"),
        ("calls", "17", "concurrency is 17, and has to be 1 to 16"),
        ("gather", "10001", "gather-milliseconds is 10001, and may be 10000"),
    ] {
        let refusal = batched().setting(setting, value).refusal().await;
        assert!(refusal.contains("its description of batches is unusable") && refusal.contains(part), "{refusal}");
    }
}
