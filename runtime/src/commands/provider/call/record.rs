//! `aerostat provider record`: a call, kept with its requests in a file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result, bail};
use conformance::{Conversation, ConversationCall, ConversationProvider, ExchangeRecorder};
use egress::{EndpointPlace, GuestResponse, LeavingRequest, RequestWatcher, SendError, WatchedRequest};
use serde::Serialize;
use tokio::fs;

use super::argument::{check_uid, read_argument};
use super::ask::ask;
use super::function::CallFunction;
use super::loaded::{LoadedCall, cluster, load};
use super::shown::ShownRequests;
use crate::commands::answer::CommandAnswer;
use crate::commands::file;
use crate::commands::provider::module_file;
use crate::config::CloudConfig;
use crate::flags::{Output, RecordFlags};

/// The largest recording, in bytes.
const RECORDING: u64 = 64 << 20;

/// Requests that are shown, and kept.
struct KeptRequests {
    shown: ShownRequests,
    recorder: ExchangeRecorder,
}

impl RequestWatcher for KeptRequests {
    fn may_leave(&self, request: &LeavingRequest) -> bool {
        self.shown.may_leave(request)
    }

    fn answered(&self, request: &LeavingRequest, answer: &Result<GuestResponse, SendError>) {
        self.recorder.keep(request, answer);
    }

    fn ended(&self, request: &WatchedRequest) {
        self.shown.ended(request);
    }
}

/// The result of a recording.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordedResult {
    recording: String,
    /// In the file.
    calls: usize,
    #[serde(flatten)]
    call: ConversationCall,
}

impl fmt::Display for RecordedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recording, calls, call } = self;
        let requests = call.exchanges.len();
        writeln!(f, "recorded {} with {requests} requests; {recording} has {calls} calls", call.function)
    }
}

pub(crate) async fn run(flags: RecordFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let RecordFlags { file, recording, function, argument, cloud_config, cluster_name, cluster_uid, output } = flags;
    let function = CallFunction::parse(&function).map_err(Error::msg)?;
    let argument = read_argument(argument, function).await?;
    check_uid(function, cluster_uid.as_deref())?;
    let known = match fs::try_exists(&recording).await {
        Ok(false) => None,
        Ok(true) | Err(_) => Some(read(&recording).await?),
    };
    // Before anything is asked that could write.
    let folder = recording.parent().filter(|it| !it.as_os_str().is_empty());
    if folder.is_some_and(|it| !it.is_dir()) {
        bail!("cannot write {}; name a file in a folder that is there", recording.display());
    }
    let config = CloudConfig::read(&cloud_config)?;
    let module = module_file::read(&file).await?;
    let sha256 = module.digest().to_string();
    let settings: BTreeMap<_, _> = config.provider.settings.iter().cloned().collect();
    let uid = cluster_uid.unwrap_or_default();
    let watch = |egress: &egress::Egress| {
        let shown = ShownRequests::new(egress.clone(), false, output == Output::Text);
        Arc::new(KeptRequests { shown, recorder: ExchangeRecorder::default() })
    };
    let in_config = format!("cannot use --cloud-config {}", cloud_config.display());
    let of = cluster(&cluster_name, &uid);
    let LoadedCall { provider, egress, watcher } = load(config, &in_config, module, compiler, of, watch).await?;

    let endpoints = egress.endpoints().map(|it| (it.name.clone(), written(&it.place))).collect();
    let description = provider.description();
    let (name, version) = (description.name.clone(), description.version.clone());
    let said = ConversationProvider { name, version, sha256 };
    let fresh = Conversation::new(said, (cluster_name.clone(), uid), settings, endpoints);
    let mut conversation = match known {
        Some(known) => continued(known, fresh, &recording)?,
        None => fresh,
    };
    let outcome = ask(&provider.cloud(), function, argument.clone(), &cluster_name).await?;
    let exchanges = watcher.recorder.take();
    let call = ConversationCall { function: function.to_string(), argument, answer: outcome.answer, exchanges };
    conversation.calls.push(call.clone());
    let text = conversation.text();
    if egress.holds_secret(&text) {
        bail!(
            "the recording would hold a credential of {}, and was not written; leave it out of the settings and the argument",
            cloud_config.display()
        );
    }
    file::write(&recording, text.as_bytes(), true).await?;
    let result = RecordedResult { recording: recording.display().to_string(), calls: conversation.calls.len(), call };
    Ok(if outcome.is_error { CommandAnswer::found_bad(&result, output) } else { CommandAnswer::good(&result, output) })
}

/// The base URL of an endpoint: one out of a catalogue counts as at the first of its origins.
fn written(place: &EndpointPlace) -> String {
    match (place, place.origins().first()) {
        (EndpointPlace::Catalog(_), Some(origin)) => origin.to_string(),
        _ => place.to_string(),
    }
}

/// The recording in a file.
pub(crate) async fn read(path: &Path) -> Result<Conversation> {
    let bytes = file::read_up_to(path, RECORDING, "record fewer calls into one file").await?;
    Conversation::parse(&bytes).with_context(|| format!("cannot use {}", path.display()))
}

/// The known conversation goes on: one file is about one provider, cluster and cloud.
fn continued(known: Conversation, fresh: Conversation, path: &Path) -> Result<Conversation> {
    let differing = [
        ("another provider", known.provider.name != fresh.provider.name),
        ("another cluster", (&known.cluster_name, &known.cluster_uid) != (&fresh.cluster_name, &fresh.cluster_uid)),
        ("other settings", known.settings != fresh.settings),
        ("other endpoints", known.endpoints != fresh.endpoints),
    ];
    if let Some((other, _)) = differing.iter().find(|it| it.1) {
        bail!("{} was recorded with {other}; name another file, or remove this one", path.display());
    }
    Ok(Conversation { provider: fresh.provider, ..known })
}
