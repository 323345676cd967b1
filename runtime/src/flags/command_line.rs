//! The commands and the flags of `aerostat run`, as clap reads them and `--help` shows them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use super::bundle_commands::BundleCommand;
use super::feature_gates::FeatureGateFlags;
use super::leader_migration::{ELECTION, LeaderMigrationFlags};
use super::module_commands::ModuleCommand;
use super::modules::ModuleFlags;
use super::node_ipam::NodeIpamFlags;
use super::provider_commands::ProviderCommand;
use super::routes::RouteFlags;
use super::webhooks::WebhookFlags;
use super::{known, load_balancers, values};

const ABOUT: &str = "A Kubernetes cloud-controller-manager whose cloud provider is a WebAssembly component.";

const PROGRAM_USAGE: &str = "aerostat <COMMAND>
       aerostat --cloud-config=FILE [FLAGS of run]";

const PROGRAM_HELP: &str = "Example:
  aerostat run --cloud-config=/etc/aerostat/cloud.yaml

A manifest that was written for upstream's cloud-controller-manager names no command: flags alone are those of run.
aerostat run --help explains each of them.";

const RUN_ABOUT: &str = "Run the controllers of a cluster: nodes, load balancers of Services, and places of volumes";

const RUN_HELP: &str = "aerostat finds the machine behind each new node, gives the node its provider id, addresses, type, zone and region, and
takes the uninitialized taint off; it removes nodes whose machines are gone; and it builds, changes and deletes the load
balancers of Services. The provider reaches only the endpoints that --cloud-config names.

Example:
  aerostat run \\
    --cloud-config=/etc/aerostat/cloud.yaml \\
    --kubeconfig=/etc/kubernetes/aerostat.conf \\
    --concurrent-node-syncs=50 -v=2

In a Pod leave --kubeconfig out: the Pod's ServiceAccount is used.
Flags are upstream's: - and _ are the same in names, lists are separated by commas, durations are written 1h30m, 15s or
500ms.";

const MODULE_HELP: &str = "Example:
  aerostat module inspect registry.example.com/acme/provider:1.2.0

aerostat module inspect --help, and so on, explain each command.";

const PROVIDER_HELP: &str = "Examples:
  aerostat provider build --out=acme.wasm
  aerostat provider check acme.wasm --cloud-config=cloud.yaml
  aerostat provider describe acme.wasm > cloud.yaml
  aerostat provider call acme.wasm instances.get '{\"name\": \"web-1\"}' --cloud-config=cloud.yaml --dry-run
  aerostat provider conformance acme.wasm --cloud=http://127.0.0.1:8080

aerostat provider check --help, and so on, explain each command. docs/provider.md goes through them in their order.";

const COMPLETIONS_HELP: &str = "Examples:
  source <(aerostat completions bash)
  aerostat completions fish > ~/.config/fish/completions/aerostat.fish";

/// The command that flags without a command stand for.
pub(super) const RUN: &str = "run";

const CLOUD: &str = "Cloud";
const API: &str = "Kubernetes API";
const CONTROLLERS: &str = "Controllers";
const DELETIONS: &str = "Deleting nodes whose machines are gone";
const SERVING: &str = "Health and metrics";
const LOG: &str = "Log";

/// The program.
#[derive(Debug, Parser)]
#[command(
    name = "aerostat",
    version,
    about = ABOUT,
    after_help = PROGRAM_HELP,
    override_usage = PROGRAM_USAGE,
    disable_version_flag = true,
    max_term_width = 120
)]
pub(super) struct Program {
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,

    #[command(subcommand)]
    pub(super) command: Command,
}

/// The program's commands. Further ones, as for providers and policies, are further variants.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Run(Box<CommandLine>),
    /// Look at modules of providers in registries and files, fetch them, and push them
    #[command(after_help = MODULE_HELP)]
    Module {
        #[command(subcommand)]
        command: Box<ModuleCommand>,
    },
    /// Carry image, modules and chart in one file to a registry that reaches no other
    #[command(disable_help_subcommand = true)]
    Bundle {
        #[command(subcommand)]
        command: Box<BundleCommand>,
    },
    /// Build a provider, check it, describe it to operators and try it, before anybody runs it
    #[command(after_help = PROVIDER_HELP)]
    Provider {
        #[command(subcommand)]
        command: Box<ProviderCommand>,
    },
    /// Print a script that completes command lines of aerostat in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Compile a provider: aerostat starts itself like this
    #[command(name = sandbox::COMPILE_COMMAND, hide = true)]
    CompileProvider {
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<String>,
    },
}

