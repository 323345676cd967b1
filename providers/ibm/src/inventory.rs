//! The list of all load balancers whose names say that they are this cluster's. Anybody may choose such a name: it proves nothing.

use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::json::revision;
use aerostat_sdk::{
    Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, MarkedOwner,
    Proof, Result,
};
use serde_json::json;

use crate::api::VpcId;
use crate::api::lists::PAGE;
use crate::api::load_balancers::{self as api, VpcBalancer};
use crate::api::subnets;
use crate::load_balancer::uid_in;
use crate::provider::Ibm;
use crate::settings::IbmAccountSettings;

impl LoadBalancerInventory for Ibm {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGE, false))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let settings = IbmAccountSettings::read()?;
        let Some(vpc) = &settings.vpc else { return Ok(InventoryPage::new(Vec::new(), None)) };
        let (mut found, next) = api::page(cursor, limit.clamp(1, PAGE))?;
        found.retain(|it| uid_in(&it.name, &settings).is_some());
        let subnets = if found.is_empty() { Vec::new() } else { subnets::all(vpc)? };
        let is_here = |live: &&VpcBalancer| live.subnets.iter().any(|own| subnets.iter().any(|it| it.id == own.id));
        let items = found.iter().filter(is_here).filter_map(|it| Some(item(it, uid_in(&it.name, &settings)?)));
        Ok(InventoryPage::new(items.collect(), next))
    }
}

/// `uid` is the end of the name: the Service's UID without dashes, if it is not cut.
fn item(live: &VpcBalancer, uid: &str) -> InventoryItem {
    let owner = MarkedOwner { uid: dashed(uid), ..MarkedOwner::default() };
    let mut item = InventoryItem::new(live.title(), owner, Proof::ByName);
    item.memo = Some(live.id.clone());
    item.state = match &*live.provisioning_status {
        "active" => InventoryState::Ready,
        "failed" => InventoryState::Failed("the cloud says that it has failed".to_owned()),
        _ => InventoryState::Changing,
    };
    item.ingress = vec![Ingress::hostname(&live.hostname)];
    match outline(live) {
        Some(outline) => item.outline(outline),
        None => item,
    }
}

/// The parts of a load balancer that the list shows, and that `ensure` looks at: their ids, and not their contents. A pool that gets other
/// members keeps its id, so that this is no revision. `None` where its own security group says who may come in: rules that somebody opens are found in each period.
fn outline(live: &VpcBalancer) -> Option<String> {
    if live.security_groups.iter().any(|it| it.name == live.name) {
        return None;
    }
    let ids = |all: &[VpcId]| all.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    Some(revision(&json!({
        "hostname": live.hostname,
        "is_public": live.is_public,
        "is_network": live.is_network(),
        "takes_udp": live.takes_udp(),
        "addresses": live.public_addresses().collect::<Vec<_>>(),
        "subnets": ids(&live.subnets),
        "listeners": ids(&live.listeners),
        "pools": live.pools.iter().map(|it| [&it.id, &it.name]).collect::<Vec<_>>(),
        "groups": live.security_groups.iter().map(|it| &it.id).collect::<Vec<_>>(),
    })))
}

/// A UID with its dashes; `None` if it is none.
fn dashed(text: &str) -> Option<String> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    Custom::uuid("").parse(&parts.join("-"))
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::testing::answer;
    use serde_json::Value;

    use super::*;
    use crate::tests::{page_of, settings};

    fn shown(number: usize, name: &str, subnet: &str, status: &str) -> Value {
        json!({
            "id": format!("lb-{number}"), "name": name, "hostname": format!("lb-{number}.example"), "is_public": true,
            "operating_status": "online", "provisioning_status": status, "subnets": [{ "id": subnet }],
        })
    }

    #[test]
    fn outline_tells_of_parts_and_not_of_health() {
        let mut before = shown(1, "kube-c1-a", "s1", "active");
        before["pools"] = json!([{ "id": "p-1", "name": "tcp-80-30080" }]);
        before["listeners"] = json!([{ "id": "l-1" }]);
        before["security_groups"] = json!([{ "id": "r006-usual", "name": "usual" }]);
        before["public_ips"] = json!([{ "address": "169.48.0.1" }]);
        let of = |it: &Value| outline(&serde_json::from_value(it.clone()).unwrap());
        let with = |key: &str, value: Value| {
            let mut changed = before.clone();
            changed[key] = value;
            of(&changed)
        };
        let own = of(&before).unwrap();
        assert!(own.len() <= 64);
        for (key, value) in [
            ("pools", json!([])),
            ("pools", json!([{ "id": "p-2", "name": "tcp-80-30080" }])),
            ("pools", json!([{ "id": "p-1", "name": "tcp-80-30090" }])),
            ("listeners", json!([{ "id": "l-2" }])),
            ("security_groups", json!([{ "id": "r006-other", "name": "usual" }])),
            ("subnets", json!([{ "id": "s1" }, { "id": "s2" }])),
            ("public_ips", json!([{ "address": "169.48.0.2" }])),
            ("is_public", json!(false)),
            ("hostname", json!("other.example")),
            ("udp_supported", json!(false)),
            ("profile", json!({ "family": "network" })),
        ] {
            assert_ne!(with(key, value.clone()), Some(own.clone()), "{key}: {value}");
        }
        assert_eq!(with("operating_status", json!("offline")), Some(own.clone()));
        assert_eq!(with("private_ips", json!([{ "address": "10.240.0.9" }])), Some(own));
        let guarded = json!([{ "id": "r006-own-1", "name": "kube-c1-a" }]);
        assert_eq!(with("security_groups", guarded), None, "its rules are compared in each period");
    }

    #[test]
    fn ibm_037_a_name_tells_a_service_and_proves_nothing() {
        let uid = "0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11";
        let all = vec![
            shown(1, &format!("kube-c1-{uid}"), "s1", "active"),
            shown(2, &format!("kube-c1-{uid}"), "of-another-vpc", "active"),
            shown(3, &format!("kube-c2-{uid}"), "s1", "active"),
            shown(4, "kube-c1-00000000000000000000000000000004", "s1", "update_pending"),
            shown(5, "shared", "s1", "active"),
            shown(6, "kube-c1-by-hand", "s1", "active"),
            shown(7, &format!("kube-c1-x-{uid}"), "s1", "active"),
        ];
        let host = settings().answers(move |request| match &*request.path[0] {
            "subnets" => {
                let subnet = json!({ "id": "s1", "name": "a", "ipv4_cidr_block": "10.0.0.0/24", "zone": { "name": "us-south-1" } });
                answer(200, json!({ "subnets": [subnet] }).to_string())
            }
            _ => page_of(request, "load_balancers", &all),
        });
        let page = host.run(|| Ibm::list(None, 100)).unwrap();
        let found: Vec<_> = page
            .items
            .iter()
            .map(|it| (it.memo.as_deref().unwrap(), it.owner.uid.as_deref(), it.state.clone()))
            .collect();
        let web = Some("0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let other = Some("00000000-0000-0000-0000-000000000004");
        assert_eq!(found, [("lb-1", web, InventoryState::Ready), ("lb-4", other, InventoryState::Changing)]);
        assert!(page.items.iter().all(|it| it.proof == Proof::ByName && it.revision.is_none()));
        let next = host.run(|| Ibm::list(None, 2)).unwrap().next;
        assert_eq!(next.as_deref(), Some("at/2"));
    }
}
