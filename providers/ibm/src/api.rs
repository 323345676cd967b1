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

/// The longest URL that a refusal names and that people are told.
const PAGE_BYTES: usize = 200;

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
    word(response, "code").unwrap_or_default()
}

/// A field of a refusal's first error that is text.
fn word(response: &Response, field: &str) -> Option<String> {
    let errors: Value = response.json_in("errors").ok()?;
    errors[0][field].as_str().map(str::to_owned)
}

/// The page about a refusal, if its first error names one.
fn page(response: &Response) -> Option<String> {
    let is_url = |it: &String| it.starts_with("https://") && it.bytes().all(|byte| byte.is_ascii_graphic());
    word(response, "more_info").filter(|it| it.len() <= PAGE_BYTES && is_url(it))
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

/// A quota that is used up is told with the page that says how large it is, and how it is raised.
fn refusal(response: &Response) -> Option<Error> {
    if !code(response).contains("quota") {
        return None;
    }
    let complaint = response.complaint();
    Refused::Quota.error(page(response).map_or_else(|| complaint.clone(), |page| format!("{complaint}, see {page}")))
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::testing::answer;
    use serde_json::json;

    use super::*;

    #[test]
    fn quotas_are_told_with_the_page_that_the_cloud_names() {
        let long = format!("https://{}", "a".repeat(PAGE_BYTES));
        for (named, is_told) in [
            (json!("https://cloud.ibm.com/docs/vpc?topic=vpc-quotas"), true),
            (json!("http://cloud.ibm.com/docs/vpc"), false),
            (json!("https://cloud.ibm.com/\nnode"), false),
            (json!(long), false),
            (Value::Null, false),
        ] {
            let error = json!({ "code": "load_balancer_over_quota", "message": "it is full", "more_info": named });
            let body = json!({ "errors": [error], "trace": "1" }).to_string();
            let host = crate::tests::settings().answers(move |_| answer(400, body.clone()));
            let refused = host.run(|| get(["volumes", "r014-1"]).send()).unwrap_err();
            let part = format!("400 it is full, see {}. A quota", named.as_str().unwrap_or_default());
            assert_eq!(refused.why().contains(&part), is_told, "{refused:?}");
            assert!(refused.is_quota() && refused.why().contains("400 it is full"), "{refused:?}");
        }
    }
}
