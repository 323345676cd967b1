//! Many Services at once, with ten workers of the host: how much of the cloud's quota each costs.

use std::collections::BTreeMap;
use std::time::Duration;

use cloud_provider::Progress;
use tests::vendor::{Behaviour, Creation, Differences, DigitalOcean, Hetzner, ProviderRig, Vendor};
use tokio::time::{Instant, sleep_until};

use crate::setup::Service;

/// As many as an egress that hears nothing of Services lets be created.
const SERVICES: usize = 48;
const WORKERS: usize = 10;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ten Services at a time, once the last of them is due, as ten workers take them, until all are served. What the lists
/// cost hangs on these turns, and not on how fast the machine is.
async fn serve(mut waiting: Vec<(Instant, Service<'_>)>) {
    let deadline = Instant::now() + PATIENCE;
    while !waiting.is_empty() {
        waiting.sort_by_key(|(due, _)| *due);
        let next = waiting.len().min(WORKERS);
        let last = waiting[next - 1].0;
        assert!(last < deadline, "not all are served in time");
        sleep_until(last).await;
        let turn = waiting.drain(..next).map(async |(_, mut service)| match service.step().await.unwrap() {
            Progress::Ready(_) => None,
            Progress::Pending(it) => Some((Instant::now() + it.after, service)),
            other @ (Progress::Failed(..) | Progress::NotManaged) => panic!("another answer: {other:?}"),
        });
        let left: Vec<_> = futures::future::join_all(turn).await;
        waiting.extend(left.into_iter().flatten());
    }
}

#[tokio::test]
async fn many_services_share_lists_of_load_balancers() {
    // A creation, and two looks at what is being built.
    lists_are_shared::<DigitalOcean>(3).await;
}

#[tokio::test]
async fn many_services_share_lists_of_load_balancers_at_hetzner() {
    // A creation, and two looks at what is being built and at its actions.
    lists_are_shared::<Hetzner>(5).await;
}

/// `most` is how many calls a Service may cost beside those that serve several.
async fn lists_are_shared<V: Vendor>(most: usize) {
    // Faster than the cloud's usual half minute, with as many reads of each load balancer.
    let behaviour = Behaviour { creation: Creation::Takes(Duration::from_secs(8)), ..Behaviour::default() };
    let settings = &[V::SETTINGS, &[("pollInterval", "4s")]].concat();
    let differences = Differences { settings, usual_limits: true, ..Differences::default() };
    let rig = ProviderRig::<V>::over(V::start(behaviour).await.unwrap(), differences).await.with_machines(1);
    let waiting = (0..SERVICES).map(|number| {
        let uid = format!("{number:08x}-2222-3333-4444-555555555555");
        (Instant::now(), Service::new(&rig).named(&format!("web-{number}"), &uid))
    });
    serve(waiting.collect()).await;
    assert_eq!(V::built(rig.cloud.account()).len(), SERVICES);
    let requests = rig.requests();
    let of_one = |it: &&String| it.starts_with("POST") || it.contains("/load_balancers/");
    let (own, shared): (Vec<_>, Vec<_>) = requests.iter().partition(of_one);
    assert!(own.len() <= SERVICES * most, "{} calls for {SERVICES} Services: {own:#?}", own.len());
    // Each Service asks for a list by itself where none is shared. A list that a worker asks for after another one's write is not shared,
    // and a slow machine has more of these.
    for (list, times) in counted(shared.iter().filter_map(|it| it.split('?').next())) {
        assert!(times * 2 <= SERVICES, "{times} times {list} for {SERVICES} Services");
    }
}

fn counted<'a>(all: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut times = BTreeMap::new();
    all.for_each(|it| *times.entry(it).or_default() += 1);
    times
}
