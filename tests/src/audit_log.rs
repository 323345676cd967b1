//! The API server's audit log: requests, and their senders.
//!
//! Bodies are there for aerostat's requests, for Leases, and where kube-controller-manager gives nodes pod networks.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;

use crate::aerostat::USER;
use crate::wait;

/// The stage of a request that was answered.
const COMPLETE: &str = "ResponseComplete";

/// The audit log of one API server, from some place on. Clones share what was read of it: tests ask again and again, and logs
/// have megabytes.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
    lines: Arc<Mutex<Lines>>,
}

/// The lines that were read.
#[derive(Debug)]
struct Lines {
    /// The byte of the file at which the next one begins.
    end: u64,
    events: Vec<Event>,
}

/// One request and how it ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Path and query, as sent.
    #[serde(rename = "requestURI")]
    pub uri: String,
    /// The sender.
    pub user: User,
    /// As the client names itself.
    #[serde(default)]
    pub user_agent: String,
    /// About which object, unless it was about none.
    #[serde(default, rename = "objectRef")]
    pub object: ObjectRef,
    /// How it ended, unless the connection broke first.
    #[serde(default, rename = "responseStatus")]
    pub response: Response,
    /// The body, if there was one: an object, or a patch as it was sent.
    #[serde(default, rename = "requestObject")]
    pub body: Value,
    /// When the API server had the request.
    #[serde(rename = "requestReceivedTimestamp")]
    pub received: Timestamp,
}

/// The sender of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct User {
    /// The name, as in `system:serviceaccount:kube-system:cloud-controller-manager`. Empty for a caller that the API server
    /// does not know.
    pub username: String,
}

/// The object that a request is about. What does not apply is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectRef {
    /// The plural, as in `nodes`.
    pub resource: String,
    /// As in `status`.
    pub subresource: String,
    /// Empty for objects without one.
    pub namespace: String,
    /// Empty if the request is about many.
    pub name: String,
}

/// How a request ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response {
    /// The HTTP status.
    pub code: u16,
}

impl Request {
    /// Whether aerostat asked.
    #[must_use]
    pub fn is_aerostats(&self) -> bool {
        self.user.username == USER
    }

    /// Whether it can have changed an object.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// As in `nodes/status`.
    #[must_use]
    pub fn resource(&self) -> String {
        let ObjectRef { resource, subresource, .. } = &self.object;
        if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") }
    }
}

impl AuditLog {
    /// A log from its beginning on.
    pub(crate) fn new(path: PathBuf) -> AuditLog {
        AuditLog::from_byte(path, 0)
    }

    /// The same log, from its present end on.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file.
    pub fn from_now(&self) -> Result<AuditLog> {
        Ok(AuditLog::from_byte(self.path.clone(), length(&self.path)?))
    }

    fn from_byte(path: PathBuf, byte: u64) -> AuditLog {
        AuditLog { path, lines: Arc::new(Mutex::new(Lines { end: byte, events: Vec::new() })) }
    }

    /// All requests of all users, in the order in which they ended.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is not what an API server writes.
    pub fn everything(&self) -> Result<Vec<Request>> {
        self.stage(COMPLETE, |_| true)
    }

    /// All requests of all users whose answer has begun and goes on: watches, in order.
    ///
    /// # Errors
    ///
    /// Fails as [`AuditLog::everything`] does.
    pub fn started(&self) -> Result<Vec<Request>> {
        self.stage("ResponseStarted", |_| true)
    }

    /// Aerostat's requests for objects, in the order received: without lists, watches, leases, events, reviews, and
    /// requests that are about no object.
    ///
    /// # Errors
    ///
    /// Fails as [`AuditLog::everything`] does.
    pub fn requests(&self) -> Result<Vec<Request>> {
        let reviews = ["selfsubjectaccessreviews", "selfsubjectreviews", "subjectaccessreviews", "tokenreviews"];
        let aside = ["", "events", "leases"];
        let mut requests = self.stage(COMPLETE, |request| {
            request.is_aerostats()
                && !matches!(request.verb.as_str(), "list" | "watch")
                && !aside.iter().chain(&reviews).any(|it| request.object.resource == *it)
        })?;
        requests.sort_by_key(|request| request.received);
        Ok(requests)
    }

    /// Aerostat's changes, in the order received, without leases and events.
    ///
    /// # Errors
    ///
    /// Fails as [`AuditLog::everything`] does.
    pub fn writes(&self) -> Result<Vec<Request>> {
        let mut requests = self.requests()?;
        requests.retain(Request::is_write);
        Ok(requests)
    }

    /// The event requests of aerostat, in the order received.
    ///
    /// # Errors
    ///
    /// Fails as [`AuditLog::everything`] does.
    pub fn events(&self) -> Result<Vec<Request>> {
        let mut requests = self.stage(COMPLETE, |it| it.is_aerostats() && it.object.resource == "events")?;
        requests.sort_by_key(|request| request.received);
        Ok(requests)
    }

    /// Waits until everything that was answered before now is in the log.
    ///
    /// # Errors
    ///
    /// Fails if a request of ours does not appear.
    pub async fn settle(&self, admin: &Client) -> Result<()> {
        let mark = format!("settle-{}", uuid::Uuid::new_v4());
        let before = length(&self.path)?;
        let config_maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "default");
        config_maps.get_opt(&mark).await?;
        let is_there = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(&mark);
        let seen = wait::within(wait::DEADLINE, async || read(&self.path, before).ok().filter(is_there));
        if seen.await.is_none() {
            bail!("{} does not grow", self.path.display());
        }
        Ok(())
    }

    fn stage(&self, stage: &str, keeps: impl Fn(&Request) -> bool) -> Result<Vec<Request>> {
        let mut lines = self.lines();
        lines.read_on(&self.path)?;
        let events = lines.events.iter().filter(|it| it.stage == stage && keeps(&it.request));
        Ok(events.map(|it| it.request.clone()).collect())
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Reads what the file has got since the last time.
    fn read_on(&mut self, path: &Path) -> Result<()> {
        let new = read(path, self.end)?;
        // The last line may be half written.
        let whole = new.iter().rposition(|it| *it == b'\n').map_or(0, |last| last + 1);
        for line in new[..whole].split_inclusive(|it| *it == b'\n') {
            let event = serde_json::from_slice(line)
                .with_context(|| format!("not a line of an audit log: {}", String::from_utf8_lossy(line)))?;
            self.events.push(event);
            self.end += line.len() as u64;
        }
        Ok(())
    }
}

/// The bytes of a file from one of them on.
fn read(path: &Path, from: u64) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (File::open(path)?, Vec::new());
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

fn length(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len())
}

#[derive(Debug, Deserialize)]
struct Event {
    stage: String,
    #[serde(flatten)]
    request: Request,
}
