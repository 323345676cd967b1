//! Where a volume of a script is.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde_json::json;

use super::failure::Failure;

/// Where a volume is.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// For its label.
    pub region: Option<String>,
    /// For its label.
    pub zones: Vec<String>,
    /// Further labels.
    pub labels: Vec<(String, String)>,
    /// The failure instead: HTTP 500.
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

    pub(super) fn answer(&mut self) -> Response {
        match self.failure.as_mut().and_then(Failure::next) {
            Some(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            None => Json(json!({ "region": self.region, "zones": self.zones, "labels": self.labels })).into_response(),
        }
    }
}
