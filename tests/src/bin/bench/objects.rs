//! Many objects at once, as when a cluster grows.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tests::control_plane::ControlPlane;
use tests::{kubelet, wait};
use tokio::task::JoinSet;

use crate::cloud::name;

/// Clients that create objects at the same time.
const CLIENTS: usize = 32;

/// How long objects may take to go.
const PATIENCE: Duration = Duration::from_secs(120);

/// Creates objects, several at once, and returns when the last was there.
pub(crate) async fn create<K>(
    control_plane: &ControlPlane,
    objects: Vec<K>,
    api: fn(Client) -> Api<K>,
) -> Result<Instant>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let (objects, next) = (Arc::new(objects), Arc::new(AtomicUsize::new(0)));
    let mut creators = JoinSet::new();
    for _ in 0..CLIENTS.min(objects.len()) {
        let api = api(control_plane.admin().await?);
        let (objects, next) = (objects.clone(), next.clone());
        creators.spawn(async move {
            while let Some(object) = objects.get(next.fetch_add(1, Relaxed)) {
                api.create(&PostParams::default(), object).await?;
            }
            anyhow::Ok(Instant::now())
        });
    }
    let mut last = Instant::now();
    while let Some(created) = creators.join_next().await {
        last = last.max(created??);
    }
    Ok(last)
}

/// A node that waits for the cloud and is Ready otherwise: the node-lifecycle controller has nothing to do with it.
pub(crate) fn node(number: usize) -> Node {
    let mut node = kubelet::node(&name(number));
    let conditions = node.status.as_mut().and_then(|it| it.conditions.as_mut());
    for condition in conditions.into_iter().flatten() {
        "True".clone_into(&mut condition.status);
    }
    node
}

/// Waits until so many nodes are initialised, and returns when the last was.
pub(crate) async fn wait_for_nodes(control_plane: &ControlPlane, number: usize, time: Duration) -> Result<Instant> {
    let ready = |node: &Node| !kubelet::is_uninitialized(node) && !kubelet::addresses(node).is_empty();
    let api = Api::all(control_plane.admin().await?);
    wait_for(api, number, time, ready).await?.context("nodes still wait")
}

/// Waits until so many objects are as they should be, and returns when the last was. `None`: the time is over.
pub(crate) async fn wait_for<K>(
    api: Api<K>,
    number: usize,
    time: Duration,
    is_ready: impl Fn(&K) -> bool,
) -> Result<Option<Instant>>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut watch = pin!(watcher(api, watcher::Config::default()).applied_objects());
    let mut ready = BTreeSet::new();
    let all = async {
        while ready.len() < number {
            let object = watch.try_next().await?.context("the watch has ended")?;
            if is_ready(&object) {
                ready.insert(object.name_any());
            }
        }
        anyhow::Ok(Instant::now())
    };
    // An error of the clock is that the time is over.
    tokio::time::timeout(time, all).await.ok().transpose()
}

/// Removes nodes, Services and events. Nobody may be at work who keeps them.
pub(crate) async fn clear(control_plane: &ControlPlane) -> Result<()> {
    let admin = control_plane.admin().await?;
    let services: Api<Service> = Api::namespaced(admin.clone(), "default");
    for service in services.list(&ListParams::default()).await?.items {
        let name = service.name_any();
        if name == "kubernetes" {
            continue;
        }
        if !service.finalizers().is_empty() {
            let bare = json!({ "metadata": { "finalizers": null } });
            services.patch(&name, &PatchParams::default(), &Patch::Merge(bare)).await?;
        }
        services.delete(&name, &DeleteParams::default()).await?;
    }
    let nodes: Api<Node> = Api::all(admin.clone());
    let events: Api<Event> = Api::namespaced(admin, "default");
    nodes.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    let gone = wait::within(PATIENCE, async || {
        nodes.list_metadata(&ListParams::default()).await.ok().filter(|it| it.items.is_empty())
    });
    gone.await.context("nodes are not deleted").map(drop)
}
