//! Services that are made, changed, torn out and made again, in a cloud and a cluster that fail: at the end each has its
//! load balancer, and nobody else has one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloud_provider::{Deletion, Error, LoadBalancer, LoadBalancerStatus, PendingStatus, Progress, Reply, Result};
use controllers::service::Options;
use http::Method;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use scripted_cloud::ScriptedCloud;
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::faults::{self, Fault, Faults};
use tests::rig::FakeCloud;
use tests::wait;

use crate::cloud::{ID, SIZE, at_address, offer};
use crate::controller::{Controller, FINALIZER, addresses, finalizers, join, memo, node, service, services, workers};

const STEPS: u64 = 150;

/// A cloud that knows its load balancers by their Service's UID, and fails at random.
struct Model {
    state: Mutex<State>,
}

struct State {
    random: Random,
    is_calm: bool,
    made: u64,
    /// By the UID of the Service.
    standing: BTreeMap<String, Built>,
    in_flight: BTreeSet<String>,
    violations: Vec<String>,
}

struct Built {
    id: u64,
    size: Option<String>,
    /// Whether its memo was told: from then on every call has to have it.
    is_told: bool,
}

/// How a call ends.
enum Fate {
    /// Nothing is done.
    Refused,
    /// Nothing is done, and a pause is asked for.
    Paused,
    /// It is done, and the answer is lost.
    Lost,
    /// It is begun.
    Busy,
    Done,
}

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

impl State {
    fn fate(&mut self) -> Fate {
        match self.random.below(12) {
            _ if self.is_calm => Fate::Done,
            0 | 1 => Fate::Refused,
            2 => Fate::Paused,
            3 | 4 => Fate::Lost,
            5 => Fate::Busy,
            _ => Fate::Done,
        }
    }

    /// Holds a desired against what this cloud has for it.
    fn check(&mut self, act: &str, desired: &LoadBalancer) {
        let Some(built) = self.standing.get(&desired.owner.uid).filter(|it| it.is_told) else { return };
        if desired.memo != Some(built.memo()) {
            self.violations.push(format!(
                "{act} {}: {:?} instead of {}",
                desired.owner.name,
                desired.memo,
                built.memo()
            ));
        }
    }
}

impl Built {
    fn memo(&self) -> String {
        format!("lb-{}", self.id)
    }

    fn address(&self) -> String {
        format!("192.0.{}.{}", self.id / 256, self.id % 256)
    }

    fn standing(&self) -> LoadBalancerStatus {
        let (memo, annotations) = (Some(self.memo()), vec![(ID.to_owned(), self.memo())]);
        LoadBalancerStatus { memo, annotations, ..at_address(&self.address()) }
    }
}

impl Model {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call, takes some time, and says how the call ends.
    async fn enter(&self, desired: &LoadBalancer) -> (Fate, Flight<'_>) {
        let key = desired.owner.name.clone();
        let (fate, time) = {
            let mut state = self.lock();
            if !state.in_flight.insert(key.clone()) {
                state.violations.push(format!("two calls about {key} at once"));
            }
            (state.fate(), Duration::from_millis(state.random.below(30)))
        };
        let flight = Flight { model: self, key };
        tokio::time::sleep(time).await;
        (fate, flight)
    }
}

/// A call that is in flight.
struct Flight<'a> {
    model: &'a Model,
    key: String,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.model.lock().in_flight.remove(&self.key);
    }
}

fn unavailable(because: &str) -> Error {
    Error::Unavailable(because.to_owned())
}

fn pause() -> Error {
    Error::RetryAfter { after: Duration::from_millis(30), reason: "slow down".to_owned() }
}

fn busy(standing: LoadBalancerStatus) -> PendingStatus {
    PendingStatus { status: standing, after: Duration::from_secs(1), reason: "it takes its time".to_owned() }
}

impl FakeCloud for Model {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        let script = Arc::new(ScriptedCloud::default());
        let (ensured, deleted) = (self.clone(), self.clone());
        script.ensure.answers_later(move |desired| ensured.clone().ensure(desired));
        script.delete.answers_later(move |unwanted| deleted.clone().delete(unwanted));
        offer(&script, false)
    }
}

impl Model {
    async fn ensure(self: Arc<Self>, desired: LoadBalancer) -> Reply<Result<Progress>> {
        let (fate, _flight) = self.enter(&desired).await;
        let mut state = self.lock();
        state.check("ensure", &desired);
        match fate {
            Fate::Refused => return Err(unavailable("the cloud is down")).into(),
            Fate::Paused => return Err(pause()).into(),
            Fate::Lost | Fate::Busy | Fate::Done => {}
        }
        let State { standing, made, .. } = &mut *state;
        let built = standing.entry(desired.owner.uid.clone()).or_insert_with(|| {
            *made += 1;
            Built { id: *made, size: None, is_told: false }
        });
        built.size = desired.annotations.iter().find(|(key, _)| key == SIZE).map(|(_, value)| value.clone());
        if matches!(fate, Fate::Lost) {
            return Err(unavailable("the answer is lost")).into();
        }
        built.is_told = true;
        match fate {
            Fate::Busy => Ok(Progress::Pending(busy(built.standing()))).into(),
            Fate::Refused | Fate::Paused | Fate::Lost | Fate::Done => Ok(Progress::Ready(built.standing())).into(),
        }
    }

