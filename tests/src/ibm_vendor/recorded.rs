//! The load balancers that theirs had, told by its requests: writes change them, and what was read says how they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::seen::{SeenVpcBalancer, SeenVpcPool};

/// The load balancers of the recorded account, by id.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedVpc(BTreeMap<String, SeenVpcBalancer>);

impl RecordedVpc {
    /// All of them.
    pub(super) fn all(&self) -> Vec<SeenVpcBalancer> {
        self.0.values().cloned().collect()
    }

    /// After a recorded request.
    pub(super) fn play(&mut self, request: &Value) {
        let Some(path) = request["path"].as_str().and_then(|it| it.strip_prefix("/v1/load_balancers")) else { return };
        if request["status"].as_u64().is_none_or(|it| it >= 300) {
            return;
        }
        let path: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        let (body, answer) = (&request["body"], &request["answer"]);
        match (request["method"].as_str().unwrap_or_default(), path.as_slice()) {
            ("GET", []) => self.list(answer),
            ("POST", []) => drop(self.0.insert(id(answer), made(answer, body))),
            ("DELETE", [id]) => drop(self.0.remove(*id)),
            (method, [id, path @ ..]) => {
                self.0.get_mut(*id).into_iter().for_each(|it| it.play(method, path, body, answer));
            }
            _ => {}
        }
    }

    /// Those that are listed, and no others. One that is new has parts once they are read.
    fn list(&mut self, answer: &Value) {
        let listed = list(answer, "load_balancers").iter().filter(|it| it["provisioning_status"] != "delete_pending");
        let there = listed.map(|balancer| {
            let body = json!({ "is_public": balancer["is_public"], "subnets": balancer["subnets"] });
            let known = self.0.remove(&id(balancer));
            (id(balancer), known.unwrap_or_else(|| made(balancer, &body)))
        });
        self.0 = there.collect();
    }
}

impl SeenVpcBalancer {
    /// After a request about its parts.
    fn play(&mut self, method: &str, path: &[&str], body: &Value, answer: &Value) {
        match (method, path) {
            ("GET", ["listeners"]) => {
                self.listeners = list(answer, "listeners").iter().map(|it| (id(it), it.clone())).collect();
            }
            ("POST", ["listeners"]) => drop(self.listeners.insert(id(answer), body.clone())),
            ("DELETE", ["listeners", id]) => drop(self.listeners.remove(*id)),
            ("GET", ["pools"]) => {
                let there = list(answer, "pools").iter().map(|pool| {
                    let members = self.pools.remove(&id(pool)).map(|it| it.members).unwrap_or_default();
                    (id(pool), SeenVpcPool { body: pool.clone(), members })
                });
                self.pools = there.collect();
            }
            ("POST", ["pools"]) => drop(self.pools.insert(id(answer), pool(body))),
            ("DELETE", ["pools", id]) => drop(self.pools.remove(*id)),
            (method, ["pools", id, rest @ ..]) => {
                let Some(pool) = self.pools.get_mut(*id) else { return };
                match (method, rest) {
                    ("PATCH", []) => {
                        let fields = body.as_object().into_iter().flatten();
                        fields.for_each(|(name, it)| pool.body[name.as_str()] = it.clone());
                    }
                    ("GET", ["members"]) => pool.members = list(answer, "members").to_vec(),
                    ("PUT", ["members"]) => pool.members = list(body, "members").to_vec(),
                    ("POST", ["members"]) => pool.members.push(body.clone()),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// One that has the id and the hostname of an answer, as a body asks for it.
fn made(answer: &Value, body: &Value) -> SeenVpcBalancer {
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let numbered = |(number, it): (usize, &Value)| (number.to_string(), it.clone());
    let pools = list(body, "pools").iter().enumerate();
    SeenVpcBalancer {
        name: body["name"].as_str().map_or_else(|| text("name"), str::to_owned),
        hostname: text("hostname"),
        is_public: body["is_public"] == json!(true),
        subnets: list(body, "subnets").iter().map(id).collect(),
        // Their ids are read later.
        listeners: list(body, "listeners").iter().enumerate().map(numbered).collect(),
        pools: pools.map(|(number, it)| (number.to_string(), pool(it))).collect(),
    }
}

fn pool(body: &Value) -> SeenVpcPool {
    SeenVpcPool { body: body.clone(), members: list(body, "members").to_vec() }
}

fn id(object: &Value) -> String {
    object["id"].as_str().unwrap_or_default().to_owned()
}

fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map(Vec::as_slice).unwrap_or_default()
}
