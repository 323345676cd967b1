//! The request that makes a load balancer.

use aerostat_sdk::Result;
use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Creation;

use super::annotations::NAME;
use super::call::NlbCall;
use super::desired::zones;
use crate::api::fields::{borrowed, borrowed_words, tag_list};
use crate::api::network_load_balancers as balancers;
use crate::load_balancer::annotations as rows;
use crate::load_balancer::attributes::REASON;
use crate::load_balancer::creation::token;
use crate::load_balancer::words::{ParameterRow, RequestWords};

/// Parameters of a new one that annotations say, beside its tags and its zones.
const PARAMETERS: [(&dyn ParameterRow, &str); 5] = [
    (&rows::ADDRESS_TYPE, "AddressType"),
    (&NAME, "LoadBalancerName"),
    (&rows::MODIFICATION_PROTECTION, "ModificationProtectionConfig.Status"),
    (&rows::IP_VERSION, "AddressIpVersion"),
    (&rows::RESOURCE_GROUP, "ResourceGroupId"),
];

impl NlbCall<'_> {
    /// Makes it, with the tags of the vendor's controller and ours.
    pub(super) fn send_creation(&self) -> Result<Creation> {
        let NlbCall { service, settings, region, vpc, .. } = self;
        let annotations = Annotations::of(service);
        let mut words = RequestWords::read(annotations, &PARAMETERS)?;
        words.usual("AddressType", "internet");
        words.usual("LoadBalancerName", &service.name);
        words.usual("ModificationProtectionConfig.Status", "ConsoleProtection");
        if words.is("ModificationProtectionConfig.Status", "ConsoleProtection") {
            words.usual("ModificationProtectionConfig.Reason", REASON);
        }
        let is_protected = annotations.read(&rows::DELETE_PROTECTION)?.unwrap_or("on") == "on";
        words.usual("DeletionProtectionConfig.Enabled", if is_protected { "true" } else { "false" });
        if let Some(group) = &settings.resource_group {
            words.usual("ResourceGroupId", group);
        }
        words.usual("ClientToken", &token(service, 0));
        words.usual("VpcId", vpc);
        let mut pairs = words.pairs();
        let own = annotations.read(&rows::TAGS)?.unwrap_or_default();
        let mut tags = self.tags();
        tags.extend(borrowed_words(&own));
        let tags = tag_list(&tags);
        let zones = zones(service)?;
        let zones = super::zones::pairs(&zones);
        pairs.extend(borrowed(&tags));
        pairs.extend(borrowed(&zones));
        Ok(balancers::create(region, &pairs)?)
    }
}
