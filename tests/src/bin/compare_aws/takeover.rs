//! Each takes over what the other has left.

use serde_json::Value;
use tests::aws_vendor::story::Part;
use tests::aws_vendor::{Recording, Stage};
use tests::beside::{Asked, differences};
use tests::manager::Who;

use crate::play::QUIET;

/// The differences from what is meant to be.
pub(crate) async fn both() -> Vec<String> {
    let mut wrong = one(Who::Vendor, Who::Aerostat).await;
    wrong.extend(one(Who::Aerostat, Who::Vendor).await);
    wrong
}

/// Nodes and load balancers come under `first`, and `second` takes them over: it writes nothing into AWS that it does not write at each of
/// its starts. Then it deletes them, and nothing is left.
async fn one(first: Who, second: Who) -> Vec<String> {
    let stage = Stage::new().await;
    let usual = if second == Who::Vendor { at_each_start(&stage) } else { Asked::default() };
    let mut wrong = Vec::new();
    let mut before = Value::Null;
    for (who, part) in acts(&stage, first, second) {
        stage
            .play(who, &part, async |step, begun, manager| {
                let seen = stage.settled(begun, QUIET, || manager.log_tail()).await;
                let asked = stage.asked(begun);
                let name = format!("{first:?} → {second:?}, {}", step.name);
                println!("{name}: {} reads, {} writes", asked.reads(), asked.writes());
                if step.name == "takeover" {
                    let more = asked.writes_beside(&usual);
                    wrong.extend(more.iter().map(|it| format!("{name}: {} × {}", it.1, it.0)));
                    let differ = differences(&before["cloud"], &seen["cloud"]);
                    wrong.extend(differ.iter().map(|it| format!("{name}: {it}")));
                }
                if step.name == "delete-last" {
                    let kinds = ["network", "targets", "classic"].map(|it| &seen["cloud"][it]);
                    let left = kinds.iter().filter_map(|it| it.as_object()).flat_map(|it| it.keys());
                    wrong.extend(left.map(|it| format!("{name}: {it} is left")));
                }
                before = seen;
            })
            .await;
    }
    let _described_by_the_story = stage.cloud.take_violations();
    wrong
}

/// The requests of AWS's manager when it starts over load balancers of its own.
fn at_each_start(stage: &Stage) -> Asked {
    let story = stage.story();
    let found = story.iter().flat_map(|part| part.steps.iter().map(move |step| (part, step)));
    let (part, step) = found.into_iter().find(|it| it.1.restart).expect("the story has such a step");
    Recording::read(part, step).expect("it was recorded").asked()
}

/// The acts, each with its manager.
fn acts(stage: &Stage, first: Who, second: Who) -> Vec<(Who, Part)> {
    let mut story = stage.story().into_iter();
    let mut part = |name| story.find(|it| it.name == name).expect("the story has this part");
    let (nodes, mut services) = (part("nodes"), part("services"));
    let mut created = std::mem::take(&mut services.steps);
    let deleted = created.split_off(created.len() - 2);
    created.truncate(1);
    let mut taken = services.takeover();
    taken.steps.extend(deleted);
    vec![(first, nodes), (first, Part { steps: created, ..services }), (second, taken)]
}
