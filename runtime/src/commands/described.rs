//! Pages that are made of a module's description, for operators, READMEs and clusters. Pure.

mod access_rules;
mod admission_policy;
mod config;
mod custom_roles;
mod module;
mod network_policy;
mod permissions;
mod ram_policy;
mod readme;
mod role_definition;
mod values;
mod yaml;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub(super) use self::config::{endpoint_section, skeleton};
pub(super) use self::module::DescribedModule;
pub(super) use self::yaml::quoted;
use crate::config::CloudConfig;
use crate::flags::DescribedPage;

/// A page: a text, and the same as a value.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct ModulePageText {
    #[serde(skip)]
    text: String,
    value: Value,
}

impl fmt::Display for ModulePageText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Writes a page about a module.
///
/// # Errors
///
/// A sentence, if the description has nothing for this page.
pub(super) fn page(
    module: &DescribedModule<'_>,
    page: DescribedPage,
    config: Option<&CloudConfig>,
) -> Result<ModulePageText, String> {
    let description = module.description;
    match page {
        DescribedPage::Config => {
            let text = skeleton(module);
            let value = yaml::read(&text);
            Ok(ModulePageText { text, value })
        }
        DescribedPage::Readme => {
            Ok(ModulePageText { text: readme::tables(description), value: readme::value(description) })
        }
        DescribedPage::Permissions => {
            let (text, value) = permissions::needed(description, config)?;
            Ok(ModulePageText { text, value })
        }
        DescribedPage::NetworkPolicy => {
            let to = network_policy::Destinations::of(module, config)?;
            Ok(objects(&[network_policy::kubernetes(&to)]))
        }
        DescribedPage::CiliumNetworkPolicy => {
            let to = network_policy::Destinations::of(module, config)?;
            Ok(objects(&[network_policy::cilium(&to)]))
        }
        DescribedPage::AdmissionPolicy => Ok(objects(&admission_policy::policy(module)?)),
    }
}

/// Objects of Kubernetes: documents of YAML, or one object, or a List.
fn objects(all: &[Value]) -> ModulePageText {
    let text = all.iter().map(yaml::write).collect::<Vec<_>>().join("---\n");
    let value = match all {
        [one] => one.clone(),
        all => serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": all }),
    };
    ModulePageText { text, value }
}

#[cfg(test)]
mod tests;
