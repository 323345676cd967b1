//! `aerostat module diff`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::command_output::Output;
use crate::flags::registry_flags::Registry;

pub(super) const HELP: &str = "Examples:
  aerostat module diff acme-1.2.0.wasm acme-1.3.0.wasm
  aerostat module diff registry.example.com/acme/provider:1.2.0 acme.wasm --cloud-config=/etc/aerostat/cloud.yaml

Both modules are compiled and asked to describe themselves. A line with ! is for the operator to look at: the new module may do more than
the old one, or stops doing something. With --cloud-config what the file allows already is not. Lines are the same in the event
ModuleRefused, where a module is not put in place of the one that serves.

Exit code: 0 if they are the same, or differ in nothing that has to be looked at; 1 if they do; 2 if they cannot be compared.";

/// `aerostat module diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffFlags {
    /// The module that serves: host/repository:tag, host/repository@sha256:…, or a file that ends in .wasm
    #[arg(value_name = "OLD")]
    pub old: String,
    /// The one that is to take its place
    #[arg(value_name = "NEW")]
    pub new: String,
    /// The config of the cluster: what it allows has not to be looked at
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// How the registries are reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
