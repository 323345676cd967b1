//! Security groups, and the rules for what comes in.

use aerostat_sdk::{Change, Error, Result, SortedMap, SortedSet};

use super::{FILTER_VALUES, pages, with_tags};
use crate::api::{AwsRefusal, EC2, Element, RequestForm};
use crate::settings::ClusterMarks;

/// The most groups of a page.
const PAGE: u32 = 1_000;
/// The most permissions of one request: with their descriptions they are less than the 1,000 values that a form may
/// have.
const BATCH: usize = 150;

/// A security group with its rules for what comes in.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct SecurityGroup {
    pub(crate) id: String,
    /// Unique in its VPC.
    pub(crate) name: String,
    pub(crate) permissions: SortedSet<IpPermission>,
    pub(crate) tags: SortedMap<String, String>,
}

/// A rule for one peer: the unit that EC2 counts against the limit of a group. EC2 tells rules apart by all but the
/// description: a second one that differs only there is refused.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct IpPermission {
    pub(crate) key: RuleKey,
    /// Empty, if it has none.
    pub(crate) description: String,
}

/// The fields by which EC2 tells rules apart.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct RuleKey {
    /// `tcp`, `udp`, `icmp`, a number, or `-1` for all.
    pub(crate) protocol: String,
    /// The first port, or the type of ICMP.
    pub(crate) from: Option<i32>,
    /// The last port, or the code of ICMP.
    pub(crate) to: Option<i32>,
    pub(crate) peer: Peer,
}

/// Where packets come from.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Peer {
    /// Addresses: 10.0.0.0/8.
    Ipv4(String),
    /// Addresses: 2001:db8::/32.
    Ipv6(String),
    /// The members of a security group, by its id.
    Group(String),
    /// The addresses of a list, by its id.
    PrefixList(String),
}

/// A peer of one kind.
type OfKind = fn(String) -> Peer;

/// The groups with these ids. A group that is unknown is missing.
pub(crate) fn by_ids(ids: &[&str]) -> Result<Vec<SecurityGroup>, AwsRefusal> {
    let mut found = Vec::new();
    for ids in ids.chunks(FILTER_VALUES) {
        found.extend(all(&EC2.action("DescribeSecurityGroups").filter("group-id", ids))?);
    }
    Ok(found)
}

/// The group of the cluster's VPC with this name, whoever's it is.
pub(crate) fn named(cluster: &ClusterMarks, name: &str) -> Result<Option<SecurityGroup>, AwsRefusal> {
    let form = EC2.action("DescribeSecurityGroups").filter("group-name", [name]).filter("vpc-id", [&cluster.vpc]);
    // The filter knows wildcards.
    Ok(all(&form)?.into_iter().find(|it| it.name == name))
}

/// The groups of the cluster's VPC with the cluster's tag.
pub(crate) fn tagged(cluster: &ClusterMarks) -> Result<Vec<SecurityGroup>, AwsRefusal> {
    let keys = [Some(cluster.tag()), cluster.has_legacy_tag.then(|| ClusterMarks::LEGACY_TAG.to_owned())];
    let form = EC2.action("DescribeSecurityGroups").filter("vpc-id", [&cluster.vpc]);
    let mut found = all(&form.filter("tag-key", keys.into_iter().flatten()))?;
    found.retain(|it| it.is_tagged(cluster));
    Ok(found)
}

/// The groups with a rule for the members of this group.
pub(crate) fn referring_to(id: &str) -> Result<Vec<SecurityGroup>, AwsRefusal> {
    all(&EC2.action("DescribeSecurityGroups").filter("ip-permission.group-id", [id]))
}

/// The groups of the cluster's VPC with a rule that begins with one of these ports, at most 200.
pub(crate) fn with_ports(cluster: &ClusterMarks, ports: &SortedSet<u16>) -> Result<Vec<SecurityGroup>, AwsRefusal> {
    let form = EC2.action("DescribeSecurityGroups").filter("vpc-id", [&cluster.vpc]);
    all(&form.filter("ip-permission.from-port", ports.iter().take(FILTER_VALUES)))
}

/// Makes a group without rules for what comes in. Returns its id; busy, if the VPC has a group of this name already,
/// which a list does not show yet.
pub(crate) fn create(
    cluster: &ClusterMarks,
    name: &str,
    description: &str,
    tags: &SortedMap<String, String>,
) -> Result<Change<String>> {
    let form = EC2.action("CreateSecurityGroup").with("GroupName", name).with("GroupDescription", description);
    let form = form.with("VpcId", &cluster.vpc).with("TagSpecification.1.ResourceType", "security-group");
    match EC2.call(with_tags(form, "TagSpecification.1.Tag", tags)) {
        Ok(answer) => match answer.text(&["groupId"]) {
            Some(id) => Ok(Change::Done(id.to_owned())),
            None => Err(Error::unavailable(format_args!("CreateSecurityGroup {name}: the answer has no id"))),
        },
        Err(refusal) if refusal.code == "InvalidGroup.Duplicate" => {
            Ok(Change::Busy(format!("security group {name} was made a moment ago, and EC2 does not list it yet")))
        }
        Err(refusal) => Err(refusal.error),
    }
}

/// Adds tags to a group, or writes over their values.
pub(crate) fn tag(id: &str, tags: &SortedMap<String, String>) -> Result<(), AwsRefusal> {
    EC2.call(with_tags(EC2.action("CreateTags").with("ResourceId.1", id), "Tag", tags)).map(drop)
}

