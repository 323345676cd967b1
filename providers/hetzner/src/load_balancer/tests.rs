//! The mapping, natively: what is sent for a Service, and what becomes of the answers. The whole way through the sandbox
//! is tested elsewhere, against a simulated cloud.

mod annotations;
mod created;
mod owners;
mod refused;
mod updated;

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Event, EventKind, Host, Outcome, Request, answer};
use aerostat_sdk::{
    Address, Cluster, Deletion, Error, Ingress, IpMode, LoadBalancer, LoadBalancers, Node, Port, Progress, Protocol,
    Result,
};
use serde_json::{Value, json};

use crate::Hetzner;

pub(crate) const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
pub(crate) const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

/// An annotation of the vendor, by the end of its key.
fn key(name: &str) -> String {
    format!("load-balancer.hetzner.cloud/{name}")
}

/// The node of a server that is in the cluster's network.
fn worker(server: u64) -> Node {
    let mut node = Node::named(format!("worker-{server}")).with_provider_id(format!("hcloud://{server}"));
    node.addresses =
        vec![Address::external_ip(format!("192.0.2.{server}")), Address::internal_ip(format!("10.0.0.{server}"))];
    let extra = [("public-ipv4", format!("192.0.2.{server}")), ("private-ipv4", format!("10.0.0.{server}"))];
    node.extra = extra.map(|(key, value)| (key.to_owned(), value)).to_vec();
    node
}

/// A Service with TCP port 80 on node port 30080 and one node, whose status shows what [`shown`] has.
fn service() -> LoadBalancer {
    let desired = LoadBalancer::of("default", "web", UID).with_port(Port::new(Protocol::Tcp, 80, 30_080));
    let ingress = ["203.0.113.9", "2001:db8::9"].map(|it| Ingress::ip(it).ip_mode(IpMode::Vip));
    LoadBalancer { current_ingress: ingress.to_vec(), ..desired.with_node(worker(1)) }
}

/// With a memo that no call before this one has had.
fn remembering(memo: &str) -> LoadBalancer {
    let extra = vec![("host.new-memo".to_owned(), "true".to_owned())];
    LoadBalancer { memo: Some(memo.to_owned()), extra, ..service() }
}

/// A load balancer as the cloud shows it: the one that [`service`] asks for, with our marks.
pub(crate) fn shown(id: u64) -> Value {
    json!({
        "id": id, "name": NAME, "created": "2026-08-20T09:30:12+00:00",
        "labels": { "hcloud-ccm/service-uid": UID, "aerostat.dev/service-uid": UID, "aerostat.dev/cluster-uid": CLUSTER },
        "load_balancer_type": kind("lb11", 25), "location": { "id": 1, "name": "fsn1", "network_zone": "eu-central" },
        "algorithm": { "type": "round_robin" }, "outgoing_traffic": 1, "private_net": [],
        "public_net": {
            "enabled": true, "ipv4": { "ip": "203.0.113.9", "dns_ptr": "a.example.com" },
            "ipv6": { "ip": "2001:db8::9", "dns_ptr": null },
        },
        "protection": { "delete": false },
        "services": [{
            "protocol": "tcp", "listen_port": 80, "destination_port": 30_080, "proxyprotocol": false,
            "health_check": { "protocol": "tcp", "port": 30_080, "interval": 15, "timeout": 10, "retries": 3 },
        }],
        "targets": [{
            "type": "server", "server": { "id": 1 }, "use_private_ip": false,
            "health_status": [{ "listen_port": 80, "status": "healthy" }],
        }],
    })
}

fn kind(name: &str, targets: u64) -> Value {
    json!({ "id": 1, "name": name, "max_targets": targets, "max_services": 5, "deprecated": null })
}

