//! Moto's server, which stands for AWS: it checks signatures and policies, and has the state of EC2 and Elastic Load Balancing.
//!
//! `make moto` installs it into `target/moto`, beside the official SDK. `tests/moto/server.py` starts it with what AWS does and
//! moto does not. What stands before it is [`crate::clouds::aws`].

mod line;
mod python;
mod server;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::sleep;

use crate::folder::Folder;
use crate::loopback::free_address;
use crate::wait;

use self::line::Line;
pub(crate) use self::line::Said;
use self::python::{environment, python};
use self::server::Server;

/// The region of everything that is set up here.
pub const REGION: &str = "us-east-1";

/// The key that signs requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessKey {
    /// Its id: `AKIA…`.
    pub id: String,
    /// The secret.
    pub secret: String,
}

impl AccessKey {
    /// The file that holds it, as the tools of AWS write it.
    #[must_use]
    pub fn shared_file(&self) -> String {
        let Self { id, secret } = self;
        format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n")
    }
}

/// One call of the official SDK.
#[derive(Clone, Debug)]
pub struct Call {
    /// `ec2`.
    pub service: &'static str,
    /// `describe_instances`.
    pub operation: &'static str,
    /// An object.
    pub parameters: Value,
}

/// Why AWS refused a call.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Refused {
    /// AWS's own word for it: `AuthFailure`.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The HTTP status.
    pub status: u16,
}

/// The outcome of a call.
#[derive(Debug, Deserialize)]
enum Outcome {
    #[serde(rename = "ok")]
    Done(Value),
    #[serde(rename = "error")]
    Refused(Refused),
}

impl Call {
    /// A call of `service` in the SDK's words: `ec2`, `describe_instances`, and its parameters as an object.
    #[must_use]
    pub fn new(service: &'static str, operation: &'static str, parameters: Value) -> Self {
        Self { service, operation, parameters }
    }
}

/// The server, on loopback, without TLS: the tests' proxy stands before it. Every request has to be signed with a key that it knows, and
/// allowed by the policy of the user with this key.
pub struct Moto {
    // First: the server ends before its folder goes.
    _server: Server,
    line: Line,
    folder: Folder,
    administrator: AccessKey,
}

impl Moto {
    /// Starts a server with one user, who may do everything, and with one VPC, which has the tag of the cluster `prod`.
    ///
    /// # Panics
    ///
    /// Panics if there is none to start, or it does not answer in time.
    pub async fn start() -> Self {
        let (folder, address) = (Folder::new(), free_address());
        let (host, port) = address.split_once(':').expect("an address has a port");
        let server = Server::start(host, port, &folder.path("moto.log"));
        // Nobody asks with this key: an order needs none.
        let nobody = AccessKey { id: String::new(), secret: String::new() };
        let mut moto = Self { _server: server, line: Line::new(&address), folder, administrator: nobody };
        moto.answers().await;
        moto.administrator = moto.user("administrator", &["*"]);
        moto.order("requireSignatures", &json!({}));
        moto
    }

