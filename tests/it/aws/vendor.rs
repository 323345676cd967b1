//! Aerostat leaves on Services, on Nodes and in AWS what AWS's own manager leaves: the story of `tests::aws_vendor`, compared with what
//! `make compare-aws RECORD=1` has recorded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tests::aws_vendor::story::{Part, Step};
use tests::aws_vendor::{Recording, Stage, known};
use tests::beside::{Asked, Compared, ComparedStep, ManagerState, compare, differences, unmeant};
use tests::manager::{Manager, Who};
use tests::wait;

/// How long a step may take: moto answers one request at a time, and one step has six hundred.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nothing is asked once it is over.
const QUIET: Duration = Duration::from_secs(2);

/// Cases: aws 1, aws 2, aws 3, aws 4, aws 5, aws 11, aws 19, aws 20, aws 21, aws 22, aws 23, aws 24, aws 25, aws 26, aws 27, aws 28
/// Cases: aws 29, aws 30, aws 31, aws 32, aws 34, aws 35, aws 36, aws 37, aws 38, aws 39, aws 40, aws 41, aws 42, aws 43, aws 44, aws 45
/// Cases: aws 46, aws 51
#[tokio::test]
async fn aerostat_leaves_what_the_manager_of_aws_leaves() {
    let stage = Stage::new().await;
    let mut compared = Compared::default();
    for part in &stage.story() {
        let mut steps = Vec::new();
        stage
            .play(Who::Aerostat, part, async |step, begun, _| {
                let name = format!("{}/{}", part.name, step.name);
                let theirs = Recording::read(part, step).unwrap().state();
                let unmeant = async || unmeant(&known::TABLE, &name, &theirs.seen, &stage.seen().await);
                wait::within(PATIENCE, async || unmeant().await.is_empty().then_some(())).await;
                quiet(&stage, step, begun).await;
                let ours = ManagerState { seen: stage.seen().await, asked: stage.taken(step, begun) };
                println!("{name}: {}", counts(&ours.asked, &theirs.asked));
                steps.push(ComparedStep { name, theirs, ours, alone: step.loops });
            })
            .await;
        compared.add(compare(&known::TABLE, part.name, &steps));
    }
    let wrong = compared.verdict(&known::TABLE);
    let warned = stage.warnings().await.join("\n");
    assert!(wrong.is_empty(), "{} differences:\n{}\nwarnings:\n{warned}", wrong.len(), wrong.join("\n"));
}

/// Cases: takeover, aws 20, aws 32
#[tokio::test]
async fn a_cluster_of_the_manager_of_aws_is_taken_over_unwritten() {
    let stage = Stage::new().await;
    let story = stage.story();
    let part = |name: &str| story.iter().find(|it| it.name == name).unwrap();
    let (nodes, services) = (part("nodes"), part("services"));
    stage.play(Who::Aerostat, nodes, async |step, _, _| is_as_recorded(&stage, nodes, step).await).await;

    let created = &services.steps[0];
    for change in &created.changes {
        stage.apply(change).await;
    }
    let left = Recording::read(services, created).unwrap().seen;
    stage.replay(&left["cloud"]).await;
    let is_unchanged = async || {
        let differ = differences(&left["cloud"], &stage.seen().await["cloud"]);
        assert!(differ.is_empty(), "{differ:#?}");
    };
    is_unchanged().await;

    let judge = async |step: &Step, begun: usize, _: &Manager| {
        is_as_recorded(&stage, services, created).await;
        quiet(&stage, step, begun).await;
        assert_eq!(stage.asked(begun).writes_beside(&Asked::default()), BTreeMap::new(), "nothing is written");
        is_unchanged().await;
    };
    stage.play(Who::Aerostat, &services.takeover(), judge).await;
}

/// Waits until everything is as AWS's manager has left it after this step, but for differences that are meant to be.
async fn is_as_recorded(stage: &Stage, part: &Part, step: &Step) {
    let (name, recorded) = (format!("{}/{}", part.name, step.name), Recording::read(part, step).unwrap().seen);
    let differ = async || unmeant(&known::TABLE, &name, &recorded, &stage.seen().await);
    if wait::within(PATIENCE, async || differ().await.is_empty().then_some(())).await.is_none() {
        panic!("{name}: {:#?}", differ().await);
    }
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
