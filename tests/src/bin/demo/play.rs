//! The steps of the demo, one function each.

use std::fs;

use anyhow::Result;
use kube::ResourceExt as _;
use serde_json::json;
use tests::aerostat::message;
use tests::simulator::Cloud as _;
use tests::{guests, kubelet};

use crate::ground::Ground;
use crate::screen::{Colour, Screen};
use crate::stage::{PATIENCE, Stage};
use crate::vendor::{BUILDING, LATENCY, Shown, ShownVolumes};
use crate::{cloud, config, hostile, services};

/// How many steps there are without volumes, further ones with them, and where another release makes them.
const STEPS: usize = 13;
const WITH_VOLUMES: usize = 3;
const WITH_RELEASE: usize = 1;

/// The machine that is deleted.
pub(crate) const VICTIM: u8 = 3;

/// How many steps there are for a cloud with these volumes.
pub(crate) fn steps(volumes: Option<&ShownVolumes>) -> usize {
    let further = volumes.map(|it| if it.release().is_some() { WITH_VOLUMES + WITH_RELEASE } else { WITH_VOLUMES });
    STEPS + further.unwrap_or_default()
}

/// The cloud, the module and aerostat.
pub(crate) async fn prepare<V: Shown>(mut screen: Screen, ground: &Ground) -> Result<Stage<V>> {
    screen.step(&format!("A simulated {}: {}", V::Cloud::NAME, V::JUDGE))?;
    let cloud = V::open(cloud::MACHINES).await?;
    screen.note(&format!("{} with three {}s, {} ms away.", cloud.base_url(), V::MACHINE, LATENCY.as_millis()))?;
    screen.note(&format!("A load balancer takes {} s here; {}.", BUILDING.as_secs(), V::REALLY))?;

    screen.step("The provider: a WebAssembly component in a ConfigMap")?;
    config::publish::<V>(ground, V::MODULE).await?;
    let size = fs::metadata(V::MODULE)?.len() / 1000;
    screen.note(&format!("{}/{}, {size} KB", ground.namespace(), V::CONFIG_MAP))?;
    screen.note(&format!("sha256 {}", guests::sha256(V::MODULE)))?;

    let rights = match (ground.is_part(), ground.volumes::<V>().and_then(|it| it.page())) {
        (true, _) => "rights over the demo's nodes and its namespace alone",
        (false, None) => "the ServiceAccount of deploy/rbac.yaml",
        (false, Some(_)) => "the ServiceAccount of deploy/rbac.yaml and deploy/volumes",
    };
    screen.step(&format!("aerostat, with {rights} and the rules of deploy/"))?;
    let config = config::write::<V>(&ground.folder(), &cloud, &config::shown::<V>(ground, &cloud), None)?;
    let mut aerostat = config::start_shown::<V>(ground, &config)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    // It says of every controller whether it runs.
    let about_routes = aerostat.wait_for("node-route-controller", PATIENCE).await?;
    let has_routes = message(&about_routes).starts_with("started");
    screen.note(&format!("It leads after {:.1} s.", screen.elapsed()))?;
    screen.note(&format!(
        "Shortened for the demo: {}, and deletions begin at once (usually after the first minute, and never of a node \
         younger than 5).",
        V::SHORTENED
    ))?;
    let mut stage = Stage::new(screen, cloud, aerostat, ground);
    stage.has_routes = has_routes;
    Ok(stage)
}

/// Nodes join, and are initialised.
pub(crate) async fn nodes_join<V: Shown>(stage: &mut Stage<V>, ground: &Ground) -> Result<()> {
    stage.screen.step("Three nodes join, tainted, as kubelets do with --cloud-provider=external")?;
    for number in 1..=cloud::MACHINES {
        let mut node = kubelet::node(&V::node(number));
        if let (Some(spec), Some(pods)) = (&mut node.spec, V::pods(number)) {
            // The node IPAM controller gives it.
            (spec.pod_cidr, spec.pod_cidrs) = (Some(pods.clone()), Some(vec![pods]));
        }
        if let Some((key, place)) = ground.volumes::<V>().map(|it| it.place) {
            // By the vendor's node plugin.
            node.labels_mut().insert(key.to_owned(), place.to_owned());
        }
        ground.join_as(node).await?;
    }
    let count = usize::from(cloud::MACHINES);
    stage
        .until("initialised nodes", |stage| {
            stage.nodes.are_initialised(count) && stage.events.count("Synced") >= count && stage.has_routes_for(count)
        })
        .await?;
    stage.calm().await?;
    if stage.has_routes {
        stage.screen.note(V::ROUTES)?;
    }
    Ok(())
}

