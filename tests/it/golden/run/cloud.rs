//! The cloud of a recording: what the script says, and the configuration that leads to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{component, guests, script};

use crate::scenario::{CloudNode, ErrorKind};

/// What the script says about a machine.
pub(super) fn machine(node: &CloudNode) -> script::Machine {
    let failure = match &node.metadata_error {
        None if node.null => Some(script::Failure::always(script::Error::NotFound)),
        None => None,
        Some(error) => {
            let text = if error.wrap.is_null() { error.text.clone() } else { format!("wrapped: {}", error.text) };
            let count = error.count.filter(|count| *count > 0);
            let error = match error.kind {
                ErrorKind::NotFound => script::Error::NotFound,
                ErrorKind::Retry => script::Error::RetryAfter(error.after, text),
                ErrorKind::Plain | ErrorKind::NotImplemented | ErrorKind::Elsewhere => script::Error::Unavailable(text),
            };
            Some(script::Failure { error, count })
        }
    };
    script::Machine {
        provider_id: node.provider_id.clone(),
        machine_type: node.machine_type.clone(),
        zone: node.zone.clone(),
        region: node.region.clone(),
        addresses: node.addresses.iter().map(|it| (it.kind.clone(), it.address.clone())).collect(),
        labels: node.labels.clone().into_iter().collect(),
        delay: node.delay,
        failure,
    }
}

/// Writes a module that cannot say anything about machines.
pub(super) fn without_instances(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join("golden-without-instances.wasm");
    fs::write(&path, component::only_provider())?;
    Ok(path)
}

/// A cloud configuration for a module whose endpoint, if it has one, is the script.
pub(super) fn config(base_url: &str, module: &Path) -> Value {
    json!({
        "apiVersion": "aerostat.dev/v1alpha1",
        "kind": "CloudConfig",
        "provider": { "module": { "file": { "path": module, "sha256": guests::sha256(module) } } },
        "endpoints": [{
            "name": "script",
            "baseUrl": base_url,
            "allow": [{ "methods": ["GET"], "paths": ["/machines/**"] }],
            // The recorded cloud had no limits.
            "limits": { "requestsPerSecond": 1000, "concurrency": 100 },
        }],
    })
}
