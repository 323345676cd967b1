//! From the start of the process to the lease: with the module from a file, from a registry that has its signature, too, and
//! from `--module-cache` while the registry is down.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::aerostat::{Aerostat, message};
use tests::control_plane::{ControlPlane, Options};
use tests::folder::Folder;
use tests::guests;
use tests::registry::{Artifact, RealRegistry, Signer};

use crate::account::Account;
use crate::cloud::simulator;
use crate::contender::write_config;
use crate::leadership::Leadership;
use crate::table::Table;

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 9;

/// Where the module comes from: a column.
struct Origin {
    name: &'static str,
    /// The log's words if it really comes from there.
    says: &'static str,
    /// `provider.module`.
    module: Value,
    cache: Option<PathBuf>,
    rounds: Vec<Round>,
}

/// Times in milliseconds.
#[derive(Clone, Copy)]
struct Round {
    lease: f64,
    compile: f64,
}

/// Starts the process from each origin in turn, several times, and prints the middle of the figures.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let folder = Folder::new();
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = folder.write("digitalocean.pub", signer.public_key());
    let bytes = std::fs::read(guests::DIGITALOCEAN).context("the provider is built")?;
    let artifact = Artifact::new(&bytes);
    let pushed = async || {
        let registry = RealRegistry::referrers().await;
        registry.push(&artifact, None).await;
        registry.push(&signer.referrer(&artifact.digest()), None).await;
        let mut module = registry.module(&artifact.digest());
        module["signedBy"] = json!({ "keys": [key] });
        (registry, module)
    };
    let (_registry, in_registry) = pushed().await;
    let (down, kept) = pushed().await;
    // Its authority's file goes with the registry.
    let ca_file = folder.write("ca.pem", std::fs::read(down.ca_file())?);
    let mut kept = Origin::new("cache", "comes from the registry", kept, Some(folder.path("cache")));
    kept.module["oci"]["tls"]["caFile"] = json!(ca_file);
    let file = json!({ "file": { "path": guests::DIGITALOCEAN, "sha256": guests::sha256(guests::DIGITALOCEAN) } });

    kept.start(&control_plane).await?;
    drop(down);
    kept.says = "comes from --module-cache";
    kept.rounds.clear();
    let mut origins = [
        Origin::new("file", "from module file", file, None),
        Origin::new("registry, signed", "comes from the registry and is signed by", in_registry, None),
        kept,
    ];
    for _ in 0..ROUNDS {
        for origin in &mut origins {
            origin.start(&control_plane).await?;
        }
    }
    control_plane.stop().await?;
    print(&origins)
}

impl Origin {
    fn new(name: &'static str, says: &'static str, module: Value, cache: Option<PathBuf>) -> Self {
        Self { name, says, module, cache, rounds: Vec::new() }
    }

    async fn start(&mut self, control_plane: &ControlPlane) -> Result<()> {
        Leadership::of(control_plane).await?.clear().await?;
        let cloud = simulator(0).await?;
        let mut config = cloud.config(control_plane.folder())?;
        config.provider["module"] = self.module.clone();
        let config = write_config(control_plane, &config)?;
        let kubeconfig = control_plane.aerostat_kubeconfig().await?;
        let flags = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--cloud-config={}", config.display()),
            "--secure-port=0".to_owned(),
        ];
        let cache = self.cache.as_ref().map(|it| format!("--module-cache={}", it.display()));

        let start = Instant::now();
        let mut aerostat = Aerostat::start(flags.into_iter().chain(cache))?;
        let mut compile = None;
        let mut is_from_there = false;
        let lease = loop {
            let line = tokio::time::timeout(PATIENCE, aerostat.log.recv()).await?.context("aerostat has ended")?;
            let text = message(&line);
            is_from_there |= text.contains(self.says);
            compile = compile.or(compile_time(text));
            if text.contains("successfully acquired lease") {
                break milliseconds(start.elapsed());
            }
        };
        anyhow::ensure!(is_from_there, "aerostat did not say that the module {}", self.says);
        self.rounds.push(Round { lease, compile: compile.context("the log does not say the compile time")? });
        aerostat.stop().await?;
        cloud.stop().await;
        Ok(())
    }

    fn median(&self, of: fn(&Round) -> f64) -> f64 {
        let mut figures: Vec<_> = self.rounds.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    }
}

fn print(origins: &[Origin; 3]) -> Result<()> {
    let columns: Vec<_> = origins.iter().map(|it| it.name).collect();
    let mut table = Table::new(&format!("modules, median of {ROUNDS}"), &columns);
    let row = |of: fn(&Round) -> f64| origins.iter().map(|it| it.median(of)).collect::<Vec<_>>();
    let shown = |figures: &[f64]| figures.iter().map(|it| format!("{it:.0} ms")).collect::<Vec<_>>();
    table.row("start to lease", &shown(&row(|it| it.lease)));
    table.row("compiling the module", &shown(&row(|it| it.compile)));
    let without = row(|it| it.lease - it.compile);
    table.row("start to lease, without compiling", &shown(&without));
    let more: Vec<_> = without.iter().map(|it| format!("{:+.0} ms", it - without[0])).collect();
    table.row("more than from a file", &more);
    table.row("wanted", &["", "at most +150 ms", "at most +20 ms"].map(str::to_owned));
    table.print()
}

/// The process's words about it in its log.
fn compile_time(text: &str) -> Option<f64> {
    text.split("compiled in ").nth(1)?.split(' ').next()?.parse().ok()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