/// Every supported flag of `run`.
#[derive(Args, Debug)]
#[command(
    display_name = "aerostat",
    version,
    about = RUN_ABOUT,
    override_usage = "aerostat run --cloud-config=FILE [FLAGS]",
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 120
)]
pub(super) struct CommandLine {
    /// The file that says which provider to load, its settings, and what it may reach. Required
    #[arg(long, help_heading = CLOUD, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    pub(super) cloud_config: PathBuf,
    /// The provider's name. If given, it must be the name that the loaded provider gives itself
    #[arg(long, help_heading = CLOUD, value_name = "NAME")]
    pub(super) cloud_provider: Option<String>,
    /// The cluster's name, for clouds that mark what belongs to it
    #[arg(long, help_heading = CLOUD, value_name = "NAME", default_value = "kubernetes")]
    pub(super) cluster_name: String,
    /// The networks of all pods, with commas, one of each family: told to the provider, and what --allocate-node-cidrs gives
    /// nodes parts of
    #[arg(long, help_heading = CLOUD, value_name = "CIDR", default_value = "", hide_default_value = true)]
    pub(super) cluster_cidr: String,
    #[command(flatten)]
    pub(super) modules: ModuleFlags,

    /// The kubeconfig of aerostat's identity. Without it and --master: the Pod's ServiceAccount
    #[arg(long, help_heading = API, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    pub(super) kubeconfig: PathBuf,
    /// The API server's address, instead of the one in the kubeconfig
    #[arg(long, help_heading = API, value_name = "URL", default_value = "", hide_default_value = true)]
    pub(super) master: String,
    /// Requests a second to the API server. No limit unless given
    #[arg(long, help_heading = API, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(super) kube_api_qps: Option<f32>,
    /// How many requests may exceed --kube-api-qps for a moment. No limit unless given
    #[arg(long, help_heading = API, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(super) kube_api_burst: Option<i32>,

