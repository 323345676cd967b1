//! The API server's audit log: requests, and their senders.
//!
//! Bodies are there for aerostat's requests, for Leases, and where kube-controller-manager gives nodes pod networks.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;

use crate::aerostat::USER;
use crate::wait;

/// The audit log of one API server, from some place on.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
    start: usize,
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
        AuditLog { path, start: 0 }
    }

    /// The same log, from its present end on.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn from_now(&self) -> Result<AuditLog> {
        Ok(AuditLog { path: self.path.clone(), start: self.read()?.len() })
    }

    /// All requests of all users, in the order in which they ended.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is not what an API server writes.
    pub fn everything(&self) -> Result<Vec<Request>> {
        self.stage("ResponseComplete")
    }

    /// All requests of all users whose answer has begun and goes on: watches, in order.
    ///
    /// # Errors
    ///
    /// Fails as [`AuditLog::everything`] does.
    pub fn started(&self) -> Result<Vec<Request>> {
        self.stage("ResponseStarted")
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
        let mut requests = self.everything()?;
        requests.retain(|request| {
            request.is_aerostats()
                && !matches!(request.verb.as_str(), "list" | "watch")
                && !aside.iter().chain(&reviews).any(|it| request.object.resource == *it)
        });
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
        let mut requests = self.everything()?;
        requests.retain(|request| request.is_aerostats() && request.object.resource == "events");
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
        let config_maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "default");
        config_maps.get_opt(&mark).await?;
        let seen = wait::within(wait::DEADLINE, async || self.read().ok().filter(|text| text.contains(&mark)));
        if seen.await.is_none() {
            bail!("{} does not grow", self.path.display());
        }
        Ok(())
    }

    fn stage(&self, stage: &str) -> Result<Vec<Request>> {
        let text = self.read()?;
        let new = text.get(self.start..).unwrap_or_default();
        // The last line may be half written.
        let end = new.rfind('\n').map_or(0, |end| end + 1);
        let mut requests = Vec::new();
        for line in new[..end].lines() {
            let event: Event =
                serde_json::from_str(line).with_context(|| format!("not a line of an audit log: {line}"))?;
            if event.stage == stage {
                requests.push(event.request);
            }
        }
        Ok(requests)
    }

    fn read(&self) -> Result<String> {
        fs::read_to_string(&self.path).with_context(|| format!("cannot read {}", self.path.display()))
    }
}

#[derive(Deserialize)]
struct Event {
    stage: String,
    #[serde(flatten)]
    request: Request,
}
