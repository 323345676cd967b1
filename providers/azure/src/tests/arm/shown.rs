//! The resource manager as a cloud in memory: everything that exists, and what others do to it.

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{FakeCloud, FakeMoment, Request, Response};
use serde_json::json;

use super::{FakeArm, error, rg};

impl FakeCloud for FakeArm {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.answered(request, moment)
    }

    fn objects(&self) -> Vec<CloudObject> {
        let mut all = Vec::new();
        for (key, shown) in &self.objects {
            let kinds =
                [("/publicipaddresses/", ""), ("/loadbalancers/", ""), ("/networksecuritygroups/", "securityRules")];
            let Some((_, only)) = kinds.iter().find(|(it, _)| key.contains(it)) else { continue };
            if only.is_empty() {
                let mut body = json!({ "tags": shown["tags"], "sku": shown["sku"] });
                if key.contains("/publicipaddresses/") {
                    body["ip"] = shown["properties"]["ipAddress"].clone();
                }
                let kind = if key.contains("/loadbalancers/") { "shared balancer" } else { "public address" };
                all.push(CloudObject { kind: kind.to_owned(), id: key.clone(), name: String::new(), body });
            }
            for (kind, parts) in shown["properties"].as_object().unwrap() {
                if *kind == "ipConfigurations" {
                    continue;
                }
                for part in parts.as_array().into_iter().flatten().filter(|it| !it["name"].is_null()) {
                    let name = part["name"].as_str().unwrap().to_owned();
                    let mut body = part["properties"].clone();
                    for it in ["provisioningState", "backendIPConfigurations"] {
                        body.as_object_mut().map(|body| body.remove(it));
                    }
                    all.push(CloudObject { kind: kind.clone(), id: format!("{key}/{name}"), name, body });
                }
            }
        }
        all
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                let last = u8::try_from(self.count() % 200 + 4).unwrap();
                self.machine(name, last);
            }
            ForeignChange::AddForeign { name } => {
                let pip = rg(&format!("Microsoft.Network/publicIPAddresses/{name}"));
                self.put(
                    &pip,
                    json!({ "sku": { "name": "Standard" }, "tags": { "k8s-azure-service": "other/web" },
                    "properties": { "ipAddress": "20.60.0.1" } }),
                );
                self.touch("Microsoft.Network/networkSecurityGroups/nsg1", |entry| {
                    let rule = json!({ "name": "by-hand", "properties": { "priority": 500, "direction": "Inbound", "note": 1 } });
                    entry["properties"]["securityRules"].as_array_mut().unwrap().push(rule);
                });
                return Some(Changed { id: Some(pip) });
            }
            _ => return None,
        }
        Some(Changed::default())
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        crate::tests::SETTINGS.to_vec()
    }

    fn busy(&self, _: &Request) -> Response {
        error(429, "RetryableError")
    }

    fn refused(&self, _: &Request) -> Response {
        error(400, "InvalidParameter")
    }
}
