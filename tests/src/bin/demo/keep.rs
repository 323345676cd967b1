//! After the last step: commands to try, and `KEEP=1`, which keeps everything running for them.

use std::fs;

use anyhow::{Context, Result};
use tests::control_plane::{self, ControlPlane};
use tests::simulator::Cloud as _;

use crate::beside::Beside;
use crate::config;
use crate::ground::{self, Ground};
use crate::screen::Screen;
use crate::stage::Stage;
use crate::vendor::Shown;

/// For the commands that a person tries.
const KUBECONFIG: &str = "target/demo.kubeconfig";

#[expect(clippy::disallowed_methods, reason = "KEEP=1 is how a person asks the demo to stay up")]
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os("KEEP").is_some_and(|it| !it.is_empty() && it != "0")
}

/// Says how to keep it.
pub(crate) fn offer<V: Shown>(screen: &Screen) -> Result<()> {
    screen.heading("To try it yourself")?;
    let command = V::COMMAND;
    screen.row(&format!("KEEP=1 {command}    keeps everything running at this point, for kubectl in another terminal"))
}

/// Lets the cloud's own provider go on, and shows what happens, for ever.
pub(crate) async fn stay<V: Shown>(stage: Stage<V>, ground: &Ground) -> Result<()> {
    let control_plane = ground.control_plane().context("a part of somebody's cluster is not kept")?;
    config::publish::<V>(ground, V::MODULE).await?;
    let shown = config::shown::<V>(ground, &stage.cloud);
    let config = config::write::<V>(&ground.folder(), &stage.cloud, &shown, None)?;
    let mut stage = stage.restart(|| config::start_shown::<V>(ground, &config)).await?;
    if let Some(release) = ground.volumes::<V>().and_then(|it| it.release()) {
        stage.beside = Some(Beside::start::<V>(ground, &stage.cloud, &release).await?);
    }
    look_around(&stage.screen, V::ANOTHER, ground.volumes::<V>().is_some(), control_plane)?;
    let heading = format!("Everything runs until Ctrl-C, with the {} provider; changes are shown here", V::Cloud::NAME);
    stage.screen.heading(&heading)?;
    stage.forever().await
}

fn look_around(screen: &Screen, another: &str, has_volumes: bool, control_plane: &ControlPlane) -> Result<()> {
    let kubectl = format!("{} --kubeconfig {KUBECONFIG}", ground::shown(&control_plane::kubectl()?));
    fs::copy(control_plane.admin_kubeconfig(), KUBECONFIG).context("cannot write the kubeconfig")?;
    screen.heading("Try this in another terminal")?;
    screen.row(&format!("alias k='{kubectl}'"))?;
    screen.row("k get nodes -o wide")?;
    screen.row(&format!("k create service loadbalancer mine --tcp=80    {another}; then k get service mine"))?;
    if has_volumes {
        screen.row("k get pvc,pv,volumeattachments    the claim, its disk, and where it is")?;
    }
    screen.row("k get events")?;
    screen.row("k get lease -n kube-system cloud-controller-manager -o yaml    the leader, and the cloud account")?;
    screen.row(&format!(
        "less {}    every request to the API server",
        ground::shown(&control_plane.folder().join("audit.log"))
    ))
}
