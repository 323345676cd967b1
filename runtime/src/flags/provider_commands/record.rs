//! `aerostat provider record` and `aerostat provider replay`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::command_output::Output;

pub(super) const RECORD_HELP: &str = r#"Examples:
  aerostat provider record acme.wasm acme.json provider.identity --cloud-config=cloud.yaml
  aerostat provider record acme.wasm acme.json instances.list '{"limit": 50}' --cloud-config=cloud.yaml
  aerostat provider replay acme.wasm acme.json

The function is called as by aerostat provider call, also where it writes, and the call is added to the file: its argument, its answer, and
each request with the answer of the cloud. A file that is not there is made. Requests are recorded before the credential is attached, and
answers as the provider sees them. Passwords, keys and tokens of others go by their names: (taken out) stands in their place.

Exit code: 0 if the provider has answered, 1 if its answer is an error (it is recorded too), 2 if nothing was recorded."#;

pub(super) const REPLAY_HELP: &str = "Examples:
  aerostat provider replay acme.wasm acme.json
  aerostat provider replay acme.wasm acme.json --by-key
  aerostat provider replay acme.wasm acme.json --output=json | jq '.calls[].differences'

Each recorded call is made again, and the recording answers in the place of the cloud: no credential is needed, and nothing leaves this
machine. Requests have to be those that were recorded, in their order, and answers of the provider the same. With --by-key a request is
answered by whatever was recorded for the same endpoint, method, path, query, operation and body, so that a version that asks less passes.

Exit code: 0 if nothing differs, 1 if something does, 2 if it cannot be played (no such file, another provider's).";

/// `aerostat provider record`.
#[derive(Args, Clone, Debug)]
pub struct RecordFlags {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The file to which the call is added
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// The function, as in instances.get
    #[arg(value_name = "FUNCTION")]
    pub function: String,
    /// Its argument as JSON, or @ and a file with it
    #[arg(value_name = "JSON|@FILE")]
    pub argument: Option<String>,
    /// The config with endpoints and credentials. Required
    #[arg(long, value_name = "FILE", required = true)]
    pub cloud_config: PathBuf,
    /// The name of the cluster, as --cluster-name of aerostat run
    #[arg(long, value_name = "NAME", default_value = "kubernetes")]
    pub cluster_name: String,
    /// The UID of the namespace kube-system: whose load balancers and routes are the cluster's
    #[arg(long, value_name = "UID")]
    pub cluster_uid: Option<String>,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// `aerostat provider replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayFlags {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The file that aerostat provider record has made
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// Answer each request by what it asks for, in any order
    #[arg(long)]
    pub by_key: bool,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
