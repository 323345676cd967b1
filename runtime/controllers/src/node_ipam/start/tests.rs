//! The start beside an API server that a test makes up.

use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout};

use super::*;
use crate::events::Recorder;
use crate::events::recorded::RecordedEvent;
use crate::metrics::Metrics;
use crate::node_ipam::blocks;
use crate::node_ipam::range::Blocks;
use crate::nodes::Nodes;
use crate::worker::Reconcile;

fn node(name: &str, cidrs: &[&str]) -> Value {
    let spec = if cidrs.is_empty() { json!({}) } else { json!({ "podCIDR": cidrs[0], "podCIDRs": cidrs }) };
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "uid": name }, "spec": spec })
}

/// Requests to the API server, and the names of nodes whose patches it refuses.
#[derive(Clone, Default)]
struct Server {
    nodes: Arc<Mutex<Vec<Value>>>,
    refused: Arc<Mutex<Vec<&'static str>>>,
    patches: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answer(&self, method: &http::Method, path: &str) -> (u16, Value) {
        let name = path.strip_prefix("/api/v1/nodes").unwrap_or_default().trim_start_matches('/').to_owned();
        let nodes = self.nodes.lock();
        if name.is_empty() {
            return (200, json!({ "apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": &*nodes }));
        }
        let Some(node) = nodes.iter().find(|it| it["metadata"]["name"] == name) else { panic!("no node {name}") };
        if method == http::Method::PATCH {
            self.patches.lock().push(name.clone());
            if self.refused.lock().contains(&&*name) {
                let status = json!({ "kind": "Status", "status": "Failure", "message": "Too long: may not be more than \
                                      262144 bytes", "reason": "Invalid", "code": 422 });
                return (422, status);
            }
        }
        (200, node.clone())
    }

    fn allocator(&self) -> (RangeAllocator, Receiver<RecordedEvent>) {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (code, body) = server.answer(request.method(), request.uri().path());
            let response = http::Response::builder().status(code);
            async move { response.body(kube::client::Body::from(body.to_string().into_bytes())) }
        });
        let (recorder, events) = Recorder::captured();
        let known = self.nodes.lock().iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect::<Vec<_>>();
        let allocations = blocks(&[("10.244.0.0/16".parse().unwrap(), 24)], &[]).unwrap();
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let allocator = RangeAllocator {
            client: Client::new(service, "default"),
            nodes: Nodes::of(known),
            recorder,
            marks: true,
            may_write: Arc::new(|| true),
            blocks: Arc::new(Blocks::new(allocations, metrics.cidrs.clone())),
        };
        (allocator, events)
    }
}

#[tokio::test(start_paused = true)]
async fn adv_153_two_nodes_of_many_do_not_end_the_start() {
    let server = Server::default();
    server.nodes.lock().extend((0..5).map(|it| node(&format!("n{it}"), &[])));
    server.nodes.lock().extend(["evil-1", "evil-2"].map(|it| node(it, &["10.9.0.0/24"])));
    let (allocator, _events) = server.allocator();
    assert_eq!(allocator.start().await, Ok(()));
    server.nodes.lock().truncate(1);
    server.nodes.lock().extend(["evil-1", "evil-2"].map(|it| node(it, &["10.9.0.0/24"])));
    let (allocator, _events) = server.allocator();
    assert!(allocator.start().await.is_err(), "of three nodes two are most");
}

#[tokio::test(start_paused = true)]
async fn adv_153_a_node_that_takes_no_mark_keeps_nobody_waiting() {
    let server = Server::default();
    server.nodes.lock().extend(["evil", "good"].map(|it| node(it, &[])));
    server.refused.lock().push("evil");
    let (allocator, mut events) = server.allocator();
    let began = Instant::now();
    timeout(Duration::from_secs(60), allocator.start()).await.expect("it ends").unwrap();
    assert!(began.elapsed() >= PAUSE, "there is a pause between two attempts");
    let patches = std::mem::take(&mut *server.patches.lock());
    let of = |name: &str| patches.iter().filter(|it| *it == name).count();
    assert_eq!((of("evil"), of("good")), (TRIES, 1));
    let event = events.recv().await.unwrap();
    assert_eq!((&*event.reason, event.about.name.as_deref()), (UNMARKED, Some("evil")));
    // Others get their networks, and this one gets none until it is marked.
    assert!(allocator.sync("good").await.is_ok());
    assert!(matches!(allocator.sync("evil").await, Err(Error::Mark { .. })));
    assert!(allocator.blocks.with(|it| it.of("evil").is_none() && it.of("good").is_some()));
    server.refused.lock().clear();
    assert!(allocator.sync("evil").await.is_ok());
    assert!(allocator.blocks.with(|it| it.of("evil").is_some()));
}
