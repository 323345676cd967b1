//! `make bench`: figures side by side, measured in one run. `make bench ROW=join-100` for one row.
//!
//! Machines are noisy; the ratios between columns of one row are what counts.

mod calls;
mod floor;
mod join;
mod start;
mod table;
mod usage;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use tests::aerostat::write_config;
use tests::control_plane::{ControlPlane, Options};
use tests::digitalocean::Simulator;
use tests::guests;

/// How late the simulated cloud is.
const LATENCY: Duration = Duration::from_millis(50);

const ROWS: [(&str, &str); 5] = [
    ("sizes", "the binary and the module"),
    ("call", "one provider call with a fresh instance"),
    ("start", "from the start of the process to the lease, to the first node; memory at rest"),
    ("join-100", "100 nodes join at once"),
    ("join-1000", "1,000 nodes join at once"),
];

#[tokio::main]
async fn main() -> ExitCode {
    match bench().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench() -> Result<()> {
    let wanted = std::env::args().nth(1);
    if let Some(row) = &wanted
        && !ROWS.iter().any(|(name, _)| name == row)
    {
        let known: Vec<_> = ROWS.iter().map(|(name, what)| format!("  {name:<10} {what}")).collect();
        bail!("there is no row {row:?}; there are\n{}", known.join("\n"));
    }
    let selected = |row: &str| wanted.as_deref().is_none_or(|it| it == row);

    if selected("sizes") {
        sizes()?;
    }
    if selected("call") {
        calls::measure().await?;
    }
    if ["start", "join-100", "join-1000"].into_iter().any(selected) {
        let control_plane = ControlPlane::start(Options::default()).await?;
        if selected("start") {
            start::measure(&control_plane).await?;
        }
        for (row, nodes) in [("join-100", 100), ("join-1000", 1000)] {
            if selected(row) {
                join::measure(&control_plane, nodes).await?;
            }
        }
        control_plane.stop().await?;
    }
    Ok(())
}

fn sizes() -> Result<()> {
    let size = |path: &std::path::Path| Ok::<_, std::io::Error>(std::fs::metadata(path)?.len());
    let mut table = table::Table::new("sizes", &["size"]);
    table.row("aerostat", &[format!("{:.1} MB", size(&tests::aerostat::binary()?)? as f64 / 1e6)]);
    table.row("digitalocean.wasm", &[format!("{} KB", size(guests::DIGITALOCEAN.as_ref())? / 1000)]);
    table.print()
}

/// A simulated DigitalOcean with a droplet for each node. Its answers are not checked: that would be measured too.
async fn simulator(nodes: usize) -> Result<Simulator> {
    let options = tests::digitalocean::Options { latency: LATENCY, checked: false, ..Default::default() };
    let cloud = Simulator::start(options).await?;
    for number in 0..nodes {
        let [_, _, high, low] = u32::try_from(number)?.to_be_bytes();
        let droplet = tests::digitalocean::Droplet::new(1_000_000 + number as u64, &name(number))
            .private_v4([[10, 114, high, low].into()])
            .public_v4([[203, 0, high, low].into()]);
        cloud.droplets().insert(droplet);
    }
    Ok(cloud)
}

fn name(number: usize) -> String {
    format!("node-{number:04}")
}

/// The flags with which aerostat serves a control plane and a cloud: everything else is as it is by default.
async fn flags(control_plane: &ControlPlane, cloud: &Simulator) -> Result<Vec<String>> {
    let module = serde_json::json!({
        "file": { "path": guests::DIGITALOCEAN, "sha256": guests::sha256(guests::DIGITALOCEAN) }
    });
    let endpoint = serde_json::json!({
        "baseUrl": cloud.base_url(),
        "tls": { "caFile": cloud.ca_file() },
        "allow": [{ "methods": ["GET"], "paths": ["/v2/droplets/**"] }],
    });
    let config = write_config(control_plane.folder(), "cloud.yaml", &cloud.token, &module, &endpoint)?;
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    Ok(vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--cloud-config={}", config.display()),
        "--secure-port=0".to_owned(),
    ])
}
