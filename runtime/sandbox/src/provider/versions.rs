//! The versions of one provider: which of them serves, and which of them a list began with.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    Cloud, CloudVolumes, Description, Error, Identity, Instances, LoadBalancerInventory, LoadBalancers,
    PersistentVolumes, Result, Routes,
};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use super::busy::Busy;
use super::load::ProviderParts;
use super::loaded::Loaded;
use super::{
    identity, instances, load_balancer_batches, load_balancer_inventory, load_balancers, persistent_volumes, routes,
    volumes,
};

/// How long a version that no longer serves is kept for the lists that began with it: no list takes longer.
const KEPT: Duration = Duration::from_secs(900);
/// So many of them are kept at most, whoever replaces them how often.
const MOST: usize = 4;
/// Around the number of the version that a cursor is of. A cursor without it is the first version's.
const MARK: char = '\u{1f}';

/// One version of a provider, loaded and checked.
pub(super) struct Version {
    pub(super) loaded: Arc<Loaded>,
    /// The version's capabilities.
    pub(super) cloud: Cloud,
}

/// All versions of one provider.
pub(super) struct Versions {
    pub(super) shared: ProviderParts,
    /// The capabilities of the version that was loaded first: controllers were started with these.
    pub(super) capabilities: Vec<&'static str>,
    serving: RwLock<ServingVersion>,
    descriptions: watch::Sender<Arc<Description>>,
    former: Mutex<Vec<(Arc<Version>, Instant)>>,
}

struct ServingVersion {
    version: Arc<Version>,
    /// Since when; `None` if from the start.
    since: Option<Instant>,
}

impl Versions {
    pub(super) fn new(shared: ProviderParts, first: Version) -> Self {
        Self {
            shared,
            capabilities: first.loaded.capabilities(),
            descriptions: watch::Sender::new(first.loaded.description.clone()),
            serving: RwLock::new(ServingVersion { version: Arc::new(first), since: None }),
            former: Mutex::default(),
        }
    }

    /// The version that serves. A call keeps it to its end.
    pub(super) fn serving(&self) -> Arc<Version> {
        self.serving.read().version.clone()
    }

    /// Since when it serves; `None` if from the start.
    pub(super) fn since(&self) -> Option<Instant> {
        self.serving.read().since
    }

    /// The description that the version that serves gives of itself.
    pub(super) fn descriptions(&self) -> watch::Receiver<Arc<Description>> {
        self.descriptions.subscribe()
    }

    /// Lets another version serve the calls that begin from now on. Answers the one before.
    pub(super) fn replace(&self, version: Arc<Version>, now: Instant) -> Arc<Version> {
        let Loaded { guard, description, created, .. } = &*version.loaded;
        let description = description.clone();
        // Another version may have changed since what this one has made.
        created.forget_all();
        let before = {
            let mut serving = self.serving.write();
            guard.serves();
            std::mem::replace(&mut *serving, ServingVersion { version: version.clone(), since: Some(now) }).version
        };
        self.descriptions.send_replace(description);
        let mut former = self.former.lock();
        prune(&mut former, now);
        former.retain(|(it, _)| it.number() != version.number() && it.number() != before.number());
        if former.len() >= MOST {
            former.remove(0);
        }
        former.push((before.clone(), now));
        before
    }

    /// The version that a list goes on with, and its own cursor. A list begins with the version that serves.
    pub(super) fn of_list(&self, cursor: Option<String>, now: Instant) -> Result<(Arc<Version>, Option<String>)> {
        let Some(cursor) = cursor else { return Ok((self.serving(), None)) };
        let (number, cursor) = split(&cursor).ok_or_else(unknown)?;
        let serving = Some(self.serving()).filter(|it| it.number() == number);
        let mut former = self.former.lock();
        prune(&mut former, now);
        let version = serving.or_else(|| Some(former.iter().find(|(it, _)| it.number() == number)?.0.clone()));
        Ok((version.ok_or_else(unknown)?, Some(cursor.to_owned())))
    }
}

impl Version {
    pub(super) fn new(loaded: Loaded) -> Self {
        let loaded = Arc::new(loaded);
        let Loaded {
            description,
            provider,
            instances,
            load_balancers,
            batches,
            inventory,
            routes,
            topologies,
            volumes: disks,
            ..
        } = &*loaded;
        let identity: Arc<dyn Identity> =
            Arc::new(identity::IdentityGuest { pre: provider.clone(), loaded: loaded.clone() });
        let cloud = Cloud {
            instances: instances.clone().map(|pre| -> Arc<dyn Instances> {
                Arc::new(instances::InstancesGuest { pre, loaded: loaded.clone(), lists: Arc::default() })
            }),
            load_balancers: load_balancers.clone().map(|pre| -> Arc<dyn LoadBalancers> {
                match batches.clone() {
                    Some((pre, description)) => {
                        Arc::new(load_balancer_batches::BatchesGuest::new(pre, description, loaded.clone()))
                    }
                    None => {
                        let busy = Busy::default();
                        Arc::new(load_balancers::LoadBalancersGuest { pre, loaded: loaded.clone(), busy })
                    }
                }
            }),
            routes: routes.clone().map(|(pre, description)| -> Arc<dyn Routes> {
                Arc::new(routes::RoutesGuest { pre, description, loaded: loaded.clone(), lists: Arc::default() })
            }),
            load_balancer_inventory: inventory.clone().map(|(pre, description)| -> Arc<dyn LoadBalancerInventory> {
                Arc::new(load_balancer_inventory::InventoryGuest { pre, description, loaded: loaded.clone() })
            }),
            persistent_volumes: topologies.clone().map(|(pre, description)| -> Arc<dyn PersistentVolumes> {
                Arc::new(persistent_volumes::PersistentVolumesGuest { pre, description, loaded: loaded.clone() })
            }),
            volumes: disks.clone().map(|(pre, description)| -> Arc<dyn CloudVolumes> {
                Arc::new(volumes::VolumesGuest { pre, description, loaded: loaded.clone(), lists: Arc::default() })
            }),
            ..Cloud::new(description.clone(), identity)
        };
        Self { loaded, cloud }
    }

    /// Makes the cursor of a page one that leads back to this version.
    pub(super) fn mark(&self, next: &mut Option<String>) {
        if let Some(next) = next
            && (self.number() > 0 || next.starts_with(MARK))
        {
            *next = format!("{MARK}{}{MARK}{next}", self.number());
        }
    }

    fn number(&self) -> u64 {
        self.loaded.guard.version()
    }
}

/// The number of the version that a cursor is of, and its own cursor; `None` for one that nobody has marked so.
fn split(cursor: &str) -> Option<(u64, &str)> {
    let Some(marked) = cursor.strip_prefix(MARK) else { return Some((0, cursor)) };
    let (number, cursor) = marked.split_once(MARK)?;
    Some((number.parse().ok()?, cursor))
}

fn prune(former: &mut Vec<(Arc<Version>, Instant)>, now: Instant) {
    former.retain(|(_, since)| now.saturating_duration_since(*since) < KEPT);
}

fn unknown() -> Error {
    Error::Unavailable(
        "the list began with a version of the provider that has been replaced; it begins again".to_owned(),
    )
}
