//! A resource manager in memory: objects with versions and operations, as far as the provider uses them.

mod filled;
mod parts;
mod shown;

use std::collections::BTreeMap;

use aerostat_sdk::Method;
use aerostat_sdk::testing::{Body, FakeMoment, Request, Response, reply};
use serde_json::{Value, json};

use self::parts::{interface, machine};

/// The cluster's subscription.
pub(crate) const SUBSCRIPTION: &str = "11111111-2222-3333-4444-555555555555";

/// The id of an object in the cluster's group.
pub(crate) fn rg(words: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/rg1/providers/{words}")
}

/// The URL of a list's next page.
pub(crate) fn next_link(list: &str, past: usize) -> String {
    format!("https://management.azure.com{list}?api-version=x&$skipToken={past}")
}

/// The URL of the operation of a write, and its path.
pub(crate) fn operation(number: u64) -> (String, Vec<String>) {
    let path =
        format!("subscriptions/{SUBSCRIPTION}/providers/Microsoft.Network/locations/westeurope/operations/op-{number}");
    (format!("https://management.azure.com/{path}?api-version=x"), path.split('/').map(str::to_owned).collect())
}

/// A change that somebody else makes.
type ForeignEdit = fn(&mut Value);

/// The resource manager.
#[derive(Clone, Debug)]
pub(crate) struct FakeArm {
    /// Objects by their ids in lower case.
    pub(crate) objects: BTreeMap<String, Value>,
    /// How long a write takes, in seconds.
    pub(crate) takes: u64,
    /// Items on a page.
    pub(crate) page: usize,
    pub(crate) clock: u64,
    /// Refusals: method and part of a path, status, code, and how often.
    pub(crate) refusals: Vec<(String, u16, &'static str, usize)>,
    /// Changes that somebody else makes to an object before the next PUT of it.
    pub(crate) meanwhile: Vec<(String, ForeignEdit)>,
    /// Objects that lists do not show yet.
    pub(crate) hidden: Vec<String>,
    pub(crate) lags: bool,
    /// Objects that lists leave out, by their ids in lower case.
    pub(crate) unlisted: Vec<String>,
    /// A frontend that the API refuses.
    pub(crate) bad_frontend: Option<String>,
    pub(crate) busy: BTreeMap<String, u64>,
    /// The objects that operations are about, by the ids of operations.
    pub(crate) operations: BTreeMap<String, String>,
    /// The code with which operations end, if they fail.
    pub(crate) operations_fail: Option<&'static str>,
    pub(crate) version: u64,
    pub(crate) addresses: u32,
}

impl Default for FakeArm {
    fn default() -> Self {
        let mut arm = Self {
            objects: BTreeMap::new(),
            takes: 0,
            page: 120,
            clock: 1_000,
            refusals: Vec::new(),
            meanwhile: Vec::new(),
            hidden: Vec::new(),
            lags: false,
            unlisted: Vec::new(),
            bad_frontend: None,
            busy: BTreeMap::new(),
            operations: BTreeMap::new(),
            operations_fail: None,
            version: 0,
            addresses: 10,
        };
        let subnet = |name: &str, range: &str| {
            json!({ "name": name, "id": rg(&format!("Microsoft.Network/virtualNetworks/vnet1/subnets/{name}")),
            "properties": { "addressPrefix": range } })
        };
        arm.put(&rg("Microsoft.Network/virtualNetworks/vnet1"), json!({ "location": "westeurope", "properties": {
            "resourceGuid": "AAAA-1", "subnets": [subnet("subnet1", "10.240.0.0/16"), subnet("subnet2", "10.241.0.0/16")] } }));
        arm.put(
            &rg("Microsoft.Network/networkSecurityGroups/nsg1"),
            json!({ "location": "westeurope", "properties": { "securityRules": [] } }),
        );
        arm
    }
}

impl FakeArm {
    /// Puts an object there, as if it had been there for long.
    pub(crate) fn put(&mut self, id: &str, mut shown: Value) {
        self.version += 1;
        shown["id"] = json!(id);
        shown["name"] = json!(id.rsplit('/').next());
        shown["etag"] = json!(format!("W/\"{}\"", self.version));
        if shown["properties"]["provisioningState"].is_null() {
            shown["properties"]["provisioningState"] = json!("Succeeded");
        }
        self.objects.insert(id.to_ascii_lowercase(), shown);
    }

