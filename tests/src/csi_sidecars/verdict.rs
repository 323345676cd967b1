//! The verdict on aerostat: what it leaves and asks beside what the sidecars left and asked.

use anyhow::Result;

use super::known;
use super::play::PlayedStep;
use super::recording::VolumeRecording;
use crate::beside::{Asked, ComparedStep, compare};

/// All that is not as it should be, of a story that aerostat has played: other objects, reads or writes that are not fewer than theirs, and rows
/// of the table by which nothing is meant any more.
///
/// # Errors
///
/// Fails if a step was not recorded.
pub fn verdict(recording: &VolumeRecording, ours: &[PlayedStep]) -> Result<Vec<String>> {
    let compared = |step: &PlayedStep| {
        let name = format!("volumes/{}", step.name);
        Ok(ComparedStep { name, theirs: recording.step(step.name)?, ours: step.state.clone(), alone: false })
    };
    let steps = ours.iter().map(compared).collect::<Result<Vec<_>>>()?;
    let compared = compare(&known::TABLE, "volumes", &steps);
    let mut theirs = Asked::default();
    steps.iter().for_each(|it| theirs.add(&it.theirs.asked));
    let ours = sum(ours);
    let mut wrong = compared.bounded("volumes", &ours, known::MOST).verdict(&known::TABLE);
    wrong.extend(not_fewer(&theirs, &ours));
    Ok(wrong)
}

/// Requests of aerostat that are not fewer than those of the sidecars, reads and writes apart.
fn not_fewer(theirs: &Asked, ours: &Asked) -> Vec<String> {
    let counts = [("reads", theirs.reads(), ours.reads()), ("writes", theirs.writes(), ours.writes())];
    let told = |(kind, theirs, ours): (&str, usize, usize)| {
        (ours >= theirs)
            .then(|| format!("volumes: {ours} {kind}, where the sidecars make {theirs}: they are to be fewer"))
    };
    counts.into_iter().filter_map(told).collect()
}

/// The requests in all steps.
#[must_use]
pub fn sum(steps: &[PlayedStep]) -> Asked {
    let mut all = Asked::default();
    steps.iter().for_each(|it| all.add(&it.state.asked));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(reads: usize, writes: usize) -> Asked {
        Asked::counted([("GET".to_owned(), false, reads), ("POST".to_owned(), true, writes)])
    }

    #[test]
    fn requests_that_are_not_fewer_are_told() {
        let theirs = asked(75, 25);
        assert_eq!(not_fewer(&theirs, &asked(74, 24)), [""; 0]);
        let told = not_fewer(&theirs, &asked(75, 24));
        assert_eq!(told, ["volumes: 75 reads, where the sidecars make 75: they are to be fewer"]);
        assert_eq!(not_fewer(&theirs, &asked(80, 26)).len(), 2);
    }
}
