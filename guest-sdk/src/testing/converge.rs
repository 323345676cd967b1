//! The lives of one load balancer, natively: one in which nothing goes wrong, and one for each way in which each request can.

use std::time::Duration;

use crate::{
    Deletion, Error, Instances, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Port, Progress, Protocol,
};

use super::fake_cloud::FakeCloud;
use super::host::Host;
use super::protocol::{AdminFailure, ArrivedRequest, CloudObject, ForeignChange, How, Orders};
use super::simulated_cloud::{SharedCloud, SimulatedCloud};
use super::trouble::{Phase, Trouble, troubles};

/// How many calls a part may take.
const MOST_CALLS: usize = 200;
/// How long lists lag after something was made, in seconds.
const LAG: u64 = 20;
/// The shortest pause that the host makes, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(300)];
/// The largest memo, in bytes.
const LARGEST_MEMO: usize = 1_024;
/// The machines behind the load balancer: the second one joins later.
const MACHINES: [&str; 2] = ["web-1", "web-2"];
/// The name of the Service, and of a load balancer that is nobody's.
const NAME: &str = "web";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

/// Plays the life of a load balancer, from nothing to one that is changed, and to nothing: once while nothing goes wrong, and once
/// for each of its requests and each way in which that can go wrong. Each life has a cloud of its own. The stories and the names
/// of the promises are those of `aerostat provider conformance`; here they take milliseconds, in a unit test. What only the host
/// sees, such as lists of machines and thefts, is tried by the command alone.
///
/// Returns a sentence for each promise that was broken: its name, the story, and what came of it.
///
/// ```text
/// assert_eq!(testing::converge::<Acme, _>(Cloud::default), [""; 0]);
/// ```
pub fn converge<P: Instances + LoadBalancers, C: FakeCloud + 'static>(cloud: impl Fn() -> C) -> Vec<String> {
    let measure = PlayedLife::play::<P, C>(cloud(), None);
    let mut broken = measure.judged(&measure);
    // It would be told once more for each trouble.
    if broken.is_empty() {
        let requests = [0, 1, 2].map(|at| measure.parts.get(at).map(PlayedPart::requests).unwrap_or_default());
        for trouble in troubles(&requests) {
            broken.extend(PlayedLife::play::<P, C>(cloud(), Some(trouble)).judged(&measure));
        }
    }
    broken
}

/// An answer, as far as it matters here.
#[derive(Debug)]
enum HeardAnswer {
    Over,
    Later(String),
    Error(Error),
    Unheard,
}

/// A call, and the requests that it made.
#[derive(Debug)]
struct PlayedCall {
    heard: HeardAnswer,
    requests: Vec<ArrivedRequest>,
    /// The memo before it and after it.
    memos: [Option<String>; 2],
}

#[derive(Debug)]
struct PlayedPart {
    phase: Phase,
    calls: Vec<PlayedCall>,
    is_given_up: bool,
    again: Option<PlayedCall>,
    after: Vec<CloudObject>,
}

/// One life.
#[derive(Debug)]
struct PlayedLife {
    trouble: Option<Trouble>,
    before: Vec<CloudObject>,
    parts: Vec<PlayedPart>,
}

/// Everything that a life needs.
struct LifeStage<C> {
    host: Host,
    cloud: SharedCloud<C>,
    service: LoadBalancer,
    nodes: Vec<Node>,
}

