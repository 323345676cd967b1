//! Answers about the machines of a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::Failure;
use super::machine::Machine;
use super::state::{Question, Shared, lock};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Who {
    #[serde(rename = "providerID")]
    provider_id: String,
}

pub(super) async fn get(
    State(shared): State<Arc<Mutex<Shared>>>,
    Path(node): Path<String>,
    Query(who): Query<Who>,
) -> Response {
    let (delay, answer) = {
        let mut shared = lock(&shared);
        shared.ask(Question::Get { node: node.clone(), provider_id: who.provider_id });
        match shared.machines.get_mut(&node) {
            Some(machine) => (machine.delay, answer(&node, machine)),
            None => (Duration::ZERO, None),
        }
    };
    tokio::time::sleep(delay).await;
    match answer {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
pub(super) struct Part {
    after: String,
    limit: usize,
}

pub(super) async fn list(State(shared): State<Arc<Mutex<Shared>>>, Query(part): Query<Part>) -> Json<Value> {
    let (delay, machines, next) = {
        let mut shared = lock(&shared);
        let mut rest = shared
            .machines
            .iter()
            .filter(|(name, _)| **name > part.after)
            .filter(|(_, machine)| !machine.failure.as_ref().is_some_and(Failure::holds));
        let page: Vec<_> = rest.by_ref().take(part.limit).collect();
        let next = rest.next().and(page.last()).map(|(name, _)| (*name).clone());
        let delay = page.iter().map(|(_, machine)| machine.delay).max().unwrap_or_default();
        let machines: Vec<_> = page.into_iter().map(|(name, machine)| fields(name, machine)).collect();
        shared.ask(Question::List { after: part.after });
        (delay, machines, next)
    };
    tokio::time::sleep(delay).await;
    Json(json!({ "machines": machines, "next": next }))
}

/// The answer to a question about one machine; `None` if there is none.
fn answer(node: &str, machine: &mut Machine) -> Option<Value> {
    match machine.failure.as_mut().and_then(Failure::next) {
        Some(error) => error.words(),
        None => Some(json!({ "machine": fields(node, machine) })),
    }
}

fn fields(node: &str, machine: &Machine) -> Value {
    let addresses: Vec<_> =
        machine.addresses.iter().map(|(kind, address)| json!({ "type": kind, "address": address })).collect();
    json!({
        "name": node,
        "providerID": machine.provider_id,
        "stopped": machine.stopped,
        "type": machine.machine_type,
        "zone": machine.zone,
        "region": machine.region,
        "addresses": addresses,
        "labels": machine.labels,
        "podCIDRs": machine.pod_cidrs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Error;

    fn cloud(machines: impl IntoIterator<Item = (&'static str, Option<Failure>)>) -> Arc<Mutex<Shared>> {
        let machines = machines
            .into_iter()
            .map(|(node, failure)| (node.to_owned(), Machine { failure, ..Machine::default() }))
            .collect();
        Arc::new(Mutex::new(Shared { machines, ..Shared::default() }))
    }

    async fn page(cloud: &Arc<Mutex<Shared>>, after: &str) -> Value {
        let part = Part { after: after.to_owned(), limit: 2 };
        list(State(cloud.clone()), Query(part)).await.0
    }

    #[tokio::test]
    async fn a_list_comes_in_pages_without_machines_that_fail() {
        let failure = Failure::always(Error::NotFound);
        let cloud = cloud([("n1", None), ("n2", Some(failure)), ("n3", None), ("n4", None)]);
        let first = page(&cloud, "").await;
        assert_eq!((&first["machines"][0]["name"], &first["machines"][1]["name"]), (&json!("n1"), &json!("n3")));
        assert_eq!(first["next"], "n3");
        let second = page(&cloud, "n3").await;
        assert_eq!((&second["machines"][0]["name"], &second["next"]), (&json!("n4"), &Value::Null));
        let questions: Vec<_> = lock(&cloud).calls.iter().map(|call| call.question.clone()).collect();
        let expected = ["", "n3"].map(|after| Question::List { after: after.to_owned() });
        assert_eq!(questions, expected);
    }

    #[test]
    fn a_failure_that_is_counted_passes() {
        let error = Error::Unavailable("down".to_owned());
        let mut machine = Machine { failure: Some(Failure { error, count: Some(2) }), ..Machine::default() };
        for _ in 0..2 {
            assert_eq!(answer("n1", &mut machine), Some(json!({ "unavailable": { "text": "down" } })));
        }
        assert_eq!(answer("n1", &mut machine).unwrap()["machine"]["name"], "n1");
    }
}
