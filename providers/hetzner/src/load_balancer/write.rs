//! Carries steps out, as many as a call may, and asks once what became of their actions.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::http::Response;
use aerostat_sdk::{Change, Error, Result, time};
use serde::Serialize;

use super::steps::Step;
use super::targets::MachineTargets;
use crate::api::actions::{self, Action, ActionStatus};
use crate::api::load_balancers::{self as api, Algorithms, LoadBalancer as Live, Target, To};
use crate::api::{BodyFields, BodyValue, code, is_busy};

/// The most requests of one call: the host counts them too, and there are others.
const MOST: usize = 60;
/// The most of them that take something away: by default the host lets ten leave.
const MOST_REMOVALS: usize = 8;
/// For how many seconds an action that has failed is not begun again.
const FAILED: u64 = 60;

/// Why a target cannot be added, in the cloud's words: others can be.
const UNREACHABLE: [&str; 6] = [
    "server_not_attached_to_network",
    "missing_ipv4",
    "ip_not_owned",
    "cloud_resource_ip_not_allowed",
    "invalid_input",
    "not_found",
];

/// The action of a load balancer that runs, if one does.
///
/// # Errors
///
/// `unavailable`, with why an action of the last minute has failed, if none runs.
pub(super) fn running(live: &Live) -> Result<Option<Action>> {
    let mut actions = actions::of_load_balancer(live.id)?;
    if let Some(place) = actions.iter().position(|it| it.status == ActionStatus::Running) {
        return Ok(Some(actions.swap_remove(place)));
    }
    match actions.iter().find(|it| failed_just_now(it)) {
        Some(failed) => Err(Error::unavailable(format_args!("{}: {}", live.title(), failed.failure()))),
        None => Ok(None),
    }
}

fn failed_just_now(action: &Action) -> bool {
    let end = action.finished.as_deref().and_then(time::seconds);
    action.status == ActionStatus::Error && end.is_some_and(|it| aerostat_sdk::clock::now().saturating_sub(it) < FAILED)
}

/// Sends the steps. Done means that all have been sent, and that all actions have ended well.
///
/// # Errors
///
/// The first refusal, also of an action that the cloud began and that has failed. What follows it is not sent.
pub(super) fn carry_out(
    live: &Live,
    steps: &[Step],
    targets: &MachineTargets,
    warnings: &mut Warnings,
) -> Result<Change<()>> {
    let mut begun = Vec::new();
    let mut removals = 0;
    let mut stopped = None;
    for (sent, step) in steps.iter().enumerate() {
        removals += usize::from(step.removes());
        if sent == MOST || removals > MOST_REMOVALS {
            stopped = Some(format!("{} has {} more changes to come", live.title(), steps.len() - sent));
            break;
        }
        match send(live, step, targets, warnings)? {
            Change::Done(action) => begun.extend(action),
            Change::Busy(why) => {
                stopped = Some(why);
                break;
            }
        }
    }
    let waits = wait(live, &begun)?;
    Ok(stopped.or(waits).map_or(Change::Done(()), Change::Busy))
}

/// Asks about all actions at once. `Some` says what is still running.
fn wait(live: &Live, begun: &[Action]) -> Result<Option<String>> {
    let open: Vec<_> = begun.iter().filter(|it| it.status == ActionStatus::Running).map(|it| it.id).collect();
    let asked = actions::all(&open)?;
    if let Some(failed) = begun.iter().chain(&asked).find(|it| it.status == ActionStatus::Error) {
        return Err(Error::unavailable(format_args!("{}: {}", live.title(), failed.failure())));
    }
    let running: Vec<_> =
        asked.iter().filter(|it| it.status == ActionStatus::Running).map(|it| it.command.as_str()).collect();
    Ok((!running.is_empty()).then(|| format!("the cloud carries out {} of {}", running.join(", "), live.title())))
}

