//! `aerostat provider call`: one function of a provider, with the endpoints and credentials of a config.

mod answers;
mod ask;
mod function;
mod input;
mod shown;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result, bail};
use cloud_provider::{Cluster, Demand};
use egress::{Credentials, Egress, EgressSettings};
use sandbox::{Metrics, Provider, Sandbox};
use serde_json::{Value, json};

use self::answers::CallOutcome;
use self::ask::ask;
use self::function::CallFunction;
use self::shown::ShownRequests;
use super::module_file;
use crate::commands::answer::CommandAnswer;
use crate::commands::file;
use crate::config::CloudConfig;
use crate::flags::{CallFlags, Output};

/// The largest argument in a file, in bytes.
const ARGUMENT: u64 = 1 << 20;

pub(crate) async fn run(flags: CallFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let CallFlags { file, function, argument, cloud_config, dry_run, cluster_name, cluster_uid, output } = flags;
    let function = CallFunction::parse(&function).map_err(Error::msg)?;
    let argument = read_argument(argument, function).await?;
    if function.needs_cluster() && cluster_uid.is_none() {
        bail!(
            "{function} marks what it makes with the cluster's UID, and none was given; add --cluster-uid=$(kubectl get \
             namespace kube-system -o jsonpath='{{.metadata.uid}}')"
        );
    }
    let config = CloudConfig::read(&cloud_config)?;
    let module = module_file::read(&file).await?;
    let in_config = || format!("cannot use --cloud-config {}", cloud_config.display());
    let registry = prometheus::Registry::new();
    let credentials = Credentials::load(config.credentials).with_context(in_config)?;
    let settings = EgressSettings {
        endpoints: config.endpoints,
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress = Egress::new(settings, egress::Metrics::register(&registry)?).with_context(in_config)?;
    let shown = Arc::new(ShownRequests::new(egress.clone(), dry_run, output == Output::Text));
    let sandbox = Sandbox::new(config.provider.limits.memory)?;
    let sandbox = compiler.map_or(sandbox.clone(), |program| sandbox.compiling_with(program));
    let sandbox = sandbox.with_compile_limits(config.compile);
    let watched = egress.watched_by(shown.clone());
    let metrics = Metrics::register(&registry)?;
    let provider = Provider::load(&sandbox, module, config.provider, watched, metrics).await?;
    let uid = cluster_uid.unwrap_or_default();
    let cluster = Cluster { name: cluster_name.clone(), uid, ..Cluster::default() };
    provider.set_cluster(cluster);

    let cloud = provider.cloud();
    let outcome = tokio::select! {
        biased;
        stopped = shown.stopped() => CallResult::Stopped(stopped),
        outcome = ask(&cloud, function, argument, &cluster_name) => CallResult::Answered(outcome?),
    };
    // The provider may have answered to the refusal before anybody looked.
    let outcome = match outcome {
        CallResult::Answered(_) if shown.has_stopped() => CallResult::Stopped(shown.stopped().await),
        outcome => outcome,
    };
    Ok(answered(&outcome, function, &shown, output))
}

/// How a call has ended.
enum CallResult {
    Answered(CallOutcome),
    /// Before this request, which would have written.
    Stopped(Value),
}

async fn read_argument(argument: Option<String>, function: CallFunction) -> Result<Value> {
    let Some(argument) = argument else { return Ok(Value::Null) };
    let (text, place) = match argument.strip_prefix('@') {
        Some(path) => {
            let bytes = file::read_up_to(Path::new(path), ARGUMENT, "an argument of a call is smaller").await?;
            let text = String::from_utf8(bytes).with_context(|| format!("{path} is no text; write JSON into it"))?;
            (text, path.to_owned())
        }
        None => (argument, "the argument".to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::msg(format!("{place} of {function} is no JSON ({error}); write it as in {}", function.example()))
    })
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
