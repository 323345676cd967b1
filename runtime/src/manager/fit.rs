//! The config's conditions for a provider, which every version of it has to meet, and the rights it gives.

use anyhow::{Context, Error, Result, bail};
use cloud_provider::Description;
use controllers::service::check_node_selector;
use egress::{Egress, Endpoint};
use tracing::{info, warn};

use crate::manager::claims;

/// The conditions of the flags and the config for the provider; they hold from start to end.
#[derive(Clone)]
pub(super) struct Fit {
    /// `--cloud-provider`.
    pub(super) name: Option<String>,
    /// How errors call the config: "cannot use --cloud-config FILE".
    pub(super) file: String,
    pub(super) provider_id_prefixes: Vec<String>,
    pub(super) settings: Vec<(String, String)>,
    pub(super) node_labels: Vec<String>,
    pub(super) writes_annotations: Vec<String>,
    /// `provider.finalizers`.
    pub(super) finalizers: Vec<String>,
    /// `provider.configMaps`, each as "namespace/name".
    pub(super) config_maps: Vec<String>,
    /// `provider.createsConfigMaps`, each as "namespace/name".
    pub(super) creates_config_maps: Vec<String>,
    pub(super) egress: Egress,
}

impl Fit {
    /// Refuses a version that is not what the operator expects, or to which the config does not apply. `module` is how
    /// messages call its module.
    pub(super) fn check(&self, description: &Description, module: &str) -> Result<()> {
        check_name(self.name.as_deref(), description, module)?;
        let file = || self.file.clone();
        claims::check_prefixes(description, &self.provider_id_prefixes).with_context(file)?;
        check_annotations(&self.writes_annotations, description).with_context(file)?;
        check_finalizers(&self.finalizers, description).with_context(file)?;
        check_config_maps(&self.config_maps, description).with_context(file)?;
        check_created(&self.creates_config_maps, &self.config_maps, description).with_context(file)?;
        check_node_selector(description).map_err(Error::msg).with_context(file)
    }

    /// Says at length what a version asks for, and what of it is allowed.
    pub(super) fn say(&self, description: &Description) {
        let endpoints = self.endpoints();
        let allowed = self.config(&endpoints);
        // One record for each line of the table; a warning where somebody should look.
        for (line, is_odd) in claims::lines(&claims::table(description, &allowed)) {
            match is_odd {
                true => warn!("{line}"),
                false => info!("{line}"),
            }
        }
        for claims::MissingLine { endpoint, key, yaml } in claims::missing(description, allowed.endpoints) {
            warn!(
                "endpoint {endpoint} does not allow what the provider asks for; add this to its {key} in --cloud-config: {yaml}"
            );
        }
        let wider = claims::wider(description, allowed.endpoints);
        if let Some(first) = wider.first() {
            info!(
                "the config allows more than the provider asks for, in {} places; aerostat module inspect lists them. The \
                 first: {first}",
                wider.len()
            );
        }
    }

    /// The rights that the config gives, with these [`endpoints`](Self::endpoints).
    pub(super) fn config<'a>(&'a self, endpoints: &'a [&'a Endpoint]) -> claims::Config<'a> {
        claims::Config {
            prefixes: &self.provider_id_prefixes,
            endpoints,
            settings: &self.settings,
            node_labels: &self.node_labels,
            writes_annotations: &self.writes_annotations,
            finalizers: &self.finalizers,
            config_maps: &self.config_maps,
            creates_config_maps: &self.creates_config_maps,
        }
    }

    /// The operator's endpoints.
    pub(super) fn endpoints(&self) -> Vec<&Endpoint> {
        self.egress.endpoints().collect()
    }
}

/// `--cloud-provider`, if it is given, is what the operator expects to run.
fn check_name(expected: Option<&str>, description: &Description, module: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != description.name => bail!(
            "--cloud-provider is {expected}, and the {module} is the provider {}; correct the flag, leave it out, or \
             load another module",
            description.name
        ),
        Some(_) | None => Ok(()),
    }
}

/// Only annotations that the provider says it writes can be allowed.
fn check_annotations(allowed: &[String], description: &Description) -> Result<()> {
    check_known(
        "provider.writesAnnotations",
        allowed,
        ("writes", "write", "annotations"),
        &description.writes_annotations,
        description,
    )
}

/// Only finalizers that the provider describes can go.
fn check_finalizers(allowed: &[String], description: &Description) -> Result<()> {
    check_known("provider.finalizers", allowed, ("knows", "know", "finalizers"), &description.finalizers, description)
}

