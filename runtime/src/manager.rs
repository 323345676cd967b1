//! The tasks of the process, one line each. Whatever ends, ends the process with its reason.

pub(crate) mod claims;
mod cloud;
mod controllers;
mod ended;
mod events;
mod fit;
mod leases;
mod module;
mod node_ipam;
mod options;
mod registered;
mod start;
mod swap;
mod webhooks;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use ::controllers::{
    Account, ClusterFacts, Context, EventKind, Events, NodeDeletions, Nodes, Outage, RequestedChanges,
};
use egress::Report;
use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use self::cloud::LoadedProvider;
use self::ended::{any_ended, controller_ended, drained, hold, last_events, stopped};
use self::leases::{candidates, refused_module};
use self::registered::Registered;
use self::start::{ControllerStart, Lacking};
use self::swap::{OnLease, Swap};
use self::webhooks::ServedWebhooks;
use crate::api_server::{self, ApiServer};
use crate::cluster;
use crate::config::CloudConfig;
use crate::config_maps::ClusterConfigMaps;
use crate::failure::Failure;
use crate::flags::{ControllerName, LeaseOwner, RunSettings};
use crate::leader::{Kept, Leader};
use crate::networks::Watcher;
use crate::overrides::Overrides;
use crate::permissions::{Permissions, RoleRule, rules};
use crate::telemetry::{self, Health, HealthPages, ProviderPage, Reviewer, TelemetryServer};

/// The process, from when its provider is loaded.
struct Process {
    settings: RunSettings,
    client: Client,
    api_server: ApiServer,
    loaded: LoadedProvider,
    health: Arc<Health>,
    permissions: Permissions,
    running: telemetry::Metrics,
    metrics: ::controllers::Metrics,
    /// `None` without leader election.
    leader: Option<Leader>,
    /// `None` where none is served.
    webhooks: Option<ServedWebhooks>,
    /// The facts about the cluster that the provider's answers are held against.
    facts: watch::Sender<ClusterFacts>,
    /// The cloud's account, once something was to be asked of it.
    account: watch::Sender<Option<Account>>,
    swaps: swap::Metrics,
    /// The page about the provider.
    page: watch::Sender<Option<ProviderPage>>,
    /// `None` without leader migration.
    migration: Option<Leader>,
    /// The changes that Services ask for.
    requested: RequestedChanges,
    /// The nodes that were deleted.
    node_deletions: NodeDeletions,
    /// The egress's reports for people; taken by the task that records them.
    reports: mpsc::UnboundedReceiver<Report>,
    /// Each ends with its name, when it should not.
    tasks: JoinSet<&'static str>,
    /// Each ends with its name, when it was asked to, or with what keeps it from its work.
    controllers: JoinSet<Result<&'static str, Failure>>,
    stop: watch::Sender<bool>,
    /// Each ends when its recorders are gone and their events are sent.
    events: JoinSet<()>,
}

/// Runs until `shutdown` is ready, or until something ends that should not.
pub(crate) async fn run(
    settings: RunSettings,
    overrides: Overrides,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut shutdown = pin!(shutdown);
    let mut process = tokio::select! {
        biased;
        () = &mut shutdown => return Ok(()),
        process = Process::prepare(settings, overrides) => process?,
    };
    tokio::select! {
        biased;
        () = &mut shutdown => process.end().await,
        ended = process.work() => match ended? {},
    }
}

