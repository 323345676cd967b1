//! The command line: upstream's flag names, read once into [`RunSettings`].

mod api_server;
mod bundle_commands;
mod command_line;
mod command_output;
mod controllers;
mod environment;
mod exit_codes;
mod feature_gates;
mod known;
mod leader_election;
mod leader_migration;
mod load_balancers;
mod module_commands;
mod modules;
mod new_provider;
mod node_ipam;
mod provider_commands;
mod registry_flags;
mod routes;
mod values;
mod webhooks;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::FromArgMatches;
use clap::error::{ContextKind, ErrorKind};
use ipnet::IpNet;

pub use self::api_server::{ApiServerFlags, InCluster, RateLimit};
pub use self::bundle_commands::{BundleCommand, PushBundle, SaveBundle};
use self::command_line::{Command, CommandLine, Program, RUN};
pub use self::command_output::Output;
pub use self::controllers::{ControllerName, Controllers};
pub(crate) use self::environment::IdentityVariables;
pub use self::exit_codes::failure_code;
pub use self::leader_election::LeaderElection;
pub use self::leader_migration::{LeaderMigration, LeaseOwner};
pub(crate) use self::load_balancers::LoadBalancerFlags;
pub use self::module_commands::{DiffFlags, Inspect, ModuleCommand, OptionalKeys, PullFlags, Push, Verify};
pub use self::new_provider::{GuestLanguage, IdOrigin, NewProviderFlags};
pub use self::node_ipam::NodeIpam;
pub use self::provider_commands::{
    AskedPart, BuildFlags, CallFlags, CheckFlags, Conformance, DescribeFlags, DescribedPage, ProviderCommand,
    RecordFlags, ReplayFlags,
};
pub use self::registry_flags::Registry;
pub use self::routes::RouteControllerFlags;
use self::values::given;
pub use self::webhooks::Webhooks;

/// A shorter pause between two looks at `--cloud-config` would only read the file all the time.
const LEAST_LOOK: Duration = Duration::from_millis(10);

/// The command that the program was started for.
#[derive(Clone, Debug)]
pub enum Invocation {
    /// `aerostat run`, or flags without a command.
    Run(Box<RunSettings>),
    /// `aerostat module`.
    Module(Box<ModuleCommand>),
    /// `aerostat bundle`.
    Bundle(Box<BundleCommand>),
    /// `aerostat provider`.
    Provider(Box<ProviderCommand>),
    /// `aerostat compile-provider`, by which aerostat starts itself: its arguments.
    CompileProvider(Vec<String>),
}

/// The settings that the flags of `aerostat run` give.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// `--cloud-config`.
    pub cloud_config: PathBuf,
    /// `--cloud-provider`: the name that the provider must have.
    pub cloud_provider: Option<String>,
    /// `--module-cache`.
    pub module_cache: Option<PathBuf>,
    /// How long a module is on trial that has replaced another one, counted while this process leads: `--module-trial`.
    pub module_trial: Duration,
    /// How often `--cloud-config` is looked at for another module: `--module-look`. At least 10 ms.
    pub module_look: Duration,
    /// `--cluster-name`.
    pub cluster_name: String,
    /// `--cluster-cidr`, without bits behind the prefixes.
    pub cluster_cidrs: Vec<IpNet>,
    /// `--service-cluster-ip-range`, as far as it can be read.
    pub service_networks: Vec<IpNet>,
    /// How to reach the API server.
    pub api: ApiServerFlags,
    /// `--controllers`.
    pub controllers: Controllers,
    /// How the cloud-node-controller works.
    pub node: NodeFlags,
    /// How the cloud-node-lifecycle-controller works.
    pub node_lifecycle: NodeLifecycle,
    /// How the service-lb-controller works.
    pub service: ServiceFlags,
    /// How the node-route-controller works.
    pub routes: RouteControllerFlags,
    /// How load balancers are looked after beyond what Services ask for.
    pub load_balancers: LoadBalancerFlags,
    /// How nodes get pod networks; `None` without `--allocate-node-cidrs`.
    pub node_ipam: Option<NodeIpam>,
    /// `None` with `--leader-elect=false`.
    pub leader_election: Option<LeaderElection>,
    /// `None` without `--enable-leader-migration`, and without leader election.
    pub leader_migration: Option<LeaderMigration>,
    /// `None` with `--secure-port=0`.
    pub serving: Option<Serving>,
    /// `None` where no webhook is served.
    pub webhooks: Option<Webhooks>,
    /// The log's verbosity and format.
    pub log: Log,
    /// One sentence for each flag that was given and has no effect.
    pub warnings: Vec<String>,
}

