//! A policy of Alibaba Cloud's RAM: `aliyun ram CreatePolicy --PolicyName NAME --PolicyDocument "$(cat FILE)"`.

use std::collections::BTreeSet;

use cloud_provider::{Description, Endpoint};
use serde_json::{Value, json};

/// The products whose APIs are asked, with the version of each: the host signs for it.
const PRODUCTS: [(&str, &str); 4] =
    [("ecs", "2014-05-26"), ("nlb", "2022-04-30"), ("slb", "2014-05-15"), ("vpc", "2016-04-28")];

/// An endpoint of Alibaba Cloud.
pub(super) struct AlibabaEndpoint<'a> {
    pub(super) version: &'static str,
    pub(super) region: &'a str,
}

/// The version and the region of an endpoint of Alibaba Cloud: `https://ecs.cn-hangzhou.aliyuncs.com`.
pub(super) fn alibaba(endpoint: &Endpoint) -> Option<AlibabaEndpoint<'_>> {
    let host = endpoint.example_base_url.strip_prefix("https://")?.split(['/', ':']).next()?;
    let (product, region) = host.strip_suffix(".aliyuncs.com")?.split_once('.')?;
    let (_, version) = PRODUCTS.iter().find(|(known, _)| *known == product)?;
    Some(AlibabaEndpoint { version, region })
}

/// A policy that allows the actions of all requests.
pub(super) fn of(description: &Description) -> Value {
    let rules = description.endpoints.iter().flat_map(|it| &it.allow);
    let actions: BTreeSet<&String> = rules.flat_map(|it| &it.actions).collect();
    json!({ "Version": "1", "Statement": [{ "Effect": "Allow", "Action": actions, "Resource": "*" }] })
}

/// The file.
pub(super) fn text(policy: &Value) -> String {
    let mut text = serde_json::to_string_pretty(policy).expect("texts become JSON");
    text.push('\n');
    text
}
