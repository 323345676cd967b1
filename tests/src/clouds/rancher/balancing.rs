//! Writes to stacks, load balancers and external services.

use serde_json::{Map, Value, json};

use super::shape::{self, Field};
use super::world::{RancherKind, World};

/// A refusal: its status, its code, and what it is about.
pub(super) struct Refused(pub(super) u16, pub(super) &'static str, pub(super) String);

/// The answer to a write: the id of the resource that it shows.
pub(super) type Written = Result<String, Refused>;

/// A body that the client should not have sent.
pub(super) fn bad(why: String) -> Refused {
    Refused(422, "InvalidBodyContent", why)
}

impl World {
    pub(super) fn create(&mut self, kind: RancherKind, body: &[u8]) -> Written {
        let fields: &[Field] = match kind {
            RancherKind::Stack => shape::STACK,
            RancherKind::Balancer => shape::BALANCER,
            RancherKind::External => shape::EXTERNAL,
            RancherKind::Host | RancherKind::IpAddress | RancherKind::Setting => {
                return Err(Refused(405, "MethodNotAllowed", String::new()));
            }
        };
        let body = shape::read(body, fields).map_err(bad)?;
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        if name.len() > 63 || !name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-') {
            return Err(bad(format!("name: {name:?} is not allowed")));
        }
        let stack = body.get("stackId").cloned().unwrap_or_default();
        if kind != RancherKind::Stack && !self.all(RancherKind::Stack).any(|(id, _)| stack == **id) {
            return Err(Refused(422, "InvalidReference", format!("stackId: {stack}")));
        }
        // Services of one stack have names of their own, whatever their kind.
        let kinds: &[RancherKind] = if kind == RancherKind::Stack {
            &[RancherKind::Stack]
        } else {
            &[RancherKind::Balancer, RancherKind::External]
        };
        let is_taken = kinds
            .iter()
            .any(|kind| self.all(*kind).any(|(_, it)| *it.field("name") == *name && *it.field("stackId") == stack));
        if is_taken {
            return Err(Refused(422, "NotUnique", "name".to_owned()));
        }
        if let Some(config) = body.get("lbConfig") {
            self.check_rules(config, &[])?;
        }
        let id = self.insert(kind, Value::Object(body), "active");
        if kind != RancherKind::Stack {
            self.begin(&id, "registering", "inactive");
        }
        Ok(id)
    }

    pub(super) fn replace(&mut self, kind: RancherKind, id: &str, body: &[u8]) -> Written {
        let fields = match kind {
            RancherKind::Balancer => shape::BALANCER_CHANGE,
            _ => shape::EXTERNAL_CHANGE,
        };
        let body = shape::read(body, fields).map_err(bad)?;
        self.offered(id, "update")?;
        if let Some(config) = body.get("lbConfig") {
            self.check_rules(config, &self.consumed(id))?;
        }
        self.write(id, body);
        let was = self.resources.get(id).map(|it| it.state.clone()).unwrap_or_default();
        match &*was {
            "active" => self.begin(id, "updating-active", "active"),
            "upgraded" => self.begin(id, "updating-active", "upgraded"),
            _ => self.begin(id, "updating-inactive", "inactive"),
        }
        Ok(id.to_owned())
    }

    pub(super) fn act(&mut self, id: &str, action: &str, body: &[u8]) -> Written {
        let fields: Option<&[Field]> = match action {
            "setservicelinks" => Some(shape::LINKS),
            "upgrade" => Some(shape::UPGRADE),
            _ => None,
        };
        let body = match fields {
            Some(fields) => shape::read(body, fields).map_err(bad)?,
            None if body.is_empty() => Map::new(),
            None => return Err(bad(format!("action {action} has no body"))),
        };
        self.offered(id, action)?;
        match action {
            "activate" => self.begin(id, "activating", "active"),
            "finishupgrade" => self.begin(id, "finishing-upgrade", "active"),
            "upgrade" => {
                let config = body["inServiceStrategy"]["launchConfig"].clone();
                if !config["ports"].is_array() || !config["imageUuid"].is_string() {
                    return Err(bad("launchConfig: ports or imageUuid is missing".to_owned()));
                }
                self.write(id, Map::from_iter([("launchConfig".to_owned(), config)]));
                self.begin(id, "upgrading", "upgraded");
            }
            "setservicelinks" => {
                let links = body["serviceLinks"].as_array().into_iter().flatten();
                let ids: Vec<_> = links.map(|it| it["serviceId"].clone()).collect();
                let exists = |id: &Value| self.all(RancherKind::External).any(|(it, _)| id == &**it);
                if let Some(missing) = ids.iter().find(|it| !exists(it)) {
                    return Err(Refused(422, "InvalidReference", format!("serviceId: {missing}")));
                }
                self.write(id, Map::from_iter([("consumed".to_owned(), json!(ids))]));
            }
            _ => return Err(Refused(422, "ActionNotAvailable", action.to_owned())),
        }
        Ok(id.to_owned())
    }

    pub(super) fn delete(&mut self, id: &str) -> Written {
        self.offered(id, "remove").map_err(|_| Refused(409, "Conflict", format!("{id} changes")))?;
        self.begin(id, "removing", "removed");
        Ok(id.to_owned())
    }

    /// The services that a load balancer is linked to.
    pub(super) fn consumed(&self, id: &str) -> Vec<String> {
        let links = self.resources.get(id).map(|it| it.field("consumed").clone()).unwrap_or_default();
        let links = links.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned));
        links.filter(|it| self.resources.get(it).is_some_and(|it| !it.is_removed())).collect()
    }

    fn offered(&self, id: &str, action: &str) -> Result<(), Refused> {
        match self.resources.get(id) {
            Some(it) if it.actions().contains(&action) => Ok(()),
            _ => Err(Refused(422, "ActionNotAvailable", action.to_owned())),
        }
    }

    fn check_rules(&self, config: &Value, linked: &[String]) -> Result<(), Refused> {
        for rule in config["portRules"].as_array().into_iter().flatten() {
            shape::check(rule, shape::RULES).map_err(bad)?;
            if !linked.iter().any(|it| rule["serviceId"] == **it) {
                return Err(Refused(422, "InvalidReference", format!("serviceId: {}", rule["serviceId"])));
            }
        }
        Ok(())
    }

    fn write(&mut self, id: &str, fields: Map<String, Value>) {
        if let Some(it) = self.resources.get_mut(id) {
            it.fields.extend(fields);
        }
    }
}
