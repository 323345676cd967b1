//! Moto's server, which stands for AWS: it checks signatures and policies, and has the state of EC2 and Elastic Load Balancing.
//!
//! `tests/moto/build.sh` installs it into `target/moto`, beside the official SDK.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::control_plane::install_crypto;
use crate::loopback::{Program, free_address, tls_folder};
use crate::operator::Folder;
use crate::wait;

/// The region of everything that is set up here.
pub const REGION: &str = "us-east-1";

/// What signs requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessKey {
    /// Its id: `AKIA…`.
    pub id: String,
    /// The secret.
    pub secret: String,
}

/// One call of the official SDK.
#[derive(Clone, Debug)]
pub struct Call {
    service: &'static str,
    operation: &'static str,
    parameters: Value,
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

/// What became of a call.
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

/// The server, on loopback over TLS. Every request has to be signed with a key that it knows, and allowed by the policy of the user
/// with this key.
pub struct Moto {
    // First: the program ends before its folder goes.
    _program: Program,
    address: String,
    folder: Folder,
    administrator: AccessKey,
}

impl Moto {
    /// Starts a server with one user, who may do everything.
    ///
    /// # Panics
    ///
    /// Panics if there is none to start, or it does not answer in time.
    pub async fn start() -> Self {
        let (folder, address) = (tls_folder(), free_address());
        let (host, port) = address.split_once(':').expect("an address has a port");
        let path = |name| folder.path(name).display().to_string();
        let arguments = ["-m", "moto.server", "--host", host, "--port", port].map(str::to_owned);
        let tls = ["--ssl-cert".to_owned(), path("cert.pem"), "--ssl-key".to_owned(), path("key.pem")];
        let arguments: Vec<_> = arguments.into_iter().chain(tls).collect();
        let program = Program::start(&python(), &arguments, &environment(), Some(&folder.path("moto.log")));
        // Signatures are not checked yet, so that any key does.
        let anyone = AccessKey { id: "AKIAEXAMPLE".to_owned(), secret: "none".to_owned() };
        let mut moto = Self { _program: program, address, folder, administrator: anyone };
        moto.answers().await;
        moto.administrator = moto.user("administrator", &["*"]).await;
        moto.require_signatures().await;
        moto
    }

    /// Where it is: `https://127.0.0.1:…`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The file with its certificate authority.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path("ca.pem")
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
    pub async fn user(&self, name: &str, actions: &[&str]) -> AccessKey {
        let policy = json!({
            "Version": "2012-10-17",
            "Statement": [{ "Effect": "Allow", "Action": actions, "Resource": "*" }],
        });
        let done = self
            .done([
                Call::new("iam", "create_user", json!({ "UserName": name })),
                Call::new(
                    "iam",
                    "put_user_policy",
                    json!({ "UserName": name, "PolicyName": "allowed", "PolicyDocument": policy.to_string() }),
                ),
                Call::new("iam", "create_access_key", json!({ "UserName": name })),
            ])
            .await;
        let key = &done[2]["AccessKey"];
        let field = |name: &str| key[name].as_str().unwrap_or_else(|| panic!("no {name} in {done:?}")).to_owned();
        AccessKey { id: field("AccessKeyId"), secret: field("SecretAccessKey") }
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
            .env("AWS_CA_BUNDLE", self.ca_file())
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
        let result = |it| match it {
            Outcome::Done(answer) => Ok(answer),
            Outcome::Refused(refused) => Err(refused),
        };
        outcomes.into_iter().map(result).collect()
    }

    /// Sends a form as it is, without a signature: the HTTP status.
    ///
    /// # Panics
    ///
    /// Panics if there is no answer.
    pub async fn unsigned(&self, form: &str) -> u16 {
        let request = self.client().post(self.base_url()).header("content-type", "application/x-www-form-urlencoded");
        request.body(form.to_owned()).send().await.expect("moto answers").status().as_u16()
    }

    /// Waits until the server answers.
    async fn answers(&self) {
        let (client, url) = (self.client(), self.api(""));
        let answered = wait::within(wait::DEADLINE, async || client.get(&url).send().await.ok()).await;
        assert!(answered.is_some(), "moto does not answer.\n{}", self.log_tail());
    }

    /// From now on every request is judged by its signature, and by the policy of its user.
    async fn require_signatures(&self) {
        let answer = self.client().post(self.api("reset-auth")).body("0").send().await.expect("moto answers");
        assert!(answer.status().is_success(), "{}: {}", answer.status(), self.log_tail());
    }

    /// A URL of what moto offers beside AWS's own APIs.
    fn api(&self, path: &str) -> String {
        format!("{}/moto-api/{path}", self.base_url())
    }

    fn client(&self) -> reqwest::Client {
        install_crypto();
        let authority = std::fs::read(self.ca_file()).expect("the authority is in its folder");
        let authority = reqwest::Certificate::from_pem(&authority).expect("it is a certificate");
        reqwest::Client::builder().tls_certs_only([authority]).no_proxy().build().expect("a client")
    }

    fn log_tail(&self) -> String {
        let log = std::fs::read(self.folder.path("moto.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(3_000)..]).into_owned()
    }
}

/// The Python of the virtual environment.
fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/moto/bin/python");
    assert!(python.is_file(), "there is no {}. Next step: make moto", python.display());
    python
}

/// What keeps whatever is configured on this machine away from the server and from the SDK.
fn environment() -> [(&'static str, &'static OsStr); 6] {
    let none = OsStr::new("/dev/null");
    [
        ("AWS_CONFIG_FILE", none),
        ("AWS_SHARED_CREDENTIALS_FILE", none),
        ("AWS_EC2_METADATA_DISABLED", OsStr::new("true")),
        ("NO_PROXY", OsStr::new("127.0.0.1")),
        ("no_proxy", OsStr::new("127.0.0.1")),
        ("PYTHONDONTWRITEBYTECODE", OsStr::new("1")),
    ]
}
