//! Flags about modules.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values;

/// Flags about modules.
#[derive(Args, Debug)]
pub(super) struct ModuleFlags {
    /// A folder that keeps what was pulled from a registry (32 MiB at most), so that aerostat starts while the registry is
    /// down. Nothing in it is trusted. Without it nothing is kept
    #[arg(long, help_heading = "Cloud", value_name = "DIR", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    pub(super) module_cache: PathBuf,
    /// How long another module than before is on trial. For tests
    #[arg(long, hide = true, value_name = "DURATION", default_value = "10m", value_parser = values::duration)]
    pub(super) module_trial: Duration,
    /// How often `--cloud-config` is looked at for another module. For tests
    #[arg(long, hide = true, value_name = "DURATION", default_value = "10s", value_parser = values::duration)]
    pub(super) module_look: Duration,
}
