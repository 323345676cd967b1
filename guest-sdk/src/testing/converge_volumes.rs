//! The lives of one volume, natively: one in which nothing goes wrong, and one for each way in which each request can.

use std::time::Duration;

use crate::{
    AttachMode, DesiredVolume, Error, KnownVolume, PendingVolume, VolumeAttachment, VolumeCreation, VolumeDeletion,
    VolumeDetachment, VolumeExpansion, VolumeState, Volumes,
};

use super::fake_cloud::FakeCloud;
use super::host::Host;
use super::protocol::{AdminFailure, ArrivedRequest, CloudObject, ForeignChange, How, Orders};
use super::simulated_cloud::{SharedCloud, SimulatedCloud};

/// How many calls a part may take.
const MOST_CALLS: usize = 200;
/// How long lists lag after something was made, in seconds.
const LAG: u64 = 20;
/// The shortest pause that the host makes, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(300)];
/// The machines: the volume moves from the first to the second.
const MACHINES: [&str; 2] = ["web-1", "web-2"];
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

/// Plays the life of a volume: it is created, attached to a machine, moved to another one, enlarged, detached and deleted; once
/// while nothing goes wrong, and once for each of its requests and each way in which that can go wrong. Others are abandoned
/// after a creation that went wrong. Each life has a cloud of its own, in which [`ForeignChange::AddMachine`] answers with the
/// node's id, and [`FakeCloud::objects`] has the volumes.
///
/// `desired` is the volume as the cloud can have it. Returns a sentence for each promise that was broken.
///
/// ```text
/// let desired = DesiredVolume::of("default", "data", "uid", 10 << 30).with_place("region", "r1");
/// assert_eq!(testing::converge_volumes::<Acme, _>(Cloud::default, &desired), [""; 0]);
/// ```
pub fn converge_volumes<P: Volumes, C: FakeCloud + 'static>(
    cloud: impl Fn() -> C,
    desired: &DesiredVolume,
) -> Vec<String> {
    let measure = VolumeLife::play::<P, C>(cloud(), desired, None);
    let mut broken = measure.judged(&measure);
    if broken.is_empty() {
        for trouble in volume_troubles(&measure) {
            broken.extend(VolumeLife::play::<P, C>(cloud(), desired, Some(trouble)).judged(&measure));
        }
    }
    broken
}

/// One part of a volume's life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum VolumePart {
    Create,
    Attach,
    Leave,
    AttachElsewhere,
    Expand,
    Detach,
    Delete,
    Abandon,
}

impl VolumePart {
    const ALL: [Self; 7] =
        [Self::Create, Self::Attach, Self::Leave, Self::AttachElsewhere, Self::Expand, Self::Detach, Self::Delete];
}

/// The nth request of one part goes wrong.
#[derive(Clone, Copy, Debug)]
struct VolumeTrouble {
    part: VolumePart,
    nth: usize,
    how: How,
    lists_lag: bool,
    /// Whether the claim goes right after it.
    gives_up: bool,
}

fn volume_troubles(measure: &VolumeLife) -> Vec<VolumeTrouble> {
    let mut troubles = Vec::new();
    for played in &measure.parts {
        for (at, request) in played.requests().iter().enumerate() {
            let all = [
                How::LostBefore,
                How::LostAfter,
                How::Failed,
                How::FailedAfter,
                How::Busy,
                How::DiesBefore,
                How::DiesAfter,
            ];
            let hows = if request.writes { &all[..] } else { &all[..1] };
            let creates = request.writes && played.part == VolumePart::Create;
            for (how, is_late) in hows.iter().flat_map(|how| [(*how, false), (*how, true)]) {
                let trouble =
                    VolumeTrouble { part: played.part, nth: at + 1, how, lists_lag: is_late, gives_up: false };
                if !is_late || creates {
                    troubles.push(trouble);
                }
                if creates {
                    troubles.push(VolumeTrouble { gives_up: true, ..trouble });
                }
            }
        }
    }
    troubles
}

/// An answer, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
enum HeardStep {
    Over,
    Later(String),
    Error(Error),
    Unheard,
}

