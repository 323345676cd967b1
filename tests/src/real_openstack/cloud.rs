//! The requests of users and of the administrator.

use std::collections::BTreeMap;

use http::Method;
use reqwest::Client;
use serde_json::{Value, json};

use super::asking::{self, PATIENCE};
use crate::keystone::Keystone;
use crate::wait;

/// The flavour of a load balancer's machine, by its id, and of nodes, by its name.
pub(super) const FLAVOR: &str = "m1.tiny";

/// The type of Cinder in the catalogue.
pub const VOLUMES: &str = "volumev3";

/// Keystone, and the administrator's token for the other services.
pub(super) struct Admin {
    pub(super) keystone: Keystone,
    token: String,
}

/// A running cloud, and who may do everything in it.
pub struct Cloud {
    admin: Admin,
    urls: BTreeMap<&'static str, String>,
    client: Client,
    /// The id of the image of all machines.
    image: String,
}

/// An answer that is no success.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub text: String,
}

impl Admin {
    /// The administrator gets the role `service`, too, as Neutron wants it of Octavia.
    pub(super) async fn new(keystone: Keystone) -> Self {
        let found = |list: &Value| list[0]["id"].as_str().expect("bootstrap has made it").to_owned();
        let get = async |path: &str| keystone.done(Method::GET, path, Value::Null).await;
        let user = found(&get("/users?name=admin").await["users"]);
        let project = found(&get("/projects?name=admin").await["projects"]);
        let role = found(&get("/roles?name=service").await["roles"]);
        let path = format!("/projects/{project}/users/{user}/roles/{role}");
        keystone.done(Method::PUT, &path, Value::Null).await;
        let token = keystone.administrator().await;
        Self { keystone, token }
    }
}

