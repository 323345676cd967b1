//! A fake cloud that has routes, does as it is told, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cloud_provider::{
    Error, IpFamily, PodNetwork, Reply, Result, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership,
    RoutePage, RouteState,
};
use controllers::Account;
use scripted_cloud::{Answers, Place, ScriptedCloud, page};
use tests::rig::{FakeCloud, description};

/// The answer to a change, if it is not carried out.
pub(crate) type Answer = Result<RouteOutcome>;

/// A call of the provider.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    /// For the first page of all routes.
    List,
    /// For a further page.
    Page,
    /// For next hops: of these nodes.
    Hops(Vec<String>),
    /// For changes: `10.244.1.0/24: - > hop-n1`.
    Apply(Vec<String>),
}

/// How all routes are listed.
#[derive(Clone, Debug, Default)]
pub(crate) enum List {
    /// As they are.
    #[default]
    Honest,
    /// This error.
    Error(Error),
    /// As they are, and it says that some may be missing, for this reason.
    Incomplete(String),
    /// Page after page, without an end.
    Endless,
}

/// A cloud with routes.
pub(crate) struct Cloud {
    script: Arc<ScriptedCloud>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    routes: Vec<Route>,
    /// The prefix of next hops.
    spelling: String,
    hops: BTreeMap<String, Result<String>>,
    /// Answers about destinations instead, how many times; `None`: always.
    answers: BTreeMap<String, (Answer, Option<u32>)>,
    everywhere: Option<Answer>,
    list: List,
    list_takes: Duration,
    apply_takes: Duration,
    calls: Vec<(Instant, Call)>,
}

impl Default for Cloud {
    fn default() -> Cloud {
        Cloud::taking(100, 4)
    }
}

impl Cloud {
    /// A cloud that takes so many changes in a call, and so many calls at a time.
    pub(crate) fn taking(batch_size: u32, concurrency: u32) -> Cloud {
        let description = RouteDescription {
            batch_size,
            concurrency,
            page_size: 500,
            entries_per_route: 1,
            ip_families: vec![IpFamily::Ipv4, IpFamily::Ipv6],
        };
        let script = Arc::new(ScriptedCloud::default());
        script.describes_routes(description);
        let state = Arc::new(Mutex::new(State { spelling: "hop-".to_owned(), ..State::default() }));
        let (hops, listed, changed) = (state.clone(), state.clone(), state.clone());
        script.next_hops.answers(move |networks| lock(&hops).next_hops(&networks).into());
        script.list_routes.answers_later(move |place| list(listed.clone(), place));
        script.apply.answers_later(move |changes| apply(changed.clone(), changes));
        Cloud { script, state }
    }

    /// From now on it has these routes, and no others.
    pub(crate) fn has(&self, routes: impl IntoIterator<Item = Route>) {
        self.lock().routes = routes.into_iter().collect();
    }

    /// From now on this is answered about a destination, so many times; `None`: always.
    pub(crate) fn answers(&self, destination: &str, answer: Answer, times: Option<u32>) {
        self.lock().answers.insert(destination.to_owned(), (answer, times));
    }

    /// From now on this is answered about every destination; `None`: what is true.
    pub(crate) fn always_answers(&self, answer: Option<Answer>) {
        self.lock().everywhere = answer;
    }

    /// From now on a route to a node leads there.
    pub(crate) fn leads(&self, node: &str, hop: Result<String>) {
        self.lock().hops.insert(node.to_owned(), hop);
    }

    /// From now on next hops begin with this.
    pub(crate) fn spells(&self, spelling: &str) {
        spelling.clone_into(&mut self.lock().spelling);
    }

    /// From now on routes are listed like this.
    pub(crate) fn lists(&self, list: List) {
        self.lock().list = list;
    }

    /// From now on lists and changes take so long.
    pub(crate) fn takes(&self, list: Duration, apply: Duration) {
        let mut state = self.lock();
        (state.list_takes, state.apply_takes) = (list, apply);
    }

    /// From now on its credential is that of an account.
    pub(crate) fn belongs_to(&self, account: &str) {
        self.script.belongs_to(account);
        self.gets_another_credential();
    }

    /// Its provider was replaced by another version, which serves since then.
    pub(crate) fn replaced_at(&self, since: tokio::time::Instant) {
        self.script.replaced_at(since);
    }

    /// Is asked with another credential from now on.
    pub(crate) fn gets_another_credential(&self) {
        self.script.gets_another_credential();
    }

    /// The routes, as `10.244.1.0/24 > hop-n1`, sorted.
    pub(crate) fn routes(&self) -> Vec<String> {
        let text = |it: &Route| format!("{} > {}", it.destination, it.next_hop.as_deref().unwrap_or("nothing"));
        let mut routes: Vec<_> = self.lock().routes.iter().map(text).collect();
        routes.sort();
        routes
    }

    /// The calls until now, each with its time.
    pub(crate) fn calls(&self) -> Vec<(Instant, Call)> {
        self.lock().calls.clone()
    }

