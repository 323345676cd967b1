//! Instances (`DescribeInstances`).

use aerostat_sdk::sorted::sort_by;

use super::{FILTER_VALUES, pages};
use crate::api::{AwsRefusal, EC2, Element, RequestForm};
use crate::settings::ClusterMarks;

/// The most instances of a page.
pub(crate) const PAGE: u32 = 1_000;
/// The fewest.
const SMALLEST_PAGE: u32 = 5;

/// Where an answer has its instances.
const PATH: [&str; 4] = ["reservationSet", "item", "instancesSet", "item"];

/// States of instances that exist: all but `terminated`.
const ALIVE: [&str; 5] = ["pending", "running", "shutting-down", "stopping", "stopped"];

/// An instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Ec2Instance {
    pub(crate) id: String,
    /// `running`, `stopped`, …; empty, if EC2 does not say.
    pub(crate) state: String,
    pub(crate) machine_type: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) zone_id: Option<String>,
    pub(crate) private_dns: Option<String>,
    pub(crate) public_dns: Option<String>,
    pub(crate) public_ip: Option<String>,
    /// Those in use, in the order of their devices.
    pub(crate) interfaces: Vec<Interface>,
    /// The ids of its security groups.
    pub(crate) groups: Vec<String>,
    /// Key and value.
    pub(crate) tags: Vec<(String, String)>,
}

/// A network interface of an instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Interface {
    pub(crate) ipv4: Vec<String>,
    pub(crate) ipv6: Vec<String>,
}

/// A page of a list, and where the next one begins.
#[derive(Debug)]
pub(crate) struct InstancePage {
    pub(crate) instances: Vec<Ec2Instance>,
    pub(crate) next: Option<String>,
}

/// By which tag of the cluster a list finds its instances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum By {
    /// The tag with the cluster's id in its key.
    Key,
    /// The older tag with the cluster's id for its value.
    LegacyValue,
}

/// A page of the instances with the cluster's tag that exist.
pub(crate) fn page(cluster: &ClusterMarks, by: By, token: Option<&str>, size: u32) -> Result<InstancePage, AwsRefusal> {
    let form = EC2.action("DescribeInstances");
    let form = match by {
        By::Key => form.filter("tag-key", [cluster.tag()]),
        By::LegacyValue => form.filter(&format!("tag:{}", ClusterMarks::LEGACY_TAG), [cluster.id()]),
    };
    let form = form.filter("vpc-id", [&cluster.vpc]).filter("instance-state-name", ALIVE);
    send(form, token, size.clamp(SMALLEST_PAGE, PAGE))
}

/// The instances with these ids, at most 200, in whatever state and with whatever tags. Of an id that is unknown there is none.
pub(crate) fn by_ids(ids: &[&str]) -> Result<Vec<Ec2Instance>, AwsRefusal> {
    all(&EC2.action("DescribeInstances").filter("instance-id", ids))
}

/// The instances with these private DNS names that exist, whoever's they are.
pub(crate) fn by_private_dns(names: &[&str]) -> Result<Vec<Ec2Instance>, AwsRefusal> {
    let mut found = Vec::new();
    for names in names.chunks(FILTER_VALUES) {
        let form = EC2.action("DescribeInstances").filter("private-dns-name", names);
        found.extend(all(&form.filter("instance-state-name", ALIVE))?);
    }
    Ok(found)
}

/// All pages of a list.
fn all(form: &RequestForm) -> Result<Vec<Ec2Instance>, AwsRefusal> {
    let mut found = Vec::new();
    pages(&form.clone().with("MaxResults", PAGE), &PATH, &mut |it| found.push(read(&it)))?;
    Ok(found)
}

fn send(form: RequestForm, token: Option<&str>, size: u32) -> Result<InstancePage, AwsRefusal> {
    let form = form.with("MaxResults", size).with_some("NextToken", token);
    let mut instances = Vec::new();
    let rest = EC2.each(form, &PATH, |it| instances.push(read(&it)))?;
    Ok(InstancePage { instances, next: rest.text(&["nextToken"]).map(str::to_owned) })
}

fn read(it: &Element) -> Ec2Instance {
    let text = |path: &[&str]| it.text(path).map(str::to_owned);
    let device = |it: &Element| it.text(&["attachment", "deviceIndex"]).and_then(|it| it.parse().ok());
    let in_use = it.items("networkInterfaceSet").filter(|it| it.text(&["status"]) == Some("in-use"));
    let mut interfaces: Vec<(u32, Interface)> =
        in_use.map(|it| (device(it).unwrap_or(u32::MAX), interface(it))).collect();
    sort_by(&mut interfaces, |(one, _), (other, _)| one.cmp(other));
    Ec2Instance {
        id: text(&["instanceId"]).unwrap_or_default(),
        state: text(&["instanceState", "name"]).unwrap_or_default(),
        machine_type: text(&["instanceType"]),
        zone: text(&["placement", "availabilityZone"]),
        zone_id: text(&["placement", "availabilityZoneId"]),
        private_dns: text(&["privateDnsName"]),
        public_dns: text(&["dnsName"]),
        public_ip: text(&["ipAddress"]),
        interfaces: interfaces.into_iter().map(|(_, it)| it).collect(),
        groups: it.each("groupSet", "groupId"),
        tags: it.tags(),
    }
}

fn interface(it: &Element) -> Interface {
    Interface {
        ipv4: it.each("privateIpAddressesSet", "privateIpAddress"),
        ipv6: it.each("ipv6AddressesSet", "ipv6Address"),
    }
}