impl PlayedLife {
    fn play<P: Instances + LoadBalancers, C: FakeCloud + 'static>(cloud: C, trouble: Option<Trouble>) -> Self {
        let mut stage = LifeStage::set::<P>(cloud);
        let before = stage.objects();
        let mut parts = Vec::new();
        for phase in Phase::ALL {
            let part = stage.part::<P>(phase, trouble);
            let (is_over, is_given_up) = (part.is_over(), part.is_given_up);
            parts.push(part);
            if is_given_up {
                parts.push(stage.part::<P>(Phase::Delete, trouble));
            }
            if is_given_up || !is_over {
                break;
            }
        }
        Self { trouble, before, parts }
    }

    /// The promises that it breaks. `measure` is the life in which nothing goes wrong.
    fn judged(&self, measure: &Self) -> Vec<String> {
        let story = self.trouble.map_or_else(|| "nothing goes wrong".to_owned(), |it| it.title());
        let mut broken = Vec::new();
        for part in &self.parts {
            let mut breaks = |promise: &str, what: String| {
                broken.push(format!("{promise}: {story}: {}: {what}", part.phase.as_str()));
            };
            self.judge_calls(part, &mut breaks);
            self.judge_objects(measure, part, &mut breaks);
        }
        broken
    }

    fn judge_calls(&self, part: &PlayedPart, breaks: &mut impl FnMut(&str, String)) {
        let ends = if part.phase == Phase::Delete { "delete-converges" } else { "ensure-converges" };
        let is_final = |it: &&PlayedCall| matches!(&it.heard, HeardAnswer::Error(Error::Invalid(_) | Error::Denied(_)));
        match part.calls.iter().find(is_final) {
            Some(PlayedCall { heard: HeardAnswer::Error(error), .. })
                if self.trouble.is_some_and(|it| it.how != How::Refused) =>
            {
                breaks(
                    "errors-are-tried-again",
                    format!("it passes, and is told as one that does not: {}", error.why()),
                );
            }
            _ if !part.is_over() && !part.is_given_up => {
                let last = part.calls.last().map(|it| it.heard.words()).unwrap_or_default();
                breaks(ends, format!("after {} calls the answer is still {last}", part.calls.len()));
            }
            _ => {}
        }
        for call in &part.calls {
            let [before, after] = &call.memos;
            let is_named = |it: &&ArrivedRequest| it.line.contains(&*service().name);
            let written = call.requests.iter().filter(|it| it.writes).find(|it| !is_named(it));
            if let (Some(written), None, None, Phase::Create) = (written, before, after, part.phase)
                && !matches!(call.heard, HeardAnswer::Unheard)
            {
                breaks("creation-is-announced", format!("{} was sent, and no memo tells of it", written.line));
            }
            if after.as_ref().is_some_and(|it| it.len() > LARGEST_MEMO) {
                breaks("memo-is-kept", format!("a memo has more than {LARGEST_MEMO} bytes, and is refused"));
            }
        }
        let Some(again) = &part.again else { return };
        let [before, after] = &again.memos;
        match (part.phase, &again.heard) {
            (Phase::Delete, HeardAnswer::Over) => {}
            (Phase::Delete, other) => breaks("gone-is-done", format!("the next delete answers {}", other.words())),
            (_, HeardAnswer::Over) if before == after => {}
            (_, other) => {
                breaks("memo-is-kept", format!("the next ensure answers {}, with the memo {after:?}", other.words()))
            }
        }
        if let Some(written) = again.requests.iter().find(|it| it.writes && part.phase != Phase::Delete) {
            breaks("ready-writes-nothing", format!("it was ready, and the next ensure sends {}", written.line));
        }
    }

    fn judge_objects(&self, measure: &Self, part: &PlayedPart, breaks: &mut impl FnMut(&str, String)) {
        let made = |after: &[CloudObject], before: &[CloudObject]| {
            after.iter().filter(|it| !before.iter().any(|other| other.id == it.id)).cloned().collect::<Vec<_>>()
        };
        let now = made(&part.after, &self.before);
        if part.phase == Phase::Delete && part.is_over() {
            for left in &now {
                breaks("nothing-left", format!("it is done, and {} {} {} is left", left.kind, left.id, left.name));
            }
        } else if part.is_over() {
            let usual = measure.parts.iter().find(|it| it.phase == part.phase);
            let right = usual.map_or(0, |it| made(&it.after, &measure.before).len());
            if now.len() > right {
                breaks("nothing-twice", format!("{} objects were made, where {right} are right", now.len()));
            }
        }
        if let Some(other) = self.before.iter().find(|it| !part.after.contains(it)) {
            breaks("others-are-untouched", format!("{} {} {} is another's", other.kind, other.id, other.name));
        }
    }
}

