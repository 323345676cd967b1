//! A recording, read strictly: a word that the runner does not know is an error, because playing without it would
//! compare something else.

mod about;
mod cloud;
mod duration;
mod observed;
mod step;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use self::about::cannot_be_played;
pub(crate) use self::cloud::{
    Address, CloudChange, CloudError, CloudNode, CloudRoute, CloudService, ErrorKind, Ingress,
};
pub(crate) use self::observed::{CloudCall, Event, Observed, Request};
pub(crate) use self::step::{Action, Answer};

/// For so many seconds after the last thing that happened it is watched whether more happens.
const QUIET: f64 = 2.0;

/// The name of the routes among the parts that a recorded cloud may lack.
const ROUTES: &str = "routes";

/// One recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    #[serde(default, rename = "covers")]
    _covers: Vec<u32>,
    #[serde(default, rename = "about")]
    _about: String,
    pub(crate) flags: Vec<String>,
    /// Parts that the cloud did not offer.
    #[serde(default)]
    pub(crate) cloud_without: Vec<String>,
    pub(crate) given: Vec<Given>,
    pub(crate) cloud: Vec<CloudChange>,
    pub(crate) steps: Vec<Step>,
    pub(crate) observed: Observed,
}

/// An object that the recorder created.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) t: f64,
    pub(crate) object: Value,
    /// The API server's answer, where it refused the object.
    #[serde(default)]
    pub(crate) answer: Option<Value>,
}

/// A change of the cluster that is no new object: see [`Action`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) t: f64,
    pub(crate) action: String,
    #[serde(default)]
    pub(crate) body: Value,
    #[serde(default, rename = "note")]
    _note: String,
}

impl Scenario {
    /// Reads a recording: understood, unless it is left out.
    pub(crate) fn read(path: &Path) -> Result<Recording> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let not_as_known = || format!("{} is not a recording as we know them", path.display());
        let recording: Value = serde_json::from_str(&text).with_context(not_as_known)?;
        match cannot_be_played(&recording) {
            Some(reason) => Ok(Recording::LeftOut(reason)),
            None => Ok(Recording::Played(Box::new(serde_json::from_value(recording).with_context(not_as_known)?))),
        }
    }

    /// When the recorder saw that the process had started.
    pub(crate) fn up(&self) -> Result<f64> {
        let up = self.steps.iter().find(|step| step.action == "CCM is up");
        Ok(up.with_context(|| format!("{}: no step says \"CCM is up\"", self.name))?.t)
    }

    /// The last second that is played. What was recorded after the last thing that happened shows what does not happen.
    pub(crate) fn last(&self) -> f64 {
        let Observed { requests, events, cloud_calls, duration, .. } = &self.observed;
        let outside = self.steps.iter().map(|it| it.t).chain(self.given.iter().map(|it| it.t));
        let outside = outside.chain(self.cloud.iter().map(|it| it.t));
        let upstream = requests.iter().map(|it| it.t).chain(events.iter().map(|it| it.t));
        let all = outside.chain(upstream).chain(cloud_calls.iter().map(|it| it.t + it.took));
        duration.min(all.fold(0.0, f64::max) + QUIET)
    }

    /// Whether the recorded cloud had routes. Then nothing else of it is played.
    pub(crate) fn has_routes(&self) -> bool {
        !self.cloud_without.iter().any(|part| part == ROUTES)
    }

    /// Each answer of the cloud about a node, with the node's name, in order.
    pub(crate) fn cloud_nodes(&self) -> impl Iterator<Item = (&str, &CloudNode)> {
        let nodes = self.cloud.iter().flat_map(|change| &change.nodes);
        nodes.filter_map(|(name, node)| Some((name.as_str(), node.as_ref()?)))
    }
}

/// A file.
#[derive(Debug)]
pub(crate) enum Recording {
    Played(Box<Scenario>),
    /// Why.
    LeftOut(&'static str),
}
