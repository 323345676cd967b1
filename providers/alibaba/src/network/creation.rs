//! The request that makes a load balancer.

use aerostat_sdk::Result;
use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Creation;

use super::annotations::NAME;
use super::call::NlbCall;
use super::desired::zones;
use crate::api::fields::numbered;
use crate::api::network_load_balancers as balancers;
use crate::load_balancer::annotations as rows;
use crate::load_balancer::attributes::REASON;
use crate::load_balancer::creation::token;

impl NlbCall<'_> {
    /// Makes it, with the tags of the vendor's controller and ours.
    pub(super) fn send_creation(&self) -> Result<Creation> {
        let NlbCall { service, settings, region, vpc, .. } = self;
        let annotations = Annotations::of(service);
        let name = annotations.read(&NAME)?.unwrap_or_else(|| service.name.clone());
        let is_protected = annotations.read(&rows::DELETE_PROTECTION)?.unwrap_or("on") == "on";
        let protection = annotations.read(&rows::MODIFICATION_PROTECTION)?.unwrap_or("ConsoleProtection");
        let token = token(service, 0);
        let mut pairs = vec![
            ("AddressType", annotations.get(&rows::ADDRESS_TYPE)?),
            ("ClientToken", &*token),
            ("DeletionProtectionConfig.Enabled", if is_protected { "true" } else { "false" }),
            ("LoadBalancerName", &*name),
            ("ModificationProtectionConfig.Status", protection),
            ("VpcId", &**vpc),
        ];
        if protection == "ConsoleProtection" {
            pairs.push(("ModificationProtectionConfig.Reason", REASON));
        }
        pairs.extend(annotations.read(&rows::IP_VERSION)?.map(|it| ("AddressIpVersion", it)));
        let group = annotations.read(&rows::RESOURCE_GROUP)?.or_else(|| settings.resource_group.clone());
        pairs.extend(group.as_deref().map(|it| ("ResourceGroupId", it)));
        let own = annotations.read(&rows::TAGS)?.unwrap_or_default();
        let own = own.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let tags =
            numbered("Tag", self.tags().into_iter().chain(own).map(|(key, value)| [("Key", key), ("Value", value)]));
        let zones = zones(service)?;
        let zones = numbered(
            "ZoneMappings",
            zones.iter().map(|zone| {
                let chosen =
                    [("PrivateIPv4Address", zone.address.as_deref()), ("AllocationId", zone.elastic.as_deref())];
                let chosen = chosen.into_iter().filter_map(|(name, value)| Some((name, value?)));
                [("ZoneId", &*zone.zone), ("VSwitchId", &*zone.switch)].into_iter().chain(chosen).collect::<Vec<_>>()
            }),
        );
        pairs.extend(tags.iter().chain(&zones).map(|(name, value)| (name.as_str(), *value)));
        Ok(balancers::create(region, &pairs)?)
    }
}
