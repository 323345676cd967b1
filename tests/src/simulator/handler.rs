//! The way of every request from its arrival to its answer, whichever cloud it is for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};

use super::answer::Answer;
use super::chaos::{Chaos, Draws};
use super::description::Description;
use super::fault::{self, Effect, Fault};
use super::hold::{Life, Turnstile};
use super::limits::Window;
use super::ordered::Ordered;
use super::record::{Authorization, Recorded};
use super::{Cloud, Options, Owner};

/// How many requests an observer may be behind before it misses some.
const OBSERVED: usize = 4_096;

/// Two accounts of a cloud, and everything that happens to requests.
pub(super) struct Handler<C> {
    pub(super) ours: C,
    pub(super) other: C,
    pub(super) turnstile: Turnstile,
    /// Absent: nothing is checked here.
    description: Option<&'static Description>,
    /// Whether what the cloud itself finds wrong counts.
    checked: bool,
    state: Mutex<State>,
    /// Finished requests, for observers.
    finished: broadcast::Sender<Recorded>,
    /// Counts arrivals and answers of requests, so that tests can wait for more.
    news: watch::Sender<u64>,
}

struct State {
    token: String,
    owner: Owner,
    latency: Duration,
    faults: Vec<Fault>,
    ordered: Option<Ordered>,
    chaos: Option<Draws>,
    window: Window,
    requests: Vec<Recorded>,
    violations: Vec<String>,
}

/// How an answer leaves.
pub(super) enum Outcome {
    Whole(Answer),
    Half(Answer),
    Nothing,
}

impl<C: Cloud> Handler<C> {
    pub(super) fn new(options: Options, ours: C, other: C) -> Handler<C> {
        Handler {
            ours,
            other,
            turnstile: Turnstile::default(),
            description: C::description().filter(|_| options.checked),
            checked: options.checked,
            state: Mutex::new(State {
                token: options.token,
                owner: Owner::Us,
                latency: options.latency,
                faults: Vec::new(),
                ordered: None,
                chaos: None,
                window: Window::new(options.limits, C::LIMITS),
                requests: Vec::new(),
                violations: Vec::new(),
            }),
            finished: broadcast::Sender::new(OBSERVED),
            news: watch::Sender::new(0),
        }
    }

    /// Answers a request, and records it.
    pub(super) async fn answer(&self, mut request: Recorded, life: &Life) -> Outcome {
        let arrived = Instant::now();
        let (index, latency, fault) = self.arrive(&mut request);
        let delay = fault.as_ref().map_or(Duration::ZERO, Fault::delayed);
        sleep(latency + delay).await;

        let carried_out = fault.as_ref().is_none_or(Fault::is_done);
        let id = uuid::Uuid::new_v4().to_string();
        let Some(mut answer) = self.turnstile.pass(life, &request, || self.act(&request, &id, carried_out)).await
        else {
            return Outcome::Nothing;
        };
        if self.checked {
            self.violations(&request, std::mem::take(&mut answer.wrong));
        }
        if let Some(fault) = &fault {
            answer = fault.apply::<C>(&request, &id, answer);
        } else if let Some(description) = self.description {
            let wrong = description.check_answer(&request, answer.status, &answer.headers, &answer.body);
            self.violations(&request, wrong);
        }
        let outcome = match fault.as_ref().map(Fault::effect) {
            Some(Effect::Nothing | Effect::Hang) => Outcome::Nothing,
            Some(Effect::Half) => Outcome::Half(answer),
            Some(_) | None => Outcome::Whole(answer),
        };
        if let Outcome::Whole(answer) | Outcome::Half(answer) = &outcome {
            request.status = Some(answer.status.as_u16());
            request.took = Some(arrived.elapsed());
        }
        self.lock().requests[index] = request.clone();
        self.news.send_modify(|count| *count += 1);
        // An error means that there is no observer.
        let _ = self.finished.send(request);
        if let Some(Effect::Hang) = fault.as_ref().map(Fault::effect) {
            // Until the client closes the connection, or the simulator is dropped.
            std::future::pending::<()>().await;
        }
        outcome
    }

    /// Records a request that has arrived. Returns its place in the record, the latency of its answer, and its fault.
    fn arrive(&self, request: &mut Recorded) -> (usize, Duration, Option<Fault>) {
        C::place(request);
        let (index, latency, fault) = {
            let mut state = self.lock();
            if let Authorization::Refused(value) = &request.authorization
                && *value == C::authorization(&state.token)
            {
                request.authorization = Authorization::Accepted;
            }
            let fault = fault::take(&mut state.faults, request);
            let fault = fault.or_else(|| state.ordered.as_mut()?.draw(request));
            let fault = fault.or_else(|| state.chaos.as_mut()?.draw(request));
            request.fault = fault.as_ref().map(Fault::name);
            state.requests.push(request.clone());
            (state.requests.len() - 1, state.latency, fault)
        };
        self.news.send_modify(|count| *count += 1);
        if let Some(description) = self.description {
            self.violations(request, description.check_request(request));
        }
        (index, latency, fault)
    }

    /// The cloud's answer to a request, or the one that it would give if it had carried it out.
    fn act(&self, request: &Recorded, id: &str, carried_out: bool) -> Answer {
        let (quota, owner) = {
            let mut state = self.lock();
            (state.window.admit(SystemTime::now()), state.owner)
        };
        let account = match owner {
            Owner::Us => &self.ours,
            Owner::Other => &self.other,
        };
        let mut answer = if !matches!(request.authorization, Authorization::Accepted | Authorization::Judged(_)) {
            C::error_to(request, StatusCode::UNAUTHORIZED)
        } else if quota.exceeded {
            C::error_to(request, StatusCode::TOO_MANY_REQUESTS)
        } else if let Some(refused) = account.refuse(request) {
            refused
        } else if carried_out {
            account.act(request)
        } else {
            account.withhold(request)
        };
        C::show_quota(&mut answer, &quota);
        C::identify(&mut answer, id);
        answer
    }

    pub(super) fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }

    pub(super) fn set_token(&self, token: &str) {
        token.clone_into(&mut self.lock().token);
    }

    pub(super) fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    pub(super) fn order(&self, ordered: Option<Ordered>) {
        self.lock().ordered = ordered;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ordered.as_ref().is_some_and(Ordered::has_ended)
    }

    pub(super) fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    pub(super) fn set_owner(&self, owner: Owner) {
        self.lock().owner = owner;
    }

    pub(super) fn set_chaos(&self, chaos: Option<Chaos>) {
        self.lock().chaos = chaos.map(Draws::new);
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.lock().requests.clone()
    }

    pub(super) fn requests_from(&self, index: usize) -> Vec<Recorded> {
        self.lock().requests.get(index..).unwrap_or_default().to_vec()
    }

    pub(super) fn observe(&self) -> broadcast::Receiver<Recorded> {
        self.finished.subscribe()
    }

    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Records what must not happen in any test.
    pub(super) fn violation(&self, violation: String) {
        self.lock().violations.push(violation);
    }

    /// Takes what happened so far and must not.
    pub(super) fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().violations)
    }

    fn violations(&self, request: &Recorded, wrong: Vec<String>) {
        let line = format!("{request}");
        let line = line.split(" → ").next().unwrap_or(&line);
        self.lock().violations.extend(wrong.into_iter().map(|it| format!("{line}: {it}")));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is done under this lock that could leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