impl PlayedPart {
    fn is_over(&self) -> bool {
        matches!(self.calls.last(), Some(PlayedCall { heard: HeardAnswer::Over, .. }))
    }

    fn requests(&self) -> Vec<ArrivedRequest> {
        self.calls.iter().flat_map(|it| &it.requests).cloned().collect()
    }
}

impl HeardAnswer {
    fn words(&self) -> String {
        match self {
            Self::Over => "that it is over".to_owned(),
            Self::Later(why) => format!("pending ({why})"),
            Self::Error(error) => format!("an error ({})", error.why()),
            Self::Unheard => "unheard".to_owned(),
        }
    }
}

impl<C: FakeCloud + 'static> LifeStage<C> {
    fn set<P: Instances>(cloud: C) -> Self {
        let (setup, settings) = (cloud.setup(), cloud.settings());
        let cloud = SimulatedCloud::new(cloud).shared();
        for name in MACHINES {
            cloud.borrow_mut().change(&ForeignChange::AddMachine { name: name.to_owned() });
        }
        cloud.borrow_mut().change(&ForeignChange::AddForeign { name: NAME.to_owned() });
        let mut host = Host::of(&cloud);
        for (name, value) in settings {
            host = host.setting(name, value);
        }
        let nodes = MACHINES.map(|it| node::<P>(&host, it)).to_vec();
        let annotate = |it: LoadBalancer, (key, value): (&String, &String)| it.with_annotation(key, value);
        let service = setup.annotations.iter().fold(service().with_node(nodes[0].clone()), annotate);
        Self { host, cloud, service, nodes }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.cloud.borrow().world().objects
    }

    fn now(&self) -> u64 {
        self.cloud.borrow().now()
    }

    fn order(&self, fail: Option<AdminFailure>, lists_lag: bool) {
        self.cloud.borrow_mut().order(Orders { fail, lists_lag });
    }

    fn part<P: LoadBalancers>(&mut self, phase: Phase, trouble: Option<Trouble>) -> PlayedPart {
        if phase == Phase::Change {
            self.service.nodes.clone_from(&self.nodes);
            self.service.ports.push(port(443));
        }
        let gives_up = trouble.is_some_and(|it| it.gives_up);
        let lag = trouble.is_some_and(|it| it.lists_lag) && (phase == Phase::Create || gives_up);
        let fail = trouble.filter(|it| !it.lists_lag || phase == Phase::Create);
        self.cloud.borrow_mut().asked();
        self.order(fail.map(|it| AdminFailure { nth: it.nth, how: it.how }), lag);
        let mut part = PlayedPart { phase, calls: Vec::new(), is_given_up: false, again: None, after: Vec::new() };
        let mut made_at = (phase == Phase::Delete).then(|| self.now());
        while part.calls.len() < MOST_CALLS && !part.is_over() && !part.is_given_up {
            let call = self.call::<P>(phase, lag);
            made_at = made_at.or_else(|| call.requests.iter().any(|it| it.writes).then(|| self.now()));
            let is_final = matches!(&call.heard, HeardAnswer::Error(Error::Invalid(_) | Error::Denied(_)));
            part.calls.push(call);
            let asked = part.requests().len();
            part.is_given_up = phase == Phase::Create && trouble.is_some_and(|it| it.gives_up && asked >= it.nth);
            if lag && made_at.is_some_and(|it| it + LAG <= self.now()) {
                self.order(None, false);
            }
            if is_final && trouble.is_none() {
                break;
            }
        }
        self.order(None, part.is_given_up);
        part.after = self.objects();
        if part.is_over() && (trouble.is_none() || phase == Phase::Create) {
            part.again = Some(self.call::<P>(phase, false));
        }
        part
    }

    /// One call, and the pause after it. If the process has died over it, nothing is kept.
    fn call<P: LoadBalancers>(&mut self, phase: Phase, lag: bool) -> PlayedCall {
        let host = self.host.clone().at(self.cloud.borrow().now());
        let before = self.service.memo.clone();
        let (heard, kept, pause) = host.run(|| match phase {
            Phase::Create | Phase::Change => ensured(P::ensure(&self.service)),
            Phase::Delete => deleted(P::delete(&LoadBalancer { nodes: Vec::new(), ..self.service.clone() })),
        });
        let asked = self.cloud.borrow_mut().asked();
        self.service.extra.clear();
        if asked.dead {
            self.order(None, lag);
            let memos = [before.clone(), before];
            return PlayedCall { heard: HeardAnswer::Unheard, requests: asked.requests, memos };
        }
        if let Some(status) = kept {
            if status.memo.is_some() && status.memo != before {
                self.service.extra.push(("host.new-memo".to_owned(), "true".to_owned()));
            }
            for (key, value) in &status.annotations {
                self.service.annotations.retain(|(it, _)| it != key);
                self.service.annotations.push((key.clone(), value.clone()));
            }
            self.service = self.service.clone().after(status);
        }
        self.cloud.borrow_mut().advance(pause.clamp(PAUSES[0], PAUSES[1]));
        PlayedCall { heard, requests: asked.requests, memos: [before, self.service.memo.clone()] }
    }
}

