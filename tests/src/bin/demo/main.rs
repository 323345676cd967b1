//! `make demo`: the main job, on a real control plane and a simulated cloud, as it happens.

mod nodes;
mod screen;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::{Stream, StreamExt};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};
use tests::aerostat::{Aerostat, message, write_config};
use tests::control_plane::{self, ControlPlane};
use tests::digitalocean::{Droplet, Simulator};
use tests::{guests, kubelet};
use tokio::signal::unix::{SignalKind, signal};

use crate::nodes::Teller;
use crate::screen::{Colour, Screen};

const STEPS: usize = 6;
/// How late the simulated cloud is.
const LATENCY: Duration = Duration::from_millis(50);
/// How long anything may take before the demo says that it failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// For whoever looks around while the demo stays up.
const KUBECONFIG: &str = "target/demo.kubeconfig";
/// The nodes for which the hostile provider commits a crime each, named after it.
const CRIMES: [(&str, &str); 4] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named"),
    ("forbidden-path", "reads a path that the operator has not allowed"),
    ("write-while-reading", "deletes a machine while it is asked for one"),
    ("borrowed-token", "sends a token of its own choice"),
];

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
    screen.note(&format!("Kubernetes {version} on {}, ready after {:.1} s", control_plane.url(), screen.elapsed()))?;

    screen.step("A simulated DigitalOcean, whose every answer is checked against the vendor's API description")?;
    let cloud = simulator().await?;
    screen.note(&format!("{} with three droplets, {} ms away", cloud.base_url(), LATENCY.as_millis()))?;

    screen.step("The provider: a WebAssembly component in a ConfigMap")?;
    let module = publish(&admin, "digitalocean-provider", guests::DIGITALOCEAN).await?;
    screen
        .note(&format!("kube-system/digitalocean-provider, {} KB", fs::metadata(guests::DIGITALOCEAN)?.len() / 1000))?;
    screen.note(&format!("sha256 {}", guests::sha256(guests::DIGITALOCEAN)))?;

    screen.step("aerostat, with the ServiceAccount of deploy/rbac.yaml")?;
    let rule = json!([{ "methods": ["GET"], "paths": ["/v2/droplets/**"] }]);
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let config = configure(control_plane.folder(), "cloud.yaml", &cloud, &module, &rule)?;
    let mut aerostat = start(&kubeconfig, &config)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    screen.note(&format!(
        "runs, and leads after {:.1} s; it may send GET /v2/droplets/** and nothing else",
        screen.elapsed()
    ))?;

    screen.step("Three nodes join, tainted, as kubelets do with --cloud-provider=external")?;
    let mut watch = nodes::watch(&admin);
    for number in 1..=3 {
        kubelet::join(&admin, &format!("worker-{number}")).await?;
    }
    follow(&screen, &mut aerostat, &mut watch, 3).await?;
    cloud.assert_valid();

    screen.step("A hostile provider, with the same config: each of its calls is refused")?;
    aerostat.stop().await?;
    let module = publish(&admin, "hostile-provider", guests::HOSTILE).await?;
    let config = configure(control_plane.folder(), "hostile.yaml", &cloud, &module, &rule)?;
    let mut aerostat = start(&kubeconfig, &config)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    let before = cloud.requests().len();
    for (name, crime) in CRIMES {
        screen.happened(Colour::Yellow, "hostile", crime)?;
        kubelet::join(&admin, name).await?;
        refusal(&screen, &mut aerostat).await?;
    }
    if cloud.requests().len() != before {
        bail!("a request of the hostile provider reached the cloud");
    }
    screen.note("nothing of that reached the cloud, and its nodes keep their taint")?;

    look_around(&screen, &control_plane)?;
    if keep() {
        screen.line("\nIt all stays up until Ctrl-C.")?;
        // Its log must not fill up memory.
        while aerostat.log.recv().await.is_some() {}
        bail!("aerostat has ended");
    }
    aerostat.stop().await?;
    control_plane.stop().await?;
    Ok(())
}

/// The cloud, with one droplet for each node that is going to join.
async fn simulator() -> Result<Simulator> {
    let cloud = Simulator::start(tests::digitalocean::Options { latency: LATENCY, ..Default::default() }).await?;
    for number in 1..=3_u8 {
        cloud.droplets().insert(
            Droplet::new(1000 + u64::from(number), &format!("worker-{number}"))
                .size("s-2vcpu-4gb")
                .region("fra1")
                .private_v4([Ipv4Addr::new(10, 114, 0, number)])
                .public_v4([Ipv4Addr::new(203, 0, 113, number)]),
        );
    }
    Ok(cloud)
}

