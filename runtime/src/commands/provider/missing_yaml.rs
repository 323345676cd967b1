//! All that a cluster's config lacks for a module, as one piece of YAML to paste. Pure.

use std::fmt::Write as _;

use cloud_provider::Description;

use crate::commands::described::{endpoint_section, quoted};
use crate::config::CloudConfig;
use crate::manager::claims::{MissingLine, is_pinned, missing};

/// The keys of `provider` and `endpoints` that the config lacks; empty if it lacks none. Finalizers and ConfigMaps of an earlier controller
/// are the operator's choice, and never lack.
pub(super) fn missing_yaml(description: &Description, config: &CloudConfig) -> String {
    let mut text = String::new();
    let provider = provider(description, config);
    if !provider.is_empty() {
        let _ = write!(text, "provider:\n{provider}");
    }
    let endpoints = endpoints(description, config);
    if !endpoints.is_empty() {
        let _ = write!(text, "endpoints:\n{endpoints}");
    }
    text
}

fn provider(description: &Description, config: &CloudConfig) -> String {
    let mut text = String::new();
    let pinned = &config.provider_id_prefixes;
    let unpinned = description.provider_id_prefixes.iter().filter(|it| !pinned.iter().any(|pin| is_pinned(it, pin)));
    // Without pins a prefix counts as the module describes it.
    items(&mut text, "providerIDPrefixes", unpinned.filter(|_| !pinned.is_empty()));
    let given = &config.provider.settings;
    let needed = description.settings.iter().filter(|it| it.required);
    let needed: Vec<_> = needed.filter(|it| !given.iter().any(|(name, _)| it.matches(name))).collect();
    if !needed.is_empty() {
        text.push_str("  settings:\n");
        for setting in needed {
            let _ = writeln!(text, "    {}: FILL-IN # {}", quoted(&setting.name), setting.doc);
        }
    }
    let written = description.writes_annotations.iter();
    items(&mut text, "writesAnnotations", written.filter(|it| !config.provider.writes_annotations.contains(it)));
    let read = missing_labels(description, config);
    items(&mut text, "nodeLabels", read.iter());
    text
}

/// The labels of nodes that the module reads, and the config leaves out.
pub(super) fn missing_labels(description: &Description, config: &CloudConfig) -> Vec<String> {
    let read = description.node_labels.iter().filter(|it| *it != "*");
    read.filter(|it| !config.provider.node_labels.contains(it)).cloned().collect()
}

fn items<'a>(text: &mut String, key: &str, items: impl Iterator<Item = &'a String>) {
    let items: Vec<_> = items.map(|it| format!("    - {}\n", quoted(it))).collect();
    if !items.is_empty() {
        let _ = write!(text, "  {key}:\n{}", items.concat());
    }
}

fn endpoints(description: &Description, config: &CloudConfig) -> String {
    let mut text = String::new();
    let configured: Vec<_> = config.endpoints.iter().collect();
    let lines = missing(description, &configured);
    for described in &description.endpoints {
        if !config.endpoints.iter().any(|it| it.name == described.name) {
            text.push_str(&endpoint_section(described));
            continue;
        }
        let lacking: Vec<_> = lines.iter().filter(|it| it.endpoint == described.name).collect();
        if lacking.is_empty() {
            continue;
        }
        let _ = writeln!(text, "  - name: {}", quoted(&described.name));
        for key in ["operation", "parameters", "headers", "allow"] {
            let of_key: Vec<_> = lacking.iter().filter(|it| it.key == key).collect();
            if let ([MissingLine { yaml, .. }], "operation") = (of_key.as_slice(), key) {
                let _ = writeln!(text, "    {key}: {yaml}");
            } else if !of_key.is_empty() {
                let _ = writeln!(text, "    {key}:");
                for line in of_key {
                    let _ = writeln!(text, "      {}", line.yaml);
                }
            }
        }
    }
    text
}
