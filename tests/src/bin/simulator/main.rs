//! Serves a simulated cloud to whoever tries a provider: `simulator digitalocean`, and the URL is printed.

use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use tests::published::{acme, acme_async, alibaba, aws, azure, digitalocean, gcp, hetzner, ibm, openstack};

/// Serve a simulated cloud on loopback, with the routes of docs/conformance.md, until it is interrupted.
#[derive(Parser)]
struct Arguments {
    /// The cloud
    cloud: Which,
    /// The port; 0: a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// How many seconds a load balancer is PENDING after each change of it (openstack, ibm), or an operation lasts (alibaba, azure, gcp).
    /// Default: until it was read twice
    #[arg(long, value_name = "SECONDS")]
    pending: Option<f64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Acme,
    AcmeAsync,
    Alibaba,
    Aws,
    AwsEbs,
    Azure,
    Digitalocean,
    Gcp,
    GcpPd,
    Hetzner,
    Ibm,
    Openstack,
    OpenstackCinder,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { cloud, port, pending } = Arguments::parse();
    let pending = pending.map(Duration::try_from_secs_f64).transpose()?;
    // The simulator's authority is of the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cloud {
        Which::Acme => until_interrupted(acme::serve(port, &[]).await?).await,
        Which::AcmeAsync => {
            let served = acme_async::serve(port)?;
            show(&served.url());
            Ok(tokio::signal::ctrl_c().await?)
        }
        Which::Alibaba => until_interrupted(alibaba::serve(port, pending).await?).await,
        Which::Aws => until_interrupted(aws::serve(port).await?).await,
        Which::AwsEbs => until_interrupted(aws::serve_volumes(port).await?).await,
        Which::Azure => until_interrupted(azure::serve(port, pending).await?).await,
        Which::Digitalocean => until_interrupted(digitalocean::serve(port).await?).await,
        Which::Gcp => until_interrupted(gcp::serve(port, pending).await?).await,
        Which::GcpPd => until_interrupted(gcp::serve_volumes(port).await?).await,
        Which::Hetzner => until_interrupted(hetzner::serve(port).await?).await,
        Which::Ibm => until_interrupted(ibm::serve(port, pending).await?).await,
        Which::Openstack => until_interrupted(openstack::serve(port, pending).await?).await,
        Which::OpenstackCinder => until_interrupted(openstack::serve_volumes(port).await?).await,
    }
}

async fn until_interrupted<C: tests::simulator::Cloud>(served: tests::published::Served<C>) -> Result<()> {
    show(&served.url);
    tokio::signal::ctrl_c().await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "scripts read it")]
fn show(url: &str) {
    println!("{url}");
}
