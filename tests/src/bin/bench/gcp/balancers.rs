//! Load balancers, external and internal.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, ListParams};
use tests::clouds::gcp::Assets;

use super::{Asked, simulator};
use crate::comparison::seconds;
use crate::requests::{between, quiet};
use crate::steps::{MeasuredStep, PATIENCE, PAUSE, SteppedCluster};
use crate::table::{Table, beside_vendor, row};
use crate::{changes, services};

/// How long each operation takes.
const OPERATION: Duration = Duration::from_secs(2);
/// How many of a kind are made at once.
const AT_ONCE: usize = 5;
/// The annotation that makes one internal.
const INTERNAL: (&str, &str) = ("networking.gke.io/load-balancer-type", "Internal");

/// A Service with this number; internal ones have others.
fn service(number: usize, is_internal: bool) -> Service {
    let mut service = services::service(number + if is_internal { 500 } else { 0 });
    let annotation = is_internal.then(|| BTreeMap::from([(INTERNAL.0.to_owned(), INTERNAL.1.to_owned())]));
    service.metadata.annotations = annotation;
    service
}

/// Services of one kind with these numbers.
fn numbered(numbers: std::ops::Range<usize>, is_internal: bool) -> Vec<Service> {
    numbers.map(|it| service(it, is_internal)).collect()
}

/// Deletes all Services, and waits until they are gone.
async fn clear(ground: &SteppedCluster<Assets>) -> Result<()> {
    let api = ground.services().await?;
    for service in api.list(&ListParams::default()).await?.items {
        if service.spec.as_ref().is_some_and(|it| it.type_.as_deref() == Some("LoadBalancer")) {
            api.delete(service.metadata.name.as_deref().unwrap_or_default(), &DeleteParams::default()).await?;
        }
    }
    quiet(&ground.cloud, PAUSE, PATIENCE).await
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = SteppedCluster::start(simulator(changes::NODES, OPERATION).await?).await?;
    let mut table = beside_vendor(&format!(
        "load balancers of Google Cloud: reads + writes, and seconds; operations of {} s, {} nodes in three zones",
        OPERATION.as_secs(),
        changes::NODES
    ));
    // One of each kind makes what is shared.
    let first = [ground.make(numbered(0..1, false), 1).await?, ground.make(numbered(0..1, true), 2).await?];
    show(&mut table, "the first external one", &first[0], "14 + 7", "");
    show(&mut table, "the first internal one", &first[1], "17 + 11", "");
    show(
        &mut table,
        "a further external one",
        &ground.make(numbered(1..2, false), 3).await?,
        "10 + 5",
        "the least that the API allows",
    );
    show(
        &mut table,
        "a further internal one",
        &ground.make(numbered(1..2, true), 4).await?,
        "13 + 5",
        "the least that the API allows",
    );
    clear(&ground).await?;

    let many = AT_ONCE;
    let step = ground.make(numbered(0..many, false), many).await?;
    show(&mut table, "five external ones at once", &step, "54 + 27, 61 s", "20 s or less, and fewer requests");
    let step = ground.make(numbered(0..many, true), 2 * many).await?;
    show(&mut table, "five internal ones at once", &step, "66 + 31, 70 s", "20 s or less, and fewer requests");

    let (ground, since) = ground.restart(&[]).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it starts again, with these ten", &step, "128 + 20, 54 s", "no write");

    let (ground, _) = ground.restart(&["--load-balancer-resync-period=15s"]).await?;
    tokio::time::sleep(PAUSE).await;
    let since = SystemTime::now();
    tokio::time::sleep(PAUSE * 2).await;
    let requests = between(&ground.cloud, since, SystemTime::now());
    let step = MeasuredStep { requests, time: (PAUSE * 2).as_secs_f64() };
    show(&mut table, "three resyncs of these ten", &step, "", "no write");
    let (ground, _) = ground.restart(&[]).await?;
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;

    let since = SystemTime::now();
    ground.leave(0).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "a node leaves, with these ten", &step, "30 + 10, 30 s", "fewer requests");
    ground.end().await?;
    table.print()
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str, wanted: &str) {
    let asked = Asked::of(&step.requests);
    row(table, name, format!("{}, {}", asked.text(), seconds(step.time)), vendor, wanted);
    row(table, "  questions about operations", asked.operations.to_string(), "", "");
    step.details(table);
}
