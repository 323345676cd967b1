//! Network Load Balancers.

use aerostat_sdk::backend::{Creation, Found};
use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::{list, tags, text, words};
use super::product::NLB;

/// Load balancers of a page: the most that the API takes.
pub(crate) const PAGE: u32 = 100;

/// A Network Load Balancer.
#[derive(Clone, Debug, Default)]
pub(crate) struct NlbBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) dns_name: String,
    /// `Internet` or `Intranet`.
    pub(crate) address_type: String,
    /// `Ipv4` or `DualStack`.
    pub(crate) ip_version: String,
    /// `Internet` or `Intranet`; empty where it has no address of IPv6.
    pub(crate) ipv6_address_type: String,
    /// The id of its bandwidth package; empty where it has none.
    pub(crate) package: String,
    /// `Provisioning`, `Active`, `Configuring`, `Inactive` or `CreateFailed`.
    pub(crate) status: String,
    pub(crate) is_delete_protected: bool,
    pub(crate) modification_protection: String,
    pub(crate) is_cross_zone: bool,
    pub(crate) zones: Vec<NlbZone>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) tags: Vec<(String, String)>,
}

/// A zone of one, and its vSwitch there.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct NlbZone {
    pub(crate) zone: String,
    pub(crate) switch: String,
    /// The address in the VPC, if it is chosen, or shown.
    pub(crate) address: Option<String>,
    /// The elastic address, if it is chosen, or shown.
    pub(crate) elastic: Option<String>,
}

impl NlbBalancer {
    /// `None` without an id.
    fn from_fields(shown: &Value) -> Option<Self> {
        let zone = |mapping: &Value| {
            let shown =
                |field: &str| Some(text(&mapping["LoadBalancerAddresses"][0], field)).filter(|it| !it.is_empty());
            NlbZone {
                zone: text(mapping, "ZoneId"),
                switch: text(mapping, "VSwitchId"),
                address: shown("PrivateIPv4Address"),
                elastic: shown("AllocationId"),
            }
        };
        Some(Self {
            id: Some(text(shown, "LoadBalancerId")).filter(|it| !it.is_empty())?,
            name: text(shown, "LoadBalancerName"),
            dns_name: text(shown, "DNSName"),
            address_type: text(shown, "AddressType"),
            ip_version: text(shown, "AddressIpVersion"),
            ipv6_address_type: text(shown, "Ipv6AddressType"),
            package: text(shown, "BandwidthPackageId"),
            status: text(shown, "LoadBalancerStatus"),
            is_delete_protected: shown["DeletionProtectionConfig"]["Enabled"] == true,
            modification_protection: text(&shown["ModificationProtectionConfig"], "Status"),
            is_cross_zone: shown["CrossZoneEnabled"] == true,
            zones: list(shown, "ZoneMappings").iter().map(zone).collect(),
            security_groups: words(shown, "SecurityGroupIds"),
            tags: tags(shown),
        })
    }

    /// The value of a tag.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    /// For a person.
    pub(crate) fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }
}

/// A page of load balancers with this tag, from a cursor on, and the next one.
pub(crate) fn page(
    region: &str,
    tag: (&str, &str),
    cursor: Option<&str>,
    size: u32,
) -> Result<(Vec<NlbBalancer>, Option<String>), AcsRefusal> {
    let (found, next) = NLB.page("ListLoadBalancers", region, &tag_pairs(tag), cursor, size)?;
    Ok((list(&found, "LoadBalancers").iter().filter_map(NlbBalancer::from_fields).collect(), next))
}

/// All load balancers with this tag.
pub(crate) fn tagged(region: &str, tag: (&str, &str)) -> Result<Vec<NlbBalancer>, AcsRefusal> {
    let found = NLB.all("ListLoadBalancers", region, &tag_pairs(tag), "LoadBalancers", PAGE)?;
    Ok(found.iter().filter_map(NlbBalancer::from_fields).collect())
}

/// The pairs that ask for a tag.
pub(super) fn tag_pairs<'a>((key, value): (&'a str, &'a str)) -> [(&'static str, &'a str); 2] {
    [("Tag.1.Key", key), ("Tag.1.Value", value)]
}

/// The load balancer with this id.
pub(crate) fn find(region: &str, id: &str) -> Result<Option<NlbBalancer>, AcsRefusal> {
    match NLB.call("GetLoadBalancerAttribute", region, &[("LoadBalancerId", id)]) {
        // An answer about nothing, or about another one, proves nothing.
        Ok(shown) => match NlbBalancer::from_fields(&shown).filter(|it| it.id == id) {
            Some(found) => Ok(Some(found)),
            None => Err(aerostat_sdk::Error::unavailable(format_args!(
                "GetLoadBalancerAttribute at endpoint nlb: an answer that is not about load balancer {id}"
            ))
            .into()),
        },
        Err(refusal) if is_gone(&refusal) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// Whether a refusal says that there is no such load balancer.
pub(crate) fn is_gone(refusal: &AcsRefusal) -> bool {
    refusal.code.eq_ignore_ascii_case("ResourceNotFound.LoadBalancer")
}

/// Makes one.
pub(crate) fn create(region: &str, pairs: &[(&str, &str)]) -> Result<Creation, AcsRefusal> {
    NLB.create("CreateLoadBalancer", region, pairs, |made| {
        // The answer spells it in its own way.
        let id = [text(made, "LoadbalancerId"), text(made, "LoadBalancerId")].into_iter().find(|it| !it.is_empty())?;
        Some(Found::new(id, "", true))
    })
}
