//! Observations of a run: requests, events, objects, and the states that a watch sees.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use futures::TryStreamExt;
use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::script::{Question, Route};
use tokio::task::JoinSet;

use super::routes::leads_to;
use super::{Play, living};
use crate::scenario::Event;
use crate::state::{self, History};

/// The observations of aerostat until a second of the recording.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Object and resource, as in `nodes/status`, of every request that could change something, refused ones included.
    pub(crate) writes: Vec<(String, String)>,
    pub(crate) events: Vec<Event>,
    /// As recordings call them: `Node n1`. `None`: gone.
    pub(crate) end: BTreeMap<String, Option<Value>>,
    pub(crate) history: History,
    pub(crate) calls: Vec<Question>,
    /// Destination and next hop of each route in the end.
    pub(crate) routes: Vec<(String, String)>,
    /// Why the process ended, if it did.
    pub(crate) ended: Option<String>,
}

impl Play<'_> {
    /// The observations until now; requests and questions are counted up to the recording's last second.
    pub(crate) async fn observed(&mut self) -> Result<Observed> {
        self.cluster.audit().settle(&self.cluster.admin).await?;
        let late = self.zero.elapsed().saturating_sub(self.lasts(self.scenario.last())?);
        let last = Timestamp::now() - late;
        let calls = self.script.calls().into_iter().filter(|call| call.time.elapsed() >= late);
        let about_living = |it: &Question| matches!(it, Question::Get { node, .. } if living::is_living(node));
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner).clone();
        history.retain(|name, _| !name.strip_prefix("Node ").is_some_and(living::is_living));
        if let Some(end) = self.aerostat.try_join_next() {
            self.ended = Some(format!("{end:?}"));
        }
        Ok(Observed {
            writes: self.writes(last)?,
            events: self.events()?,
            end: self.end().await?,
            history,
            calls: calls.map(|call| without_living(call.question)).filter(|it| !about_living(it)).collect(),
            routes: self.script.routes().into_iter().map(leads).collect(),
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
            let words: Vec<_> = path.split('/').skip_while(|word| !["nodes", "services"].contains(word)).collect();
            match words.as_slice() {
                [resource, name] => writes.push(((*name).to_owned(), (*resource).to_owned())),
                [resource, name, subresource] => writes.push(((*name).to_owned(), format!("{resource}/{subresource}"))),
                _ => bail!("{} was answered for a request that is not about a node or a Service", answered.uri),
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
        let mut there = values(&Api::<Node>::all(self.cluster.admin.clone())).await?;
        there.extend(values(&Api::<Service>::namespaced(self.cluster.admin.clone(), "default")).await?);
        let named = |name: &String| there.iter().find(|object| state::name(object) == *name).cloned();
        Ok(self.scenario.observed.end.keys().map(|name| (name.clone(), named(name))).collect())
    }
}

/// A route's destination, and to what it leads.
fn leads(it: Route) -> (String, String) {
    (it.destination, leads_to(it.next_hop, it.state == "blackhole"))
}

/// The same question without the living nodes.
fn without_living(mut question: Question) -> Question {
    if let Question::Ensure { nodes, .. } = &mut question {
        nodes.retain(|node| !living::is_living(node));
    }
    question
}

async fn values<K>(api: &Api<K>) -> Result<Vec<Value>>
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    Ok(api.list(&ListParams::default()).await?.items.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}

/// The body of a patch that counts a repeated event, with its time as recordings write it.
fn normalized_patch(body: &Value) -> Value {
    let mut body = body.clone();
    if body["lastTimestamp"].is_string() {
        body["lastTimestamp"] = json!("<time>");
    }
    body
}

/// Watches all nodes and Services from now on, and writes down the states that they go through.
pub(super) async fn watch(admin: &Client, history: Arc<Mutex<History>>) -> Result<JoinSet<Result<()>>> {
    let mut tasks = JoinSet::new();
    watch_all(&mut tasks, Api::<Node>::all(admin.clone()), history.clone()).await?;
    watch_all(&mut tasks, Api::<Service>::namespaced(admin.clone(), "default"), history).await?;
    Ok(tasks)
}

async fn watch_all<K>(tasks: &mut JoinSet<Result<()>>, api: Api<K>, history: Arc<Mutex<History>>) -> Result<()>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Serialize + Sync + 'static,
{
    let from = api.list(&ListParams::default()).await?.metadata.resource_version.context("a list has a version")?;
    tasks.spawn(async move {
        let changes = api.watch(&WatchParams::default(), &from).await?;
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.try_next().await? {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = change {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                state::see(&mut history, &serde_json::to_value(object)?);
            }
        }
        Ok(())
    });
    Ok(())
}
