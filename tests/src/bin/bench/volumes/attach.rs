//! Attaches that take the cloud long.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::Api;
use tests::clouds::digitalocean::ActionTime;
use tests::wait;

use super::{PATIENCE, VolumeGround, api_requests, attachment, beside_sidecars, details, made, memory, writes};
use crate::comparison::{hundredths, seconds};
use crate::contender::Flags;
use crate::objects;
use crate::requests::{kinds, quiet};
use crate::table::row;

/// Each to a machine of its own: the cloud carries out one action at a time for a machine.
const ATTACHES: usize = 100;
/// From the last begun attach to the window.
const LEAD: Duration = Duration::from_secs(10);
/// All of them are under way in it. They are asked about by themselves one after the other, so that any window has its part of these questions.
const WINDOW: Duration = Duration::from_secs(330);
/// After so long without a request aerostat is at rest.
const PAUSE: Duration = Duration::from_secs(5);

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = VolumeGround::start(ATTACHES).await?;
    ground.add_volumes(ATTACHES, false).await?;
    ground.cloud.volumes().behave(|it| it.action = ActionTime::Stuck);
    let running = ground.lead(Flags::Default).await?;
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;

    let (audit, begin) = (ground.control_plane.audit().from_now()?, SystemTime::now());
    let start = Instant::now();
    let all: Vec<VolumeAttachment> = made(0..ATTACHES, |it| attachment(it, it, false))?;
    objects::create(&ground.control_plane, all, Api::all).await?;
    let begun = wait::within(PATIENCE, async || (ground.cloud.volumes().actions().len() == ATTACHES).then_some(()));
    begun.await.context("some attaches are not begun")?;
    let begun = start.elapsed().as_secs_f64();
    tokio::time::sleep(LEAD).await;
    let (since, written) = (SystemTime::now(), writes(&api_requests(&audit, &ground.admin).await?));
    tokio::time::sleep(WINDOW).await;
    let asked = ground.asked(since, since + WINDOW);
    let meanwhile = writes(&api_requests(&audit, &ground.admin).await?) - written;

    let end = Instant::now();
    ground.cloud.volumes().behave(|it| it.action = ActionTime::Takes(Duration::ZERO));
    let attached = |it: &VolumeAttachment| it.status.as_ref().is_some_and(|it| it.attached);
    let last = objects::wait_for(Api::all(ground.admin.clone()), ATTACHES, PATIENCE, attached).await?;
    let ended = last.context("some volumes are not attached")?.duration_since(end).as_secs_f64();
    quiet(&ground.cloud, PAUSE, PATIENCE).await?;
    let whole = ground.asked(begin, SystemTime::now());
    let api = api_requests(&audit, &ground.admin).await?;
    let usage = running.usage()?.context("aerostat is a process")?;
    running.stop().await?;
    ground.end().await?;

    let (window, attaches) = (WINDOW.as_secs_f64(), ATTACHES as f64);
    let mut table = beside_sidecars(&format!("{ATTACHES} attaches under way, for {window} s"));
    row(
        &mut table,
        "cloud calls a second",
        hundredths(asked.len() as f64 / window),
        "100: 1 for each; 10 workers keep it at 10 by default",
        "0.33 or less",
    );
    details(&mut table, &kinds(&asked), window);
    row(&mut table, "API writes meanwhile, without events", format!("{meanwhile:.0}"), "0", "0");
    row(&mut table, "time until all are begun", seconds(begun), "", "");
    row(&mut table, "from the cloud's end to the last one attached", seconds(ended), "", "");
    let (calls, own) = (whole.len() as f64 / attaches, writes(&api) / attaches);
    row(&mut table, "cloud calls an attach, with its waiting", hundredths(calls), "", "");
    details(&mut table, &kinds(&whole), attaches);
    row(&mut table, "API writes an attach, without events", hundredths(own), "3", "3");
    details(&mut table, &api, attaches);
    memory(&mut table, &usage);
    table.print()
}
