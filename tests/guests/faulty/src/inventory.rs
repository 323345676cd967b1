//! The list of all balancers with the cluster's mark.

use aerostat_sdk::{
    InventoryDescription, InventoryItem, InventoryPage, LoadBalancerInventory, MarkedOwner, Proof, Result, cluster,
};

use crate::Faulty;
use crate::api;
use crate::balancers::KEPT;
use crate::fault::{self, Fault};

impl LoadBalancerInventory for Faulty {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(100, true))
    }

    fn list(_: Option<&str>, _: u32) -> Result<InventoryPage> {
        let balancers = api::all()?;
        let (own, mut items) = (cluster()?.uid, Vec::new());
        for balancer in balancers {
            let mark = |name: &str| balancer.labels.get(name).cloned();
            let owner = MarkedOwner { cluster_uid: mark("cluster"), uid: mark("service"), ..MarkedOwner::default() };
            let is_own = owner.cluster_uid.as_ref() == Some(&own) || fault::is(Fault::ListsAll)?;
            if !is_own || fault::is(Fault::Unlisted)? {
                continue;
            }
            let mut item = InventoryItem::new(format!("balancer {}", balancer.id), owner, Proof::Unique);
            item.revision = Some(match () {
                () if fault::is(Fault::MovingRevision)? => fault::moment()?,
                () if fault::is(Fault::StuckRevision)? => "1".to_owned(),
                () => sum(&balancer.spec.to_string()),
            });
            item.memo = Some(balancer.id);
            if balancer.labels.contains_key(KEPT) {
                item = item.kept("it is protected");
            }
            items.push(item);
        }
        Ok(InventoryPage::new(items, None))
    }
}

/// A number for a text.
fn sum(text: &str) -> String {
    text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))).to_string()
}
