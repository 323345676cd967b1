//! Requests to Azure Resource Manager: which version they speak, what they are about, and what is done.

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refusal};
use super::id::{ArmPath, ArmSubject, key};
use super::kind::{Kind, Service};
use super::listing;
use super::operations;
use super::presented::{Views, shown};
use super::throttle::RequestGroup;
use super::world::{World, group_of, owner_of, parts, text};
use super::writing::{self, group_name, parsed};

/// The versions of each service that are taken.
const NETWORK: [&str; 12] = [
    "2018-10-01",
    "2023-09-01",
    "2024-01-01",
    "2024-03-01",
    "2024-05-01",
    "2024-07-01",
    "2024-10-01",
    "2025-01-01",
    "2025-03-01",
    "2025-05-01",
    "2025-07-01",
    "2026-03-01",
];
const COMPUTE: [&str; 10] = [
    "2023-09-01",
    "2024-03-01",
    "2024-07-01",
    "2024-11-01",
    "2025-04-01",
    "2025-11-01",
    "2026-03-01",
    "2026-03-02",
    "2026-03-03",
    "2026-04-01",
];
const RESOURCES: [&str; 6] = ["2020-06-01", "2021-04-01", "2022-09-01", "2022-12-01", "2024-11-01", "2025-04-01"];

/// Answers a request whose path leads below subscriptions.
pub(super) fn answer(world: &mut World, request: &Recorded) -> Result<Answer, Refusal> {
    let asked = ArmPath::read(&request.path).ok_or_else(|| errors::no_such_path(&request.path))?;
    check_version(request, &asked.subject)?;
    let known = world.subscriptions.iter().any(|it| it.eq_ignore_ascii_case(&asked.subscription));
    if !known {
        return Err(errors::subscription_not_found(&asked.subscription));
    }
    check_action(world, request, &asked)?;
    let Some(group) = RequestGroup::of(request, &asked) else { return act(world, request, asked) };
    let now = world.time();
    let left = world.throttles.admit(group, now)?;
    let mut answer = act(world, request, asked)?;
    group.show(&mut answer, left);
    Ok(answer)
}

fn act(world: &mut World, request: &Recorded, asked: ArmPath) -> Result<Answer, Refusal> {
    let ArmPath { subscription, group, subject } = asked;
    let is_get = request.method == Method::GET;
    match &subject {
        ArmSubject::Operation { operation, is_result } => {
            return operations::polled(world, service_of(request), operation, *is_result);
        }
        ArmSubject::Provider(service) if is_get => return Ok(Answer::ok(&provider(*service, &subscription))),
        ArmSubject::Subscription if is_get => {
            let id = format!("/subscriptions/{subscription}");
            return Ok(Answer::ok(&json!({
                "id": id, "subscriptionId": subscription, "displayName": "simulated", "state": "Enabled",
            })));
        }
        ArmSubject::Groups if is_get => {
            let prefix = key(&format!("/subscriptions/{subscription}/"));
            let all = world.groups.iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(_, it)| it.clone());
            return Ok(Answer::ok(&json!({ "value": all.collect::<Vec<_>>() })));
        }
        ArmSubject::Group => return one_group(world, request, &subscription, group.as_deref().unwrap_or_default()),
        _ => {}
    }
    if let Some(group) = &group
        && !world.groups.contains_key(&key(&group_of(&request.path)))
    {
        return Err(errors::group_not_found(group));
    }
    match (&request.method, subject) {
        (&Method::GET, ArmSubject::Many { kind, within }) => {
            if kind == Kind::ScaleSetMachine && world.get(&within).is_none() {
                return Err(errors::parent_not_found(&within));
            }
            if kind == Kind::ScaleSetInterface && world.get(&within).is_none() {
                return Err(errors::resource_not_found(&within, Kind::ScaleSet, group_name(&within)));
            }
            let list = listing::many(world, request, kind, &within)?;
            // A list counts as a read of each object in it.
            let shown = list["value"].as_array().into_iter().flatten();
            shown.for_each(|it| world.count_read(None, text(it, "id")));
            Ok(Answer::ok(&list))
        }
        (&Method::GET, ArmSubject::One { kind, id }) => read(world, request, kind, &id).map(|it| Answer::ok(&it)),
        (&Method::GET, ArmSubject::Parts { kind, id, part }) => {
            let whole = read(world, request, kind, &id)?;
            listing::of_parts(world, request, &whole, part).map(|it| Answer::ok(&it))
        }
        (&Method::GET, ArmSubject::Part { kind, id, part, name }) => {
            let whole = read(world, request, kind, &id).map_err(|_| errors::parent_not_found(&id))?;
            let found = parts(&whole, part).find(|it| text(it, "name").eq_ignore_ascii_case(&name));
            found.map(Answer::ok).ok_or_else(|| errors::part_not_found(&format!("{id}/{part}/{name}")))
        }
        (&Method::GET, ArmSubject::Verb { kind, id, verb }) if verb == "instanceView" => view(world, kind, &id),
        (&Method::PUT, ArmSubject::One { kind, id }) => writing::put(world, request, kind, &id),
        (&Method::PATCH, ArmSubject::One { kind, id }) => writing::tag(world, request, kind, &id),
        (&Method::DELETE, ArmSubject::One { kind, id }) => writing::delete(world, request, kind, &id),
        (&Method::PUT, ArmSubject::Part { kind, id, part, name }) => {
            writing::put_part(world, request, kind, &id, part, &name)
        }
        (&Method::DELETE, ArmSubject::Part { kind, id, part, name }) => {
            writing::delete_part(world, request, kind, &id, part, &name)
        }
        (&Method::POST, ArmSubject::Verb { kind: kind @ (Kind::Machine | Kind::ScaleSetMachine), id, verb }) => {
            writing::power(world, kind, &id, &verb)
        }
        _ => Err(errors::no_such_path(&request.path)),
    }
}

