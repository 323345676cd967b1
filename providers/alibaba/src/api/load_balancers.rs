//! Classic Load Balancers.

use aerostat_sdk::backend::{Creation, Found};
use serde_json::{Value, json};

use super::errors::AcsRefusal;
use super::fields::{items, text};
use super::product::SLB;

/// Load balancers of a page: the most that the API takes.
pub(crate) const PAGE: u32 = 100;

/// A Classic Load Balancer.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlbBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) address: String,
    /// `internet` or `intranet`.
    pub(crate) address_type: String,
    pub(crate) ip_version: String,
    /// `active`, `inactive` or `locked`; empty where it is not shown.
    pub(crate) status: String,
    pub(crate) internet_charge: String,
    pub(crate) bandwidth: u64,
    pub(crate) spec: String,
    pub(crate) delete_protection: String,
    pub(crate) modification_protection: String,
    pub(crate) tags: Vec<(String, String)>,
    /// Whether the answer says that it has no listener. A list does not say.
    pub(crate) is_bare: bool,
}

impl SlbBalancer {
    /// `None` without an id.
    fn from_fields(shown: &Value) -> Option<Self> {
        // A list says "4" for paybytraffic, and the word beside it.
        let word = text(shown, "InternetChargeTypeAlias");
        let tags = items(shown, "Tags", "Tag").iter();
        Some(Self {
            id: Some(text(shown, "LoadBalancerId")).filter(|it| !it.is_empty())?,
            name: text(shown, "LoadBalancerName"),
            address: text(shown, "Address"),
            address_type: text(shown, "AddressType"),
            ip_version: text(shown, "AddressIPVersion"),
            status: text(shown, "LoadBalancerStatus"),
            internet_charge: if word.is_empty() { text(shown, "InternetChargeType") } else { word },
            bandwidth: shown["Bandwidth"].as_u64().unwrap_or_default(),
            spec: text(shown, "LoadBalancerSpec"),
            delete_protection: text(shown, "DeleteProtection"),
            modification_protection: text(shown, "ModificationProtectionStatus"),
            tags: tags.map(|it| (text(it, "TagKey"), text(it, "TagValue"))).collect(),
            is_bare: shown["ListenerPortsAndProtocol"]["ListenerPortAndProtocol"].as_array().is_some_and(Vec::is_empty),
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

/// A page of at most `size` load balancers with this tag, and how many there are.
pub(crate) fn page(
    region: &str,
    (key, value): (&str, &str),
    number: u32,
    size: u32,
) -> Result<(Vec<SlbBalancer>, u64), AcsRefusal> {
    let tags = json!([{ "TagKey": key, "TagValue": value }]).to_string();
    let (number, size) = (number.to_string(), size.to_string());
    let pairs = [("Tags", &*tags), ("PageNumber", &*number), ("PageSize", &*size)];
    let shown = SLB.call("DescribeLoadBalancers", region, &pairs)?;
    let found = items(&shown, "LoadBalancers", "LoadBalancer").iter().filter_map(SlbBalancer::from_fields);
    Ok((found.collect(), shown["TotalCount"].as_u64().unwrap_or_default()))
}

/// All load balancers with this tag.
pub(crate) fn tagged(region: &str, tag: (&str, &str)) -> Result<Vec<SlbBalancer>, AcsRefusal> {
    let (mut all, mut number) = (Vec::new(), 1);
    loop {
        let (found, total) = page(region, tag, number, PAGE)?;
        let is_last = found.is_empty() || u64::from(number) * u64::from(PAGE) >= total;
        all.extend(found);
        if is_last {
            return Ok(all);
        }
        number += 1;
    }
}

/// The load balancer with this id.
pub(crate) fn find(region: &str, id: &str) -> Result<Option<SlbBalancer>, AcsRefusal> {
    match SLB.call("DescribeLoadBalancerAttribute", region, &[("LoadBalancerId", id)]) {
        // An answer about nothing, or about another one, proves nothing.
        Ok(shown) => match SlbBalancer::from_fields(&shown).filter(|it| it.id == id) {
            Some(found) => Ok(Some(found)),
            None => Err(aerostat_sdk::Error::unavailable(format_args!(
                "DescribeLoadBalancerAttribute at endpoint slb: an answer that is not about load balancer {id}"
            ))
            .into()),
        },
        Err(refusal) if is_gone(&refusal) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// Whether a refusal says that there is no such load balancer.
fn is_gone(refusal: &AcsRefusal) -> bool {
    ["InvalidLoadBalancerId.NotFound", "InvalidLoadBalancerId.NoSuchLoadBalancer"].contains(&&*refusal.code)
}

/// Makes one.
pub(crate) fn create(region: &str, pairs: &[(&str, &str)]) -> Result<Creation, AcsRefusal> {
    SLB.create("CreateLoadBalancer", region, pairs, |made| {
        let id = Some(text(made, "LoadBalancerId")).filter(|it| !it.is_empty())?;
        Some(Found::new(id, text(made, "LoadBalancerName"), true))
    })
}

/// Sends a change of one: this action, with these parameters beside its id.
pub(crate) fn change(region: &str, action: &str, id: &str, pairs: &[(&str, &str)]) -> Result<(), AcsRefusal> {
    SLB.call(action, region, &[&[("LoadBalancerId", id)], pairs].concat()).map(drop)
}

/// Deletes one. One that is gone counts as deleted.
pub(crate) fn delete(region: &str, id: &str) -> Result<(), AcsRefusal> {
    match change(region, "DeleteLoadBalancer", id, &[]) {
        Err(refusal) if is_gone(&refusal) => Ok(()),
        done => done,
    }
}
