//! The cluster that a provider works for, and the mark of what it makes there.

use std::fmt;
use std::str::FromStr;

use crate::{ClaimOwner, Cluster, Error, MarkedClaim, Owner, Result, host};

/// The beginning of a mark.
const MARK: &str = "aerostat";

/// The cluster.
///
/// # Errors
///
/// [`Error::Unavailable`] during `describe`, when it is not known yet.
pub fn cluster() -> Result<Cluster> {
    host::current_cluster()
        .ok_or_else(|| Error::unavailable("the cluster is not known yet: describe cannot ask for it"))
}

impl Cluster {
    /// A cluster without pod networks: for a vendor's own tests.
    pub fn of(name: impl Into<String>, uid: impl Into<String>) -> Self {
        Self { name: name.into(), uid: uid.into(), pod_cidrs: Vec::new(), extra: Vec::new() }
    }

    /// The value of a ConfigMap as the host found it at its start; `None` if it is not there, is not described, or the operator
    /// does not allow it.
    #[must_use]
    pub fn config_map_value(&self, namespace: &str, name: &str, key: &str) -> Option<&str> {
        let key = format!("config-map.{namespace}/{name}/{key}");
        self.extra.iter().find(|(it, _)| *it == key).map(|(_, value)| value.as_str())
    }
}

/// The owner of a thing in the cloud, as every mark of ownership names it. Names of clusters and Services are chosen by people,
/// and come again; these two never do.
///
/// As text it is `aerostat:<cluster's UID>:<Service's UID>`, 82 characters: a tag, a description, or a label's value in
/// two parts where the cloud takes no colons. Where less than 82 characters fit, [`Mark::short`] has 50.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Mark {
    /// [`Cluster::uid`].
    pub cluster: String,
    /// [`Owner::uid`].
    pub service: String,
}

impl Owner {
    /// The mark of what is made for this Service.
    ///
    /// # Errors
    ///
    /// As [`cluster`].
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark { cluster: cluster()?.uid, service: self.uid.clone() })
    }
}

impl ClaimOwner {
    /// The mark of what is made for this claim.
    ///
    /// # Errors
    ///
    /// As [`cluster`].
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark { cluster: cluster()?.uid, service: self.uid.clone() })
    }
}

impl MarkedClaim {
    /// The owner that a mark names.
    #[must_use]
    pub fn of(mark: &Mark) -> Self {
        Self { cluster_uid: Some(mark.cluster.clone()), uid: Some(mark.service.clone()), ..Self::default() }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}:{}:{}", self.cluster, self.service)
    }
}

/// Text that is no mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoMark;

impl fmt::Display for NoMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no mark of ownership")
    }
}

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let mut parts = text.split(':');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(MARK), Some(cluster), Some(service), None) if !cluster.is_empty() && !service.is_empty() => {
                Ok(Self { cluster: cluster.to_owned(), service: service.to_owned() })
            }
            _ => Err(NoMark),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadBalancer;
    use crate::testing::Host;

    #[test]
    fn a_mark_names_the_cluster_and_the_service() {
        let host = Host::new().cluster(Cluster::of("prod", "c-uid"));
        let mark = host.run(|| LoadBalancer::of("default", "web", "s-uid").owner.mark()).unwrap();
        assert_eq!(mark.to_string(), "aerostat:c-uid:s-uid");
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for other in ["", "aerostat", "aerostat:a", "aerostat::b", "aerostat:a:", "aerostat:a:b:c", "k8s:a:b"] {
            assert_eq!(other.parse::<Mark>(), Err(NoMark), "{other:?}");
        }
    }

    #[test]
    fn while_describing_there_is_no_cluster() {
        let host = Host::new().without_cluster();
        assert!(matches!(host.run(cluster), Err(Error::Unavailable(_))));
    }
}