    /// Where it is: `http://127.0.0.1:…`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.line.address())
    }

    /// The key of the user who may do everything.
    #[must_use]
    pub fn administrator(&self) -> &AccessKey {
        &self.administrator
    }

    /// Makes a user who may do these actions, such as `ec2:DescribeInstances`, and no others.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses.
    #[must_use]
    pub fn user(&self, name: &str, actions: &[&str]) -> AccessKey {
        let key = self.order("user", &json!({ "name": name, "actions": actions }));
        let field = |name: &str| key[name].as_str().expect("a key has an id and a secret").to_owned();
        AccessKey { id: field("id"), secret: field("secret") }
    }

    /// Has one of the orders of `tests/moto/aws/control.py` carried out, with these arguments. It is done when this returns.
    ///
    /// # Panics
    ///
    /// Panics if the server does not know it, or fails.
    #[expect(clippy::must_use_candidate, reason = "most orders are given for what they do")]
    pub fn order(&self, name: &str, arguments: &Value) -> Value {
        let (path, body) = (format!("/counterpart/{name}"), arguments.to_string().into_bytes());
        let said = self.line.send(Method::POST, &path, HeaderMap::new(), body);
        let said = said.unwrap_or_else(|error| panic!("{name}: {error:#}\n{}", self.log_tail()));
        let text = String::from_utf8_lossy(&said.body);
        assert!(said.status.is_success(), "{name} {arguments}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{name}: {text}"))
    }

    /// Passes a request on as it is.
    pub(crate) fn pass(&self, method: Method, target: &str, headers: HeaderMap, body: Vec<u8>) -> anyhow::Result<Said> {
        self.line.send(method, target, headers, body)
    }

    /// The program `aws` of an administrator, as a script: as much of AWS's command line as pages type.
    #[must_use]
    pub fn command_line(&self) -> String {
        let mut script = "#!/bin/sh\n".to_owned();
        let own = [
            ("AWS_ENDPOINT_URL", self.base_url()),
            ("AWS_ACCESS_KEY_ID", self.administrator.id.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.administrator.secret.clone()),
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ];
        let isolated = environment().map(|(name, value)| (name, value.to_string_lossy().into_owned()));
        for (name, value) in isolated.into_iter().chain(own) {
            script.push_str(&format!("export {name}='{value}'\n"));
        }
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("moto/cli.py");
        script + &format!("exec '{}' '{}' \"$@\"\n", python().display(), program.display())
    }

    /// Calls with the administrator's key, one after the other: the answers.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses one.
    pub async fn done(&self, calls: impl IntoIterator<Item = Call>) -> Vec<Value> {
        let done = self.call(&self.administrator, calls).await;
        done.into_iter().map(|it| it.unwrap_or_else(|refused| panic!("{refused:?}\n{}", self.log_tail()))).collect()
    }

    /// Calls with this key, one after the other. The official SDK signs them, and checks them and the answers against AWS's
    /// description.
    ///
    /// # Panics
    ///
    /// Panics if the SDK refuses a call, or cannot read an answer.
    pub async fn call(&self, key: &AccessKey, calls: impl IntoIterator<Item = Call>) -> Vec<Result<Value, Refused>> {
        let calls: Vec<_> = calls
            .into_iter()
            .map(|it| json!({ "service": it.service, "operation": it.operation, "parameters": it.parameters }))
            .collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("moto/call.py");
        let mut sdk = Command::new(python())
            .arg(script)
            .envs(environment())
            .env("AWS_ENDPOINT_URL", self.base_url())
            .env("AWS_ACCESS_KEY_ID", &key.id)
            .env("AWS_SECRET_ACCESS_KEY", &key.secret)
            .env("AWS_DEFAULT_REGION", REGION)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Python starts");
        let mut input = sdk.stdin.take().expect("standard input is piped");
        input.write_all(json!(calls).to_string().as_bytes()).await.expect("the SDK reads");
        drop(input);
        let output = sdk.wait_with_output().await.expect("the SDK ends");
        let complaint = || format!("{}\n{}", String::from_utf8_lossy(&output.stderr), self.log_tail());
        assert!(output.status.success(), "{}", complaint());
        let outcomes: Vec<Outcome> =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", complaint()));
        let result = |outcome| match outcome {
            Outcome::Done(answer) => Ok(answer),
            Outcome::Refused(refused) => Err(refused),
        };
        outcomes.into_iter().map(result).collect()
    }

    /// Waits until the server answers.
    async fn answers(&self) {
        let until = Instant::now() + wait::DEADLINE;
        while let Err(error) = self.line.send(Method::POST, "/counterpart/state", HeaderMap::new(), b"{}".to_vec()) {
            assert!(Instant::now() < until, "moto does not answer: {error:#}\n{}", self.log_tail());
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn log_tail(&self) -> String {
        let log = std::fs::read(self.folder.path("moto.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(3_000)..]).into_owned()
    }
}