/// How the cloud-node-controller works.
#[derive(Clone, Copy, Debug)]
pub struct NodeFlags {
    /// `--concurrent-node-syncs`; at least 1.
    pub syncs: usize,
    /// `--concurrent-node-status-updates`; at least 1.
    pub status_updates: usize,
    /// `--node-status-update-frequency`; more than nothing.
    pub status_update_frequency: Duration,
}

/// How the cloud-node-lifecycle-controller works.
#[derive(Clone, Copy, Debug)]
pub struct NodeLifecycle {
    /// `--node-monitor-period`; more than nothing.
    pub monitor_period: Duration,
    /// `--node-deletion-warm-up`.
    pub warm_up: Duration,
    /// `--node-deletion-grace-period`.
    pub grace_period: Duration,
    /// `--node-deletion-budget`, in percent: from 0 to 100.
    pub budget: u8,
    /// `--node-deletion-budget-window`.
    pub budget_window: Duration,
}

/// How the service-lb-controller works.
#[derive(Clone, Copy, Debug)]
pub struct ServiceFlags {
    /// `--concurrent-service-syncs`; at least 1.
    pub syncs: usize,
    /// `--service-retry-base-delay`; more than nothing.
    pub retry_base_delay: Duration,
}

/// The server of `/healthz` and `/metrics`.
#[derive(Clone, Debug)]
pub struct Serving {
    /// `--bind-address` and `--secure-port`.
    pub address: SocketAddr,
    /// `--tls-cert-file` and `--tls-private-key-file`.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// The log's verbosity and format.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// `-v`.
    pub verbosity: i32,
    /// `--logging-format`.
    pub format: LogFormat,
}

/// `--logging-format`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Why there are no [`RunSettings`].
#[derive(Debug, thiserror::Error)]
pub enum FlagsError {
    /// `--help`, `--version` or `completions`: this was asked for, and is no failure.
    #[error("{0}")]
    Asked(String),
    /// Sentences for the operator, one a line.
    #[error("{0}")]
    Invalid(String),
}

