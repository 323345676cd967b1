//! `make compare-gcp`: Google's own provider package and aerostat, side by side, and beside the recordings of Google's manager.

#![expect(clippy::print_stdout, reason = "a command for a person")]

mod play;
mod way_back;

use anyhow::{Result, ensure};
use tests::beside::{Asked, Compared, explained};
use tests::gcp_vendor::known;
use tests::manager::Who;

use crate::play::PlayedPart;

#[tokio::main]
async fn main() -> Result<()> {
    keys_of_gce_conf()?;
    println!("\n==> The recorded stories, with Google's own provider package (4 minutes)");
    let theirs = play::stories(Who::Vendor).await;
    println!("\n==> The same, with aerostat (2 minutes)");
    let ours = play::stories(Who::Aerostat).await;
    println!("\n==> Requests in each step: reads and writes");
    println!("{:24} {:>18} {:>18} {:>18}", "", "manager, recorded", "package", "aerostat");
    let mut differences = Vec::new();
    for (theirs, ours) in theirs.iter().zip(&ours) {
        for (theirs, ours) in theirs.steps.iter().zip(&ours.steps) {
            let [recorded, package, aerostat] =
                [&theirs.theirs.asked, &theirs.ours.asked, &ours.ours.asked].map(counts);
            println!("{:24} {recorded:>18} {package:>18} {aerostat:>18}", ours.name);
            let all = explained(&known::TABLE, &ours.name, &theirs.ours.seen, &ours.ours.seen);
            differences.extend(all.into_iter().map(|(it, reason)| (format!("{}: {it}", ours.name), reason)));
        }
    }
    println!("\n==> Objects and events that differ: the package → aerostat");
    for (line, reason) in differences {
        println!("{line}\n    {}", reason.unwrap_or("this is not meant to be"));
    }
    println!("\n==> The way back: the package over what aerostat left (4 minutes)");
    let mut wrong = way_back::all().await;
    wrong.extend(play::beside_recordings(&theirs, &known::PACKAGE));
    wrong.extend(play::beside_recordings(&ours, &known::TABLE));
    wrong.extend(beside_the_package(&theirs, &ours).wrong);
    ensure!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("\nNothing differs that is not meant to.");
    Ok(())
}

/// Checks that the keys that the page's table is held against are those that the package reads.
fn keys_of_gce_conf() -> Result<()> {
    let read = tests::gcp_vendor::package_keys()?;
    let known: Vec<_> = include_str!("../../../cloud-provider-gcp/keys.txt").lines().collect();
    ensure!(read == known, "tests/cloud-provider-gcp/keys.txt has {known:?}, and the package reads {read:?}");
    Ok(())
}

/// Aerostat, compared with the package as it was played here.
fn beside_the_package(theirs: &[PlayedPart], ours: &[PlayedPart]) -> Compared {
    let mut compared = Compared::default();
    for (theirs, ours) in theirs.iter().zip(ours) {
        let mut steps = ours.steps.clone();
        steps.iter_mut().zip(&theirs.steps).for_each(|(ours, theirs)| ours.theirs = theirs.ours.clone());
        compared.add(tests::beside::compare(&known::TABLE, ours.name, &steps));
    }
    compared
}

fn counts(asked: &Asked) -> String {
    format!("{} + {}", asked.reads(), asked.writes())
}
