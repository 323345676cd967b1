//! One call about one Service: what all of its steps know.

use std::cell::RefCell;

use aerostat_sdk::{LoadBalancer, Result};

use super::desired::DesiredBalancer;
use super::names;
use super::ownership::{BalancerRelation, ServiceNames};
use crate::api::octavia::OctaviaBalancer;
use crate::settings::OctaviaSettings;

/// Between the id of a load balancer and the UID of a Service that has a part in it: such a memo names the part.
pub(crate) const PART: char = '/';

/// One call about one Service.
pub(crate) struct BalancerCall<'a> {
    /// The Service.
    pub(crate) service: &'a LoadBalancer,
    /// The settings.
    pub(crate) settings: OctaviaSettings,
    /// The Service's names.
    pub(crate) names: ServiceNames,
    /// Whether the Service goes.
    pub(crate) deletes: bool,
    /// The address at which it is reached, once it is known.
    pub(crate) address: RefCell<Option<String>>,
}

impl<'a> BalancerCall<'a> {
    /// The call about a Service that is to have a load balancer, or none any more.
    ///
    /// # Errors
    ///
    /// `invalid`, for settings that cannot work.
    pub(crate) fn of(service: &'a LoadBalancer, deletes: bool) -> Result<Self> {
        let settings = OctaviaSettings::read()?;
        names::check_cluster(&service.owner.cluster)?;
        let names = ServiceNames::of(service, settings.former_cluster.as_deref())?;
        Ok(Self { service, settings, names, deletes, address: RefCell::default() })
    }

    /// The load balancer that the Service asks for.
    ///
    /// # Errors
    ///
    /// `invalid`, naming what cannot be.
    pub(crate) fn desired(&self) -> Result<DesiredBalancer> {
        DesiredBalancer::of(self.service, &self.settings)
    }

    /// Whether the load balancer is the Service's, and not only a part of it: the memo says so once there is one.
    pub(crate) fn is_owner(&self, live: &OctaviaBalancer) -> bool {
        match self.service.memo.as_deref().filter(|it| is_memo(it, &self.service.owner.uid)) {
            Some(memo) => !memo.contains(PART),
            None => matches!(self.names.relation(live), BalancerRelation::Owner { .. }),
        }
    }

    /// The id of a load balancer, without the part's.
    pub(crate) fn whole<'i>(&self, id: &'i str) -> &'i str {
        id.split(PART).next().unwrap_or(id)
    }
}

/// Whether a text is an id of a load balancer, or of the part that the Service with this UID has in one.
pub(crate) fn is_memo(text: &str, uid: &str) -> bool {
    let is_word =
        |it: &str| (1..=64).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    match text.split_once(PART) {
        Some((id, part)) => is_word(id) && part == uid,
        None => is_word(text),
    }
}
