//! The list of all that was made for Services of this cluster, by its tag: load balancers of both kinds, groups of machines and security
//! groups. Load balancers that were taken over are asked about one by one.

use aerostat_sdk::json::revision;
use aerostat_sdk::sorted::sort;
use aerostat_sdk::{
    Error, Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory,
    MarkedOwner, Proof, Result, cluster,
};
use serde_json::Value;

use crate::api::load_balancers::{self as classic, PAGE};
use crate::api::{network_groups, network_load_balancers as network, security_groups};
use crate::load_balancer::{CLUSTER_UID, KEPT, SERVICE_UID};
use crate::provider::Alibaba;
use crate::settings::VpcSettings;
use crate::settings::balancers::has_networks;

/// The lists, in their order. Each has its name in cursors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AliList {
    Classics,
    Networks,
    ServerGroups,
    SecurityGroups,
}

const LISTS: [(&str, AliList); 4] = [
    ("classic", AliList::Classics),
    ("network", AliList::Networks),
    ("server-groups", AliList::ServerGroups),
    ("security-groups", AliList::SecurityGroups),
];

/// Items, and where their list goes on.
type AliItems = (Vec<InventoryItem>, Option<String>);

impl LoadBalancerInventory for Alibaba {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGE, false))
    }

    /// A page of one of the lists.
    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let (number, marker) = position(cursor)?;
        let view = AliView { region: VpcSettings::read()?.region, cluster: cluster()?.uid, size: limit.clamp(1, PAGE) };
        let (items, next) = match LISTS.get(number).map(|(_, list)| *list) {
            None => (Vec::new(), None),
            Some(AliList::Networks | AliList::ServerGroups) if !has_networks()? => (Vec::new(), None),
            Some(AliList::Classics) => view.classics(marker)?,
            Some(AliList::Networks) => view.networks(marker)?,
            Some(AliList::ServerGroups) => view.server_groups(marker)?,
            Some(AliList::SecurityGroups) => view.security_groups(marker)?,
        };
        let name = |number: usize| LISTS.get(number).map(|(name, _)| *name);
        let next = match next {
            Some(marker) => name(number).map(|it| format!("{it}:{marker}")),
            None => name(number + 1).map(|it| format!("{it}:")),
        };
        Ok(InventoryPage::new(items, next))
    }
}

/// The list that a cursor goes on with, and from where.
fn position(cursor: Option<&str>) -> Result<(usize, Option<&str>)> {
    let Some(cursor) = cursor else { return Ok((0, None)) };
    let found = cursor.split_once(':').and_then(|(name, marker)| {
        let number = LISTS.iter().position(|(it, _)| *it == name)?;
        Some((number, Some(marker).filter(|it| !it.is_empty())))
    });
    found.ok_or_else(|| Error::invalid(format_args!("cursor {cursor:?} is not one of the list of load balancers")))
}

/// The text of all that a list shows of a load balancer: fields in their order, and others in one of its own, since the API promises none.
fn outline(shown: &[&String], mut listed: Vec<String>, tags: &[(String, String)]) -> String {
    listed.extend(tags.iter().map(|(key, value)| [&**key, &**value].join("=")));
    sort(&mut listed);
    let mut all: Vec<&str> = shown.iter().map(|it| it.as_str()).collect();
    all.extend(listed.iter().map(String::as_str));
    revision(&Value::from(all.join("\n")))
}

/// The view of one cluster on what has its tag.
struct AliView {
    region: String,
    cluster: String,
    size: u32,
}

impl AliView {
    fn tag(&self) -> (&str, &str) {
        (CLUSTER_UID, &self.cluster)
    }

    /// The item for what has these tags; `None`, if it does not have the cluster's.
    fn item(&self, title: String, tags: &[(String, String)]) -> Option<InventoryItem> {
        let text = |key: &str| tags.iter().find(|(it, _)| it == key).map(|(_, value)| value.clone());
        let cluster_uid = text(CLUSTER_UID).filter(|it| *it == self.cluster)?;
        let owner = MarkedOwner { cluster_uid: Some(cluster_uid), uid: text(SERVICE_UID), ..MarkedOwner::default() };
        let item = InventoryItem::new(title, owner, Proof::Unique);
        Some(match text(KEPT) {
            Some(_) => item.kept("an annotation of its Service kept it"),
            None => item,
        })
    }