/// One resource as it is shown.
fn read(world: &mut World, request: &Recorded, kind: Kind, id: &str) -> Result<Value, Refusal> {
    let views = Views { instance: listing::wants_view(request) };
    let found = world.stored(id).map(|it| shown(world, &world.references(), it, views));
    world.count_read(None, id);
    let owner = owner_of(kind, id);
    let is_orphan = !owner.is_empty() && world.get(owner).is_none();
    found.ok_or_else(|| match is_orphan {
        true => errors::parent_not_found(owner),
        false => errors::resource_not_found(id, kind, group_name(id)),
    })
}

/// The view of an instance, or of all those of a scale set.
fn view(world: &World, kind: Kind, id: &str) -> Result<Answer, Refusal> {
    let body = world.get(id).ok_or_else(|| errors::resource_not_found(id, kind, group_name(id)))?;
    let view = match kind {
        Kind::Machine | Kind::ScaleSetMachine => body["properties"]["instanceView"].clone(),
        Kind::ScaleSet => {
            let count = world
                .below(&format!("{id}/virtualMachines/"))
                .filter(|(_, it)| it.kind == Kind::ScaleSetMachine)
                .count();
            json!({
                "virtualMachine": { "statusesSummary": [{ "code": "ProvisioningState/succeeded", "count": count }] },
                "statuses": [{ "code": "ProvisioningState/succeeded", "level": "Info" }],
            })
        }
        _ => return Err(errors::no_such_path(id)),
    };
    Ok(Answer::ok(&view))
}

fn one_group(world: &mut World, request: &Recorded, subscription: &str, name: &str) -> Result<Answer, Refusal> {
    let id = format!("/subscriptions/{subscription}/resourceGroups/{name}");
    match request.method {
        Method::GET => world.groups.get(&key(&id)).map(Answer::ok).ok_or_else(|| errors::group_not_found(name)),
        Method::PUT => {
            let body = parsed(request)?;
            let is_new = !world.groups.contains_key(&key(&id));
            world.add_group(subscription, name, text(&body, "location"));
            let group = &mut world.groups.get_mut(&key(&id)).expect("it was added");
            if !body["tags"].is_null() {
                group["tags"] = body["tags"].clone();
            }
            Ok(if is_new { Answer::created(group) } else { Answer::ok(group) })
        }
        _ => Err(errors::no_such_path(&request.path)),
    }
}

