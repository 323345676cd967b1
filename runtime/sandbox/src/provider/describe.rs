//! Asking, at load, what one capability of a provider is like.

use futures::future::BoxFuture;
use wasmtime::Store;

use crate::bindings::host::aerostat::cloud::types::Error as WitError;
use crate::call::{Calls, Earlier, Function, StoreState, Success};
use crate::convert;

/// One call of a function that describes. The error is a sentence for a person.
pub(super) async fn ask<T: Success>(
    calls: &Calls,
    function: Function,
    body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<Result<T, WitError>>> + Send,
) -> Result<T, String> {
    let permit = calls.permit(function).await;
    let answer = calls.run(&permit, function, Earlier::default(), &[], body).await.0.answer;
    answer.map_err(|crash| calls.explain(function, &crash))?.map_err(|it| convert::error(it).to_string())
}