impl Invocation {
    /// Reads a command line: the program's name, a command, and what belongs to it. Flags without a command are those of
    /// `run`.
    ///
    /// # Errors
    ///
    /// [`FlagsError::Asked`] for `--help`, `--version` and `completions`; [`FlagsError::Invalid`] for a command that does not exist, and
    /// with one line for every flag that is unknown, not supported or out of range.
    pub fn parse(args: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, FlagsError> {
        let arguments = arguments(args);
        let matches = command_line::program().try_get_matches_from(&arguments);
        let matches = matches.map_err(|it| refused(&it, arguments.get(1).and_then(|it| it.to_str())))?;
        let program = Program::from_arg_matches(&matches).map_err(|error| FlagsError::Invalid(error.to_string()))?;
        let flags = match program.command {
            Command::CompileProvider { arguments } => return Ok(Self::CompileProvider(arguments)),
            Command::Module { command } => return Ok(Self::Module(command)),
            Command::Bundle { command } => return Ok(Self::Bundle(command)),
            Command::Provider { command } => return Ok(Self::Provider(command)),
            Command::Completions { shell } => return Err(FlagsError::Asked(command_line::completions(shell))),
            Command::Run(flags) => flags,
        };
        let mut errors = Vec::new();
        let given = matches.subcommand_matches(RUN);
        let known = given.map_or(Ok(Vec::new()), known::judge);
        let warnings = known.unwrap_or_else(|unsupported| {
            errors.extend(unsupported);
            Vec::new()
        });
        let routes = routes::check(&flags.routes, given, &mut errors);
        let settings = check(*flags, routes, warnings, &mut errors);
        if errors.is_empty() { Ok(Self::Run(settings.into())) } else { Err(FlagsError::Invalid(errors.join("\n"))) }
    }
}

impl RunSettings {
    /// As [`Invocation::parse`], of a command line that runs the controllers.
    ///
    /// # Errors
    ///
    /// As [`Invocation::parse`], and for any other command.
    pub fn parse(args: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, FlagsError> {
        match Invocation::parse(args)? {
            Invocation::Run(settings) => Ok(*settings),
            Invocation::Module(_)
            | Invocation::Bundle(_)
            | Invocation::Provider(_)
            | Invocation::CompileProvider(_) => {
                Err(FlagsError::Invalid("this command has no settings of controllers".to_owned()))
            }
        }
    }
}

/// `aerostat run` with every flag and its default: what its `--help` and the comparison with upstream's list are made of.
#[must_use]
pub fn command() -> clap::Command {
    let program = command_line::program();
    program.find_subcommand(RUN).cloned().unwrap_or(program)
}

/// The answer to a command line that clap does not take.
fn refused(error: &clap::Error, command: Option<&str>) -> FlagsError {
    let text = error.render().to_string();
    match error.kind() {
        // A command of which all that is missing is its own command explains itself.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => FlagsError::Invalid(text.trim_end().to_owned()),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => FlagsError::Asked(format!("{}\n", text.trim_end())),
        ErrorKind::InvalidSubcommand => {
            let program = command_line::program();
            let (name, program) = match command.and_then(|it| program.find_subcommand(it)) {
                Some(within) => (format!("aerostat {}", within.get_name()), within),
                None => ("aerostat".to_owned(), &program),
            };
            let known = program.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
            let help = (!program.is_disable_help_subcommand_set()).then_some("help");
            let known = known.chain(help).collect::<Vec<_>>().join(", ");
            let word = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default();
            FlagsError::Invalid(format!(
                "{name} has no command \"{word}\"; its commands are: {known}. See {name} --help"
            ))
        }
        _ => FlagsError::Invalid(text.trim_start_matches("error: ").trim_end().to_owned()),
    }
}

/// The command line with `run` before flags that have no command, and `_` in flag names turned into `-`.
fn arguments(args: impl IntoIterator<Item = impl Into<OsString>>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = args.into_iter().map(Into::into).collect();
    // What the whole program answers, and what is no flag, is left to clap.
    let has_command = |argument: &OsString| {
        let text = argument.to_string_lossy();
        matches!(&*text, "-h" | "--help" | "--version") || !(text.is_empty() || text.starts_with('-'))
    };
    if !arguments.get(1).is_some_and(has_command) {
        arguments.insert(arguments.len().min(1), RUN.into());
    }
    for argument in arguments.iter_mut().skip(1).take_while(|it| *it != OsStr::new("--")) {
        if let Some(flag) = argument.to_str().filter(|it| it.starts_with("--") && it.contains('_')) {
            let (name, value) = flag.split_at(flag.find('=').unwrap_or(flag.len()));
            *argument = format!("{}{value}", name.replace('_', "-")).into();
        }
    }
    arguments
}

/// Checks what clap cannot. Errors go to `errors`; the result then counts for nothing.
fn check(
    flags: CommandLine,
    routes: RouteControllerFlags,
    mut warnings: Vec<String>,
    errors: &mut Vec<String>,
) -> RunSettings {
    if let Some(word) = flags.positional.iter().find(|it| !it.is_empty()) {
        errors.push(format!("aerostat run takes flags only, and no argument \"{word}\"; see aerostat run --help"));
    }
    if flags.cloud_config.as_os_str().is_empty() {
        errors.push(
            "--cloud-config cannot be empty: it names the file that says which provider to load, its settings, and \
             what it may reach"
                .to_owned(),
        );
    }
    if flags.cloud_provider.as_deref() == Some("") {
        errors.push("--cloud-provider cannot be empty: leave it out, or give the provider's name".to_owned());
    }
    let format = match flags.logging_format.as_str() {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            errors.push(format!("--logging-format \"{other}\" is not a format: write text or json"));
            LogFormat::Text
        }
    };
    let controllers: Vec<String> = flags.controllers.iter().flat_map(|it| it.split(',')).map(str::to_owned).collect();
    let controllers = Controllers::parse(&controllers).unwrap_or_else(|unknown| {
        errors.extend(unknown);
        Controllers::none()
    });
    let gates = flags.feature_gates.check(&mut warnings, errors);
    let webhooks = flags.webhooks.check(gates.webhook, flags.secure_port, &mut warnings, errors);
    let cluster_cidrs = node_ipam::cluster_cidrs(&flags.cluster_cidr, errors);
    let leader_election = leader_election::check(&flags, errors);
    let main = leader_election.as_ref().map(|it| it.name.as_str());
    RunSettings {
        node_ipam: node_ipam::node_ipam(&flags.node_ipam, &cluster_cidrs, &mut warnings, errors),
        service_networks: node_ipam::service_networks(&flags.node_ipam),
        leader_migration: leader_migration::leader_migration(&flags.leader_migration, main, &mut warnings, errors),
        api: api_server::check(&flags, errors),
        node: node(&flags, errors),
        node_lifecycle: node_lifecycle(&flags, errors),
        service: service(&flags, errors),
        routes,
        load_balancers: load_balancers::check(&flags.load_balancers, errors),
        leader_election,
        serving: serving(&flags, errors),
        webhooks,
        log: Log { verbosity: flags.verbosity, format },
        cloud_config: flags.cloud_config,
        module_cache: given(&flags.modules.module_cache),
        module_trial: flags.modules.module_trial,
        module_look: flags.modules.module_look.max(LEAST_LOOK),
        cloud_provider: flags.cloud_provider,
        cluster_cidrs,
        cluster_name: flags.cluster_name,
        controllers,
        warnings,
    }
}

fn node(flags: &CommandLine, errors: &mut Vec<String>) -> NodeFlags {
    if flags.concurrent_node_syncs < 1 {
        errors.push("concurrent-node-syncs must be a positive number".to_owned());
    }
    if flags.concurrent_node_status_updates < 0 {
        errors.push("concurrent-node-status-updates cannot be a negative number".to_owned());
    }
    if flags.node_status_update_frequency.is_zero() {
        errors.push("node-status-update-frequency must be a positive duration".to_owned());
    }
    let syncs = usize::try_from(flags.concurrent_node_syncs).unwrap_or(1);
    let status_updates = match usize::try_from(flags.concurrent_node_status_updates) {
        Ok(0) | Err(_) => syncs,
        Ok(number) => number,
    };
    NodeFlags { syncs, status_updates, status_update_frequency: flags.node_status_update_frequency }
}

fn node_lifecycle(flags: &CommandLine, errors: &mut Vec<String>) -> NodeLifecycle {
    if flags.node_monitor_period.is_zero() {
        errors.push("node-monitor-period must be a positive duration".to_owned());
    }
    let budget = u8::try_from(flags.node_deletion_budget).ok().filter(|it| *it <= 100);
    if budget.is_none() {
        errors.push("node-deletion-budget is a percentage: write a number from 0 to 100".to_owned());
    }
    NodeLifecycle {
        monitor_period: flags.node_monitor_period,
        warm_up: flags.node_deletion_warm_up,
        grace_period: flags.node_deletion_grace_period,
        budget: budget.unwrap_or(0),
        budget_window: flags.node_deletion_budget_window,
    }
}

fn service(flags: &CommandLine, errors: &mut Vec<String>) -> ServiceFlags {
    if flags.concurrent_service_syncs < 1 {
        errors.push("concurrent-service-syncs must be a positive number".to_owned());
    }
    if flags.service_retry_base_delay.is_zero() {
        errors.push("service-retry-base-delay must be a positive duration".to_owned());
    }
    ServiceFlags {
        syncs: usize::try_from(flags.concurrent_service_syncs).unwrap_or(1),
        retry_base_delay: flags.service_retry_base_delay,
    }
}

fn serving(flags: &CommandLine, errors: &mut Vec<String>) -> Option<Serving> {
    let Ok(port) = u16::try_from(flags.secure_port) else {
        errors.push(format!(
            "--secure-port {} must be between 0 and 65535, inclusive. 0 for turning off secure port",
            flags.secure_port
        ));
        return None;
    };
    let certificate = match (given(&flags.tls_cert_file), given(&flags.tls_private_key_file)) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            errors.push("--tls-cert-file and --tls-private-key-file must be given together".to_owned());
            None
        }
    };
    (port != 0).then(|| Serving { address: SocketAddr::new(flags.bind_address, port), certificate })
}

#[cfg(test)]
mod command_help;
#[cfg(test)]
mod defaults;
#[cfg(test)]
mod tests;
