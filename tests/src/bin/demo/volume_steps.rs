//! The steps about volumes: a claim becomes a disk, its pod moves, and the machine with the disk dies.

use std::fs;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::PersistentVolume;

use crate::beside::Beside;
use crate::ground::Ground;
use crate::play::VICTIM;
use crate::screen::Colour;
use crate::stage::Stage;
use crate::vendor::{DiskRelease, Shown, ShownVolumes};
use crate::{cloud, volume_objects as objects};

/// The machine at which the pod begins, and the one at which it ends. Between them it is at the one that dies.
const FIRST: u8 = 1;
const LAST: u8 = 2;
/// The object of lines about the pod.
const POD: &str = "pod db";

/// Where the provider of the cloud makes no disks, a second aerostat does.
pub(crate) async fn release_is_installed<V: Shown>(
    stage: &mut Stage<V>,
    ground: &Ground,
    release: &DiskRelease,
) -> Result<()> {
    let DiskRelease { provider, module, .. } = release;
    stage
        .screen
        .step(&format!("Disks have a module of their own, {provider}: a second aerostat runs it, beside the first"))?;
    let size = fs::metadata(module)?.len() / 1000;
    stage.screen.note(&format!(
        "{size} KB, with the ServiceAccount, the rules, the Lease and the flags of deploy/install-{provider}.yaml. Neither of the two may do what \
         the other does."
    ))?;
    stage.beside = Some(Beside::start::<V>(ground, &stage.cloud, release).await?);
    stage.screen.note(&format!("It leads after {:.1} s, under a Lease of its own.", stage.screen.elapsed()))
}

/// A claim gets a disk, which comes to the node of its pod.
pub(crate) async fn claim_is_served<V: Shown>(
    stage: &mut Stage<V>,
    ground: &Ground,
    volumes: &ShownVolumes,
) -> Result<()> {
    stage.screen.step("A PersistentVolumeClaim becomes a disk, which comes to the node of its pod")?;
    stage.screen.note(
        "No kube-controller-manager, scheduler or kubelet runs here: the demo writes what they would about volumes and pods.",
    )?;
    objects::make_class(ground, volumes).await?;
    for number in 1..=cloud::MACHINES {
        let machine = V::node_id(cloud::machine(number));
        objects::make_csi_node(ground, volumes, &V::node(number), &machine).await?;
    }
    // aerostat knows by then where the driver is.
    stage.calm().await?;
    objects::make_claim(ground, volumes, &V::node(FIRST)).await?;
    let is_made = |it: &Stage<V>| it.volumes.volume().is_some() && it.events.count("ProvisioningSucceeded") > 0;
    stage.until("a volume", is_made).await?;
    let made = stage.screen.elapsed();
    objects::bind(ground, &made_volume(stage)?).await?;
    stage.until("a bound claim", |it| it.volumes.is_bound()).await?;
    stage.screen.note(&format!(
        "Made after {made:.1} s. From before the first call until it was saved, a ConfigMap has kept what was asked for: a crash leaves no \
         disk behind."
    ))?;
    bring(stage, ground, volumes, FIRST).await
}

/// The pod moves to the node whose machine dies later.
pub(crate) async fn pod_moves<V: Shown>(stage: &mut Stage<V>, ground: &Ground, volumes: &ShownVolumes) -> Result<()> {
    stage.screen.step("Its pod moves to another node: the disk is detached there, and attached here")?;
    take(stage, ground, volumes, FIRST).await?;
    bring(stage, ground, volumes, VICTIM).await?;
    stage.screen.note(&format!("Moved after {:.1} s: the cloud took two actions.", stage.screen.elapsed()))
}

/// The disk of the machine that is gone comes to another one.
pub(crate) async fn disk_comes_to_the_next_node<V: Shown>(
    stage: &mut Stage<V>,
    ground: &Ground,
    volumes: &ShownVolumes,
) -> Result<()> {
    stage.screen.step("The pod comes to the next node, and its disk with it")?;
    objects::remove_csi_node(ground, &V::node(VICTIM)).await?;
    take(stage, ground, volumes, VICTIM).await?;
    stage.screen.note(
        "Detached without machine, Node and CSINode: the VolumeAttachment keeps what that takes, and only what it names is detached.",
    )?;
    bring(stage, ground, volumes, LAST).await
}

/// The pod is put on a node, and runs there once the disk is attached.
async fn bring<V: Shown>(stage: &mut Stage<V>, ground: &Ground, volumes: &ShownVolumes, number: u8) -> Result<()> {
    let (node, volume) = (V::node(number), made_volume(stage)?);
    stage.screen.happened(Colour::Bold, POD, &format!("is put on {node}, with the claim"))?;
    objects::make_pod(ground, &node).await?;
    objects::attach(ground, volumes, &volume, &node).await?;
    stage.until("the disk at its node", |it| it.volumes.is_attached(&node)).await?;
    objects::run_pod(ground).await?;
    stage.screen.happened(Colour::Bold, POD, &format!("runs on {node}"))?;
    stage.calm().await
}

/// The pod ends on a node, and the disk leaves its machine.
async fn take<V: Shown>(stage: &mut Stage<V>, ground: &Ground, volumes: &ShownVolumes, number: u8) -> Result<()> {
    let (node, volume) = (V::node(number), made_volume(stage)?);
    objects::remove_pod(ground).await?;
    stage.screen.happened(Colour::Bold, POD, &format!("has ended on {node}"))?;
    objects::detach(ground, volumes, &volume, &node).await?;
    stage.until("the disk away from its node", |it| !it.volumes.has_attachment(&node)).await
}

fn made_volume<V: Shown>(stage: &Stage<V>) -> Result<PersistentVolume> {
    stage.volumes.volume().cloned().context("the claim has no volume")
}
