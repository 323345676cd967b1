//! The API of the VPC: its requests, its answers, and where its errors differ from those of other clouds.

pub(crate) mod floating_ips;
pub(crate) mod instances;
pub(crate) mod lists;
pub(crate) mod load_balancers;
pub(crate) mod resource_groups;
pub(crate) mod routes;
pub(crate) mod security_groups;
pub(crate) mod subnets;
pub(crate) mod volumes;
pub(crate) mod vpcs;

use aerostat_sdk::backend::{Creation, Found};
use aerostat_sdk::http::{Client, Refused, Request, Response};
use aerostat_sdk::{Error, Method, Result};
use serde::Deserialize;
use serde_json::Value;

/// The endpoint: `{"errors": [{"code": "not_found", "message": "…", "target": {…}}], "trace": "…"}`.
pub(crate) const VPC: &str = "vpc";
const API: Client<'_> = Client::new(VPC).refusals(refusal).not_found(is_not_found);

/// A request under the endpoint's base URL, with what every request carries.
pub(crate) fn at<'a>(method: Method, path: impl IntoIterator<Item = &'a str>) -> Request {
    API.request(method, path).queries(&PARAMETERS)
}

/// A GET, as [`at`].
pub(crate) fn get<'a>(path: impl IntoIterator<Item = &'a str>) -> Request {
    at(Method::Get, path)
}

/// The parameters of every request: the version whose fields are read here, and the generation of the VPC.
pub(crate) const PARAMETERS: [(&str, &str); 2] = [("version", "2026-06-23"), ("generation", "2")];

/// An object that is named by its id.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcId {
    pub(crate) id: String,
}

/// An object that is named by its name.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcName {
    pub(crate) name: String,
}

/// The code of a refusal. Empty if it is none of the API's.
pub(crate) fn code(response: &Response) -> String {
    let errors: Value = response.json_in("errors").unwrap_or_default();
    errors[0]["code"].as_str().unwrap_or_default().to_owned()
}

/// Whether it is refused because there is one of this name, or in this place, already.
pub(crate) fn is_taken(response: &Response) -> bool {
    let code = code(response);
    ["unique", "duplicate", "already", "exist"].iter().any(|it| code.contains(it)) && !is_not_found(response)
}

/// Sends the request that makes an object whose name is unique in the VPC. A 409 is a change at work, whatever its code, but for a name that is
/// taken.
///
/// # Errors
///
/// Every other refusal: nothing was made.
pub(crate) fn make(request: Request, found: impl FnOnce(&Response) -> Result<Found>) -> Result<Creation> {
    let (mut is_named, mut is_busy) = (false, false);
    let refuses = |response: &Response| {
        (is_named, is_busy) = (is_taken(response), response.status() == 409);
        is_named || is_busy
    };
    Ok(match request.create_unless(refuses, found)? {
        Creation::Unclear(why) if is_named => Creation::Taken(why),
        Creation::Unclear(why) if is_busy => Creation::Busy(why),
        created => created,
    })
}

/// Whether it is the API that says that something is not there.
fn is_not_found(response: &Response) -> bool {
    code(response).contains("not_found")
}

fn refusal(response: &Response) -> Option<Error> {
    let code = code(response);
    if code.contains("quota") {
        return Refused::Quota.error(response.complaint());
    }
    None
}
