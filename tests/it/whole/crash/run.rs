//! Services through creation, change and deletion, while the process is killed again and again.

use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tests::simulator::Hold;
use tests::vendor::{Behaviour, Vendor};

use crate::killed::{KilledProcess, RunEnd};
use crate::setup::{CloudRig, FINALIZER, addresses, default_name, is_about_load_balancers, memo, service};

const SERVICES: usize = 6;
/// How often the process is killed until it may finish what the user asked for.
const KILLS: usize = 2;
/// The process is killed at one of the next so many writes, or of the next so many requests.
const NEXT: (usize, usize) = (5, 15);

/// A cluster and a cloud in which the process is killed.
pub(super) struct CrashTest<V: Vendor> {
    rig: CloudRig<V>,
    killed: KilledProcess,
}

/// The state that the user desires for all Services.
#[derive(Clone, Copy, Debug)]
enum Desired {
    Ports(&'static [u16]),
    Gone,
}

impl<V: Vendor> CrashTest<V> {
    /// A cloud in which one in so many requests fails by seed, and a provider with these settings.
    pub(super) async fn start(behaviour: Behaviour, one_in: u64, settings: &[(&str, &str)]) -> Self {
        let mut killed = KilledProcess::new();
        let limits = json!({ "requestsPerSecond": 200, "total": "2s" });
        let rig = CloudRig::<V>::with(behaviour).await.limits(&limits).flags(&["--concurrent-service-syncs=3"]);
        let class = V::OTHER_CLASS.map(|it| format!("--load-balancer-class={it}"));
        let rig = rig.flags(&class.iter().map(String::as_str).collect::<Vec<_>>());
        let rig = rig.settings(settings);
        killed.begin(rig.start().await);
        rig.workers(2).await;
        rig.cloud.set_chaos(Some(killed.chaos(one_in)));
        Self { rig, killed }
    }

    /// Creates, changes and deletes until there were so many points at least.
    pub(super) async fn run(mut self, points: u64) {
        while self.killed.points < points {
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
            let rig = &self.rig;
            match self.killed.run(rig, &desired, hold.as_ref(), async || left(rig, desired).await == 0).await {
                RunEnd::Settled => break,
                RunEnd::Killed => {
                    self.killed.points += left(&self.rig, desired).await as u64;
                    self.check_no_orphan();
                    kills += 1;
                    // Requests on the way are lost, as with the machine.
                    hold.take().expect("the process was killed at it").cut();
                    hold = (kills < KILLS).then(|| self.hold());
                }
                RunEnd::Ended => {}
            }
        }
        drop(hold);
        self.check(desired).await;
    }

    /// The request at which the process is killed next.
    fn hold(&mut self) -> Hold {
        self.killed.hold(&self.rig.cloud, is_about_load_balancers::<V>, NEXT)
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

    async fn check(&self, desired: Desired) {
        let built = self.rig.built();
        let names: Vec<_> = built.iter().map(|it| &it.name).collect();
        let services = present(&self.rig).await;
        match desired {
            Desired::Gone => {
                assert!(services.is_empty() && built.is_empty(), "left are {names:?}");
                assert_eq!(V::leftovers(self.rig.cloud.account()), [""; 0]);
            }
            Desired::Ports(ports) => {
                let wrong: Vec<_> = services.iter().filter_map(|it| wrong(&self.rig, it, ports)).collect();
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
        self.killed.show_failure(&self.rig.cloud);
    }
}

/// How many Services are not as desired.
async fn left<V: Vendor>(rig: &CloudRig<V>, desired: Desired) -> usize {
    let services = present(rig).await;
    match desired {
        Desired::Gone => services.len(),
        Desired::Ports(ports) => services.iter().filter(|it| wrong(rig, it, ports).is_some()).count(),
    }
}

async fn present<V: Vendor>(rig: &CloudRig<V>) -> Vec<Service> {
    rig.services().list(&ListParams::default().labels("app")).await.unwrap().items
}

/// The fault of a Service and its load balancer, if there is one.
fn wrong<V: Vendor>(rig: &CloudRig<V>, service: &Service, ports: &[u16]) -> Option<String> {
    let Some(id) = memo(service).map(V::id_in) else { return Some("there is no memo".to_owned()) };
    let Some(built) = rig.built().into_iter().find(|it| it.id == id) else {
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
