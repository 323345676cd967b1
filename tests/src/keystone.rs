//! A real Keystone, OpenStack's identity service, on loopback without TLS.
//!
//! `make keystone` installs it into `target/keystone`, with a database that each one started here copies.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::control_plane::install_crypto;
use crate::folder::Folder;
use crate::loopback::{Program, free_address};
use crate::operator::PATIENCE;
use crate::wait;

/// The region of what is published here where a test names no other.
pub const REGION: &str = "RegionOne";
/// The password of the administrator, as `prepare.sh` has set it.
const ADMINISTRATOR: &str = "administrator";
/// The most bytes of its log in a message.
const TAIL: usize = 3_000;

/// A running Keystone. Dropping it ends it.
pub struct Keystone {
    // First: the program ends before its folder goes.
    _program: Program,
    folder: Folder,
    address: String,
    client: reqwest::Client,
    /// The administrator's token.
    token: String,
}

/// An application credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApplicationCredential {
    /// The id that Keystone gave it.
    pub id: String,
    /// The secret, which is told once.
    pub secret: String,
}

impl ApplicationCredential {
    fn of(made: &Value) -> Self {
        let made = &made["application_credential"];
        Self { id: id(made), secret: text(&made["secret"]) }
    }
}

impl Keystone {
    /// Starts one with an administrator, a domain `Default`, and an empty catalogue.
    ///
    /// # Panics
    ///
    /// Panics if `make keystone` has not been made, or it does not answer in time.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// The same, with `config` at the end of its configuration: `[token]\nexpiration = 60`.
    ///
    /// # Panics
    ///
    /// As [`Keystone::start`].
    pub async fn start_with(config: &str) -> Self {
        install_crypto();
        let (folder, address) = (Folder::new(), free_address());
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("keystone");
        copy(&installed().join("empty"), &folder.path(""));
        let written = fs::read_to_string(sources.join("keystone.conf")).expect("its configuration");
        let written = written.replace("FOLDER", folder.path("").to_str().expect("a folder under target/"));
        let written = folder.write("keystone.conf", format!("{written}\n{config}\n"));
        let chdir = sources.display().to_string();
        let access = folder.path("access.log").display().to_string();
        let arguments = [
            ["-m", "gunicorn"],
            ["--bind", &address],
            ["--chdir", &chdir],
            // It keeps the token of a request in one place for all: with more threads, one is answered by the rights of another.
            ["--worker-class", "gthread"],
            ["--threads", "1"],
            ["--graceful-timeout", "1"],
            ["--access-logfile", &access],
            ["--access-logformat", "%(m)s %(U)s %(s)s"],
        ];
        let arguments: Vec<_> =
            arguments.into_iter().flatten().chain(["server:application"]).map(str::to_owned).collect();
        let environment = [
            ("OS_KEYSTONE_CONFIG_FILES", written.as_os_str()),
            ("PYTHONDONTWRITEBYTECODE", OsStr::new("1")),
            ("PYTHONWARNINGS", OsStr::new("ignore")),
        ];
        let log = folder.path("keystone.log");
        let program = Program::start(&python(), &arguments, &environment, Some(&log));
        // Tests that share one have a runtime each, with which its connections would end.
        let client = reqwest::Client::builder().no_proxy().timeout(wait::DEADLINE).pool_max_idle_per_host(0);
        let client = client.build().expect("a client");
        let mut keystone = Self { _program: program, folder, address, client, token: String::new() };
        keystone.answers().await;
        keystone.token = keystone.administrator().await;
        keystone
    }

