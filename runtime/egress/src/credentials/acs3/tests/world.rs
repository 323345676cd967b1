//! The world of the credential's tests: a folder, services of Alibaba Cloud, and an egress.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use budgets::WriteLimits;
use prometheus::Registry;

use super::super::super::sts::Sts;
use super::super::super::{CredentialError, Credentials};
use super::super::{Acs3Credential, Acs3Keys, Acs3Settings, RamArn, RamRoleTaken};
use crate::addresses::AllowedAddresses;
use crate::audit::CallId;
use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::content::RuleContent;
use crate::effect::Effect;
use crate::egress::Egress;
use crate::endpoint::{AcsVersion, Endpoint, RegionName, Rule, Signing};
use crate::error::EgressError;
use crate::metrics::Metrics;
use crate::operation::{OperationPattern, OperationPlace};
use crate::policy::Mode;
use crate::request::{Body, GuestRequest, GuestResponse, Method, SendError};
use crate::settings::EgressSettings;
use crate::testing::{Scripted, TestServer, request};

pub(super) const ROLE: &str = "acs:ram::1234567890123456:role/ccm";
pub(super) const PROVIDER: &str = "acs:ram::1234567890123456:oidc-provider/ack";
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// A folder of one test, which goes with it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("aerostat-acs3-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A key in files.
    pub(super) fn key(&self, id: &str) -> Acs3Keys {
        let id_file = self.write("id", &format!("{id}\n"));
        let secret_file = self.write("secret", &format!("secret-of-{id}\n"));
        Acs3Keys::Files { id_file, secret_file, token_file: None, expiration_file: None }
    }

    /// A session in files that ends at this time.
    pub(super) fn session(&self, id: &str, ends: SystemTime) -> Acs3Keys {
        let Acs3Keys::Files { id_file, secret_file, .. } = self.key(id) else { unreachable!("it was made here") };
        let token_file = Some(self.write("token", &format!("session-of-{id}")));
        Acs3Keys::Files { id_file, secret_file, token_file, expiration_file: Some(self.write("end", &time(ends))) }
    }

    pub(super) fn oidc(&self, token: &str) -> Acs3Keys {
        let token_file = self.write("oidc", token);
        let (role_arn, provider_arn) = (RamArn::parse_role(ROLE).unwrap(), RamArn::parse_provider(PROVIDER).unwrap());
        Acs3Keys::Oidc { role_arn, provider_arn, token_file }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn settings(keys: Acs3Keys, sts: Option<&TestServer>) -> Acs3Settings {
    Acs3Settings {
        region: RegionName::parse("cn-hangzhou").unwrap(),
        keys,
        assume_role: None,
        sts: Sts {
            base_url: sts.map(|it| BaseUrl::parse(&it.url).unwrap()),
            addresses: AllowedAddresses::Public,
            ca_file: None,
            proxy: None,
        },
    }
}

/// The same, with a role to take.
pub(super) fn with_role(settings: Acs3Settings) -> Acs3Settings {
    let role = RamRoleTaken { role_arn: RamArn::parse_role(ROLE).unwrap(), external_id: Some("ex:1+2".to_owned()) };
    Acs3Settings { assume_role: Some(role), ..settings }
}

pub(super) fn load(settings: Acs3Settings) -> Result<Arc<Acs3Credential>, CredentialError> {
    Acs3Credential::load("alibaba".to_owned(), settings, WriteLimits::default(), Arc::default()).map(Arc::new)
}

/// The endpoint `slb`: Describe* reads, Create* writes, Delete* deletes, and one operation has cookies.
pub(super) fn slb(base_url: &str) -> Endpoint {
    let rule = |operation: &str, effect| Rule {
        operations: vec![OperationPattern::parse(operation).unwrap()],
        effect: Some(effect),
        ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
    };
    let cookies = Rule {
        content: RuleContent::parse(Some(&["*", "Cookie"]), &[], &[]).unwrap(),
        ..rule("CreateLoadBalancerHTTPListener", Effect::Write)
    };
    let mut endpoint = Endpoint {
        credential: Some("alibaba".to_owned()),
        signing: Some(Signing::Acs3 { version: AcsVersion::parse("2014-05-15").unwrap() }),
        operation: Some(OperationPlace::Header("x-acs-action".to_owned())),
        parameters: vec![("RegionId".to_owned(), "cn-hangzhou".to_owned())],
        allow: vec![
            rule("Describe*", Effect::Read),
            rule("Create*", Effect::Write),
            rule("Delete*", Effect::Delete),
            cookies,
        ],
        ..Endpoint::new("slb", BaseUrl::parse(base_url).unwrap())
    };
    endpoint.limits.reuse = Duration::ZERO;
    endpoint
}

pub(super) fn try_egress(endpoint: Endpoint, credential: &Arc<Acs3Credential>) -> Result<Egress, EgressError> {
    let settings = EgressSettings {
        endpoints: vec![endpoint],
        credentials: Credentials::of(vec![credential.clone()]),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| cloud_provider::Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, Metrics::register(&Registry::new()).unwrap())
}

pub(super) fn egress(cloud: &TestServer, credential: &Arc<Acs3Credential>) -> Egress {
    try_egress(slb(&cloud.url), credential).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A request with this operation, its region in the query, and these further parts.
pub(super) fn asking(operation: &str, query: &[(&str, &str)], headers: &[(&str, &str)]) -> GuestRequest {
    let query = [&[("RegionId", "cn-hangzhou")], query].concat();
    let headers = [&[("x-acs-action", operation)], headers].concat();
    GuestRequest {
        endpoint: "slb".to_owned(),
        query: pairs(&query),
        headers: pairs(&headers),
        ..request(Method::Post, &[])
    }
}

/// The same with a form.
pub(super) fn with_form(request: GuestRequest, form: &[(&str, &str)]) -> GuestRequest {
    GuestRequest { body: Some(Body::Form(pairs(form))), ..request }
}

/// Sends a request in a call of its own, which may write.
pub(super) async fn send(egress: &Egress, request: GuestRequest) -> Result<GuestResponse, SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    egress.open(call, Mode::Write { deletes: 9 }).send(request).await
}

/// The status of the answer to a request with this operation, or why there is none.
pub(super) async fn status(egress: &Egress, operation: &str) -> Result<u16, SendError> {
    send(egress, asking(operation, &[], &[])).await.map(|it| it.status)
}

/// The reason for which a guest gets no answer.
pub(super) async fn told(egress: &Egress) -> String {
    match status(egress, "DescribeLoadBalancers").await {
        Err(SendError::Denied(text)) => text.strip_prefix("E-EGRESS-CREDENTIAL: ").unwrap_or(&text).to_owned(),
        Err(SendError::Unreachable(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The value of a header of a request that has arrived.
pub(super) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    request.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(": "))
}

/// The ids of the keys that signed what has arrived.
pub(super) fn signers(server: &TestServer) -> Vec<String> {
    let id = |request: &String| {
        let signed = request.split_once("Credential=").map(|(_, it)| it.split(',').next().unwrap_or_default());
        signed.unwrap_or("nobody").to_owned()
    };
    server.requests().iter().map(id).collect()
}

pub(super) fn ok() -> Scripted {
    ("200 OK", String::new(), "{}".to_owned())
}

/// A refusal as these APIs write it.
pub(super) fn refused(code: &str, head: &str) -> Scripted {
    let body = serde_json::json!({ "Code": code, "Message": "no", "RequestId": "1", "HostId": "x" }).to_string();
    ("400 Bad Request", head.to_owned(), body)
}

pub(super) fn time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).unwrap().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn given_keys(id: &str, ends: SystemTime) -> serde_json::Value {
    serde_json::json!({
        "AccessKeyId": id,
        "AccessKeySecret": format!("secret-of-{id}"),
        "SecurityToken": format!("session-of-{id}"),
        "Expiration": time(ends),
    })
}

/// A session as STS gives it.
pub(super) fn session(id: &str, role: &str, ends: SystemTime) -> Scripted {
    let user = serde_json::json!({ "Arn": format!("acs:ram::1:role/{role}/aerostat"), "AssumedRoleId": "3:aerostat" });
    let body = serde_json::json!({ "RequestId": "1", "AssumedRoleUser": user, "Credentials": given_keys(id, ends) });
    ("200 OK", String::new(), body.to_string())
}

/// An STS that gives the sessions STS.1, STS.2 and so on, each for an hour from now.
pub(super) async fn sts() -> TestServer {
    let (count, ends) = (AtomicU32::new(0), SystemTime::now() + HOUR);
    TestServer::script(move |_| session(&format!("STS.{}", count.fetch_add(1, SeqCst) + 1), "ccm", ends)).await
}

/// Keys as the metadata of a machine gives them.
pub(super) fn keys_of_machine(id: &str, ends: SystemTime) -> Scripted {
    let mut keys = given_keys(id, ends);
    keys["Code"] = "Success".into();
    keys["LastUpdated"] = time(SystemTime::now()).into();
    ("200 OK", String::new(), keys.to_string())
}
