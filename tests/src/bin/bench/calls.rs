//! The cost of a provider's call when the cloud costs nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cloud_provider::{Demand, Error};
use egress::{BaseUrl, Credentials, Egress, EgressSettings, Endpoint};
use sandbox::{CallLimits, Digest, Metrics, Provider, ProviderSettings, Sandbox, Source};
use tests::guests;

use crate::table::Table;

const CALLS: usize = 2000;

/// A module that is measured: its name, its file, and the settings that it needs.
struct Module {
    name: &'static str,
    path: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const DIGITALOCEAN: Module = Module { name: "digitalocean.wasm", path: guests::DIGITALOCEAN, settings: &[] };
const AWS: Module = Module {
    name: "aws.wasm",
    path: guests::AWS,
    settings: &[("region", "eu-central-1"), ("vpc", "vpc-0123456789abcdef0"), ("clusterID", "prod")],
};

const AZURE: Module = Module {
    name: "azure.wasm",
    path: guests::AZURE,
    settings: &[
        ("subscriptionId", "11111111-2222-3333-4444-555555555555"),
        ("resourceGroup", "rg1"),
        ("location", "westeurope"),
    ],
};

/// Asks the DigitalOcean provider.
pub(crate) async fn measure() -> Result<()> {
    of(&DIGITALOCEAN).await
}

/// Asks the AWS provider.
pub(crate) async fn measure_aws() -> Result<()> {
    of(&AWS).await
}

/// Asks the Azure provider.
pub(crate) async fn measure_azure() -> Result<()> {
    of(&AZURE).await
}

/// Asks a provider about a node of another cloud: it refuses without a request.
async fn of(module: &Module) -> Result<()> {
    let provider = load(module).await?;
    let instances = provider.cloud().instances.context("the provider knows instances")?;
    let node = [cloud_provider::Node {
        name: "n".into(),
        provider_id: Some("other://1".into()),
        ..cloud_provider::Node::default()
    }];
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        let answer = instances.get(&node).await.answer;
        times.push(start.elapsed());
        ensure!(matches!(answer[..], [Err(Error::Invalid(_))]), "another answer: {answer:?}");
    }
    times.sort();
    let micros = |it: Duration| format!("{} µs", it.as_micros());
    let mut table = Table::new(&format!("one provider call, fresh instance, {CALLS} calls"), &["p50", "p99"]);
    table.row("get, without a request", &[micros(times[CALLS / 2]), micros(times[CALLS * 99 / 100])]);
    let size = std::fs::metadata(module.path)?.len() / 1000;
    table.row(module.name, &[format!("{size} KB")]);
    table.row("compiling the module, once", &[format!("{} ms", provider.compile_time().as_millis())]);
    table.print()
}

async fn load(module: &Module) -> Result<Provider> {
    let limits = CallLimits::default();
    let base_url = BaseUrl::parse("https://api.example.com").map_err(anyhow::Error::msg)?;
    let endpoints = ["api", "ec2", "elb", "elbv2", "compute", "network"].map(|it| Endpoint::new(it, base_url.clone()));
    let metrics = Metrics::register(&prometheus::Registry::new())?;
    let requests = egress::Metrics::register(&prometheus::Registry::new())?;
    let egress = EgressSettings {
        endpoints: endpoints.into(),
        credentials: Credentials::load(Vec::new())?,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let source = Source::File { path: module.path.into(), sha256: Digest::parse(&guests::sha256(module.path))? };
    let settings = module.settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings = ProviderSettings { limits, settings, ..ProviderSettings::default() };
    let sandbox = Sandbox::new(limits.memory)?;
    let egress = Egress::new(egress, requests)?;
    Ok(Provider::load(&sandbox, source.fetch(&NoConfigMaps).await?, settings, egress, metrics).await?)
}

struct NoConfigMaps;

#[async_trait::async_trait]
impl sandbox::ConfigMaps for NoConfigMaps {
    async fn read(&self, _: &str, name: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(format!("there is no cluster here, and no ConfigMap {name}"))
    }
}