/// A Service gets a load balancer, and then a second port.
pub(crate) async fn service_is_served<V: Shown>(stage: &mut Stage<V>, ground: &Ground) -> Result<()> {
    stage.screen.step("A Service of type LoadBalancer, and its load balancer")?;
    services::create(ground, V::ANNOTATIONS).await?;
    let served = |it: &Stage<V>| it.services.seen().is_some_and(|it| !it.addresses.is_empty());
    stage.until("an address", |it| served(it) && it.events.count("EnsuredLoadBalancer") > 0).await?;
    stage.screen.note(
        "The provider keeps its memo on the Service and nothing in memory: a restart at any moment continues from there.",
    )?;
    stage.screen.note(&format!("Served after {:.1} s{}", stage.screen.elapsed(), V::SERVED))?;

    stage.screen.step("The Service gets a second port")?;
    services::add_port(ground).await?;
    let rules = |it: &Stage<V>| V::built(it.cloud.account()).iter().all(|it| it.ports.len() == 2);
    stage.until("a second rule", |it| rules(it) && it.events.count("EnsuredLoadBalancer") > 1).await
}

/// A machine is deleted, and then its node.
pub(crate) async fn machine_dies<V: Shown>(stage: &mut Stage<V>, ground: &Ground) -> Result<()> {
    let (node, machine) = (V::node(VICTIM), cloud::machine(VICTIM));
    let what = if ground.volumes::<V>().is_some() { "The machine with the disk" } else { "A machine" };
    stage.screen.step(&format!("{what} is deleted in the cloud, and its kubelet stops reporting"))?;
    V::remove_machine(stage.cloud.account(), machine);
    stage.screen.happened(Colour::Dim, "cloud", &format!("{} {} {}", V::MACHINE, V::machine(machine), V::GONE))?;
    kubelet::post_ready(&ground.admin, &node, false).await?;
    let targets = |it: &Stage<V>| V::built(it.cloud.account()).iter().any(|it| it.machines.contains(&machine));
    stage
        .until("the node's removal", |stage| {
            !stage.nodes.has(&node)
                && stage.events.count("DeletingNode") > 0
                && !targets(stage)
                && stage.events.count("UpdatedLoadBalancer") > 0
                && stage.has_routes_for(usize::from(cloud::MACHINES) - 1)
        })
        .await?;
    stage.screen.note(&format!("Deleted because {}; an error or an empty list proves nothing.", V::PROOF))
}

/// A Service is deleted once its load balancer is gone.
pub(crate) async fn service_is_deleted<V: Shown>(stage: &mut Stage<V>, ground: &Ground) -> Result<()> {
    stage.screen.step("The Service is deleted, and its load balancer with it")?;
    services::delete(ground).await?;
    stage
        .until("the Service's end", |it| it.services.seen().is_none() && it.events.count("DeletedLoadBalancer") > 0)
        .await
}

/// A hostile provider in the place of the real one.
pub(crate) async fn attack<V: Shown>(mut stage: Stage<V>, ground: &Ground) -> Result<Stage<V>> {
    stage.screen.step("A hostile provider, with the same rules: each of its calls is refused")?;
    if let Some(beside) = stage.beside.take() {
        beside.aerostat.stop().await?;
        stage
            .screen
            .note("The aerostat for disks has ended: all that is asked from now on is the hostile provider's.")?;
    }
    config::publish::<V>(ground, guests::HOSTILE).await?;
    stage.screen.note("It claims the same account: answers of another account would be ignored.")?;
    let account = format!("account:{}", hostile::account(ground).await?);
    let settings = json!({ "identity": account, "machines": V::attacked() });
    let provider = config::provider::<V>(ground, guests::HOSTILE, json!({ "settings": settings }));
    let config = config::write::<V>(&ground.folder(), &stage.cloud, &provider, Some(hostile::ENDPOINT))?;
    let mut stage = stage.restart(|| config::start::<V>(ground, &config, &[])).await?;
    hostile::commit(&mut stage, ground).await?;
    Ok(stage)
}
