//! Octavia: load balancers, their listeners, pools, members and monitors.

mod model;
mod paths;
mod reads;

pub(crate) use self::model::{OctaviaBalancer, OctaviaListener, OctaviaMember, OctaviaMonitor, OctaviaPool};
pub(crate) use self::reads::{
    all, balancer, balancers, balancers_named, has_tagged, listeners, members, minor_version, monitors, pools,
    read_balancers, status_members,
};

use aerostat_sdk::Method;
use aerostat_sdk::http::Request;
use serde_json::Value;

use self::paths::{ROOT, path};
use super::OCTAVIA;

/// The creation of a load balancer.
pub(crate) fn creation(body: &Value) -> Request {
    OCTAVIA.post(path(&["loadbalancers"])).json(body)
}

/// A change of a load balancer or of one of its parts, which was not sent yet. Octavia carries out one at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OctaviaWrite {
    /// How.
    pub(crate) method: Method,
    /// The path below Octavia's root.
    pub(crate) path: Vec<String>,
    /// Whether members that are not named stay.
    pub(crate) is_additive: bool,
    /// The body.
    pub(crate) body: Option<Value>,
}

impl OctaviaWrite {
    /// A POST.
    #[inline(never)]
    pub(crate) fn post(segments: &[&str], body: Value) -> Self {
        Self { method: Method::Post, path: path(segments), is_additive: false, body: Some(body) }
    }

    /// A PUT.
    #[inline(never)]
    pub(crate) fn put(segments: &[&str], body: Value) -> Self {
        Self { method: Method::Put, path: path(segments), is_additive: false, body: Some(body) }
    }

    /// A DELETE.
    #[inline(never)]
    pub(crate) fn delete(segments: &[&str]) -> Self {
        Self { method: Method::Delete, path: path(segments), is_additive: false, body: None }
    }

    /// Members that are added to those that are there.
    pub(crate) fn additive(self) -> Self {
        Self { is_additive: true, ..self }
    }

    /// The request.
    pub(crate) fn request(&self) -> Request {
        let request = OCTAVIA.request(self.method, self.path.iter().map(String::as_str));
        let request = if self.is_additive { request.query("additive_only", "true") } else { request };
        match &self.body {
            Some(body) => request.json(body),
            None => request,
        }
    }

    /// For a person: what is done, and to what.
    pub(crate) fn title(&self) -> String {
        let verb = match self.method {
            Method::Post => "makes",
            Method::Delete => "deletes",
            _ => "changes",
        };
        let segments: Vec<_> = self.path.iter().skip(ROOT.len()).map(String::as_str).collect();
        format!("Octavia {verb} {}", segments.join("/"))
    }
}
