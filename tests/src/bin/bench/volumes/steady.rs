//! An hour in which nothing happens to attached volumes, from eleven minutes of it.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::{PER_PAGE, VolumeGround, api_requests, beside_sidecars, events, memory, node_of, writes};
use crate::comparison::seconds;
use crate::contender::Flags;
use crate::requests::kinds;
use crate::table::row;
use crate::usage::Used;

const VOLUMES: usize = 1000;
/// In it the list of volumes is read once for those that are attached, ten to eleven minutes after the start.
const WINDOW: Duration = Duration::from_secs(11 * 60);
/// The list once an hour for volumes that nothing in the cluster has begins after the window.
const HOURLY: usize = VOLUMES.div_ceil(PER_PAGE);

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = VolumeGround::start(node_of(VOLUMES) + 1).await?;
    ground.add_volumes(VOLUMES, true).await?;
    ground.add_attached(VOLUMES).await?;
    let running = ground.lead(Flags::Default).await?;
    let (audit, since) = (ground.control_plane.audit().from_now()?, SystemTime::now());
    let before = running.usage()?.context("aerostat is a process")?;
    tokio::time::sleep(WINDOW).await;
    let after = running.usage()?.context("aerostat is a process")?;
    let asked = ground.asked(since, since + WINDOW);
    let api = api_requests(&audit, &ground.admin).await?;
    running.stop().await?;
    ground.end().await?;

    let hour = 3600.0 / WINDOW.as_secs_f64();
    let mut table = beside_sidecars(&format!("an hour of {VOLUMES} attached volumes at rest"));
    let calls = asked.len() as f64 * hour + HOURLY as f64;
    let theirs = format!("{}: a list a minute, of {HOURLY} pages (the vendor's flag: 30 minutes)", 60 * HOURLY);
    row(&mut table, "cloud calls about volumes", format!("{calls:.0}"), &theirs, "");
    for (kind, times) in &kinds(&asked) {
        row(&mut table, &format!("    {kind}"), format!("{:.0}", times * hour), "", "");
    }
    row(&mut table, "    of them once an hour, not in the window", HOURLY.to_string(), "", "");
    row(&mut table, "API writes, without events", format!("{:.0}", writes(&api) * hour), "0", "0");
    row(&mut table, "events", format!("{:.0}", events(&api) * hour), "0", "0");
    memory(&mut table, &after);
    row(&mut table, "CPU time", seconds(Used { before, after }.cpu() * hour), "", "");
    table.print()
}
