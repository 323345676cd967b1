//! Claims that come all at once.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolume, PersistentVolumeClaim};
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use tests::wait;

use super::{
    CLASS, DRIVER, PATIENCE, PLACE, VolumeGround, api_requests, beside_sidecars, details, events, made, memory, writes,
};
use crate::cloud::LATENCY;
use crate::comparison::{hundredths, seconds};
use crate::contender::Flags;
use crate::objects;
use crate::requests::{Kinds, kinds, quiet, refused, sum};
use crate::table::row;
use crate::usage::Usage;

const CLAIMS: usize = 1000;
/// The controller's own: as many claims are worked on side by side.
const WORKERS: f64 = 20.0;
/// Requests a second that aerostat sends the cloud by default, and where it hardly has a limit.
const BY_DEFAULT: f64 = 20.0;
const HARDLY_LIMITED: f64 = 250.0;
/// After so long without a request they are all served.
const PAUSE: Duration = Duration::from_secs(5);

struct Round {
    /// From the first claim to the last PersistentVolume, in seconds.
    time: f64,
    cloud: Kinds,
    refused: f64,
    api: Kinds,
    usage: Usage,
}

/// Measures with the limit on requests that there is by default, and with hardly any.
pub(crate) async fn measure() -> Result<()> {
    for (flags, limit) in [(Flags::Default, BY_DEFAULT), (Flags::Api, HARDLY_LIMITED)] {
        print(&round(flags).await?, limit)?;
    }
    Ok(())
}

async fn round(flags: Flags) -> Result<Round> {
    let ground = VolumeGround::start(1).await?;
    let mut node = objects::node(0);
    node.metadata.labels.get_or_insert_default().insert(PLACE.0.to_owned(), PLACE.1.to_owned());
    objects::create(&ground.control_plane, vec![node], Api::<Node>::all).await?;
    let running = ground.lead(flags).await?;
    let claims = |numbers: std::ops::Range<usize>| made::<PersistentVolumeClaim>(numbers, claim);
    // One is served before, so that aerostat is at work.
    objects::create(&ground.control_plane, claims(CLAIMS..CLAIMS + 1)?, claims_of).await?;
    let saved = |number| objects::wait_for(volumes_of(ground.admin.clone()), number, PATIENCE, |_| true);
    saved(1).await?.context("the first claim has no volume")?;
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;

    let (audit, since, start) = (ground.control_plane.audit().from_now()?, SystemTime::now(), Instant::now());
    let create = objects::create(&ground.control_plane, claims(0..CLAIMS)?, claims_of);
    let (_, last) = tokio::try_join!(create, saved(CLAIMS + 1))?;
    let time = last.context("some claims have no volume")?.duration_since(start).as_secs_f64();
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;
    let intents: Api<ConfigMap> = Api::namespaced(ground.admin.clone(), "aerostat-volumes");
    let settled = wait::within(PATIENCE, async || {
        let all = intents.list_metadata(&ListParams::default()).await.ok()?.items;
        let is_intent = |it: &str| it.starts_with("aerostat-volume-");
        (!all.iter().any(|it| it.metadata.name.as_deref().is_some_and(is_intent))).then_some(())
    });
    settled.await.context("an intent is left")?;
    let asked = ground.asked(since, SystemTime::now());
    let api = api_requests(&audit, &ground.admin).await?;
    let usage = running.usage()?.context("aerostat is a process")?;
    running.stop().await?;
    ground.end().await?;
    Ok(Round { time, cloud: kinds(&asked), refused: refused(&asked), api, usage })
}

fn print(round: &Round, limit: f64) -> Result<()> {
    let claims = CLAIMS as f64;
    let mut table = beside_sidecars(&format!(
        "{CLAIMS} claims at once, at most {limit} requests a second to the cloud, which takes {} ms for each",
        LATENCY.as_millis()
    ));
    row(&mut table, "cloud calls a claim", hundredths(sum(&round.cloud) / claims), "2", "2 or less");
    details(&mut table, &round.cloud, claims);
    row(&mut table, "refused of them (429)", format!("{:.0}", round.refused), "", "0");
    let wanted = "3: the intent, the volume, the intent's end";
    row(&mut table, "API writes a claim, without events", hundredths(writes(&round.api) / claims), "1", wanted);
    row(&mut table, "events a claim", hundredths(events(&round.api) / claims), "2 or more", "");
    details(&mut table, &round.api, claims);
    // 5 requests a second to the API server, of which one a claim saves its volume.
    let theirs = format!("{} or more: 5 API requests a second", seconds(claims / 5.0));
    row(&mut table, "time, first claim to last PersistentVolume", seconds(round.time), &theirs, "");
    let all = sum(&round.cloud);
    let own = (all / limit).max(all * LATENCY.as_secs_f64() / WORKERS);
    row(&mut table, "  of it the cloud's own, with this limit and 20 at once", seconds(own), "", "");
    row(&mut table, "time ÷ the cloud's own", hundredths(round.time / own), "", "");
    memory(&mut table, &round.usage);
    table.print()
}

fn claims_of(client: Client) -> Api<PersistentVolumeClaim> {
    Api::namespaced(client, "default")
}

fn volumes_of(client: Client) -> Api<PersistentVolume> {
    Api::all(client)
}

/// A claim that kube-controller-manager has given to the driver.
fn claim(number: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("data-{number:04}"),
            "annotations": { "volume.kubernetes.io/storage-provisioner": DRIVER },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS,
            "resources": { "requests": { "storage": "10Gi" } },
        },
    })
}
