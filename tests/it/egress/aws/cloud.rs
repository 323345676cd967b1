//! A server over TLS that checks signatures by the recipe of "Create a signed AWS API request" (AWS IAM User Guide), written
//! here from that page and without the library that signs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use egress::{
    AllowedAddresses, BaseUrl, Body, CallId, CredentialKind, CredentialSettings, Credentials, Effect, Egress,
    EgressSettings, Endpoint, GuestRequest, KeySource, Method, Mode, OperationPattern, OperationPlace, PathPattern,
    RegionName, Rule, SendError, Signing, Sigv4Settings, Sts, WriteLimits,
};
use sha2::{Digest as _, Sha256};
use tests::capture::{Capture, Request, Step};

use crate::setup::{Folder, any, route};

/// One of AWS's APIs, as its endpoint allows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    /// The endpoint's name.
    pub(super) name: &'static str,
    /// The service in the scope of a signature.
    service: &'static str,
    pub(super) version: &'static str,
    /// The version of another API.
    pub(super) other_version: &'static str,
    /// An operation that only reads.
    pub(super) reads: &'static str,
    /// An operation that deletes.
    pub(super) deletes: &'static str,
}

pub(super) const EC2: Api = Api {
    name: "ec2",
    service: "ec2",
    version: "2016-11-15",
    other_version: "2012-06-01",
    reads: "DescribeInstances",
    deletes: "TerminateInstances",
};
/// Classic Load Balancers. They share a host and names of operations with [`ELBV2`]: the version alone tells which are meant.
pub(super) const ELB: Api = Api {
    name: "elb",
    service: "elasticloadbalancing",
    version: "2012-06-01",
    other_version: "2015-12-01",
    reads: "DescribeLoadBalancers",
    deletes: "DeleteLoadBalancer",
};
/// Network Load Balancers.
pub(super) const ELBV2: Api = Api { name: "elbv2", version: "2015-12-01", other_version: "2012-06-01", ..ELB };

impl Api {
    /// A text about EC2, with the words of this API in the place of EC2's.
    pub(super) fn words(&self, text: &str) -> String {
        // The other version first: it may be the one of this API.
        let text = text.replace(EC2.other_version, self.other_version).replace(EC2.version, self.version);
        text.replace(EC2.reads, self.reads).replace(EC2.deletes, self.deletes)
    }

    /// A request to EC2, as one to this API.
    pub(super) fn request(&self, request: GuestRequest) -> GuestRequest {
        let words = |pairs: Vec<(String, String)>| -> Vec<_> {
            pairs.into_iter().map(|(name, value)| (name, self.words(&value))).collect()
        };
        GuestRequest {
            endpoint: if request.endpoint == EC2.name { self.name.to_owned() } else { request.endpoint },
            query: words(request.query),
            body: request.body.map(|body| match body {
                Body::Form(form) => Body::Form(words(form)),
                Body::Bytes(bytes) => Body::Bytes(self.words(&String::from_utf8(bytes).unwrap()).into_bytes()),
            }),
            ..request
        }
    }
}

pub(super) const KEY: &str = "AKIDEXAMPLE";
pub(super) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// Where everything that is signed right gets 200, and everything else 403 with the reason.
pub(super) async fn cloud() -> Capture {
    Capture::https(&["127.0.0.1"], |request| match check(request) {
        Ok(()) => Step::ok("<ok/>"),
        Err(because) => Step::answer("403 Forbidden", &[], &because),
    })
    .await
}

/// Whether the signature of a request is what its bytes have to have.
fn check(request: &Request) -> Result<(), String> {
    let (head, body) = request.text().split_once("\r\n\r\n").ok_or("no head")?;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: BTreeMap<String, &str> =
        lines.filter_map(|it| it.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value)).collect();
    let header = |name: &str| headers.get(name).copied().ok_or(format!("no header {name}"));
    let authorization = header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another scheme")?;
    let parts: BTreeMap<_, _> = authorization.split(", ").filter_map(|it| it.split_once('=')).collect();
    let part = |name: &str| parts.get(name).copied().ok_or(format!("no {name}"));
    let scope: Vec<_> = part("Credential")?.split('/').collect();
    let [key, day, region, service, "aws4_request"] = scope[..] else { return Err("no scope".to_owned()) };
    let date = header("x-amz-date")?;
    let is_of = |it: &Api| request.text().contains(&format!("Version={}", it.version));
    let api = [ELB, ELBV2].into_iter().find(is_of).unwrap_or(EC2);
    if key != KEY || !date.starts_with(day) || (region, service) != ("eu-west-1", api.service) {
        return Err(format!("a wrong scope: {scope:?}"));
    }

    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut query: Vec<_> = query.split('&').collect();
    query.sort_unstable();
    let names: Vec<_> = part("SignedHeaders")?.split(';').collect();
    for needed in ["host", "x-amz-date"] {
        if !names.contains(&needed) {
            return Err(format!("{needed} is not signed"));
        }
    }
    let signed: Result<String, String> =
        names.iter().map(|&name| Ok(format!("{name}:{}\n", words(header(name)?)))).collect();
    let canonical = format!(
        "{method}\n{}\n{}\n{}\n{}\n{}",
        encoded(path),
        query.join("&"),
        signed?,
        names.join(";"),
        hex::encode(Sha256::digest(body))
    );
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex::encode(Sha256::digest(canonical.as_bytes())));
    let key = scope.split('/').fold(format!("AWS4{SECRET}").into_bytes(), |key, it| hmac(&key, it.as_bytes()));
    let expected = hex::encode(hmac(&key, text.as_bytes()));
    if part("Signature")? == expected {
        Ok(())
    } else {
        Err(format!("the signature is of something else than\n{canonical}"))
    }
}

