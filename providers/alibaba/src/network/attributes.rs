//! The attributes of a load balancer, beside its listeners and groups. What no annotation names stays as it is.

use aerostat_sdk::annotations::Annotations;

use super::annotations::{BANDWIDTH_PACKAGE, CROSS_ZONE, IPV6_ADDRESS_TYPE, NAME};
use super::call::NlbCall;
use super::desired::NlbDesired;
use super::step::NlbStop;
use super::zones;
use crate::api::NLB;
use crate::api::fields::{borrowed, borrowed_words};
use crate::api::network_load_balancers::NlbBalancer;
use crate::load_balancer::annotations as rows;
use crate::load_balancer::attributes::{REASON, missing_tags};

impl NlbCall<'_> {
    /// Writes what differs from the annotations.
    pub(super) fn write_attributes(&self, live: &NlbBalancer) -> Result<(), NlbStop> {
        let annotations = Annotations::of(self.service);
        let write = |action: &str, pairs: &[(&str, &str)]| {
            self.send(action, &[&[("LoadBalancerId", &*live.id)], pairs].concat())
        };
        let name = annotations.read(&NAME)?.filter(|it| *it != live.name);
        let cross_zone = annotations.read(&CROSS_ZONE)?.filter(|it| (*it == "true") != live.is_cross_zone);
        let pairs = [("LoadBalancerName", name.as_deref()), ("CrossZoneEnabled", cross_zone)];
        let pairs: Vec<(&str, &str)> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        if !pairs.is_empty() {
            write("UpdateLoadBalancerAttribute", &pairs)?;
        }
        let address = annotations.read(&rows::ADDRESS_TYPE)?;
        if let Some(word) = address.filter(|it| !live.address_type.eq_ignore_ascii_case(it)) {
            if word == "internet" {
                self.settings.allow_internet(rows::ADDRESS_TYPE.name)?;
            }
            write("UpdateLoadBalancerAddressTypeConfig", &[("AddressType", word)])?;
        }
        if let Some(action) = annotations.read(&IPV6_ADDRESS_TYPE)? {
            let is_open = live.ipv6_address_type.eq_ignore_ascii_case("internet");
            let opens = action.starts_with("Enable");
            if live.ip_version.eq_ignore_ascii_case("DualStack") && opens != is_open {
                if opens {
                    self.settings.allow_internet(IPV6_ADDRESS_TYPE.name)?;
                }
                write(action, &[])?;
            }
        }
        if annotations.has(BANDWIDTH_PACKAGE.name) {
            self.write_package(&annotations.read(&BANDWIDTH_PACKAGE)?.unwrap_or_default(), live, write)?;
        }
        let mut protection = Vec::new();
        let deletion = annotations.read(&rows::DELETE_PROTECTION)?.map(|it| it == "on");
        if let Some(is_on) = deletion.filter(|it| *it != live.is_delete_protected) {
            protection.push(("DeletionProtectionEnabled", if is_on { "true" } else { "false" }));
        }
        let modification = annotations.read(&rows::MODIFICATION_PROTECTION)?;
        if let Some(word) = modification.filter(|it| *it != live.modification_protection) {
            protection.push(("ModificationProtectionStatus", word));
            protection.extend((word == "ConsoleProtection").then_some(("ModificationProtectionReason", REASON)));
        }
        if !protection.is_empty() {
            write("UpdateLoadBalancerProtection", &protection)?;
        }
        match missing_tags(annotations, &live.tags)? {
            missing if missing.is_empty() => Ok(()),
            missing => Ok(NLB.tag(&self.region, &live.id, &borrowed_words(&missing))?),
        }
    }

    /// Takes a step towards the zones of the annotation, and no further: the next one is of a later call, which reads what this has changed.
    pub(super) fn write_zones(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<(), NlbStop> {
        let Some(next) = zones::next(&live.zones, &desired.zones) else { return Ok(()) };
        let next = zones::pairs(&next);
        let mut pairs = vec![("LoadBalancerId", &*live.id)];
        pairs.extend(borrowed(&next));
        self.send("UpdateLoadBalancerZones", &pairs)?;
        Err(NlbStop::Waits("its zones are being changed".to_owned()))
    }

    /// Puts it into another bandwidth package, or takes it out of the one that it is in. It is in one at a time.
    fn write_package(
        &self,
        wanted: &str,
        live: &NlbBalancer,
        write: impl Fn(&str, &[(&str, &str)]) -> Result<(), NlbStop>,
    ) -> Result<(), NlbStop> {
        if live.package == wanted {
            return Ok(());
        }
        if !live.package.is_empty() {
            write("DetachCommonBandwidthPackageFromLoadBalancer", &[("BandwidthPackageId", &live.package)])?;
            self.jobs.settle(&self.region)?;
        }
        match wanted {
            "" => Ok(()),
            id => write("AttachCommonBandwidthPackageToLoadBalancer", &[("BandwidthPackageId", id)]),
        }
    }
}
