//! Answers about the routes of a script.

use std::sync::{Arc, Mutex};

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Json, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::hold::{Fate, Side};
use super::route_table::{Change, Route};
use super::state::{Question, Shared, lock};

#[derive(Deserialize)]
pub(super) struct Part {
    after: String,
    limit: usize,
}

pub(super) async fn list(State(shared): State<Arc<Mutex<Shared>>>, Query(part): Query<Part>) -> Response {
    let (takes, fate, fails) = {
        let mut shared = lock(&shared);
        shared.ask(Question::ListRoutes { after: part.after.clone() });
        let fails = shared.routes.list_failure.as_mut().is_some_and(|it| it.next().is_some());
        (shared.routes.list_takes, Fate::of(&mut shared.routes.held), fails)
    };
    fate.pass(Side::Before).await;
    tokio::time::sleep(takes).await;
    if fails {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let page = page(&lock(&shared).routes.routes, &part);
    fate.pass(Side::After).await;
    Json(page).into_response()
}

fn page(routes: &[Route], part: &Part) -> Value {
    let from: usize = part.after.parse().unwrap_or_default();
    let mut rest = routes.iter().skip(from);
    let fields = |route: &Route| {
        json!({
            "destination": route.destination, "nextHop": Some(&route.next_hop).filter(|it| !it.is_empty()),
            "ownership": route.ownership, "state": route.state, "id": route.id,
        })
    };
    let page: Vec<_> = rest.by_ref().take(part.limit).map(fields).collect();
    let next = rest.next().map(|_| (from + page.len()).to_string());
    json!({ "routes": page, "next": next, "incomplete": null })
}

pub(super) async fn apply(
    State(shared): State<Arc<Mutex<Shared>>>,
    Json(changes): Json<Vec<Change>>,
) -> Json<Vec<Value>> {
    let fate = Fate::of(&mut lock(&shared).routes.held);
    fate.pass(Side::Before).await;
    let answers = {
        let mut shared = lock(&shared);
        let answer = |change: Change| {
            shared.ask(Question::Route {
                destination: change.destination.clone(),
                before: change.before.is_some(),
                after: change.after.as_ref().map(|it| it.next_hop.clone()),
            });
            shared.routes.apply(change)
        };
        changes.into_iter().map(answer).collect()
    };
    fate.pass(Side::After).await;
    Json(answers)
}
