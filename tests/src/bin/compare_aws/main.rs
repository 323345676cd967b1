//! `make compare-aws`: AWS's own manager and aerostat, side by side. `RECORD=1` records what AWS's manager leaves, for `make test`.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

mod play;
mod takeover;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use tests::manager::Who;

use crate::play::Played;

#[tokio::main]
async fn main() -> ExitCode {
    match compare().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn compare() -> Result<()> {
    println!("\n==> The story, with AWS's own manager (5 minutes)");
    let theirs = play::story(Who::Vendor, is_to_be_recorded()).await?;
    println!("\n==> The story, with aerostat (5 minutes)");
    let ours = play::story(Who::Aerostat, false).await?;
    println!("\n==> Requests in each step: reads and writes");
    println!("{:20} {:>20} {:>20}", "", "AWS's manager", "aerostat");
    for (theirs, ours) in theirs.iter().zip(&ours) {
        println!("{:20} {:>20} {:>20}", theirs.name, counts(theirs), counts(ours));
    }
    println!("\n==> Each takes over what the other has left (5 minutes)");
    let mut wrong = takeover::both().await;
    wrong.extend(theirs.into_iter().chain(ours).flat_map(|it| it.wrong));
    ensure!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("\nNothing differs that is not meant to.");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "RECORD=1 is how a person asks for another recording")]
fn is_to_be_recorded() -> bool {
    std::env::var("RECORD").is_ok_and(|it| !it.is_empty())
}

fn counts(played: &Played) -> String {
    format!("{} + {}", played.asked.reads(), played.asked.writes())
}
