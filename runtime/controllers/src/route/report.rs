//! Events and log lines about routes.

use std::collections::HashMap;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Error, Event};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cidr::Cidr;
use crate::events::{EventKind, Recorder};
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::provider_events::ProviderEvents;
use crate::route::listed::ListedRoute;
use crate::route::networks::{RefusedNetwork, WhyNoRoute};

/// How often the same is said of the Lease.
const REPEATED: Duration = Duration::from_secs(600);

/// Where events and warnings go.
pub(super) struct RouteReports {
    recorder: Recorder,
    lease: Option<ObjectReference>,
    metrics: Metrics,
    recorded: Mutex<ProviderEvents>,
    /// When what was said of the Lease last, by reason.
    said: Mutex<HashMap<&'static str, (String, Instant)>>,
}

impl RouteReports {
    pub(super) fn new(recorder: Recorder, lease: Option<ObjectReference>, metrics: Metrics) -> Self {
        Self { recorder, lease, metrics, recorded: Mutex::default(), said: Mutex::default() }
    }

    /// A route could not be made, in upstream's words.
    pub(super) fn failed_to_create(&self, node: &KubeNode, cidr: &Cidr, took: Duration, error: &Error) {
        let uid = node.metadata.uid.as_deref().unwrap_or_default();
        let message = format!(
            "Could not create route {uid} {cidr} for node {} after {}: {error}",
            node.name_any(),
            go_duration::WrittenDuration(took)
        );
        self.recorder.record(reference(node), EventKind::Warning, "FailedToCreateRoute", &message);
    }

    /// A route of somebody else stands where a node's should be.
    pub(super) fn conflict(&self, node: &KubeNode, foreign: &ListedRoute) {
        let route = &foreign.route;
        let leads = route.next_hop.as_ref().map_or(String::new(), |it| format!(", which leads to {it}"));
        self.once(
            node,
            "RouteConflict",
            format!(
                "the pod network {} of this node gets no route, because the cloud's route {} has this destination{leads}, \
                 and is not this cluster's: remove that route, or give the node another network",
                foreign.cidr, route.id
            ),
        );
    }

    /// A node's network gets no route.
    pub(super) fn refused(&self, refused: &RefusedNetwork) {
        let RefusedNetwork { node, cidr, why } = refused;
        let message = match why {
            WhyNoRoute::Outside => format!(
                "the pod network {cidr} of this node gets no route, because it is not inside --cluster-cidr: correct the \
                 flag, or give the node another network"
            ),
            WhyNoRoute::Taken(holder, held) => format!(
                "the pod network {cidr} of this node gets no route, because node {holder} has {held}: give this \
                 node another network"
            ),
        };
        self.once(node, "RouteConflict", message);
    }

    /// Routes stay although nobody has them.
    pub(super) fn withheld(&self, routes: usize, message: &str) {
        if self.about_lease("RouteDeletionWithheld", message.to_owned()) {
            self.metrics.routes_withheld.inc_by(routes as u64);
        }
    }

    /// The cloud refuses all new routes.
    pub(super) fn table_full(&self, routes: usize, waiting: usize, text: &str) {
        self.about_lease(
            "RouteTableFull",
            format!(
                "with {routes} routes in the cloud, all of {waiting} new ones were refused: {text}. No new route is tried \
                 until one is deleted, or for an hour: raise the cloud's limit, or remove routes that nobody needs"
            ),
        );
    }

    /// The cloud has been busy with routes for a long time.
    pub(super) fn long_changing(&self, cidrs: &[Cidr]) {
        let cidrs: Vec<_> = cidrs.iter().map(Cidr::to_string).collect();
        warn!("the cloud has been changing its routes to {} for 15 min: look at them there", cidrs.join(", "));
    }

    /// Events of the provider, beside an answer.
    pub(super) fn of_provider(&self, events: Vec<Event>, nodes: &Nodes) {
        for event in events {
            let Some(node) = event.about.as_ref().and_then(|it| nodes.get(it)) else {
                info!(reason = event.reason, about = event.about, "the provider says: {}", event.message);
                continue;
            };
            if self.recorded.lock().is_new(&node.name_any(), &event, Instant::now()) {
                self.recorder.record(reference(&node), event.kind, &event.reason, &event.message);
            }
        }
    }

    /// Says something of a node, unless it was said lately.
    fn once(&self, node: &KubeNode, reason: &str, message: String) {
        let event = Event { about: None, kind: EventKind::Warning, reason: reason.to_owned(), message };
        if self.recorded.lock().is_new(&node.name_any(), &event, Instant::now()) {
            self.recorder.record(reference(node), event.kind, reason, &event.message);
        }
    }

    /// Says something of all routes, unless it was said lately. Returns whether it was said.
    fn about_lease(&self, reason: &'static str, message: String) -> bool {
        let now = Instant::now();
        let mut said = self.said.lock();
        if said.get(reason).is_some_and(|(text, at)| *text == message && now - *at < REPEATED) {
            return false;
        }
        warn!(reason, "{message}");
        if let Some(lease) = &self.lease {
            self.recorder.record(lease.clone(), EventKind::Warning, reason, &message);
        }
        said.insert(reason, (message, now));
        true
    }
}

/// A node as upstream's route controller refers to it.
fn reference(node: &KubeNode) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name_any()),
        uid: node.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}
