//! The demo's stage: aerostat, its log, and all changes in the cluster and in the cloud.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Event, Node, PersistentVolume, PersistentVolumeClaim, Service};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tests::aerostat::Aerostat;
use tests::simulator::Simulator;

use crate::audit::{Audit, is_refusal};
use crate::beside::{Beside, next_line};
use crate::cloud::Changes;
use crate::events::Events;
use crate::ground::Ground;
use crate::hostile;
use crate::names;
use crate::nodes::Nodes;
use crate::part;
use crate::screen::{Colour, Screen};
use crate::services::Services;
use crate::vendor::Shown;
use crate::volumes::Volumes;

/// How long anything may take before the demo says that it failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// After so many seconds, the log and the watches have told what has happened.
const CALM: f64 = 0.3;
/// The object of lines about a VolumeAttachment: its name is longer than the place for names.
const ATTACHMENT: &str = "attachment";
/// How often the cloud is polled.
const POLL: Duration = Duration::from_millis(20);

/// Everything that is watched, and what was seen of it.
pub(crate) struct Stage<V: Shown> {
    pub(crate) screen: Screen,
    pub(crate) cloud: Simulator<V::Cloud>,
    pub(crate) aerostat: Aerostat,
    /// The aerostat that makes disks, while another one does.
    pub(crate) beside: Option<Beside>,
    pub(crate) nodes: Nodes,
    pub(crate) services: Services,
    pub(crate) volumes: Volumes,
    pub(crate) events: Events,
    pub(crate) audit: Audit,
    /// Whether aerostat makes routes.
    pub(crate) has_routes: bool,
    is_part: bool,
    in_cloud: Changes,
    changes: BoxStream<'static, Result<Change>>,
}

/// A change in the cluster.
enum Change {
    Node(Box<Node>),
    NoNode(String),
    Service(Box<Service>),
    NoService(String),
    Claim(Box<PersistentVolumeClaim>),
    Volume(Box<PersistentVolume>),
    Attachment(Box<VolumeAttachment>),
    NoAttachment(String),
    Event(Box<Event>),
    Nothing,
}

impl<V: Shown> Stage<V> {
    pub(crate) fn new(screen: Screen, cloud: Simulator<V::Cloud>, aerostat: Aerostat, ground: &Ground) -> Stage<V> {
        let namespaced = |namespace: &str| Api::namespaced(ground.admin.clone(), namespace);
        let (all, own) = (watcher::Config::default, ground.service_namespace());
        let nodes = ground.selector().map_or_else(all, |it| all().labels(it));
        let mut changes = vec![
            watch(Api::all(ground.admin.clone()), nodes, Change::Node, Change::NoNode),
            watch(Api::namespaced(ground.admin.clone(), own), all(), Change::Service, Change::NoService),
        ];
        if ground.volumes::<V>().is_some() {
            let client = || ground.admin.clone();
            changes.push(watch(Api::namespaced(client(), own), all(), Change::Claim, |_| Change::Nothing));
            changes.push(watch(Api::all(client()), all(), Change::Volume, |_| Change::Nothing));
            changes.push(watch(Api::all(client()), all(), Change::Attachment, Change::NoAttachment));
        }
        // Events about nodes lie in `default`, those about the Service and the Lease beside these.
        let places: BTreeSet<_> = ["default", own, ground.namespace()].into();
        let events = places.into_iter().map(|it| watch(namespaced(it), all(), Change::Event, |_| Change::Nothing));
        changes.extend(events);
        let changes = stream::select_all(changes);
        Stage {
            screen,
            cloud,
            aerostat,
            beside: None,
            nodes: Nodes::default(),
            services: Services::default(),
            volumes: Volumes::default(),
            events: Events::default(),
            audit: Audit::default(),
            has_routes: false,
            is_part: ground.is_part(),
            in_cloud: Changes::default(),
            changes: changes.boxed(),
        }
    }

    /// Whether so many networks of pods have a route, and no other, if aerostat makes any.
    pub(crate) fn has_routes_for(&self, nodes: usize) -> bool {
        !self.has_routes || V::routes(self.cloud.account()) == nodes
    }

    /// The same stage with another aerostat, which leads once this one has ended.
    pub(crate) async fn restart(self, start: impl FnOnce() -> Result<Aerostat>) -> Result<Stage<V>> {
        self.aerostat.stop().await?;
        let mut aerostat = start()?;
        aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
        Ok(Stage { aerostat, ..self })
    }

