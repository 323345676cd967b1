//! What is observed of a run: requests, events, objects, and the states that a watch sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::TryStreamExt;
use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tests::script::Question;
use tokio::task::JoinSet;

use super::Play;
use crate::scenario::Event;
use crate::state::{self, History};

/// What was observed of aerostat until a second of the recording.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Node name and resource, as in `nodes/status`, of every request that could change something, refused ones
    /// included.
    pub(crate) writes: Vec<(String, String)>,
    pub(crate) events: Vec<Event>,
    /// As recordings call them: `Node n1`. `None`: gone.
    pub(crate) end: BTreeMap<String, Option<Value>>,
    pub(crate) history: History,
    pub(crate) calls: Vec<Question>,
    /// Why the process ended, if it did.
    pub(crate) ended: Option<String>,
}

impl Play<'_> {
    /// What was observed until now; requests and questions are counted up to the recording's last second.
    pub(crate) async fn observed(&mut self) -> Result<Observed> {
        self.cluster.audit().settle(&self.cluster.admin).await?;
        let late = self.zero.elapsed().saturating_sub(Duration::try_from_secs_f64(self.scenario.observed.duration)?);
        let last = Timestamp::now() - late;
        let calls = self.script.calls().into_iter().filter(|call| call.time.elapsed() >= late);
        if let Some(end) = self.aerostat.try_join_next() {
            self.ended = Some(format!("{end:?}"));
        }
        Ok(Observed {
            writes: self.writes(last)?,
            events: self.events()?,
            end: self.end().await?,
            history: self.history.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            calls: calls.map(|call| call.question).collect(),
            ended: self.ended.clone(),
        })
    }

    fn writes(&self, last: Timestamp) -> Result<Vec<(String, String)>> {
        let passed = self.cluster.audit().writes()?.into_iter().filter(|it| it.received <= last);
        let mut writes: Vec<_> = passed.map(|it| (it.object.name.clone(), it.resource())).collect();
        for answered in self.faults.answered() {
            if answered.method == Method::GET || answered.time > last {
                continue;
            }
            let path = answered.uri.split('?').next().unwrap_or_default();
            let words: Vec<_> = path.split('/').skip_while(|word| *word != "nodes").collect();
            match words.as_slice() {
                [resource, name] => writes.push(((*name).to_owned(), (*resource).to_owned())),
                [resource, name, subresource] => writes.push(((*name).to_owned(), format!("{resource}/{subresource}"))),
                _ => bail!("{} was answered for a request that is not about a node", answered.uri),
            }
        }
        Ok(writes)
    }

    fn events(&self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for request in self.cluster.audit().events()? {
            ensure!((200..300).contains(&request.response.code), "an event was refused: {request:?}");
            let mut event = if request.verb == "create" {
                let mut event: Event = serde_json::from_value(request.body.clone())?;
                event.namespace = request.object.namespace.clone();
                event
            } else {
                Event { body: normalized_patch(&request.body), ..Event::default() }
            };
            event.verb.clone_from(&request.verb);
            events.push(event);
        }
        Ok(events)
    }

    async fn end(&self) -> Result<BTreeMap<String, Option<Value>>> {
        let nodes: Api<Node> = Api::all(self.cluster.admin.clone());
        let listed = nodes.list(&ListParams::default()).await?.items;
        let mut end = BTreeMap::new();
        for name in self.scenario.observed.end.keys() {
            let node = listed.iter().find(|node| format!("Node {}", node.name_any()) == *name);
            end.insert(name.clone(), node.map(serde_json::to_value).transpose()?);
        }
        Ok(end)
    }
}

/// The body of a patch that counts a repeated event, with its time as recordings write it.
fn normalized_patch(body: &Value) -> Value {
    let mut body = body.clone();
    if body["lastTimestamp"].is_string() {
        body["lastTimestamp"] = json!("<time>");
    }
    body
}

/// Watches all nodes from now on, and writes down the states that they go through.
pub(super) async fn watch(admin: &Client, history: Arc<Mutex<History>>) -> Result<JoinSet<Result<()>>> {
    let nodes: Api<Node> = Api::all(admin.clone());
    let from = nodes.list(&ListParams::default()).await?.metadata.resource_version.context("a list has a version")?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let changes = nodes.watch(&WatchParams::default(), &from).await?;
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.try_next().await? {
            if let WatchEvent::Added(node) | WatchEvent::Modified(node) = change {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                state::see(&mut history, &serde_json::to_value(node)?);
            }
        }
        Ok(())
    });
    Ok(tasks)
}
