//! A cloud with volumes, which does as it is told and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use cloud_provider::{Identity, PersistentVolumes, Reply, Result, Topology, TopologyDescription, Volume};
use controllers::Account;
use tests::rig::{FakeCloud, description};
use tokio::sync::watch;

/// The driver of its volumes.
pub(crate) const DRIVER: &str = "disk.fake.example";

/// The cloud.
pub(crate) struct Cloud {
    description: TopologyDescription,
    state: Mutex<State>,
    versions: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Result<Option<Topology>>>,
    calls: Vec<Vec<Volume>>,
    /// How many answers are left out.
    lacks: usize,
}

impl Cloud {
    /// One that reads so many volumes in one call.
    pub(crate) fn new(batch_size: u32) -> Arc<Self> {
        let drivers = vec![DRIVER.to_owned()];
        let sources = vec!["awsElasticBlockStore".to_owned()];
        Arc::new(Self {
            description: TopologyDescription { batch_size, sources, drivers },
            state: Mutex::default(),
            versions: watch::Sender::new(1),
        })
    }

    /// Sets the answer about a volume from now on, by its handle. All others do not exist.
    pub(crate) fn answers(&self, handle: &str, answer: Result<Option<Topology>>) {
        self.lock().answers.insert(handle.to_owned(), answer);
    }

    /// Puts a volume into a zone of the region `r1`.
    pub(crate) fn has(&self, handle: &str, zone: &str) {
        self.answers(handle, Ok(Some(zones(&[zone]))));
    }

    /// Leaves so many answers out of each call.
    pub(crate) fn lacks(&self, answers: usize) {
        self.lock().lacks = answers;
    }

    /// Is asked with another credential from now on.
    pub(crate) fn gets_another_credential(&self) {
        self.versions.send_modify(|it| *it += 1);
    }

    /// The volumes of each call until now.
    pub(crate) fn calls(&self) -> Vec<Vec<Volume>> {
        self.lock().calls.clone()
    }

    /// How many times it was asked about a volume.
    pub(crate) fn asked(&self, handle: &str) -> usize {
        self.calls().iter().flatten().filter(|it| it.handle == handle).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in these zones of the region `r1`.
pub(crate) fn zones(zones: &[&str]) -> Topology {
    let zones = zones.iter().map(|it| (*it).to_owned()).collect();
    Topology { region: Some("r1".to_owned()), zones, ..Topology::default() }
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        cloud_provider::Cloud {
            persistent_volumes: Some(self.clone()),
            ..cloud_provider::Cloud::new(Arc::new(description()), self.clone())
        }
    }

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.clone(), None)
    }
}

#[async_trait]
impl Identity for Cloud {
    async fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.versions.subscribe()
    }
}

#[async_trait]
impl PersistentVolumes for Cloud {
    fn description(&self) -> Arc<TopologyDescription> {
        Arc::new(self.description.clone())
    }

    async fn get_topology(&self, volumes: &[Volume]) -> Reply<Vec<Result<Option<Topology>>>> {
        let mut state = self.lock();
        state.calls.push(volumes.to_vec());
        let answer = |it: &Volume| state.answers.get(&it.handle).cloned().unwrap_or(Ok(None));
        Reply::from(volumes.iter().skip(state.lacks).map(answer).collect::<Vec<_>>())
    }
}