/// A cloud with this load balancer, if any, in which actions end at once unless `running`.
#[derive(Clone, Default)]
struct Cloud {
    live: Option<Value>,
    running: bool,
    /// Answers to requests that end in this, in the place of the usual.
    special: Vec<(&'static str, u16, Value)>,
    settings: Vec<(String, &'static str)>,
    /// The certificates that a name is looked for among. None of them has a label.
    certificates: Vec<Value>,
    sent: Rc<RefCell<Vec<(String, Value)>>>,
}

impl Cloud {
    fn with(live: Value) -> Self {
        Self { live: Some(live), ..Self::default() }
    }

    fn setting(mut self, name: impl Into<String>, value: &'static str) -> Self {
        self.settings.push((name.into(), value));
        self
    }

    fn special(mut self, end: &'static str, status: u16, body: Value) -> Self {
        self.special.push((end, status, body));
        self
    }

    fn host(&self) -> Host {
        let cloud = self.clone();
        let host = Host::new().at(1_000).cluster(Cluster::of("kubernetes", CLUSTER));
        let host = host.answers(move |request| cloud.answer(request));
        let is_set = |names: &[&str]| self.settings.iter().any(|(name, _)| names.contains(&&**name));
        let place = ["loadBalancers.location", "loadBalancers.networkZone"];
        let host = if is_set(&place) { host } else { host.setting(place[0], "fsn1") };
        let certificates = "loadBalancers.allowedCertificates";
        let host = if is_set(&[certificates]) { host } else { host.setting(certificates, "1,42,43,www") };
        self.settings.iter().fold(host, |it, (name, value)| it.setting(name, value))
    }

    fn answer(&self, request: &Request) -> Outcome {
        let path = request.path.join("/");
        let body = match &request.body {
            Some(aerostat_sdk::testing::Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        if request.method != aerostat_sdk::Method::Get {
            self.sent.borrow_mut().push((format!("{:?} {path}", request.method).replace("Method::", ""), body));
        }
        let is_post = request.method == aerostat_sdk::Method::Post;
        if let Some((_, status, body)) = self
            .special
            .iter()
            .find(|(end, ..)| path.ends_with(end) && (is_post || !["load_balancers", "certificates"].contains(end)))
        {
            return answer(*status, body.to_string());
        }
        let status = if self.running { "running" } else { "success" };
        let action = json!({ "id": 9, "command": "add_target", "status": "running", "error": null, "resources": [] });
        let mut ended = action.clone();
        ended["status"] = json!(status);
        let of_balancer = if self.running { json!([action]) } else { json!([]) };
        let all: Vec<_> = self.live.iter().collect();
        let (status, body) = match &*path {
            "load_balancers" if is_post => (201, json!({ "load_balancer": shown(5), "action": action })),
            "load_balancers" => (200, json!({ "load_balancers": all, "meta": {} })),
            "load_balancer_types" => (200, json!({ "load_balancer_types": [kind("lb11", 25), kind("lb21", 75)] })),
            "actions" => (200, json!({ "actions": [ended] })),
            "certificates" if is_post => (201, json!({ "certificate": { "id": 77, "name": "it", "labels": {} } })),
            "certificates" if request.query.iter().any(|(name, _)| name == "name") => {
                (200, json!({ "certificates": self.certificates }))
            }
            "certificates" => (200, json!({ "certificates": [] })),
            it if it.ends_with("/actions") => (200, json!({ "actions": of_balancer })),
            it if it.contains("/actions/") => (201, json!({ "action": action })),
            _ => match &self.live {
                Some(live) => (200, json!({ "load_balancer": live })),
                None => (404, json!({ "error": { "code": "not_found", "message": "no" } })),
            },
        };
        answer(status, body.to_string())
    }

    fn ensure(&self, service: &LoadBalancer) -> (Result<Progress>, Vec<String>) {
        let host = self.host();
        let progress = host.run(|| Hetzner::ensure(service));
        (progress, warnings(&host.events()))
    }

    fn delete(&self, service: &LoadBalancer) -> Result<Deletion> {
        self.host().run(|| Hetzner::delete(service))
    }

    /// The writes, each without its body.
    fn writes(&self) -> Vec<String> {
        self.sent.borrow().iter().map(|(request, _)| request.clone()).collect()
    }

    /// The body of the only write that ends in this.
    fn body(&self, end: &str) -> Value {
        let sent = self.sent.borrow();
        let bodies: Vec<_> = sent.iter().filter(|(it, _)| it.ends_with(end)).map(|(_, body)| body.clone()).collect();
        assert_eq!(bodies.len(), 1, "{sent:?}");
        bodies[0].clone()
    }
}

/// The texts of warnings, after making sure that they are warnings.
fn warnings(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        assert_eq!((event.kind, &event.about), (EventKind::Warning, &None), "{event:?}");
        format!("{}: {}", event.reason, event.message)
    };
    events.iter().map(line).collect()
}

/// The addresses of a Service that is ready.
fn ready(progress: Result<Progress>) -> Vec<Ingress> {
    match progress {
        Ok(Progress::Ready(status)) => status.ingress,
        other => panic!("{other:?}"),
    }
}

/// Why a Service is not served.
fn refusal(progress: Result<Progress>) -> String {
    let error = match progress {
        Err(error) => error,
        Ok(Progress::Failed(failed)) => failed.error,
        other => panic!("{other:?}"),
    };
    match error {
        Error::Invalid(why) => why,
        other => panic!("{other:?}"),
    }
}

/// For what it waits.
fn waits(progress: Result<Progress>) -> String {
    match progress {
        Ok(Progress::Pending(pending)) => pending.wait.reason,
        other => panic!("{other:?}"),
    }
}
