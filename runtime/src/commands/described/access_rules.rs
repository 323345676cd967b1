//! Access rules of an application credential of OpenStack's Keystone: `openstack application credential create --access-rules FILE`.

use cloud_provider::Description;
use egress::{CatalogPlace, EndpointPlace};
use serde_json::{Value, json};

use crate::config::CloudConfig;

/// A rule: the type of a service in the catalogue, a method, and a path from the root of the service on.
pub(super) struct AccessRule {
    service: String,
    method: String,
    path: String,
}

/// The rules for the requests that a module describes, in their order: those at the endpoints to which a catalogue leads.
///
/// # Errors
///
/// A sentence, if such an endpoint has no `catalog.path`, and the module's example of its URL no place for the project.
pub(super) fn of(description: &Description, config: &CloudConfig) -> Result<Vec<AccessRule>, String> {
    let mut rules = Vec::new();
    for described in &description.endpoints {
        let written = config.endpoints.iter().find(|it| it.name == described.name);
        let Some(EndpointPlace::Catalog(CatalogPlace { service, path, .. })) = written.map(|it| &it.place) else {
            continue;
        };
        let root = path.as_ref().map(ToString::to_string).or_else(|| project_path(&described.example_base_url));
        let Some(root) = root else {
            return Err(format!(
                "endpoint {} has no `catalog.path`, so that the paths of its access rules are not known; write it, as in /v2.1",
                described.name
            ));
        };
        let root = root.trim_end_matches('/');
        for permission in &described.allow {
            for (method, path) in
                permission.methods.iter().flat_map(|it| permission.paths.iter().map(move |path| (it, path)))
            {
                let path = format!("{root}{path}");
                rules.push(AccessRule { service: service.clone(), method: method.clone(), path });
            }
        }
    }
    Ok(rules)
}

/// The path of an example URL that has a place for the project, as a pattern of Keystone: `/v3/*` of `https://volume.example.com/v3/PROJECT`. A service
/// whose URL in the catalogue holds the project has no `catalog.path`.
fn project_path(example: &str) -> Option<String> {
    let (_, path) = example.split_once("://")?.1.split_once('/')?;
    let is_place = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_uppercase());
    let parts: Vec<_> = path.split('/').map(|part| if is_place(part) { "*" } else { part }).collect();
    parts.contains(&"*").then(|| format!("/{}", parts.join("/")))
}

/// A file of them, a line each.
pub(super) fn text(rules: &[AccessRule]) -> String {
    let line = |AccessRule { service, method, path }: &AccessRule| {
        format!("  {{\"service\": {}, \"method\": {}, \"path\": {}}}", json!(service), json!(method), json!(path))
    };
    format!("[\n{}\n]\n", rules.iter().map(line).collect::<Vec<_>>().join(",\n"))
}

/// The same as a value.
pub(super) fn value(rules: &[AccessRule]) -> Value {
    let rule = |it: &AccessRule| json!({ "service": it.service, "method": it.method, "path": it.path });
    rules.iter().map(rule).collect()
}
