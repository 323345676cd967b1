//! The floor: a bare client that makes the same API requests for the same nodes, and knows what to write without asking.

use std::pin::pin;
use std::sync::Arc;

use anyhow::Result;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Event, EventSource, Node, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use tests::control_plane::ControlPlane;
use tests::kubelet;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

/// The bare client at work. Dropping it ends it.
pub(crate) struct Floor {
    _tasks: JoinSet<Result<()>>,
}

impl Floor {
    /// One that does something else.
    pub(crate) fn of(tasks: JoinSet<Result<()>>) -> Floor {
        Floor { _tasks: tasks }
    }

    /// Serves nodes with this many workers. Events are sent beside them, one after the other.
    pub(crate) fn start(client: &Client, workers: usize) -> Floor {
        let (found, nodes) = mpsc::unbounded_channel();
        let (served, events) = mpsc::unbounded_channel();
        let nodes = Arc::new(Mutex::new(nodes));
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(client.clone(), found));
        for _ in 0..workers {
            tasks.spawn(work(client.clone(), nodes.clone(), served.clone()));
        }
        tasks.spawn(send(client.clone(), events));
        Floor { _tasks: tasks }
    }
}

/// A client that the API server takes for aerostat.
pub(crate) async fn client(control_plane: &ControlPlane) -> Result<Client> {
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    Ok(Client::try_from(control_plane.config(&kubeconfig).await?)?)
}

async fn watch(client: Client, found: mpsc::UnboundedSender<Node>) -> Result<()> {
    let nodes: Api<Node> = Api::all(client);
    let mut nodes = pin!(watcher(nodes, watcher::Config::default()).applied_objects());
    while let Some(node) = nodes.try_next().await? {
        if kubelet::is_uninitialized(&node) {
            found.send(node)?;
        }
    }
    Ok(())
}

async fn work(
    client: Client,
    nodes: Arc<Mutex<mpsc::UnboundedReceiver<Node>>>,
    served: mpsc::UnboundedSender<Node>,
) -> Result<()> {
    let api: Api<Node> = Api::all(client);
    loop {
        let Some(node) = nodes.lock().await.recv().await else { return Ok(()) };
        let name = node.name_any();
        let (region, size) = ("nyc3", "s-1vcpu-1gb");
        let initialised = json!({
            "metadata": {
                "resourceVersion": node.resource_version(),
                "labels": {
                    "beta.kubernetes.io/instance-type": size,
                    "node.kubernetes.io/instance-type": size,
                    "failure-domain.beta.kubernetes.io/region": region,
                    "topology.kubernetes.io/region": region,
                },
            },
            "spec": { "providerID": format!("floor://{name}"), "taints": null },
        });
        let params = PatchParams::default();
        api.patch(&name, &params, &Patch::Merge(initialised)).await?;
        let addresses = json!({ "status": { "addresses": [
            { "type": "Hostname", "address": name },
            { "type": "InternalIP", "address": "10.114.0.1" },
            { "type": "ExternalIP", "address": "203.0.113.1" },
        ] } });
        api.patch_status(&name, &params, &Patch::Merge(addresses)).await?;
        served.send(node)?;
    }
}

async fn send(client: Client, mut served: mpsc::UnboundedReceiver<Node>) -> Result<()> {
    let events: Api<Event> = Api::namespaced(client, "default");
    while let Some(node) = served.recv().await {
        let now = Some(Time(jiff::Timestamp::now()));
        let event = Event {
            metadata: ObjectMeta { generate_name: Some(format!("{}.", node.name_any())), ..ObjectMeta::default() },
            involved_object: ObjectReference {
                kind: Some("Node".to_owned()),
                name: node.metadata.name.clone(),
                uid: node.metadata.uid.clone(),
                ..ObjectReference::default()
            },
            type_: Some("Normal".to_owned()),
            reason: Some("Synced".to_owned()),
            message: Some("Node synced successfully".to_owned()),
            source: Some(EventSource { component: Some("floor".to_owned()), host: None }),
            count: Some(1),
            first_timestamp: now.clone(),
            last_timestamp: now,
            ..Event::default()
        };
        events.create(&PostParams::default(), &event).await?;
    }
    Ok(())
}
