//! The story, played by one of the two.

use std::time::Duration;

use anyhow::Result;
use tests::aws_vendor::story::{Part, Step};
use tests::aws_vendor::{Recording, Stage, known};
use tests::beside::{Asked, Meant, unmeant};
use tests::manager::{Manager, Who};

/// How long nothing has to change before a step is over. AWS's manager pauses for five seconds at most.
pub(crate) const QUIET: Duration = Duration::from_secs(8);

/// A step that was played.
pub(crate) struct Played {
    /// `services/create`.
    pub(crate) name: String,
    /// The requests in it.
    pub(crate) asked: Asked,
    /// The differences from what is meant to be.
    pub(crate) wrong: Vec<String>,
}

/// Plays the whole story, and compares with the recording. `record` puts what there is into its place before.
pub(crate) async fn story(who: Who, record: bool) -> Result<Vec<Played>> {
    let stage = Stage::new().await;
    let mut all = Vec::new();
    for part in &stage.story() {
        let mut result = Ok(());
        stage
            .play(who, part, async |step, begun, manager| {
                if result.is_ok() {
                    result = look(&stage, who, part, step, (begun, record), manager).await.map(|it| all.push(it));
                }
            })
            .await;
        result?;
    }
    Ok(all)
}

async fn look(
    stage: &Stage,
    who: Who,
    part: &Part,
    step: &Step,
    (begun, record): (usize, bool),
    manager: &Manager,
) -> Result<Played> {
    let name = format!("{}/{}", part.name, step.name);
    let seen = stage.settled(begun, QUIET, || manager.log_tail()).await;
    let asked = stage.taken(step, begun);
    let described = stage.cloud.take_violations();
    let mut wrong: Vec<_> = described.into_iter().map(|it| format!("{name}: not as described: {it}")).collect();
    let log = manager.log_tail();
    if log.contains("\npanic: ") {
        wrong.push(format!("{name}: it has ended\n{log}"));
    }
    if record {
        Recording { requests: asked.actions.clone(), seen: seen.clone() }.write(part, step)?;
    }
    let meant: &[Meant] = if who == Who::Aerostat { &known::TABLE } else { &[] };
    let differences = unmeant(meant, &name, &Recording::read(part, step)?.seen, &seen);
    wrong.extend(differences.iter().map(|it| format!("{name}: {it}")));
    println!("{name}: {} reads, {} writes", asked.reads(), asked.writes());
    wrong.iter().for_each(|it| println!("    {it}"));
    Ok(Played { name, asked, wrong })
}