/// One request; none of these waits.
fn send(live: &Live, step: &Step, targets: &MachineTargets, warnings: &mut Warnings) -> Result<Change<Option<Action>>> {
    let act =
        |action: &str, body: &[(&str, BodyValue<'_>)]| Ok(api::act(live.id, action, &BodyFields(body))?.map(Some));
    let take_one =
        |action: &str, field: &str, id: u64| take_away(live, action, &BodyFields(&[(field, BodyValue::Number(id))]));
    match step {
        Step::Describe { name, labels } => Ok(api::describe(live.id, name, labels)?.map(|()| None)),
        Step::Rdns { ip, name } => {
            act("change_dns_ptr", &[("dns_ptr", BodyValue::Text(name)), ("ip", BodyValue::Text(ip))])
        }
        Step::Algorithm(kind) => Ok(api::act(live.id, "change_algorithm", &Algorithms { kind: *kind })?.map(Some)),
        Step::Kind(name) => act("change_type", &[("load_balancer_type", BodyValue::Text(name))]),
        Step::Detach(network) => take_one("detach_from_network", "network", *network),
        Step::Attach(to) => {
            let mut body = Vec::new();
            for (field, value) in [("ip", &to.ip), ("ip_range", &to.ip_range)] {
                body.extend(value.iter().map(|it| (field, BodyValue::Text(it))));
            }
            body.push(("network", BodyValue::Number(to.network)));
            act("attach_to_network", &body)
        }
        Step::EnablePublic => without_body(live, "enable_public_interface"),
        Step::DisablePublic => without_body(live, "disable_public_interface"),
        Step::RemoveService(port) => take_one("delete_service", "listen_port", u64::from(*port)),
        Step::UpdateService(service) => Ok(api::act(live.id, "update_service", service)?.map(Some)),
        Step::AddService(service) => Ok(api::act(live.id, "add_service", service)?.map(Some)),
        Step::RemoveTarget(to) => remove_target(live, to),
        Step::AddTarget { to, use_private_ip } => {
            let name = targets.nodes.get(to).map_or("", String::as_str);
            add_target(live, &Target { to: to.clone(), use_private_ip: *use_private_ip }, name, warnings)
        }
    }
}

fn without_body(live: &Live, action: &str) -> Result<Change<Option<Action>>> {
    api::request(live.id, action).change()?.and_then(|it| actions::begun(&it).map(|it| Change::Done(Some(it))))
}

/// A target that cannot be added takes nothing from the others.
fn add_target(live: &Live, target: &Target, node: &str, warnings: &mut Warnings) -> Result<Change<Option<Action>>> {
    let response = api::request(live.id, "add_target").json(target).answer()?;
    if response.is_success() {
        return Ok(Change::Done(Some(actions::begun(&response)?)));
    }
    match &*code(&response) {
        "target_already_defined" => {}
        "resource_limit_exceeded" => {
            let why = format!("node {node} is left out: {}; choose a larger type", response.complaint());
            warnings.add("MaxTargetsReached", why);
        }
        code if UNREACHABLE.contains(&code) => {
            warnings.add("TargetRefused", format_args!("node {node} takes no traffic: {}", response.complaint()));
        }
        _ => return changed(response),
    }
    Ok(Change::Done(None))
}

/// A server that is gone is no target any more.
fn remove_target(live: &Live, to: &To) -> Result<Change<Option<Action>>> {
    take_away(live, "remove_target", &Target { to: to.clone(), use_private_ip: false })
}

/// Takes something away. If it is not there any more, whatever the API calls that, it is done:
/// an action may have ended since it was read.
fn take_away(live: &Live, action: &str, body: &impl Serialize) -> Result<Change<Option<Action>>> {
    let response = api::request(live.id, action).json(body).answer()?;
    if response.is_success() {
        return Ok(Change::Done(Some(actions::begun(&response)?)));
    }
    let is_gone = match &*code(&response) {
        "load_balancer_target_not_found" | "target_not_found" => true,
        "invalid_input" | "not_found" => response.says("not found") || response.says("not exist"),
        _ => false,
    };
    if is_gone { Ok(Change::Done(None)) } else { changed(response) }
}

/// The result of every other answer.
fn changed(response: Response) -> Result<Change<Option<Action>>> {
    if is_busy(&response) {
        return Ok(Change::Busy(response.complaint()));
    }
    response.accepted().map(|_| Change::Done(None))
}
