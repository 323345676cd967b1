//! The routes of a project in memory, with operations that last until the test says so.

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::Method;
use aerostat_sdk::testing::{Body, Host, Outcome, Request, answer};
use serde_json::{Value, json};

use crate::tests::{asked, path_of, refused, settings};

/// Where references begin.
const BASE: &str = "https://www.googleapis.com/compute/v1/";

/// The routes of a project.
#[derive(Default)]
pub(super) struct Network {
    routes: Vec<Value>,
    /// Operations in their order: a name, what it does once it is done, and what is shown of its end.
    operations: Vec<(String, Option<NetworkEffect>, Value)>,
    /// Whether the credential may read operations, and list none.
    hides_operations: bool,
    /// Whether lists do not show routes yet.
    is_late: bool,
    refusal: Option<(u16, &'static str)>,
    writes: usize,
}

enum NetworkEffect {
    Add(Value),
    Remove(String),
}

/// The same, shared with its host.
#[derive(Clone)]
pub(super) struct SharedNetwork(Rc<RefCell<Network>>);

impl Network {
    pub(super) fn with(self, name: &str, destination: &str, hop: &str) -> Self {
        self.of_network("default", name, destination, hop)
    }

    pub(super) fn of_network(mut self, network: &str, name: &str, destination: &str, hop: &str) -> Self {
        let description = if name == "by-hand" { "" } else { "k8s-node-route" };
        self.routes.push(json!({
            "name": name, "description": description, "destRange": destination, "priority": 1000,
            "network": format!("{BASE}projects/p2/global/networks/{network}"), "nextHopInstance": format!("{BASE}{hop}"),
        }));
        self
    }

    pub(super) fn unlisted(self) -> Self {
        Self { is_late: true, ..self }
    }

    pub(super) fn refusing(self, status: u16, reason: &'static str) -> Self {
        Self { refusal: Some((status, reason)), ..self }
    }

    pub(super) fn shared(self) -> SharedNetwork {
        SharedNetwork(Rc::new(RefCell::new(self)))
    }

    fn answer(&mut self, request: &Request) -> Outcome {
        let path = path_of(request, "p2");
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        assert_eq!(path[..3], ["projects", "p2", "global"]);
        let is_called = |it: &Value, name: &str| it["name"] == name;
        match (request.method, &path[3..]) {
            (Method::Get, ["routes"]) => {
                assert_eq!(asked(request, "filter"), Some("network eq \".*/global/networks/default\""));
                let size: usize = asked(request, "maxResults").unwrap().parse().unwrap();
                let is_shown = |it: &&Value| !self.is_late && it["network"].as_str().unwrap().ends_with("/default");
                let start: usize = asked(request, "pageToken").map_or(0, |it| it.parse().unwrap());
                let all: Vec<&Value> = self.routes.iter().filter(is_shown).collect();
                let part: Vec<&&Value> = all.iter().skip(start).take(size).collect();
                let next = (start + size < all.len()).then(|| (start + size).to_string());
                answer(200, json!({ "items": part, "nextPageToken": next }).to_string())
            }
            (Method::Get, ["routes", name]) => {
                let found = self.routes.iter().find(|it| is_called(it, name));
                found.map_or_else(|| refused(404, "notFound"), |it| answer(200, it.to_string()))
            }
            (Method::Get, ["operations"]) if self.hides_operations => refused(403, "forbidden"),
            (Method::Get, ["operations"]) => {
                let names = asked(request, "filter").unwrap().strip_prefix("name eq \"(").unwrap();
                let names: Vec<&str> = names.strip_suffix(")\"").unwrap().split('|').collect();
                let all = self.operations.iter().filter(|(name, ..)| names.contains(&&**name));
                answer(200, json!({ "items": all.map(|(_, _, shown)| shown).collect::<Vec<_>>() }).to_string())
            }
            (Method::Get, ["operations", name]) => match self.operations.iter().find(|(it, ..)| it == name) {
                Some((_, _, shown)) => answer(200, shown.to_string()),
                None => refused(404, "notFound"),
            },
            (Method::Post, ["routes"]) => {
                self.writes += 1;
                if let Some((status, reason)) = self.refusal {
                    return refused(status, reason);
                }
                let Some(Body::Bytes(bytes)) = &request.body else { panic!("{request:?}") };
                let mut route: Value = serde_json::from_slice(bytes).unwrap();
                for field in ["network", "nextHopInstance"] {
                    route[field] = json!(format!("{BASE}{}", route[field].as_str().unwrap()));
                }
                if self.routes.iter().any(|it| it["name"] == route["name"]) {
                    return refused(409, "alreadyExists");
                }
                self.begin(NetworkEffect::Add(route))
            }
            (Method::Delete, ["routes", name]) => {
                self.writes += 1;
                match self.routes.iter().any(|it| is_called(it, name)) {
                    true => self.begin(NetworkEffect::Remove((*name).to_owned())),
                    false => refused(404, "notFound"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, effect: NetworkEffect) -> Outcome {
        let name = format!("operation-{}", self.operations.len() + 1);
        let shown = json!({ "name": name, "status": "RUNNING" });
        self.operations.push((name, Some(effect), shown.clone()));
        answer(200, shown.to_string())
    }
}

impl SharedNetwork {
    pub(super) fn host(&self) -> Host {
        let network = self.0.clone();
        settings().setting("networkProject", "p2").answers(move |request| network.borrow_mut().answer(request))
    }

    /// Lets all operations end well.
    pub(super) fn finish(&self) {
        let network = &mut *self.0.borrow_mut();
        for (_, effect, shown) in &mut network.operations {
            shown["status"] = json!("DONE");
            match effect.take() {
                Some(NetworkEffect::Add(route)) => network.routes.push(route),
                Some(NetworkEffect::Remove(name)) => network.routes.retain(|it| it["name"] != *name),
                None => {}
            }
        }
    }

    /// Lets all operations fail.
    pub(super) fn fail(&self, code: &str, message: &str) {
        for (_, effect, shown) in &mut self.0.borrow_mut().operations {
            *effect = None;
            shown["status"] = json!("DONE");
            shown["error"] = json!({ "errors": [{ "code": code, "message": message }] });
        }
    }

    /// The credential may list operations no more.
    pub(super) fn hide_operations(&self) {
        self.0.borrow_mut().hides_operations = true;
    }

    /// Forgets all operations, none of which was carried out.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().operations.clear();
    }

    pub(super) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.borrow().routes.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }
}
