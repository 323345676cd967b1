//! The argument of a call.

use std::path::Path;

use anyhow::{Context as _, Error, Result, bail};
use conformance::PageInput;
use serde::de::DeserializeOwned;
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

/// Where a page begins, and how much it holds: as much as the provider likes, where nothing is said.
pub(super) fn page(function: CallFunction, argument: Value, most: u32) -> Result<(Option<String>, u32)> {
    let page: PageInput = if argument.is_null() { PageInput::default() } else { read(function, argument)? };
    Ok((page.cursor, page.limit.unwrap_or(most)))
}

/// The argument of a function, as it is meant.
pub(super) fn read<T: DeserializeOwned>(function: CallFunction, argument: Value) -> Result<T> {
    let is_missing = argument.is_null();
    serde_json::from_value(argument).map_err(|error| {
        let because = if is_missing { "is missing".to_owned() } else { format!("cannot be read ({error})") };
        Error::msg(format!("the argument of {function} {because}; write it as in {}", function.example()))
    })
}