impl Process {
    /// Everything that comes before leading: the API server answers, and the provider has said what it is.
    async fn prepare(settings: RunSettings, overrides: Overrides) -> anyhow::Result<Self> {
        info!("aerostat {}, for the cluster {}", env!("CARGO_PKG_VERSION"), settings.cluster_name);
        for warning in &settings.warnings {
            warn!("{warning}");
        }
        let config = CloudConfig::read(&settings.cloud_config)?;
        let metrics = Registered::new()?;
        let health = Arc::new(Health::register(&metrics.slis)?);

        let api_server = ApiServer::find(&settings.api).await?;
        // The Lease must not wait behind the controllers' requests.
        let (client, unlimited) = match overrides.client {
            Some(client) => (client.clone(), client),
            None => {
                let requests = metrics.requests;
                (api_server.client(settings.api.limit, requests.clone())?, api_server.client(None, requests)?)
            }
        };

        let permissions = Permissions::new(unlimited.clone());
        // Without them a restart would not help, and another replica may not lack them.
        health.add_to_readiness("permissions", permissions.settled());

        let (mut events, requested) = (JoinSet::new(), RequestedChanges::default());
        let (mut leader, migration) = candidates(&settings, &unlimited, &requested, &metrics.elections, &mut events);
        if let Some(is_stuck) = leases::is_stuck(leader.as_ref(), migration.as_ref()) {
            health.add("leaderElection", move || !is_stuck());
        }
        let mut tasks = JoinSet::new();
        let (page, provider) = watch::channel(None);
        if let Some(serving) = &settings.serving {
            let reviewer = Reviewer::new(unlimited.clone());
            let (pages, slis) = (metrics.registry, metrics.slis);
            let answers = HealthPages { health: health.clone(), metrics: pages, slis, provider, reviewer };
            let server = TelemetryServer::bind(serving, answers).await?;
            tasks.spawn(async move { match server.run().await {} });
        }

        let asked = requested.clone();
        let (tell, reports) = mpsc::unbounded_channel();
        let (answers, answered) = watch::channel(false);
        let outside = cloud::ProviderInputs {
            config_maps: ClusterConfigMaps { client: unlimited.clone(), answered: answered.clone() },
            api_server: api_server.url().clone(),
            route: overrides.route,
            names: overrides.names,
            compiler: overrides.compiler,
            fence: Arc::new(leases::may_write(leader.as_ref(), migration.as_ref())),
            demands: Arc::new(move |window| asked.within(window, Instant::now())),
            // Nobody listens where there is no Lease: the log has it.
            reports: Arc::new(move |report| drop(tell.send(report))),
            egress_metrics: metrics.egress,
            metrics: metrics.sandbox,
        };
        // Most of the time until the Lease is the compiler's: it works while the API server is waited for. A provider that
        // does not load must not lead.
        let reached = async {
            api_server::wait(&unlimited, api_server.url()).await?;
            let _ = answers.send(true);
            Ok(())
        };
        let refused = refused_module(&settings, &unlimited, answered);
        let load = async { anyhow::Ok(cloud::load(&settings, config, outside, refused).await) };
        // Where both fail, the API server is reported, as ever.
        let ((), loaded) = tokio::try_join!(reached, load)?;
        let loaded = loaded?;
        let node_deletions = NodeDeletions::default();
        if let Some(leader) = &mut leader {
            let window = settings.node_lifecycle.budget_window;
            leader.keep(Kept::new(loaded.egress.write_counts(), requested.clone(), node_deletions.clone(), window));
        }
        let webhooks = ServedWebhooks::serve(&settings, &loaded.cloud, metrics.webhooks, &health, &mut tasks).await?;
        let egress = loaded.egress.clone();
        health.names_unreached(egress.unreached());
        tasks.spawn(async move {
            egress.watch_reach().await;
            "the watch of endpoints"
        });
        Ok(Self {
            settings,
            client,
            api_server,
            loaded,
            health,
            permissions,
            running: metrics.running,
            metrics: metrics.controllers,
            leader,
            webhooks,
            facts: watch::Sender::default(),
            account: watch::Sender::new(None),
            swaps: metrics.swaps,
            page,
            migration,
            requested,
            node_deletions,
            reports,
            tasks,
            controllers: JoinSet::new(),
            stop: watch::Sender::new(false),
            events,
        })
    }

