//! The suite over a simulator in this process.

use std::time::Duration;

use conformance::{ConformanceReport, PATIENCE, Suite, SuitePart};
use sandbox::{Digest, Module};
use tests::guests;
use tests::vendor::loading::SANDBOX;

/// A provider, tried with one of `every` troubles.
pub(crate) async fn tried(guest: &str, url: &str, every: usize) -> ConformanceReport {
    tried_beside(guest, &[url], every).await
}

/// The same side by side in several simulators of its cloud.
pub(crate) async fn tried_beside(guest: &str, urls: &[&str], every: usize) -> ConformanceReport {
    run(Suite { every, ..suite(guest, urls) }).await
}

/// The same in a cloud that is fast, perhaps beside an older version, and perhaps one part alone.
pub(crate) async fn tried_fast(
    guest: &str,
    older: Option<&str>,
    url: &str,
    every: usize,
    only: Option<SuitePart>,
) -> ConformanceReport {
    let (older, patience) = (older.map(module), Duration::from_secs(2));
    run(Suite { every, older, patience, only, ..suite(guest, &[url]) }).await
}

fn suite(guest: &str, urls: &[&str]) -> Suite {
    let clouds = urls.iter().map(|it| (*it).to_owned()).collect();
    let (sandbox, module) = (SANDBOX.clone(), module(guest));
    Suite { sandbox, module, clouds, every: 1, older: None, patience: PATIENCE, only: None }
}

async fn run(suite: Suite) -> ConformanceReport {
    conformance::run(suite).await.unwrap_or_else(|error| panic!("{error}"))
}

fn module(guest: &str) -> Module {
    let digest = Digest::parse(&guests::sha256(guest)).unwrap();
    Module::new(guest, std::fs::read(guest).unwrap(), digest).unwrap()
}
