//! The cloud of a recording: what the script says, and the configuration that leads to it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};
use tests::{component, guests, script};

use crate::scenario::{Action, CloudError, CloudNode, CloudService, ErrorKind, Ingress, Scenario};

/// The script's entry for a machine. It has one question for it: an error of one of upstream's three is an error of
/// ours.
pub(super) fn machine(node: &CloudNode) -> script::Machine {
    let errors = [&node.metadata_error, &node.exists_error, &node.shutdown_error];
    let failure = if node.null || node.exists == Some(false) {
        Some(script::Failure::always(script::Error::NotFound))
    } else {
        errors.into_iter().flatten().next().map(failure)
    };
    script::Machine {
        provider_id: node.provider_id.clone(),
        stopped: node.shutdown == Some(true),
        machine_type: node.machine_type.clone(),
        zone: node.zone.clone(),
        region: node.region.clone(),
        addresses: node.addresses.iter().map(|it| (it.kind.clone(), it.address.clone())).collect(),
        labels: node.labels.clone().into_iter().collect(),
        pod_cidrs: Vec::new(),
        delay: node.delay,
        failure,
    }
}

/// The machine behind a node that comes initialised and takes traffic, if the recording says nothing about it and no call asked: a
/// real cloud has one.
pub(super) fn machine_behind(scenario: &Scenario, object: &Value) -> Option<script::Machine> {
    let name = object["metadata"]["name"].as_str()?;
    let has_services = scenario.given.iter().any(|it| it.object["kind"] == "Service");
    let is_named = scenario.cloud.iter().any(|it| it.nodes.contains_key(name));
    let is_asked_about = scenario.observed.cloud_calls.iter().any(|it| it.result != "ok" && it.node() == name);
    let provider_id = object["spec"]["providerID"].as_str().filter(|it| !it.is_empty())?;
    let is_node = object["kind"] == "Node" && has_services && !is_named && !is_asked_about;
    is_node.then(|| {
        let addresses = object["status"]["addresses"].as_array().into_iter().flatten();
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let addresses = addresses.map(|it| (text(&it["type"]), text(&it["address"])));
        script::Machine {
            provider_id: provider_id.to_owned(),
            addresses: addresses.collect(),
            ..script::Machine::default()
        }
    })
}

/// The script's entry for a load balancer. A provider reads before it deletes: the answer to upstream's question before
/// a deletion is part of ours. `pace` of the recording's seconds are one.
pub(super) fn load_balancer(service: &CloudService, pace: f64) -> script::LoadBalancer {
    let failure = |error: &CloudError| failure(&CloudError { after: error.after.div_f64(pace), ..error.clone() });
    let CloudService { ingress, delay, update_delay, ensure_error, update_error, delete_error, get_error, .. } =
        service;
    let ingress = ingress.iter().map(|Ingress { ip, hostname, ip_mode, .. }| script::Ingress {
        ip: ip.clone(),
        hostname: hostname.clone(),
        ip_mode: ip_mode.clone(),
    });
    script::LoadBalancer {
        ingress: ingress.collect(),
        delay: *delay,
        update_delay: *update_delay,
        failure: ensure_error.as_ref().map(failure),
        update_failure: update_error.as_ref().map(failure),
        delete_failures: [get_error, delete_error].into_iter().flatten().map(failure).collect(),
    }
}

pub(super) fn failure(error: &CloudError) -> script::Failure {
    let CloudError { text, kind, after, wrap, count } = error;
    let wrapped = !wrap.is_null();
    // What upstream says where the recorder left the text to it.
    let default = if *kind == ErrorKind::Elsewhere { "implemented by alternate to cloud provider" } else { "" };
    let text = if text.is_empty() { default } else { text };
    let text = if wrapped { format!("wrapped: {text}") } else { text.to_owned() };
    let error = match kind {
        ErrorKind::NotFound => script::Error::NotFound,
        ErrorKind::Retry => script::Error::RetryAfter(*after, text),
        // Upstream does not know it again when it is wrapped.
        ErrorKind::Elsewhere if !wrapped => script::Error::Elsewhere,
        ErrorKind::Plain | ErrorKind::NotImplemented | ErrorKind::Elsewhere => script::Error::Unavailable(text),
    };
    script::Failure { error, count: count.filter(|count| *count > 0) }
}

/// Every key of an annotation of a Service in a recording: upstream lets its cloud read them all.
pub(super) fn annotations(scenario: &Scenario) -> Result<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    let mut add = |object: &Value| {
        keys.extend(object["metadata"]["annotations"].as_object().into_iter().flatten().map(|(key, _)| key.clone()));
    };
    scenario.given.iter().filter(|it| it.object["kind"] == "Service").for_each(|it| add(&it.object));
    for step in &scenario.steps {
        if let Action::Patch { kind, body, .. } = step.action()?
            && kind == "Service"
        {
            add(&body);
        }
    }
    Ok(keys)
}

/// Writes a module that can do nothing but describe itself.
pub(super) fn only_described(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join("golden-only-described.wasm");
    fs::write(&path, component::only_provider())?;
    Ok(path)
}

/// A cloud configuration for a module whose endpoint, if it has one, is the script.
pub(super) fn config(base_url: &str, module: &Path, annotations: &BTreeSet<String>) -> Value {
    let annotations = annotations.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let settings = if annotations.is_empty() { json!({}) } else { json!({ "annotations": annotations }) };
    json!({
        "apiVersion": "aerostat.dev/v1alpha1",
        "kind": "CloudConfig",
        "provider": { "module": { "file": { "path": module, "sha256": guests::sha256(module) } }, "settings": settings },
        "endpoints": [{
            "name": "script",
            "baseUrl": base_url,
            "allow": [
                { "methods": ["GET"], "paths": ["/machines/**"] },
                { "methods": ["PUT", "DELETE"], "paths": ["/load-balancers/**"] },
                { "methods": ["GET", "POST"], "paths": ["/routes"] },
            ],
            // The recorded cloud had no limits.
            "limits": { "requestsPerSecond": 1000, "concurrency": 100 },
        }],
    })
}