#[derive(Debug)]
struct PlayedStep {
    heard: HeardStep,
    requests: Vec<ArrivedRequest>,
}

#[derive(Debug)]
struct PlayedVolumePart {
    part: VolumePart,
    steps: Vec<PlayedStep>,
    again: Option<PlayedStep>,
    after: Vec<CloudObject>,
    /// Node ids, as the provider's `get` has them.
    attached_to: Vec<String>,
}

impl PlayedVolumePart {
    fn is_over(&self) -> bool {
        self.steps.last().is_some_and(|it| it.heard == HeardStep::Over)
    }

    fn requests(&self) -> Vec<ArrivedRequest> {
        self.steps.iter().flat_map(|it| &it.requests).cloned().collect()
    }
}

struct VolumeLife {
    trouble: Option<VolumeTrouble>,
    before: Vec<CloudObject>,
    nodes: [String; 2],
    parts: Vec<PlayedVolumePart>,
}

impl VolumeLife {
    fn play<P: Volumes, C: FakeCloud + 'static>(
        cloud: C,
        desired: &DesiredVolume,
        trouble: Option<VolumeTrouble>,
    ) -> Self {
        let mut stage = VolumeStage::set(cloud, desired);
        let (before, nodes) = (stage.objects(), stage.nodes.clone());
        let mut parts = Vec::new();
        for part in VolumePart::ALL {
            let played = stage.part::<P>(part, trouble);
            let gives_up = trouble.is_some_and(|it| it.gives_up && it.part == part);
            let is_over = played.is_over();
            parts.push(played);
            if gives_up {
                parts.push(stage.part::<P>(VolumePart::Abandon, trouble));
            }
            if gives_up || !is_over {
                break;
            }
        }
        Self { trouble, before, nodes, parts }
    }

    /// The objects that were not there before.
    fn made<'a>(&self, after: &'a [CloudObject]) -> Vec<&'a CloudObject> {
        after.iter().filter(|it| !self.before.iter().any(|other| other.id == it.id)).collect()
    }

    fn judged(&self, measure: &Self) -> Vec<String> {
        let story = self.trouble.map_or_else(|| "nothing goes wrong".to_owned(), |it| format!("{it:?}"));
        let mut broken = Vec::new();
        for played in &self.parts {
            let part = played.part;
            let mut breaks = |promise: &str, what: String| broken.push(format!("{promise}: {story}: {part:?}: {what}"));
            let is_given_up = self.trouble.is_some_and(|it| it.gives_up && it.part == part);
            if !played.is_over() && !is_given_up {
                breaks("converges", format!("after {} calls: {:?}", played.steps.len(), played.steps.last()));
                continue;
            }
            let is_final =
                |it: &&PlayedStep| matches!(it.heard, HeardStep::Error(Error::Invalid(_) | Error::Denied(_)));
            if let Some(step) = played.steps.iter().find(is_final) {
                breaks("errors-are-tried-again", format!("{:?}", step.heard));
            }
            let made = self.made(&played.after);
            let usual = measure.parts.iter().find(|it| it.part == part);
            let right = usual.map_or(0, |it| measure.made(&it.after).len());
            if made.len() > right && !is_given_up {
                breaks("nothing-twice", format!("{} objects are there, where {right} are right: {made:?}", made.len()));
            }
            if let Some(other) = self.before.iter().find(|it| !played.after.contains(it)) {
                breaks("others-are-untouched", format!("{} {} is another's", other.kind, other.id));
            }
            let right: &[String] = match part {
                VolumePart::Attach => &self.nodes[..1],
                VolumePart::AttachElsewhere | VolumePart::Expand => &self.nodes[1..],
                _ => &[],
            };
            if played.attached_to != right && !is_given_up {
                breaks("attached-once", format!("it is attached to {:?}, and not to {right:?}", played.attached_to));
            }
            if let Some(again) = &played.again {
                if again.heard != HeardStep::Over {
                    breaks("stays", format!("the next call answers {:?}", again.heard));
                }
                if let Some(written) = again.requests.iter().find(|it| it.writes) {
                    breaks("ready-writes-nothing", format!("it was over, and the next call sends {}", written.line));
                }
            }
        }
        broken
    }
}