impl Cloud {
    pub(super) fn new(admin: Admin, urls: Vec<(&'static str, String)>) -> Self {
        let client = Client::builder().no_proxy().timeout(4 * wait::DEADLINE).build().expect("a client");
        Self { admin, urls: urls.into_iter().collect(), client, image: String::new() }
    }

    /// Keystone.
    #[must_use]
    pub fn keystone(&self) -> &Keystone {
        &self.admin.keystone
    }

    pub(super) fn put(&mut self, service: &'static str, url: &str) {
        self.urls.insert(service, url.to_owned());
    }

    /// The URL of a service, by its type: `compute`, `network`, `load-balancer`.
    pub(super) fn url(&self, service: &str) -> &str {
        &self.urls[service]
    }

    /// Makes what Octavia needs: an image, flavours, a network, whose id is returned.
    pub(super) async fn assets(&mut self) -> String {
        let flavor =
            |id: &str, name: &str| json!({ "flavor": { "id": id, "name": name, "ram": 64, "vcpus": 1, "disk": 1 } });
        self.done(Method::POST, "compute", "/v2.1/flavors", flavor("amphora", "amphora")).await;
        self.done(Method::POST, "compute", "/v2.1/flavors", flavor("tiny", FLAVOR)).await;
        let image = json!({
            "name": "amphora", "tags": ["amphora"], "disk_format": "raw", "container_format": "bare",
            "visibility": "public",
        });
        let image = self.done(Method::POST, "image", "/v2/images", image).await;
        self.image = text(&image["id"]);
        let request = self.client.put(format!("{}/v2/images/{}/file", self.url("image"), self.image));
        let request = request.header("x-auth-token", &self.admin.token);
        let request = request.header("content-type", "application/octet-stream").body(vec![0; 1024]);
        let answer = request.send().await.expect("Glance answers");
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
        let network = json!({ "network": { "name": "management" } });
        let network = text(&self.done(Method::POST, "network", "/v2.0/networks", network).await["network"]["id"]);
        let subnet =
            json!({ "subnet": { "network_id": network, "ip_version": 4, "cidr": "10.5.0.0/16", "name": "m" } });
        self.done(Method::POST, "network", "/v2.0/subnets", subnet).await;
        network
    }

    /// Waits until Cinder's scheduler knows both places of volumes, without which they end in `error`, and makes the type `fast`.
    pub(super) async fn disks(&self) {
        let known = wait::within(PATIENCE, async || {
            let pools = self.list(VOLUMES, "/v3/scheduler-stats/get_pools", "pools").await;
            (pools.len() == 2).then_some(())
        });
        assert!(known.await.is_some(), "Cinder's scheduler knows no place of volumes");
        self.done(Method::POST, VOLUMES, "/v3/types", json!({ "volume_type": { "name": "fast" } })).await;
    }

    /// Makes a machine of a project with these ports: its id. It is waited for.
    pub async fn server(&self, token: &str, name: &str, ports: &[&str], metadata: Value) -> String {
        let networks: Vec<_> = ports.iter().map(|it| json!({ "port": it })).collect();
        let server = json!({ "server": {
            "name": name, "flavorRef": "tiny", "imageRef": self.image, "networks": networks, "metadata": metadata,
        } });
        let made = self.done_as(token, Method::POST, "compute", "/v2.1/servers", server).await;
        let id = text(&made["server"]["id"]);
        self.server_is(&id, "ACTIVE").await;
        id
    }

    /// Waits until a machine has this status.
    pub async fn server_is(&self, id: &str, status: &str) {
        let mut seen = Value::Null;
        let reached = wait::within(4 * wait::DEADLINE, async || {
            seen =
                self.done(Method::GET, "compute", &format!("/v2.1/servers/{id}"), Value::Null).await["server"].take();
            (seen["status"] == status).then_some(())
        });
        let reached = reached.await;
        assert!(reached.is_some(), "the machine is {seen:#}");
    }

    /// The body of an answer to the administrator.
    ///
    /// # Panics
    ///
    /// Panics if the request is refused.
    pub async fn done(&self, method: Method, service: &str, path: &str, body: Value) -> Value {
        self.done_as(&self.admin.token, method, service, path, body).await
    }

    /// The same for whose token it is.
    ///
    /// # Panics
    ///
    /// Panics if the request is refused.
    pub async fn done_as(&self, token: &str, method: Method, service: &str, path: &str, body: Value) -> Value {
        let answer = self.ask(token, &method, service, path, &body).await;
        answer.unwrap_or_else(|refusal| panic!("{method} {service} {path} {body}: {refusal:?}"))
    }

    /// Deletes as the administrator.
    ///
    /// # Errors
    ///
    /// Fails if that is refused.
    pub async fn try_delete(&self, service: &str, path: &str) -> Result<Value, Refusal> {
        self.ask(&self.admin.token, &Method::DELETE, service, path, &Value::Null).await
    }

    /// The list at a path, as the administrator sees it: `lists("network", "/v2.0/floatingips", "floatingips")`.
    pub async fn list(&self, service: &str, path: &str, name: &str) -> Vec<Value> {
        let mut answer = self.done(Method::GET, service, path, Value::Null).await;
        match answer[name].take() {
            Value::Array(list) => list,
            other => panic!("{path} has no list {name}, but {other}"),
        }
    }

    /// Asks a service, with a token. What only reads is asked again where no answer comes: a busy machine answers late.
    ///
    /// # Errors
    ///
    /// Fails with an answer that is no success.
    ///
    /// # Panics
    ///
    /// Panics without an answer.
    pub async fn ask(
        &self,
        token: &str,
        method: &Method,
        service: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url(service)));
        request = request.header("x-auth-token", token);
        if !body.is_null() {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let request = request.build().expect("a request");
        let answer = asking::answer(&self.client, &request, PATIENCE).await;
        let (status, text) = answer.unwrap_or_else(|error| panic!("{method} {service} {path}: {error:#}"));
        if !status.is_success() {
            return Err(Refusal { status: status.as_u16(), text });
        }
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }
}

/// A text in an answer.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, and not {value}")).to_owned()
}