    /// The marker is the number of a page.
    fn classics(&self, marker: Option<&str>) -> Result<AliItems> {
        let number: u32 = match marker {
            None => 1,
            Some(it) => it.parse().map_err(|_| Error::invalid(format_args!("{it:?} is no number of a page")))?,
        };
        let (found, total) = classic::page(&self.region, self.tag(), number, self.size)?;
        let is_last = found.is_empty() || u64::from(number) * u64::from(self.size) >= total;
        let items = found.iter().filter_map(|live| {
            let mut item = self.item(live.title(), &live.tags)?;
            item.memo = Some(live.id.clone());
            if live.status == "locked" {
                item.state = InventoryState::Failed("the cloud has locked it".to_owned());
            }
            item.ingress = if live.address.is_empty() { Vec::new() } else { vec![Ingress::ip(&live.address)] };
            let bandwidth = live.bandwidth.to_string();
            let shown = [
                &live.name,
                &live.address,
                &live.address_type,
                &live.status,
                &live.internet_charge,
                &live.spec,
                &live.delete_protection,
                &live.modification_protection,
                &bandwidth,
            ];
            Some(item.outline(outline(&shown, Vec::new(), &live.tags)))
        });
        Ok((items.collect(), (!is_last).then(|| (number + 1).to_string())))
    }

    fn networks(&self, marker: Option<&str>) -> Result<AliItems> {
        let (found, next) = network::page(&self.region, self.tag(), marker, self.size)?;
        let items = found.iter().filter_map(|live| {
            let mut item = self.item(live.title(), &live.tags)?;
            item.memo = Some(live.id.clone());
            item.state = match &*live.status {
                "CreateFailed" => InventoryState::Failed("the cloud could not make it".to_owned()),
                "Provisioning" | "Configuring" => InventoryState::Changing,
                _ => InventoryState::Ready,
            };
            item.ingress = if live.dns_name.is_empty() { Vec::new() } else { vec![Ingress::hostname(&live.dns_name)] };
            let shown = [
                &live.name,
                &live.dns_name,
                &live.address_type,
                &live.ip_version,
                &live.ipv6_address_type,
                &live.package,
                &live.status,
                &live.modification_protection,
            ];
            let mut listed = live.security_groups.clone();
            listed.push(if live.is_delete_protected { "protected" } else { "" }.to_owned());
            listed.push(if live.is_cross_zone { "cross-zone" } else { "" }.to_owned());
            listed.extend(live.zones.iter().map(|zone| {
                let place = [zone.address.as_deref(), zone.elastic.as_deref()].map(Option::unwrap_or_default);
                [&*zone.zone, &*zone.switch, place[0], place[1]].join(" ")
            }));
            Some(item.outline(outline(&shown, listed, &live.tags)))
        });
        Ok((items.collect(), next))
    }

    fn server_groups(&self, marker: Option<&str>) -> Result<AliItems> {
        let (found, next) = network_groups::page(&self.region, self.tag(), marker, self.size)?;
        let item = |it: &network_groups::NlbGroup| self.item(format!("server group {} ({})", it.id, it.name), &it.tags);
        Ok((found.iter().filter_map(item).collect(), next))
    }

