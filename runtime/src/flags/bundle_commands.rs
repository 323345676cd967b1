//! `aerostat bundle`: one file with whole artifacts, for clusters that reach no registry outside.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::command_output::Output;
use super::registry_flags::Registry;

const SAVE_HELP: &str = "Examples:
  aerostat bundle save aerostat.tar registry.example.com/aerostat:0.1.0 registry.example.com/aerostat/hetzner:0.1.0 \\
    registry.example.com/aerostat/charts/aerostat:0.1.0

The file holds each artifact for all of its architectures, with what refers to it: signatures, SBOMs, provenance. It is an image
layout of the OCI in one tar file. make release makes one, too, before anybody has signed.";

const PUSH_HELP: &str = "Examples:
  aerostat bundle push aerostat.tar registry.internal/mirror --login=config.json --ca=ca.pem

Every artifact keeps its repository and its tag below the registry: aerostat/hetzner:0.1.0 becomes
registry.internal/mirror/aerostat/hetzner:0.1.0, with the same digest, which is printed. The whole file is verified before anything
is sent. Signatures are judged by whoever pulls: aerostat module verify, and signedBy in the config.";

/// The commands about bundles.
#[derive(Clone, Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum BundleCommand {
    /// Write artifacts from registries into one file
    #[command(after_help = SAVE_HELP)]
    Save(SaveBundle),
    /// Store everything in a file in a registry
    #[command(after_help = PUSH_HELP)]
    Push(PushBundle),
}

/// `aerostat bundle save`.
#[derive(Args, Clone, Debug)]
pub struct SaveBundle {
    /// The file that is written
    #[arg(value_name = "FILE")]
    pub out: PathBuf,
    /// host/repository:tag or host/repository@sha256:…: an image, a module, a chart
    #[arg(value_name = "REFERENCE", required = true)]
    pub places: Vec<String>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// How the registries are reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// `aerostat bundle push`.
#[derive(Args, Clone, Debug)]
pub struct PushBundle {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// host, or host/repository below which all repositories will be
    #[arg(value_name = "REGISTRY")]
    pub place: String,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
