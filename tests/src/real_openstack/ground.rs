//! The world of the recordings of OpenStack's own manager: a project with networks, a router, machines.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::cloud::{Cloud, VOLUMES, text};
use crate::keystone::ApplicationCredential;
use crate::wait;

/// The password of the user `aerostat`.
pub(super) const PASSWORD: &str = "word-of-the-tests";

/// From one look at what goes to the next: the services share the processors with all others.
const PAUSE: Duration = Duration::from_millis(300);

/// The ids of what is there before aerostat.
pub struct Ground {
    /// The project `kubernetes`.
    pub project: String,
    /// Its user `aerostat`, with the roles that a user of Octavia has.
    pub user: String,
    /// A token of it.
    pub token: String,
    /// The network of nodes.
    pub network: String,
    /// Its subnet, 10.6.0.0/24.
    pub subnet: String,
    /// The external network.
    pub external: String,
    /// Its subnet `ext-a`, 172.24.4.0/24.
    pub floating: String,
    /// Its subnet `ext-b`, 172.24.5.0/24, with the tags `public` and `blue`.
    pub floating_b: String,
    /// The router between both.
    pub router: String,
}

impl Ground {
    /// Makes all but machines.
    pub(super) async fn build(cloud: &Cloud) -> Self {
        let keystone = cloud.keystone();
        let project = keystone.project("kubernetes").await;
        let user = keystone.user("aerostat", PASSWORD, &[&project]).await;
        for name in ["load-balancer_member", "load-balancer_observer"] {
            let role = keystone.done(Method::POST, "/roles", json!({ "role": { "name": name } })).await;
            let path = format!("/projects/{project}/users/{user}/roles/{}", text(&role["role"]["id"]));
            keystone.done(Method::PUT, &path, Value::Null).await;
        }
        let token = keystone.token_of(&user, PASSWORD, &project).await;
        let make = async |kind: &str, body: Value| {
            let path = format!("/v2.0/{kind}s");
            let made = cloud.done(Method::POST, "network", &path, json!({ kind: body })).await;
            text(&made[kind]["id"])
        };
        let network = make("network", json!({ "name": "k8s", "project_id": project })).await;
        let subnet = |name: &str, network: &str, cidr: &str, version: u8| {
            json!({
                "name": name, "network_id": network, "cidr": cidr, "ip_version": version, "project_id": project,
                "enable_dhcp": false,
            })
        };
        let mut of_nodes = subnet("k8s", &network, "10.6.0.0/24", 4);
        // Neutron chooses addresses of load balancers from these: the addresses below are for machines.
        of_nodes["allocation_pools"] = json!([{ "start": "10.6.0.64", "end": "10.6.0.254" }]);
        let nodes = make("subnet", of_nodes).await;
        make("subnet", subnet("k8s6", &network, "fd00:6::/64", 6)).await;
        let outside = json!({
            "name": "ext", "router:external": true, "provider:network_type": "flat", "provider:physical_network": "ext",
        });
        let external = make("network", outside).await;
        let floating = make("subnet", subnet("ext-a", &external, "172.24.4.0/24", 4)).await;
        let floating_b = make("subnet", subnet("ext-b", &external, "172.24.5.0/24", 4)).await;
        for tag in ["public", "blue"] {
            cloud.done(Method::PUT, "network", &format!("/v2.0/subnets/{floating_b}/tags/{tag}"), Value::Null).await;
        }
        let router = json!({
            "name": "r1", "project_id": project, "external_gateway_info": { "network_id": external },
        });
        let router = make("router", router).await;
        let path = format!("/v2.0/routers/{router}/add_router_interface");
        cloud.done(Method::PUT, "network", &path, json!({ "subnet_id": nodes })).await;
        Self { project, user, token, network, subnet: nodes, external, floating, floating_b, router }
    }

