//! What every step knows of the call that it is part of.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{LoadBalancer, Result};

use super::tags::Marks;
use crate::settings::LoadBalancers as Settings;

/// One call about one Service.
pub(super) struct Call<'a> {
    pub(super) service: &'a LoadBalancer,
    pub(super) annotations: Annotations<'a>,
    pub(super) settings: Settings,
    pub(super) marks: Marks,
}

impl<'a> Call<'a> {
    pub(super) fn of(service: &'a LoadBalancer) -> Result<Self> {
        let (annotations, settings) = (Annotations::of(service), Settings::read()?);
        let marks = Marks::of(&service.owner, annotations, &settings.cluster)?;
        Ok(Self { service, annotations, settings, marks })
    }
}
