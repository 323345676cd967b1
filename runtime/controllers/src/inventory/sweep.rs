//! Reading all machines, page after page.

use std::collections::HashSet;
use std::time::Duration;

use cloud_provider::{Error, Instance, Instances, Notice, Page, Result};

use crate::inventory::machines::Machines;

/// How long the cloud may take for one call. The sandbox's own limit is shorter.
pub(crate) const CALL: Duration = Duration::from_secs(150);
/// How many times the page size is halved before a sweep fails.
const HALVINGS: u32 = 3;
/// Machines that one sweep may find.
const MACHINES: usize = 100_000;

/// What a sweep found, the notices beside it, and the page size that worked.
pub(super) struct Sweep {
    pub(super) machines: Result<Machines>,
    pub(super) notices: Vec<Notice>,
    pub(super) limit: u32,
}

/// Reads all machines, `limit` of them at a time. If a page does not come, the page size is halved, and the sweep
/// starts again: a cursor is only good for the page size that it came from.
pub(super) async fn sweep(instances: &dyn Instances, limit: u32) -> Sweep {
    let mut notices = Vec::new();
    let mut limit = limit.max(1);
    let mut halvings = 0;
    loop {
        match pages(instances, limit, &mut notices).await {
            Err(Error::Unavailable(error)) if halvings < HALVINGS && limit > 1 => {
                tracing::warn!(error, limit, "the cloud could not list its machines; trying again with smaller pages");
                halvings += 1;
                limit /= 2;
            }
            machines => return Sweep { machines, notices, limit },
        }
    }
}

async fn pages(instances: &dyn Instances, limit: u32, notices: &mut Vec<Notice>) -> Result<Machines> {
    let mut found: Vec<Instance> = Vec::new();
    let mut incomplete = None;
    let mut cursor = None;
    let mut cursors = HashSet::new();
    loop {
        let page = page(instances, cursor, limit, notices).await?;
        found.extend(page.instances);
        incomplete = incomplete.or(page.incomplete);
        if found.len() > MACHINES {
            return Err(Error::Invalid(format!("the provider lists more than {MACHINES} machines")));
        }
        let Some(next) = page.next else { return Ok(Machines::new(found, incomplete)) };
        if !cursors.insert(next.clone()) || cursors.len() > MACHINES {
            return Err(Error::Invalid("the provider's list of machines leads in a circle and never ends".to_owned()));
        }
        cursor = Some(next);
    }
}

async fn page(
    instances: &dyn Instances,
    cursor: Option<String>,
    limit: u32,
    notices: &mut Vec<Notice>,
) -> Result<Page> {
    let Ok(reply) = tokio::time::timeout(CALL, instances.list(cursor, limit)).await else {
        return Err(late());
    };
    notices.extend(reply.notices);
    let page = reply.answer?;
    match u32::try_from(page.instances.len()) {
        Ok(length) if length <= limit => Ok(page),
        _ => Err(Error::Invalid(format!(
            "the provider lists {} machines on one page, and was asked for {limit} at most",
            page.instances.len(),
        ))),
    }
}

pub(crate) fn late() -> Error {
    Error::Unavailable(format!("the cloud did not answer within {} s", CALL.as_secs()))
}
