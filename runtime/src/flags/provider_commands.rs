//! `aerostat provider`: what authors of a provider do with it before anybody runs it.

mod build;
mod call;
mod check;
mod describe;
mod record;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub use self::build::BuildFlags;
pub use self::call::CallFlags;
pub use self::check::CheckFlags;
pub use self::describe::{DescribeFlags, DescribedPage};
pub use self::record::{RecordFlags, ReplayFlags};
use super::command_output::Output;
use super::new_provider::{self, NewProviderFlags};

const CONFORMANCE_HELP: &str = "Examples:
  aerostat provider conformance acme.wasm --cloud=http://127.0.0.1:8080
  aerostat provider conformance acme.wasm --cloud=http://127.0.0.1:8080 --junit=conformance.xml --output=json
  aerostat provider conformance acme.wasm --cloud=http://127.0.0.1:8080 --older=acme-1.0.0.wasm
  aerostat provider conformance acme.wasm --cloud=http://127.0.0.1:8080 --only=routes
  target/debug/simulator hetzner                        a simulator of ours, which prints its URL
  aerostat provider conformance acme.wasm --recording=acme.json       without any cloud: what a recorded conversation can prove

The provider runs in the real sandbox, behind the real egress, and asks a simulator of its cloud. Load balancers are made, changed and
deleted, once for each way in which each of these requests can go wrong: lost before or after it was carried out, answered with 500,
answered as by a busy cloud, with lists that lag, and with a process that dies between any two steps. Each promise of the contract is
judged by what came of it. One that is broken is named with the story in which it was.

The simulator listens on loopback, and has three routes beside its cloud's own: docs/conformance.md says which.

A recording (aerostat provider record) takes its place as far as it goes: its calls are made again, and each of their requests is lost
or answered with 500. Whatever a recording cannot prove is not tried, and the report says why.

Exit code: 0 if no promise is broken, 1 if one is, 2 if nothing could be tried (no such file, no simulator, no recording of it).";

/// The commands about providers.
#[derive(Clone, Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum ProviderCommand {
    /// Try every promise of the contract, against a simulator of the provider's cloud or a recording
    #[command(after_help = CONFORMANCE_HELP)]
    Conformance(Conformance),
    /// Build the component of a crate or of a program in Go, and tell its size
    #[command(after_help = build::HELP)]
    Build(BuildFlags),
    /// Say whether a component is a provider that this host and a config take
    #[command(after_help = check::HELP)]
    Check(CheckFlags),
    /// Write what an operator needs for a provider: config, tables, permissions, policies
    #[command(after_help = describe::HELP)]
    Describe(DescribeFlags),
    /// Call one function of a provider, and show every request that it makes
    #[command(after_help = call::HELP)]
    Call(CallFlags),
    /// Call one function of a provider, and add the call with all its requests to a recording
    #[command(after_help = record::RECORD_HELP)]
    Record(RecordFlags),
    /// Make the calls of a recording again, without the cloud
    #[command(after_help = record::REPLAY_HELP)]
    Replay(ReplayFlags),
    /// Make the folder of a new provider, which builds and keeps every promise at once
    #[command(after_help = new_provider::HELP)]
    New(Box<NewProviderFlags>),
}

/// A part of what conformance tries.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum AskedPart {
    /// Questions about machines.
    Machines,
    /// Load balancers.
    LoadBalancers,
    /// Lists of load balancers.
    Inventory,
    /// Routes.
    Routes,
    /// Volumes.
    Volumes,
}

/// `aerostat provider conformance`.
#[derive(Args, Clone, Debug)]
pub struct Conformance {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The simulator of its cloud, on loopback: http://127.0.0.1:8080. With several of them, stories are played side by side
    #[arg(long, value_name = "URL", required_unless_present = "recording")]
    pub cloud: Vec<String>,
    /// A recorded conversation in the place of a simulator: what it can prove is judged
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cloud", "every", "older"])]
    pub recording: Option<PathBuf>,
    /// Try one of so many ways in which requests can go wrong: 1 tries all
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub every: u16,
    /// An older version of the component, which has to go on with load balancers that this one has begun, and the other way round
    #[arg(long, value_name = "FILE.wasm")]
    pub older: Option<PathBuf>,
    /// The part that is tried alone: machines, load-balancers, inventory, routes or volumes. Without it: all
    #[arg(long, value_name = "PART", value_enum, hide_possible_values = true, conflicts_with = "recording")]
    pub only: Option<AskedPart>,
    /// A file for the report in JUnit's XML, which is replaced
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
