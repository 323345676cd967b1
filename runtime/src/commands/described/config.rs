//! The skeleton of an operator's `cloud.yaml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cloud_provider::{ConfigMapKey, Description, Endpoint, OperationPlace, Setting};

use super::custom_roles::is_google;
use super::module::DescribedModule;
use super::ram_policy::{AlibabaEndpoint, alibaba};
use super::role_definition::is_azure;
use super::yaml::{list, quoted};

/// The credential that all endpoints name.
const CREDENTIAL: &str = "cloud";

/// The text in the place of a required setting.
const FILL_IN: &str = "FILL-IN";

/// A config that allows all that the module asks for, and nothing else.
pub(crate) fn skeleton(module: &DescribedModule<'_>) -> String {
    let DescribedModule { name, digest, description } = module;
    let file = name.rsplit('/').next().unwrap_or(name);
    let mut text = format!(
        "# For {} {}, made from its description. Check the rules, fill in {FILL_IN}, and put the secret into its file.\n\
         apiVersion: aerostat.dev/v1alpha1\n\
         kind: CloudConfig\n\
         provider:\n  \
           module:\n    \
             file: {{ path: {}, sha256: {digest} }}\n",
        description.name,
        description.version,
        quoted(&format!("/providers/{file}")),
    );
    if !description.provider_id_prefixes.is_empty() {
        line(&mut text, 2, &format!("providerIDPrefixes: {}", list(&description.provider_id_prefixes)));
    }
    settings(&mut text, &description.settings);
    if !description.writes_annotations.is_empty() {
        line(&mut text, 2, &format!("writesAnnotations: {}", list(&description.writes_annotations)));
    }
    // Whether there was an earlier controller the operator knows.
    if !description.finalizers.is_empty() {
        line(&mut text, 2, &format!("# finalizers: {}", list(&description.finalizers)));
    }
    // Each is named once, however many of its keys are read.
    let config_maps = once(&description.config_maps);
    if !config_maps.is_empty() {
        line(&mut text, 2, &format!("# configMaps: {}", list(&config_maps)));
    }
    let made = once(&description.cluster_ids);
    if !made.is_empty() {
        line(&mut text, 2, &format!("# createsConfigMaps: {}", list(&made)));
    }
    let labels: Vec<_> = description.node_labels.iter().filter(|it| *it != "*").cloned().collect();
    if !labels.is_empty() {
        line(&mut text, 2, &format!("nodeLabels: {}", list(&labels)));
    }
    line(&mut text, 0, if description.endpoints.is_empty() { "endpoints: []" } else { "endpoints:" });
    description.endpoints.iter().for_each(|it| endpoint(&mut text, it));
    credentials(&mut text, description);
    text
}

fn once(keys: &[ConfigMapKey]) -> Vec<String> {
    keys.iter().map(|it| it.config_map.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn line(text: &mut String, indent: usize, content: &str) {
    let _ = writeln!(text, "{:indent$}{content}", "");
}

/// Those that have to be given, and the others as comments.
fn settings(text: &mut String, settings: &[Setting]) {
    let needed: Vec<_> = settings.iter().filter(|it| it.required).collect();
    match (needed.is_empty(), settings.is_empty()) {
        (_, true) => return,
        (true, false) => line(text, 2, "settings: {}"),
        (false, false) => line(text, 2, "settings:"),
    }
    for setting in needed {
        line(text, 4, &format!("{}: {FILL_IN} # {}", quoted(&setting.name), setting.doc));
    }
    for setting in settings.iter().filter(|it| !it.required) {
        let default = setting.default.as_deref().map_or_else(String::new, |it| format!(" Default: {it}."));
        line(text, 4, &format!("# {}: … {}{default}", quoted(&setting.name), setting.doc));
    }
}

/// An item of `endpoints`, as it would be written for this one.
pub(crate) fn endpoint_section(described: &Endpoint) -> String {
    let mut text = String::new();
    endpoint(&mut text, described);
    text
}

fn endpoint(text: &mut String, endpoint: &Endpoint) {
    let signed = alibaba(endpoint);
    let Endpoint { name, purpose, example_base_url, headers, operation, parameters, allow } = endpoint;
    line(text, 2, &format!("- name: {} # {purpose}", quoted(name)));
    line(text, 4, &format!("baseUrl: {}", quoted(example_base_url)));
    line(text, 4, &format!("credential: {CREDENTIAL}"));
    if let Some((service, region)) = aws(example_base_url) {
        line(text, 4, &format!("signing: {{ region: {region}, service: {service} }}"));
    }
    if let Some(signed) = signed {
        line(text, 4, &format!("signing: {{ version: {} }}", quoted(signed.version)));
    }
    match operation {
        Some(OperationPlace::Parameter(name)) => {
            line(text, 4, &format!("operation: {{ parameter: {} }}", quoted(name)));
        }
        Some(OperationPlace::Header(name)) => line(text, 4, &format!("operation: {{ header: {} }}", quoted(name))),
        None => {}
    }
    if !parameters.is_empty() {
        let all: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value))).collect();
        line(text, 4, &format!("parameters: {{ {} }}", all.join(", ")));
    }
    if !headers.is_empty() {
        line(text, 4, &format!("headers: {}", list(headers)));
    }
    line(text, 4, if allow.is_empty() { "allow: []" } else { "allow:" });
    allow.iter().for_each(|it| line(text, 6, &format!("- {it}")));
}

fn credentials(text: &mut String, description: &Description) {
    if description.endpoints.is_empty() {
        return;
    }
    line(text, 0, "credentials:");
    line(text, 2, &format!("- name: {CREDENTIAL}"));
    match description.endpoints.iter().find_map(|it| aws(&it.example_base_url)) {
        Some((_, region)) => {
            line(text, 4, &format!("sigv4: {{ region: {region}, sharedFile: {{ file: /etc/aerostat/credentials }} }}"));
        }
        None if description.endpoints.iter().all(is_google) => {
            line(text, 4, "google: { serviceAccountKey: { file: /etc/aerostat/google.json } }");
        }
        None if description.endpoints.iter().all(is_azure) => {
            let login = format!("tenant: {FILL_IN}, clientId: {FILL_IN}");
            line(text, 4, &format!("entra: {{ {login}, federatedToken: {{ file: /etc/aerostat/azure-token }} }}"));
        }
        None => match description.endpoints.iter().find_map(alibaba) {
            Some(AlibabaEndpoint { region, .. }) => {
                let files = "idFile: /etc/aerostat/access-key-id, secretFile: /etc/aerostat/access-key-secret";
                line(text, 4, &format!("acs3: {{ region: {region}, accessKey: {{ {files} }} }}"));
            }
            None => line(text, 4, "bearer: { file: /etc/aerostat/token }"),
        },
    }
}

/// The service and the region of an endpoint of AWS: `https://ec2.eu-central-1.amazonaws.com`.
pub(super) fn aws(base_url: &str) -> Option<(&str, &str)> {
    let host = base_url.strip_prefix("https://")?.split(['/', ':']).next()?;
    let name = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    name.split_once('.').filter(|(service, region)| !service.is_empty() && !region.contains('.'))
}