/// Everything that a life needs.
struct VolumeStage<C> {
    host: Host,
    cloud: SharedCloud<C>,
    desired: DesiredVolume,
    known: KnownVolume,
    nodes: [String; 2],
}

impl<C: FakeCloud + 'static> VolumeStage<C> {
    fn set(cloud: C, desired: &DesiredVolume) -> Self {
        let settings = cloud.settings();
        let cloud = SimulatedCloud::new(cloud).shared();
        let nodes = MACHINES.map(|name| {
            let added = cloud.borrow_mut().change(&ForeignChange::AddMachine { name: name.to_owned() });
            added.and_then(|it| it.id).unwrap_or_else(|| name.to_owned())
        });
        let mut host = Host::of(&cloud);
        for (name, value) in settings {
            host = host.setting(name, value);
        }
        let mut desired = desired.clone().first_create();
        desired.name = format!("pvc-{UID}");
        UID.clone_into(&mut desired.owner.uid);
        Self { host, cloud, desired, known: KnownVolume::of(""), nodes }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.cloud.borrow().world().objects
    }

    fn order(&self, fail: Option<AdminFailure>, lists_lag: bool) {
        self.cloud.borrow_mut().order(Orders { fail, lists_lag });
    }

    fn part<P: Volumes>(&mut self, part: VolumePart, trouble: Option<VolumeTrouble>) -> PlayedVolumePart {
        let mine = trouble.filter(|it| it.part == part);
        let is_late = trouble.is_some_and(|it| it.lists_lag && (it.part == part || part == VolumePart::Abandon));
        self.cloud.borrow_mut().asked();
        self.order(mine.map(|it| AdminFailure { nth: it.nth, how: it.how }), is_late);
        let mut played =
            PlayedVolumePart { part, steps: Vec::new(), again: None, after: Vec::new(), attached_to: Vec::new() };
        let mut made_at = (part == VolumePart::Abandon).then(|| self.cloud.borrow().now());
        let mut lags = is_late;
        while played.steps.len() < MOST_CALLS && !played.is_over() {
            let step = self.step::<P>(part, lags);
            let now = self.cloud.borrow().now();
            made_at = made_at.or_else(|| step.requests.iter().any(|it| it.writes).then_some(now));
            played.steps.push(step);
            if mine.is_some_and(|it| it.gives_up && played.requests().len() >= it.nth) {
                break;
            }
            if lags && made_at.is_some_and(|it| it + LAG <= now) {
                self.order(None, false);
                lags = false;
            }
        }
        self.order(None, false);
        if played.is_over() && trouble.is_none() {
            played.again = Some(self.step::<P>(part, false));
        }
        played.after = self.objects();
        if !self.known.handle.is_empty() {
            let now = self.cloud.borrow().now();
            let found = self.host.clone().at(now).run(|| P::get(&self.known.handle));
            played.attached_to = found.ok().flatten().map(|it| it.attached_to).unwrap_or_default();
        }
        self.cloud.borrow_mut().asked();
        played
    }

    /// One call, and the pause after it. If the process has died over it, nothing is kept.
    fn step<P: Volumes>(&mut self, part: VolumePart, lags: bool) -> PlayedStep {
        let host = self.host.clone().at(self.cloud.borrow().now());
        let (mut desired, mut known) = (self.desired.clone(), self.known.clone());
        let nodes = &self.nodes;
        let (heard, pause) = host.run(|| take::<P>(part, &mut desired, &mut known, nodes));
        let asked = self.cloud.borrow_mut().asked();
        let memo = self.desired.memo.clone();
        if part == VolumePart::Create {
            self.desired.extra.clear();
        }
        if asked.dead {
            self.order(None, lags);
            return PlayedStep { heard: HeardStep::Unheard, requests: asked.requests };
        }
        desired.extra.clone_from(&self.desired.extra);
        if let Some(new) = desired.memo.clone().filter(|it| part == VolumePart::Create && memo.as_ref() != Some(it)) {
            desired = desired.with_new_memo(new);
        }
        (self.desired, self.known) = (desired, known);
        self.cloud.borrow_mut().advance(pause.clamp(PAUSES[0], PAUSES[1]));
        PlayedStep { heard, requests: asked.requests }
    }
}

