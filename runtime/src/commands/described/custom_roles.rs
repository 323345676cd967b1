//! Custom roles of Google Cloud: `gcloud iam roles create ROLE --project=PROJECT --file=FILE`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cloud_provider::{Description, Endpoint};
use egress::EndpointPlace;
use serde_json::{Value, json};

use crate::config::CloudConfig;

/// A role for one project.
pub(super) struct CustomRole {
    /// The names of the endpoints that lead to the project.
    endpoints: Vec<String>,
    permissions: BTreeSet<String>,
}

/// Whether the endpoint is an API of Google Cloud.
pub(super) fn is_google(endpoint: &Endpoint) -> bool {
    let host = endpoint.example_base_url.strip_prefix("https://").and_then(|it| it.split(['/', ':']).next());
    host.is_some_and(|it| it.ends_with(".googleapis.com"))
}

/// One role for all endpoints; with a config, one for each URL to which its endpoints lead: a shared network is in another project.
pub(super) fn of(description: &Description, config: Option<&CloudConfig>) -> Vec<CustomRole> {
    let place = |endpoint: &Endpoint| {
        let written = config?.endpoints.iter().find(|it| it.name == endpoint.name)?;
        match &written.place {
            EndpointPlace::Written(url) => Some(url.to_string()),
            EndpointPlace::Catalog(_) => None,
        }
    };
    let mut order = Vec::new();
    let mut roles: BTreeMap<Option<String>, CustomRole> = BTreeMap::new();
    for endpoint in &description.endpoints {
        let place = place(endpoint);
        let role = roles.entry(place.clone()).or_insert_with(|| {
            order.push(place);
            CustomRole { endpoints: Vec::new(), permissions: BTreeSet::new() }
        });
        role.endpoints.push(endpoint.name.clone());
        role.permissions.extend(endpoint.allow.iter().flat_map(|it| it.actions.iter().cloned()));
    }
    order.iter().filter_map(|it| roles.remove(it)).collect()
}

/// Files of them, as documents.
pub(super) fn text(description: &Description, roles: &[CustomRole]) -> String {
    roles.iter().map(|it| document(description, it)).collect::<Vec<_>>().join("---\n")
}

fn document(description: &Description, role: &CustomRole) -> String {
    let mut text = format!(
        "# The least role at the {} {}: gcloud iam roles create aerostat --project=PROJECT --file=FILE\n\
         title: {}\nstage: GA\nincludedPermissions:\n",
        if role.endpoints.len() == 1 { "endpoint" } else { "endpoints" },
        role.endpoints.join(" and "),
        title(description),
    );
    for permission in &role.permissions {
        let _ = writeln!(text, "  - {permission}");
    }
    text
}

/// The same as a value: one role, or a list of several.
pub(super) fn value(description: &Description, roles: &[CustomRole]) -> Value {
    let one =
        |it: &CustomRole| json!({ "title": title(description), "stage": "GA", "includedPermissions": it.permissions });
    match roles {
        [role] => one(role),
        roles => roles.iter().map(one).collect(),
    }
}

fn title(description: &Description) -> String {
    format!("aerostat-{}", description.name)
}