/// A header's value without spaces around it, and with one in the place of several.
fn words(value: &str) -> String {
    value.split(' ').filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A path as it was sent, encoded once more: all services but S3 want that.
fn encoded(path: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~/".contains(&it);
    path.bytes().map(|it| if is_plain(it) { char::from(it).to_string() } else { format!("%{it:02X}") }).collect()
}

/// HMAC-SHA256 (RFC 2104), for keys of at most a block.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64, "a longer key would have to be hashed first");
    let pad = |with: u8| -> Vec<u8> { (0..64_usize).map(|at| key.get(at).unwrap_or(&0) ^ with).collect() };
    let inner = Sha256::digest([pad(0x36), text.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

/// The credential `aws`, with the keys that the server knows.
pub(super) fn credentials(folder: &Folder) -> Credentials {
    let text = format!("[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n");
    let settings = Sigv4Settings {
        region: RegionName::parse("eu-west-1").unwrap(),
        keys: KeySource::SharedFile { file: folder.write("credentials", &text), profile: "default".to_owned() },
        assume_role: None,
        sts: Sts { base_url: None, addresses: AllowedAddresses::Public, ca_file: None, proxy: None },
    };
    let (name, kind) = ("aws".to_owned(), CredentialKind::Sigv4(Box::new(settings)));
    Credentials::load(vec![CredentialSettings { name, kind, limits: WriteLimits::default() }]).unwrap()
}

/// The endpoint `ec2`.
pub(super) fn ec2(base_url: &str) -> Endpoint {
    endpoint(&EC2, base_url)
}

/// The endpoint of an API, at which Describe* reads and one operation deletes, in one version of the API.
pub(super) fn endpoint(api: &Api, base_url: &str) -> Endpoint {
    let rule = |operation: &str, effect| Rule {
        operations: vec![OperationPattern::parse(operation).unwrap()],
        effect: Some(effect),
        ..Rule::new([Method::Get, Method::Post], [PathPattern::parse("/").unwrap()])
    };
    Endpoint {
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        parameters: vec![("Version".to_owned(), api.version.to_owned())],
        allow: vec![rule("Describe*", Effect::Read), rule(api.deletes, Effect::Delete)],
        ..signed(api, base_url)
    }
}

/// An endpoint whose requests are signed, and nothing is allowed yet.
pub(super) fn signed(api: &Api, base_url: &str) -> Endpoint {
    let signing = Signing::Sigv4 { region: RegionName::parse("eu-west-1").unwrap(), service: api.service.to_owned() };
    let mut endpoint = Endpoint {
        credential: Some("aws".to_owned()),
        signing: Some(signing),
        ..Endpoint::new(api.name, BaseUrl::parse(base_url).unwrap())
    };
    endpoint.limits.reuse = Duration::ZERO;
    endpoint.limits.requests_per_second = 10_000.0;
    endpoint
}

pub(super) fn egress(endpoints: Vec<Endpoint>, credentials: Credentials) -> Egress {
    let settings = EgressSettings {
        endpoints,
        credentials,
        fence: Arc::new(|| true),
        demands: any(),
        reports: Arc::new(|_| ()),
        route,
    };
    let metrics = egress::Metrics::register(&prometheus::Registry::new()).unwrap();
    Egress::new(settings, metrics).unwrap_or_else(|error| panic!("{error}"))
}

/// A request to `ec2`.
pub(super) fn request(method: Method) -> GuestRequest {
    let endpoint = "ec2".to_owned();
    GuestRequest { endpoint, method, path: Vec::new(), query: Vec::new(), headers: Vec::new(), body: None }
}

pub(super) fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Status and body of the answer to a request in a call of its own.
pub(super) async fn send(egress: &Egress, mode: Mode, request: GuestRequest) -> Result<(u16, String), SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    let answer = egress.open(call, mode).send(request).await?;
    Ok((answer.status, String::from_utf8(answer.body).unwrap()))
}
