//! What contenders are told of a simulated cloud.

use serde_json::{Value, json};
use tests::clouds::digitalocean;
use tests::guests;

/// A cloud that contenders can serve.
pub(crate) trait Account {
    /// The token that it accepts.
    fn token(&self) -> &str;

    /// The arguments of the baseline that name the cloud and where it is, but for the token.
    fn arguments(&self) -> Vec<String>;

    /// What aerostat's config says of the provider and of its endpoint, which has the credential `token`.
    fn config(&self) -> Config;
}

/// A part of aerostat's config.
pub(crate) struct Config {
    pub(crate) provider: Value,
    pub(crate) endpoint: Value,
}

impl Account for digitalocean::Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn arguments(&self) -> Vec<String> {
        vec![format!("--base-url={}", self.base_url()), format!("--ca-file={}", self.ca_file().display())]
    }

    fn config(&self) -> Config {
        Config {
            provider: json!({
                "module": { "file": { "path": guests::DIGITALOCEAN, "sha256": guests::sha256(guests::DIGITALOCEAN) } },
                "writesAnnotations": [
                    "kubernetes.digitalocean.com/load-balancer-id",
                    "service.beta.kubernetes.io/do-loadbalancer-type",
                ],
            }),
            endpoint: json!({
                "name": "api",
                "baseUrl": self.base_url(),
                "credential": "token",
                "tls": { "caFile": self.ca_file() },
                "allow": [
                    { "methods": ["GET"], "paths": ["/v2/account", "/v2/droplets", "/v2/droplets/*"] },
                    { "methods": ["GET", "POST"], "paths": ["/v2/load_balancers"] },
                    { "methods": ["GET", "PUT", "DELETE"], "paths": ["/v2/load_balancers/*"] },
                    { "methods": ["POST", "DELETE"], "paths": ["/v2/load_balancers/*/droplets"] },
                ],
            }),
        }
    }
}
