//! The suite over a simulator in this process.

use std::time::Duration;

use conformance::{ConformanceReport, PATIENCE, Suite};
use sandbox::{Digest, Module};
use tests::guests;
use tests::vendor::loading::SANDBOX;

/// A provider, tried with one of `every` troubles.
pub(crate) async fn tried(guest: &str, url: &str, every: usize) -> ConformanceReport {
    suite(guest, url, every, PATIENCE).await
}

/// The same in a cloud that is fast.
pub(crate) async fn tried_fast(guest: &str, url: &str, every: usize) -> ConformanceReport {
    suite(guest, url, every, Duration::from_secs(2)).await
}

async fn suite(guest: &str, url: &str, every: usize, patience: Duration) -> ConformanceReport {
    let bytes = std::fs::read(guest).unwrap();
    let digest = Digest::parse(&guests::sha256(guest)).unwrap();
    let module = Module::new(guest, bytes, digest).unwrap();
    let suite = Suite { sandbox: SANDBOX.clone(), module, cloud: url.to_owned(), every, patience };
    conformance::run(suite).await.unwrap_or_else(|error| panic!("{error}"))
}
