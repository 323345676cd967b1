//! An environment as it answers requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::balancing::{Refused, Written};
use super::behaviour::{ACCESS_KEY, BASE, Behaviour, SECRET_KEY};
use super::world::{RancherKind, World};
use crate::simulator::{Answer, Authorization, Cloud, Limits, Quota, Recorded, Shared};

/// An environment.
#[derive(Debug)]
pub struct Assets {
    world: Shared<World>,
    asks_for_keys: bool,
}

impl Assets {
    pub(super) fn new(behaviour: Behaviour) -> Assets {
        Assets { world: Shared::new(World::new(behaviour.taking)), asks_for_keys: behaviour.asks_for_keys }
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }
}

impl Cloud for Assets {
    const NAME: &'static str = "Rancher";
    const HOSTS: &'static [&'static str] = &["rancher.example"];
    const LIMITS: Limits = Limits::Windows { per_hour: 1_000_000, per_minute: 1_000_000 };
    const JUDGES: bool = true;

    fn act(&self, request: &Recorded) -> Answer {
        let path = request.path.strip_prefix(BASE).and_then(|it| it.strip_prefix('/')).unwrap_or_default();
        let path: Vec<&str> = path.split('/').collect();
        let of = |name: &str| RancherKind::ALL.into_iter().find(|it| it.words().0 == name);
        let Some(kind) = path.first().and_then(|it| of(it)) else { return Assets::error(StatusCode::NOT_FOUND) };
        self.with(|world| {
            let has = |id: &str| world.resources.get(id).is_some_and(|it| it.kind == kind);
            let action = request.query_value("action");
            match (&request.method, &path[1..], action) {
                (&Method::GET, [], None) => {
                    let ids = world.resources.iter().filter(|(_, it)| it.kind == kind && world.is_listed(it));
                    let ids = ids.map(|(id, _)| id.clone()).collect();
                    world.page(request, ids, filters(kind))
                }
                (&Method::POST, [], None) => written(world.create(kind, &request.body), StatusCode::CREATED, world),
                (_, [id, ..], _) if !has(id) => refused(&Refused(404, "NotFound", (*id).to_owned())),
                (&Method::GET, [id], None) => {
                    world.shown(id).map_or_else(|| Assets::error(StatusCode::NOT_FOUND), |it| Answer::ok(&it))
                }
                (&Method::GET, [id, "ipaddresses"], None) if kind == RancherKind::Host => {
                    let own = world
                        .all(RancherKind::IpAddress)
                        .filter(|(_, it)| it.field("hosts").as_array().is_some_and(|it| it.contains(&json!(id))));
                    let own = own.map(|(id, _)| id.clone()).collect();
                    world.page(request, own, &[])
                }
                (&Method::GET, [id, "consumedservices"], None) if kind == RancherKind::Balancer => {
                    let ids = world.consumed(id);
                    world.page(request, ids, &[])
                }
                (&Method::PUT, [id], None) => written(world.replace(kind, id, &request.body), StatusCode::OK, world),
                (&Method::POST, [id], Some(action)) => {
                    written(world.act(id, action, &request.body), StatusCode::ACCEPTED, world)
                }
                (&Method::DELETE, [id], None) => written(world.delete(id), StatusCode::OK, world),
                _ => refused(&Refused(405, "MethodNotAllowed", request.path.clone())),
            }
        })
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let keys = format!("Basic {}", STANDARD.encode(format!("{ACCESS_KEY}:{SECRET_KEY}")));
        let is_known = matches!(&request.authorization, Authorization::Judged(it) if *it == keys);
        (self.asks_for_keys && !is_known).then(|| Assets::error(StatusCode::UNAUTHORIZED))
    }

    fn error(status: StatusCode) -> Answer {
        let words = status.canonical_reason().unwrap_or_default();
        let body =
            json!({ "type": "error", "status": status.as_u16(), "code": words.replace(' ', ""), "message": words });
        Answer::json(status, &body)
    }

    fn empty_list(_: &Recorded) -> Answer {
        Answer::ok(
            &json!({ "type": "collection", "data": [], "pagination": { "limit": 100, "next": null, "partial": false } }),
        )
    }

    fn show_quota(_: &mut Answer, _: &Quota) {}
}

/// The fields by which a collection is filtered, and what it includes.
fn filters(kind: RancherKind) -> &'static [&'static str] {
    match kind {
        RancherKind::Host => &["uuid"],
        RancherKind::IpAddress => &["include"],
        RancherKind::Stack | RancherKind::Setting => &["name"],
        RancherKind::Balancer | RancherKind::External => &["name", "stackId"],
    }
}

fn written(written: Written, status: StatusCode, world: &mut World) -> Answer {
    match written {
        Ok(id) => Answer::json(status, &world.shown(&id).unwrap_or(Value::Null)),
        Err(refused_for) => refused(&refused_for),
    }
}

/// A refusal; a request that no client should have sent is wrong, too.
fn refused(Refused(status, code, about): &Refused) -> Answer {
    let body = json!({ "type": "error", "status": status, "code": code, "message": about, "fieldName": null });
    let mut answer = Answer::json(StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST), &body);
    if matches!(*code, "InvalidBodyContent" | "MethodNotAllowed") {
        answer.wrong.push(format!("{code}: {about}"));
    }
    answer
}
