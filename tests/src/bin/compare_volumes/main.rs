//! `make compare-volumes`: the sidecars of CSI and aerostat, side by side. `RECORD=1` records what the sidecars leave, for `make test`.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use tests::beside::{Asked, explained, unmeant};
use tests::csi_sidecars::{PlayedStep, VolumeRecording, VolumeStage, known, sum, verdict};
use tests::manager::Who;

#[tokio::main]
async fn main() -> ExitCode {
    match compared().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn compared() -> Result<()> {
    println!("\n==> The story, with the sidecars of CSI (3 minutes)");
    let theirs = played(Who::Vendor).await;
    let mut recording = VolumeRecording::of(theirs.iter().map(|it| (it.name.to_owned(), it.state.clone())));
    let mut wrong = Vec::new();
    if is_to_be_recorded() {
        recording.write()?;
    } else {
        // How often they ask depends on what else the machine does; what they leave does not.
        recording = VolumeRecording::read()?;
        for step in &theirs {
            let others = unmeant(&[], step.name, &recording.step(step.name)?.seen, &step.state.seen);
            wrong.extend(others.iter().map(|it| format!("the sidecars, {}: not as recorded: {it}", step.name)));
        }
    }
    println!("\n==> The story, with aerostat (3 minutes)");
    let ours = played(Who::Aerostat).await;
    println!("\n==> Requests in each step: reads and writes");
    println!("{:12} {:>14} {:>14}", "", "sidecars", "aerostat");
    for (theirs, ours) in theirs.iter().zip(&ours) {
        println!("{:12} {:>14} {:>14}", ours.name, counts(&theirs.state.asked), counts(&ours.state.asked));
    }
    println!("{:12} {:>14} {:>14}", "in all", counts(&sum(&theirs)), counts(&sum(&ours)));
    println!("\n==> Objects, disks and events that differ, each at its first step: the sidecars → aerostat");
    let mut shown = BTreeSet::new();
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let step = format!("volumes/{}", ours.name);
        for (difference, reason) in explained(&known::TABLE, &step, &theirs.state.seen, &ours.state.seen) {
            if shown.insert(difference.to_string()) {
                println!("{step}: {difference}\n    {}", reason.unwrap_or("this is not meant to be"));
            }
        }
    }
    wrong.extend(verdict(&recording, &ours)?);
    ensure!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("\nNothing differs that is not meant to.");
    Ok(())
}

async fn played(who: Who) -> Vec<PlayedStep> {
    let stage = VolumeStage::new().await;
    let played = stage.play(who, |line| println!("{line}")).await;
    stage.end().await;
    played
}

#[expect(clippy::disallowed_methods, reason = "RECORD=1 is how a person asks for another recording")]
fn is_to_be_recorded() -> bool {
    std::env::var("RECORD").is_ok_and(|it| !it.is_empty())
}

fn counts(asked: &Asked) -> String {
    format!("{} + {}", asked.reads(), asked.writes())
}
