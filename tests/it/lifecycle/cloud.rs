//! A cloud that does as it is told, and remembers what it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use cloud_provider::{Error, Gap, Identity, Instance, Instances, Page, Reply, Result, State};
use controllers::Account;
use tests::rig::{self, FakeCloud};
use tokio::sync::watch;

/// What the cloud answers about one node, other than that it has the machine or has not.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// There is no machine, although it is listed.
    None,
    /// This error.
    Error(Error),
    /// Nothing, ever.
    Silence,
    /// The machine at every second question.
    EverySecond,
}

/// What the cloud answers about all machines, other than those that it has.
#[derive(Clone, Debug)]
pub(crate) enum List {
    /// This error.
    Error(Error),
    /// Nothing, ever.
    Silence,
    /// All but these.
    Without(BTreeSet<String>),
    /// All, and at every second question without these.
    EverySecondWithout(BTreeSet<String>),
    /// All but these, and it says why.
    Incomplete(BTreeSet<String>, String),
    /// All but those of this zone, and it says why.
    Gap(String, String),
}

/// A cloud that does as it is told.
pub(crate) struct Cloud {
    state: Mutex<Script>,
    /// Whether answers about single nodes are held back.
    held: watch::Sender<bool>,
    /// The version of its credential.
    versions: watch::Sender<u64>,
}

#[derive(Default)]
struct Script {
    machines: BTreeMap<String, Instance>,
    answers: BTreeMap<String, Answer>,
    everywhere: Option<Answer>,
    list: Option<List>,
    account: Option<String>,
    calls: Vec<String>,
}

impl Default for Cloud {
    fn default() -> Self {
        Cloud { state: Mutex::default(), held: watch::Sender::new(false), versions: watch::Sender::new(1) }
    }
}

impl Cloud {
    /// From now on it has these machines.
    pub(crate) fn has(&self, machines: impl IntoIterator<Item = Instance>) {
        self.lock().machines.extend(machines.into_iter().map(|it| (it.name.clone(), it)));
    }

    /// From now on it does not have this machine.
    pub(crate) fn loses(&self, name: &str) {
        self.lock().machines.remove(name);
    }

    /// From now on this is the answer about a node.
    pub(crate) fn answers(&self, node: &str, answer: Answer) {
        self.lock().answers.insert(node.to_owned(), answer);
    }

    /// From now on this is the answer about every node.
    pub(crate) fn always_answers(&self, answer: Answer) {
        self.lock().everywhere = Some(answer);
    }

    /// From now on this is the answer about all machines.
    pub(crate) fn lists(&self, list: List) {
        self.lock().list = Some(list);
    }

    /// From now on its credential is that of an account.
    pub(crate) fn belongs_to(&self, account: &str) {
        self.lock().account = Some(account.to_owned());
        self.versions.send_modify(|it| *it += 1);
    }

    /// Holds every answer about single nodes back, or lets them go.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// What it was asked until now, in order: `get n1`, `list`.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// How many times it was asked this.
    pub(crate) fn asked(&self, call: &str) -> usize {
        self.lock().asked(call)
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Script {
    fn asked(&self, call: &str) -> usize {
        self.calls.iter().filter(|it| *it == call).count()
    }

    fn machine(&self, node: &cloud_provider::Node) -> Option<Instance> {
        let found = match &node.provider_id {
            Some(id) => self.machines.values().find(|it| it.provider_id.as_ref() == Some(id)),
            None => self.machines.get(&node.name),
        };
        found.cloned()
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

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.clone(), None)
    }
}

#[async_trait]
impl Identity for Cloud {
    async fn identity(&self) -> Result<Option<String>> {
        Ok(self.lock().account.clone())
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.versions.subscribe()
    }
}

#[async_trait]
impl Instances for Cloud {
    async fn get(&self, nodes: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        let mut found = Vec::new();
        for node in nodes {
            let answer = {
                let mut told = self.lock();
                let call = format!("get {}", node.name);
                told.calls.push(call.clone());
                match told.answers.get(&node.name).or(told.everywhere.as_ref()) {
                    None => Some(Ok(told.machine(node))),
                    Some(Answer::None) => Some(Ok(None)),
                    Some(Answer::Error(error)) => Some(Err(error.clone())),
                    Some(Answer::Silence) => None,
                    Some(Answer::EverySecond) => {
                        Some(Ok(told.machine(node).filter(|_| told.asked(&call).is_multiple_of(2))))
                    }
                }
            };
            match answer {
                Some(answer) => found.push(answer),
                None => std::future::pending().await,
            }
        }
        let mut held = self.held.subscribe();
        held.wait_for(|held| !held).await.expect("the cloud has the sender");
        found.into()
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let (list, instances) = {
            let mut told = self.lock();
            if cursor.is_none() {
                told.calls.push("list".to_owned());
            }
            let second = told.asked("list").is_multiple_of(2);
            let hidden = match &told.list {
                Some(List::Without(hidden) | List::Incomplete(hidden, _)) => Some(hidden),
                Some(List::EverySecondWithout(hidden)) if second => Some(hidden),
                Some(List::EverySecondWithout(_) | List::Gap(..) | List::Error(_) | List::Silence) | None => None,
            };
            let silent = match &told.list {
                Some(List::Gap(zone, _)) => Some(zone.clone()),
                _ => None,
            };
            let seen = |it: &&Instance| {
                hidden.is_none_or(|hidden| !hidden.contains(&it.name)) && (silent.is_none() || it.zone != silent)
            };
            (told.list.clone(), told.machines.values().filter(seen).cloned().collect::<Vec<_>>())
        };
        let gap = match list {
            Some(List::Error(error)) => return Err(error).into(),
            Some(List::Silence) => std::future::pending().await,
            Some(List::Incomplete(_, reason)) => Some(Gap { zone: None, reason }),
            Some(List::Gap(zone, reason)) => Some(Gap { zone: Some(zone), reason }),
            Some(List::Without(_) | List::EverySecondWithout(_)) | None => None,
        };
        let from: usize = cursor.map_or(0, |it| it.parse().expect("the cursor is ours"));
        let mut rest = instances.into_iter().skip(from);
        let instances: Vec<_> = rest.by_ref().take(limit as usize).collect();
        let next = rest.next().map(|_| (from + instances.len()).to_string());
        Ok(Page { instances, next, gaps: gap.into_iter().collect() }).into()
    }

    /// In this cloud the case of letters does not count.
    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        provider_ids.iter().map(|it| Ok(it.to_lowercase())).collect()
    }
}

/// The running machine behind node `n<nth>`.
pub(crate) fn machine(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        state: State::Running,
        ..Instance::default()
    }
}

/// The same, stopped.
pub(crate) fn stopped(nth: usize) -> Instance {
    Instance { state: State::Stopped, ..machine(nth) }
}

/// The names of the machines behind nodes.
pub(crate) fn names(nodes: impl IntoIterator<Item = usize>) -> BTreeSet<String> {
    nodes.into_iter().map(|nth| format!("n{nth}")).collect()
}

/// A cloud without an answer.
pub(crate) fn unavailable() -> Error {
    Error::Unavailable("HTTP 500: cloud is down".to_owned())
}