    /// An object.
    pub(crate) fn get(&self, words: &str) -> Option<&Value> {
        self.objects.get(&rg(words).to_ascii_lowercase())
    }

    /// An object, to be changed by somebody else.
    pub(crate) fn touch(&mut self, words: &str, change: impl FnOnce(&mut Value)) {
        let key = rg(words).to_ascii_lowercase();
        let mut shown = self.objects[&key].clone();
        change(&mut shown);
        let id = shown["id"].as_str().unwrap().to_owned();
        self.put(&id, shown);
    }

    /// How many objects there are.
    pub(crate) fn count(&self) -> usize {
        self.objects.len()
    }

    /// All lists that have anything.
    pub(crate) fn lists(&self) -> Vec<String> {
        let mut lists: Vec<String> =
            self.objects.values().map(|it| it["id"].as_str().unwrap().rsplit_once('/').unwrap().0.to_owned()).collect();
        let of_sets = self.objects.keys().filter(|it| it.contains("virtualmachinescalesets/"));
        lists.extend(of_sets.map(|_| rg("Microsoft.Compute/virtualMachineScaleSets/vs/networkInterfaces")));
        lists.sort();
        lists.dedup();
        lists
    }

    /// A machine with an id of its own, with its interface.
    pub(crate) fn machine(&mut self, name: &str, last: u8) {
        let nic = rg(&format!("Microsoft.Network/networkInterfaces/{name}-nic"));
        let vm = rg(&format!("Microsoft.Compute/virtualMachines/{name}"));
        self.put(&vm, machine(name, &nic));
        self.put(&nic, interface(&nic, &vm, &format!("10.240.0.{last}")));
    }

    /// A scale set "vs" of so many machines, with their interfaces.
    pub(crate) fn scale_set(&mut self, machines: usize) {
        let set = rg("Microsoft.Compute/virtualMachineScaleSets/vs");
        let config = json!([{ "name": "nic0", "properties": { "primary": true, "ipConfigurations": [{ "name": "ipc",
            "properties": { "primary": true } }] } }]);
        self.put(&set, json!({ "location": "westeurope", "sku": { "name": "Standard_D2s_v5" }, "properties": {
            "orchestrationMode": "Uniform", "virtualMachineProfile": { "networkProfile": { "networkInterfaceConfigurations": config } } } }));
        for it in 0..machines {
            let vm = format!("{set}/virtualMachines/{it}");
            let nic = format!("{vm}/networkInterfaces/nic0");
            let mut shown = machine(&format!("aks-np-{it:06}"), &nic);
            shown["instanceId"] = json!(it.to_string());
            shown["properties"]["networkProfileConfiguration"] = json!({ "networkInterfaceConfigurations": config });
            shown["properties"]["hardwareProfile"] = json!({});
            shown["sku"] = json!({ "name": "Standard_D2s_v5" });
            self.put(&vm, shown);
            self.put(&nic, interface(&nic, &vm, &format!("10.240.{}.{}", it / 250, it % 250 + 4)));
        }
    }

