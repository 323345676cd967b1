//! aerostat: a Kubernetes cloud-controller-manager whose cloud provider is a WebAssembly component.
//!
//! The binary is [`forbid_core_dumps`], [`Invocation::parse`], [`start_log`] and [`run`]. As a library, for tests and benchmarks:
//!
//! ```text
//! flags ─► Settings ─► run ─► manager: one line per task
//!                              ├ config, manager/cloud   --cloud-config ─► sandbox ─► Cloud
//!                              ├ api_server, networks    the cluster, and what providers must not reach of it
//!                              ├ permissions             what the API server has to allow
//!                              ├ leader                  the Lease
//!                              ├ webhooks                what is said about objects while they are created
//!                              ├ telemetry               log, /healthz, /readyz, /metrics
//!                              └ controllers             nodes, and load balancers of Services
//! ModuleCommand ─► commands       looks at modules, fetches and pushes them: no cluster
//! BundleCommand ─► commands       carries whole artifacts in one file
//! ProviderCommand ─► commands     tries a provider against a simulator of its cloud
//! ```

#![forbid(unsafe_code)]

mod api_server;
mod cluster;
mod commands;
mod config;
mod config_maps;
mod core_dump;
mod failure;
mod flags;
mod https;
mod leader;
mod manager;
mod networks;
mod overrides;
mod permissions;
mod telemetry;
mod webhooks;

use std::io::{stderr, stdin, stdout};
use std::path::PathBuf;

pub use crate::commands::CommandAnswer;
pub use crate::failure::Failure;
pub use crate::flags::{
    ApiServerFlags, AskedPart, BuildFlags, BundleCommand, CallFlags, CheckFlags, Conformance, ControllerName,
    Controllers, DescribeFlags, DescribedPage, DiffFlags, FlagsError, GuestLanguage, IdOrigin, InCluster, Inspect,
    Invocation, LeaderElection, LeaderMigration, LeaseOwner, Log, LogFormat, ModuleCommand, NewProviderFlags,
    NodeFlags, NodeIpam, NodeLifecycle, OptionalKeys, Output, ProviderCommand, PullFlags, Push, PushBundle, RateLimit,
    RecordFlags, Registry, ReplayFlags, RouteControllerFlags, RunSettings, SaveBundle, ServiceFlags, Serving, Verify,
    Webhooks, command, failure_code,
};
pub use crate::overrides::Overrides;
pub use crate::permissions::{NeededRights, RoleRule, rules};
pub use crate::telemetry::{start_log, start_warnings};

/// The first step of a program that holds secrets: it leaves no core dump, and lets no other process read its memory.
///
/// # Errors
///
/// A sentence, if the kernel refuses.
pub fn forbid_core_dumps() -> Result<(), String> {
    core_dump::forbid().map_err(|error| {
        format!("cannot forbid core dumps of this process: {error}. Allow the system calls prctl and setrlimit")
    })
}

/// Runs aerostat until `shutdown` is ready.
///
/// # Errors
///
/// If it cannot start, loses its Lease, or if a part of it ends that should not.
pub async fn run(
    settings: RunSettings,
    overrides: Overrides,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    manager::run(settings, overrides, shutdown).await
}

/// Does what `aerostat module` was asked for. `compiler` is the program that compiles modules, which has to do what
/// [`compile`] says; without it this process does.
///
/// # Errors
///
/// If it cannot be done: a sentence with the cause and the next step.
pub async fn module(command: ModuleCommand, compiler: Option<PathBuf>) -> Result<CommandAnswer, Failure> {
    commands::module(command, compiler.as_deref()).await.map_err(Failure::from)
}

/// Does what `aerostat bundle` was asked for.
///
/// # Errors
///
/// As [`module`].
pub async fn bundle(command: BundleCommand) -> Result<CommandAnswer, Failure> {
    commands::bundle(command).await.map_err(Failure::from)
}

/// Does what `aerostat provider` was asked for. `compiler` is as for [`module`].
///
/// # Errors
///
/// As [`module`].
pub async fn provider(command: ProviderCommand, compiler: Option<PathBuf>) -> Result<CommandAnswer, Failure> {
    commands::provider(command, compiler.as_deref()).await.map_err(Failure::from)
}

/// The whole work of a process started as the compiler of providers: `aerostat compile-provider BYTES LIMIT=NUMBER …`, with
/// a component on its standard input.
///
/// It takes every right from the process, which must have no other thread and must end then.
///
/// # Errors
///
/// A sentence that says what is wrong with the component.
pub fn compile(arguments: Vec<String>) -> Result<(), String> {
    let compiled = sandbox::compile_for_another(arguments, stdin(), stdout(), stderr());
    compiled.map_err(|error| controllers::chain(error.as_ref()))
}
