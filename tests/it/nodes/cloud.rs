//! A cloud that does as it is told, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use cloud_provider::{Address, AddressKind, Error, Identity, Instance, Instances, Page, Reply, Result};
use tests::rig::{self, FakeCloud};
use tokio::sync::watch;

/// What the cloud answers about a node.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// This machine.
    Machine(Instance),
    /// There is none.
    None,
    /// This error.
    Error(Error),
    /// The provider panics.
    Panic,
}

/// A cloud that does as it is told.
pub(crate) struct Cloud {
    state: Mutex<Script>,
    /// Whether answers are held back.
    held: watch::Sender<bool>,
    /// The version of its credentials.
    versions: watch::Sender<u64>,
}

#[derive(Default)]
struct Script {
    answers: BTreeMap<String, Answer>,
    unlisted: Vec<String>,
    /// Machines that lists show as they were.
    lagging: BTreeMap<String, Instance>,
    calls: Vec<String>,
}

impl Default for Cloud {
    fn default() -> Self {
        Cloud { state: Mutex::default(), held: watch::Sender::new(false), versions: watch::Sender::default() }
    }
}

impl Cloud {
    /// From now on this is the answer about a node.
    pub(crate) fn tell(&self, node: &str, answer: Answer) {
        self.lock().answers.insert(node.to_owned(), answer);
    }

    /// From now on these machines are the answers about the nodes with their names.
    pub(crate) fn has(&self, machines: impl IntoIterator<Item = Instance>) {
        machines.into_iter().for_each(|it| self.tell(&it.name.clone(), Answer::Machine(it)));
    }

    /// Is asked with another credential from now on.
    pub(crate) fn gets_another_credential(&self) {
        self.versions.send_modify(|it| *it += 1);
    }

    /// Leaves a machine out of lists.
    pub(crate) fn does_not_list(&self, node: &str) {
        self.lock().unlisted.push(node.to_owned());
    }

    /// Shows these machines, and no others, in lists as they were, whatever is answered about them alone.
    pub(crate) fn lists_as_they_were(&self, machines: impl IntoIterator<Item = Instance>) {
        self.lock().lagging = machines.into_iter().map(|it| (it.name.clone(), it)).collect();
    }

    /// Holds every answer back, or lets them go.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// What it was asked until now, in order: `get n1`, `list`.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// How many times it was asked about a node alone.
    pub(crate) fn gets(&self, node: &str) -> usize {
        let call = format!("get {node}");
        self.calls().iter().filter(|it| **it == call).count()
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn free(&self) {
        let mut held = self.held.subscribe();
        held.wait_for(|held| !held).await.expect("the cloud has the sender");
    }
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        cloud_provider::Cloud {
            description: Arc::new(rig::description()),
            identity: self.clone(),
            instances: Some(self.clone()),
            load_balancers: None,
        }
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
impl Instances for Cloud {
    async fn get(&self, nodes: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        let answers = {
            let mut told = self.lock();
            told.calls.extend(nodes.iter().map(|it| format!("get {}", it.name)));
            told.answers.clone()
        };
        self.free().await;
        let answer = |node: &cloud_provider::Node| match answers.get(&node.name) {
            Some(Answer::Machine(instance)) => Ok(Some(instance.clone())),
            Some(Answer::Error(error)) => Err(error.clone()),
            Some(Answer::Panic) => panic!("the provider panics about {}", node.name),
            Some(Answer::None) | None => Ok(None),
        };
        nodes.iter().map(answer).collect::<Vec<_>>().into()
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        // As it is when it is asked, however late the answer comes.
        let page = {
            let mut told = self.lock();
            told.calls.push("list".to_owned());
            let listed = told.answers.iter().filter(|(name, _)| !told.unlisted.contains(name));
            let machines = listed.filter_map(|(name, answer)| match answer {
                Answer::Machine(instance) => Some(told.lagging.get(name).unwrap_or(instance)),
                Answer::None | Answer::Error(_) | Answer::Panic => None,
            });
            let from: usize = cursor.map_or(0, |it| it.parse().expect("the cursor is ours"));
            let mut rest = machines.skip(from);
            let instances: Vec<_> = rest.by_ref().take(limit as usize).cloned().collect();
            let next = rest.next().map(|_| (from + instances.len()).to_string());
            Page { instances, next, gaps: Vec::new() }
        };
        self.free().await;
        Ok(page).into()
    }
}

/// The machine behind node `n<nth>`.
pub(crate) fn machine(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        machine_type: Some("t1.micro".to_owned()),
        zone: Some("z1".to_owned()),
        region: Some("r1".to_owned()),
        addresses: vec![
            internal(&format!("10.1.{}.{}", nth / 256, nth % 256)),
            Address { kind: AddressKind::Hostname, value: format!("n{nth}") },
        ],
        ..Instance::default()
    }
}

/// An internal address.
pub(crate) fn internal(address: &str) -> Address {
    Address { kind: AddressKind::InternalIp, value: address.to_owned() }
}

/// An external address.
pub(crate) fn external(address: &str) -> Address {
    Address { kind: AddressKind::ExternalIp, value: address.to_owned() }
}
