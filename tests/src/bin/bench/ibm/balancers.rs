//! Load balancers: one is made, nothing changes, a port more, nodes more, and they go.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::ibm::Assets;

use super::{AskedOfIbm, CHANGE, CREATION, simulator};
use crate::comparison::seconds;
use crate::requests::quiet;
use crate::steps::{MeasuredStep, PATIENCE, PAUSE, SteppedCluster};
use crate::table::{Table, beside_vendor, row};
use crate::{changes, services};

/// Nodes beside those that are there at first.
const MORE: usize = 2;

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = SteppedCluster::start(simulator(changes::NODES + MORE).await?).await?;
    let mut table = beside_vendor(&format!(
        "load balancers of IBM Cloud: reads + writes, and seconds; creations of {} s, changes of {} s, {} nodes",
        CREATION.as_secs(),
        CHANGE.as_secs(),
        changes::NODES
    ));
    let step = ground.make(vec![services::with_ports(0, 2)], 1).await?;
    show(
        &mut table,
        "one is made, of two ports",
        &step,
        "2 + 1",
        "1 + 1, and one read for each look while the cloud builds it",
    );

    let step = patched(&ground, json!({ "metadata": { "annotations": { "nobody.example/s": "1" } } })).await?;
    show(&mut table, "an annotation of nobody's", &step, "6 + 0", "none");

    let since = SystemTime::now();
    ground.join(changes::NODES..changes::NODES + MORE, changes::NODES + MORE).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "two nodes more", &step, "19 + 4, 23 s", "2 writes");
    row(&mut table, "  Warnings on Services", warnings(&ground).await?.to_string(), "3", "none");

    let since = SystemTime::now();
    ground.services().await?.delete("web-000", &DeleteParams::default()).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it goes", &step, "1 + 1", "1 write");
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;

    ground.make(services::numbered(1..changes::SERVICES + 1), changes::SERVICES).await?;
    let since = SystemTime::now();
    tokio::time::sleep(Duration::from_mins(5)).await;
    let step = ground.step(since, None).await?;
    show(&mut table, "five minutes with 50 of them", &step, "1 + 0", "no write");
    ground.end().await?;
    table.print()
}

/// Changes the Service, and waits until nothing is asked any more.
async fn patched(ground: &SteppedCluster<Assets>, patch: Value) -> Result<MeasuredStep> {
    let since = SystemTime::now();
    let services = ground.services().await?;
    services.patch("web-000", &PatchParams::default(), &Patch::Merge(patch)).await?;
    ground.step(since, None).await
}

/// Warnings about Services.
async fn warnings(ground: &SteppedCluster<Assets>) -> Result<usize> {
    let events: Api<Event> = Api::namespaced(ground.services().await?.into_client(), "default");
    let all = events.list(&ListParams::default()).await.context("events")?;
    let is_warning =
        |it: &&Event| it.type_.as_deref() == Some("Warning") && it.involved_object.kind.as_deref() == Some("Service");
    Ok(all.items.iter().filter(is_warning).count())
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str, wanted: &str) {
    row(table, name, format!("{}, {}", AskedOfIbm::of(&step.requests).text(), seconds(step.time)), vendor, wanted);
    step.details(table);
}
