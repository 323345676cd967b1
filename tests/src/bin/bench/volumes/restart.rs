//! A restart beside very many attachments, with which there is nothing to do.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use tests::simulator::Recorded;

use super::{VolumeGround, api_requests, beside_sidecars, events, memory, node_of, writes};
use crate::comparison::seconds;
use crate::contender::Flags;
use crate::requests::{Kinds, kinds, total};
use crate::table::row;
use crate::usage::Usage;

const ATTACHMENTS: usize = 10_000;
/// So long after the start everything counts: all is listed and looked at by then.
const WINDOW: Duration = Duration::from_secs(75);

struct Round {
    cloud: Vec<Recorded>,
    api: Kinds,
    /// From the start of the process to the Lease.
    lease: f64,
    usage: Usage,
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = VolumeGround::start(node_of(ATTACHMENTS) + 1).await?;
    let begun = Instant::now();
    ground.add_volumes(ATTACHMENTS, true).await?;
    ground.add_attached(ATTACHMENTS).await?;
    crate::note(&format!("{ATTACHMENTS} attachments are there after {:.0} s", begun.elapsed().as_secs_f64()))?;
    // One that has led before, so that nothing of the cluster is new.
    round(&ground).await?;
    let Round { cloud, api, lease, usage } = round(&ground).await?;
    ground.end().await?;

    let title = format!("restart at {ATTACHMENTS} attachments, {} s", WINDOW.as_secs());
    let mut table = beside_sidecars(&title);
    row(&mut table, "API writes, without events", format!("{:.0}", writes(&api)), "0", "0");
    row(&mut table, "events", format!("{:.0}", events(&api)), "0", "0");
    row(&mut table, "API reads of single objects", format!("{:.0}", reads(&api)), "", "");
    row(&mut table, "cloud calls about volumes", cloud.len().to_string(), "1 list, of all pages", "0");
    for (kind, times) in &kinds(&cloud) {
        row(&mut table, &format!("    {kind}"), format!("{times:.0}"), "", "");
    }
    row(&mut table, "time, start to Lease", seconds(lease), "", "");
    memory(&mut table, &usage);
    row(&mut table, "CPU time", seconds(usage.cpu.as_secs_f64()), "", "");
    table.print()
}

async fn round(ground: &VolumeGround) -> Result<Round> {
    let (audit, since, start) = (ground.control_plane.audit().from_now()?, SystemTime::now(), Instant::now());
    let running = ground.lead(Flags::Default).await?;
    let lease = start.elapsed().as_secs_f64();
    tokio::time::sleep(WINDOW).await;
    let cloud = ground.asked(since, SystemTime::now());
    let api = api_requests(&audit, &ground.admin).await?;
    let usage = running.usage()?.context("aerostat is a process")?;
    running.stop().await?;
    Ok(Round { cloud, api, lease, usage })
}

/// Reads of single objects but those that every start has.
fn reads(kinds: &Kinds) -> f64 {
    let about_volumes = |kind: &str| kind.contains("volume");
    total(kinds.iter().filter(|(kind, _)| kind.starts_with("get ") && about_volumes(kind)).map(|it| it.1))
}