    /// Leads and works. Returns only if something ends that should not.
    async fn work(&mut self) -> Result<Infallible, Failure> {
        self.replace_modules();
        let leader = self.leader.as_ref().map(|it| (it.recorder(), it.lease()));
        let tell = |message: &str| {
            if let Some((recorder, lease)) = &leader {
                recorder.record(lease.clone(), EventKind::Warning, "PermissionsMissing", message);
            }
        };
        let rules = rules(&self.settings, &controllers::running(&self.settings, &self.loaded.cloud));
        let lacking = tokio::select! {
            failure = any_ended(&mut self.tasks, &mut self.events) => return Err(failure),
            lacking = self.permissions.wait(&rules, tell) => lacking,
        };
        drop(leader);
        let known = if self.webhooks.is_some() { Some(self.know_cluster(false).await?) } else { None };
        if let Some(leader) = &mut self.leader {
            tokio::select! {
                failure = any_ended(&mut self.tasks, &mut self.events) => return Err(failure),
                () = leader.acquire() => {}
            }
        }
        let nodes = match known {
            Some(nodes) => nodes,
            None => self.know_cluster(true).await?,
        };
        self.report_on_the_lease();
        let context = Arc::new(self.context(&nodes));
        self.start_controllers(&context, LeaseOwner::Main, &lacking);
        if let Some(migration) = &mut self.migration {
            tokio::select! {
                failure = any_ended(&mut self.tasks, &mut self.events) => return Err(failure),
                Some(ended) = self.controllers.join_next() => return Err(controller_ended(ended)),
                lost = hold(&mut self.leader) => return Err(lost),
                () = migration.acquire() => {}
            }
            self.start_controllers(&context, LeaseOwner::Migration, &lacking);
        }
        // What records events ends with the controllers.
        drop(context);
        Err(tokio::select! {
            failure = any_ended(&mut self.tasks, &mut self.events) => failure,
            Some(ended) = self.controllers.join_next() => controller_ended(ended),
            lost = hold(&mut self.leader) => lost,
            lost = hold(&mut self.migration) => lost,
        })
    }

    /// Learns what the provider must not reach and what it works for: before, it is asked nothing about the cloud. Nodes are
    /// watched from then on. Whoever `leads` may lose the Lease meanwhile.
    async fn know_cluster(&mut self, leads: bool) -> Result<Nodes, Failure> {
        // A standby that asks its provider nothing needs no token: where a login is refused, Keystone counts the attempts of all replicas
        // together, and locks the user. With webhooks each replica asks.
        let credentials = self.loaded.credentials.clone();
        self.tasks.spawn(async move {
            credentials.watch().await;
            "the watch of credential files"
        });
        let url = self.api_server.url().clone();
        let (nodes, watch) = Nodes::watch(self.client.clone(), url.to_string());
        self.tasks.spawn(async move { match watch.await {} });
        let (networks, egress) = (self.loaded.cluster_networks.clone(), self.loaded.egress.clone());
        let said = options::facts(&self.settings, &self.loaded);
        let (client, facts) = (self.client.clone(), self.facts.clone());
        let watcher = Watcher { client, url, nodes: nodes.clone(), networks, facts, said, egress };
        let (client, settings) = (self.client.clone(), self.settings.clone());
        let config_maps = self.loaded.config_maps_and_ids();
        let known = async { tokio::join!(watcher.learn(), cluster::read(&client, &settings, &config_maps)) };
        let (learned, cluster) = tokio::select! {
            failure = any_ended(&mut self.tasks, &mut self.events) => return Err(failure),
            lost = hold(&mut self.leader), if leads => return Err(lost),
            known = known => known,
        };
        self.loaded.provider.set_cluster(cluster);
        self.tasks.spawn(async move { match watcher.follow(learned).await {} });
        let account = self.account();
        if let Some(webhooks) = &self.webhooks {
            webhooks.admit(&self.loaded.cloud, &account, &nodes);
        }
        Ok(nodes)
    }

    /// The cloud's account, which is remembered on the Lease.
    fn account(&self) -> Account {
        if let Some(account) = &*self.account.borrow() {
            return account.clone();
        }
        let lease = self.leader.as_ref().map(|it| (self.client.clone(), it.lease(), it.recorder()));
        let account = Account::new(self.loaded.cloud.identity.clone(), lease);
        self.account.send_replace(Some(account.clone()));
        account
    }