    fn security_groups(&self, marker: Option<&str>) -> Result<AliItems> {
        let (found, next) = security_groups::page(&self.region, self.tag(), marker, self.size)?;
        let item =
            |it: &security_groups::EcsGroup| self.item(format!("security group {} ({})", it.id, it.name), &it.tags);
        Ok((found.iter().filter_map(item).collect(), next))
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::testing::answer;
    use serde_json::json;

    use super::*;
    use crate::tests::{action, published, settings};

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
        // The second and the last do not have the tag that was asked for.
        let all = vec![
            shown(1, &own),
            shown(2, &[("ack.aliyun.com", "c1")]),
            shown(3, &[own[0], own[1], (KEPT, "true")]),
            shown(4, &[(CLUSTER_UID, "other"), own[1]]),
        ];
        let host = settings().answers(move |request| {
            published::check(request);
            let shown = json!({ "LoadBalancers": { "LoadBalancer": all }, "TotalCount": 250 });
            answer(200, shown.to_string())
        });
        let page = host.run(|| <Alibaba as LoadBalancerInventory>::list(None, 100)).unwrap();
        let found: Vec<_> = page.items.iter().map(|it| (it.memo.as_deref(), it.owner.uid.as_deref())).collect();
        assert_eq!(found, [(Some("lb-1"), Some("u1")), (Some("lb-3"), Some("u1"))]);
        assert!(page.items.iter().all(|it| it.proof == Proof::Unique));
        let words = |at: usize| page.items[at].extra.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>();
        assert_eq!([0, 1].map(words), [vec!["outline"], vec!["kept", "outline"]], "the one that is kept is no orphan");
        let cursors: Vec<_> = ["classic:2", "classic:3"]
            .iter()
            .map(|it| host.run(|| <Alibaba as LoadBalancerInventory>::list(Some(it), 100)).unwrap().next)
            .collect();
        assert_eq!(page.next.as_deref(), Some("classic:2"));
        assert_eq!(cursors, [Some("classic:3".to_owned()), Some("network:".to_owned())]);
        for cursor in ["x", "classic:x", "other:"] {
            assert!(host.run(|| <Alibaba as LoadBalancerInventory>::list(Some(cursor), 100)).is_err(), "{cursor}");
        }
    }

    #[test]
    fn lists_of_network_load_balancers_are_left_out() {
        let host = settings().setting("networkLoadBalancers", "false");
        let next = |cursor| host.run(|| <Alibaba as LoadBalancerInventory>::list(Some(cursor), 100)).unwrap().next;
        let cursors = ["network:", "server-groups:"].map(next);
        assert_eq!(cursors.map(Option::unwrap), ["server-groups:", "security-groups:"]);
        assert!(host.requests().is_empty());
    }

    #[test]
    fn both_kinds_and_their_groups_are_listed() {
        let cluster = settings().run(|| cluster().unwrap().uid);
        let tags = json!([{ "Key": CLUSTER_UID, "Value": cluster }, { "Key": SERVICE_UID, "Value": "u1" }]);
        let foreign = json!([{ "Key": "ack.aliyun.com", "Value": "c1" }]);
        let host = settings().answers(move |request| {
            published::check(request);
            let shown = match action(request) {
                "DescribeLoadBalancers" => json!({ "LoadBalancers": { "LoadBalancer": [] }, "TotalCount": 0 }),
                "ListLoadBalancers" => json!({ "NextToken": "", "LoadBalancers": [
                    { "LoadBalancerId": "nlb-1", "LoadBalancerStatus": "Provisioning", "DNSName": "x.example", "Tags": tags },
                    { "LoadBalancerId": "nlb-2", "LoadBalancerStatus": "Active", "Tags": foreign },
                ] }),
                // A page more.
                "ListServerGroups" => match published::parameters(request).iter().any(|(name, _)| *name == "NextToken") {
                    false => json!({ "NextToken": "t:1", "ServerGroups": [{ "ServerGroupId": "sgp-1", "Tags": tags }] }),
                    true => json!({ "NextToken": "", "ServerGroups": [{ "ServerGroupId": "sgp-2", "Tags": tags }] }),
                },
                "DescribeSecurityGroups" => json!({ "SecurityGroups": { "SecurityGroup": [
                    { "SecurityGroupId": "sg-1", "Tags": { "Tag": [{ "TagKey": CLUSTER_UID, "TagValue": cluster }] } },
                ] } }),
                other => panic!("{other}"),
            };
            answer(200, shown.to_string())
        });
        let (mut cursor, mut found) = (None, Vec::new());
        loop {
            let page = host.run(|| <Alibaba as LoadBalancerInventory>::list(cursor.as_deref(), 100)).unwrap();
            found.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let titles: Vec<_> = found.iter().map(|it| it.cloud_object.split(" (").next().unwrap()).collect();
        assert_eq!(titles, ["load balancer nlb-1", "server group sgp-1", "server group sgp-2", "security group sg-1"]);
        assert_eq!((found[0].memo.as_deref(), &found[0].state), (Some("nlb-1"), &InventoryState::Changing));
        assert_eq!(found[0].ingress, [Ingress::hostname("x.example")]);
    }
}
