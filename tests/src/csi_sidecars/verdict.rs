//! The verdict on aerostat: what it leaves and asks beside what the sidecars left and asked.

use anyhow::Result;

use super::known;
use super::play::PlayedStep;
use super::recording::VolumeRecording;
use crate::beside::{Asked, ComparedStep, compare};

/// All that is not as it should be, of a story that aerostat has played: other objects, more requests, and rows of the table by which nothing
/// is meant any more.
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
    Ok(compared.bounded("volumes", &sum(ours), known::MOST).verdict(&known::TABLE))
}

/// The requests in all steps.
#[must_use]
pub fn sum(steps: &[PlayedStep]) -> Asked {
    let mut all = Asked::default();
    steps.iter().for_each(|it| all.add(&it.state.asked));
    all
}
