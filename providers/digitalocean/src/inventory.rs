//! The list of load balancers that have a name which only this provider gives.
//!
//! The name is the Service's UID without its last digit, so that it says neither for which Service nor for which cluster it
//! was given; and the cloud takes tags at a creation and never shows them. So what is listed is proven by its name alone.

use aerostat_sdk::json::{self, JsonError, revision};
use aerostat_sdk::{
    Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, MarkedOwner,
    Position, Proof, Result,
};
use serde_json::Value;

use crate::api::PAGES;
use crate::api::load_balancers::{self as api, ListedLoadBalancer, LoadBalancer, Status};
use crate::provider::DigitalOcean;

impl LoadBalancerInventory for DigitalOcean {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGES.largest, true))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let at = Position::parse(cursor, &["load-balancers"], limit.clamp(1, PAGES.largest))?;
        let found = api::page(at.page, limit.clamp(1, PAGES.largest))?;
        let mut unread = None;
        let items = found.items.into_iter().filter_map(|shown| {
            let listed = json::read(&shown).ok().filter(|it: &ListedLoadBalancer| is_mark(&it.name))?;
            item(&listed, shown).map_err(|why| unread = Some(format!("load balancer {}: {why}", listed.id))).ok()
        });
        let page = InventoryPage::new(items.collect(), at.next(found.is_last));
        Ok(match unread {
            Some(why) => page.incomplete(why),
            None => page,
        })
    }
}

/// Whether a name is one of those that load balancers are created with: "a", and 31 digits of a UID.
fn is_mark(name: &str) -> bool {
    let digits = name.strip_prefix('a').filter(|it| it.len() == 31);
    digits.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it)))
}

fn item(listed: &ListedLoadBalancer, shown: Value) -> Result<InventoryItem, JsonError> {
    let revision = revision(&own(&shown));
    let live = LoadBalancer::read(shown)?;
    let mut item = InventoryItem::new(live.title(), MarkedOwner::default(), Proof::ByName);
    item.memo = Some(listed.id.clone());
    item.state = match live.status {
        Status::Errored => InventoryState::Failed("the cloud says that it is errored".to_owned()),
        Status::New | Status::Active | Status::Other if live.is_being_built() => InventoryState::Changing,
        Status::New | Status::Active | Status::Other => InventoryState::Ready,
    };
    // Which certificate has a name is not told by the load balancer: it may have to get another one, as it is.
    let has_certificates = live.forwarding_rules.iter().any(|it| it.certificate_id.is_some());
    item.revision = Some(revision).filter(|_| !has_certificates);
    item.ingress = [&live.ip, &live.ipv6].into_iter().filter(|it| !it.is_empty()).map(Ingress::ip).collect();
    Ok(item)
}

/// The load balancer's own part of what a list shows of it: which sizes its region has is not.
///
/// The API shows no health and no traffic; everything that it shows is what somebody has set, or where it is reached.
fn own(shown: &Value) -> Value {
    let mut own = shown.clone();
    if let Some(region) = own.get_mut("region") {
        *region = region["slug"].take();
    }
    own
}

#[cfg(test)]
mod tests;
