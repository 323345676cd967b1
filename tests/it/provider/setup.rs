//! The binary as a command, and a config for a simulator.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::folder::Folder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

/// The output of a command, and how it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
}

/// Runs `aerostat` with these arguments.
pub(crate) async fn aerostat(arguments: &[&str]) -> Ended {
    aerostat_with(arguments, &[]).await
}

/// As [`aerostat`], with these variables in its environment.
pub(crate) async fn aerostat_with(arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(binary().unwrap());
    command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null()).kill_on_drop(true);
    let ended = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: ended.status.code(), out: text(ended.stdout), errors: text(ended.stderr) }
}

/// Runs a command that must end with this code, and returns what it printed.
pub(crate) async fn ends(code: i32, arguments: &[&str]) -> String {
    let ended = aerostat(arguments).await;
    assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
    ended.out
}

/// As [`ends`], of JSON.
pub(crate) async fn json_of(code: i32, arguments: &[&str]) -> Value {
    let text = ends(code, &[arguments, &["--output=json"]].concat()).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A flag with a path.
pub(crate) fn flag(name: &str, path: &std::path::Path) -> String {
    format!("--{name}={}", path.display())
}

/// The text has all of these parts.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// A config that `describe` has made, for a simulator, with its settings and its login.
pub(crate) struct ForSimulator {
    pub(crate) folder: Folder,
    pub(crate) value: Value,
    /// The login's secret, which nothing may show.
    pub(crate) secret: Option<String>,
}

impl ForSimulator {
    pub(crate) async fn new(guest: &str, url: &str) -> Self {
        let folder = Folder::new();
        let mut value = json_of(0, &["provider", "describe", guest]).await;
        let setup = world(url).await["setup"].clone();
        value["provider"]["settings"] = setup["settings"].clone();
        let login = &setup["login"];
        let services = &login["sigv4"]["services"];
        for endpoint in value["endpoints"].as_array_mut().unwrap() {
            let described = endpoint["baseUrl"].as_str().unwrap().strip_prefix("https://").unwrap().to_owned();
            let path = described.find('/').map_or("", |at| &described[at..]);
            endpoint["baseUrl"] = json!(format!("{url}{path}"));
            let name = endpoint["name"].as_str().unwrap().to_owned();
            if services.is_object() {
                endpoint["signing"] = json!({ "region": login["sigv4"]["region"], "service": services[&name] });
            } else if login.is_null() {
                endpoint.as_object_mut().unwrap().remove("credential");
            }
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (credential, secret) = match (&login["bearer"]["token"], &login["sigv4"]) {
            (Value::String(token), _) => {
                let file = folder.write("token", format!("{token}\n"));
                (json!({ "bearer": { "file": file } }), Some(token.clone()))
            }
            (_, Value::Object(sigv4)) => {
                let (id, secret) = (text(&sigv4["id"]), text(&sigv4["secret"]));
                let keys = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
                let file = folder.write("keys", keys);
                (json!({ "sigv4": { "region": sigv4["region"], "sharedFile": { "file": file } } }), Some(secret))
            }
            (_, _) => (Value::Null, None),
        };
        value["credentials"] = match credential {
            Value::Null => json!([]),
            mut credential => {
                credential["name"] = json!("cloud");
                json!([credential])
            }
        };
        Self { folder, value, secret }
    }

    /// The config of a provider that asks no cloud.
    pub(crate) async fn without_cloud(guest: &str) -> Self {
        let mut value = json_of(0, &["provider", "describe", guest]).await;
        (value["credentials"], value["endpoints"]) = (json!([]), json!([]));
        Self { folder: Folder::new(), value, secret: None }
    }

    /// The flag with its file.
    pub(crate) fn flag(&self) -> String {
        flag("cloud-config", &self.path())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.write("cloud.yaml", self.value.to_string())
    }
}

/// The simulator's word on itself.
async fn world(url: &str) -> Value {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /conformance/world HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let begin = answer.find('{').unwrap();
    let end = answer.rfind('}').unwrap();
    serde_json::from_str(&answer[begin..=end]).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
