//! Instances of ECS.

use aerostat_sdk::{Error, Result};
use serde_json::{Value, json};

use super::PAGE;
use super::fields::{items, text, texts};
use super::product::{ECS, by_tokens};

const ACTION: &str = "DescribeInstances";

/// One instance.
#[derive(Clone, Debug)]
pub(crate) struct EcsInstance {
    pub(crate) id: String,
    /// The name that its operating system was given.
    pub(crate) host_name: String,
    /// The name that people gave it.
    pub(crate) name: String,
    pub(crate) machine_type: String,
    pub(crate) status: String,
    pub(crate) zone: String,
    pub(crate) region: String,
    pub(crate) public: Vec<String>,
    pub(crate) eip: String,
    /// Addresses in the classic network.
    pub(crate) inner: Vec<String>,
    pub(crate) private: Vec<String>,
    /// Its primary network interface.
    pub(crate) interface: Option<String>,
    /// The addresses of that.
    pub(crate) ipv6: Vec<String>,
    pub(crate) charge_type: String,
    pub(crate) spot_strategy: String,
    pub(crate) node_pool: Option<String>,
}

/// A page of instances.
pub(crate) struct EcsPage {
    pub(crate) instances: Vec<EcsInstance>,
    pub(crate) next: Option<String>,
}

impl EcsInstance {
    /// `None` without an id.
    fn from_fields(shown: &Value) -> Option<Self> {
        let interfaces = items(shown, "NetworkInterfaces", "NetworkInterface");
        let primary = interfaces.iter().find(|it| it["Type"] == "Primary");
        let ipv6 = primary.map(|it| items(it, "Ipv6Sets", "Ipv6Set")).unwrap_or_default();
        let ipv6 = ipv6.iter().map(|it| text(it, "Ipv6Address"));
        let node_pool =
            items(shown, "Tags", "Tag").iter().find(|it| it["TagKey"] == "ack.alibabacloud.com/nodepool-id");
        Some(Self {
            id: Some(text(shown, "InstanceId")).filter(|it| !it.is_empty())?,
            host_name: text(shown, "HostName"),
            name: text(shown, "InstanceName"),
            machine_type: text(shown, "InstanceType"),
            status: text(shown, "Status"),
            zone: text(shown, "ZoneId"),
            region: text(shown, "RegionId"),
            public: texts(shown, "PublicIpAddress", "IpAddress"),
            eip: text(&shown["EipAddress"], "IpAddress"),
            inner: texts(shown, "InnerIpAddress", "IpAddress"),
            private: texts(&shown["VpcAttributes"], "PrivateIpAddress", "IpAddress"),
            interface: primary.map(|it| text(it, "NetworkInterfaceId")).filter(|it| !it.is_empty()),
            ipv6: ipv6.filter(|it| !it.is_empty()).collect(),
            charge_type: text(shown, "InstanceChargeType"),
            spot_strategy: text(shown, "SpotStrategy"),
            node_pool: node_pool.map(|it| text(it, "TagValue")).filter(|it| !it.is_empty()),
        })
    }
}

/// The instances among those with these ids, wherever they are in the region: at most [`PAGE`].
///
/// # Errors
///
/// Whatever the API answered; also if it shows none of them and the credential lacks the right to see any.
pub(crate) fn by_ids(region: &str, ids: &[&str]) -> Result<Vec<EcsInstance>> {
    let ids_text = json!(ids).to_string();
    let found = all(region, &[("InstanceIds", &ids_text)])?;
    // Ids are compared whole, whatever the API takes for equal.
    Ok(found.into_iter().filter(|it| ids.contains(&it.id.as_str())).collect())
}

/// The instances of the VPC with one of these addresses: at most [`PAGE`] addresses.
///
/// # Errors
///
/// As [`by_ids`].
pub(crate) fn by_addresses(region: &str, vpc: &str, addresses: &[&str]) -> Result<Vec<EcsInstance>> {
    let addresses = json!(addresses).to_string();
    all(region, &[("VpcId", vpc), ("InstanceNetworkType", "vpc"), ("PrivateIpAddresses", &addresses)])
}

/// A page of the VPC's instances, at most `size`, from `cursor` on.
///
/// # Errors
///
/// As [`by_ids`].
pub(crate) fn page(region: &str, vpc: &str, cursor: Option<&str>, size: u32) -> Result<EcsPage> {
    let listed = asked(region, &[("VpcId", vpc)], cursor, size)?;
    if listed.instances.is_empty() && cursor.is_none() {
        ECS.may_see(ACTION, region, &[("VpcId", vpc)])?;
    }
    Ok(listed)
}

/// All instances for which the API is asked with these parameters.
fn all(region: &str, pairs: &[(&str, &str)]) -> Result<Vec<EcsInstance>> {
    let mut found = Vec::new();
    by_tokens(&mut |cursor| {
        let listed = asked(region, pairs, cursor, PAGE)?;
        found.extend(listed.instances);
        Ok(listed.next)
    })?;
    if found.is_empty() {
        ECS.may_see(ACTION, region, &[])?;
    }
    Ok(found)
}

fn asked(region: &str, pairs: &[(&str, &str)], cursor: Option<&str>, size: u32) -> Result<EcsPage> {
    let size = size.to_string();
    let mut all = pairs.to_vec();
    all.push(("MaxResults", &size));
    all.extend(cursor.map(|it| ("NextToken", it)));
    let shown = ECS.call(ACTION, region, &all)?;
    if !shown["Instances"]["Instance"].is_array() {
        return Err(Error::unavailable(format_args!("{ACTION} at endpoint ecs: the answer has no list of instances")));
    }
    let instances = items(&shown, "Instances", "Instance");
    let instances: Vec<_> = instances
        .iter()
        .map(EcsInstance::from_fields)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::unavailable(format_args!("{ACTION} at endpoint ecs: an instance has no id")))?;
    Ok(EcsPage { instances, next: Some(text(&shown, "NextToken")).filter(|it| !it.is_empty()) })
}
