//! `aerostat provider call`: one function of a provider, with the endpoints and credentials of a config; and the same recorded and replayed.

mod answers;
mod argument;
mod ask;
mod batches;
mod function;
mod loaded;
mod played;
pub(crate) mod record;
pub(crate) mod replay;
mod shown;
mod volumes;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Error, Result, bail};
use conformance::{ReplayOrder, Replayer};
use serde_json::{Value, json};

use self::answers::CallOutcome;
use self::argument::{check_uid, read_argument};
use self::ask::ask;
use self::function::CallFunction;
use self::loaded::{LoadedCall, cluster, load};
use self::played::PlayedRequests;
use self::shown::ShownRequests;
use super::module_file;
use crate::commands::answer::CommandAnswer;
use crate::config::CloudConfig;
use crate::flags::{CallFlags, Output};

pub(crate) async fn run(flags: CallFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let CallFlags { file, function, argument, cloud_config, recording, dry_run, cluster_name, cluster_uid, output } =
        flags;
    let function = CallFunction::parse(&function).map_err(Error::msg)?;
    let argument = read_argument(argument, function).await?;
    let (module, config, played) = match (cloud_config, recording) {
        (Some(path), _) => {
            check_uid(function, cluster_uid.as_deref())?;
            let config = CloudConfig::read(&path)?;
            let in_config = format!("cannot use --cloud-config {}", path.display());
            (module_file::read(&file).await?, (config, in_config), None)
        }
        (None, Some(path)) => {
            let conversation = record::read(&path).await?;
            let module = module_file::read(&file).await?;
            let config = replay::config_of(&path, &conversation, &module, compiler).await?;
            (module, (config, format!("cannot use {}", path.display())), Some(conversation))
        }
        (None, None) => bail!("there is neither a cloud nor a recording; add --cloud-config=FILE or --recording=FILE"),
    };
    let (name, uid) = match &played {
        Some(it) => (it.cluster_name.clone(), it.cluster_uid.clone()),
        None => (cluster_name, cluster_uid.unwrap_or_default()),
    };
    let replayer = played.map(|it| Replayer::new(it.exchanges(), ReplayOrder::ByKey));
    let watch = |egress: &egress::Egress| {
        Arc::new(PlayedRequests {
            shown: ShownRequests::new(egress.clone(), dry_run, output == Output::Text),
            replayer,
        })
    };
    let loaded = load(config.0, &config.1, module, compiler, cluster(&name, &uid), watch).await?;
    let LoadedCall { provider, watcher, .. } = loaded;
    let shown = &watcher.shown;

    let cloud = provider.cloud();
    let outcome = tokio::select! {
        biased;
        stopped = shown.stopped() => CallResult::Stopped(stopped),
        outcome = ask(&cloud, function, argument, &name) => CallResult::Answered(outcome?),
    };
    // The provider may have answered to the refusal before anybody looked.
    let outcome = match outcome {
        CallResult::Answered(_) if shown.has_stopped() => CallResult::Stopped(shown.stopped().await),
        outcome => outcome,
    };
    Ok(answered(&outcome, function, shown, output))
}

/// How a call has ended.
enum CallResult {
    Answered(CallOutcome),
    /// Before this request, which would have written.
    Stopped(Value),
}

fn answered(result: &CallResult, function: CallFunction, shown: &ShownRequests, output: Output) -> CommandAnswer {
    let (answer, events, is_error, stopped) = match result {
        CallResult::Answered(it) => (it.answer.clone(), it.events.clone(), it.is_error, Value::Null),
        CallResult::Stopped(request) => (Value::Null, Vec::new(), false, request.clone()),
    };
    let whole = match (output, result) {
        (Output::Json, _) => json!({
            "function": function.to_string(),
            "requests": shown.requests(),
            "events": events,
            "stoppedBefore": stopped,
            "answer": answer,
        }),
        (Output::Text, CallResult::Stopped(request)) => json!({ "stoppedBefore": request }),
        (Output::Text, CallResult::Answered(_)) => {
            for event in &events {
                let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
                eprintln!("event {} {}: {}", text("kind"), text("reason"), text("message"));
            }
            answer
        }
    };
    let mut text = serde_json::to_string_pretty(&whole).expect("values become JSON");
    text.push('\n');
    match is_error {
        true => CommandAnswer::Bad { text, complaint: String::new() },
        false => CommandAnswer::Good(text),
    }
}
