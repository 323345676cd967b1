//! Reading all machines, page after page, and no more of them than a cluster can use.

mod content;

use std::time::Duration;

use cloud_provider::{Error, EventList, Instances, Page, Result};
use tokio::time::Instant;

use self::content::{ListContent, NextPage};
use crate::cloud_call::{CALL, late};
use crate::inventory::instance_list::InstanceList;

/// How long a whole list may take. The largest honest one, 100,000 machines in pages of 200 at one request a second, takes
/// 500 s; a list that takes longer says little about now, and whoever joins waits for it.
const LIST: Duration = Duration::from_secs(900);
/// How many times the page size is halved before a list fails.
const HALVINGS: u32 = 3;

/// The content of a list, the events beside it, and the page size that worked.
pub(super) struct ListResult {
    pub(super) list: Result<InstanceList>,
    pub(super) events: EventList,
    pub(super) limit: u32,
}

/// Reads all machines, `limit` of them at a time. If a page does not come, the page size is halved, and the list starts
/// again: a cursor is only good for the page size that it came from. Where every call fails, as when nobody can say whose
/// account the credential belongs to, no smaller size is tried.
///
/// A list over one of its limits is incomplete: what was read of it counts, and nothing is concluded from what was not.
pub(super) async fn list_all(instances: &dyn Instances, limit: u32) -> ListResult {
    let until = Instant::now() + LIST;
    let mut events = EventList::default();
    let mut limit = limit.max(1);
    let mut halvings = 0;
    loop {
        match pages(instances, limit, until, &mut events).await {
            Err(Error::Unavailable(error)) if halvings < HALVINGS && limit > 1 && Instant::now() < until => {
                // Where every call fails, smaller pages fail too.
                if let Err(error) = instances.check().await {
                    return ListResult { list: Err(error), events, limit };
                }
                tracing::warn!(error, limit, "the cloud could not list its machines; trying again with smaller pages");
                halvings += 1;
                limit /= 2;
            }
            list => return ListResult { list, events, limit },
        }
    }
}

async fn pages(instances: &dyn Instances, limit: u32, until: Instant, events: &mut EventList) -> Result<InstanceList> {
    let mut content = ListContent::default();
    let mut cursor = None;
    let began = Instant::now();
    loop {
        let page = page(instances, cursor, limit, events).await?;
        cursor = match content.add(page) {
            NextPage::End => return Ok(content.into_machines(began)),
            NextPage::Page(next) => Some(next),
        };
        if Instant::now() >= until {
            content.cut(format!("it was not read to its end within {} s", LIST.as_secs()));
            return Ok(content.into_machines(began));
        }
    }
}

async fn page(instances: &dyn Instances, cursor: Option<String>, limit: u32, events: &mut EventList) -> Result<Page> {
    let Ok(reply) = tokio::time::timeout(CALL, instances.list(cursor, limit)).await else {
        return Err(late());
    };
    events.add(reply.events);
    let page = reply.answer?;
    match u32::try_from(page.instances.len()) {
        Ok(length) if length <= limit => Ok(page),
        _ => Err(Error::Invalid(format!(
            "the provider lists {} machines on one page, and was asked for {limit} at most",
            page.instances.len(),
        ))),
    }
}

#[cfg(test)]
mod tests;
