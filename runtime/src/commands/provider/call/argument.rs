//! The argument of a call.

use std::path::Path;

use anyhow::{Context as _, Error, Result, bail};
use serde_json::Value;

use super::function::CallFunction;
use crate::commands::file;

/// The largest argument in a file, in bytes.
const ARGUMENT: u64 = 1 << 20;

/// Refuses a call about what bears the cluster's mark, where nobody has said which cluster it is.
pub(super) fn check_uid(function: CallFunction, uid: Option<&str>) -> Result<()> {
    if function.needs_cluster() && uid.is_none() {
        bail!(
            "{function} marks what it makes with the cluster's UID, and none was given; add --cluster-uid=$(kubectl get \
             namespace kube-system -o jsonpath='{{.metadata.uid}}')"
        );
    }
    Ok(())
}

/// Reads the argument of a call: JSON, or with `@` before it a file's.
pub(super) async fn read_argument(argument: Option<String>, function: CallFunction) -> Result<Value> {
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
