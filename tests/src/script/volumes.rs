//! Answers about the volumes of a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

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
    /// How long an answer takes.
    pub delay: Duration,
}

impl Place {
    /// A place in one zone.
    #[must_use]
    pub fn zone(region: &str, zone: &str) -> Place {
        Place { region: Some(region.to_owned()), zones: vec![zone.to_owned()], ..Place::default() }
    }

    fn answer(&mut self) -> Response {
        match self.failure.as_mut().and_then(Failure::next) {
            Some(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            None => Json(json!({ "region": self.region, "zones": self.zones, "labels": self.labels })).into_response(),
        }
    }
}

pub(super) async fn get(State(shared): State<Arc<Mutex<Shared>>>, Path(handle): Path<String>) -> Response {
    let (delay, answer) = {
        let mut shared = lock(&shared);
        shared.ask(Question::Volume { handle: handle.clone() });
        match shared.volumes.get_mut(&handle) {
            Some(place) => (place.delay, place.answer()),
            None => (Duration::ZERO, StatusCode::NOT_FOUND.into_response()),
        }
    };
    tokio::time::sleep(delay).await;
    answer
}