/// Puts a module into a ConfigMap, and returns what a cloud configuration says of it.
async fn publish(admin: &Client, name: &str, path: &str) -> Result<Value> {
    let config_map = ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        binary_data: Some([("provider.wasm".to_owned(), ByteString(fs::read(path)?))].into()),
        ..ConfigMap::default()
    };
    Api::namespaced(admin.clone(), "kube-system").create(&PostParams::default(), &config_map).await?;
    Ok(json!({ "configMap": { "name": name, "key": "provider.wasm", "sha256": guests::sha256(path) } }))
}

fn configure(
    folder: &Path,
    name: &str,
    cloud: &Simulator,
    module: &Value,
    allow: &Value,
) -> Result<std::path::PathBuf> {
    let endpoint = json!({ "baseUrl": cloud.base_url(), "tls": { "caFile": cloud.ca_file() }, "allow": allow });
    write_config(folder, name, &cloud.token, module, &endpoint)
}

fn start(kubeconfig: &Path, config: &Path) -> Result<Aerostat> {
    let flags = [format!("--kubeconfig={}", kubeconfig.display()), format!("--cloud-config={}", config.display())];
    Aerostat::start(flags.iter().map(String::as_str).chain(["--secure-port=0"]))
}

/// Shows calls to the cloud and changes of nodes, until so many nodes are ready.
async fn follow(
    screen: &Screen,
    aerostat: &mut Aerostat,
    watch: &mut (impl Stream<Item = Result<Node>> + Unpin),
    nodes: usize,
) -> Result<()> {
    let mut teller = Teller::default();
    let all = async {
        while !teller.are_ready(nodes) {
            tokio::select! {
                entry = aerostat.log.recv() => show(screen, &entry.context("aerostat has ended")?)?,
                node = watch.next() => {
                    let node = node.context("the watch has ended")??;
                    for (index, line) in teller.tell(&node).into_iter().enumerate() {
                        let who = if index == 0 { node.name_any() } else { String::new() };
                        screen.happened(Colour::Bold, &who, &line)?;
                    }
                }
            }
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, all).await.context("nothing happened any more")?
}

/// Waits until the gate refuses a call, and shows it.
async fn refusal(screen: &Screen, aerostat: &mut Aerostat) -> Result<()> {
    let search = async {
        loop {
            let entry = aerostat.log.recv().await.context("aerostat has ended")?;
            if text(&entry, "decision") == "deny" {
                return show(screen, &entry);
            }
        }
    };
    tokio::time::timeout(PATIENCE, search).await.context("nothing was refused")?
}

/// Shows a line of aerostat's log: decisions of the gate, and what is worth a warning.
fn show(screen: &Screen, entry: &Map<String, Value>) -> Result<()> {
    if text(entry, "target") != "audit" {
        if matches!(text(entry, "level"), "WARN" | "ERROR") {
            screen.happened(Colour::Yellow, "aerostat", message(entry))?;
        }
        return Ok(());
    }
    let request = format!("{} {} on {:?}", text(entry, "method"), text(entry, "path"), text(entry, "endpoint"));
    if text(entry, "decision") == "allow" {
        let number = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or_default();
        let answer = format!("{request}: {} in {} ms", number("status"), number("duration_ms"));
        screen.happened(Colour::Green, "cloud", &answer)?;
        return screen.more(&screen.paint(Colour::Dim, &format!("let through by {}", text(entry, "rule"))));
    }
    screen.happened(Colour::Red, "refused", &request)?;
    screen.more(&screen.paint(Colour::Red, text(entry, "error")))
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Says how to go on from here.
fn look_around(screen: &Screen, control_plane: &ControlPlane) -> Result<()> {
    let folder = std::env::current_dir()?;
    let path = |it: &Path| it.strip_prefix(&folder).unwrap_or(it).display().to_string();
    let kubectl = format!("{} --kubeconfig {KUBECONFIG}", path(&control_plane::kubectl()?));
    screen.line(&screen.paint(Colour::Bold, "\nTo look around"))?;
    if !keep() {
        screen.note("KEEP=1 make demo    stays up at this point; then, in another terminal,")?;
        return screen.note(&format!("{kubectl} get nodes -o wide"));
    }
    fs::copy(control_plane.admin_kubeconfig(), KUBECONFIG).context("cannot write the kubeconfig")?;
    screen.note(&format!("alias k='{kubectl}'"))?;
    screen.note("k get nodes -o wide    three workers; the hostile provider's nodes keep their taint")?;
    screen.note("k get events           what aerostat said of them")?;
    screen.note("k get lease -n kube-system cloud-controller-manager -o yaml    who leads")?;
    screen.note(&format!("less {}    every request to the API server", path(&control_plane.folder().join("audit.log"))))
}

#[expect(clippy::disallowed_methods, reason = "KEEP=1 is how a person asks the demo to stay up")]
fn keep() -> bool {
    std::env::var_os("KEEP").is_some_and(|it| !it.is_empty() && it != "0")
}