/// Deletes a group. Busy, if something still has it or refers to it.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    match EC2.call(EC2.action("DeleteSecurityGroup").with("GroupId", id)) {
        Ok(_) => Ok(Change::Done(())),
        Err(refusal) if refusal.code == "InvalidGroup.NotFound" => Ok(Change::Done(())),
        Err(refusal) if matches!(&*refusal.code, "DependencyViolation" | "InvalidGroup.InUse") => {
            Ok(Change::Busy(format!("security group {id} is still in use: {}", refusal.why())))
        }
        Err(refusal) => Err(refusal.error),
    }
}

/// Adds rules. None of these keys may be there.
pub(crate) fn authorize(id: &str, permissions: &SortedSet<IpPermission>) -> Result<(), AwsRefusal> {
    write("AuthorizeSecurityGroupIngress", id, permissions)
}

/// Takes rules away.
pub(crate) fn revoke(id: &str, permissions: &SortedSet<IpPermission>) -> Result<(), AwsRefusal> {
    write("RevokeSecurityGroupIngress", id, permissions)
}

impl SecurityGroup {
    /// Whether it has the cluster's tag.
    pub(crate) fn is_tagged(&self, cluster: &ClusterMarks) -> bool {
        self.tags.iter().any(|(key, value)| cluster.owns(key, value))
    }
}

fn write(action: &str, id: &str, permissions: &SortedSet<IpPermission>) -> Result<(), AwsRefusal> {
    let permissions: Vec<_> = permissions.iter().collect();
    for batch in permissions.chunks(BATCH) {
        // EC2 takes rules that differ in their peers as one.
        let mut by_ports: SortedMap<_, Vec<&IpPermission>> = SortedMap::new();
        for it in batch {
            by_ports.get_or_default((&it.key.protocol, it.key.from, it.key.to)).push(it);
        }
        let form = EC2.action(action).with("GroupId", id);
        let rules = by_ports.into_iter().zip(1..);
        let form = rules.fold(form, |form, (((protocol, from, to), permissions), number): (_, usize)| {
            let rule = format!("IpPermissions.{number}");
            let form = form.with(format!("{rule}.IpProtocol"), protocol);
            let form = form.with_some(&format!("{rule}.FromPort"), from);
            peers(form.with_some(&format!("{rule}.ToPort"), to), &rule, &permissions)
        });
        EC2.call(form)?;
    }
    Ok(())
}

/// Adds the peers of a rule, numbered in the list of their kind.
fn peers(form: RequestForm, rule: &str, permissions: &[&IpPermission]) -> RequestForm {
    let mut numbers: SortedMap<&str, usize> = SortedMap::new();
    permissions.iter().fold(form, |form, it| {
        let (list, field, value) = match &it.key.peer {
            Peer::Ipv4(range) => ("IpRanges", "CidrIp", range),
            Peer::Ipv6(range) => ("Ipv6Ranges", "CidrIpv6", range),
            Peer::Group(id) => ("Groups", "GroupId", id),
            Peer::PrefixList(id) => ("PrefixListIds", "PrefixListId", id),
        };
        let number = numbers.get_or_default(list);
        *number += 1;
        let peer = format!("{rule}.{list}.{number}");
        let description = Some(&it.description).filter(|it| !it.is_empty());
        form.with(format!("{peer}.{field}"), value).with_some(&format!("{peer}.Description"), description)
    })
}

/// All pages of a list.
fn all(form: &RequestForm) -> Result<Vec<SecurityGroup>, AwsRefusal> {
    let mut found = Vec::new();
    let form = form.clone().with("MaxResults", PAGE);
    pages(&form, &["securityGroupInfo", "item"], &mut |it| found.push(read(&it)))?;
    Ok(found)
}

fn read(it: &Element) -> SecurityGroup {
    let text = |name: &str| it.text(&[name]).unwrap_or_default().to_owned();
    SecurityGroup {
        id: text("groupId"),
        name: text("groupName"),
        permissions: it.items("ipPermissions").flat_map(permissions).collect(),
        tags: it.tags().into_iter().collect(),
    }
}

/// A rule as EC2 shows it: one for each of its peers.
fn permissions(it: &Element) -> Vec<IpPermission> {
    let protocol = it.text(&["ipProtocol"]).unwrap_or_default();
    // All protocols have no ports.
    let number = |name: &str| it.text(&[name]).filter(|_| protocol != "-1").and_then(|it| it.parse().ok());
    let lists: [(&str, &str, OfKind); 4] = [
        ("ipRanges", "cidrIp", Peer::Ipv4),
        ("ipv6Ranges", "cidrIpv6", Peer::Ipv6),
        ("groups", "groupId", Peer::Group),
        ("prefixListIds", "prefixListId", Peer::PrefixList),
    ];
    let of_list = |(list, field, peer): (&str, &str, OfKind)| -> Vec<IpPermission> {
        let permission = |item: &Element| {
            let peer = peer(item.text(&[field])?.to_owned());
            let key = RuleKey { protocol: protocol.to_owned(), from: number("fromPort"), to: number("toPort"), peer };
            Some(IpPermission { key, description: item.text(&["description"]).unwrap_or_default().to_owned() })
        };
        it.items(list).filter_map(permission).collect()
    };
    lists.into_iter().flat_map(of_list).collect()
}
