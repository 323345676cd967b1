//! Load balancers, external and internal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, ListParams};
use tests::clouds::gcp::Simulator;
use tests::control_plane::{ControlPlane, Options};

use super::{Asked, row, simulator, table};
use crate::changes;
use crate::cloud::name;
use crate::comparison::seconds;
use crate::contender::{Flags, Running, aerostat};
use crate::leadership::Leadership;
use crate::requests::{Kinds, between, kinds, quiet};
use crate::table::Table;
use crate::{objects, services};

/// How long each operation takes.
const OPERATION: Duration = Duration::from_secs(2);
/// How many of a kind are made at once.
const AT_ONCE: usize = 5;
/// After so long without a request, a step is over: two resyncs of the last list have passed.
const PAUSE: Duration = Duration::from_secs(25);
const PATIENCE: Duration = Duration::from_secs(900);
/// The annotation that makes one internal.
const INTERNAL: (&str, &str) = ("networking.gke.io/load-balancer-type", "Internal");

/// A cluster, its cloud and the contender.
struct Ground {
    control_plane: ControlPlane,
    cloud: Simulator,
    running: Running,
}

/// A step: what was asked, and how long it took until the last address, or until the last request.
struct Step {
    asked: Asked,
    time: f64,
    kinds: Kinds,
}

/// A Service with this number; internal ones have others.
fn service(number: usize, is_internal: bool) -> Service {
    let mut service = services::service(number + if is_internal { 500 } else { 0 });
    let annotation = is_internal.then(|| BTreeMap::from([(INTERNAL.0.to_owned(), INTERNAL.1.to_owned())]));
    service.metadata.annotations = annotation;
    service
}

impl Ground {
    async fn api(&self) -> Result<Api<Service>> {
        Ok(services::api(self.control_plane.admin().await?))
    }

    /// The requests since a moment, once there are no more.
    async fn step(&self, since: SystemTime, time: Option<f64>) -> Result<Step> {
        quiet(&self.cloud, PAUSE, PATIENCE).await?;
        let requests = between(&self.cloud, since, SystemTime::now());
        let last = requests.iter().map(|it| it.at).max().and_then(|it| it.duration_since(since).ok());
        let time = time.unwrap_or_else(|| last.unwrap_or_default().as_secs_f64());
        Ok(Step { asked: Asked::of(&requests), time, kinds: kinds(&requests) })
    }

    /// Makes Services with these numbers at once, and waits until as many have an address.
    async fn make(&self, numbers: std::ops::Range<usize>, is_internal: bool, all: usize) -> Result<Step> {
        let (since, start) = (SystemTime::now(), Instant::now());
        let made = numbers.map(|it| service(it, is_internal)).collect();
        let create = objects::create(&self.control_plane, made, services::api);
        let wait = objects::wait_for(self.api().await?, all, PATIENCE, services::has_address);
        let (_, last) = tokio::try_join!(create, wait)?;
        let time = last.context("Services have no address")?.duration_since(start).as_secs_f64();
        self.step(since, Some(time)).await
    }

    /// Deletes all Services, and waits until they are gone.
    async fn clear(&self) -> Result<()> {
        let api = self.api().await?;
        for service in api.list(&ListParams::default()).await?.items {
            if service.spec.as_ref().is_some_and(|it| it.type_.as_deref() == Some("LoadBalancer")) {
                api.delete(service.metadata.name.as_deref().unwrap_or_default(), &DeleteParams::default()).await?;
            }
        }
        quiet(&self.cloud, PAUSE, PATIENCE).await
    }
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let contender = aerostat(Flags::Default);
    let cloud = simulator(changes::NODES, OPERATION).await?;
    let running = changes::at_rest(contender, &control_plane, &cloud, Vec::new(), &[]).await?;
    let mut ground = Ground { control_plane, cloud, running };
    let mut table = table(&format!(
        "load balancers of Google Cloud: reads + writes, and seconds; operations of {} s, {} nodes in three zones",
        OPERATION.as_secs(),
        changes::NODES
    ));
    // One of each kind makes what is shared.
    let first = [ground.make(0..1, false, 1).await?, ground.make(0..1, true, 2).await?];
    show(&mut table, "the first external one", &first[0], "14 + 7", "");
    show(&mut table, "the first internal one", &first[1], "17 + 11", "");
    show(
        &mut table,
        "a further external one",
        &ground.make(1..2, false, 3).await?,
        "10 + 5",
        "the least that the API allows",
    );
    show(
        &mut table,
        "a further internal one",
        &ground.make(1..2, true, 4).await?,
        "13 + 5",
        "the least that the API allows",
    );
    ground.clear().await?;

    let many = AT_ONCE;
    let step = ground.make(0..many, false, many).await?;
    show(&mut table, "five external ones at once", &step, "54 + 27, 61 s", "20 s or less, and fewer requests");
    let step = ground.make(0..many, true, 2 * many).await?;
    show(&mut table, "five internal ones at once", &step, "66 + 31, 70 s", "20 s or less, and fewer requests");

    ground.running.stop().await?;
    Leadership::of(&ground.control_plane).await?.clear().await?;
    let since = SystemTime::now();
    ground.running = contender.start(&ground.control_plane, &ground.cloud).await?;
    Leadership::of(&ground.control_plane).await?.wait_for_another(None).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it starts again, with these ten", &step, "128 + 20, 54 s", "no write");

    ground.running.stop().await?;
    Leadership::of(&ground.control_plane).await?.clear().await?;
    let flags = ["--load-balancer-resync-period=15s"];
    ground.running = contender.start_with(&ground.control_plane, &ground.cloud, &flags).await?;
    Leadership::of(&ground.control_plane).await?.wait_for_another(None).await?;
    tokio::time::sleep(PAUSE).await;
    let since = SystemTime::now();
    tokio::time::sleep(PAUSE * 2).await;
    let requests = between(&ground.cloud, since, SystemTime::now());
    let step = Step { asked: Asked::of(&requests), time: (PAUSE * 2).as_secs_f64(), kinds: kinds(&requests) };
    show(&mut table, "three resyncs of these ten", &step, "", "no write");
    ground.running.stop().await?;
    Leadership::of(&ground.control_plane).await?.clear().await?;
    ground.running = contender.start(&ground.control_plane, &ground.cloud).await?;
    Leadership::of(&ground.control_plane).await?.wait_for_another(None).await?;
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;

    let since = SystemTime::now();
    let nodes: Api<Node> = Api::all(ground.control_plane.admin().await?);
    nodes.delete(&name(0), &DeleteParams::default()).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "a node leaves, with these ten", &step, "30 + 10, 30 s", "fewer requests");
    ground.running.stop().await?;
    ground.cloud.stop().await;
    ground.control_plane.stop().await?;
    table.print()
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &Step, vendor: &str, wanted: &str) {
    row(table, name, format!("{}, {}", step.asked.text(), seconds(step.time)), vendor, wanted);
    row(table, "  questions about operations", step.asked.operations.to_string(), "", "");
    for (kind, times) in &step.kinds {
        row(table, &format!("    {kind}"), format!("{times:.0}"), "", "");
    }
}
