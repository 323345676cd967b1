//! Services through creation, change and deletion, while the process is killed again and again.

use std::fmt::Write as _;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tests::operator::Process;
use tests::random::Random;
use tests::simulator::{Chaos, Hold, Side};
use tests::vendor::{Behaviour, Vendor};
use tests::wait;

use crate::setup::{CloudRig, FINALIZER, addresses, default_name, is_about_load_balancers, is_write, memo, service};

const SERVICES: usize = 6;
/// How often the process is killed until it may finish what the user asked for.
const KILLS: usize = 2;
/// How long it may take from one kill, or change, to the next.
const PATIENCE: Duration = Duration::from_secs(90);
/// How much of the log is shown.
const LINES: usize = 60;

/// A cluster and a cloud in which the process is killed.
pub(super) struct CrashTest<V: Vendor> {
    rig: CloudRig<V>,
    random: Random,
    seed: u64,
    process: Option<Process>,
    /// How many Services were not yet as desired at a kill, in total.
    points: u64,
    /// The logs of the processes.
    log: Vec<String>,
}

/// The state that the user desires for all Services.
#[derive(Clone, Copy, Debug)]
enum Desired {
    Ports(&'static [u16]),
    Gone,
}

/// How a process ended.
enum Outcome {
    /// It runs, and all Services are as desired.
    Settled,
    /// It was killed.
    Killed,
    /// It runs, and after a long time some Services are not as desired.
    Stuck,
    /// It ended by itself, as it must when the machine is so slow that the Lease is lost.
    Ended,
}

impl<V: Vendor> CrashTest<V> {
    /// A cloud in which one in so many requests fails by seed, and a provider with these settings.
    pub(super) async fn start(behaviour: Behaviour, one_in: u64, settings: &[(&str, &str)]) -> Self {
        let (random, seed) = Random::seeded();
        let limits = json!({ "requestsPerSecond": 200, "total": "2s" });
        let rig = CloudRig::<V>::with(behaviour).await.limits(&limits).flags(&["--concurrent-service-syncs=3"]);
        let class = V::OTHER_CLASS.map(|it| format!("--load-balancer-class={it}"));
        let rig = rig.flags(&class.iter().map(String::as_str).collect::<Vec<_>>());
        let rig = rig.settings(settings);
        let process = rig.start().await;
        rig.workers(2).await;
        rig.cloud.set_chaos(Some(Chaos { seed, one_in, hangs: true }));
        Self { rig, random, seed, process: Some(process), points: 0, log: Vec::new() }
    }

    /// Creates, changes and deletes until there were so many points at least.
    pub(super) async fn run(mut self, points: u64) {
        while self.points < points {
            self.reach(Desired::Ports(&[80])).await;
            self.reach(Desired::Ports(&[80, 8080])).await;
            self.reach(Desired::Gone).await;
        }
    }

    /// Changes the Services, and kills the process, until all Services are as desired.
    async fn reach(&mut self, desired: Desired) {
        let mut hold = Some(self.hold());
        self.write(desired).await;
        let mut kills = 0;
        loop {
            match self.run_process(desired, hold.as_ref()).await {
                Outcome::Settled => break,
                Outcome::Killed => {
                    kills += 1;
                    // Requests on the way are lost, as with the machine.
                    hold.take().expect("the process was killed at it").cut();
                    hold = (kills < KILLS).then(|| self.hold());
                }
                Outcome::Stuck | Outcome::Ended => {}
            }
        }
        drop(hold);
        self.check(desired).await;
    }

    /// The request at which the process is killed next.
    fn hold(&mut self) -> Hold {
        let side = if self.random.below(2) == 0 { Side::Before } else { Side::After };
        if self.random.below(2) == 0 {
            let nth = 1 + self.random.below(5);
            self.rig.cloud.hold(nth, side, |it| is_about_load_balancers::<V>(it) && is_write(it))
        } else {
            let nth = 1 + self.random.below(15);
            self.rig.cloud.hold(nth, side, is_about_load_balancers::<V>)
        }
    }

    /// Writes the Services as a user would.
    async fn write(&self, desired: Desired) {
        let rig = &self.rig;
        let exists = !rig.services().list(&ListParams::default().labels("app")).await.unwrap().items.is_empty();
        join_all((0..SERVICES).map(|index| async move {
            let name = name(index);
            match desired {
                Desired::Ports(ports) if exists => rig.ports(&name, ports).await,
                Desired::Ports(ports) => {
                    let chosen = chosen::<V>(index);
                    let mut annotations: Vec<_> = chosen.as_deref().map(|it| (V::NAME, it)).into_iter().collect();
                    let is_other = index % 2 == 1;
                    if is_other {
                        annotations.extend(V::OTHER_KIND);
                    }
                    let mut service = service(&name, ports, &annotations);
                    let class = V::OTHER_CLASS.filter(|_| is_other).map(str::to_owned);
                    service.spec.get_or_insert_default().load_balancer_class = class;
                    service.labels_mut().insert("app".to_owned(), "crash".to_owned());
                    rig.create(&service).await;
                }
                Desired::Gone => rig.delete(&name).await,
            }
        }))
        .await;
    }

