//! The API: its requests, its answers, and where its errors differ from those of other clouds.

pub(crate) mod actions;
pub(crate) mod certificates;
pub(crate) mod load_balancers;
pub(crate) mod networks;
pub(crate) mod robot;
pub(crate) mod servers;
pub(crate) mod volumes;

use aerostat_sdk::Error;
use aerostat_sdk::http::{Client, NumberedPages, Response};
use serde::Deserialize;
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

pub(crate) const PAGES: NumberedPages<'_> = NumberedPages { largest: 50, next: &["meta", "pagination", "next_page"] };

/// Something with a name: a type, a location.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// The code of an error: `{"error": {"code": "locked", "message": "…"}}`. Empty, if it is none of the API's errors.
pub(crate) fn code(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    error["code"].as_str().unwrap_or_default().to_owned()
}

/// Whether the API itself says that something does not exist.
fn is_not_found(response: &Response) -> bool {
    code(response) == "not_found"
}

/// Whether an object refuses a change because it is still carrying out an earlier one, or has just ended it. Other conflicts, as
/// about a name that is taken, do not pass by waiting.
pub(crate) fn is_busy(response: &Response) -> bool {
    match response.status() {
        423 => true,
        409 => matches!(&*code(response), "conflict" | "locked" | "load_balancer_already_attached"),
        _ => false,
    }
}

fn refusal(response: &Response) -> Option<Error> {
    match (response.status(), &*code(response)) {
        (409, "uniqueness_error") => Some(Error::invalid(response.complaint())),
        (_, "invalid_input") => Some(Error::invalid(format_args!("{}{}", response.complaint(), fields(response)))),
        _ => None,
    }
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
