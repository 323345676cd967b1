//! Many Services at once, with ten workers of the host: how much of the cloud's quota each costs.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use cloud_provider::Progress;
use tests::clouds::digitalocean::{Behaviour, Creation, Droplet, Options};
use tokio::time::{Instant, sleep};

use crate::services::Service;
use crate::setup::{Rig, Setup};

/// As many as a gate that hears nothing of Services lets be created.
const SERVICES: usize = 48;
const WORKERS: usize = 10;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What waits for a worker, by when it is due.
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
    // Faster than the cloud's usual half minute, with as many reads of each load balancer.
    let behaviour = Behaviour { creation: Creation::Takes(Duration::from_secs(8)), ..Behaviour::default() };
    let setup = Setup {
        cloud: Options { load_balancers: behaviour, ..Options::default() },
        settings: vec![("pollInterval".to_owned(), "4s".to_owned())],
        usual_limits: true,
        ..Setup::default()
    };
    let rig = Rig::start(setup, [Droplet::new(1, "web-1")]).await;
    let (queue, served) = (Queue(Mutex::default()), Mutex::new(0));
    for number in 0..SERVICES {
        let uid = format!("{number:08x}-2222-3333-4444-555555555555");
        queue.add(Instant::now(), Service::new(&rig).named(&format!("web-{number}"), &uid));
    }
    futures::future::join_all((0..WORKERS).map(|_| queue.work(&served))).await;
    assert_eq!(rig.cloud.load_balancers().all().len(), SERVICES);
    let calls = rig.requests().len();
    let lists = rig.requests().iter().filter(|it| it.contains("page=1")).count();
    assert!(calls * 10 <= SERVICES * 33, "{calls} calls for {SERVICES} Services, {lists} of them lists");
}
