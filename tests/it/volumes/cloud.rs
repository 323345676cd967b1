//! A cloud with volumes, which does as it is told and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloud_provider::{Result, Topology, TopologyDescription, Volume};
use controllers::Account;
use scripted_cloud::ScriptedCloud;
use tests::rig::{FakeCloud, description};

/// The driver of its volumes.
pub(crate) const DRIVER: &str = "disk.fake.example";

/// The cloud.
pub(crate) struct Cloud {
    script: Arc<ScriptedCloud>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Result<Option<Topology>>>,
    /// How many answers are left out.
    lacks: usize,
}

impl Cloud {
    /// One that reads so many volumes in one call.
    pub(crate) fn new(batch_size: u32) -> Arc<Self> {
        let drivers = vec![DRIVER.to_owned()];
        let sources = vec!["awsElasticBlockStore".to_owned()];
        let (script, state) = (Arc::new(ScriptedCloud::default()), Arc::<Mutex<State>>::default());
        script.describes_volumes(TopologyDescription { batch_size, sources, drivers });
        let told = state.clone();
        script.get_topology.answers(move |volumes| {
            let state = lock(&told);
            let answer = |it: &Volume| state.answers.get(&it.handle).cloned().unwrap_or(Ok(None));
            volumes.iter().skip(state.lacks).map(answer).collect::<Vec<_>>().into()
        });
        Arc::new(Self { script, state })
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
        self.script.gets_another_credential();
    }

    /// The volumes of each call until now.
    pub(crate) fn calls(&self) -> Vec<Vec<Volume>> {
        self.script.get_topology.calls()
    }

    /// How many times it was asked about a volume.
    pub(crate) fn asked(&self, handle: &str) -> usize {
        self.calls().iter().flatten().filter(|it| it.handle == handle).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in these zones of the region `r1`.
pub(crate) fn zones(zones: &[&str]) -> Topology {
    let zones = zones.iter().map(|it| (*it).to_owned()).collect();
    Topology { region: Some("r1".to_owned()), zones, ..Topology::default() }
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        cloud_provider::Cloud {
            persistent_volumes: Some(self.script.clone()),
            ..self.script.offering(Arc::new(description()))
        }
    }

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.script.clone(), None)
    }
}
