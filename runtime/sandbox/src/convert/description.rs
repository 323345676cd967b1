use cloud_provider::{Annotation, Description, Endpoint, Permission, Setting};

use super::label;
use crate::bindings::description::exports::aerostat::cloud::provider as wit;
use crate::untrusted::printable;

/// More of anything than this is no description.
const ITEMS: usize = 256;
const PREFIX_BYTES: usize = 128;
const LARGEST_BATCH: u32 = 1_000;

/// What a provider says of itself, or a sentence on what is wrong with it.
pub(crate) fn description(it: wit::Description) -> Result<Description, String> {
    let description = Description {
        name: it.name,
        version: it.version,
        provider_id_prefixes: it.provider_id_prefixes,
        endpoints: it.endpoints.into_iter().map(endpoint).collect(),
        settings: it.settings.into_iter().map(setting).collect(),
        annotations: it.annotations.into_iter().map(annotation).collect(),
        writes_annotations: it.writes_annotations,
        get_batch: it.get_batch.clamp(1, LARGEST_BATCH),
        list_page: it.list_page.clamp(1, LARGEST_BATCH),
    };
    check(&description)?;
    Ok(description)
}

fn check(it: &Description) -> Result<(), String> {
    if it.name.is_empty() || !label::is_value(&it.name) {
        return Err(format!("its name {:?} is not up to 63 letters, digits, '-', '_' and '.'", it.name));
    }
    for (what, length) in [
        ("provider id prefixes", it.provider_id_prefixes.len()),
        ("endpoints", it.endpoints.len()),
        ("settings", it.settings.len()),
        ("annotations", it.annotations.len()),
        ("annotations to write", it.writes_annotations.len()),
    ] {
        if length > ITEMS {
            return Err(format!("it has {length} {what}, more than {ITEMS}"));
        }
    }
    for prefix in &it.provider_id_prefixes {
        if prefix.is_empty() || prefix.len() > PREFIX_BYTES || !prefix.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(format!(
                "its provider id prefix {prefix:?} is not up to {PREFIX_BYTES} visible ASCII characters"
            ));
        }
    }
    let keys = it.annotations.iter().map(|it| &it.key).chain(&it.writes_annotations);
    // A prefix in upper case is fine for Kubernetes here, and only here.
    if let Some(key) = keys.into_iter().find(|it| !label::is_key(&it.to_lowercase())) {
        return Err(format!("{:?} is no annotation key", printable(key, 128)));
    }
    if let Some(name) =
        it.endpoints.iter().map(|it| &it.name).chain(it.settings.iter().map(|it| &it.name)).find(|it| it.is_empty())
    {
        return Err(format!("an endpoint or a setting is called {name:?}"));
    }
    Ok(())
}

fn endpoint(it: wit::Endpoint) -> Endpoint {
    let permission = |it: wit::Permission| Permission { methods: it.methods, paths: it.paths, actions: it.actions };
    Endpoint {
        name: it.name,
        purpose: it.purpose,
        example_base_url: it.example_base_url,
        allow: it.allow.into_iter().map(permission).collect(),
    }
}

fn setting(it: wit::Setting) -> Setting {
    Setting { name: it.name, required: it.required, default: it.default, doc: it.doc }
}

fn annotation(it: wit::Annotation) -> Annotation {
    Annotation { key: it.key, values: it.values, default: it.default, doc: it.doc }
}
