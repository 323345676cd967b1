//! A fake cloud that has machines, does as it is told, and remembers what it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloud_provider::{Error, Gap, Instance, Node, Page, Result};
use controllers::Account;
use scripted_cloud::{Place, ScriptedCloud, page};
use tokio::time::Instant;

use super::fake_cloud::{FakeCloud, description};

/// The cloud's answer about one node, other than that it has the machine or has not.
#[derive(Clone, Debug)]
pub enum Answer {
    /// This machine, whatever it was asked for.
    Machine(Instance),
    /// There is no machine, although it is listed.
    None,
    /// This error.
    Error(Error),
    /// The provider panics.
    Panic,
    /// Nothing, ever.
    Silence,
    /// The machine at every second question.
    EverySecond,
}

/// The cloud's answer about all machines, other than those that it has.
#[derive(Clone, Debug)]
pub enum List {
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
    /// All, but these as they were.
    AsTheyWere(BTreeMap<String, Instance>),
}

/// A cloud that does as it is told.
pub struct Cloud {
    script: Arc<ScriptedCloud>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    machines: BTreeMap<String, Instance>,
    answers: BTreeMap<String, Answer>,
    everywhere: Option<Answer>,
    list: Option<List>,
    calls: Vec<String>,
}

impl Default for Cloud {
    fn default() -> Self {
        let (script, state) = (Arc::new(ScriptedCloud::default()), Arc::<Mutex<State>>::default());
        let (one, all) = (state.clone(), state.clone());
        script.get.answers_later(move |nodes| {
            let answers = lock(&one).get(&nodes);
            async move {
                match answers {
                    Some(answers) => answers.into(),
                    None => pending().await,
                }
            }
        });
        script.list.answers_later(move |place| {
            let page = lock(&all).page(&place);
            async move {
                match page {
                    Some(page) => page.into(),
                    None => pending().await,
                }
            }
        });
        // In this cloud the case of letters does not count.
        script.canonical_ids.answers(|ids| ids.iter().map(|it| Ok(it.to_lowercase())).collect());
        Cloud { script, state }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cloud {
    /// From now on it has these machines, and says so when it is asked about them.
    pub fn has(&self, machines: impl IntoIterator<Item = Instance>) {
        let mut state = self.lock();
        for machine in machines {
            state.answers.remove(&machine.name);
            state.machines.insert(machine.name.clone(), machine);
        }
    }

    /// From now on it does not have this machine.
    pub fn loses(&self, name: &str) {
        self.lock().machines.remove(name);
    }

    /// From now on this is the answer about a node.
    pub fn answers(&self, node: &str, answer: Answer) {
        self.lock().answers.insert(node.to_owned(), answer);
    }

    /// From now on this is the answer about every node.
    pub fn always_answers(&self, answer: Answer) {
        self.lock().everywhere = Some(answer);
    }

    /// From now on this is the answer about all machines.
    pub fn lists(&self, list: List) {
        self.lock().list = Some(list);
    }

    /// From now on it lists all machines, these as they were.
    pub fn lists_as_they_were(&self, machines: impl IntoIterator<Item = Instance>) {
        self.lists(List::AsTheyWere(machines.into_iter().map(|it| (it.name.clone(), it)).collect()));
    }

    /// From now on its credential is that of an account.
    pub fn belongs_to(&self, account: &str) {
        self.script.belongs_to(account);
        self.gets_another_credential();
    }

    /// Is asked with another credential from now on.
    pub fn gets_another_credential(&self) {
        self.script.gets_another_credential();
    }

    /// Says that its provider has served since then.
    pub fn replaced_at(&self, since: Instant) {
        self.script.replaced_at(since);
    }

    /// Holds every answer about single nodes back, or lets them go.
    pub fn hold(&self, held: bool) {
        self.script.get.hold(held);
    }

    /// The questions that it was asked until now, in order: `get n1`, `list`, and `page` for each further page of a list.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// How many times it was asked this.
    #[must_use]
    pub fn asked(&self, call: &str) -> usize {
        self.lock().asked(call)
    }

    /// How many times it was asked about a node alone.
    #[must_use]
    pub fn gets(&self, node: &str) -> usize {
        self.asked(&format!("get {node}"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn asked(&self, call: &str) -> usize {
        self.calls.iter().filter(|it| *it == call).count()
    }

    fn machine(&self, node: &Node) -> Option<Instance> {
        let found = match &node.provider_id {
            Some(id) => self.machines.values().find(|it| it.provider_id.as_ref() == Some(id)),
            None => self.machines.get(&node.name),
        };
        found.cloned()
    }

    /// The answer about one node; absent if it never comes.
    fn answer(&self, node: &Node) -> Option<Result<Option<Instance>>> {
        Some(match self.answers.get(&node.name).or(self.everywhere.as_ref()) {
            None => Ok(self.machine(node)),
            Some(Answer::Machine(instance)) => Ok(Some(instance.clone())),
            Some(Answer::None) => Ok(None),
            Some(Answer::Error(error)) => Err(error.clone()),
            Some(Answer::Panic) => panic!("the provider panics about {}", node.name),
            Some(Answer::Silence) => return None,
            Some(Answer::EverySecond) => {
                let is_second = self.asked(&format!("get {}", node.name)).is_multiple_of(2);
                Ok(self.machine(node).filter(|_| is_second))
            }
        })
    }

    /// The answers about these nodes; absent if one never comes.
    fn get(&mut self, nodes: &[Node]) -> Option<Vec<Result<Option<Instance>>>> {
        let mut answers = Vec::new();
        for node in nodes {
            self.calls.push(format!("get {}", node.name));
            answers.push(self.answer(node)?);
        }
        Some(answers)
    }

    /// A page of all machines; absent if it never comes.
    fn page(&mut self, place: &Place) -> Option<Result<Page>> {
        self.calls.push(if place.0.is_none() { "list" } else { "page" }.to_owned());
        match &self.list {
            Some(List::Error(error)) => return Some(Err(error.clone())),
            Some(List::Silence) => return None,
            _ => {}
        }
        let (machines, gap) = self.listed();
        let (instances, next) = page(machines, place);
        Some(Ok(Page { instances, next, gaps: gap.into_iter().collect() }))
    }

    /// The machines of a list, and why it may lack some.
    fn listed(&self) -> (Vec<Instance>, Option<Gap>) {
        let without = |hidden: &BTreeSet<String>| {
            self.machines.values().filter(|it| !hidden.contains(&it.name)).cloned().collect::<Vec<_>>()
        };
        match &self.list {
            Some(List::Without(hidden)) => (without(hidden), None),
            Some(List::EverySecondWithout(hidden)) if self.asked("list").is_multiple_of(2) => (without(hidden), None),
            Some(List::Incomplete(hidden, reason)) => {
                (without(hidden), Some(Gap { zone: None, reason: reason.clone() }))
            }
            Some(List::Gap(zone, reason)) => {
                let seen = self.machines.values().filter(|it| it.zone.as_ref() != Some(zone)).cloned().collect();
                (seen, Some(Gap { zone: Some(zone.clone()), reason: reason.clone() }))
            }
            Some(List::AsTheyWere(before)) => {
                let machines = self.machines.values().map(|it| before.get(&it.name).unwrap_or(it).clone());
                (machines.collect(), None)
            }
            Some(List::EverySecondWithout(_) | List::Error(_) | List::Silence) | None => {
                (self.machines.values().cloned().collect(), None)
            }
        }
    }
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        cloud_provider::Cloud { instances: Some(self.script.clone()), ..self.script.offering(Arc::new(description())) }
    }

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.script.clone(), None)
    }
}
