//! Floating addresses: the public ones.

use aerostat_sdk::{Result, SortedMap};
use serde::Deserialize;

use super::{VpcId, get, lists};

/// The public addresses by the ids of what they lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct VpcFloatingIps(SortedMap<String, String>);

#[derive(Clone, Debug, Deserialize)]
struct VpcFloatingIp {
    address: String,
    target: Option<VpcId>,
}

impl VpcFloatingIps {
    /// The one that leads to this.
    pub(crate) fn to(&self, target: &str) -> Option<&str> {
        self.0.get(target).map(String::as_str)
    }

    /// All of the region.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(crate) fn all() -> Result<Self> {
        Ok(Self::of(lists::all(&get(["floating_ips"]), "floating_ips")?))
    }

    /// Those that lead to one target.
    ///
    /// # Errors
    ///
    /// Whatever the API answered.
    pub(crate) fn of_target(target: &str) -> Result<Self> {
        let list = get(["floating_ips"]).query("target.id", target);
        Ok(Self::of(lists::all(&list, "floating_ips")?))
    }

    fn of(found: Vec<VpcFloatingIp>) -> Self {
        Self(found.into_iter().filter_map(|it| Some((it.target?.id, it.address))).collect())
    }
}
