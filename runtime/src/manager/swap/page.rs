//! The page `/provider` of the secure port: the version that serves, its rights, and the progress of another one.

use std::time::Duration;

use cloud_provider::Description;
use egress::Endpoint;
use sandbox::{Digest, Provider};
use serde_json::{Value, json};

use crate::manager::claims;
use crate::manager::fit::Fit;

/// The page's content. It holds no secret: a provider knows none, and of the config nothing is shown that refers to one but a
/// credential's name.
pub(super) struct ModulePage {
    /// The digest in the config of what serves.
    pub(super) digest: Digest,
    pub(super) module: String,
    pub(super) signer: Option<String>,
    pub(super) provider: Provider,
    pub(super) fit: Fit,
    pub(super) state: &'static str,
    pub(super) candidate: Option<Digest>,
    pub(super) because: Option<String>,
    pub(super) trial: Option<Duration>,
}

impl ModulePage {
    /// As JSON.
    pub(super) fn json(&self) -> Value {
        let description = self.provider.description();
        let endpoints: Vec<_> = self.fit.endpoints().into_iter().map(|it| endpoint(&description, it)).collect();
        let digest = |it: Digest| format!("sha256:{it}");
        // Controllers are started once, with what the first version could do.
        let in_use = self.provider.capabilities_in_use();
        let mut at_next_start = self.provider.capabilities();
        at_next_start.retain(|it| !in_use.contains(it));
        json!({
            "name": description.name,
            "version": description.version,
            "digest": digest(self.digest),
            "module": { "name": self.module, "sha256": self.provider.digest().to_string(), "signer": self.signer },
            "capabilities": in_use,
            "capabilitiesAtNextStart": at_next_start,
            "endpoints": endpoints,
            "state": self.state,
            "candidate": self.candidate.map(|it| json!({ "digest": digest(it), "because": self.because })),
            "trialSecondsLeft": self.trial.map(|it| it.as_secs()),
            "quarantine": *self.provider.quarantine().borrow(),
        })
    }
}

fn endpoint(description: &Description, endpoint: &Endpoint) -> Value {
    let missing = claims::missing(description, &[endpoint]);
    let missing: Vec<_> = missing.iter().map(|it| format!("{}: {}", it.key, it.yaml)).collect();
    json!({
        "name": endpoint.name,
        "baseUrl": endpoint.place.to_string(),
        "credential": endpoint.credential,
        "allowed": claims::allowed(endpoint),
        "needed": claims::needed(description, endpoint),
        "missing": missing,
    })
}
