//! A cloud that does as it is told, and remembers what it was asked: the one that tests give to controllers.
//!
//! Each function has a [`Script`]. Until it is told otherwise it has the machines of [`ScriptedCloud::has`], and nothing else.

#![forbid(unsafe_code)]

mod provider;
mod script;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cloud_provider::{
    AccessMode, Cloud, CloudVolume, Deletion, Description, DesiredVolume, Instance, InventoryDescription,
    InventoryPage, KnownVolume, LoadBalancer, Node, Page, PodNetwork, Progress, Reply, Result, RouteChange,
    RouteDescription, RouteOutcome, RoutePage, Topology, TopologyDescription, Volume, VolumeAttachment, VolumeCreation,
    VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use self::script::Log;

pub use self::script::Script;

/// One answer for each thing that was asked about.
pub type Answers<T> = Reply<Vec<Result<T>>>;
/// Where a page begins, and how much it may hold.
pub type Place = (Option<String>, u32);

/// A cloud that does as it is told.
pub struct ScriptedCloud {
    /// The account behind the credential.
    pub identity: Script<(), Result<Option<String>>>,
    /// Whether calls are made at all now, of whatever kind.
    pub check: Script<(), Result<()>>,
    /// The machines of nodes.
    pub get: Script<Vec<Node>, Answers<Option<Instance>>>,
    /// A page of all machines.
    pub list: Script<Place, Reply<Result<Page>>>,
    /// The words for provider ids.
    pub canonical_ids: Script<Vec<String>, Vec<Result<String>>>,
    /// A step towards a load balancer, also right after a list.
    pub ensure: Script<LoadBalancer, Reply<Result<Progress>>>,
    /// A step towards its end.
    pub delete: Script<LoadBalancer, Reply<Result<Deletion>>>,
    /// A page of all load balancers.
    pub list_load_balancers: Script<Place, Reply<Result<InventoryPage>>>,
    /// To what routes for pod networks lead.
    pub next_hops: Script<Vec<PodNetwork>, Answers<String>>,
    /// A page of all routes.
    pub list_routes: Script<Place, Reply<Result<RoutePage>>>,
    /// A step with changes of routes.
    pub apply: Script<Vec<RouteChange>, Answers<RouteOutcome>>,
    /// Where volumes are.
    pub get_topology: Script<Vec<Volume>, Answers<Option<Topology>>>,
    /// A step towards a volume for a claim, and whether it is the first.
    pub create_volume: Script<(DesiredVolume, bool), Reply<Result<VolumeCreation>>>,
    /// A step towards the absence of one whose claim is gone.
    pub abandon_volume: Script<DesiredVolume, Reply<Result<VolumeDeletion>>>,
    /// A step towards the absence of a volume.
    pub delete_volume: Script<KnownVolume, Reply<Result<VolumeDeletion>>>,
    /// A step of a volume towards a machine.
    pub attach_volume: Script<(KnownVolume, String), Reply<Result<VolumeAttachment>>>,
    /// A step of a volume away from a machine.
    pub detach_volume: Script<(KnownVolume, String), Reply<Result<VolumeDetachment>>>,
    /// A step of a volume towards so many bytes.
    pub expand_volume: Script<(KnownVolume, u64), Reply<Result<VolumeExpansion>>>,
    /// The volumes with these handles.
    pub get_volumes: Script<Vec<String>, Answers<Option<CloudVolume>>>,
    /// A page of all volumes.
    pub list_volumes: Script<Place, Reply<Result<VolumePage>>>,
    log: Log,
    machines: Arc<Mutex<Vec<Instance>>>,
    /// Those whose `ensure` came right after a list.
    listed: Mutex<Vec<LoadBalancer>>,
    versions: watch::Sender<u64>,
    approved: AtomicU64,
    replaced: Mutex<Option<Instant>>,
    routes: Mutex<RouteDescription>,
    volumes: Mutex<TopologyDescription>,
    claimed_volumes: Mutex<VolumeDescription>,
    inventory: Mutex<InventoryDescription>,
}

impl Default for ScriptedCloud {
    fn default() -> Self {
        let (log, machines) = (Log::default(), Arc::<Mutex<Vec<Instance>>>::default());
        let (one, all) = (machines.clone(), machines.clone());
        Self {
            identity: Script::new(&log, |()| None, |()| Ok(None)),
            check: Script::new(&log, |()| None, |()| Ok(())),
            get: Script::new(
                &log,
                |nodes| Some(format!("get {}", texts(nodes.iter().map(|it| it.name.as_str())))),
                move |nodes| {
                    let machines = one.lock();
                    nodes.iter().map(|it| Ok(machine(&machines, it).cloned())).collect::<Vec<_>>().into()
                },
            ),
            list: Script::new(
                &log,
                |(cursor, limit)| Some(format!("list {} {limit}", cursor.as_deref().unwrap_or("0"))),
                move |place| {
                    let all = all.lock();
                    let (instances, next) = page(all.iter(), &place);
                    Ok(Page { instances: instances.into_iter().cloned().collect(), next, gaps: Vec::new() }).into()
                },
            ),
            canonical_ids: Script::new(&log, |_| None, |ids| ids.into_iter().map(Ok).collect()),
            ensure: Script::new(
                &log,
                |it| Some(format!("ensure {}", it.owner.name)),
                |_| Reply::from(Ok(Progress::NotManaged)),
            ),
            delete: Script::new(
                &log,
                |it| Some(format!("delete {}", it.owner.name)),
                |_| Reply::from(Ok(Deletion::Done)),
            ),
            list_load_balancers: Script::new(
                &log,
                |(cursor, _)| Some(format!("list-load-balancers {}", cursor.as_deref().unwrap_or("0"))),
                |_| Reply::from(Ok(InventoryPage::default())),
            ),
            next_hops: Script::new(
                &log,
                |them| Some(format!("next-hops {}", texts(them.iter().map(|it| it.node.name.as_str())))),
                |them| them.iter().map(|it| Ok(it.node.name.clone())).collect::<Vec<_>>().into(),
            ),
            list_routes: Script::new(
                &log,
                |(cursor, _)| Some(format!("list-routes {}", cursor.as_deref().unwrap_or("0"))),
                |_| Reply::from(Ok(RoutePage::default())),
            ),
            apply: Script::new(
                &log,
                |them| Some(format!("apply {}", texts(them.iter().map(|it| it.destination.as_str())))),
                |them| vec![Ok(RouteOutcome::Done); them.len()].into(),
            ),
            get_topology: Script::new(
                &log,
                |them| Some(format!("get-topology {}", texts(them.iter().map(|it| it.handle.as_str())))),
                |them| vec![Ok(None); them.len()].into(),
            ),
            create_volume: Script::new(
                &log,
                |(it, _)| Some(format!("create {}", it.name)),
                |(it, _)| Reply::from(Ok(VolumeCreation::Ready(Box::new(volume(&it))))),
            ),
            abandon_volume: Script::new(
                &log,
                |it| Some(format!("abandon {}", it.name)),
                |_| Reply::from(Ok(VolumeDeletion::Done)),
            ),
            delete_volume: Script::new(
                &log,
                |it| Some(format!("delete {}", it.handle)),
                |_| Reply::from(Ok(VolumeDeletion::Done)),
            ),
            attach_volume: Script::new(
                &log,
                |(it, node)| Some(format!("attach {} {node}", it.handle)),
                |_| Reply::from(Ok(VolumeAttachment::Ready(Vec::new()))),
            ),
            detach_volume: Script::new(
                &log,
                |(it, node)| Some(format!("detach {} {node}", it.handle)),
                |_| Reply::from(Ok(VolumeDetachment::Done)),
            ),
            expand_volume: Script::new(
                &log,
                |(it, bytes)| Some(format!("expand {} {bytes}", it.handle)),
                |(_, bytes)| Reply::from(Ok(VolumeExpansion::Ready { bytes, node_must_grow: true })),
            ),
            get_volumes: Script::new(
                &log,
                |them| Some(format!("get-volumes {}", texts(them.iter().map(String::as_str)))),
                |them| vec![Ok(None); them.len()].into(),
            ),
            list_volumes: Script::new(
                &log,
                |(cursor, _)| Some(format!("list-volumes {}", cursor.as_deref().unwrap_or("0"))),
                |_| Reply::from(Ok(VolumePage::default())),
            ),
            log,
            machines,
            listed: Mutex::default(),
            versions: watch::Sender::new(1),
            approved: AtomicU64::new(0),
            replaced: Mutex::default(),
            routes: Mutex::new(RouteDescription {
                batch_size: 1,
                concurrency: 1,
                page_size: 1,
                entries_per_route: 1,
                ip_families: Vec::new(),
            }),
            volumes: Mutex::new(TopologyDescription { batch_size: 1, sources: Vec::new(), drivers: Vec::new() }),
            claimed_volumes: Mutex::new(VolumeDescription {
                driver: "csi.fakecloud.example".to_owned(),
                access_modes: vec![AccessMode::OneNode],
                step_bytes: 1,
                largest_bytes: 1 << 50,
                get_batch_size: 1,
                list_page_size: 100,
                ..VolumeDescription::default()
            }),
            inventory: Mutex::new(InventoryDescription { page_size: 100, revisions: true }),
        }
    }
}

impl ScriptedCloud {
    /// A cloud whose credential belongs to this account.
    #[must_use]
    pub fn of_account(account: &str) -> Self {
        let cloud = Self::default();
        cloud.belongs_to(account);
        cloud
    }

