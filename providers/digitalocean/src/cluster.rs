//! Which droplets of the account are the cluster's.

use aerostat_sdk::{Error, Result, settings};

/// The setting with the id of the DOKS cluster.
pub(crate) const SETTING: &str = "clusterId";

/// The longest tag that the cloud takes.
const LONGEST_TAG: usize = 255;

/// The cluster's droplets: those with a tag, or all of the account.
pub(crate) struct Cluster {
    tag: Option<String>,
}

impl Cluster {
    /// The cluster that the operator named.
    ///
    /// # Errors
    ///
    /// `invalid`, if no tag can have this name.
    pub(crate) fn from_settings() -> Result<Self> {
        let Some(id) = settings::find::<String>(SETTING)? else { return Ok(Self { tag: None }) };
        let tag = format!("k8s:{id}");
        let allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, ':' | '-' | '_');
        if id.is_empty() || tag.len() > LONGEST_TAG || !tag.chars().all(allowed) {
            return Err(Error::invalid(format_args!(
                "setting {SETTING}: {id:?} cannot be the id of a cluster: letters, digits, colons, dashes and \
                 underscores, {LONGEST_TAG} at most with the k8s: before it"
            )));
        }
        Ok(Self { tag: Some(tag) })
    }

    /// The tag that all of its droplets have, if one is known.
    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Whether a droplet with these tags is one of its droplets.
    pub(crate) fn owns(&self, tags: &[String]) -> bool {
        self.tag.as_ref().is_none_or(|it| tags.contains(it))
    }
}
