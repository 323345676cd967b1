//! `make demo`: what aerostat is for, on a real control plane and a simulated cloud, shown while it happens.

mod audit;
mod cloud;
mod config;
mod events;
mod hostile;
mod keep;
mod nodes;
mod play;
mod pod;
mod screen;
mod services;
mod stage;
mod summary;
mod vendor;
mod versions;

use std::process::ExitCode;

use anyhow::{Result, bail};
use tests::control_plane::{self, ControlPlane};
use tests::vendor::{Aws, DigitalOcean, Hetzner};
use tokio::signal::unix::{SignalKind, signal};

use crate::screen::Screen;
use crate::vendor::Shown;

#[tokio::main]
async fn main() -> ExitCode {
    // Whatever ends first: dropping the rest ends every server and removes every file.
    let result = tokio::select! {
        result = chosen() => result,
        result = stopped() => result,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for Ctrl-C.
async fn stopped() -> Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    if keep::is_asked_for() {
        return Ok(());
    }
    bail!("stopped; all servers of the demo end now, and their files are removed")
}

/// Shows the Pod if `POD` says so, or the cloud that `CLOUD` names.
#[expect(clippy::disallowed_methods, reason = "CLOUD=… is how a person chooses what the demo shows")]
async fn chosen() -> Result<()> {
    if pod::is_asked_for() {
        return pod::show().await;
    }
    match std::env::var("CLOUD").as_deref() {
        Ok("aws") => demo::<Aws>().await,
        Ok("hetzner") => demo::<Hetzner>().await,
        Ok("" | "digitalocean") | Err(_) => demo::<DigitalOcean>().await,
        Ok(other) => bail!("there is no cloud {other:?} to show: CLOUD is aws, digitalocean or hetzner"),
    }
}

async fn demo<V: Shown>() -> Result<()> {
    let mut screen = Screen::new(play::STEPS, V::NAME_LENGTH);
    screen.step("A control plane: etcd and kube-apiserver, built from their Go modules")?;
    let control_plane = ControlPlane::start(control_plane::Options::default()).await?;
    let admin = control_plane.admin().await?;
    let version = admin.apiserver_version().await?.git_version;
    screen.note(&format!("Kubernetes {version} on {}, ready after {:.1} s.", control_plane.url(), screen.elapsed()))?;

    let mut stage = play::prepare::<V>(screen, &control_plane, &admin).await?;
    play::nodes_join(&mut stage, &admin).await?;
    play::service_is_served(&mut stage, &admin).await?;
    play::machine_dies(&mut stage, &admin).await?;
    play::service_is_deleted(&mut stage, &admin).await?;
    stage.cloud.assert_valid();
    let stage = play::attack(stage, &control_plane, &admin).await?;
    let stage = versions::show(stage, &control_plane, &admin).await?;
    summary::show::<V>(&stage.screen, &stage.cloud.requests(), &stage.audit)?;
    if keep::is_asked_for() {
        return keep::stay(stage, &control_plane, &admin).await;
    }
    keep::offer::<V>(&stage.screen)?;
    stage.aerostat.stop().await?;
    control_plane.stop().await
}
