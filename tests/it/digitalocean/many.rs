//! Many Services at once, with ten workers of the host: how much of the cloud's quota each costs.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use cloud_provider::Progress;
use tests::vendor::{Behaviour, Creation, Differences, DigitalOcean, Hetzner, ProviderRig, Vendor};
use tokio::time::{Instant, sleep};

use crate::setup::Service;

/// As many as an egress that hears nothing of Services lets be created.
const SERVICES: usize = 48;
const WORKERS: usize = 10;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Services that wait for a worker, each with the time at which it is due.
struct Queue<'a>(Mutex<VecDeque<(Instant, Service<'a>)>>);

impl<'a> Queue<'a> {
    fn add(&self, due: Instant, service: Service<'a>) {
        self.0.lock().unwrap().push_back((due, service));
    }

    fn take(&self) -> Option<Service<'a>> {
        let (mut waiting, now) = (self.0.lock().unwrap(), Instant::now());
        let place = waiting.iter().position(|(due, _)| *due <= now)?;
        waiting.remove(place).map(|(_, service)| service)
    }

    /// Makes one step after the other, until all Services are served.
    async fn work(&self, served: &Mutex<usize>) {
        let deadline = Instant::now() + PATIENCE;
        while *served.lock().unwrap() < SERVICES {
            assert!(Instant::now() < deadline, "not all are served in time");
            let Some(mut service) = self.take() else {
                sleep(Duration::from_millis(5)).await;
                continue;
            };
            match service.step().await.unwrap() {
                Progress::Ready(_) => *served.lock().unwrap() += 1,
                Progress::Pending(it) => self.add(Instant::now() + it.after, service),
                other @ (Progress::Failed(..) | Progress::NotManaged) => panic!("another answer: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn many_services_share_lists_of_load_balancers() {
    lists_are_shared::<DigitalOcean>(33).await;
}

#[tokio::test]
async fn many_services_share_lists_of_load_balancers_at_hetzner() {
    // For each: one creation, up to three looks at its action, and one at what was built. The rest is lists.
    lists_are_shared::<Hetzner>(60).await;
}

/// `most` is how many calls ten Services may cost.
async fn lists_are_shared<V: Vendor>(most: usize) {
    // Faster than the cloud's usual half minute, with as many reads of each load balancer.
    let behaviour = Behaviour { creation: Creation::Takes(Duration::from_secs(8)), ..Behaviour::default() };
    let settings = &[V::SETTINGS, &[("pollInterval", "4s")]].concat();
    let differences = Differences { settings, usual_limits: true, ..Differences::default() };
    let rig = ProviderRig::<V>::over(V::start(behaviour).await.unwrap(), differences).await.with_machines(1);
    let (queue, served) = (Queue(Mutex::default()), Mutex::new(0));
    for number in 0..SERVICES {
        let uid = format!("{number:08x}-2222-3333-4444-555555555555");
        queue.add(Instant::now(), Service::new(&rig).named(&format!("web-{number}"), &uid));
    }
    futures::future::join_all((0..WORKERS).map(|_| queue.work(&served))).await;
    assert_eq!(V::built(rig.cloud.account()).len(), SERVICES);
    let requests = rig.requests();
    let lists = requests.iter().filter(|it| it.contains("page=1")).count();
    assert!(requests.len() * 10 <= SERVICES * most, "{} calls for {SERVICES} Services, {lists} lists", requests.len());
}