    fn answered(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.settle(moment.now);
        if !moment.lists_lag {
            self.hidden.clear();
        }
        self.lags = moment.lists_lag;
        let line = format!("{} /{}", method(request), request.path.join("/"));
        if let Some(at) = self
            .refusals
            .iter()
            .position(|(part, _, _, left)| *left > 0 && line.to_ascii_lowercase().contains(&part.to_ascii_lowercase()))
        {
            let (_, status, code, left) = &mut self.refusals[at];
            *left -= 1;
            return error(*status, code);
        }
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let key = format!("/{}", path.join("/")).to_ascii_lowercase();
        let version = request.query.iter().find(|(name, _)| name == "api-version").map(|(_, value)| value.as_str());
        let expected = if request.endpoint == "compute" { "2025-04-01" } else { "2025-05-01" };
        assert_eq!(version, Some(expected), "{line}");
        match (request.method, &path[..]) {
            (Method::Get, ["subscriptions", _, "providers", "Microsoft.Compute"]) => reply(
                200,
                json!({ "resourceTypes": [{
                "resourceType": "virtualMachines", "zoneMappings": [{ "location": "West Europe", "zones": ["3", "1", "2"] }] }] }),
            ),
            (Method::Get, [_, _, "providers", "Microsoft.Network", "locations", _, "operations", id]) => {
                self.operation(id)
            }
            (Method::Get, _) if path.len() % 2 == 1 => self.list(&key, request),
            (Method::Get, _) => self.find(&key).map_or_else(|| error(404, "ResourceNotFound"), |it| reply(200, it)),
            (Method::Put, _) => self.write(&key, request, moment.now),
            (Method::Delete, _) => self.delete(&key, request, moment.now),
            _ => panic!("{line}"),
        }
    }

    /// The answer to a write, with its operation if that goes on.
    fn begun(&mut self, key: &str, mut answer: Response) -> Response {
        if self.busy.contains_key(key) {
            let (url, path) = operation(self.version);
            answer.headers.push(("azure-asyncoperation".to_owned(), url));
            self.operations.extend(path.last().map(|id| (id.clone(), key.to_owned())));
        }
        answer
    }

    fn operation(&self, id: &str) -> Response {
        match (self.operations.get(id), self.operations_fail) {
            (None, _) => error(404, "OperationNotFound"),
            (Some(key), _) if self.busy.contains_key(key) => reply(200, json!({ "status": "InProgress" })),
            (Some(_), None) => reply(200, json!({ "status": "Succeeded" })),
            (Some(_), Some(code)) => {
                reply(200, json!({ "status": "Failed", "error": { "code": code, "message": "it failed" } }))
            }
        }
    }