    async fn delete(self: Arc<Self>, unwanted: LoadBalancer) -> Reply<Result<Deletion>> {
        let (fate, _flight) = self.enter(&unwanted).await;
        let mut state = self.lock();
        state.check("delete", &unwanted);
        let uid = &unwanted.owner.uid;
        match (fate, state.standing.get(uid).map(Built::standing)) {
            (Fate::Refused, _) => Err(unavailable("the cloud is down")).into(),
            (Fate::Paused, _) => Err(pause()).into(),
            (Fate::Busy, Some(standing)) => Ok(Deletion::Pending(busy(standing))).into(),
            (Fate::Lost, _) => {
                state.standing.remove(uid);
                Err(unavailable("the answer is lost")).into()
            }
            (Fate::Busy | Fate::Done, _) => {
                state.standing.remove(uid);
                Ok(Deletion::Done).into()
            }
        }
    }
}

/// One random change by people, or by other controllers, whether it succeeds or not.
async fn step(cluster: &Cluster, faults: &Faults, random: &mut Random) {
    let (services, name) = (services(cluster), format!("s{}", 1 + random.below(6)));
    let patch = async |patch: Value| drop(services.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await);
    let without_finalizers = json!({ "metadata": { "finalizers": null } });
    let size = random.below(1000).to_string();
    match random.below(14) {
        0..=3 => drop(services.create(&PostParams::default(), &service(&name)).await),
        4 | 5 => patch(json!({ "metadata": { "annotations": { SIZE: size } } })).await,
        6 => drop(services.delete(&name, &DeleteParams::default()).await),
        7 => {
            patch(without_finalizers).await;
            drop(services.delete(&name, &DeleteParams::default()).await);
        }
        8 => patch(json!({ "spec": { "type": "ClusterIP" } })).await,
        9 => patch(json!({ "spec": { "type": "LoadBalancer" } })).await,
        10 => patch(json!({ "metadata": { "labels": { "example.com/any": size } } })).await,
        11 => {
            let bare = Patch::Merge(json!({ "status": { "conditions": null } }));
            drop(services.patch_status(&name, &PatchParams::default(), &bare).await);
        }
        12 => faults.set(Fault::status(Method::PATCH, "/services/", 500, "InternalError", "down").times(2)),
        _ => faults.set(Fault::new(Method::PATCH, "/services/", faults::Reply::LostAnswer).times(1)),
    }
}

/// Whether a Service and the cloud are not as they should be.
fn lacks(service: &Service, standing: &BTreeMap<String, Built>) -> bool {
    let is_wanted = service.spec.as_ref().is_some_and(|it| it.type_.as_deref() == Some("LoadBalancer"));
    let built = service.uid().and_then(|it| standing.get(&it));
    match built {
        Some(built) => {
            !is_wanted
                || addresses(service) != [built.address()]
                || memo(service) != Some(&built.memo())
                || finalizers(service) != [FINALIZER]
                || service.annotations().get(SIZE) != built.size.as_ref()
        }
        None => is_wanted || memo(service).is_some() || !finalizers(service).is_empty(),
    }
}

/// Plays the story of a seed.
async fn play(seed: u64) {
    let cluster = cluster().await;
    let state = State {
        random: Random(seed),
        is_calm: false,
        made: 0,
        standing: BTreeMap::new(),
        in_flight: BTreeSet::new(),
        violations: Vec::new(),
    };
    let model = Arc::new(Model { state: Mutex::new(state) });
    let (faults, mut random) = (Faults::new(), Random(!seed));
    let options = Options { retry_base: Duration::from_millis(20), ..workers(3) };
    let controller = Controller::start_as(cluster.faulty(&faults), &model, options);
    // More Services vanish here than may lose their load balancers without a person's word.
    controller.requested.approve(tokio::time::Instant::now());
    for nth in 0..STEPS {
        step(&cluster, &faults, &mut random).await;
        if nth % 50 == 0 {
            join(&cluster, &node(nth as usize)).await;
        }
        // So that not everything happens at once.
        tokio::time::sleep(Duration::from_millis(random.below(40))).await;
    }
    faults.clear();
    model.lock().is_calm = true;

    let api = services(&cluster);
    let what = format!("seed {seed}: every Service is as it should be, and no load balancer too many");
    wait::until(&what, async || {
        let mut all = api.list(&ListParams::default()).await.ok()?.items;
        all.retain(|it| it.name_any() != "kubernetes");
        let state = model.lock();
        let uids: BTreeSet<_> = all.iter().filter_map(ResourceExt::uid).collect();
        let is_settled = state.in_flight.is_empty()
            && state.standing.keys().all(|it| uids.contains(it))
            && !all.iter().any(|it| lacks(it, &state.standing));
        is_settled.then_some(())
    })
    .await;
    let state = model.lock();
    assert!(state.violations.is_empty(), "seed {seed}: {:#?}", state.violations);
    assert!(state.made >= 6, "seed {seed}: {} load balancers make no story", state.made);
}

#[tokio::test]
async fn whatever_fails_every_service_gets_one_load_balancer() {
    play(1).await;
}

#[tokio::test]
async fn whatever_fails_in_another_order_every_service_gets_one() {
    play(2).await;
}
