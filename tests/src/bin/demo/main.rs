//! `make demo`: what aerostat is for, on a real control plane and a simulated cloud, shown while it happens.

mod audit;
mod beside;
mod cloud;
mod config;
mod events;
mod existing;
mod ground;
mod hostile;
mod keep;
mod names;
mod nodes;
mod part;
mod play;
mod pod;
mod screen;
mod services;
mod stage;
mod summary;
mod vendor;
mod versions;
mod view;
mod volume_objects;
mod volume_steps;
mod volumes;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail, ensure};
use tests::vendor::{AlibabaCloud, Aws, AzureCloud, DigitalOcean, GoogleCloud, Hetzner, IbmCloud, OpenStack};
use tokio::signal::unix::{SignalKind, signal};

use crate::ground::Ground;
use crate::screen::Screen;
use crate::vendor::Shown;

#[tokio::main]
async fn main() -> ExitCode {
    let result = match existing::asked_for() {
        Some(kubeconfig) => in_existing::<DigitalOcean>(&kubeconfig).await,
        // Whatever ends first: dropping the rest ends every server and removes every file.
        None => tokio::select! {
            result = chosen() => result,
            result = stopped("all servers of the demo end now, and their files are removed") => result,
        },
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
async fn stopped(consequence: &str) -> Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    if keep::is_asked_for() {
        return Ok(());
    }
    bail!("stopped; {consequence}")
}

/// Shows the Pod if `POD` says so, or the cloud that `CLOUD` names.
async fn chosen() -> Result<()> {
    if pod::is_asked_for() {
        return pod::show().await;
    }
    match cloud_name().as_str() {
        "alibaba" => demo::<AlibabaCloud>().await,
        "aws" => demo::<Aws>().await,
        "azure" => demo::<AzureCloud>().await,
        "gcp" => demo::<GoogleCloud>().await,
        "hetzner" => demo::<Hetzner>().await,
        "ibm" => demo::<IbmCloud>().await,
        "openstack" => demo::<OpenStack>().await,
        "" | "digitalocean" => demo::<DigitalOcean>().await,
        other => {
            bail!(
                "there is no cloud {other:?} to show: CLOUD is alibaba, aws, azure, digitalocean, gcp, hetzner, ibm or openstack"
            )
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "CLOUD=… is how a person chooses what the demo shows")]
fn cloud_name() -> String {
    std::env::var("CLOUD").unwrap_or_default()
}

async fn demo<V: Shown>() -> Result<()> {
    let mut screen = Screen::new(play::steps(V::VOLUMES.as_ref()), V::NAME_LENGTH);
    screen.step("A control plane: etcd and kube-apiserver, built from their Go modules")?;
    let control_plane = ground::control_plane().await?;
    let version = control_plane.admin().await?.apiserver_version().await?.git_version;
    screen.note(&format!("Kubernetes {version} on {}, ready after {:.1} s.", control_plane.url(), screen.elapsed()))?;
    story::<V>(screen, Ground::own::<V>(control_plane).await?).await
}

/// Plays in a part of somebody's cluster, and takes away what it made there, however it ends.
async fn in_existing<V: Shown>(kubeconfig: &Path) -> Result<()> {
    ensure!(
        !pod::is_asked_for() && !keep::is_asked_for() && matches!(cloud_name().as_str(), "" | "digitalocean"),
        "CLUSTER shows DigitalOcean, and goes again: it knows no POD, KEEP and CLOUD"
    );
    let mut screen = Screen::new(play::steps(None), V::NAME_LENGTH);
    screen.step(&format!("A part of your cluster: the namespace {} and nodes with a label", part::NAMESPACE))?;
    let found = tokio::select! {
        found = existing::check::<V>(kubeconfig) => found?,
        stopped = stopped("nothing was changed") => return stopped,
    };
    screen.note(&format!("Kubernetes {} on {}. Nothing else in it is touched.", found.version, found.url()))?;
    let played = tokio::select! {
        played = async { story::<V>(screen, existing::prepare::<V>(&found).await?).await } => played,
        stopped = stopped("what the demo made in the cluster is removed") => stopped,
    };
    if let Err(error) = &played {
        eprintln!("\nerror: {error:#}");
    }
    let screen = Screen::new(0, V::NAME_LENGTH);
    screen.heading("Everything that the demo made in the cluster goes")?;
    existing::clean::<V>(&found.admin).await?;
    screen.note(&format!("It is as it was, after {:.1} s.", screen.elapsed()))?;
    played.map_err(|_| anyhow!("the demo was not played to its end, see above"))
}

async fn story<V: Shown>(screen: Screen, ground: Ground) -> Result<()> {
    let mut stage = play::prepare::<V>(screen, &ground).await?;
    play::nodes_join(&mut stage, &ground).await?;
    play::service_is_served(&mut stage, &ground).await?;
    let volumes = ground.volumes::<V>();
    if let Some(volumes) = &volumes {
        if let Some(release) = volumes.release() {
            volume_steps::release_is_installed(&mut stage, &ground, &release).await?;
        }
        volume_steps::claim_is_served(&mut stage, &ground, volumes).await?;
        volume_steps::pod_moves(&mut stage, &ground, volumes).await?;
    }
    play::machine_dies(&mut stage, &ground).await?;
    if let Some(volumes) = &volumes {
        volume_steps::disk_comes_to_the_next_node(&mut stage, &ground, volumes).await?;
    }
    play::service_is_deleted(&mut stage, &ground).await?;
    stage.cloud.assert_valid();
    let stage = play::attack(stage, &ground).await?;
    let stage = versions::show(stage, &ground).await?;
    summary::show::<V>(&stage.screen, &stage.cloud.requests(), &stage.audit)?;
    if keep::is_asked_for() {
        return keep::stay(stage, &ground).await;
    }
    if !ground.is_part() {
        keep::offer::<V>(&stage.screen)?;
    }
    stage.aerostat.stop().await?;
    ground.end().await
}
