//! Services for which everything is as desired once operations have ended: nothing is asked about but these, as long as a Service asks for
//! the same.

use std::fmt::Write as _;

use aerostat_sdk::{Error, LoadBalancer, Node, Progress, Result, SortedMap};
use md5::{Digest as _, Md5};

use super::goal::BatchService;
use super::memo::AzureMemo;
use super::writing::POLL;
use crate::api::AzureApi;
use crate::api::operations::{self, AzureOperationState};
use crate::settings::balancers::AzureBalancerSettings;

/// The reason why such a Service waits.
pub(crate) const WHY: &str = "nodes are joining or leaving its pool";

/// The operations that were asked about in a call.
type AskedOperations = SortedMap<String, Result<AzureOperationState>>;

/// The answers to those of these Services that wait for nothing else; `None` for each other one, and where an operation has ended in
/// another way than well.
pub(crate) fn answers(
    services: &[BatchService<'_>],
    settings: &AzureBalancerSettings,
) -> Vec<Option<Result<Progress>>> {
    let mut known = AskedOperations::new();
    services.iter().map(|it| answer(it, settings, &mut known)).collect()
}

fn answer(
    it: &BatchService<'_>,
    settings: &AzureBalancerSettings,
    known: &mut AskedOperations,
) -> Option<Result<Progress>> {
    let memo = AzureMemo::of(it.service).ok()?;
    if memo.operations.is_empty() || memo.asked.as_ref() != Some(&asked(it.service, &it.nodes, settings)) {
        return None;
    }
    let mut goes_on = false;
    for operation in &memo.operations {
        if known.get(operation).is_none() {
            let subscription = &settings.account.network_subscription;
            known.insert(operation.clone(), operations::state(AzureApi::Network, subscription, operation));
        }
        match known.get(operation)? {
            Ok(AzureOperationState::Ongoing) => goes_on = true,
            Ok(AzureOperationState::Succeeded) => {}
            // The next call makes up for it.
            Ok(AzureOperationState::Failed(error)) => {
                let memo = AzureMemo { operations: Vec::new(), asked: None, ..memo };
                return Some(Ok(Progress::failed(memo.status(it.service), error.clone())));
            }
            Err(error @ Error::RetryAfter(_)) => return Some(Err(error.clone())),
            Ok(AzureOperationState::Unknown) | Err(_) => return None,
        }
    }
    if goes_on {
        return Some(Ok(Progress::pending(memo.status(it.service), POLL, WHY)));
    }
    let memo = AzureMemo { operations: Vec::new(), asked: None, ..memo };
    Some(Ok(Progress::Ready(memo.status(it.service))))
}

/// A short name for all that a Service asks for, and shows, with these nodes and settings.
pub(crate) fn asked(service: &LoadBalancer, nodes: &[&Node], settings: &AzureBalancerSettings) -> String {
    // The host's own words are about the call, and a memo is what the last one said.
    let service = LoadBalancer { memo: None, extra: Vec::new(), nodes: Vec::new(), ..service.clone() };
    let text = format!("{} {service:?} {nodes:?} {settings:?}", env!("CARGO_PKG_VERSION"));
    let mut name = String::new();
    for byte in &Md5::digest(text)[..8] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
