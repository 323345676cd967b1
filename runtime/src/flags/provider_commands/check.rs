//! `aerostat provider check`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::command_output::Output;

pub(super) const HELP: &str = "Examples:
  aerostat provider check acme.wasm
  aerostat provider check acme.wasm --cloud-config=cloud.yaml
  aerostat provider check acme.wasm --output=json | jq -r .yaml

The module is compiled with the limits of a cluster and asked to describe itself, with no endpoint at all that it could reach. Its
description is held against what an operator can write: the config that aerostat provider describe prints has to be one that this host
accepts. With --cloud-config it is held against that file, and all that the file lacks is printed as YAML to paste.

Exit code: 0 if nothing is wrong and nothing is missing, 1 if something is, 2 if that cannot be found out (no such file, a config that
cannot be read).";

/// `aerostat provider check`.
#[derive(Args, Clone, Debug)]
pub struct CheckFlags {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The config of the cluster in which it is to run
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
