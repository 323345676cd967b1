//! The world of the credential's tests: a folder, services of AWS, and an egress.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use budgets::WriteLimits;
use prometheus::Registry;

use super::super::super::kind::{AssumeRole, KeySource, RoleArn, Sigv4Settings};
use super::super::super::sts::Sts;
use super::super::super::{CredentialError, Credentials};
use super::super::Sigv4Credential;
use crate::addresses::AllowedAddresses;
use crate::audit::CallId;
use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::effect::Effect;
use crate::egress::Egress;
use crate::endpoint::{Endpoint, RegionName, Rule, Signing};
use crate::error::EgressError;
use crate::key_service::KeyServiceUrl;
use crate::metrics::Metrics;
use crate::operation::{OperationPattern, OperationPlace};
use crate::policy::Mode;
use crate::request::{Body, GuestRequest, GuestResponse, Method, SendError};
use crate::settings::EgressSettings;
use crate::testing::{Scripted, TestServer, request};

pub(super) const ROLE: &str = "arn:aws:iam::123456789012:role/ccm";
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// A folder of one test, which goes with it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("aerostat-sigv4-{}-{}", std::process::id(), COUNT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A shared credentials file with these lines in its profile `default`.
    pub(super) fn shared(&self, id: &str, rest: &str) -> KeySource {
        let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = secret-of-{id}\n{rest}\n");
        KeySource::SharedFile { file: self.write("credentials", &text), profile: "default".to_owned() }
    }

    pub(super) fn web_identity(&self, token: &str) -> KeySource {
        let token_file = self.write("token", token);
        KeySource::WebIdentity { role_arn: RoleArn::parse(ROLE).unwrap(), token_file }
    }

    pub(super) fn pod_identity(&self, token: &str, server: &TestServer) -> KeySource {
        let url = KeyServiceUrl::parse(&format!("{}/v1/credentials", server.url)).unwrap();
        KeySource::PodIdentity { url, token_file: self.write("token", token) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn settings(keys: KeySource, sts: Option<&TestServer>) -> Sigv4Settings {
    Sigv4Settings {
        region: RegionName::parse("eu-west-1").unwrap(),
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
pub(super) fn with_role(settings: Sigv4Settings) -> Sigv4Settings {
    let assume_role = AssumeRole {
        role_arn: RoleArn::parse(ROLE).unwrap(),
        external_id: Some("ex:1+2".to_owned()),
        source_arn: Some("arn:aws:eks:eu-west-1:123456789012:cluster/a".to_owned()),
        source_account: Some("012345678901".to_owned()),
    };
    Sigv4Settings { assume_role: Some(assume_role), ..settings }
}

pub(super) fn load(settings: Sigv4Settings) -> Result<Arc<Sigv4Credential>, CredentialError> {
    let load = Sigv4Credential::load("aws".to_owned(), settings, WriteLimits::default(), Arc::default());
    load.map(Arc::new)
}

/// The endpoint `ec2`, where Describe* reads, Create* writes and Delete* deletes.
pub(super) fn ec2(base_url: &str) -> Endpoint {
    let rule = |operation: &str, effect| Rule {
        operations: vec![OperationPattern::parse(operation).unwrap()],
        effect: Some(effect),
        ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
    };
    let mut endpoint = Endpoint {
        credential: Some("aws".to_owned()),
        signing: Some(Signing::Sigv4 { region: RegionName::parse("eu-west-1").unwrap(), service: "ec2".to_owned() }),
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        parameters: vec![("Version".to_owned(), "2016-11-15".to_owned())],
        allow: vec![rule("Describe*", Effect::Read), rule("Create*", Effect::Write), rule("Delete*", Effect::Delete)],
        ..Endpoint::new("ec2", BaseUrl::parse(base_url).unwrap())
    };
    endpoint.limits.reuse = Duration::ZERO;
    endpoint
}

pub(super) fn try_egress(endpoint: Endpoint, credential: &Arc<Sigv4Credential>) -> Result<Egress, EgressError> {
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

pub(super) fn egress(cloud: &TestServer, credential: &Arc<Sigv4Credential>) -> Egress {
    try_egress(ec2(&cloud.url), credential).unwrap_or_else(|error| panic!("{error}"))
}

/// Sends a request with this operation in a call of its own, which may write.
pub(super) async fn send(egress: &Egress, operation: &str) -> Result<GuestResponse, SendError> {
    let pairs = [("Action", operation), ("Version", "2016-11-15")];
    let form = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let request =
        GuestRequest { endpoint: "ec2".to_owned(), body: Some(Body::Form(form)), ..request(Method::Post, &[]) };
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    egress.open(call, Mode::Write { deletes: 9 }).send(request).await
}

/// The status of an answer, or why there is none.
pub(super) async fn status(egress: &Egress, operation: &str) -> Result<u16, SendError> {
    send(egress, operation).await.map(|it| it.status)
}

/// The error for a guest to whom nobody gives keys until a person has done something.
pub(super) async fn denied(egress: &Egress) -> String {
    match send(egress, "DescribeInstances").await {
        Err(SendError::Denied(text)) => text.strip_prefix("E-EGRESS-CREDENTIAL: ").unwrap_or(&text).to_owned(),
        other => panic!("{other:?}"),
    }
}

/// The error for a guest for whom there are no keys now.
pub(super) async fn unreachable(egress: &Egress) -> String {
    match send(egress, "DescribeInstances").await {
        Err(SendError::Unreachable(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The ids of the keys that signed what has arrived.
pub(super) fn signers(server: &TestServer) -> Vec<String> {
    let id = |request: &String| {
        let signed = request.split_once("Credential=").map(|(_, it)| it.split('/').next().unwrap_or_default());
        signed.unwrap_or("nobody").to_owned()
    };
    server.requests().iter().map(id).collect()
}

pub(super) fn ok() -> Scripted {
    ("200 OK", String::new(), String::new())
}

/// A refusal as EC2 writes it.
pub(super) fn refused(code: &str, head: &str) -> Scripted {
    let body = format!("<Response><Errors><Error><Code>{code}</Code><Message>no</Message></Error></Errors></Response>");
    ("400 Bad Request", head.to_owned(), body)
}

pub(super) fn time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).unwrap().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A session as STS gives it.
pub(super) fn session(id: &str, role: &str, ends: SystemTime) -> Scripted {
    let body = format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><AssumedRoleUser><Arn>\
         arn:aws:sts::123456789012:assumed-role/{role}/aerostat</Arn></AssumedRoleUser><Credentials><AccessKeyId>{id}\
         </AccessKeyId><SecretAccessKey>secret-of-{id}</SecretAccessKey><SessionToken>session-of-{id}</SessionToken>\
         <Expiration>{}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>",
        time(ends)
    );
    ("200 OK", String::new(), body)
}

/// An STS that gives the sessions ASIA1, ASIA2 and so on, each for an hour from now.
pub(super) async fn sts() -> TestServer {
    let (count, ends) = (AtomicU32::new(0), SystemTime::now() + HOUR);
    TestServer::script(move |_| session(&format!("ASIA{}", count.fetch_add(1, SeqCst) + 1), "ccm", ends)).await
}

/// Keys as the services for machines and pods give them.
pub(super) fn keys(id: &str, ends: SystemTime, more: &str) -> Scripted {
    let body = format!(
        "{{\"Code\": \"Success\", \"AccessKeyId\": \"{id}\", \"SecretAccessKey\": \"secret-of-{id}\", \"Token\": \
         \"session-of-{id}\", \"Expiration\": \"{}\"{more}}}",
        time(ends)
    );
    ("200 OK", String::new(), body)
}
