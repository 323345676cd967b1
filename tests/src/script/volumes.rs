//! Answers about the volumes of a script.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde_json::json;

use super::failure::Failure;
use super::state::{Question, Shared, lock};

/// Where a volume is.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// For its label.
    pub region: Option<String>,
    /// For its label.
    pub zones: Vec<String>,
    /// Further labels.
    pub labels: Vec<(String, String)>,
    /// What goes wrong instead: HTTP 500.
    pub failure: Option<Failure>,
}

impl Place {
    /// A place in one zone.
    #[must_use]
    pub fn zone(region: &str, zone: &str) -> Place {
        Place { region: Some(region.to_owned()), zones: vec![zone.to_owned()], ..Place::default() }
    }
}

pub(super) async fn get(State(shared): State<Arc<Mutex<Shared>>>, Path(handle): Path<String>) -> Response {
    let mut shared = lock(&shared);
    shared.ask(Question::Volume { handle: handle.clone() });
    let Some(place) = shared.volumes.get_mut(&handle) else { return StatusCode::NOT_FOUND.into_response() };
    if place.failure.as_mut().and_then(Failure::next).is_some() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    Json(json!({ "region": place.region, "zones": place.zones, "labels": place.labels })).into_response()
}
