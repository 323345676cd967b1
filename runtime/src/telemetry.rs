//! The process as an operator sees it: log, health and metrics.

mod authz;
mod health;
mod log;
mod process;
mod server;

use prometheus::{GaugeVec, IntGaugeVec, Opts, Registry};

pub(crate) use self::authz::Reviewer;
pub(crate) use self::health::Health;
pub use self::log::{start as start_log, start_warnings};
pub(crate) use self::server::{HealthPages, ProviderPage, TelemetryServer};

use crate::flags::ControllerName;

/// The process's own metric families.
#[derive(Clone)]
pub(crate) struct Metrics {
    running: IntGaugeVec,
    missing_permissions: IntGaugeVec,
}

impl Metrics {
    /// Registers what every process has: its version, its controllers, its use of the machine. When it began is also
    /// in `slis`.
    pub(crate) fn register(registry: &Registry, slis: &Registry) -> prometheus::Result<Self> {
        let running = IntGaugeVec::new(
            Opts::new("running_managed_controllers", "The controllers that run in this process."),
            &["name", "manager"],
        )?;
        let missing_permissions = IntGaugeVec::new(
            Opts::new(
                "aerostat_controller_missing_permissions",
                "Rights that a controller waits for, each a verb on a resource; 0 once it has started.",
            ),
            &["controller"],
        )?;
        registry.register(Box::new(running.clone()))?;
        registry.register(Box::new(missing_permissions.clone()))?;
        registry.register(Box::new(build_info()?))?;
        registry.register(Box::new(process::ProcessCollector::new()?))?;
        slis.register(Box::new(process::StartTime(process::ProcessCollector::new()?)))?;
        Ok(Self { running, missing_permissions })
    }

    /// Counts a controller as running, from now on.
    pub(crate) fn started(&self, controller: ControllerName) {
        self.running.with_label_values(&[controller.alias(), "cloud-controller-manager"]).set(1);
        self.waits(controller, 0);
    }

    /// Says how many rights a controller waits for.
    pub(crate) fn waits(&self, controller: ControllerName, rights: usize) {
        let rights = i64::try_from(rights).unwrap_or(i64::MAX);
        self.missing_permissions.with_label_values(&[controller.name()]).set(rights);
    }
}

/// `kubernetes_build_info`, with upstream's labels; what has no meaning here is empty.
fn build_info() -> prometheus::Result<GaugeVec> {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let labels = [
        ("build_date", ""),
        ("compiler", "rustc"),
        ("git_commit", ""),
        ("git_tree_state", ""),
        ("git_version", version),
        ("go_version", ""),
        ("major", major),
        ("minor", minor),
        ("platform", &platform),
    ];
    let family = GaugeVec::new(
        Opts::new("kubernetes_build_info", "Always 1; its labels say which version this is."),
        &labels.map(|(name, _)| name),
    )?;
    family.with_label_values(&labels.map(|(_, value)| value)).set(1.0);
    Ok(family)
}
