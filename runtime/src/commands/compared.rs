//! A cluster's config compared with a module: keys that it lacks, and rights beyond those the module asks for. Pure.

use cloud_provider::Description;

use super::inspected::Compared;
use crate::config::CloudConfig;
use crate::manager::claims::{MissingLine, check_prefixes, missing as missing_rules, wider};

/// A config beside a module.
pub(super) fn compared(description: &Description, config: &CloudConfig) -> Compared {
    let endpoints: Vec<_> = config.endpoints.iter().collect();
    Compared { missing: missing(description, config), wider: wider(description, &endpoints) }
}

/// A sentence for each thing without which the module would not start, or of which it would be refused something.
fn missing(description: &Description, config: &CloudConfig) -> Vec<String> {
    let mut missing = Vec::new();
    if let Err(because) = check_prefixes(description, &config.provider_id_prefixes) {
        missing.push(because.to_string());
    }
    for described in &description.endpoints {
        if !config.endpoints.iter().any(|it| it.name == described.name) {
            let allow: Vec<_> = described.allow.iter().map(ToString::to_string).collect();
            missing.push(format!(
                "endpoint {} is not in endpoints; add it, for instance with baseUrl {}, and with allow: [{}]",
                described.name,
                described.example_base_url,
                allow.join(", ")
            ));
        }
    }
    let endpoints: Vec<_> = config.endpoints.iter().collect();
    for MissingLine { endpoint, key, yaml } in missing_rules(description, &endpoints) {
        missing.push(format!(
            "endpoint {endpoint} does not allow what the module asks for; add this to its {key}: {yaml}"
        ));
    }
    let given = &config.provider.settings;
    for setting in description.settings.iter().filter(|it| it.required) {
        if !given.iter().any(|(name, _)| setting.matches(name)) {
            missing.push(format!("setting {} is not in provider.settings ({})", setting.name, setting.doc));
        }
    }
    for (name, _) in given.iter().filter(|(name, _)| !description.settings.iter().any(|it| it.matches(name))) {
        missing.push(format!("provider.settings has {name}, which the module does not know; remove it"));
    }
    for key in description.writes_annotations.iter().filter(|it| !config.provider.writes_annotations.contains(it)) {
        missing.push(format!("annotation {key} is not in provider.writesAnnotations, and would not be written"));
    }
    missing
}
