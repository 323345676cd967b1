//! `make demo`: the main job, on a real control plane and a simulated cloud, as it happens.

mod audit;
mod cloud;
mod config;
mod events;
mod hostile;
mod nodes;
mod screen;
mod services;
mod stage;
mod summary;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use kube::Client;
use serde_json::json;
use tests::control_plane::{self, ControlPlane};
use tests::{guests, kubelet};
use tokio::signal::unix::{SignalKind, signal};

use crate::screen::{Colour, Screen};
use crate::stage::{PATIENCE, Stage};

const STEPS: usize = 10;
/// The machine that dies.
const VICTIM: u8 = 3;
/// For whoever looks around while the demo stays up.
const KUBECONFIG: &str = "target/demo.kubeconfig";

#[tokio::main]
async fn main() -> ExitCode {
    // Whatever ends first: dropping the rest ends every server and removes every file.
    let result = tokio::select! {
        result = demo() => result,
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
    if keep() {
        return Ok(());
    }
    bail!("stopped; every server that was started ends now, and its files go")
}

async fn demo() -> Result<()> {
    let mut screen = Screen::new(STEPS);
    screen.step("A control plane: etcd and kube-apiserver, built from their Go modules")?;
    let control_plane = ControlPlane::start(control_plane::Options::default()).await?;
    let admin = control_plane.admin().await?;
    let version = admin.apiserver_version().await?.git_version;
    screen.note(&format!("Kubernetes {version} on {}, ready after {:.1} s.", control_plane.url(), screen.elapsed()))?;

    let mut stage = prepare(screen, &control_plane, &admin).await?;
    nodes_join(&mut stage, &admin).await?;
    service_is_served(&mut stage, &admin).await?;
    machine_dies(&mut stage, &admin).await?;
    service_is_deleted(&mut stage, &admin).await?;
    stage.cloud.assert_valid();
    let stage = attack(stage, &control_plane, &admin).await?;

    summary::show(&stage.screen, &stage.cloud.requests(), &stage.audit)?;
    look_around(&stage.screen, &control_plane)?;
    let Stage { screen, mut aerostat, .. } = stage;
    if keep() {
        screen.heading("It all stays up until Ctrl-C")?;
        // Its log must not fill up memory.
        while aerostat.log.recv().await.is_some() {}
        bail!("aerostat has ended");
    }
    aerostat.stop().await?;
    control_plane.stop().await?;
    Ok(())
}

/// The cloud, the module and aerostat.
async fn prepare(mut screen: Screen, control_plane: &ControlPlane, admin: &Client) -> Result<Stage> {
    screen.step("A simulated DigitalOcean, whose every answer is checked against the vendor's API description")?;
    let cloud = cloud::start().await?;
    screen.note(&format!("{} with three droplets, {} ms away.", cloud.base_url(), cloud::LATENCY.as_millis()))?;
    screen.note(&format!(
        "A load balancer is built in {} s here; at DigitalOcean, in a minute or two.",
        cloud::BUILDING.as_secs()
    ))?;

    screen.step("The provider: a WebAssembly component in a ConfigMap")?;
    let module = config::publish(admin, "digitalocean-provider", guests::DIGITALOCEAN).await?;
    let size = fs::metadata(guests::DIGITALOCEAN)?.len() / 1000;
    screen.note(&format!("kube-system/digitalocean-provider, {size} KB"))?;
    screen.note(&format!("sha256 {}", guests::sha256(guests::DIGITALOCEAN)))?;

    screen.step("aerostat, with the ServiceAccount of deploy/rbac.yaml and the rules of deploy/config.yaml")?;
    let provider = json!({ "module": module, "settings": { "pollInterval": "1s" }, "writesAnnotations": [
        "kubernetes.digitalocean.com/load-balancer-id",
        "service.beta.kubernetes.io/do-loadbalancer-type",
    ] });
    let config = config::write(control_plane.folder(), &cloud, &provider)?;
    let mut aerostat = config::start(&control_plane.aerostat_kubeconfig().await?, &config)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    screen.note(&format!("It leads after {:.1} s.", screen.elapsed()))?;
    screen.note(
        "Shortened for the demo: unfinished load balancers and unready nodes are looked at every second (usually 15 s and \
         5 s), and deletions begin at once (usually after the first minute, and never of a node younger than 5).",
    )?;
    Ok(Stage::new(screen, cloud, aerostat, admin))
}

async fn nodes_join(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("Three nodes join, tainted, as kubelets do with --cloud-provider=external")?;
    for number in 1..=cloud::MACHINES {
        kubelet::join(admin, &cloud::node(number)).await?;
    }
    let count = usize::from(cloud::MACHINES);
    stage.until("initialised nodes", |it| it.nodes.are_initialised(count) && it.events.told("Synced") >= count).await
}

async fn service_is_served(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("A Service of type LoadBalancer, and its load balancer")?;
    services::create(admin).await?;
    let served = |it: &Stage| it.services.seen().is_some_and(|it| !it.addresses.is_empty());
    stage.until("an address", |it| served(it) && it.events.told("EnsuredLoadBalancer") == 1).await?;
    stage.screen.note(
        "The memo is the provider's, which keeps nothing itself: a restart at any moment finds what was begun.",
    )?;
    stage.screen.note(&format!(
        "Served after {:.1} s, of which the cloud took {}.",
        stage.screen.elapsed(),
        cloud::BUILDING.as_secs()
    ))?;

    stage.screen.step("The Service gets a second port")?;
    services::add_port(admin).await?;
    let rules = |it: &Stage| it.cloud.load_balancers().all().iter().all(|it| it.attributes.forwarding_rules.len() == 2);
    stage.until("a second rule", |it| rules(it) && it.events.told("EnsuredLoadBalancer") == 2).await
}

async fn machine_dies(stage: &mut Stage, admin: &Client) -> Result<()> {
    let (node, droplet) = (cloud::node(VICTIM), cloud::droplet(VICTIM));
    stage.screen.step("A machine is deleted from the cloud, and its kubelet falls silent")?;
    stage.cloud.droplets().remove(droplet);
    stage.screen.happened(Colour::Dim, "cloud", &format!("droplet {droplet} is gone"))?;
    kubelet::post_ready(admin, &node, false).await?;
    let targets =
        |it: &Stage| it.cloud.load_balancers().all().iter().any(|it| it.attributes.droplet_ids.contains(&droplet));
    stage
        .until("the node's removal", |it| {
            !it.nodes.has(&node)
                && it.events.told("DeletingNode") == 1
                && !targets(it)
                && it.events.told("UpdatedLoadBalancer") == 1
        })
        .await?;
    stage.screen.note(
        "Deleted because a list did not hold it and a look-up said 404; an error or an empty list proves nothing.",
    )
}

async fn service_is_deleted(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("The Service is deleted, and its load balancer with it")?;
    services::delete(admin).await?;
    stage
        .until("the Service's end", |it| it.services.seen().is_none() && it.events.told("DeletedLoadBalancer") == 1)
        .await
}

async fn attack(mut stage: Stage, control_plane: &ControlPlane, admin: &Client) -> Result<Stage> {
    stage.screen.step("A hostile provider, with the same rules: each of its calls is refused")?;
    let module = config::publish(admin, "hostile-provider", guests::HOSTILE).await?;
    stage.screen.note("It says that it is of the same account: another's answers would count for nothing.")?;
    let account = format!("account:{}", hostile::account(admin).await?);
    let provider = json!({ "module": module, "settings": { "identity": account } });
    let config = config::write(control_plane.folder(), &stage.cloud, &provider)?;
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let mut stage = stage.restart(|| config::start(&kubeconfig, &config)).await?;
    hostile::commit(&mut stage, admin).await?;
    Ok(stage)
}

/// Says how to go on from here.
fn look_around(screen: &Screen, control_plane: &ControlPlane) -> Result<()> {
    let folder = std::env::current_dir()?;
    let path = |it: &Path| it.strip_prefix(&folder).unwrap_or(it).display().to_string();
    let kubectl = format!("{} --kubeconfig {KUBECONFIG}", path(&control_plane::kubectl()?));
    screen.heading("To look around")?;
    if !keep() {
        screen.note("KEEP=1 make demo    stays up at this point; then, in another terminal,")?;
        return screen.row(&format!("{kubectl} get nodes -o wide"));
    }
    fs::copy(control_plane.admin_kubeconfig(), KUBECONFIG).context("cannot write the kubeconfig")?;
    screen.row(&format!("alias k='{kubectl}'"))?;
    screen.row("k get nodes -o wide    two workers; the hostile provider's nodes keep their taint")?;
    screen.row("k get events           what aerostat said of them")?;
    screen.row("k get lease -n kube-system cloud-controller-manager -o yaml    who leads")?;
    screen.row(&format!("less {}    every request to the API server", path(&control_plane.folder().join("audit.log"))))
}

#[expect(clippy::disallowed_methods, reason = "KEEP=1 is how a person asks the demo to stay up")]
fn keep() -> bool {
    std::env::var_os("KEEP").is_some_and(|it| !it.is_empty() && it != "0")
}
