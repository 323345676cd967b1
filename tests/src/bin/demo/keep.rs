//! After the end: how to look around, and `KEEP=1`, which keeps everything running for that.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use kube::Client;
use tests::control_plane::{self, ControlPlane};

use crate::screen::Screen;
use crate::stage::Stage;
use crate::{config, hostile};

/// For whoever looks around.
const KUBECONFIG: &str = "target/demo.kubeconfig";

#[expect(clippy::disallowed_methods, reason = "KEEP=1 is how a person asks the demo to stay up")]
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os("KEEP").is_some_and(|it| !it.is_empty() && it != "0")
}

/// Says how to keep it.
pub(crate) fn offer(screen: &Screen) -> Result<()> {
    screen.heading("To look around")?;
    screen.row("KEEP=1 make demo    stays up at this point, for a kubectl in another terminal")
}

/// Lets the DigitalOcean provider go on, and shows what happens, for ever.
pub(crate) async fn stay(stage: Stage, control_plane: &ControlPlane, admin: &Client) -> Result<()> {
    hostile::leave(admin).await?;
    let config = config::write(control_plane.folder(), &stage.cloud, &config::digitalocean())?;
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let mut stage = stage.restart(|| config::start(&kubeconfig, &config)).await?;
    look_around(&stage.screen, control_plane)?;
    stage.screen.heading("It all stays up until Ctrl-C, with the DigitalOcean provider; what happens is shown here")?;
    stage.forever().await
}

fn look_around(screen: &Screen, control_plane: &ControlPlane) -> Result<()> {
    let folder = std::env::current_dir()?;
    let path = |it: &Path| it.strip_prefix(&folder).unwrap_or(it).display().to_string();
    let kubectl = format!("{} --kubeconfig {KUBECONFIG}", path(&control_plane::kubectl()?));
    fs::copy(control_plane.admin_kubeconfig(), KUBECONFIG).context("cannot write the kubeconfig")?;
    screen.heading("To look around, in another terminal")?;
    screen.row(&format!("alias k='{kubectl}'"))?;
    screen.row("k get nodes -o wide")?;
    screen.row("k create service loadbalancer mine --tcp=80    another load balancer; then k get service mine")?;
    screen.row("k get events")?;
    screen.row("k get lease -n kube-system cloud-controller-manager -o yaml    who leads, and whose account it is")?;
    screen.row(&format!("less {}    every request to the API server", path(&control_plane.folder().join("audit.log"))))
}
