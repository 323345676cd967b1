//! Whether the provider crashes whatever it is asked: all functions that are about no object.

use cloud_provider::Reply;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use wasmtime::Store;

use super::guard::Crashed;
use super::loaded::Loaded;
use super::{identity, instances, load};
use crate::call::{CallAnswer, Earlier, Function, Permit, StoreState};

impl Loaded {
    /// Asks what the provider is, whose cloud it is, and for one machine. Errors are answers.
    ///
    /// # Errors
    ///
    /// The first call that did not return.
    pub(super) async fn probe(&self, permit: &Permit<'_>) -> Result<(), Crashed> {
        let described = load::describe(&self.calls, permit, &self.provider).await;
        described.map(drop).map_err(|crash| self.crashed(Function::Describe, crash))?;
        let provider = self.provider.clone();
        self.probed(permit, Function::Identity, |store| identity::ask(provider, store).boxed()).await?;
        let Some(instances) = self.instances.clone() else { return Ok(()) };
        self.probed(permit, Function::List, |store| instances::ask(instances, store, None, 1).boxed()).await
    }

    async fn probed<T: CallAnswer>(
        &self,
        permit: &Permit<'_>,
        function: Function,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> Result<(), Crashed> {
        let (Reply { answer, .. }, _) = self.calls.run(permit, function, Earlier::default(), &[], body).await;
        answer.map(drop).map_err(|crash| self.crashed(function, crash))
    }
}
