//! A module that is looked at before anything is configured for it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Error, Result};
use cloud_provider::Demand;
use egress::{Credentials, Egress, EgressSettings};
use sandbox::{Metrics, Module, Provider, ProviderSettings, Sandbox};

use crate::config::CloudConfig;

/// Compiles a module and asks it what it is. It can reach nothing.
pub(super) async fn examined(
    module: Module,
    config: Option<&CloudConfig>,
    compiler: Option<&Path>,
) -> Result<Provider> {
    let settings = config.map_or_else(ProviderSettings::default, |it| it.provider.clone());
    let sandbox = Sandbox::new(settings.limits.memory)?;
    let sandbox = compiler.map_or(sandbox.clone(), |program| sandbox.compiling_with(program));
    let sandbox = config.map_or(sandbox.clone(), |it| sandbox.with_compile_limits(it.compile));
    let registry = prometheus::Registry::new();
    let egress = EgressSettings {
        endpoints: Vec::new(),
        credentials: Credentials::default(),
        fence: Arc::new(|| false),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress = Egress::new(egress, egress::Metrics::register(&registry).map_err(Error::new)?)?;
    let metrics = Metrics::register(&registry).map_err(Error::new)?;
    Ok(Provider::inspect(&sandbox, module, settings, egress, metrics).await?)
}