    /// Shows what happens until that has happened which is waited for.
    pub(crate) async fn until(&mut self, what: &str, done: impl Fn(&Stage<V>) -> bool) -> Result<()> {
        let all = async {
            while !done(self) {
                self.step().await?;
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, all).await.with_context(|| format!("{what}: not in time"))?
    }

    /// Shows what is still on its way.
    pub(crate) async fn calm(&mut self) -> Result<()> {
        let since = self.screen.elapsed();
        while self.screen.elapsed() < since + CALM {
            self.step().await?;
        }
        Ok(())
    }

    /// Shows what happens until something ends that should not.
    pub(crate) async fn forever(&mut self) -> Result<()> {
        loop {
            self.step().await?;
        }
    }

    /// Shows what happens next, if anything does for a moment.
    async fn step(&mut self) -> Result<()> {
        tokio::select! {
            entry = self.aerostat.log.recv() => {
                self.audit.show(&self.screen, &entry.context("aerostat has ended")?)?;
            }
            entry = next_line(self.beside.as_mut()) => {
                let entry = entry?;
                if let Some(beside) = &mut self.beside {
                    beside.audit.show(&self.screen, &entry)?;
                }
            }
            change = self.changes.next() => self.show(change.context("a watch has ended")??)?,
            () = tokio::time::sleep(POLL) => {}
        }
        for line in self.in_cloud.describe::<V>(&self.cloud) {
            self.screen.happened(Colour::Dim, "cloud", &line)?;
        }
        Ok(())
    }

    /// Shows the log, and nothing else, until so many different requests were refused.
    pub(crate) async fn refusals(&mut self, count: usize) -> Result<()> {
        let all = async {
            while self.audit.refused.len() < count {
                let entry = self.aerostat.log.recv().await.context("aerostat has ended")?;
                if is_refusal(&entry) {
                    self.audit.show(&self.screen, &entry)?;
                }
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, all).await.context("no refusal in time")?
    }

    fn show(&mut self, change: Change) -> Result<()> {
        let (who, lines) = match change {
            Change::Node(node) => (node.name_any(), self.nodes.describe(&node)),
            Change::NoNode(name) => {
                self.nodes.forget(&name);
                (name, vec!["is gone".to_owned()])
            }
            Change::Service(service) if is_shown(&service) => (service.name_any(), self.services.describe(&service)),
            Change::NoService(name) => {
                self.services.forget(&name);
                (name, vec!["is gone".to_owned()])
            }
            Change::Claim(claim) => (claim.name_any(), self.volumes.describe_claim(&claim)),
            Change::Volume(volume) => ("PV".to_owned(), self.volumes.describe_volume(&volume)),
            Change::Attachment(it) => (ATTACHMENT.to_owned(), self.volumes.describe_attachment(&it)),
            Change::NoAttachment(name) => (ATTACHMENT.to_owned(), self.volumes.forget_attachment(&name)),
            Change::Event(event) if self.is_shown(&event) => match self.events.describe(&event) {
                Some((who, line, warning)) if !hostile::is_node::<V>(&who) => {
                    let colour = if warning { Colour::Yellow } else { Colour::Bold };
                    return self.screen.happened(colour, &who, &line);
                }
                _ => return Ok(()),
            },
            Change::Service(_) | Change::Event(_) | Change::Nothing => return Ok(()),
        };
        if hostile::is_node::<V>(&who) {
            return Ok(());
        }
        for (index, line) in lines.into_iter().enumerate() {
            self.screen.happened(Colour::Bold, if index == 0 { &who } else { "" }, &line)?;
        }
        Ok(())
    }
}

impl<V: Shown> Stage<V> {
    /// In a part of a cluster, those about what is the demo's.
    fn is_shown(&self, event: &Event) -> bool {
        let about = &event.involved_object;
        let is_node = || about.name.as_ref().is_some_and(|it| names::all::<V>().contains(it));
        !self.is_part || about.namespace.as_deref() == Some(part::NAMESPACE) || is_node()
    }
}

/// All but the API server's own.
fn is_shown(service: &Service) -> bool {
    service.name_any() != "kubernetes"
}

/// The objects of a kind, each as it is after a change, or its name if it is no more.
fn watch<K>(
    api: Api<K>,
    which: watcher::Config,
    is: fn(Box<K>) -> Change,
    is_gone: fn(String) -> Change,
) -> BoxStream<'static, Result<Change>>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
{
    watcher(api, which)
        .default_backoff()
        .map_ok(move |event| match event {
            watcher::Event::Apply(object) | watcher::Event::InitApply(object) => is(Box::new(object)),
            watcher::Event::Delete(object) => is_gone(object.name_any()),
            watcher::Event::Init | watcher::Event::InitDone => Change::Nothing,
        })
        .map_err(anyhow::Error::from)
        .boxed()
}