    /// A cloud that has these machines.
    #[must_use]
    pub fn with(machines: impl IntoIterator<Item = Instance>) -> Self {
        let cloud = Self::default();
        cloud.machines.lock().extend(machines);
        cloud
    }

    /// Has these machines too from now on, in the place of those with their names.
    pub fn has(&self, machines: impl IntoIterator<Item = Instance>) {
        let mut all = self.machines.lock();
        for machine in machines {
            match all.iter_mut().find(|it| it.name == machine.name) {
                Some(known) => *known = machine,
                None => all.push(machine),
            }
        }
    }

    /// Has no machine with this name from now on.
    pub fn loses(&self, name: &str) {
        self.machines.lock().retain(|it| it.name != name);
    }

    /// The machines that it has, unless its scripts say something else.
    #[must_use]
    pub fn machines(&self) -> Vec<Instance> {
        self.machines.lock().clone()
    }

    /// The machine behind a node: by the provider id that it has, or else by its name.
    #[must_use]
    pub fn machine(&self, node: &Node) -> Option<Instance> {
        machine(&self.machines.lock(), node).cloned()
    }

    /// Names this account from now on. Whether the credential is another one, is said apart.
    pub fn belongs_to(&self, account: &str) {
        self.names(Ok(Some(account.to_owned())));
    }