    /// Where it is: `http://127.0.0.1:…/v3`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v3", self.address)
    }

    /// Makes a project in the domain `Default`: its id.
    pub async fn project(&self, name: &str) -> String {
        let project = json!({ "project": { "name": name, "domain_id": "default" } });
        id(&self.done(Method::POST, "/projects", project).await["project"])
    }

    /// Makes a user in the domain `Default`, who is a member of these projects: its id.
    pub async fn user(&self, name: &str, password: &str, projects: &[&str]) -> String {
        let user = json!({ "user": { "name": name, "password": password, "domain_id": "default" } });
        let user = id(&self.done(Method::POST, "/users", user).await["user"]);
        let roles = self.done(Method::GET, "/roles?name=member", Value::Null).await;
        let role = id(&roles["roles"][0]);
        for project in projects {
            let path = format!("/projects/{project}/users/{user}/roles/{role}");
            self.done(Method::PUT, &path, Value::Null).await;
        }
        user
    }

    /// Changes a user: `{ "enabled": false }`, `{ "password": "…" }`.
    pub async fn change_user(&self, user: &str, change: Value) {
        self.done(Method::PATCH, &format!("/users/{user}"), json!({ "user": change })).await;
    }

    /// Makes an application credential of a user in a project. `change` adds to it: `{ "expires_at": "…" }`.
    pub async fn application_credential(
        &self,
        user: &str,
        password: &str,
        project: &str,
        change: Value,
    ) -> ApplicationCredential {
        let token = self.token_of(user, password, project).await;
        let path = format!("/users/{user}/application_credentials");
        let made = self.done_as(&token, Method::POST, &path, new_credential(change)).await;
        ApplicationCredential::of(&made)
    }

    /// Makes an application credential that has ended. Keystone takes none that ends before it answers: each further try gives it twice the
    /// time.
    ///
    /// # Panics
    ///
    /// Panics if Keystone takes none that lives for a minute.
    pub async fn ended_application_credential(
        &self,
        user: &str,
        password: &str,
        project: &str,
    ) -> ApplicationCredential {
        let token = self.token_of(user, password, project).await;
        let path = format!("/users/{user}/application_credentials");
        let lives = std::iter::successors(Some(2), |it| Some(it * 2)).take_while(|it| *it <= 64);
        for life in lives {
            let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(life);
            let wanted = new_credential(json!({ "expires_at": end.strftime("%Y-%m-%dT%H:%M:%S").to_string() }));
            let (status, text) = self.sent_as(&token, Method::POST, &path, wanted).await;
            if status.is_success() {
                let (end, life) = (SystemTime::from(end), Duration::from_secs(2 * life.unsigned_abs()));
                let ended = wait::within(life, async || (SystemTime::now() > end).then_some(())).await;
                ended.expect("a clock that goes on");
                return ApplicationCredential::of(&serde_json::from_str(&text).expect("a credential"));
            }
            assert!(text.contains("must not be before now"), "{status} {text}");
        }
        panic!("Keystone takes no application credential that ends in a minute");
    }

    /// Makes a trust by which `trustee` acts for the user `trustor` in a project: its id.
    pub async fn trust(&self, trustor: &str, password: &str, project: &str, trustee: &str) -> String {
        let token = self.token_of(trustor, password, project).await;
        let trust = json!({ "trust": {
            "trustor_user_id": trustor, "trustee_user_id": trustee, "project_id": project,
            "impersonation": true, "roles": [{ "name": "member" }],
        } });
        id(&self.done_as(&token, Method::POST, "/OS-TRUST/trusts", trust).await["trust"])
    }

    /// Puts a service of this type into the catalogue, at this URL: the id of its endpoint.
    pub async fn publish(&self, kind: &str, interface: &str, region: &str, url: &str) -> String {
        let regions = self.done(Method::GET, "/regions", Value::Null).await;
        if !regions["regions"].as_array().is_some_and(|it| it.iter().any(|it| it["id"] == region)) {
            self.done(Method::POST, "/regions", json!({ "region": { "id": region } })).await;
        }
        let services = self.done(Method::GET, &format!("/services?type={kind}"), Value::Null).await;
        let service = match services["services"].get(0) {
            Some(known) => id(known),
            None => {
                let service = json!({ "service": { "type": kind, "name": kind } });
                id(&self.done(Method::POST, "/services", service).await["service"])
            }
        };
        let endpoint = json!({ "service_id": service, "interface": interface, "region_id": region, "url": url });
        id(&self.done(Method::POST, "/endpoints", json!({ "endpoint": endpoint })).await["endpoint"])
    }

    /// Moves an endpoint of the catalogue to another URL.
    pub async fn move_endpoint(&self, endpoint: &str, url: &str) {
        let path = format!("/endpoints/{endpoint}");
        self.done(Method::PATCH, &path, json!({ "endpoint": { "url": url } })).await;
    }

    /// Takes a token back.
    pub async fn revoke(&self, token: &str) {
        let request = self.client.delete(format!("{}/auth/tokens", self.base_url()));
        let request = request.header("x-auth-token", &self.token).header("x-subject-token", token);
        // Without it, tokens with access rules are not found.
        let request = request.header("openstack-identity-access-rules", "1.0");
        let answer = request.send().await.expect("Keystone answers");
        assert_eq!(answer.status(), StatusCode::NO_CONTENT, "{}", self.log_tail());
    }

    /// Whether a token is good, and the project that it is for, as Keystone tells it to a service.
    pub async fn project_of(&self, token: &str) -> Option<String> {
        let request = self.client.get(format!("{}/auth/tokens?nocatalog", self.base_url()));
        let request = request.header("x-auth-token", &self.token).header("x-subject-token", token);
        let answer = request.send().await.expect("Keystone answers");
        if !answer.status().is_success() {
            return None;
        }
        let token: Value = serde_json::from_slice(&answer.bytes().await.expect("a token")).expect("a token");
        token["token"]["project"]["id"].as_str().map(str::to_owned)
    }

    /// The statuses with which it has answered requests for tokens since it started, the administrator's and those of
    /// [`Keystone::application_credential`] and [`Keystone::trust`] among them.
    #[must_use]
    pub fn logins(&self) -> Vec<u16> {
        let log = fs::read_to_string(self.folder.path("access.log")).unwrap_or_default();
        let statuses = log.lines().filter_map(|it| it.strip_prefix("POST /v3/auth/tokens "));
        statuses.filter_map(|it| it.parse().ok()).collect()
    }

    /// Sends a request below `/v3` as the administrator.
    ///
    /// # Panics
    ///
    /// Panics if it is refused.
    pub async fn done(&self, method: Method, path: &str, body: Value) -> Value {
        self.done_as(&self.token, method, path, body).await
    }

    async fn done_as(&self, token: &str, method: Method, path: &str, body: Value) -> Value {
        let (status, text) = self.sent_as(token, method.clone(), path, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {text}\n{}", self.log_tail());
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn sent_as(&self, token: &str, method: Method, path: &str, body: Value) -> (StatusCode, String) {
        let request = self.client.request(method, format!("{}{path}", self.base_url()));
        let mut request = request.header("x-auth-token", token);
        if !body.is_null() {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.expect("Keystone answers");
        (answer.status(), answer.text().await.expect("Keystone answers"))
    }

    pub(crate) async fn administrator(&self) -> String {
        let user = json!({ "name": "admin", "domain": { "id": "default" }, "password": ADMINISTRATOR });
        let project = json!({ "name": "admin", "domain": { "id": "default" } });
        self.login(user, project).await
    }

    /// A token of a user for a project.
    pub async fn token_of(&self, user: &str, password: &str, project: &str) -> String {
        self.login(json!({ "id": user, "password": password }), json!({ "id": project })).await
    }

    /// The status with which it answers a login with an application credential.
    pub async fn logs_in(&self, credential: &ApplicationCredential) -> u16 {
        let login = json!({ "auth": { "identity": {
            "methods": ["application_credential"],
            "application_credential": { "id": credential.id, "secret": credential.secret },
        } } });
        let request = self.client.post(format!("{}/auth/tokens", self.base_url())).body(login.to_string());
        let request = request.header("content-type", "application/json");
        request.send().await.expect("Keystone answers").status().as_u16()
    }

    async fn login(&self, user: Value, project: Value) -> String {
        let auth = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } }, "scope": { "project": project },
        } });
        let request = self.client.post(format!("{}/auth/tokens", self.base_url())).body(auth.to_string());
        let answer = request.header("content-type", "application/json").send().await.expect("Keystone answers");
        assert_eq!(answer.status(), StatusCode::CREATED, "{}", self.log_tail());
        answer.headers()["x-subject-token"].to_str().expect("a token").to_owned()
    }

    /// Waits until it answers.
    async fn answers(&self) {
        let until = Instant::now() + PATIENCE;
        while let Err(error) = self.client.get(self.base_url()).send().await {
            assert!(Instant::now() < until, "Keystone does not answer: {error:#}\n{}", self.log_tail());
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn log_tail(&self) -> String {
        let log = fs::read(self.folder.path("keystone.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]).into_owned()
    }
}

/// The Python with which Keystone runs.
///
/// # Panics
///
/// Panics if Keystone is not installed.
#[must_use]
pub fn python() -> PathBuf {
    installed().join("bin/python")
}

/// The virtual environment.
fn installed() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/keystone");
    assert!(folder.join("empty").is_dir(), "there is no {}. Next step: make keystone", folder.display());
    folder
}

/// Copies what is in a folder, and its folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder under target/");
    for entry in fs::read_dir(from).expect("the folder is there").map(|it| it.expect("the folder can be read")) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file under target/");
        }
    }
}

/// The request for an application credential, with what `change` adds to it.
fn new_credential(change: Value) -> Value {
    let mut wanted = json!({ "name": format!("of-{}", uuid::Uuid::new_v4()) });
    if let (Some(wanted), Value::Object(change)) = (wanted.as_object_mut(), change) {
        wanted.extend(change);
    }
    json!({ "application_credential": wanted })
}

fn id(object: &Value) -> String {
    text(&object["id"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, and not {value}")).to_owned()
}
