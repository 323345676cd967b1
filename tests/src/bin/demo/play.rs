//! The steps of the demo, one function each.

use std::fs;

use anyhow::Result;
use kube::Client;
use serde_json::json;
use tests::control_plane::ControlPlane;
use tests::{guests, kubelet};

use crate::screen::{Colour, Screen};
use crate::stage::{PATIENCE, Stage};
use crate::{cloud, config, hostile, services};

/// The machine that is deleted.
const VICTIM: u8 = 3;

/// The cloud, the module and aerostat.
pub(crate) async fn prepare(mut screen: Screen, control_plane: &ControlPlane, admin: &Client) -> Result<Stage> {
    screen
        .step("A simulated DigitalOcean: every request and answer is checked against the vendor's API description")?;
    let cloud = cloud::start().await?;
    screen.note(&format!("{} with three droplets, {} ms away.", cloud.base_url(), cloud::LATENCY.as_millis()))?;
    screen.note(&format!(
        "A load balancer takes {} s here; at DigitalOcean, it takes a minute or two.",
        cloud::BUILDING.as_secs()
    ))?;

    screen.step("The provider: a WebAssembly component in a ConfigMap")?;
    config::publish(admin, guests::DIGITALOCEAN).await?;
    let size = fs::metadata(guests::DIGITALOCEAN)?.len() / 1000;
    screen.note(&format!("kube-system/digitalocean-provider, {size} KB"))?;
    screen.note(&format!("sha256 {}", guests::sha256(guests::DIGITALOCEAN)))?;

    screen.step("aerostat, with the ServiceAccount of deploy/rbac.yaml and the rules of deploy/config.yaml")?;
    let config = config::write(control_plane.folder(), &cloud, &config::digitalocean())?;
    let mut aerostat = config::start(&control_plane.aerostat_kubeconfig().await?, &config)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    screen.note(&format!("It leads after {:.1} s.", screen.elapsed()))?;
    screen.note(
        "Shortened for the demo: unfinished load balancers and unready nodes are looked at every second (usually 15 s and \
         5 s), and deletions begin at once (usually after the first minute, and never of a node younger than 5).",
    )?;
    Ok(Stage::new(screen, cloud, aerostat, admin))
}

/// Nodes join, and are initialised.
pub(crate) async fn nodes_join(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("Three nodes join, tainted, as kubelets do with --cloud-provider=external")?;
    for number in 1..=cloud::MACHINES {
        kubelet::join(admin, &cloud::node(number)).await?;
    }
    let count = usize::from(cloud::MACHINES);
    stage.until("initialised nodes", |it| it.nodes.are_initialised(count) && it.events.count("Synced") >= count).await
}

/// A Service gets a load balancer, and then a second port.
pub(crate) async fn service_is_served(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("A Service of type LoadBalancer, and its load balancer")?;
    services::create(admin).await?;
    let served = |it: &Stage| it.services.seen().is_some_and(|it| !it.addresses.is_empty());
    stage.until("an address", |it| served(it) && it.events.count("EnsuredLoadBalancer") > 0).await?;
    stage.screen.note(
        "The provider keeps its memo on the Service and nothing in memory: a restart at any moment continues from there.",
    )?;
    stage.screen.note(&format!(
        "Served after {:.1} s, of which the cloud took {}.",
        stage.screen.elapsed(),
        cloud::BUILDING.as_secs()
    ))?;

    stage.screen.step("The Service gets a second port")?;
    services::add_port(admin).await?;
    let rules = |it: &Stage| it.cloud.load_balancers().all().iter().all(|it| it.attributes.forwarding_rules.len() == 2);
    stage.until("a second rule", |it| rules(it) && it.events.count("EnsuredLoadBalancer") > 1).await
}

/// A machine is deleted, and then its node.
pub(crate) async fn machine_dies(stage: &mut Stage, admin: &Client) -> Result<()> {
    let (node, droplet) = (cloud::node(VICTIM), cloud::droplet(VICTIM));
    stage.screen.step("A machine is deleted in the cloud, and its kubelet stops reporting")?;
    stage.cloud.droplets().remove(droplet);
    stage.screen.happened(Colour::Dim, "cloud", &format!("droplet {droplet} is gone"))?;
    kubelet::post_ready(admin, &node, false).await?;
    let targets =
        |it: &Stage| it.cloud.load_balancers().all().iter().any(|it| it.attributes.droplet_ids.contains(&droplet));
    stage
        .until("the node's removal", |it| {
            !it.nodes.has(&node)
                && it.events.count("DeletingNode") > 0
                && !targets(it)
                && it.events.count("UpdatedLoadBalancer") > 0
        })
        .await?;
    stage.screen.note(
        "Deleted because a complete list did not have the machine and a read of it answered 404; an error or an empty list proves nothing.",
    )
}

/// A Service is deleted once its load balancer is gone.
pub(crate) async fn service_is_deleted(stage: &mut Stage, admin: &Client) -> Result<()> {
    stage.screen.step("The Service is deleted, and its load balancer with it")?;
    services::delete(admin).await?;
    stage
        .until("the Service's end", |it| it.services.seen().is_none() && it.events.count("DeletedLoadBalancer") > 0)
        .await
}

/// A hostile provider in the place of the real one.
pub(crate) async fn attack(mut stage: Stage, control_plane: &ControlPlane, admin: &Client) -> Result<Stage> {
    stage.screen.step("A hostile provider, with the same rules: each of its calls is refused")?;
    config::publish(admin, guests::HOSTILE).await?;
    stage.screen.note("It claims the same account: answers of another account would be ignored.")?;
    let account = format!("account:{}", hostile::account(admin).await?);
    let settings = json!({ "identity": account });
    let provider = config::provider(guests::HOSTILE, &settings);
    let config = config::write(control_plane.folder(), &stage.cloud, &provider)?;
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let mut stage = stage.restart(|| config::start(&kubeconfig, &config)).await?;
    hostile::commit(&mut stage, admin).await?;
    Ok(stage)
}
