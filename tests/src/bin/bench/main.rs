//! `make bench`: figures side by side, measured in one run. `make bench ROW=join-100` for one row, `make bench ROW=aws` for
//! all whose names begin so.
//!
//! All contenders of a row work for the same kind of control plane and the same simulated cloud, which takes 50 ms for an answer. Machines
//! are noisy; the ratios between columns of one table are what counts.

mod account;
mod alibaba;
mod aws;
mod azure;
mod baseline;
mod calls;
mod changes;
mod cloud;
mod comparison;
mod contender;
mod floor;
mod gcp;
mod hetzner;
mod ibm;
mod ipam;
mod join;
mod leadership;
mod memory;
mod modules;
mod objects;
mod openstack;
mod requests;
mod restart;
mod routes;
mod services;
mod signature;
mod sizes;
mod start;
mod steady;
mod steps;
mod swap;
mod table;
mod takeover;
mod usage;
mod volumes;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The rows that can be measured: a name for `ROW=…`, and its meaning.
const ROWS: [(&str, &str); 54] = [
    ("sizes", "the binary, the module, and the baseline's binary"),
    ("call", "one provider call with a fresh instance"),
    ("start", "from the start of the process to the lease, to the first node; memory at rest"),
    ("modules", "from the start of the process to the lease, with the module from a file, a registry, a cache"),
    ("swap", "nodes that join while another version of the provider comes, and memory"),
    ("takeover", "from the end of the leader to the next, after SIGTERM and after kill -9"),
    ("join-100", "100 nodes join at once"),
    ("join-1000", "1,000 nodes join at once"),
    ("join-5000", "5,000 nodes join at once, without the baseline"),
    ("join-1000-limited", "1,000 nodes join at once a cloud that allows 250 requests a minute"),
    ("memory", "memory beside nodes that are initialised, without the baseline"),
    ("restart", "what a restart asks for at 1,000 nodes"),
    ("services-20", "20 Services whose load balancers take 30 s"),
    ("services-200", "200 Services whose load balancers take 30 s"),
    ("changes", "20 changes of nodes behind 50 load balancers"),
    ("routes-100", "100 nodes join at once and get a route each"),
    ("routes-change", "20 nodes with routes come and go"),
    ("routes-restart", "what a restart asks for at 90 nodes with routes"),
    ("routes-idle", "an hour at 90 nodes with routes"),
    ("ipam-1000", "1,000 nodes get pod networks all at once"),
    ("steady", "an hour at 1,000 nodes, all Ready, and with 5 % NotReady"),
    ("alibaba-join-1000", "1,000 nodes join at once at Alibaba Cloud and get a route each"),
    ("alibaba-services", "load balancers of Alibaba Cloud of both kinds, and fifty while nodes come and go"),
    ("alibaba-nodes", "nodes come beside one load balancer of Alibaba Cloud, and one of them is not ready beside six"),
    ("alibaba-steady", "an hour at 1,000 nodes and 50 load balancers at Alibaba Cloud"),
    ("aws-call", "one call of the provider for AWS with a fresh instance, and the module's size"),
    ("aws-signature", "what a signature of AWS costs a request"),
    ("aws-join-1000", "1,000 nodes join at once at AWS"),
    ("aws-services-200", "200 Services with Network Load Balancers of 3 ports"),
    ("aws-resync", "what a resync of Network Load Balancers asks for"),
    ("aws-changes", "20 changes of nodes behind 50 Network Load Balancers"),
    ("aws-steady", "an hour at 1,000 nodes at AWS, all Ready"),
    ("azure-join-1000", "1,000 nodes of a scale set join at once at Azure"),
    (
        "azure-services",
        "load balancers of Azure, one by one and twenty at once; a start with these; a node that leaves",
    ),
    ("azure-services-500", "500 load balancers of Azure at once, on three of them"),
    ("azure-steady", "an hour at 1,000 nodes at Azure, all Ready"),
    ("azure-call", "one call of the provider for Azure with a fresh instance, and the module's size"),
    ("azure-large-call", "a call with a load balancer of 250 rules and 1,000 interfaces: its memory and time"),
    ("gcp-join-1000", "1,000 nodes join at once at Google Cloud"),
    (
        "gcp-services",
        "external and internal load balancers of Google Cloud, one by one and five at once; a resync; a node that leaves",
    ),
    ("gcp-routes-300", "300 nodes join at once at Google Cloud and get a route each"),
    ("gcp-steady", "an hour at 1,000 nodes at Google Cloud, all Ready"),
    ("ibm-join-1000", "1,000 nodes join at once at IBM Cloud"),
    ("ibm-services", "a load balancer of IBM Cloud is made, changed and deleted; five minutes with 50 of them"),
    ("ibm-steady", "an hour at 1,000 nodes and 50 load balancers at IBM Cloud, after half an hour"),
    ("openstack-join-1000", "1,000 nodes join at once at OpenStack"),
    ("openstack-churn", "20 load balancers of OpenStack with 32 pools: made, read again, while nodes come and go"),
    ("openstack-large", "a load balancer of OpenStack with 10 ports over 1,000 nodes"),
    ("openstack-steady", "an hour at 1,000 nodes at OpenStack, all Ready"),
    ("volumes-sizes", "the modules that make volumes of claims"),
    ("volumes-claims-1000", "1,000 claims at once"),
    ("volumes-attach-100", "100 attaches under way"),
    ("volumes-restart-10000", "what a restart asks for at 10,000 attachments; memory"),
    ("volumes-steady", "an hour of 1,000 attached volumes at rest"),
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
        && !ROWS.iter().any(|(name, _)| is_wanted(name, row))
    {
        let known: Vec<_> = ROWS.iter().map(|(name, what)| format!("  {name:<18} {what}")).collect();
        bail!("there is no row {row:?}; there are\n{}", known.join("\n"));
    }
    let start = Instant::now();
    for (row, what) in ROWS.iter().filter(|(row, _)| wanted.as_deref().is_none_or(|it| is_wanted(row, it))) {
        note(&format!("\n==> {row}: {what}"))?;
        measure(row).await.with_context(|| format!("row {row}"))?;
    }
    note(&format!("\nmeasured for {} min", start.elapsed().as_secs().div_ceil(60)))
}

