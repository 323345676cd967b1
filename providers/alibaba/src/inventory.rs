//! The list of all load balancers that this cluster has made, by its tag. Those that it took over are asked about one by one.

use aerostat_sdk::{
    Error, Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory,
    MarkedOwner, Proof, Result, cluster,
};

use crate::api::load_balancers::{self as api, PAGE, SlbBalancer};
use crate::load_balancer::{CLUSTER_UID, KEPT, SERVICE_UID};
use crate::provider::Alibaba;
use crate::settings::VpcSettings;

impl LoadBalancerInventory for Alibaba {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGE, false))
    }

    /// The cursor is the number of a page.
    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let VpcSettings { region, .. } = VpcSettings::read()?;
        let cluster = cluster()?.uid;
        let number: u32 = match cursor {
            None => 1,
            Some(it) => it.parse().map_err(|_| Error::invalid(format_args!("{it:?} is no cursor of this list")))?,
        };
        let size = limit.clamp(1, PAGE);
        let (found, total) = api::page(&region, (CLUSTER_UID, &cluster), number, size)?;
        let is_last = found.is_empty() || u64::from(number) * u64::from(size) >= total;
        let items = found.iter().filter(|it| it.tag(CLUSTER_UID) == Some(&cluster)).map(item).collect();
        Ok(InventoryPage::new(items, (!is_last).then(|| (number + 1).to_string())))
    }
}

fn item(live: &SlbBalancer) -> InventoryItem {
    let text = |key| live.tag(key).map(str::to_owned);
    let owner = MarkedOwner { cluster_uid: text(CLUSTER_UID), uid: text(SERVICE_UID), ..MarkedOwner::default() };
    let mut item = InventoryItem::new(live.title(), owner, Proof::Unique);
    item.memo = Some(live.id.clone());
    item.state = match &*live.status {
        "locked" => InventoryState::Failed("the cloud has locked it".to_owned()),
        _ => InventoryState::Ready,
    };
    item.ingress = if live.address.is_empty() { Vec::new() } else { vec![Ingress::ip(&live.address)] };
    match live.tag(KEPT) {
        Some(_) => item.kept("an annotation of its Service kept it"),
        None => item,
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::testing::answer;
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::{published, settings};

    fn shown(number: usize, tags: &[(&str, &str)]) -> Value {
        let tags: Vec<Value> = tags.iter().map(|(key, value)| json!({ "TagKey": key, "TagValue": value })).collect();
        json!({
            "LoadBalancerId": format!("lb-{number}"), "LoadBalancerName": "web", "Address": "203.0.113.1", "LoadBalancerStatus": "active",
            "Tags": { "Tag": tags },
        })
    }

    #[test]
    fn the_load_balancer_of_the_api_server_is_no_item() {
        let cluster = settings().run(|| cluster().unwrap().uid);
        let own = [(CLUSTER_UID, &*cluster), (SERVICE_UID, "u1")];
        // The second does not have the tag that was asked for.
        let all =
            vec![shown(1, &own), shown(2, &[("ack.aliyun.com", "c1")]), shown(3, &[own[0], own[1], (KEPT, "true")])];
        let host = settings().answers(move |request| {
            published::check(request);
            let shown = json!({ "LoadBalancers": { "LoadBalancer": all }, "TotalCount": 250 });
            answer(200, shown.to_string())
        });
        let page = host.run(|| <Alibaba as LoadBalancerInventory>::list(None, 100)).unwrap();
        let found: Vec<_> = page.items.iter().map(|it| (it.memo.as_deref(), it.owner.uid.as_deref())).collect();
        assert_eq!(found, [(Some("lb-1"), Some("u1")), (Some("lb-3"), Some("u1"))]);
        assert!(page.items.iter().all(|it| it.proof == Proof::Unique));
        assert_eq!([0, 1].map(|it| page.items[it].extra.len()), [0, 1], "the one that is kept is no orphan");
        let cursors: Vec<_> = ["2", "3"]
            .iter()
            .map(|it| host.run(|| <Alibaba as LoadBalancerInventory>::list(Some(it), 100)).unwrap().next)
            .collect();
        assert_eq!((page.next.as_deref(), cursors), (Some("2"), vec![Some("3".to_owned()), None]));
        assert!(host.run(|| <Alibaba as LoadBalancerInventory>::list(Some("x"), 100)).is_err());
    }
}
