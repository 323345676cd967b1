//! `load-balancer-batches` as Rust, by hand: its world exports `load-balancers` too, whose types a second module could not share.

use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, ComponentType, InstancePre, Lift, Lower, TypedFunc,
};
use wasmtime::{AsContextMut as _, Store};

use super::host::aerostat::cloud::types::Error;
pub(crate) use super::host::aerostat::cloud::types::Node;
use super::load_balancers::exports::aerostat::cloud::load_balancers::{Deletion, LoadBalancer, Progress};

/// The interface's name among a component's exports.
const INTERFACE: &str = "aerostat:cloud/load-balancer-batches@0.1.0";

/// One load balancer of a batch.
#[derive(Clone, ComponentType, Debug, Lower)]
#[component(record)]
pub(crate) struct BatchItem {
    /// The desired state, without its nodes.
    #[component(name = "load-balancer")]
    pub(crate) load_balancer: LoadBalancer,
    /// Places in the batch's list of nodes.
    #[component(name = "nodes")]
    pub(crate) nodes: Vec<u32>,
}

/// The properties of batches, in a guest's words.
#[derive(Clone, ComponentType, Debug, Lift)]
#[component(record)]
pub(crate) struct BatchDescription {
    /// Load balancers in one call.
    #[component(name = "batch-size")]
    pub(crate) batch_size: u32,
    /// The most calls at a time.
    #[component(name = "concurrency")]
    pub(crate) concurrency: u32,
    /// How long the host waits for further ones.
    #[component(name = "gather-milliseconds")]
    pub(crate) gather_milliseconds: u32,
    /// Words that this host may not know.
    #[component(name = "extra")]
    #[expect(dead_code, reason = "nothing of it is known to this host")]
    pub(crate) extra: Vec<(String, String)>,
}

/// One answer for each load balancer of a batch.
pub(crate) type Answers<T> = Vec<Result<T, Error>>;

/// A component that exports `load-balancer-batches`.
pub(crate) struct ProvidesLoadBalancerBatchesPre<T: 'static> {
    pre: InstancePre<T>,
    describe: ComponentExportIndex,
    ensure: ComponentExportIndex,
    delete: ComponentExportIndex,
}

impl<T> Clone for ProvidesLoadBalancerBatchesPre<T> {
    fn clone(&self) -> Self {
        Self { pre: self.pre.clone(), describe: self.describe, ensure: self.ensure, delete: self.delete }
    }
}

impl<T: Send + 'static> ProvidesLoadBalancerBatchesPre<T> {
    /// Looks for its functions.
    ///
    /// # Errors
    ///
    /// If one is missing.
    pub(crate) fn new(pre: InstancePre<T>) -> wasmtime::Result<Self> {
        let component = pre.component();
        let interface = component.get_export_index(None, INTERFACE);
        let interface =
            interface.ok_or_else(|| wasmtime::Error::msg(format!("no exported instance named `{INTERFACE}`")))?;
        let function = |name: &str| {
            let index = component.get_export_index(Some(&interface), name);
            index.ok_or_else(|| {
                wasmtime::Error::msg(format!("instance export `{INTERFACE}` does not have export `{name}`"))
            })
        };
        let (describe, ensure, delete) = (function("describe")?, function("ensure")?, function("delete")?);
        Ok(Self { pre, describe, ensure, delete })
    }

    /// Calls `describe`, after a look at the types of all functions.
    pub(crate) async fn describe(&self, store: &mut Store<T>) -> wasmtime::Result<Result<BatchDescription, Error>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        instance.get_typed_func::<(Vec<BatchItem>, Vec<Node>), (Answers<Progress>,)>(&mut *store, &self.ensure)?;
        instance.get_typed_func::<(Vec<LoadBalancer>,), (Answers<Deletion>,)>(&mut *store, &self.delete)?;
        let describe = instance.get_typed_func(&mut *store, self.describe)?;
        called(&describe, store, ()).await
    }

    /// Calls `ensure`.
    pub(crate) async fn ensure(
        &self,
        store: &mut Store<T>,
        desired: Vec<BatchItem>,
        nodes: Vec<Node>,
    ) -> wasmtime::Result<Answers<Progress>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let ensure = instance.get_typed_func(&mut *store, self.ensure)?;
        called(&ensure, store, (desired, nodes)).await
    }

    /// Calls `delete`.
    pub(crate) async fn delete(
        &self,
        store: &mut Store<T>,
        unwanted: Vec<LoadBalancer>,
    ) -> wasmtime::Result<Answers<Deletion>> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let delete = instance.get_typed_func(&mut *store, self.delete)?;
        called(&delete, store, (unwanted,)).await
    }
}

async fn called<T, P, R>(function: &TypedFunc<P, (R,)>, store: &mut Store<T>, given: P) -> wasmtime::Result<R>
where
    T: Send + 'static,
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Lift + Send + Sync + 'static,
{
    let (answer,) = function.call_async(store.as_context_mut(), given).await?;
    Ok(answer)
}