/// One call of the provider: what it answers, and how long the host pauses.
fn take<P: Volumes>(
    part: VolumePart,
    desired: &mut DesiredVolume,
    known: &mut KnownVolume,
    nodes: &[String; 2],
) -> (HeardStep, Duration) {
    let mode = AttachMode { read_only: false, block: false, access_modes: desired.access_modes.clone() };
    let (detached, attached) = match part {
        VolumePart::Leave => (Some(&nodes[0]), None),
        VolumePart::Detach => (Some(&nodes[1]), None),
        VolumePart::Attach => (None, Some(&nodes[0])),
        VolumePart::AttachElsewhere => (None, Some(&nodes[1])),
        _ => (None, None),
    };
    if let Some(node) = attached {
        return match P::attach(known, node, &mode) {
            Ok(VolumeAttachment::Ready(_)) => OVER,
            Ok(VolumeAttachment::Pending(it)) => later(&mut known.memo, it),
            Ok(VolumeAttachment::Occupied(other)) => waiting(format!("it is attached to {other}")),
            Ok(VolumeAttachment::Full(why)) => waiting(why),
            Err(error) => failed(error),
        };
    }
    if let Some(node) = detached {
        return match P::detach(known, node) {
            Ok(VolumeDetachment::Done) => OVER,
            Ok(VolumeDetachment::Pending(it)) => later(&mut known.memo, it),
            Err(error) => failed(error),
        };
    }
    match part {
        VolumePart::Create => match P::create(desired) {
            Ok(VolumeCreation::Ready(volume)) if volume.bytes < desired.bytes || volume.state != VolumeState::Ready => {
                waiting(format!("{volume:?} is no answer to {desired:?}"))
            }
            Ok(VolumeCreation::Ready(volume)) => {
                desired.memo = None;
                *known =
                    KnownVolume { name: volume.name, attributes: volume.attributes, ..KnownVolume::of(volume.handle) };
                OVER
            }
            Ok(VolumeCreation::Pending(it)) => later(&mut desired.memo, it),
            Ok(VolumeCreation::NoRoom(why)) => waiting(why),
            Err(error) => failed(error),
        },
        VolumePart::Expand => match P::expand(known, desired.bytes * 2) {
            Ok(VolumeExpansion::Ready(it)) if it.bytes < desired.bytes * 2 => waiting(format!("{it:?} is too small")),
            Ok(VolumeExpansion::Ready(_)) => OVER,
            Ok(VolumeExpansion::Pending(it)) => later(&mut known.memo, it),
            Ok(VolumeExpansion::InUse(nodes)) => waiting(format!("it is attached to {nodes:?}")),
            Err(error) => failed(error),
        },
        VolumePart::Abandon => gone(P::abandon(desired), &mut desired.memo),
        _ => gone(P::delete(known), &mut known.memo),
    }
}

const OVER: (HeardStep, Duration) = (HeardStep::Over, Duration::ZERO);

fn gone(answer: crate::Result<VolumeDeletion>, memo: &mut Option<String>) -> (HeardStep, Duration) {
    match answer {
        Ok(VolumeDeletion::Done) => OVER,
        Ok(VolumeDeletion::Pending(it)) => later(memo, it),
        Ok(VolumeDeletion::InUse(nodes)) => waiting(format!("it is attached to {nodes:?}")),
        Err(error) => failed(error),
    }
}

fn later(memo: &mut Option<String>, it: PendingVolume) -> (HeardStep, Duration) {
    *memo = it.memo;
    (HeardStep::Later(it.wait.reason), Duration::from_millis(it.wait.milliseconds.into()))
}

fn waiting(why: String) -> (HeardStep, Duration) {
    (HeardStep::Later(why), Duration::from_secs(5))
}

fn failed(error: Error) -> (HeardStep, Duration) {
    let pause = match &error {
        Error::RetryAfter(it) => Duration::from_millis(it.milliseconds.into()),
        Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_) => Duration::from_secs(5),
    };
    (HeardStep::Error(error), pause)
}
