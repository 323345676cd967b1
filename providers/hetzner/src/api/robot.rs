//! Dedicated servers, which have an API of their own: Robot's.

use std::time::Duration;

use aerostat_sdk::http::{Client, Response};
use aerostat_sdk::{Error, Result, settings};
use serde::Deserialize;

use super::code;
use crate::settings::ROBOT_WAIT;

/// The name of the endpoint.
pub(crate) const ENDPOINT: &str = "robot";

const API: Client<'_> = Client::new(ENDPOINT).refusals(refusal).not_found(is_not_found);

/// One dedicated server.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DedicatedServer {
    #[serde(rename = "server_number")]
    pub(crate) number: u64,
    #[serde(rename = "server_name", default, deserialize_with = "aerostat_sdk::json::null_as_default")]
    pub(crate) name: String,
    #[serde(rename = "server_ip")]
    pub(crate) ipv4: Option<String>,
    /// The first address of its network: `2001:db8::`.
    #[serde(rename = "server_ipv6_net")]
    pub(crate) ipv6_net: Option<String>,
    pub(crate) product: String,
    #[serde(rename = "dc")]
    pub(crate) data_centre: String,
}

#[derive(Deserialize)]
struct One {
    server: DedicatedServer,
}

/// All of the account: the API has no pages.
pub(crate) fn all() -> Result<Vec<DedicatedServer>> {
    // An account without servers answers 404.
    let found: Option<Vec<One>> = API.get(["server"]).find()?;
    Ok(found.unwrap_or_default().into_iter().map(|it| it.server).collect())
}

/// The one with this number. The list, which serves all who ask at a time, says that it is there; that it is not there is
/// said only by the answer about it alone.
pub(crate) fn find(number: u64) -> Result<Option<DedicatedServer>> {
    if let Some(found) = all()?.into_iter().find(|it| it.number == number) {
        return Ok(Some(found));
    }
    API.get(["server", &number.to_string()]).find_in("server")
}

/// Whether it is off, as far as the API knows: it does not of all kinds of servers.
pub(crate) fn is_off(number: u64) -> Result<bool> {
    #[derive(Deserialize)]
    struct Reset {
        operating_status: Option<String>,
    }
    let reset: Option<Reset> = API.get(["reset", &number.to_string()]).find_in("reset")?;
    Ok(reset.and_then(|it| it.operating_status).is_some_and(|it| it == "shut off"))
}

fn is_not_found(response: &Response) -> bool {
    matches!(&*code(response), "SERVER_NOT_FOUND" | "NOT_FOUND" | "RESET_NOT_AVAILABLE")
}

/// The API says 403 where others say 429.
fn refusal(response: &Response) -> Option<Error> {
    let is_limit = response.status() == 403 && code(response) == "RATE_LIMIT_EXCEEDED";
    let wait = || settings::get(&ROBOT_WAIT).unwrap_or(Duration::from_mins(5));
    is_limit.then(|| Error::retry_after(wait(), response.complaint()))
}