/// Whether a row is the one that is asked for, or one of a family: `aws` asks for `aws-call` too.
fn is_wanted(row: &str, asked: &str) -> bool {
    row.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

async fn measure(row: &str) -> Result<()> {
    match row {
        "sizes" => sizes::measure(),
        "call" => calls::measure().await,
        "start" => start::measure().await,
        "modules" => modules::measure().await,
        "swap" => swap::measure().await,
        "takeover" => takeover::measure().await,
        "join-100" => join::measure(100).await,
        "join-1000" => join::measure(1000).await,
        "join-5000" => join::measure_alone(5000).await,
        "join-1000-limited" => join::measure_limited(1000).await,
        "memory" => memory::measure().await,
        "restart" => restart::measure().await,
        "services-20" => services::measure(&services::FEW).await,
        "services-200" => services::measure(&services::MANY).await,
        "changes" => changes::measure().await,
        "routes-100" => routes::join::measure(100).await,
        "routes-change" => routes::change::measure().await,
        "routes-restart" => routes::restart::measure().await,
        "routes-idle" => routes::idle::measure().await,
        "ipam-1000" => ipam::measure(1000).await,
        "steady" => steady::measure().await,
        "alibaba-join-1000" => alibaba::nodes::join().await,
        "alibaba-services" => alibaba::balancers::measure().await,
        "alibaba-nodes" => alibaba::balancers::beside_nodes().await,
        "alibaba-steady" => alibaba::nodes::steady().await,
        "aws-call" => calls::measure_aws().await,
        "aws-signature" => signature::measure().await,
        "aws-join-1000" => aws::nodes::join().await,
        "aws-services-200" => aws::balancers::build().await,
        "aws-resync" => aws::balancers::resync().await,
        "aws-changes" => aws::balancers::changes().await,
        "aws-steady" => aws::nodes::steady().await,
        "azure-join-1000" => azure::nodes::join().await,
        "azure-services" => azure::balancers::measure().await,
        "azure-services-500" => azure::balancers::many().await,
        "azure-large-call" => azure::large::measure().await,
        "azure-steady" => azure::nodes::steady().await,
        "azure-call" => calls::measure_azure().await,
        "gcp-join-1000" => gcp::nodes::join().await,
        "gcp-services" => gcp::balancers::measure().await,
        "gcp-routes-300" => gcp::routes::measure().await,
        "gcp-steady" => gcp::nodes::steady().await,
        "ibm-join-1000" => ibm::nodes::join().await,
        "ibm-services" => ibm::balancers::measure().await,
        "ibm-steady" => ibm::nodes::steady().await,
        "openstack-join-1000" => openstack::nodes::join().await,
        "openstack-churn" => openstack::balancers::churn().await,
        "openstack-large" => openstack::balancers::large().await,
        "openstack-steady" => openstack::nodes::steady().await,
        "volumes-sizes" => volumes::sizes(),
        "volumes-claims-1000" => volumes::claims::measure().await,
        "volumes-attach-100" => volumes::attach::measure().await,
        "volumes-restart-10000" => volumes::restart::measure().await,
        "volumes-steady" => volumes::steady::measure().await,
        other => bail!("row {other} is listed and not known"),
    }
}

/// Says what is going on: some rows take minutes.
fn note(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
