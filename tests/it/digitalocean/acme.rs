//! The SDK's example, as a component in the sandbox, against the cloud that it was written for.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use cloud_provider::{Address, AddressKind, Error, Instance, Instances, State};
use egress::{Credentials, Endpoint};
use sandbox::ProviderSettings;
use serde::Deserialize;
use serde_json::{Value, json};
use tests::guests;
use tests::vendor::loading::{endpoint, load, may_read};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::setup::{joining, node};

/// The example and its cloud: two machines, of which the first runs.
struct Acme {
    instances: Arc<dyn Instances>,
    /// Ends with this.
    _server: JoinSet<std::io::Result<()>>,
}

impl Acme {
    async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let cloud = Router::new().route("/v1/machines", get(list)).route("/v1/machines/{id}", get(one));
        let mut server = JoinSet::new();
        server.spawn(async { axum::serve(listener, cloud).await });
        let api = Endpoint { allow: vec![may_read(&["/machines", "/machines/*"])], ..endpoint("api", &base_url) };
        let provider = load(guests::ACME, ProviderSettings::default(), vec![api], Credentials::default()).await;
        assert_eq!(provider.description().name, "acme");
        Self { instances: provider.cloud().instances.unwrap(), _server: server }
    }
}

fn machines() -> [Value; 2] {
    let machine = |number: u8| {
        let (id, ip) = (format!("worker-{number}"), format!("10.0.0.{number}"));
        json!({ "id": id, "running": number == 1, "size": "small", "zone": "north-1", "ip": ip })
    };
    [machine(1), machine(2)]
}

async fn one(Path(id): Path<String>) -> Result<Json<Value>, StatusCode> {
    machines().into_iter().find(|it| it["id"] == id).map(Json).ok_or(StatusCode::NOT_FOUND)
}

#[derive(Deserialize)]
struct Asked {
    after: usize,
    limit: usize,
}

async fn list(Query(Asked { after, limit }): Query<Asked>) -> Json<Value> {
    let page: Vec<_> = machines().into_iter().skip(after).take(limit).collect();
    let end = after + page.len();
    let next = (end < machines().len()).then(|| end.to_string());
    Json(json!({ "machines": page, "next": next }))
}

fn worker(number: u8) -> Instance {
    let address = |kind, value: String| Address { kind, value };
    Instance {
        name: format!("worker-{number}"),
        provider_id: Some(format!("acme://worker-{number}")),
        state: if number == 1 { State::Running } else { State::Stopped },
        machine_type: Some("small".to_owned()),
        zone: Some("north-1".to_owned()),

        addresses: vec![
            address(AddressKind::Hostname, format!("worker-{number}")),
            address(AddressKind::InternalIp, format!("10.0.0.{number}")),
        ],
        ..Instance::default()
    }
}

#[tokio::test]
async fn the_example_finds_machines_one_by_one() {
    let acme = Acme::start().await;
    let nodes = [joining("worker-1"), node("renamed", "acme://worker-2"), joining("worker-3"), node("a", "aws:///b")];
    let foreign = Error::Invalid("provider id \"aws:///b\" does not begin with acme://".to_owned());
    let found = acme.instances.get(&nodes).await.answer;
    assert_eq!(found, [Ok(Some(worker(1))), Ok(Some(worker(2))), Ok(None), Err(foreign)]);
}

#[tokio::test]
async fn the_example_lists_machines_page_by_page() {
    let acme = Acme::start().await;
    let first = acme.instances.list(None, 1).await.answer.unwrap();
    assert_eq!((&first.instances[..], first.next.as_deref()), (&[worker(1)][..], Some("1")));
    let second = acme.instances.list(first.next, 1).await.answer.unwrap();
    assert_eq!((&second.instances[..], second.next), (&[worker(2)][..], None));
}