    /// Which controllers run: * for all that are on by default (not volume-provisioner, volume-attacher and volume-expander), NAME for one, -NAME for all but one.
    /// The first mention of a name counts
    #[arg(long, help_heading = CONTROLLERS, value_name = "LIST", default_value = "*",
          action = ArgAction::Append, allow_hyphen_values = true)]
    pub(super) controllers: Vec<String>,
    /// How many nodes are initialised at the same time; upstream's default is 1. Of few nodes that wait, each is asked about
    /// ahead of its turn: up to seven questions to the cloud at once, whatever the number; many are answered by one list
    #[arg(long, help_heading = CONTROLLERS, value_name = "NUMBER", default_value = "10", allow_negative_numbers = true)]
    pub(super) concurrent_node_syncs: i32,
    /// How many nodes' addresses are brought up to date at the same time; 0: as --concurrent-node-syncs
    #[arg(long, help_heading = CONTROLLERS, value_name = "NUMBER", default_value = "0", allow_negative_numbers = true)]
    pub(super) concurrent_node_status_updates: i32,
    /// How often the addresses of all nodes are brought up to date
    #[arg(long, help_heading = CONTROLLERS, value_name = "DURATION", default_value = "5m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) node_status_update_frequency: Duration,
    /// How often nodes that are not ready are looked at, so that those without a machine are deleted
    #[arg(long, help_heading = CONTROLLERS, value_name = "DURATION", default_value = "5s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) node_monitor_period: Duration,
    /// How many Services' load balancers are worked on at the same time; upstream's default is 1. With 1, the cloud provider
    /// never has two calls about load balancers at once. One that is being built needs no worker
    #[arg(long, help_heading = CONTROLLERS, value_name = "NUMBER", default_value = "10", allow_negative_numbers = true)]
    pub(super) concurrent_service_syncs: i32,
    /// The pause after a Service's first failure; it doubles with each further one, up to 60 times as much
    #[arg(long, help_heading = CONTROLLERS, value_name = "DURATION", default_value = "5s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) service_retry_base_delay: Duration,
    #[command(flatten)]
    pub(super) routes: RouteFlags,
    #[command(flatten)]
    pub(super) load_balancers: load_balancers::Flags,

    /// How long after it began to lead aerostat deletes no node
    #[arg(long, help_heading = DELETIONS, value_name = "DURATION", default_value = "1m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) node_deletion_warm_up: Duration,
    /// How old a node is before it may be deleted
    #[arg(long, help_heading = DELETIONS, value_name = "DURATION", default_value = "5m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) node_deletion_grace_period: Duration,
    /// How many percent of the nodes may be deleted in one window; one always may
    #[arg(long, help_heading = DELETIONS, value_name = "PERCENT", default_value = "10", allow_negative_numbers = true)]
    pub(super) node_deletion_budget: i32,
    /// How long a deletion counts against the budget
    #[arg(long, help_heading = DELETIONS, value_name = "DURATION", default_value = "10m0s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) node_deletion_budget_window: Duration,

    /// Hold a Lease while working, so that one of several replicas works
    #[arg(long, help_heading = ELECTION, default_value = "true", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = values::boolean,
          value_name = "true|false")]
    pub(super) leader_elect: bool,
    /// How long a Lease is respected after its last renewal
    #[arg(long, help_heading = ELECTION, value_name = "DURATION", default_value = "15s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) leader_elect_lease_duration: Duration,
    /// After how long without a renewal the holder gives up
    #[arg(long, help_heading = ELECTION, value_name = "DURATION", default_value = "10s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) leader_elect_renew_deadline: Duration,
    /// How long to wait between two attempts
    #[arg(long, help_heading = ELECTION, value_name = "DURATION", default_value = "2s",
          value_parser = values::duration, allow_hyphen_values = true)]
    pub(super) leader_elect_retry_period: Duration,
    /// The kind of the lock; there is one
    #[arg(long, help_heading = ELECTION, value_name = "KIND", default_value = "leases")]
    pub(super) leader_elect_resource_lock: String,
    /// The Lease's name
    #[arg(long, help_heading = ELECTION, value_name = "NAME", default_value = "cloud-controller-manager")]
    pub(super) leader_elect_resource_name: String,
    /// The Lease's namespace
    #[arg(long, help_heading = ELECTION, value_name = "NAME", default_value = "kube-system")]
    pub(super) leader_elect_resource_namespace: String,
    #[command(flatten)]
    pub(super) leader_migration: LeaderMigrationFlags,

    #[command(flatten)]
    pub(super) node_ipam: NodeIpamFlags,

    /// Where /healthz and /metrics listen
    #[arg(long, help_heading = SERVING, value_name = "IP", default_value = "0.0.0.0", value_parser = values::address)]
    pub(super) bind_address: IpAddr,
    /// The port of /healthz and /metrics, with TLS; 0: none
    #[arg(long, help_heading = SERVING, value_name = "PORT", default_value = "10258", allow_negative_numbers = true)]
    pub(super) secure_port: i64,
    /// The server's certificate, PEM, with intermediates. Without it one is made in memory
    #[arg(long, help_heading = SERVING, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    pub(super) tls_cert_file: PathBuf,
    /// The key of --tls-cert-file, PEM
    #[arg(long, help_heading = SERVING, value_name = "FILE", default_value = "", hide_default_value = true,
          value_parser = values::path())]
    pub(super) tls_private_key_file: PathBuf,

    #[command(flatten)]
    pub(super) webhooks: WebhookFlags,
    #[command(flatten)]
    pub(super) feature_gates: FeatureGateFlags,

    /// Verbosity: 0 what an operator should know, 2 each step, 4 and more for debugging
    #[arg(short = 'v', long = "v", help_heading = LOG, value_name = "LEVEL", default_value = "0",
          allow_negative_numbers = true)]
    pub(super) verbosity: i32,
    /// text or json
    #[arg(long, help_heading = LOG, value_name = "FORMAT", default_value = "text")]
    pub(super) logging_format: String,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,

    #[arg(hide = true)]
    pub(super) positional: Vec<String>,
}

/// The program with all flags of `run`: the supported ones, and those that are only known.
pub(super) fn program() -> clap::Command {
    Program::command().mut_subcommands(|command| {
        if command.get_name() != RUN {
            return command;
        }
        command.args(known::args()).after_help(format!("{RUN_HELP}\n\n{}", known::help()))
    })
}

/// The script that completes command lines in a shell. Commands and flags that no help shows are not completed.
pub(super) fn completions(shell: Shell) -> String {
    let program = Program::command();
    let visible = program.get_subcommands().filter(|it| !it.is_hide_set());
    let named = clap::Command::new("aerostat").version(env!("CARGO_PKG_VERSION")).disable_version_flag(true);
    let mut program = named.args(program.get_arguments()).subcommands(visible);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "aerostat", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
