//! Security groups of ECS, which say who reaches a Network Load Balancer.

use aerostat_sdk::Error;
use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::{borrowed_words, items, numbered, text, wrapped_tags};
use super::network_load_balancers::tag_pairs;
use super::product::{ECS, by_tokens};

const ACTION: &str = "DescribeSecurityGroups";

/// Groups of a page, and rules in one request: the most that the API takes.
pub(crate) const PAGE: u32 = 100;

/// Rules of a page: the most that the API takes.
const RULES: u32 = 1_000;

/// A group, without its rules.
#[derive(Clone, Debug)]
pub(crate) struct EcsGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) tags: Vec<(String, String)>,
}

/// A rule of a group about who comes in, at all ports.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct EcsRule {
    pub(crate) range: String,
    /// `accept` or `drop`.
    pub(crate) policy: String,
    pub(crate) priority: String,
}

impl EcsGroup {
    fn from_fields(shown: &Value) -> Option<Self> {
        Some(Self {
            id: Some(text(shown, "SecurityGroupId")).filter(|it| !it.is_empty())?,
            name: text(shown, "SecurityGroupName"),
            tags: wrapped_tags(shown),
        })
    }
}

impl EcsRule {
    /// `None` for a rule of another kind.
    fn from_fields(shown: &Value) -> Option<Self> {
        let is_of_all = text(shown, "IpProtocol").eq_ignore_ascii_case("all") && text(shown, "PortRange") == "-1/-1";
        let range = Some(text(shown, "SourceCidrIp")).filter(|it| is_of_all && !it.is_empty())?;
        let policy = text(shown, "Policy").to_ascii_lowercase();
        Some(Self { range, policy, priority: super::fields::word(&shown["Priority"])? })
    }
}

/// A page of groups with this tag, from a cursor on, and the next one.
pub(crate) fn page(
    region: &str,
    tag: (&str, &str),
    cursor: Option<&str>,
    size: u32,
) -> Result<(Vec<EcsGroup>, Option<String>), AcsRefusal> {
    let (found, next) = ECS.page(ACTION, region, &tag_pairs(tag), cursor, size)?;
    let groups = items(&found, "SecurityGroups", "SecurityGroup").iter().filter_map(EcsGroup::from_fields);
    Ok((groups.collect(), next))
}

/// All groups with this tag.
pub(crate) fn tagged(region: &str, tag: (&str, &str)) -> Result<Vec<EcsGroup>, AcsRefusal> {
    let mut all = Vec::new();
    by_tokens(&mut |cursor| {
        let (found, next) = page(region, tag, cursor, PAGE)?;
        all.extend(found);
        Ok(next)
    })?;
    Ok(all)
}

/// Whether the credential may see groups at all.
///
/// # Errors
///
/// That it may not: who lacks the right gets an empty list.
pub(crate) fn may_see(region: &str) -> Result<(), Error> {
    ECS.may_see(ACTION, region, &[])
}

/// The rules of a group about who comes in.
pub(crate) fn rules(region: &str, group: &str) -> Result<Vec<EcsRule>, AcsRefusal> {
    let pairs = [("SecurityGroupId", group), ("Direction", "ingress")];
    let mut all = Vec::new();
    by_tokens(&mut |cursor| {
        let (shown, next) = ECS.page("DescribeSecurityGroupAttribute", region, &pairs, cursor, RULES)?;
        all.extend(items(&shown, "Permissions", "Permission").iter().filter_map(EcsRule::from_fields));
        Ok(next)
    })?;
    Ok(all)
}

/// Makes a group. Answers its id.
pub(crate) fn create(region: &str, pairs: &[(&str, &str)]) -> Result<String, AcsRefusal> {
    ECS.call("CreateSecurityGroup", region, pairs).map(|made| text(&made, "SecurityGroupId"))
}

/// Adds rules to a group, or takes them away: this action.
pub(crate) fn change(
    region: &str,
    group: &str,
    action: &str,
    description: &str,
    rules: &[EcsRule],
) -> Result<(), AcsRefusal> {
    for part in rules.chunks(PAGE as usize) {
        let rule = |rule: &EcsRule| {
            [
                ("Policy", rule.policy.clone()),
                ("Priority", rule.priority.clone()),
                ("IpProtocol", "All".to_owned()),
                ("PortRange", "-1/-1".to_owned()),
                ("SourceCidrIp", rule.range.clone()),
                ("Description", description.to_owned()),
            ]
        };
        let rules = numbered("Permissions", part.iter().map(rule));
        let mut pairs = vec![("SecurityGroupId", group)];
        pairs.extend(borrowed_words(&rules));
        ECS.call(action, region, &pairs)?;
    }
    Ok(())
}

/// Deletes a group. One that is gone counts as deleted.
pub(crate) fn delete(region: &str, group: &str) -> Result<(), AcsRefusal> {
    match ECS.call("DeleteSecurityGroup", region, &[("SecurityGroupId", group)]) {
        Err(refusal) if refusal.code == "InvalidSecurityGroupId.NotFound" => Ok(()),
        done => done.map(drop),
    }
}
