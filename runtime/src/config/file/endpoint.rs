//! `endpoints`: where requests go, and the rules for them, key by key.

use std::collections::BTreeMap;
use std::time::Duration;

use egress::{
    AcsVersion, BaseUrl, CatalogPath, Effect, Method, OperationPattern, PathPattern, RegionName, Requirement,
};
use serde::Deserialize;

use super::reach::{MutualTlsSection, ProxySection};
use crate::config::text::{
    AddressList, ByteSize, PositiveNumber, RequestRate, ScalarText, SigningService, WrittenOrigin,
};

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EndpointSection {
    /// The name by which the provider asks for it; its page lists them.
    pub(crate) name: String,
    /// `https://` and a host, with a path where the API has one. Default: none, where there is a `catalog`.
    pub(crate) base_url: Option<ScalarText<BaseUrl>>,
    /// The service in the catalogue of a `keystone` credential that says where the endpoint is, in the place of
    /// `baseUrl` ([below](#openstacks-keystone)). Default: none.
    pub(crate) catalog: Option<CatalogSection>,
    /// The only origins that the catalogue may lead to, as in `[https://nova.example.com:8774]`. One with `http://`
    /// is written `{ url: http://…, insecure: true }`: then the token goes over the network in clear text. Default:
    /// none.
    #[serde(default)]
    pub(crate) origins: Vec<WrittenOrigin>,
    /// The name of the credential that its requests get. Default: none.
    pub(crate) credential: Option<String>,
    /// For what signatures are, where the credential is `sigv4` or `acs3`. Default: none.
    pub(crate) signing: Option<SigningSection>,
    /// Where a request says what it does, for APIs with one path for everything: `{ parameter: Action }` or `{
    /// header: x-acs-action }`. Then each rule names `operations` and its `effect`, each request says its operation
    /// once and there, and its body is a form. Default: the method and the path say it.
    pub(crate) operation: Option<Operation>,
    /// Parameters that each request carries once in its query or form, as in `{ Version: 2016-11-15 }`. As text,
    /// however it is written: `1.10` stays `1.10`. Default: none.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "crate::config::schema::scalars"))]
    pub(crate) parameters: BTreeMap<String, String>,
    /// The rules: a request that matches none does not leave.
    pub(crate) allow: Vec<RuleSection>,
    /// `public`, or a list of networks for a private cloud. Default: `public`.
    pub(crate) addresses: Option<AddressList>,
    /// Certificates: whom to trust, and what is shown. Default: the system's authorities, and none.
    pub(crate) tls: Option<MutualTlsSection>,
    /// The proxy through which it is reached ([below](#through-a-proxy)). Default: none.
    pub(crate) proxy: Option<ProxySection>,
    /// Headers that the provider may send beside those that it may send everywhere, as in `[x-tenant]`. Default: none.
    #[serde(default)]
    pub(crate) headers: Vec<String>,
    /// Limits of its requests.
    pub(crate) limits: Option<EndpointLimitsSection>,
}

/// A service in a catalogue.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogSection {
    /// The type of the service, as in `compute`, `network`, `load-balancer`, `key-manager`.
    #[serde(rename = "type")]
    pub(crate) service: String,
    /// The interface: `public`, `internal` or `admin`. Default: `public`.
    pub(crate) interface: Option<String>,
    /// The region; letter case counts. Default: the only one that the service has.
    pub(crate) region: Option<String>,
    /// The path that stands in the place of the version in the catalogue's URL, and of all that follows it: `/v2.1`,
    /// or `/` for the service's root. Default: the URL as it is.
    pub(crate) path: Option<ScalarText<CatalogPath>>,
}

/// For what a signature is.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SigningSection {
    /// With `sigv4`: the region, as in `eu-west-1`. Default: none.
    pub(crate) region: Option<ScalarText<RegionName>>,
    /// With `sigv4`: the service as signatures name it, `ec2` or `elasticloadbalancing`. Default: none.
    pub(crate) service: Option<ScalarText<SigningService>>,
    /// With `acs3`, and alone: the version of the product's API, as in `2014-05-26`. Default: none.
    pub(crate) version: Option<ScalarText<AcsVersion>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleSection {
    /// Methods, as in `[GET]`.
    pub(crate) methods: Vec<ScalarText<Method>>,
    /// Paths below `baseUrl`: `*` is one segment, `**` any number.
    pub(crate) paths: Vec<ScalarText<PathPattern>>,
    /// Operations, as in `[Describe*]`, where the endpoint has them.
    #[serde(default)]
    pub(crate) operations: Vec<ScalarText<OperationPattern>>,
    /// Effect of its requests: `read`; `update` (changes an object that stays, or gives it members); `detach`
    /// (takes members away, or may: targets, listeners, rules, routes, tags); `write` (makes whole objects: load
    /// balancers, machines); `delete` (takes whole objects away). Only what reads leaves from calls that look, only
    /// the leader writes, and each of the others has a limit. Of several rules that match, the most harmful effect
    /// counts. Default: GET and HEAD read, DELETE is `delete`, the others are `write`: the strictest limits.
    pub(crate) effect: Option<ScalarText<Effect>>,
    /// `[if-match]`: a request names the version that it read, or says that there must be none (`if-none-match: *`).
    /// Default: nothing.
    #[serde(default)]
    pub(crate) requires: Vec<ScalarText<Requirement>>,
    /// Names that may stand in query and form ([below](#what-may-stand-in-requests)). Default: any.
    pub(crate) only: Option<Vec<String>>,
    /// Names in query and form, and patterns for their values ([below](#what-may-stand-in-requests)). Default: any.
    #[serde(rename = "where")]
    pub(crate) values: Option<BTreeMap<String, Vec<String>>>,
    /// Members of a JSON body ([below](#what-may-stand-in-requests)). Default: any.
    pub(crate) fields: Option<Vec<String>>,
    /// Members of a JSON body, and the texts of which each is one ([below](#what-may-stand-in-requests)): tells apart
    /// requests with one path. Default: any.
    pub(crate) body: Option<BTreeMap<String, Vec<String>>>,
}

/// Where a request says what it does.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) enum Operation {
    Parameter(String),
    Header(String),
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EndpointLimitsSection {
    /// Requests in a second. Default: 20.
    pub(crate) requests_per_second: Option<ScalarText<RequestRate>>,
    /// Requests at once. Default: 8.
    pub(crate) concurrency: Option<ScalarText<PositiveNumber>>,
    /// Bytes of an answer. Default: `16Mi`.
    pub(crate) response_bytes: Option<ScalarText<ByteSize>>,
    /// Time of a request until its answer is there in full. Default: `30s`.
    pub(crate) total: Option<ScalarText<Duration>>,
}