    /// Makes the machine of a node with the address 10.6.0.`number`: its id.
    pub async fn node(&self, cloud: &Cloud, name: &str, number: u8) -> String {
        let port = json!({ "port": {
            "name": name, "network_id": self.network, "project_id": self.project,
            "fixed_ips": [{ "subnet_id": self.subnet, "ip_address": format!("10.6.0.{number}") }],
        } });
        let port = cloud.done(Method::POST, "network", "/v2.0/ports", port).await;
        cloud.server(&self.token, name, &[&text(&port["port"]["id"])], json!({})).await
    }

    /// Takes a machine away with its ports.
    pub async fn remove(&self, cloud: &Cloud, id: &str) {
        let ports = cloud.list("network", &format!("/v2.0/ports?device_id={id}"), "ports").await;
        cloud.done(Method::DELETE, "compute", &format!("/v2.1/servers/{id}"), Value::Null).await;
        let path = format!("/v2.1/servers/detail?all_tenants=1&uuid={id}");
        gone(&format!("machine {id}"), async || cloud.list("compute", &path, "servers").await.is_empty()).await;
        for port in ports {
            cloud.done(Method::DELETE, "network", &format!("/v2.0/ports/{}", text(&port["id"])), Value::Null).await;
        }
    }

    /// Takes everything out of the project that a test may have made: load balancers, machines, volumes, floating IPs, security groups, routes.
    pub async fn clear(&self, cloud: &Cloud) {
        let project = &self.project;
        let balancers = format!("/v2.0/lbaas/loadbalancers?project_id={project}");
        for it in cloud.list("load-balancer", &balancers, "loadbalancers").await {
            let path = format!("/v2.0/lbaas/loadbalancers/{}", text(&it["id"]));
            gone("PENDING", async || {
                let found = cloud.list("load-balancer", &balancers, "loadbalancers").await;
                let found = found.iter().find(|other| other["id"] == it["id"]);
                !found.is_some_and(|it| text(&it["provisioning_status"]).starts_with("PENDING"))
            })
            .await;
            let _gone = cloud.try_delete("load-balancer", &format!("{path}?cascade=true")).await;
        }
        gone("load balancers", async || cloud.list("load-balancer", &balancers, "loadbalancers").await.is_empty())
            .await;
        let servers = format!("/v2.1/servers/detail?all_tenants=1&project_id={project}");
        for it in cloud.list("compute", &servers, "servers").await {
            self.remove(cloud, &text(&it["id"])).await;
        }
        let volumes = format!("/v3/volumes?all_tenants=1&project_id={project}");
        for it in cloud.list(VOLUMES, &volumes, "volumes").await {
            let path = format!("/v3/volumes/{}/action", text(&it["id"]));
            cloud.done(Method::POST, VOLUMES, &path, json!({ "os-force_delete": {} })).await;
        }
        gone("volumes", async || cloud.list(VOLUMES, &volumes, "volumes").await.is_empty()).await;
        for (kind, name) in [("floatingips", "floatingips"), ("ports", "ports"), ("security-groups", "security_groups")]
        {
            let path = format!("/v2.0/{kind}?project_id={project}");
            for it in cloud.list("network", &path, name).await {
                let is_own = it["name"] == "default" || it["device_owner"] == "network:router_interface";
                if !is_own {
                    let _gone = cloud.try_delete("network", &format!("/v2.0/{kind}/{}", text(&it["id"]))).await;
                }
            }
        }
        let path = format!("/v2.0/routers/{}", self.router);
        cloud.done(Method::PUT, "network", &path, json!({ "router": { "routes": [] } })).await;
    }

    /// Makes an application credential of the user with these access rules.
    pub async fn credential(&self, cloud: &Cloud, rules: Value) -> ApplicationCredential {
        let rules = json!({ "access_rules": rules });
        cloud.keystone().application_credential(&self.user, PASSWORD, &self.project, rules).await
    }
}

/// Waits until something is no more.
async fn gone(what: &str, is_gone: impl AsyncFn() -> bool) {
    let ended = wait::within(8 * wait::DEADLINE, async || {
        let ended = is_gone().await;
        if !ended {
            sleep(PAUSE).await;
        }
        ended.then_some(())
    });
    assert!(ended.await.is_some(), "{what} stays");
}