    /// Runs a process until it is killed, or until all Services are as desired.
    async fn run_process(&mut self, desired: Desired, hold: Option<&Hold>) -> Outcome {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.rig.setup.start(),
        };
        let killed = async {
            match hold {
                Some(hold) => hold.reached().await,
                None => std::future::pending().await,
            }
        };
        let settled = wait::within(PATIENCE, async || (self.left(desired).await == 0).then_some(()));
        let mut log = Vec::new();
        let ended = async {
            while let Some(entry) = process.aerostat.log.recv().await {
                log.push(Value::Object(entry).to_string());
            }
        };
        let mut ending = "=== not killed".to_owned();
        let outcome = tokio::select! {
            at = killed => {
                ending = format!("=== killed at {at}");
                Outcome::Killed
            }
            settled = settled => if settled.is_some() { Outcome::Settled } else { Outcome::Stuck },
            () = ended => Outcome::Ended,
        };
        self.log.append(&mut log);
        self.log.push(ending);
        match outcome {
            Outcome::Settled => self.process = Some(process),
            Outcome::Killed => {
                process.kill_and_let_its_window_pass(&self.rig.cluster).await;
                self.points += self.left(desired).await as u64;
                self.check_no_orphan();
            }
            // What it said on the way is shown.
            Outcome::Stuck => panic!("not all are {desired:?} within {PATIENCE:?}"),
            Outcome::Ended => {}
        }
        outcome
    }

    /// How many Services are not as desired.
    async fn left(&self, desired: Desired) -> usize {
        let services = self.present().await;
        match desired {
            Desired::Gone => services.len(),
            Desired::Ports(ports) => services.iter().filter(|it| self.wrong(it, ports).is_some()).count(),
        }
    }

    async fn present(&self) -> Vec<Service> {
        self.rig.services().list(&ListParams::default().labels("app")).await.unwrap().items
    }

    /// The fault of a Service and its load balancer, if there is one.
    fn wrong(&self, service: &Service, ports: &[u16]) -> Option<String> {
        let Some(id) = memo(service).map(V::id_in) else { return Some("there is no memo".to_owned()) };
        let Some(built) = self.rig.built().into_iter().find(|it| it.id == id) else {
            return Some(format!("there is no {id}"));
        };
        let name = chosen::<V>(index(service)).unwrap_or_else(|| default_name::<V>(service));
        let right = [
            ("its status", built.serves),
            ("its name", built.name == name),
            ("its ports", built.ports == ports),
            ("the addresses", addresses(service) == built.addresses),
            ("the finalizer", service.finalizers() == [FINALIZER]),
            ("the targets", built.machines == [1, 2]),
        ];
        right.iter().find(|(_, right)| !right).map(|(what, _)| format!("{what} of {built:?} and {service:?}"))
    }

    async fn check(&self, desired: Desired) {
        let built = self.rig.built();
        let names: Vec<_> = built.iter().map(|it| &it.name).collect();
        let services = self.present().await;
        match desired {
            Desired::Gone => {
                assert!(services.is_empty() && built.is_empty(), "left are {names:?}");
                assert_eq!(V::leftovers(self.rig.cloud.account()), [""; 0]);
            }
            Desired::Ports(ports) => {
                let wrong: Vec<_> = services.iter().filter_map(|it| self.wrong(it, ports)).collect();
                assert!(wrong.is_empty(), "{wrong:#?}");
                assert_eq!(built.len(), SERVICES, "one for each of the Services, and no other: {names:?}");
            }
        }
    }

    /// At no time are there more load balancers than Services.
    fn check_no_orphan(&self) {
        let built = self.rig.built();
        let names: Vec<_> = built.iter().map(|it| &it.name).collect();
        assert!(built.len() <= SERVICES, "{names:?}");
    }
}

impl<V: Vendor> Drop for CrashTest<V> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let mut text = format!("\nto repeat it: AEROSTAT_SEED={}\nafter {} points\n", self.seed, self.points);
        // What it asked of the cloud is shown below, as the cloud has seen it: here it would hide the rest.
        let said: Vec<_> = self.log.iter().filter(|it| !it.contains(r#""target":"audit""#)).collect();
        for line in said.iter().rev().take(LINES).rev() {
            let _ = writeln!(text, "  {line}");
        }
        for request in self.rig.cloud.requests().iter().rev().take(LINES).rev() {
            let _ = writeln!(text, "  {request} {}", request.fault.unwrap_or_default());
        }
        eprintln!("{text}");
    }
}

fn name(index: usize) -> String {
    format!("crash-{index}")
}

fn index(service: &Service) -> usize {
    let name = service.name_any();
    name.strip_prefix("crash-").and_then(|it| it.parse().ok()).expect("all Services are ours")
}

/// Half of the Services choose the name of their load balancer, where they can.
fn chosen<V: Vendor>(index: usize) -> Option<String> {
    (V::NAMES && index % 2 == 1).then(|| format!("chosen-{index}.example.com"))
}
