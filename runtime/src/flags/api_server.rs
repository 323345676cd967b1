//! Flags about the API server.
//!
//! This is the only place that reads the environment, and the only variables are the two with which Kubernetes gives a
//! Pod where its API server is.

use std::path::PathBuf;

use token_bucket::TokenBucket;
use tokio::time::Instant;

use super::command_line::CommandLine;
use super::environment::variable;
use super::values::given;

/// Where Kubernetes puts a Pod's token, `ca.crt` and namespace.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How to reach the API server.
#[derive(Clone, Debug)]
pub struct ApiServerFlags {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// `--master`.
    pub master: Option<String>,
    /// Where this Pod finds the API server, if this is a Pod.
    pub in_cluster: Option<InCluster>,
    /// `--kube-api-qps` and `--kube-api-burst`, if one of them was given.
    pub limit: Option<RateLimit>,
}

/// The place of the API server, as Kubernetes gives it to a Pod.
#[derive(Clone, Debug)]
pub struct InCluster {
    /// `KUBERNETES_SERVICE_HOST`: an address, or a name.
    pub host: String,
    /// `KUBERNETES_SERVICE_PORT`.
    pub port: String,
    /// The folder with `token` and `ca.crt`.
    pub service_account: PathBuf,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Requests a second.
    pub per_second: f32,
    /// How many may come at once.
    pub burst: u32,
}

impl RateLimit {
    /// A full bucket.
    pub(crate) fn bucket(self) -> TokenBucket {
        TokenBucket::per_second(self.per_second.into(), self.burst, Instant::now())
    }
}

/// The way to the API server as the flags describe it, and the environment; rates that are none go to `errors`.
pub(super) fn check(flags: &CommandLine, errors: &mut Vec<String>) -> ApiServerFlags {
    let limit = match (flags.kube_api_qps, flags.kube_api_burst) {
        (None, None) => None,
        // As client-go: a negative rate is no limit.
        (Some(rate), _) if rate < 0.0 => None,
        (rate, burst) => {
            // Upstream's default for the one that was not given.
            let (per_second, burst) = (rate.unwrap_or(20.0), burst.unwrap_or(30));
            if per_second == 0.0 || !per_second.is_finite() {
                errors.push("--kube-api-qps must be a positive number, or negative for no limit".to_owned());
            }
            if burst < 1 {
                errors.push("--kube-api-burst must be a positive number".to_owned());
            }
            Some(RateLimit { per_second, burst: u32::try_from(burst).unwrap_or(1) })
        }
    };
    ApiServerFlags {
        kubeconfig: given(&flags.kubeconfig),
        master: (!flags.master.is_empty()).then(|| flags.master.clone()),
        in_cluster: in_cluster(),
        limit,
    }
}

/// The API server that Kubernetes names to a pod.
fn in_cluster() -> Option<InCluster> {
    let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
    Some(InCluster { host, port, service_account: SERVICE_ACCOUNT.into() })
}