    /// When lists began.
    pub(crate) fn lists_at(&self) -> Vec<Instant> {
        self.calls().into_iter().filter(|(_, call)| *call == Call::List).map(|(at, _)| at).collect()
    }

    /// Every change that it was asked for, in order.
    pub(crate) fn changes(&self) -> Vec<String> {
        let changes = self.calls().into_iter().map(|(_, call)| match call {
            Call::Apply(changes) => changes,
            _ => Vec::new(),
        });
        changes.flatten().collect()
    }

    /// The most calls of `apply` at a time.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.script.apply.most_in_flight()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn list(told: Arc<Mutex<State>>, place: Place) -> Reply<Result<RoutePage>> {
    let (list, takes) = {
        let mut state = lock(&told);
        let call = if place.0.is_none() { Call::List } else { Call::Page };
        state.calls.push((Instant::now(), call));
        (state.list.clone(), state.list_takes)
    };
    tokio::time::sleep(takes).await;
    let from: usize = place.0.as_ref().map_or(0, |it| it.parse().expect("the cursor is ours"));
    let (routes, next) = page(lock(&told).routes.iter().cloned(), &place);
    let page = RoutePage { routes, next, incomplete: None };
    match list {
        List::Honest => Ok(page).into(),
        List::Error(error) => Err(error).into(),
        List::Incomplete(reason) => Ok(RoutePage { incomplete: Some(reason), ..page }).into(),
        List::Endless => Ok(RoutePage { next: Some((from + 1).to_string()), ..page }).into(),
    }
}

async fn apply(told: Arc<Mutex<State>>, changes: Vec<RouteChange>) -> Answers<RouteOutcome> {
    let takes = {
        let mut state = lock(&told);
        state.calls.push((Instant::now(), Call::Apply(changes.iter().map(text).collect())));
        state.apply_takes
    };
    tokio::time::sleep(takes).await;
    let mut state = lock(&told);
    changes.iter().map(|it| state.apply(it)).collect::<Vec<_>>().into()
}

/// A route that works and carries no mark.
pub(crate) fn route(destination: &str, next_hop: &str) -> Route {
    Route {
        destination: destination.to_owned(),
        next_hop: (!next_hop.is_empty()).then(|| next_hop.to_owned()),
        ownership: RouteOwnership::Unmarked,
        state: RouteState::Active,
        id: destination.to_owned(),
        extra: Vec::new(),
    }
}

/// A route that is somebody else's.
pub(crate) fn foreign(destination: &str, next_hop: &str) -> Route {
    Route { ownership: RouteOwnership::Foreign, ..route(destination, next_hop) }
}

impl State {
    fn next_hops(&mut self, networks: &[PodNetwork]) -> Vec<Result<String>> {
        let names = networks.iter().map(|it| it.node.name.clone()).collect();
        self.calls.push((Instant::now(), Call::Hops(names)));
        let hop = |network: &PodNetwork| {
            let name = &network.node.name;
            self.hops.get(name).cloned().unwrap_or_else(|| Ok(format!("{}{name}", self.spelling)))
        };
        networks.iter().map(hop).collect()
    }

    fn apply(&mut self, change: &RouteChange) -> Answer {
        if let Some(answer) = self.everywhere.clone() {
            return answer;
        }
        if let Some((answer, times)) = self.answers.get_mut(&change.destination)
            && *times != Some(0)
        {
            *times = times.map(|it| it - 1);
            return answer.clone();
        }
        let is = |route: &Route, other: &Route| {
            (&route.destination, &route.next_hop, &route.id) == (&other.destination, &other.next_hop, &other.id)
        };
        if let Some(before) = &change.before {
            match self.routes.iter().position(|it| is(it, before)) {
                Some(place) => drop(self.routes.remove(place)),
                None if change.after.is_none() && self.routes.iter().any(|it| it.destination == before.destination) => {
                    return Err(Error::Invalid("another route is there".to_owned()));
                }
                None => {}
            }
        }
        if let Some(target) = &change.after {
            let new = Route { ownership: RouteOwnership::Ours, ..route(&change.destination, &target.next_hop) };
            match self.routes.iter().find(|it| it.destination == change.destination) {
                Some(there) if there.next_hop == new.next_hop => {}
                Some(_) => return Err(Error::Invalid("another route is there".to_owned())),
                None => self.routes.push(new),
            }
        }
        Ok(RouteOutcome::Done)
    }
}

fn text(change: &RouteChange) -> String {
    let before = change.before.as_ref().map_or("-", |it| it.next_hop.as_deref().unwrap_or("nothing"));
    let after = change.after.as_ref().map_or("-", |it| it.next_hop.as_str());
    format!("{}: {before} > {after}", change.destination)
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        let cloud = self.script.offering(Arc::new(description()));
        cloud_provider::Cloud { routes: Some(self.script.clone()), ..cloud }
    }

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.script.clone(), None)
    }
}