type KeptAnswer = (HeardAnswer, Option<LoadBalancerStatus>, Duration);

fn ensured(answer: crate::Result<Progress>) -> KeptAnswer {
    match answer {
        Ok(Progress::Ready(status)) => (HeardAnswer::Over, Some(status), Duration::ZERO),
        Ok(Progress::NotManaged) => (HeardAnswer::Over, None, Duration::ZERO),
        Ok(Progress::Pending(it)) => {
            (HeardAnswer::Later(it.wait.reason), Some(it.status), milliseconds(it.wait.milliseconds))
        }
        Ok(Progress::Failed(it)) => (HeardAnswer::Error(it.error.clone()), Some(it.status), pause(&it.error)),
        Err(error) => (HeardAnswer::Error(error.clone()), None, pause(&error)),
    }
}

fn deleted(answer: crate::Result<Deletion>) -> KeptAnswer {
    match answer {
        Ok(Deletion::Done | Deletion::Kept(_)) => (HeardAnswer::Over, None, Duration::ZERO),
        Ok(Deletion::Pending(it)) => {
            (HeardAnswer::Later(it.wait.reason), Some(it.status), milliseconds(it.wait.milliseconds))
        }
        Err(error) => (HeardAnswer::Error(error.clone()), None, pause(&error)),
    }
}

fn pause(error: &Error) -> Duration {
    match error {
        Error::RetryAfter(it) => milliseconds(it.milliseconds),
        Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_) => Duration::from_secs(5),
    }
}

fn milliseconds(number: u32) -> Duration {
    Duration::from_millis(number.into())
}

/// The node of a machine, initialised as the host does it.
fn node<P: Instances>(host: &Host, name: &str) -> Node {
    let joining = Node::named(name);
    let Ok(Some(instance)) = host.run(|| P::get(&joining)) else { return joining };
    Node {
        provider_id: instance.provider_id,
        zone: instance.zone,
        region: instance.region,
        addresses: instance.addresses,
        extra: instance.extra,
        ..joining
    }
}

fn service() -> LoadBalancer {
    LoadBalancer::of("default", NAME, UID).with_port(port(80))
}

fn port(port: u16) -> Port {
    Port { name: format!("p-{port}"), ..Port::new(Protocol::Tcp, port, 30_000 + port) }
}
