//! `POD=1`: aerostat as the Pods that initialise the nodes on which they run, from a registry, on machines with a real kubelet.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use tests::pod::{Installation, Site};

use crate::nodes::Nodes;
use crate::screen::{Colour, Screen};

const STEPS: usize = 6;
const MACHINES: usize = 2;
/// The longest name of a node, and of a Pod up to its number.
const NAMES: usize = 9;
/// How long anything may take before the demo says that it failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the cluster is looked at.
const POLL: Duration = Duration::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "POD=1 is how a person chooses what the demo shows")]
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os("POD").is_some_and(|it| !it.is_empty() && it != "0")
}

/// Plays it.
pub(crate) async fn show() -> Result<()> {
    let mut screen = Screen::new(STEPS, NAMES);
    screen.step("A control plane, a simulated DigitalOcean, and a registry with image, module and chart")?;
    let mut site = Site::open(MACHINES).await?;
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let (program, pulled) = (u64::try_from(site.release.size.program)?, site.release.size.pulled);
    screen.note(&format!("{}@{}", site.release.place, site.release.image))?;
    screen.note(&format!(
        "{} MB, {} MB unpacked: not optimised, for the demo.",
        megabytes(pulled),
        megabytes(program)
    ))?;

    screen
        .step("Two machines with containerd and a real kubelet join, with the taints of kubeadm, Rancher and Cilium")?;
    let mut seen = Seen::new(&site.admin);
    for number in 0..MACHINES {
        site.join().await?;
        seen.until(&screen, "the node", |it| it.nodes.has(&Site::node(number))).await?;
    }

    screen.step("helm install: nothing but aerostat can run here yet")?;
    let installation = Installation::new(&site).await?;
    let played = rest(&mut screen, &mut seen, &site, &installation).await;
    if played.is_err() {
        eprintln!("{}", site.told());
    }
    played?;
    site.close().await
}

async fn rest(screen: &mut Screen, seen: &mut Seen, site: &Site, installation: &Installation<'_>) -> Result<()> {
    seen.until(screen, "initialised nodes", |it| it.nodes.are_initialised(MACHINES)).await?;
    screen.note(&format!("{:.1} s after helm was called, each node is what the cloud says.", screen.elapsed()))?;

    screen.step("A network of Pods is installed, which waited for the nodes")?;
    for number in 0..MACHINES {
        site.install_network(number).await?;
    }
    seen.until(screen, "ready Pods", |it| it.ready() == MACHINES).await?;

    screen.step("The leader's node is drained: the Lease is handed over")?;
    let (leader, holder) = seen.leader.clone().context("nobody leads")?;
    let drain = ["drain", &leader, "--delete-emptydir-data", "--timeout=100s"];
    let said = tokio::task::block_in_place(|| installation.kubectl(&drain))?;
    for line in said.lines() {
        screen.happened(Colour::Dim, "kubectl", line)?;
    }
    seen.until(screen, "another leader", |it| it.leader.as_ref().is_some_and(|it| it.1 != holder)).await?;
    seen.until(screen, "ready Pods", |it| it.ready() == MACHINES).await?;
    installation.kubectl(&["uncordon", &leader])?;

    screen.step("helm uninstall")?;
    tokio::task::block_in_place(|| installation.uninstall())?;
    seen.until(screen, "the end of the Pods", |it| it.pods.is_empty()).await?;
    screen.note("Nodes stay as they are.")
}

/// The cluster as it was shown.
struct Seen {
    admin: Client,
    nodes: Nodes,
    /// The lines of each Pod.
    pods: BTreeMap<String, String>,
    /// The name of the node, and the identity.
    leader: Option<(String, String)>,
}

impl Seen {
    fn new(admin: &Client) -> Self {
        Self { admin: admin.clone(), nodes: Nodes::default(), pods: BTreeMap::new(), leader: None }
    }

    fn ready(&self) -> usize {
        self.pods.values().filter(|it| it.ends_with("is ready")).count()
    }

    /// Shows what changes until that has happened which is waited for.
    async fn until(&mut self, screen: &Screen, what: &str, done: impl Fn(&Self) -> bool) -> Result<()> {
        let all = async {
            loop {
                self.look(screen).await?;
                if done(self) {
                    return Ok(());
                }
                tokio::time::sleep(POLL).await;
            }
        };
        let Ok(result) = tokio::time::timeout(PATIENCE, all).await else { bail!("{what}: not in time") };
        result
    }

    async fn look(&mut self, screen: &Screen) -> Result<()> {
        for node in Api::<Node>::all(self.admin.clone()).list(&ListParams::default()).await? {
            for line in self.nodes.describe(&node) {
                screen.happened(Colour::Green, &node.name_any(), &line)?;
            }
        }
        let pods: Api<Pod> = Api::namespaced(self.admin.clone(), "kube-system");
        let mut there = BTreeMap::new();
        for pod in pods.list(&ListParams::default()).await? {
            let name = pod.name_any();
            let (line, before) = (described(&pod), self.pods.get(&name));
            if before != Some(&line) {
                screen.happened(Colour::Yellow, "Pod", &format!("{name}  {line}"))?;
            }
            there.insert(name, line);
        }
        for gone in self.pods.keys().filter(|it| !there.contains_key(*it)) {
            screen.happened(Colour::Dim, "Pod", &format!("{gone}  is gone"))?;
        }
        self.pods = there;
        let leases: Api<Lease> = Api::namespaced(self.admin.clone(), "kube-system");
        let lease = leases.get_opt("cloud-controller-manager").await?.and_then(|it| it.spec);
        let holder = lease.and_then(|it| it.holder_identity).filter(|it| !it.is_empty());
        // Host name and a number of its own.
        let leader = holder.map(|it| (it.split('_').next().unwrap_or_default().to_owned(), it));
        if leader != self.leader {
            let text = leader.as_ref().map_or("nobody leads".to_owned(), |it| format!("{} leads", it.0));
            screen.happened(Colour::Bold, "Lease", &text)?;
        }
        self.leader = leader;
        Ok(())
    }
}

/// Where a Pod is, and how far it has come.
fn described(pod: &Pod) -> String {
    let place = pod.spec.as_ref().and_then(|it| it.node_name.as_deref());
    let Some(place) = place else { return "waits for a node".to_owned() };
    let status = pod.status.clone().unwrap_or_default();
    let is_ready = status.conditions.iter().flatten().any(|it| it.type_ == "Ready" && it.status == "True");
    let phase = match status.phase.as_deref() {
        _ if pod.metadata.deletion_timestamp.is_some() => "is asked to end",
        _ if is_ready => "is ready",
        Some("Running") => "runs",
        _ => "is pulled and started",
    };
    format!("{place}  {phase}")
}
