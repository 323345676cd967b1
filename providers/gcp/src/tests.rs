//! Machines and volumes, natively: what is asked, and what becomes of the answers.

mod lookup;

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use serde_json::{Value, json};

/// A refusal of the API.
pub(crate) fn refused(status: u16, reason: &str) -> Outcome {
    let error = json!({ "message": format!("it is {reason}"), "domain": "global", "reason": reason });
    let body = json!({ "error": { "code": status, "message": error["message"], "errors": [error] } });
    answer(status, body.to_string())
}

/// A host with the settings of a cluster in europe-west1.
pub(crate) fn settings() -> Host {
    Host::new().setting("project", "p1").setting("region", "europe-west1")
}

/// The whole path of a request, with the project of its endpoint.
pub(crate) fn path_of(request: &Request, network_project: &str) -> Vec<String> {
    let project = match &*request.endpoint {
        "compute" => "p1",
        "network" => network_project,
        other => panic!("there is no endpoint {other}"),
    };
    ["projects", project].map(str::to_owned).into_iter().chain(request.path.iter().cloned()).collect()
}

/// The value of a name in the query.
pub(crate) fn asked<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
}

/// An instance as the API shows it.
fn instance(zone: &str, name: &str) -> Value {
    let base = "https://www.googleapis.com/compute/v1/projects/p1";
    json!({
        "name": name, "zone": format!("{base}/zones/{zone}"), "status": "RUNNING", "canIpForward": true,
        "machineType": format!("{base}/zones/{zone}/machineTypes/e2-standard-2"), "tags": { "items": ["web", "node", "n"] },
        "networkInterfaces": [{
            "networkIP": "10.132.0.2", "network": format!("{base}/global/networks/default"),
            "subnetwork": format!("{base}/regions/europe-west1/subnetworks/default"),
            "accessConfigs": [{ "natIP": "198.51.100.2" }],
        }],
    })
}

/// A project's instances, and warnings of its zones.
#[derive(Clone, Default)]
struct Zones {
    instances: Vec<Value>,
    warnings: Vec<(&'static str, &'static str)>,
}

impl Zones {
    fn host(self) -> Host {
        settings().answers(move |request| self.answer(request))
    }

    fn answer(&self, request: &Request) -> Outcome {
        let path = path_of(request, "p1");
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let zone_of = |it: &Value| it["zone"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        match &path[..] {
            ["projects", "p1", "zones", zone, "instances", name] => {
                let found = self.instances.iter().find(|it| it["name"] == *name && zone_of(it) == *zone);
                found.map_or_else(|| refused(404, "notFound"), |it| answer(200, it.to_string()))
            }
            ["projects", "p1", "aggregated", "instances"] => {
                let size: usize = asked(request, "maxResults").unwrap().parse().unwrap();
                assert!(size <= 500 && asked(request, "returnPartialSuccess").is_none());
                let name = asked(request, "filter").map(|it| it.strip_prefix("name eq ").unwrap());
                let all = self.instances.iter().filter(|it| name.is_none_or(|name| it["name"] == name));
                let start: usize = asked(request, "pageToken").map_or(0, |it| it.parse().unwrap());
                let rest: Vec<&Value> = all.skip(start).collect();
                let mut scopes = serde_json::Map::new();
                for zone in ["europe-west1-b", "europe-west1-c", "us-east1-b"] {
                    let here: Vec<&Value> = rest.iter().take(size).filter(|it| zone_of(it) == zone).copied().collect();
                    let warned = self.warnings.iter().find(|(it, _)| *it == zone).map(|(_, code)| *code);
                    let code = warned.or(here.is_empty().then_some("NO_RESULTS_ON_PAGE"));
                    let scope = match code {
                        Some(code) => json!({ "instances": here, "warning": { "code": code, "message": "m" } }),
                        None => json!({ "instances": here }),
                    };
                    scopes.insert(format!("zones/{zone}"), scope);
                }
                let mut page = json!({ "items": scopes });
                if rest.len() > size {
                    page["nextPageToken"] = json!((start + size).to_string());
                }
                answer(200, page.to_string())
            }
            other => panic!("{other:?}"),
        }
    }
}
