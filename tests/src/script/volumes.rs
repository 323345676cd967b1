//! Answers about the volumes of a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::state::{Question, Shared, lock};

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