    /// Answers this from now on when it is asked for the account.
    pub fn names(&self, account: Result<Option<String>>) {
        self.identity.answers(move |()| account.clone());
    }

    /// Is asked with another credential from now on.
    pub fn gets_another_credential(&self) {
        self.versions.send_modify(|it| *it += 1);
    }

    /// The version of credential and provider.
    #[must_use]
    pub fn version(&self) -> &watch::Sender<u64> {
        &self.versions
    }

    /// The version that was approved last; 0 if none was.
    #[must_use]
    pub fn approved(&self) -> u64 {
        self.approved.load(Ordering::Relaxed)
    }

    /// Says that its provider has served since then.
    pub fn replaced_at(&self, since: Instant) {
        *self.replaced.lock() = Some(since);
    }

    /// Describes its routes like this.
    pub fn describes_routes(&self, description: RouteDescription) {
        *self.routes.lock() = description;
    }

    /// Describes its volumes like this.
    pub fn describes_volumes(&self, description: TopologyDescription) {
        *self.volumes.lock() = description;
    }

    /// Describes its volumes for claims like this.
    pub fn describes_claimed_volumes(&self, description: VolumeDescription) {
        *self.claimed_volumes.lock() = description;
    }

    /// Describes its lists of load balancers like this.
    pub fn describes_inventory(&self, description: InventoryDescription) {
        *self.inventory.lock() = description;
    }

    /// The questions until now about machines, load balancers, routes and volumes, in order: `get n1 n2`, `list 0 500`.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    /// The same, and forgets them.
    pub fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
    }

    /// The load balancers that `ensure` was asked for right after a list.
    #[must_use]
    pub fn listed(&self) -> Vec<LoadBalancer> {
        self.listed.lock().clone()
    }

    /// This cloud with its identity and no capability.
    #[must_use]
    pub fn offering(self: &Arc<Self>, description: Arc<Description>) -> Cloud {
        Cloud::new(description, self.clone())
    }
}

/// A page of all, and where the next one begins.
///
/// # Panics
///
/// If the cursor is none that this function made.
pub fn page<T>(all: impl IntoIterator<Item = T>, (cursor, limit): &Place) -> (Vec<T>, Option<String>) {
    let from: usize = cursor.as_ref().map_or(0, |it| it.parse().expect("the cursor is ours"));
    let mut rest = all.into_iter().skip(from);
    let items: Vec<_> = rest.by_ref().take(*limit as usize).collect();
    let next = rest.next().map(|_| (from + items.len()).to_string());
    (items, next)
}

/// The volume that is as it was asked for.
fn volume(desired: &DesiredVolume) -> CloudVolume {
    CloudVolume {
        handle: format!("handle-of-{}", desired.name),
        name: desired.name.clone(),
        bytes: desired.bytes,
        places: desired.places.iter().take(1).cloned().collect(),
        ..CloudVolume::default()
    }
}

fn machine<'a>(machines: &'a [Instance], node: &Node) -> Option<&'a Instance> {
    match &node.provider_id {
        Some(id) => machines.iter().find(|it| it.provider_id.as_ref() == Some(id)),
        None => machines.iter().find(|it| it.name == node.name),
    }
}

fn texts<'a>(them: impl Iterator<Item = &'a str>) -> String {
    them.collect::<Vec<_>>().join(" ")
}
