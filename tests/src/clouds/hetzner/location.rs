//! Where the service has machines.

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{self, Refused};
use super::listing::{self, Query};

/// A place with data centres.
#[derive(Debug, PartialEq)]
pub(super) struct Location {
    /// The number that requests may name in the place of the name.
    pub(super) id: u64,
    /// For example `fsn1`.
    pub(super) name: &'static str,
    /// The zone that a private network spans: for example `eu-central`.
    pub(super) network_zone: &'static str,
    city: &'static str,
    country: &'static str,
}

/// All of them.
static LOCATIONS: [Location; 6] = [
    Location { id: 1, name: "fsn1", network_zone: "eu-central", city: "Falkenstein", country: "DE" },
    Location { id: 2, name: "nbg1", network_zone: "eu-central", city: "Nuremberg", country: "DE" },
    Location { id: 3, name: "hel1", network_zone: "eu-central", city: "Helsinki", country: "FI" },
    Location { id: 4, name: "ash", network_zone: "us-east", city: "Ashburn, VA", country: "US" },
    Location { id: 5, name: "hil", network_zone: "us-west", city: "Hillsboro, OR", country: "US" },
    Location { id: 6, name: "sin", network_zone: "ap-southeast", city: "Singapore", country: "SG" },
];

impl Location {
    /// The location with this name or id.
    pub(super) fn find(name: &str) -> Option<&'static Location> {
        LOCATIONS.iter().find(|it| it.name == name || it.id.to_string() == name)
    }

    /// The first location of a network zone.
    pub(super) fn of_zone(zone: &str) -> Option<&'static Location> {
        LOCATIONS.iter().find(|it| it.network_zone == zone)
    }

    /// The object as the service shows it.
    pub(super) fn object(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "description": format!("{} DC Park 1", self.city),
            "country": self.country,
            "city": self.city,
            "latitude": 50.476_12,
            "longitude": 12.370_071,
            "network_zone": self.network_zone,
        })
    }
}

/// `GET /locations`.
pub(super) fn list(query: &Query) -> Result<Answer, Refused> {
    let name = listing::value(query, "name");
    let shown = LOCATIONS.iter().filter(|it| name.is_none_or(|name| it.name == name));
    listing::page(query, "locations", shown.map(Location::object).collect())
}

/// `GET /locations/{id}`.
pub(super) fn one(id: &str) -> Result<Answer, Refused> {
    let found = LOCATIONS.iter().find(|it| it.id.to_string() == id);
    let location = found.ok_or_else(|| Box::new(errors::for_status(StatusCode::NOT_FOUND)))?;
    Ok(Answer::ok(&json!({ "location": location.object() })))
}
