//! The API: its requests, its answers, and where its errors differ from those of other clouds.

pub(crate) mod actions;
pub(crate) mod certificates;
pub(crate) mod load_balancers;
pub(crate) mod networks;
pub(crate) mod robot;
pub(crate) mod servers;
pub(crate) mod volumes;

use aerostat_sdk::http::{Client, NumberedPages, Refused, Response};
use aerostat_sdk::{Error, SortedMap};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The name of the endpoint.
pub(crate) const ENDPOINT: &str = "hcloud";

/// A project gets back one request a second: the last ones are for whoever else uses it.
const RESERVE: u32 = 20;

const API: Client<'_> = Client::new(ENDPOINT)
    .refusals(refusal)
    .not_found(is_not_found)
    .busy(is_busy)
    .limit_ends("ratelimit-reset")
    .reserve("ratelimit-remaining", RESERVE);

pub(crate) const PAGES: NumberedPages<'_> =
    NumberedPages { largest: 50, next: &["meta", "pagination", "next_page"], ..NumberedPages::USUAL };

/// Something with a name: a type, a location.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WithName {
    pub(crate) name: String,
    /// Of a location.
    #[serde(default)]
    pub(crate) network_zone: String,
}

/// Something with labels, as far as lists are read.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WithLabels {
    pub(crate) id: u64,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: Labels,
}

/// Labels of whatever has some.
pub(crate) type Labels = SortedMap<String, String>;

/// The body of a request with a few fields, in the order of their names. A module has its code once, and that of a struct for each.
pub(crate) struct BodyFields<'a>(pub(crate) &'a [(&'a str, BodyValue<'a>)]);

/// The value of a field in a body.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum BodyValue<'a> {
    Text(&'a str),
    Number(u64),
    Labels(&'a Labels),
}

impl Serialize for BodyFields<'_> {
    fn serialize<S: Serializer>(&self, body: S) -> Result<S::Ok, S::Error> {
        body.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// An id as the API writes it: a number without a sign and without zeros before it.
pub(crate) fn id(text: &str) -> Option<u64> {
    text.parse().ok().filter(|it: &u64| it.to_string() == text)
}

/// The code of an error: `{"error": {"code": "locked", "message": "…"}}`. Empty, if it is none of the API's errors.
pub(crate) fn code(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    error["code"].as_str().unwrap_or_default().to_owned()
}

/// The kind of a refusal, by its code; `None` leaves it to the status.
///
/// The codes are those of "Errors" and of each operation in the published description of the API, and of the vendor's library.
pub(crate) fn refused(code: &str) -> Option<Refused> {
    Some(match code {
        "invalid_input"
        | "json_error"
        | "invalid_load_balancer_type"
        | "ip_not_available"
        | "ip_not_owned"
        | "cloud_resource_ip_not_allowed"
        | "server_not_attached_to_network"
        | "missing_ipv4"
        | "load_balancer_not_attached_to_network"
        | "load_balancer_public_interface_disabled"
        | "targets_without_use_private_ip"
        | "incompatible_network_type"
        | "deprecated_api_endpoint"
        | "unsupported_error" => Refused::Invalid,
        "uniqueness_error" | "source_port_already_used" | "target_already_defined" => Refused::Taken,
        "unauthorized" | "forbidden" | "token_readonly" => Refused::Denied,
        "resource_limit_exceeded"
        | "no_subnet_available"
        | "no_space_left_in_location"
        | "limit_exceeded_error"
        | "placement_error"
        | "ca_too_many_certificates_issued_for_registered_domain"
        | "ca_too_many_duplicate_certificates" => Refused::Quota,
        "locked" | "conflict" | "load_balancer_already_attached" | "volume_already_attached" => Refused::Busy,
        "protected" => Refused::Protected,
        "not_found" => Refused::NotFound,
        "rate_limit_exceeded" => Refused::RateLimit,
        "resource_unavailable"
        | "service_error"
        | "server_error"
        | "unknown_error"
        | "unavailable"
        | "maintenance"
        | "bad_gateway"
        | "timeout"
        | "robot_unavailable" => Refused::Failure,
        _ => return None,
    })
}

/// Whether the API itself says that something does not exist.
fn is_not_found(response: &Response) -> bool {
    refused(&code(response)) == Some(Refused::NotFound)
}

/// Whether an object refuses a change because it is still carrying out an earlier one, or has just ended it. Other conflicts, as
/// about a name that is taken, do not pass by waiting.
pub(crate) fn is_busy(response: &Response) -> bool {
    response.status() == 423 || (response.status() == 409 && refused(&code(response)) == Some(Refused::Busy))
}

fn refusal(response: &Response) -> Option<Error> {
    let refused = refused(&code(response))?;
    let says_when = response.status() == 503 && response.retry_after().is_some();
    if says_when { None } else { refused.error(format_args!("{}{}", response.complaint(), fields(response))) }
}

/// Which fields of a request were not accepted, and why.
fn fields(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    let fields = error["details"]["fields"].as_array().cloned().unwrap_or_default();
    let mut text = String::new();
    for field in fields.iter().take(10) {
        let messages = field["messages"].as_array().cloned().unwrap_or_default();
        let messages: Vec<_> = messages.iter().filter_map(Value::as_str).take(5).collect();
        let name = field["name"].as_str().unwrap_or_default();
        text.push_str(&format!("; {name}: {}", messages.join(", ")).chars().take(200).collect::<String>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of the published description, and those of the vendor's library.
    #[test]
    fn adv_167_codes_of_hetzner_are_sorted() {
        let table = [
            (Refused::Quota, &["resource_limit_exceeded", "no_subnet_available", "no_space_left_in_location"][..]),
            (Refused::Taken, &["uniqueness_error", "source_port_already_used", "target_already_defined"]),
            (Refused::Busy, &["locked", "conflict", "load_balancer_already_attached"]),
            (Refused::Denied, &["unauthorized", "forbidden", "token_readonly"]),
            (Refused::Protected, &["protected"]),
            (Refused::NotFound, &["not_found"]),
            (Refused::RateLimit, &["rate_limit_exceeded"]),
            (Refused::Invalid, &["invalid_input", "invalid_load_balancer_type", "missing_ipv4", "ip_not_owned"]),
            (Refused::Failure, &["server_error", "unavailable", "maintenance", "robot_unavailable", "timeout"]),
        ];
        for (expected, codes) in table {
            for code in codes {
                assert_eq!(refused(code), Some(expected), "{code}");
            }
        }
        assert_eq!((refused(""), refused("a_new_code")), (None, None), "the status decides");
    }
}
