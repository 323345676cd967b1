//! `aerostat provider replay`: the calls of a recording, made again without the cloud.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result, bail};
use conformance::{Conversation, ReplayOrder, Replayer};
use egress::{BaseUrl, Endpoint, EndpointPlace};
use sandbox::Module;
use serde::Serialize;

use super::ask::ask;
use super::function::CallFunction;
use super::loaded::{LoadedCall, cluster, load};
use super::record;
use crate::commands::answer::CommandAnswer;
use crate::commands::described::{DescribedModule, skeleton};
use crate::commands::examined::examined;
use crate::commands::provider::module_file;
use crate::config::CloudConfig;
use crate::flags::ReplayFlags;

/// The result of a replay.
#[derive(Serialize)]
struct ReplayedConversation {
    calls: Vec<ReplayedCall>,
}

#[derive(Serialize)]
struct ReplayedCall {
    function: String,
    /// Sentences; none if all is as it was recorded.
    differences: Vec<String>,
}

impl fmt::Display for ReplayedConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, ReplayedCall { function, differences }) in (1..).zip(&self.calls) {
            let word = if differences.is_empty() { "as recorded" } else { "DIFFERS" };
            writeln!(f, "call {number}  {function:30} {word}")?;
            differences.iter().try_for_each(|it| writeln!(f, "    - {it}"))?;
        }
        let differing = self.calls.iter().filter(|it| !it.differences.is_empty()).count();
        writeln!(f, "{} calls, {differing} differ", self.calls.len())
    }
}

pub(crate) async fn run(flags: ReplayFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let ReplayFlags { file, recording, by_key, output } = flags;
    let conversation = record::read(&recording).await?;
    if conversation.calls.is_empty() {
        bail!("{} has no calls; add one with aerostat provider record", recording.display());
    }
    let module = module_file::read(&file).await?;
    let config = config_of(&recording, &conversation, &module, compiler).await?;
    let order = if by_key { ReplayOrder::ByKey } else { ReplayOrder::Strict };
    let replayer = Arc::new(Replayer::new(conversation.exchanges(), order));
    let in_recording = format!("cannot use {}", recording.display());
    let of = cluster(&conversation.cluster_name, &conversation.cluster_uid);
    let loaded = load(config, &in_recording, module, compiler, of, |_| replayer.clone()).await?;
    let LoadedCall { provider, .. } = loaded;
    let cloud = provider.cloud();
    let mut calls = Vec::new();
    for (number, call) in conversation.calls.into_iter().enumerate() {
        let function = CallFunction::parse(&call.function).map_err(Error::msg).with_context(|| in_recording.clone())?;
        replayer.begin(number);
        let outcome = ask(&cloud, function, call.argument, &conversation.cluster_name).await?;
        let mut differences = replayer.differences();
        if outcome.answer != call.answer {
            differences.push(format!("the answer is {}, and was {}", outcome.answer, call.answer));
        }
        calls.push(ReplayedCall { function: call.function, differences });
    }
    let replayed = ReplayedConversation { calls };
    Ok(match replayed.calls.iter().all(|it| it.differences.is_empty()) {
        true => CommandAnswer::good(&replayed, output),
        false => CommandAnswer::found_bad(&replayed, output),
    })
}

/// The config under which a recording of a module is played.
///
/// # Errors
///
/// If the recording is another provider's, or the module cannot be described.
pub(super) async fn config_of(
    recording: &Path,
    conversation: &Conversation,
    module: &Module,
    compiler: Option<&Path>,
) -> Result<CloudConfig> {
    let (name, digest) = (module.name(), module.digest());
    let description = examined(module.clone(), None, compiler).await?.description();
    if description.name != conversation.provider.name {
        bail!(
            "{} is of the provider {}, and {name} is {}; name the recording of this one",
            recording.display(),
            conversation.provider.name,
            description.name
        );
    }
    let config = skeleton(&DescribedModule { name, digest, description: &description });
    let config = CloudConfig::parse(&config).map_err(Error::msg).with_context(|| format!("no config allows {name}"))?;
    recorded(config, conversation)
}

/// The config that the module asks for, where it was recorded, and with nobody's credential.
fn recorded(mut config: CloudConfig, conversation: &Conversation) -> Result<CloudConfig> {
    config.credentials = Vec::new();
    config.provider.settings = conversation.settings.clone().into_iter().collect();
    let mut endpoints = Vec::new();
    for endpoint in config.endpoints {
        // One that was not recorded is answered by nothing.
        let place = match conversation.endpoints.get(&endpoint.name) {
            Some(url) => BaseUrl::parse(url)
                .map(EndpointPlace::Written)
                .map_err(|it| Error::msg(it.to_string()))
                .with_context(|| format!("the recording has endpoint {} at {url}", endpoint.name))?,
            None => endpoint.place.clone(),
        };
        endpoints.push(Endpoint { place, credential: None, signing: None, ..endpoint });
    }
    config.endpoints = endpoints;
    Ok(config)
}