    /// Replaces the module of the provider when the config names another one: in the background, from now on.
    fn replace_modules(&mut self) {
        let (settings, client) = (&self.settings, &self.client);
        let lease = self.leader.as_ref().zip(settings.leader_election.as_ref());
        let on_lease = lease.map(|(leader, election)| OnLease::new(client.clone(), election, leader));
        let (account, metrics, page) = (self.account.subscribe(), self.swaps.clone(), self.page.clone());
        let swap = Swap::new(settings, &self.loaded, account, on_lease, metrics, page);
        // Among the controllers, as what reports on the Lease.
        self.controllers.spawn(swap.run(stopped(self.stop.subscribe())));
    }

    /// Reports with events on the Lease, if there is one.
    fn report_on_the_lease(&mut self) {
        let Some((recorder, about)) = self.leader.as_ref().and_then(|it| Some((it.recorder(), it.about()?))) else {
            return;
        };
        let (quarantine, provider) = (self.loaded.quarantine.clone(), self.loaded.provider.description().name.clone());
        let reports = std::mem::replace(&mut self.reports, mpsc::unbounded_channel().1);
        let stopped = stopped(self.stop.subscribe());
        // Among the controllers, so that it gives its recorder back before the last events are sent.
        self.controllers.spawn(events::on_the_lease(quarantine, provider, reports, recorder, about, stopped));
    }

    /// Which Leases a controller must hold while it writes.
    fn leaders(&self, controller: ControllerName) -> Vec<&Leader> {
        let migration = self
            .migration
            .as_ref()
            .filter(|_| LeaseOwner::of(controller, self.settings.leader_migration.as_ref()) == LeaseOwner::Migration);
        self.leader.iter().chain(migration).collect()
    }

    /// The context that the controllers share.
    fn context(&mut self, nodes: &Nodes) -> Context {
        let account = self.account();
        let (events, send) = Events::new(self.client.clone());
        self.events.spawn(send);
        let (client, metrics, stop) = (self.client.clone(), self.metrics.clone(), self.stop.subscribe());
        let unreached = self.loaded.egress.unreached();
        let outage = Outage::new(move || events::outage(&unreached.borrow()));
        Context::new(client, nodes.clone(), account, self.requested.clone(), metrics, events, stop)
            .counting(self.node_deletions.clone())
            .with_facts(self.facts.subscribe())
            .with_outage(outage)
    }

    /// Starts the controllers that run under this Lease, are asked for, exist, and can do their work with this provider. Those
    /// that lack a right start when they have it.
    fn start_controllers(
        &mut self,
        context: &Arc<Context>,
        owner: LeaseOwner,
        lacking: &[(ControllerName, Vec<RoleRule>)],
    ) {
        let (settings, cloud) = (&self.settings, &self.loaded.cloud);
        for controller in controllers::wanted(owner, settings, cloud) {
            let start = ControllerStart {
                controller,
                context: context.clone(),
                cloud: cloud.clone(),
                settings: settings.clone(),
                held: node_ipam::HeldLeases::all(&self.leaders(controller)),
                lease: self.leader.as_ref().and_then(Leader::about),
                health: self.health.clone(),
                running: self.running.clone(),
            };
            let Some((_, missing)) = lacking.iter().find(|(it, _)| *it == controller) else {
                start.now().into_iter().for_each(|running| drop(self.controllers.spawn(running)));
                continue;
            };
            let lacking = Lacking {
                missing: missing.clone(),
                permissions: self.permissions.clone(),
                recorder: self.leader.as_ref().map(Leader::recorder),
            };
            self.controllers.spawn(start.when_allowed(lacking, stopped(self.stop.subscribe())));
        }
    }

    /// Finishes what is in flight, gives the Lease back, and sends the last events.
    async fn end(mut self) -> Result<(), Failure> {
        info!("asked to end: finishing what is in flight");
        // Nobody listens if no controller runs.
        let _ = self.stop.send(true);
        let is_finished = tokio::select! {
            is_finished = drained(&mut self.controllers) => is_finished,
            lost = hold(&mut self.leader) => return Err(lost),
            lost = hold(&mut self.migration) => return Err(lost),
        };
        self.controllers.shutdown().await;
        let leaders = [self.migration.take(), self.leader.take()];
        leases::give_back(leaders, is_finished || self.settings.node_ipam.is_none()).await;
        last_events(self.events).await;
        self.tasks.shutdown().await;
        info!("ended");
        Ok(())
    }
}
