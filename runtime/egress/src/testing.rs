//! What the unit tests of the gate share.

use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::endpoint::{Addresses, Endpoint, EndpointLimits, Rule};
use crate::request::{GuestRequest, Method};

/// The endpoint `api`: GET everywhere, POST and DELETE under `/v2/load_balancers`.
pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    let rule =
        |methods: &[Method], path| Rule { methods: methods.to_vec(), paths: vec![PathPattern::parse(path).unwrap()] };
    Endpoint {
        name: "api".to_owned(),
        base_url: BaseUrl::parse(base_url).unwrap(),
        credential: None,
        allow: vec![rule(&[Method::Get], "/v2/**"), rule(&[Method::Post, Method::Delete], "/v2/load_balancers/**")],
        addresses: Addresses::Public,
        ca_file: None,
        headers: vec!["x-extra".to_owned()],
        limits: EndpointLimits::default(),
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
