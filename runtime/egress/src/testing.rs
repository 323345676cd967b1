//! What the unit tests of the gate share.

use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, Rule};
use crate::request::{GuestRequest, Method};

/// The endpoint `api`: GET everywhere, POST and DELETE under `/v2/load_balancers`.
pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    let rule = |methods: &[Method], path| Rule::new(methods, [PathPattern::parse(path).unwrap()]);
    Endpoint {
        allow: vec![rule(&[Method::Get], "/v2/**"), rule(&[Method::Post, Method::Delete], "/v2/load_balancers/**")],
        headers: vec!["x-extra".to_owned()],
        ..Endpoint::new("api", BaseUrl::parse(base_url).unwrap())
    }
}

/// A plain request to the endpoint `api`.
pub(crate) fn request(method: Method, path: &[&str]) -> GuestRequest {
    GuestRequest {
        endpoint: "api".to_owned(),
        method,
        path: path.iter().map(|&it| it.to_owned()).collect(),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
    }
}