/// Only ConfigMaps of which the provider describes a value can be read.
fn check_config_maps(allowed: &[String], description: &Description) -> Result<()> {
    let read: Vec<_> = description.config_maps.iter().map(|it| it.config_map.clone()).collect();
    check_known("provider.configMaps", allowed, ("reads", "read", "ConfigMaps"), &read, description)
}

/// Only ConfigMaps that the provider asks for, and may read, can be made.
fn check_created(created: &[String], read: &[String], description: &Description) -> Result<()> {
    let asked: Vec<_> = description.cluster_ids.iter().map(|it| it.config_map.clone()).collect();
    check_known("provider.createsConfigMaps", created, ("asks for", "ask for", "ConfigMaps"), &asked, description)?;
    match created.iter().find(|it| !read.contains(it)) {
        Some(it) => {
            bail!(
                "provider.createsConfigMaps names {it}, of which the provider may read nothing; add it to provider.configMaps"
            )
        }
        None => Ok(()),
    }
}

/// Refuses what the operator allows at `key` and the provider does not describe.
fn check_known(
    key: &str,
    allowed: &[String],
    (does, verb, things): (&str, &str, &str),
    described: &[String],
    description: &Description,
) -> Result<()> {
    let provider = &description.name;
    match allowed.iter().find(|it| !described.contains(it)) {
        Some(it) if described.is_empty() => {
            bail!("{key} names {it}, and the provider {provider} {does} no {things}; remove it")
        }
        Some(it) => {
            bail!("{key} names {it}, which the provider {provider} does not {verb}; it {does} {}", described.join(", "))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        Description {
            name: "acme".to_owned(),
            writes_annotations: vec!["acme.example/id".to_owned()],
            ..Description::default()
        }
    }

    #[test]
    fn another_name_than_expected_is_refused_with_both() {
        assert!(check_name(None, &description(), "module file /p.wasm").is_ok());
        assert!(check_name(Some("acme"), &description(), "module file /p.wasm").is_ok());
        let error = check_name(Some("external"), &description(), "module file /p.wasm").unwrap_err().to_string();
        for part in ["--cloud-provider is external", "module file /p.wasm", "provider acme", "correct the flag"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn only_described_annotations_can_be_allowed() {
        assert!(check_annotations(&["acme.example/id".to_owned()], &description()).is_ok());
        let error = check_annotations(&["other/key".to_owned()], &description()).unwrap_err().to_string();
        assert!(error.contains("other/key") && error.contains("it writes acme.example/id"), "{error}");
        let silent = Description { writes_annotations: Vec::new(), ..description() };
        assert!(check_annotations(&["other/key".to_owned()], &silent).unwrap_err().to_string().contains("remove it"));
    }

    #[test]
    fn only_described_finalizers_and_config_maps_can_be_allowed() {
        let description = Description {
            finalizers: vec!["acme.example/earlier".to_owned()],
            config_maps: vec!["kube-system/acme/id".parse().unwrap()],
            ..description()
        };
        let allowed = |it: &str| [it.to_owned()];
        assert!(check_finalizers(&allowed("acme.example/earlier"), &description).is_ok());
        let error = check_finalizers(&allowed("other/key"), &description).unwrap_err().to_string();
        assert_eq!(
            error,
            "provider.finalizers names other/key, which the provider acme does not know; it knows acme.example/earlier"
        );
        assert!(check_config_maps(&allowed("kube-system/acme"), &description).is_ok());
        let error = check_config_maps(&allowed("kube-system/secret"), &description).unwrap_err().to_string();
        assert_eq!(
            error,
            "provider.configMaps names kube-system/secret, which the provider acme does not read; it reads kube-system/acme"
        );
    }

    #[test]
    fn only_config_maps_that_are_read_can_be_made() {
        let ids = vec!["kube-system/acme/id".parse().unwrap()];
        let description = Description { cluster_ids: ids, ..description() };
        let (acme, other) = (["kube-system/acme".to_owned()], ["kube-system/other".to_owned()]);
        assert!(check_created(&acme, &acme, &description).is_ok());
        let error = check_created(&acme, &[], &description).unwrap_err().to_string();
        assert!(error.ends_with("may read nothing; add it to provider.configMaps"), "{error}");
        let error = check_created(&other, &other, &description).unwrap_err().to_string();
        assert!(error.contains("does not ask for; it asks for kube-system/acme"), "{error}");
    }
}
