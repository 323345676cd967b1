//! `aerostat module`: looks at modules in registries and files, fetches them, and pushes them.

mod diff;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sandbox::Digest;

pub use self::diff::DiffFlags;
use super::command_output::Output;
use super::registry_flags::Registry;

const INSPECT_HELP: &str = "Examples:
  aerostat module inspect registry.example.com/acme/provider:1.2.0
  aerostat module inspect acme.wasm --cloud-config=/etc/aerostat/cloud.yaml

The module is compiled and asked to describe itself, with no endpoint at all that it could reach. What a signature says
of itself is shown; it counts only where --key verifies it. With --cloud-config the rules, endpoints and settings are
listed that the file lacks for this module.";

const VERIFY_HELP: &str = "Examples:
  aerostat module verify registry.example.com/acme/provider:1.2.0 --key=acme.pub
  aerostat module verify registry.example.com/mirror/provider:1.2.0 --key=acme.pub --signed-as=registry.acme.example/provider

One key that has signed is enough. The command ends with 1 if none has, and says of each signature why it does not count.
A file cannot be verified: what is signed is the manifest in the registry. Verify that, and compare the sha256 of the file with
the module's, which aerostat module inspect prints.";

const PULL_HELP: &str = "Examples:
  aerostat module pull registry.example.com/acme/provider:1.2.0 --key=acme.pub --out=acme.wasm
  aerostat module pull registry.example.com/acme/provider --digest=sha256:… --out=acme.wasm

The file is for provider.module.file, or for a ConfigMap; its sha256 is printed. It is written as a whole or not at all.";

const PUSH_HELP: &str = "Examples:
  aerostat module push acme.wasm registry.example.com/acme/provider:1.2.0 --login=config.json
  cosign sign --key=cosign.key registry.example.com/acme/provider@sha256:…

The same bytes always get the same digest, which is printed: write it as provider.module.oci.digest. What the registry has
already is not sent again.";

/// The commands about modules.
#[derive(Clone, Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum ModuleCommand {
    /// Show what a module is, what it needs, and who has signed it
    #[command(after_help = INSPECT_HELP)]
    Inspect(Inspect),
    /// Say whether one of these keys has signed a module
    #[command(after_help = VERIFY_HELP)]
    Verify(Verify),
    /// Write a module from a registry into a file
    #[command(after_help = PULL_HELP)]
    Pull(PullFlags),
    /// Store a module from a file in a registry
    #[command(after_help = PUSH_HELP)]
    Push(Push),
    /// Say in what two modules differ, and what of it an operator has to look at
    #[command(after_help = diff::HELP)]
    Diff(DiffFlags),
}

/// `aerostat module inspect`.
#[derive(Args, Clone, Debug)]
pub struct Inspect {
    /// host/repository:tag, host/repository@sha256:…, or a file that ends in .wasm
    #[arg(value_name = "REFERENCE|FILE.wasm")]
    pub place: String,
    /// The config of the cluster: shows what it lacks for this module
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// Verifies signatures.
    #[command(flatten)]
    pub keys: OptionalKeys,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// `aerostat module verify`.
#[derive(Args, Clone, Debug)]
pub struct Verify {
    /// host/repository:tag or host/repository@sha256:…. No file: signatures lie in the registry, beside the manifest
    #[arg(value_name = "REFERENCE")]
    pub place: String,
    /// A public key, PEM: P-256, P-384 or RSA. Can be repeated; one is enough
    #[arg(long = "key", value_name = "FILE", required = true)]
    pub keys: Vec<PathBuf>,
    /// host/repository under which the module was signed, if this is a mirror
    #[arg(long, value_name = "NAME")]
    pub signed_as: Option<String>,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// `aerostat module pull`.
#[derive(Args, Clone, Debug)]
pub struct PullFlags {
    /// host/repository:tag or host/repository@sha256:…
    #[arg(value_name = "REFERENCE")]
    pub place: String,
    /// The digest that the manifest must have
    #[arg(long, value_name = "sha256:…", value_parser = digest)]
    pub digest: Option<Digest>,
    /// The file that is written
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Verifies signatures.
    #[command(flatten)]
    pub keys: OptionalKeys,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// `aerostat module push`.
#[derive(Args, Clone, Debug)]
pub struct Push {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// host/repository:tag, or host/repository alone
    #[arg(value_name = "REFERENCE")]
    pub place: String,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: Registry,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// Keys of those who sign, where nobody has to.
#[derive(Args, Clone, Debug)]
pub struct OptionalKeys {
    /// A public key, PEM: P-256, P-384 or RSA. Can be repeated; one is enough
    #[arg(long = "key", value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// host/repository under which the module was signed, if this is a mirror
    #[arg(long, value_name = "NAME", requires = "keys")]
    pub signed_as: Option<String>,
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text).map_err(|error| error.to_string())
}