    /// An object, or a part of one that is a list in it.
    fn find(&self, key: &str) -> Option<Value> {
        if let Some(shown) = self.objects.get(key) {
            return Some(shown.clone());
        }
        let (parent, name) = key.rsplit_once('/')?;
        let (parent, kind) = parent.rsplit_once('/')?;
        let shown = self.objects.get(parent)?;
        let (_, list) = shown["properties"].as_object()?.iter().find(|(it, _)| it.eq_ignore_ascii_case(kind))?;
        list.as_array()?.iter().find(|it| it["name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name))).cloned()
    }

    fn list(&self, key: &str, request: &Request) -> Response {
        let depth = key.matches('/').count() + 1;
        // Interfaces of a scale set's machines are one list, too.
        let of_set = key.strip_suffix("/networkinterfaces").filter(|it| it.contains("virtualmachinescalesets/"));
        let is_in = |entry: &str| {
            !self.hidden.iter().chain(&self.unlisted).any(|it| it == entry)
                && match of_set {
                    Some(set) => entry.starts_with(&format!("{set}/")) && entry.contains("/networkinterfaces/"),
                    None => entry.starts_with(&format!("{key}/")) && entry.matches('/').count() == depth,
                }
        };
        let items: Vec<&Value> = self.objects.iter().filter(|(it, _)| is_in(it)).map(|(_, it)| it).collect();
        let token = request.query.iter().find(|(name, _)| name.eq_ignore_ascii_case("$skiptoken"));
        let past: usize = token.map_or(0, |(_, it)| it.parse().unwrap());
        let part: Vec<&&Value> = items.iter().skip(past).take(self.page).collect();
        let mut page = json!({ "value": part });
        if items.len() > past + self.page {
            page["nextLink"] = json!(next_link(&format!("/{}", request.path.join("/")), past + self.page));
        }
        reply(200, page)
    }

    fn write(&mut self, key: &str, request: &Request, now: u64) -> Response {
        let Some(Body::Bytes(bytes)) = &request.body else { panic!("a PUT without a body") };
        let body: Value = serde_json::from_slice(bytes).unwrap();
        let meant = self.meanwhile.iter().position(|(part, _)| key.contains(part) && self.objects.contains_key(key));
        if let Some((_, change)) = meant.map(|at| self.meanwhile.remove(at)) {
            let mut shown = self.objects[key].clone();
            change(&mut shown);
            let id = shown["id"].as_str().unwrap().to_owned();
            self.put(&id, shown);
        }
        let id = format!("/{}", request.path.join("/"));
        if let Some((parent, kind, name)) = part_of(&id).filter(|_| !self.objects.contains_key(key)) {
            return self.write_part(&parent, &kind, &name, body, now);
        }
        let header = |name: &str| request.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
        let old = self.objects.get(key).cloned();
        if self.busy.contains_key(key) {
            return error(429, "RetryableError");
        }
        match (&old, header("if-match"), header("if-none-match")) {
            (Some(old), Some(etag), _) if old["etag"] != json!(etag) => return error(412, "PreconditionFailed"),
            (None, Some(_), _) | (Some(_), _, Some(_)) => return error(412, "PreconditionFailed"),
            _ => {}
        }
        if let Some(refusal) = self.checked(&body) {
            return refusal;
        }
        let mut shown = body;
        self.fill(&id, &mut shown, old.as_ref());
        if let Some(old) = &old {
            // Fields that a machine's write does not name stay.
            if key.contains("/microsoft.compute/") {
                let mut merged = old.clone();
                merge(&mut merged, &shown);
                shown = merged;
            }
        }
        let status = if old.is_some() { 200 } else { 201 };
        if old.is_none() && self.lags {
            self.hidden.push(key.to_owned());
        }
        self.begin(&id, &mut shown, now);
        self.join(&id, &shown);
        let answer = reply(status, &self.objects[key]);
        self.begun(key, answer)
    }

    /// A part of an object: a pool of a load balancer, a subnet of a network.
    fn write_part(&mut self, parent: &str, kind: &str, name: &str, body: Value, now: u64) -> Response {
        let key = parent.to_ascii_lowercase();
        let Some(mut shown) = self.objects.get(&key).cloned() else { return error(404, "ParentResourceNotFound") };
        if self.busy.contains_key(&key) {
            return error(429, "RetryableError");
        }
        let list = shown["properties"][kind].as_array_mut().unwrap();
        let part =
            list.iter_mut().find(|it| it["name"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name))).unwrap();
        merge(part, &body);
        let mut part = part.clone();
        self.begin(parent, &mut shown, now);
        part["properties"]["provisioningState"] = shown["properties"]["provisioningState"].clone();
        self.begun(&key, reply(200, part))
    }

    fn begin(&mut self, id: &str, shown: &mut Value, now: u64) {
        if self.takes > 0 {
            shown["properties"]["provisioningState"] = json!("Updating");
            self.busy.insert(id.to_ascii_lowercase(), now + self.takes);
        } else {
            shown["properties"]["provisioningState"] = json!("Succeeded");
        }
        self.put(id, shown.clone());
    }

    /// Ends operations whose time is over.
    fn settle(&mut self, now: u64) {
        let over: Vec<String> = self.busy.iter().filter(|(_, end)| **end <= now).map(|(key, _)| key.clone()).collect();
        for key in over {
            self.busy.remove(&key);
            let Some(mut shown) = self.objects.remove(&key) else { continue };
            if shown["properties"]["provisioningState"] == "Deleting" {
                continue;
            }
            shown["properties"]["provisioningState"] = json!("Succeeded");
            let id = shown["id"].as_str().unwrap().to_owned();
            self.put(&id, shown);
        }
    }

    fn delete(&mut self, key: &str, request: &Request, now: u64) -> Response {
        let Some(mut shown) = self.objects.get(key).cloned() else { return reply(204, "") };
        // Another writer may be ahead of it.
        let meant = self.meanwhile.iter().position(|(part, _)| key.contains(part));
        if let Some((_, change)) = meant.map(|at| self.meanwhile.remove(at)) {
            change(&mut shown);
            let id = shown["id"].as_str().unwrap().to_owned();
            self.put(&id, shown.clone());
            shown = self.objects[key].clone();
        }
        let version = request.headers.iter().find(|(it, _)| it == "if-match").map(|(_, value)| json!(value));
        if version.is_some_and(|it| it != shown["etag"]) {
            return error(412, "PreconditionFailed");
        }
        if self.busy.contains_key(key) {
            return error(429, "RetryableError");
        }
        let is_used = |it: &Value| it.to_string().to_ascii_lowercase().contains(&format!("\"{key}\""));
        let in_frontends = self.objects.iter().any(|(other, it)| other.contains("/loadbalancers/") && is_used(it));
        if key.contains("/publicipaddresses/") && in_frontends {
            return error(400, "PublicIPAddressCannotBeDeleted");
        }
        let in_sets = self.objects.iter().any(|(other, it)| {
            other.contains("/virtualmachinescalesets/")
                && !other.contains("/networkinterfaces/")
                && it.to_string().to_ascii_lowercase().contains(&format!("\"{key}/"))
        });
        if key.contains("/loadbalancers/") && in_sets {
            return error(400, "LoadBalancerInUseByVirtualMachineScaleSet");
        }
        if self.takes > 0 {
            shown["properties"]["provisioningState"] = json!("Deleting");
            self.objects.insert(key.to_owned(), shown);
            self.busy.insert(key.to_owned(), now + self.takes);
        } else {
            self.objects.remove(key);
        }
        for nic in self.objects.values_mut().filter(|entry| {
            key.contains("/loadbalancers/")
                && entry["id"].as_str().is_some_and(|entry| entry.contains("/networkInterfaces/"))
        }) {
            for configuration in nic["properties"]["ipConfigurations"].as_array_mut().into_iter().flatten() {
                if let Some(pools) = configuration["properties"]["loadBalancerBackendAddressPools"].as_array_mut() {
                    pools.retain(|it| !it["id"].as_str().unwrap().to_ascii_lowercase().starts_with(&format!("{key}/")));
                }
            }
        }
        reply(202, "")
    }

    /// A reference to what is not there, or is not ready.
    fn checked(&self, body: &Value) -> Option<Response> {
        for frontend in body["properties"]["frontendIPConfigurations"].as_array().into_iter().flatten() {
            if self.bad_frontend.as_ref().is_some_and(|it| frontend["name"] == json!(it)) {
                return Some(error(400, "InvalidRequestFormat"));
            }
            let Some(id) = frontend["properties"]["publicIPAddress"]["id"].as_str() else { continue };
            match self.objects.get(&id.to_ascii_lowercase()) {
                None => return Some(error(400, "InvalidResourceReference")),
                Some(_) if self.busy.contains_key(&id.to_ascii_lowercase()) => {
                    return Some(error(400, "ReferencedResourceNotProvisioned"));
                }
                Some(_) => {}
            }
        }
        None
    }
}

/// The parts of objects that are written by themselves.
fn part_of(id: &str) -> Option<(String, String, String)> {
    let (parent, name) = id.rsplit_once('/')?;
    let (parent, kind) = parent.rsplit_once('/')?;
    matches!(kind, "backendAddressPools" | "subnets").then(|| (parent.to_owned(), kind.to_owned(), name.to_owned()))
}

fn merge(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in new {
                merge(old.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new.clone(),
    }
}

fn method(request: &Request) -> &'static str {
    match request.method {
        Method::Get => "GET",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        _ => "?",
    }
}

fn error(status: u16, code: &str) -> Response {
    reply(status, json!({ "error": { "code": code, "message": format!("it is {code}") } }))
}
