//! `aerostat provider describe`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::flags::command_output::Output;

pub(super) const HELP: &str = "Examples:
  aerostat provider describe acme.wasm > cloud.yaml
  aerostat provider describe acme.wasm --format=readme
  aerostat provider describe acme.wasm --format=permissions
  aerostat provider describe openstack.wasm --format=permissions --cloud-config=cloud.yaml > access-rules.json
  aerostat provider describe gcp.wasm --format=permissions > role.yaml
  aerostat provider describe azure.wasm --format=permissions > role.json
  aerostat provider describe acme.wasm --format=admission-policy | kubectl apply -f -
  aerostat provider describe acme.wasm --format=network-policy --cloud-config=cloud.yaml | kubectl apply -f -

Everything comes from one source, which is the description that the module gives of itself:
  config                 the skeleton of cloud.yaml, with the digest of this file and the rules that the module asks for
  readme                 tables for a README in Markdown: settings, annotations, node labels, endpoints
  permissions            the actions that the credential needs in the cloud: a policy of IAM for AWS, a custom role for Google Cloud (one
                         for each project of --cloud-config), a role definition for Azure (for the subscriptions of --cloud-config),
                         access rules of an application credential where Keystone's catalogue leads to the endpoints of
                         --cloud-config, else the scopes
  network-policy         a NetworkPolicy for the Pods of aerostat: DNS, the API server, and the ports of the endpoints
  cilium-network-policy  the same for Cilium, which knows the endpoints by their names
  admission-policy       a ValidatingAdmissionPolicy that refuses annotations with values that the module would refuse: words, whole
                         numbers and times; other values are left to the module
With --cloud-config the settings in it are given to the module first, and network policies are for the endpoints in it.

Exit code: 0, or 2 if the module cannot be described.";

/// `aerostat provider describe`.
#[derive(Args, Clone, Debug)]
pub struct DescribeFlags {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The page to write: config, readme, permissions, network-policy, cilium-network-policy or admission-policy
    #[arg(long, value_name = "PAGE", value_enum, default_value_t, hide_possible_values = true)]
    pub format: DescribedPage,
    /// The config of a cluster: its settings are the module's, and its endpoints those of the network policy
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// How the page is printed: text (YAML, Markdown, or JSON where the cloud has it so) or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// A page that is made of a description.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum DescribedPage {
    /// The skeleton of `cloud.yaml`.
    #[default]
    Config,
    /// Tables for a README.
    Readme,
    /// The actions that the credential needs.
    Permissions,
    /// A NetworkPolicy.
    NetworkPolicy,
    /// A CiliumNetworkPolicy.
    CiliumNetworkPolicy,
    /// A ValidatingAdmissionPolicy and its binding.
    AdmissionPolicy,
}
