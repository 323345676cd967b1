//! `aerostat provider check`.

use std::path::Path;
use std::sync::Arc;

use ::controllers::chain;
use anyhow::Result;
use cloud_provider::{Demand, Description};
use egress::{Credentials, Egress, EgressSettings, Endpoint};
use sandbox::Interfaces;

use super::checked::{CheckedModule, CheckedProvider};
use super::missing_yaml::{missing_labels, missing_yaml};
use super::module_file;
use crate::commands::answer::CommandAnswer;
use crate::commands::compared::compared;
use crate::commands::described::{DescribedModule, skeleton};
use crate::commands::examined::examined;
use crate::config::CloudConfig;
use crate::flags::CheckFlags;
use crate::manager::claims::check_prefixes;

/// The package of the contract.
const OURS: &str = "aerostat:cloud/";

pub(crate) async fn run(flags: CheckFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let CheckFlags { file, cloud_config, output } = flags;
    let config = cloud_config.as_deref().map(CloudConfig::read).transpose()?;
    let module = module_file::read(&file).await?;
    let mut checked = CheckedModule {
        file: module.name().to_owned(),
        sha256: module.digest().to_string(),
        size: module.size(),
        exports: Vec::new(),
        imports: Vec::new(),
        inert_imports: 0,
        contract: None,
        compile_milliseconds: None,
        provider: None,
        wrong: Vec::new(),
        missing: None,
        wider: None,
        yaml: None,
    };
    let (name, digest) = (module.name().to_owned(), module.digest());
    match Interfaces::of(&module) {
        Ok(interfaces) => list_interfaces(&mut checked, &interfaces),
        Err(error) => {
            checked.wrong.push(chain(&error));
            return Ok(CommandAnswer::found_bad(&checked, output));
        }
    }
    let provider = match examined(module, config.as_ref(), compiler).await {
        Ok(provider) => provider,
        Err(error) => {
            checked.wrong.push(chain(error.as_ref()));
            return Ok(CommandAnswer::found_bad(&checked, output));
        }
    };
    let description = provider.description();
    checked.compile_milliseconds = Some(provider.compile_time().as_millis());
    checked.provider = Some(counted(&description));
    let described = DescribedModule { name: &name, digest, description: &description };
    checked.wrong.extend(unwritable(&described));
    match &config {
        Some(config) => {
            let mut found = compared(&description, config);
            found.missing.extend(
                missing_labels(&description, config)
                    .iter()
                    .map(|it| format!("label {it} is not in provider.nodeLabels, and would be left out")),
            );
            let yaml = missing_yaml(&description, config);
            checked.yaml = Some(yaml).filter(|it| !it.is_empty());
            (checked.missing, checked.wider) = (Some(found.missing), Some(found.wider));
        }
        None => checked.wrong.extend(check_prefixes(&description, &[]).err().map(|it| it.to_string())),
    }
    Ok(match checked.is_good() {
        true => CommandAnswer::good(&checked, output),
        false => CommandAnswer::found_bad(&checked, output),
    })
}

fn list_interfaces(checked: &mut CheckedModule, interfaces: &Interfaces) {
    let own = |all: &[String]| -> Vec<String> {
        let names = all.iter().filter_map(|it| it.strip_prefix(OURS));
        names.map(|it| it.split('@').next().unwrap_or(it).to_owned()).collect()
    };
    (checked.exports, checked.imports) = (own(&interfaces.exports), own(&interfaces.imports));
    checked.inert_imports = interfaces.imports.len() - checked.imports.len();
    let provider = interfaces.exports.iter().find_map(|it| it.strip_prefix("aerostat:cloud/provider@"));
    checked.contract = provider.map(str::to_owned);
}

fn counted(description: &Description) -> CheckedProvider {
    CheckedProvider {
        name: description.name.clone(),
        version: description.version.clone(),
        provider_id_prefixes: description.provider_id_prefixes.clone(),
        endpoints: description.endpoints.len(),
        rules: description.endpoints.iter().map(|it| it.allow.len()).sum(),
        settings: description.settings.len(),
        annotations: description.annotations.len(),
    }
}

/// The reason why an operator cannot write the rules that the module asks for: a sentence.
fn unwritable(module: &DescribedModule<'_>) -> Option<String> {
    let refused = |because: &str| {
        format!("{} describes what no config can say, so that no operator can allow it: {because}", module.name)
    };
    let config = match CloudConfig::parse(&skeleton(module)) {
        Ok(config) => config,
        Err(because) => return Some(refused(&because)),
    };
    let settings = EgressSettings {
        // There is no secret here; whether a credential fits is the operator's matter.
        endpoints: config.endpoints.into_iter().map(|it| Endpoint { credential: None, signing: None, ..it }).collect(),
        credentials: Credentials::default(),
        fence: Arc::new(|| false),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let metrics = egress::Metrics::register(&prometheus::Registry::new()).ok()?;
    Egress::new(settings, metrics).err().map(|error| refused(&chain(&error)))
}
