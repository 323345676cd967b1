//! The SDK's example, as wasm: a Service's load balancer from the first call to the last.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloud_provider::{
    Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, LoadBalancers, PendingStatus, Port, Progress, Protocol,
};
use egress::{Method, PathPattern, Rule};
use prometheus::Registry;
use tests::capture::{Capture, Step};

use crate::setup::{Guest, endpoint, node, service};

/// Acme's cloud, with one balancer at most.
#[derive(Default)]
struct Acme {
    /// The balancer's spec, as it was sent.
    spec: Option<String>,
    ip: Option<&'static str>,
}

impl Acme {
    fn answer(&mut self, request: &str) -> Vec<Step> {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        match head.split(' ').next().unwrap() {
            "PUT" => self.spec = Some(body.to_owned()),
            "DELETE" => {
                return match self.spec.take() {
                    Some(_) => Step::answer("204 No Content", &[], ""),
                    None => Step::answer("404 Not Found", &[], ""),
                };
            }
            _ => {}
        }
        let ip = self.ip.map_or("null".to_owned(), |it| format!("{it:?}"));
        match &self.spec {
            Some(spec) => Step::ok(&format!(r#"{{ "spec": {spec}, "ip": {ip} }}"#)),
            None => Step::answer("404 Not Found", &[], ""),
        }
    }
}

fn web() -> LoadBalancer {
    let port =
        Port { name: String::new(), protocol: Protocol::Tcp, port: 80, node_port: Some(30_080), app_protocol: None };
    LoadBalancer { ports: vec![port], nodes: vec![node("worker-1")], ..service("web") }
}

fn remembered() -> LoadBalancerStatus {
    LoadBalancerStatus { memo: Some("a0e2f6f1c".to_owned()), ..LoadBalancerStatus::default() }
}

async fn load(server: &Capture) -> Arc<dyn LoadBalancers> {
    let mut guest = Guest::of(std::fs::read(tests::guests::ACME).unwrap());
    let mut api = endpoint("api", server.address());
    let methods = vec![Method::Get, Method::Put, Method::Delete];
    api.allow = vec![Rule::new(methods, [PathPattern::parse("/balancers/*").unwrap()])];
    // The cloud changes behind the provider's back.
    api.limits.reuse = Duration::ZERO;
    guest.endpoints.push(api);
    let provider = guest.try_load(&Registry::new()).await.unwrap_or_else(|error| panic!("{error:?}"));
    provider.cloud().load_balancers.expect("acme exports load balancers")
}

/// Methods and paths of what reached the cloud since the last look.
fn requests(server: &Capture, seen: &mut usize) -> Vec<String> {
    let all = server.requests();
    let lines = all[*seen..].iter().map(|it| it.text().split(" HTTP").next().unwrap().to_owned()).collect();
    *seen = all.len();
    lines
}

#[tokio::test]
async fn a_load_balancer_lives_from_its_first_call_to_its_last() {
    const READ: &str = "GET /balancers/a0e2f6f1c";
    const WRITE: &str = "PUT /balancers/a0e2f6f1c";
    let cloud = Arc::new(Mutex::new(Acme::default()));
    let scripted = cloud.clone();
    let server = Capture::http(move |it| scripted.lock().unwrap().answer(it.text())).await;
    let (acme, mut seen) = (load(&server).await, 0);

    let pending = PendingStatus {
        status: remembered(),
        after: Duration::from_secs(5),
        reason: "the cloud builds the balancer".to_owned(),
    };
    assert_eq!(acme.ensure(&web()).await.answer, Ok(Progress::Pending(pending.clone())));
    assert_eq!(requests(&server, &mut seen), [READ, WRITE]);
    assert_eq!(acme.ensure(&web()).await.answer, Ok(Progress::Pending(pending)));
    assert_eq!(requests(&server, &mut seen), [READ], "it is not made twice");

    cloud.lock().unwrap().ip = Some("192.0.2.7");
    let ingress = vec![Ingress { ip: Some("192.0.2.7".to_owned()), ..Ingress::default() }];
    let ready = Ok(Progress::Ready(LoadBalancerStatus { ingress, ..remembered() }));
    assert_eq!(acme.ensure(&web()).await.answer, ready);
    assert_eq!(requests(&server, &mut seen), [READ]);

    let grown = LoadBalancer { nodes: vec![node("worker-1"), node("worker-2")], ..web() };
    assert_eq!(acme.ensure(&grown).await.answer, ready);
    assert_eq!(requests(&server, &mut seen), [READ, WRITE]);
    let spec = cloud.lock().unwrap().spec.clone();
    assert_eq!(spec.as_deref(), Some(r#"{"ports":{"80":30080},"machines":["worker-1","worker-2"]}"#));

    for _ in 0..2 {
        assert_eq!(acme.delete(&web()).await.answer, Ok(Deletion::Done));
        assert_eq!(requests(&server, &mut seen), ["DELETE /balancers/a0e2f6f1c"]);
    }
}

#[tokio::test]
async fn adv_157_the_example_makes_one_whatever_is_lost() {
    let cloud = Arc::new(Mutex::new(Acme::default()));
    let (scripted, lost) = (cloud.clone(), Mutex::new(3));
    let server = Capture::http(move |request| {
        let answer = scripted.lock().unwrap().answer(request.text());
        let mut left = lost.lock().unwrap();
        if request.text().starts_with("PUT") && *left > 0 {
            *left -= 1;
            scripted.lock().unwrap().spec = None;
            return vec![Step::Close];
        }
        answer
    })
    .await;
    let acme = load(&server).await;
    for _ in 0..3 {
        let reply = acme.ensure(&web()).await;
        let reasons: Vec<_> = reply.events.iter().map(|it| &*it.reason).collect();
        assert!(reply.answer.is_err() && reasons == ["LoadBalancerCreationUnclear"], "{reply:?}");
    }
    cloud.lock().unwrap().ip = Some("192.0.2.7");
    let reply = acme.ensure(&web()).await;
    assert!(matches!(&reply.answer, Ok(Progress::Ready(it)) if it.memo == remembered().memo), "{reply:?}");
    assert_eq!(reply.events, []);
}

#[tokio::test]
async fn a_spec_that_cannot_be_granted_costs_no_request() {
    let server = Capture::http(|_| Step::ok("")).await;
    let acme = load(&server).await;
    let mut spec = web();
    spec.ports[0].protocol = Protocol::Sctp;
    assert_eq!(acme.ensure(&spec).await.answer, Err(Error::Invalid("port 80: SCTP is not TCP".to_owned())));
    assert!(server.requests().is_empty());
}
