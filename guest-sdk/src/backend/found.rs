//! A load balancer, as much of it as every cloud shows.

use crate::key::Key;
use crate::{Error, LoadBalancer, LoadBalancerStatus, Result};

/// A load balancer, as much of it as every cloud shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// Its id, which the memo holds.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Whether it has the Service's mark.
    pub is_marked: bool,
    /// Annotations that the Service gets for people and other tools while it is the Service's.
    pub annotations: Vec<(String, String)>,
}

impl Found {
    /// Without annotations.
    pub fn new(id: impl Into<String>, name: impl Into<String>, is_marked: bool) -> Self {
        Self { id: id.into(), name: name.into(), is_marked, annotations: Vec::new() }
    }

    /// The same with an annotation that is written on the Service.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// For a person: its id, and its name.
    #[must_use]
    pub fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }

    /// The status of a Service whose load balancer this is.
    pub(super) fn status(&self, service: &LoadBalancer) -> LoadBalancerStatus {
        let status = service.status().memo(&self.id);
        self.annotations.iter().fold(status, |it, (key, value)| it.annotation(key, value))
    }
}

/// Refuses a name that the Service's author chose and that another load balancer has: the cloud would refuse it, or give it to
/// two. `ours` is the id of the Service's own, and `key` the annotation with the name.
///
/// # Errors
///
/// [`Error::Invalid`], naming the other.
pub fn refuse_taken_name<F>(listed: &[Found], key: &Key<F>, name: &str, ours: Option<&str>) -> Result<()> {
    match listed.iter().find(|it| it.name == name && Some(&*it.id) != ours) {
        None => Ok(()),
        Some(other) => Err(Error::invalid(format_args!(
            "annotation {}: {name:?} is the name of load balancer {}, which is not this Service's: choose another",
            key.name, other.id
        ))),
    }
}
