use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Identity, Result};
use futures::FutureExt as _;
use wasmtime::Store;

use super::judged;
use super::loaded::Loaded;
use super::object::Subject;
use crate::bindings::description::ProvidesDescriptionPre;
use crate::bindings::host::aerostat::cloud::types::Error as WitError;
use crate::call::{Function, StoreState, Success};
use crate::convert;

/// The account that every provider names.
pub(super) struct IdentityGuest {
    pub(super) pre: ProvidesDescriptionPre<StoreState>,
    pub(super) loaded: Arc<Loaded>,
}

#[async_trait]
impl Identity for IdentityGuest {
    async fn identity(&self) -> Result<Option<String>> {
        let pre = self.pre.clone();
        let asked = self.loaded.call(Function::Identity, Subject::Nothing, |store| ask(pre, store).boxed());
        let (reply, seen) = asked.await;
        let identity = judged::account(&seen, reply.answer?.map_err(convert::error))?;
        convert::identity(identity).map_err(|because| self.loaded.unusable(Function::Identity, &because))
    }
}

impl Success for Option<String> {}

/// One call of `identity`, as it answered.
pub(super) async fn ask(
    pre: ProvidesDescriptionPre<StoreState>,
    store: &mut Store<StoreState>,
) -> wasmtime::Result<Result<Option<String>, WitError>> {
    let guest = pre.instantiate_async(&mut *store).await?;
    guest.aerostat_cloud_provider().call_identity(store).await
}
