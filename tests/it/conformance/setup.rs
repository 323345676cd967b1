//! The suite over a simulator in this process.

use std::time::Duration;

use conformance::{ConformanceReport, PATIENCE, Suite};
use sandbox::{Digest, Module};
use tests::guests;
use tests::vendor::loading::SANDBOX;

/// A provider, tried with one of `every` troubles.
pub(crate) async fn tried(guest: &str, url: &str, every: usize) -> ConformanceReport {
    suite(guest, None, &[url], every, PATIENCE).await
}

/// The same side by side in several simulators of its cloud.
pub(crate) async fn tried_beside(guest: &str, urls: &[&str], every: usize) -> ConformanceReport {
    suite(guest, None, urls, every, PATIENCE).await
}

/// The same in a cloud that is fast, perhaps beside an older version.
pub(crate) async fn tried_fast(guest: &str, older: Option<&str>, url: &str, every: usize) -> ConformanceReport {
    suite(guest, older, &[url], every, Duration::from_secs(2)).await
}

async fn suite(guest: &str, older: Option<&str>, urls: &[&str], every: usize, patience: Duration) -> ConformanceReport {
    let (module, older) = (module(guest), older.map(module));
    let clouds = urls.iter().map(|it| (*it).to_owned()).collect();
    let suite = Suite { sandbox: SANDBOX.clone(), module, clouds, every, older, patience };
    conformance::run(suite).await.unwrap_or_else(|error| panic!("{error}"))
}

fn module(guest: &str) -> Module {
    let digest = Digest::parse(&guests::sha256(guest)).unwrap();
    Module::new(guest, std::fs::read(guest).unwrap(), digest).unwrap()
}