/// The zones of the region, as the manager asks for them at its start.
fn provider(service: Service, subscription: &str) -> Value {
    let one = |kind: &Kind| {
        let mut it = json!({ "resourceType": kind.words().1.join("/"), "locations": ["West Europe"], "apiVersions": versions(service) });
        if *kind == Kind::Machine {
            it["zoneMappings"] = json!([{ "location": "West Europe", "zones": ["1", "2", "3"] }]);
        }
        it
    };
    let kinds = Kind::ALL.iter().filter(|it| it.words().0 == service.namespace());
    json!({
        "id": format!("/subscriptions/{subscription}/providers/{}", service.namespace()), "namespace": service.namespace(),
        "registrationState": "Registered", "resourceTypes": kinds.map(one).collect::<Vec<_>>(),
    })
}

fn versions(service: Service) -> &'static [&'static str] {
    match service {
        Service::Network => &NETWORK,
        Service::Compute => &COMPUTE,
    }
}

/// Each request says which version it speaks.
fn check_version(request: &Recorded, subject: &ArmSubject) -> Result<(), Refusal> {
    let Some(version) = request.query_value("api-version").filter(|it| !it.is_empty()) else {
        return Err(errors::no_version());
    };
    let (namespace, supported): (_, &[&str]) = match subject {
        ArmSubject::Subscription | ArmSubject::Groups | ArmSubject::Group | ArmSubject::Provider(_) => {
            ("Microsoft.Resources", &RESOURCES)
        }
        // A link to an operation has the version of whoever wrote it.
        ArmSubject::Operation { .. } => return Ok(()),
        ArmSubject::One { kind, .. }
        | ArmSubject::Many { kind, .. }
        | ArmSubject::Parts { kind, .. }
        | ArmSubject::Part { kind, .. }
        | ArmSubject::Verb { kind, .. } => (kind.service().namespace(), versions(kind.service())),
    };
    if supported.contains(&version) { Ok(()) } else { Err(errors::wrong_version(version, namespace, supported)) }
}

/// Whether the credential may do this.
fn check_action(world: &World, request: &Recorded, asked: &ArmPath) -> Result<(), Refusal> {
    let (kind, part, verb) = match &asked.subject {
        ArmSubject::One { kind, .. } | ArmSubject::Many { kind, .. } => (kind, None, None),
        ArmSubject::Parts { kind, part, .. } | ArmSubject::Part { kind, part, .. } => (kind, Some(*part), None),
        ArmSubject::Verb { kind, verb, .. } => (kind, None, Some(verb.as_str())),
        ArmSubject::Provider(_) => {
            return check_right(world, request, "Microsoft.Resources/subscriptions/providers/read");
        }
        ArmSubject::Operation { .. } => {
            let namespace = service_of(request).namespace();
            return check_right(world, request, &format!("{namespace}/locations/operations/read"));
        }
        _ => return Ok(()),
    };
    let what = match (&request.method, verb) {
        (&Method::POST, Some(verb)) => format!("{verb}/action"),
        (_, Some(verb)) => format!("{verb}/read"),
        (&Method::GET, _) => "read".to_owned(),
        (&Method::DELETE, _) => "delete".to_owned(),
        _ => "write".to_owned(),
    };
    let part = part.map(|it| format!("/{it}")).unwrap_or_default();
    check_right(world, request, &format!("{}{part}/{what}", kind.full_type()))
}

fn check_right(world: &World, request: &Recorded, action: &str) -> Result<(), Refusal> {
    if world.behaviour.denied.contains(action) { Err(errors::forbidden(action, &request.path)) } else { Ok(()) }
}

/// The service whose operation a request is about.
fn service_of(request: &Recorded) -> Service {
    if request.path.contains(Service::Compute.namespace()) { Service::Compute } else { Service::Network }
}
