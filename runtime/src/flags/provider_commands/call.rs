//! `aerostat provider call`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::command_output::Output;

pub(super) const HELP: &str = r#"Examples:
  aerostat provider call acme.wasm provider.identity --cloud-config=cloud.yaml
  aerostat provider call acme.wasm instances.get '{"name": "web-1"}' --cloud-config=cloud.yaml
  aerostat provider call acme.wasm instances.list '{"limit": 50}' --cloud-config=cloud.yaml | jq '.instances[].name'
  aerostat provider call acme.wasm load-balancers.ensure @service.json --cloud-config=cloud.yaml --dry-run \
    --cluster-uid=$(kubectl get namespace kube-system -o jsonpath='{.metadata.uid}')
  aerostat provider call acme.wasm instances.get '{"name": "web-1"}' --recording=acme.json

The endpoints, rules, settings and credentials are those of --cloud-config, and requests go to the real cloud: through the same egress as
in a cluster. Standard error has a line for each request: method, URL, status, milliseconds, bytes. The answer is JSON on standard output.
Credentials are attached after the line is made, and are in no line.

With --recording nothing leaves this machine: each request is answered by whatever was recorded for the same endpoint, method, path, query,
operation and body (aerostat provider record), whichever function was called then. One that was not recorded has no answer.

With --dry-run reads go through, and the first request that would write is shown with its body and not sent; there the call ends.

Functions and their arguments, in the words of wit/ with lowerCamelCase; absent members have no value:
  provider.identity                          none
  instances.get                              {"name", "providerID", "addresses": [{"kind": "InternalIP", "value"}], …}, or a list of these
  instances.list                             {"cursor", "limit"}
  instances.canonical-ids                    ["acme://1", …]
  load-balancers.ensure, .delete             {"name", "owner": {"namespace", "name", "uid"}, "memo", "ports": [{"port", "nodePort"}],
                                             "nodes": [{"name", "providerID"}], "annotations": {…}, …}. The memo of an answer is the
                                             memo of the next call
  load-balancer-batches.ensure, .delete      [{"owner", "ports", …}, …]: load balancers of several Services, in one call if they fit
  load-balancer-inventory.list               {"cursor", "limit"}
  routes.list                                {"cursor", "limit"}
  routes.next-hops                           [{"destination", "node": {…}}, …]
  routes.apply                               [{"destination", "before": {…}, "after": {"nextHop", "node"}}, …]
  persistent-volumes.get-topology            [{"name", "source", "handle"}, …]
  volumes.create, .abandon                   {"name", "owner": {"namespace", "name", "uid"}, "bytes", "accessModes": ["ReadWriteOnce"],
                                             "filesystem", "parameters": {…}, "accessibleTopologies": [{…}],
                                             "source": {"snapshot": "…"}, "annotations": {…}, "memo"}
  volumes.delete                             {"handle", "name", "attributes": {…}, "memo"}
  volumes.attach                             {"volume": {"handle", …}, "nodeID", "mode": {"readOnly", "block", "accessModes"}}
  volumes.detach                             {"volume": {"handle", …}, "nodeID"}
  volumes.expand                             {"volume": {"handle", …}, "bytes"}
  volumes.get                                ["vol-1", …]
  volumes.list                               {"cursor", "limit"}

Exit code: 0 if the provider has answered, also where --dry-run has stopped it; 1 if its answer is an error; 2 if it could not be called."#;

/// `aerostat provider call`.
#[derive(Args, Clone, Debug)]
pub struct CallFlags {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    pub file: PathBuf,
    /// The function, as in instances.get
    #[arg(value_name = "FUNCTION")]
    pub function: String,
    /// Its argument as JSON, or @ and a file with it
    #[arg(value_name = "JSON|@FILE")]
    pub argument: Option<String>,
    /// The config with endpoints and credentials. Required, unless there is a recording
    #[arg(long, value_name = "FILE", required_unless_present = "recording")]
    pub cloud_config: Option<PathBuf>,
    /// A recorded conversation, which answers in the place of the cloud
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cloud_config", "dry_run", "cluster_name", "cluster_uid"])]
    pub recording: Option<PathBuf>,
    /// Let reads through, show the first request that would write, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// The name of the cluster, as --cluster-name of aerostat run
    #[arg(long, value_name = "NAME", default_value = "kubernetes")]
    pub cluster_name: String,
    /// The UID of the namespace kube-system: whose load balancers and routes are the cluster's
    #[arg(long, value_name = "UID")]
    pub cluster_uid: Option<String>,
    /// How the result is printed: text (the answer, and requests on standard error) or json (one object with all)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}
