//! Aerostat leaves on Services, on Nodes and in AWS what AWS's own manager leaves: the story of `tests::aws_vendor`, compared with what
//! `make compare-aws RECORD=1` has recorded.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tests::aws_vendor::story::Step;
use tests::aws_vendor::{Asked, Difference, Recording, Stage, Who, differences, known};
use tests::wait;

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long nothing is asked once it is over.
const QUIET: Duration = Duration::from_secs(2);

/// Cases: aws 1, aws 2, aws 4, aws 11, aws 19, aws 20, aws 21, aws 26, aws 27, aws 28, aws 29, aws 31, aws 32, aws 34, aws 37, aws 38
/// Cases: aws 39, aws 40, aws 46, aws 51
#[tokio::test]
async fn aerostat_leaves_what_the_manager_of_aws_leaves() {
    let stage = Stage::new().await;
    let mut used = BTreeSet::new();
    let mut differ = Vec::new();
    for part in &stage.story() {
        let mut sums = (Asked::default(), Asked::default());
        stage
            .play(Who::Aerostat, part, async |step, begun, _| {
                let name = format!("{}/{}", part.name, step.name);
                let recording = Recording::read(part, step).unwrap();
                let differences = async || differences(&recording.seen, &stage.seen().await);
                let is_meant = |it: &Difference| !known::rows(&name, it).is_empty();
                wait::within(PATIENCE, async || differences().await.iter().all(is_meant).then_some(())).await;
                quiet(&stage, step, begun).await;
                let left = differences().await;
                let asked = stage.asked(begun);
                println!("{name}: {}", counts(&asked, &recording.asked()));
                differ.extend(left.into_iter().map(|it| (name.clone(), it)));
                sums.0.add(&asked);
                sums.1.add(&recording.asked());
            })
            .await;
        // Where either asks in a loop, the time alone says how often.
        if !part.steps.iter().any(|it| it.loops) {
            differ.extend(too_many(&sums.0, &sums.1).map(|it| (part.name.to_owned(), it)));
        }
    }
    let mut wrong = Vec::new();
    for (step, it) in differ {
        let rows = known::rows(&step, &it);
        if rows.is_empty() {
            wrong.push(format!("{step}: {it}"));
        }
        used.extend(rows);
    }
    let unused = (0..known::TABLE.len()).filter(|it| !used.contains(it)).map(|it| known::TABLE[it].pattern);
    wrong.extend(unused.map(|it| format!("nothing differs so any more: {it}")));
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Waits until nothing is asked, or no write where somebody asks in a loop. A process that has begun with the step looks at load balancers
/// before.
async fn quiet(stage: &Stage, step: &Step, begun: usize) {
    let asked = || {
        let asked = stage.asked(begun);
        if step.loops { (0, asked.writes()) } else { (asked.reads(), asked.writes()) }
    };
    let mut last = (asked(), Instant::now());
    wait::until("nothing is asked", async || {
        let asked = asked();
        if asked != last.0 {
            last = (asked, Instant::now());
        }
        let looks = || stage.asked(begun).actions.keys().any(|it| it.starts_with("elb"));
        let has_begun = !step.restart || looks();
        (has_begun && last.1.elapsed() > QUIET).then_some(())
    })
    .await;
}

fn counts(ours: &Asked, theirs: &Asked) -> String {
    let [reads, writes] = [(ours.reads(), theirs.reads()), (ours.writes(), theirs.writes())];
    format!("{} reads of {}, {} writes of {}", reads.0, reads.1, writes.0, writes.1)
}

/// Aerostat asks no more than AWS's manager in a part of the story.
fn too_many(ours: &Asked, theirs: &Asked) -> Option<Difference> {
    let is_more = ours.writes() > theirs.writes() || ours.reads() > theirs.reads();
    let shown = |asked: &Asked| Some(format!("{:?}", asked.actions));
    is_more.then(|| Difference { at: "requests".to_owned(), theirs: shown(theirs), ours: shown(ours) })
}
